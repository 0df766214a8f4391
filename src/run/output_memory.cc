#include "run/output_memory.h"

#include <algorithm>
#include <bit>
#include <mutex>
#include <vector>

#include "base/huge.h"
#include "base/tensor.h"

namespace sdx::run {
namespace {

// The allocator keeps smaller pieces at hand by itself.
constexpr size_t kLeast = 256 << 10;
constexpr size_t kMostPieces = 64;

// Eight sizes to a doubling, so that outputs that grow with each run find what the last one left.
size_t rounded_up(size_t bytes) {
  const size_t step = std::bit_floor(bytes) / 8;
  return (bytes + step - 1) / step * step;
}

}  // namespace

std::shared_ptr<void> memory_of_runs(size_t bytes) {
  constexpr size_t kHuge = 4 << 20;
  return bytes < kHuge ? allocate_aligned(bytes) : allocate_huge(bytes, HugePages::if_quick);
}

struct OutputMemory::State {
  struct Piece {
    std::shared_ptr<void> memory;
    size_t bytes = 0;
    bool waited = false;  // for a whole run
  };

  std::mutex mutex;
  std::vector<Piece> idle;  // never more than its capacity: giving back must not fail
  size_t idle_bytes = 0;
  size_t this_run = 0, last_run = 0;  // bytes taken

  void give_back(Piece piece) noexcept {
    const std::lock_guard lock(mutex);
    if (idle_bytes + piece.bytes > std::max(this_run, last_run) || idle.size() == kMostPieces)
      return;
    idle_bytes += piece.bytes;
    idle.push_back(std::move(piece));
  }
};

OutputMemory::OutputMemory() : state_(std::make_shared<State>()) {
  state_->idle.reserve(kMostPieces);
}

void OutputMemory::start() {
  const std::lock_guard lock(state_->mutex);
  State& s = *state_;
  s.last_run = s.this_run;
  s.this_run = 0;
  std::erase_if(s.idle, [&](State::Piece& piece) {
    if (piece.waited) s.idle_bytes -= piece.bytes;
    return std::exchange(piece.waited, true);
  });
}

std::shared_ptr<void> OutputMemory::take(size_t bytes) {
  if (bytes < kLeast) return allocate_aligned(bytes);
  bytes = rounded_up(bytes);
  struct Lease {
    std::weak_ptr<State> state;
    State::Piece piece;
    ~Lease() {
      const auto alive = state.lock();
      if (alive && piece.memory) alive->give_back({std::move(piece.memory), piece.bytes});
    }
  };
  const auto lease = std::make_shared<Lease>();
  lease->state = state_;
  State::Piece& piece = lease->piece;
  {
    const std::lock_guard lock(state_->mutex);
    State& s = *state_;
    s.this_run += bytes;
    const auto found = std::find_if(s.idle.begin(), s.idle.end(), [&](const State::Piece& other) {
      return other.bytes == bytes;
    });
    if (found != s.idle.end()) {
      std::swap(*found, s.idle.back());
      piece = std::move(s.idle.back());
      s.idle.pop_back();
      s.idle_bytes -= bytes;
    }
  }
  piece.bytes = bytes;
  if (piece.memory == nullptr) {
    piece.memory = memory_of_runs(bytes);
  }
  return {lease, piece.memory.get()};
}

size_t OutputMemory::idle_bytes() const {
  const std::lock_guard lock(state_->mutex);
  return state_->idle_bytes;
}

}  // namespace sdx::run
