// Recorder: writes down the certificate of every plan that a run uses, those of subgraphs too.
#pragma once

#include <set>
#include <string>

#include "run/options.h"

namespace sdx::cli {

class Recorder final : public run::Observer {
 public:
  // Certificates follow one another in the file.
  static Result<Recorder> create(const std::string& path);
  ~Recorder() override;
  Recorder(Recorder&& other) noexcept;
  Recorder& operator=(Recorder&&) = delete;

  // The plans that follow belong to this model; those met before are forgotten.
  void model(std::string name);

  void start(const plan::Plan& plan) override;
  void after(uint32_t, const typed::Node&, std::span<const View>) override {}
  Observer* inside(const typed::Node&, const typed::Graph&) override { return this; }

 private:
  explicit Recorder(std::FILE* file) : file_(file) {}

  std::FILE* file_;
  std::string name_;
  std::set<const plan::Plan*> written_;
};

}  // namespace sdx::cli
