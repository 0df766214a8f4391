// The fuzz targets: each takes any bytes and returns, or ends the process where a promise is
// broken. libFuzzer calls them (libfuzzer.cc), and so does the replay of what it found (replay.cc).
#pragma once

#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "model/io.h"

namespace sdx::fuzz {

using Bytes = std::span<const uint8_t>;

void bytes(Bytes input);    // a model or an error; what was read is written and read unchanged
void text(Bytes input);     // the same by way of the text syntax
void infer(Bytes input);    // checked, repaired and typed: the stages agree on what is valid
void run(Bytes input);      // planned and run on small shapes within its limits
void kernels(Bytes input);  // the same bits at every instruction set, thread count and optimisation

struct Target {
  std::string_view name;
  void (*test)(Bytes input);
};
std::span<const Target> targets();
// Tests, and ends the process if that cost more time or memory than the size of the input warrants.
void test(const Target& target, Bytes input);

// Ends the process: `what` should be true and is not.
[[noreturn]] void broken(const std::string& what);

// Limits that keep one execution small and quick.
model::Limits limits();
// Null if the bytes are no model.
std::shared_ptr<const model::Model> read(Bytes input);
// Of the bytes; what a target draws follows from it.
uint64_t hash(Bytes input);

// Reproducible random numbers.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next();
  // Less than n; 0 for n = 0.
  size_t below(size_t n) { return n == 0 ? 0 : next() % n; }
  bool one_in(size_t n) { return below(n) == 0; }
  template <class List>
  auto& pick(List& list) {
    return list[below(std::size(list))];
  }

 private:
  uint64_t state_;
};

}  // namespace sdx::fuzz
