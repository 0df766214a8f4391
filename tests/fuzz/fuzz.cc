#include "fuzz.h"

#include <cstdio>
#include <cstdlib>

namespace sdx::fuzz {

std::span<const Target> targets() {
  static constexpr Target kTargets[] = {
      {"bytes", bytes}, {"text", text}, {"infer", infer}, {"run", run}, {"kernels", kernels}};
  return kTargets;
}

void broken(const std::string& what) {
  std::fprintf(stderr, "BROKEN: %s\n", what.c_str());
  std::abort();
}

model::Limits limits() {
  model::Limits limits;
  limits.file_bytes = 1 << 20;
  limits.nodes = 100;
  limits.messages = 20000;
  limits.elements = 1 << 16;
  limits.tensor_bytes = 1 << 20;
  limits.total_bytes = 1 << 22;
  return limits;
}

std::shared_ptr<const model::Model> read(Bytes input) {
  auto model = model::read_bytes(std::as_bytes(input), limits());
  return model ? *model : nullptr;
}

uint64_t hash(Bytes input) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const uint8_t byte : input) hash = (hash ^ byte) * 0x100000001b3;
  return hash;
}

// SplitMix64.
uint64_t Random::next() {
  uint64_t z = (state_ += 0x9e3779b97f4a7c15);
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

}  // namespace sdx::fuzz
