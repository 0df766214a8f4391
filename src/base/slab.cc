#include "base/slab.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "base/tensor.h"

namespace sdx {
namespace {

constexpr size_t kSlab = 16 * kHugePage;

size_t rounded(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

struct Slab {
  std::weak_ptr<void> memory;  // alive as long as a piece is
  char* next = nullptr;
  size_t left = 0;
  char* chosen = nullptr;  // before this the kind of pages is chosen

  // The next piece. Its pages are chosen, so that what a slab has left over stays untouched.
  void* take(size_t bytes, HugePages pages) {
    char* const piece = next;
    next += bytes;
    left -= bytes;
    if (next > chosen) {
      const size_t more = rounded(size_t(next - chosen), kHugePage);
      choose_pages(chosen, more, pages);
      chosen += more;
    }
    return piece;
  }
};

// How the memory asked for on this thread will be used.
thread_local HugePages lasting_pages = HugePages::always;
thread_local Stay lasting_stay = Stay::no;

}  // namespace

static std::shared_ptr<void> take_piece(size_t bytes) {
  static std::mutex mutex;
  static Slab slabs[2];
  const HugePages pages = lasting_pages;
  Slab& slab = slabs[size_t(pages)];
  const std::lock_guard lock(mutex);
  std::shared_ptr<void> memory = slab.memory.lock();
  if (memory == nullptr || slab.left < bytes) {
    // A large piece gets a slab of its size.
    const size_t size = bytes > kSlab / 2 ? rounded(bytes, kHugePage) : kSlab;
    const size_t left = memory != nullptr ? slab.left : 0;
    memory = reserve_huge(size);
    char* const begin = static_cast<char*>(memory.get());
    Slab fresh{memory, begin, size, begin};
    void* const piece = fresh.take(bytes, pages);
    // The next pieces come from whichever slab has more room.
    if (left <= fresh.left) slab = std::move(fresh);
    return {std::move(memory), piece};
  }
  void* const piece = slab.take(bytes, pages);
  return {std::move(memory), piece};
}

static thread_local LastingRecord* record = nullptr;

LastingUse::LastingUse(HugePages pages, Stay stay)
    : pages_before_(lasting_pages), stay_before_(lasting_stay) {
  lasting_pages = pages;
  lasting_stay = stay;
}
LastingUse::~LastingUse() {
  lasting_pages = pages_before_;
  lasting_stay = stay_before_;
}
HugePages LastingUse::pages() { return lasting_pages; }
bool LastingUse::stays(bool faster) {
  return lasting_stay == Stay::if_as_fast || (faster && lasting_stay == Stay::if_faster);
}

LastingRecord::LastingRecord() { record = this; }
LastingRecord::~LastingRecord() { record = nullptr; }

void LastingRecord::note(void* piece, size_t bytes) {
  ++count_;
  piece_ = piece;
  bytes_ = bytes;
  std::memset(piece, 0, bytes);
}

std::shared_ptr<void> allocate_lasting(size_t bytes) {
  bytes = rounded(std::max<size_t>(1, bytes), kAlignment);
  std::shared_ptr<void> piece = take_piece(bytes);
  if (record != nullptr) record->note(piece.get(), bytes);
  return piece;
}

}  // namespace sdx
