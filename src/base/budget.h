// Budget: what preparing a model may cost beyond what its own size warrants. One account per
// thread covers typing, folding and planning; the outermost scope opens it, and what the model
// itself brings (nodes, bytes of constants) raises it. Without an open account nothing is counted.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sdx {

class Budget {
 public:
  // Opens an account until the end of the block, unless one is open.
  class Scope {
   public:
    Scope();
    ~Scope();
    bool opened() const { return opened_; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    bool opened_;
  };

  // The open account; null if there is none.
  static Budget* open();

  // Nodes that the model has: they may be typed, and typed again inside of loops and branches.
  void grant_nodes(uint64_t nodes) { steps_ += kStepsPerNode * nodes; }
  // Bytes of a constant that the model has: it may be moved and converted.
  void grant_bytes(size_t bytes) {
    bytes_ += uint64_t{2} * bytes;
    work_ += uint64_t{2} * bytes;
  }

  // Each takes what is asked for, or nothing if that is more than is left.
  bool take_step() { return take(steps_, 1); }
  bool take_work(uint64_t units) { return take(work_, units); }
  bool take_bytes(size_t bytes) { return take(bytes_, bytes); }
  uint64_t work_left() const { return work_; }

  // What a model of a few bytes may cost: half a second and 64 MiB, about.
  static constexpr uint64_t kSteps = 1 << 17, kStepsPerNode = 64;
  static constexpr uint64_t kWork = uint64_t{1} << 26;
  static constexpr uint64_t kBytes = uint64_t{64} << 20;

 private:
  static bool take(uint64_t& left, uint64_t amount) {
    if (amount > left) return false;
    left -= amount;
    return true;
  }
  uint64_t steps_ = kSteps, work_ = kWork, bytes_ = kBytes;
};

}  // namespace sdx
