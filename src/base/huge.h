// Large pieces of memory, in huge pages where the system has them and gives them quickly.
#pragma once

#include <cstddef>
#include <memory>

namespace sdx {

// Huge pages spare work at their first touch and in the page table. Not so in a virtual machine
// that hands its free memory back: what is free as a whole is then provided by the host again,
// small page by small page, which takes ten times as long as the pieces that the system still has
// at hand.
enum class HugePages {
  always,    // memory that is read from end to end again and again, without reuse
  if_quick,  // as long as the first touches take the usual time
};

// Of `bytes`, aligned to a huge page. Safe to call from several threads.
std::shared_ptr<void> allocate_huge(size_t bytes, HugePages pages);

// The same in two steps, for memory that is handed out piece by piece: which pages a stretch of it
// has, from a multiple of kHugePage on, is chosen before its first use, which is to be soon.
inline constexpr size_t kHugePage = 2 << 20;
std::shared_ptr<void> reserve_huge(size_t bytes);
void choose_pages(void* begin, size_t bytes, HugePages pages);

// Whether so many bytes in huge pages may be had in the usual time, as far as one touch tells. A
// slow one is believed for a while. Safe to call from several threads.
bool huge_pages_come_quickly(size_t bytes);

}  // namespace sdx
