#include "fuzz.h"

#include <fmt/core.h>
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace sdx::fuzz {

std::span<const Target> targets() {
  static constexpr Target kTargets[] = {
      {"bytes", bytes}, {"text", text}, {"infer", infer}, {"run", run}, {"kernels", kernels}};
  return kTargets;
}

namespace {

// Sanitizers slow everything down, and other processes take their share of the machine.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(SDX_FUZZER)
constexpr double kSlower = 12;
#else
constexpr double kSlower = 3;
#endif
// What an input of any size may cost, and each of its bytes.
constexpr double kSeconds = 1, kSecondsPerByte = 100e-6;
constexpr size_t kMegabytes = 512, kKilobytesPerByte = 16;

double cpu_seconds() {
  timespec now = {};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return double(now.tv_sec) + double(now.tv_nsec) * 1e-9;
}

size_t most_kilobytes() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return size_t(usage.ru_maxrss);
}

}  // namespace

void test(const Target& target, Bytes input) {
  const double start = cpu_seconds();
  const size_t before = most_kilobytes();
  target.test(input);
  const double spent = cpu_seconds() - start;
  const size_t grown = most_kilobytes() - before;
  const double warranted = kSlower * (kSeconds + double(input.size()) * kSecondsPerByte);
  if (spent > warranted) {
    broken(fmt::format("{}: {:.2f} s of CPU time for {} bytes, which warrant {:.2f}", target.name,
                       spent, input.size(), warranted));
  }
  if (grown > kMegabytes * 1024 + input.size() * kKilobytesPerByte) {
    broken(fmt::format("{}: {} KB more memory for {} bytes", target.name, grown, input.size()));
  }
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
