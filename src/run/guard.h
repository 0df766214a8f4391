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
  explicit Guard(std::vector<Region> regions) : regions_(std::move(regions)) {}

  // Runs a step's kernel as told above; `twice` is false for operators that draw random numbers.
  Status run(const Args& args, bool twice, const std::function<Status()>& kernel);
  // A step that has memory of its own: nothing here may change.
  Status run_apart(const std::function<Status()>& step);

 private:
  struct Span {
    std::byte* data;
    size_t size;
  };
  using Copies = std::vector<std::vector<std::byte>>;

  static Status compare(const Region& region, const std::byte* expected, size_t step,
                        const std::vector<Span>& except);
  Copies save() const;
  void restore(const Copies& saved) const;
  // The first byte outside of `except` that is not as in `saved`, in words.
  Status unchanged(const Copies& saved, const std::vector<Span>& except) const;
  void fill(std::byte pattern, const std::vector<Span>& where,
            const std::vector<Span>& except) const;
  Status still_filled(std::byte pattern, const std::vector<Span>& except) const;

  std::vector<Region> regions_;
};

}  // namespace sdx::run
