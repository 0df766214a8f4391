// Guard: holds each step to its contract while it runs.
//
// Plans are proved right under an assumption about kernels (docs/proofs.md): a kernel changes
// nothing but its outputs and its scratch memory, and what it writes depends on nothing but its
// inputs. A guarded run tests just that. Every step runs twice. First its outputs and its scratch
// memory are filled with one pattern, and every other byte is compared afterwards. Then every byte
// that is no input is filled with another pattern: the outputs must be the same again, and whatever
// is not one must still hold the pattern. Slow, and meant for tests.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "op/op.h"

namespace sdx::run {

// Behind the arena of a guarded session: what is written there is noticed.
inline constexpr size_t kGuardSlack = 4096;

class Guard {
 public:
  // A stretch of memory that steps share: the arena, or a caller's buffer.
  struct Region {
    std::string name;
    std::byte* data;
    size_t size;
    bool writable;  // may steps have outputs there
  };
  explicit Guard(std::vector<Region> regions);

  // Runs a step's kernel as told above; `twice` is false for operators that draw random numbers.
  Status run(const Args& args, bool twice, const std::function<Status()>& kernel);
  // A step that has memory of its own: nothing here may change.
  Status run_apart(const std::function<Status()>& step);

 private:
  struct Span {
    std::byte* data;
    size_t size;
  };
  using Spans = std::vector<Span>;

  // What of a region lies in none of the spans, in order.
  static Spans gaps(const Region& region, Spans spans);
  // Where the shadow of a watched stretch begins; nullptr: it is not watched.
  std::byte* shadow(const Span& span);
  void from_shadow(const Span& span);
  // The first byte outside of `except` that differs from the shadow, in words.
  Status unchanged(const Spans& except);
  void fill(std::byte pattern, const Spans& where, const Spans& inputs);
  Status still_filled(std::byte pattern, const Spans& except);

  std::vector<Region> regions_;
  // What the regions hold between steps. Steps change their outputs alone, so it follows them with
  // no more than these; that makes guarded runs of large arenas bearable.
  std::vector<std::vector<std::byte>> shadows_;
};

}  // namespace sdx::run
