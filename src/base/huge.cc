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

void choose_pages(void* memory, size_t bytes, HugePages pages) {
  if (pages == HugePages::always) {
    (void)::madvise(memory, bytes, MADV_HUGEPAGE);
    return;
  }
  if (patience.fetch_sub(int64_t(bytes), std::memory_order_relaxed) <= 0) {
    patience.store(0, std::memory_order_relaxed);
    if (huge_pages_are_quick(memory, bytes)) return;
    patience.store(kPatience, std::memory_order_relaxed);
  }
  (void)::madvise(memory, bytes, MADV_NOHUGEPAGE);
}
#else
void choose_pages(void*, size_t, HugePages) {}
#endif

}  // namespace

std::shared_ptr<void> allocate_huge(size_t bytes, HugePages pages) {
  bytes = (std::max<size_t>(1, bytes) + kHugePage - 1) / kHugePage * kHugePage;
  std::shared_ptr<void> memory = system::aligned_memory(kHugePage, bytes);
  choose_pages(memory.get(), bytes, pages);
  return memory;
}

}  // namespace sdx
