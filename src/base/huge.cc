#include "base/huge.h"

#include <algorithm>
#include <atomic>
#include <chrono>

#include "base/system.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace sdx {
namespace {

#if defined(MADV_HUGEPAGE) && defined(MADV_NOHUGEPAGE)
// Clearing a huge page takes about a tenth of this.
constexpr std::chrono::microseconds kSlow(1000);
// So many bytes are chosen for by one touch.
constexpr size_t kStretch = 8 << 20;
// After a slow touch so many bytes come in small pages before a huge one is tried again: single
// slow ones lie among quick ones, and where all are slow, each try costs as much as many small
// pages.
constexpr int64_t kLeastPatience = 16 << 20, kMostPatience = 128 << 20;
std::atomic<int64_t> patience = 0, next_patience = kLeastPatience;

// Touches the first page. Only advice: without it the pages are small.
bool huge_pages_are_quick(void* memory, size_t bytes) {
  (void)::madvise(memory, bytes, MADV_HUGEPAGE);
  const auto start = std::chrono::steady_clock::now();
  *static_cast<volatile char*>(memory) = 0;
  return std::chrono::steady_clock::now() - start < kSlow;
}

// The same of memory that is about to be used, or is only tried, for `bytes`; remembers.
bool are_quick_for(size_t bytes, void* memory, size_t advised) {
  if (patience.fetch_sub(int64_t(bytes), std::memory_order_relaxed) > 0) return false;
  const bool quick = huge_pages_are_quick(memory, advised);
  const int64_t now = next_patience.load(std::memory_order_relaxed);
  patience.store(quick ? 0 : now, std::memory_order_relaxed);
  next_patience.store(quick ? kLeastPatience : std::min(2 * now, kMostPatience),
                      std::memory_order_relaxed);
  return quick;
}

bool tried(size_t bytes) {
  if (patience.load(std::memory_order_relaxed) > int64_t(bytes)) {
    patience.fetch_sub(int64_t(bytes), std::memory_order_relaxed);
    return false;
  }
  const std::shared_ptr<void> memory = system::aligned_memory(kHugePage, kHugePage);
  // What is not packed is no loss, so one slow touch is believed for long.
  next_patience.store(kMostPatience, std::memory_order_relaxed);
  return are_quick_for(bytes, memory.get(), kHugePage);
}
#else
bool tried(size_t) { return true; }
#endif

}  // namespace

bool huge_pages_come_quickly(size_t bytes) { return tried(bytes); }

void choose_pages([[maybe_unused]] void* begin, [[maybe_unused]] size_t bytes,
                  [[maybe_unused]] HugePages pages) {
#if defined(MADV_HUGEPAGE) && defined(MADV_NOHUGEPAGE)
  if (pages == HugePages::always) {
    (void)::madvise(begin, bytes, MADV_HUGEPAGE);
    return;
  }
  for (size_t at = 0; at < bytes; at += kStretch) {
    char* const stretch = static_cast<char*>(begin) + at;
    const size_t n = std::min(kStretch, bytes - at);
    if (!are_quick_for(n, stretch, n)) (void)::madvise(stretch, n, MADV_NOHUGEPAGE);
  }
#endif
}

std::shared_ptr<void> reserve_huge(size_t bytes) {
  bytes = (std::max<size_t>(1, bytes) + kHugePage - 1) / kHugePage * kHugePage;
  return system::aligned_memory(kHugePage, bytes);
}

// What does not fill a huge page at the end lies in small ones.
std::shared_ptr<void> allocate_huge(size_t bytes, HugePages pages) {
  std::shared_ptr<void> memory = reserve_huge(bytes);
  choose_pages(memory.get(), bytes / kHugePage * kHugePage, pages);
  return memory;
}

}  // namespace sdx
