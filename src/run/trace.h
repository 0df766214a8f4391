// Trace: the execution of a graph, one line per transition: a tensor becomes defined, a node
// becomes executable when all its inputs are, a node executes.
//
//   defined     x f32[2,3] (input)
//   executable  double (Add)
//   executes    double (Add)
//   defined     y f32[2,3]
//
// Lines of a subgraph follow the line of the node that holds it, indented.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "run/options.h"

namespace sdx::run {

class Trace final : public Observer {
 public:
  using Print = std::function<void(const std::string& line)>;
  // The name of a node's output; "" if there is none better than the node's own.
  using Name = std::function<std::string(const typed::Node& node, size_t slot)>;

  Trace(Print print, Name name, std::string indent = "")
      : print_(std::move(print)), name_(std::move(name)), indent_(std::move(indent)) {}

  void start(const plan::Plan& plan) override;
  void before(uint32_t id, const typed::Node& node) override;
  void after(uint32_t id, const typed::Node& node, std::span<const View> outputs) override;
  Observer* inside(const typed::Node& node, const typed::Graph& body) override;

 private:
  std::string node_text(uint32_t id) const;
  std::string wire_text(typed::Outlet outlet) const;
  void line(const char* what, const std::string& of, const std::string& note = "") const;
  void define(uint32_t id, const std::string& note, std::span<const View> values = {});
  void executable(uint32_t id);

  Print print_;
  Name name_;
  std::string indent_;
  const plan::Plan* plan_ = nullptr;
  std::vector<size_t> missing_;    // by node: inputs that are not defined yet
  std::vector<bool> is_step_;      // by node: false for views, which cost nothing
  std::vector<uint32_t> part_of_;  // by node: the product in whose kernel it runs
  std::vector<std::vector<std::vector<uint32_t>>> users_;
  std::unique_ptr<Trace> inner_;
};

}  // namespace sdx::run
