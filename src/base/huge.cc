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

constexpr size_t kHugePage = 2 << 20;

#if defined(MADV_HUGEPAGE) && defined(MADV_NOHUGEPAGE)
// Clearing a huge page takes about a tenth of this.
constexpr std::chrono::microseconds kSlow(1000);
// After a slow touch so many bytes come in small pages before a huge one is tried again.
constexpr int64_t kPatience = 128 << 20;
std::atomic<int64_t> patience = 0;

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
  patience.store(quick ? 0 : kPatience, std::memory_order_relaxed);
  return quick;
}

void choose_pages(void* memory, size_t bytes, HugePages pages) {
  if (pages == HugePages::always) {
    (void)::madvise(memory, bytes, MADV_HUGEPAGE);
  } else if (!are_quick_for(bytes, memory, bytes)) {
    (void)::madvise(memory, bytes, MADV_NOHUGEPAGE);
  }
}

bool tried(size_t bytes) {
  if (patience.load(std::memory_order_relaxed) > int64_t(bytes)) {
    patience.fetch_sub(int64_t(bytes), std::memory_order_relaxed);
    return false;
  }
  const std::shared_ptr<void> memory = system::aligned_memory(kHugePage, kHugePage);
  return are_quick_for(bytes, memory.get(), kHugePage);
}
#else
void choose_pages(void*, size_t, HugePages) {}
bool tried(size_t) { return true; }
#endif

}  // namespace

bool huge_pages_come_quickly(size_t bytes) { return tried(bytes); }

std::shared_ptr<void> allocate_huge(size_t bytes, HugePages pages) {
  bytes = (std::max<size_t>(1, bytes) + kHugePage - 1) / kHugePage * kHugePage;
  std::shared_ptr<void> memory = system::aligned_memory(kHugePage, bytes);
  choose_pages(memory.get(), bytes, pages);
  return memory;
}

}  // namespace sdx
