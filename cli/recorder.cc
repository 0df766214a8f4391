#include "recorder.h"

#include <cstdio>
#include <utility>

#include "certificate/certificate.h"

namespace sdx::cli {

Result<Recorder> Recorder::create(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return fail("SDX-C0045", "cannot write {}", path);
  return Recorder(file);
}

Recorder::Recorder(Recorder&& other) noexcept
    : file_(std::exchange(other.file_, nullptr)),
      name_(std::move(other.name_)),
      written_(std::move(other.written_)) {}

Recorder::~Recorder() {
  if (file_ != nullptr) std::fclose(file_);
}

void Recorder::model(std::string name) {
  name_ = std::move(name);
  written_.clear();
}

void Recorder::start(const plan::Plan& plan) {
  if (!written_.insert(&plan).second) return;
  const std::string text = certificate::of(plan, name_);
  std::fwrite(text.data(), 1, text.size(), file_);
}

}  // namespace sdx::cli
