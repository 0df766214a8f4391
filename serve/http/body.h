// A body's memory: one block, grown as bytes arrive, whose element `aligned_at` lies on a cache
// line so that a tensor which starts there is read in place; 64 bytes behind the end belong to it,
// as simdjson wants.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <utility>

namespace sardonyx::serve {

class Body {
 public:
  static constexpr size_t kLine = 64, kPadding = 64;

  Body() = default;
  explicit Body(size_t aligned_at) : shift_((kLine - aligned_at % kLine) % kLine) {}
  Body(Body&& other) noexcept { swap(other); }
  Body& operator=(Body&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Body() { give_back(); }

  char* data() { return block_ == nullptr ? nullptr : line_of(block_) + shift_; }
  const char* data() const { return block_ == nullptr ? nullptr : line_of(block_) + shift_; }
  size_t size() const { return size_; }
  size_t capacity() const { return capacity_; }
  std::string_view view() const { return {data(), size_}; }

  void reserve(size_t capacity) {
    if (capacity <= capacity_ && block_ != nullptr) return;
    Block taken = take(kLine + shift_ + capacity + kPadding);
    if (size_ > 0) std::memcpy(line_of(taken.memory) + shift_, data(), size_);
    give_back();
    block_ = taken.memory;
    block_bytes_ = taken.bytes;
    capacity_ = capacity;
  }
  void append(std::string_view bytes) {
    if (size_ + bytes.size() > capacity_ || block_ == nullptr) {
      reserve(size_ + bytes.size() > 2 * capacity_ ? size_ + bytes.size() : 2 * capacity_);
    }
    if (!bytes.empty()) std::memcpy(data() + size_, bytes.data(), bytes.size());
    size_ += bytes.size();
  }
  // Memory behind the end that is reserved, and the bytes that were written to it.
  std::span<char> room() { return {data() + size_, capacity_ - size_}; }
  void wrote(size_t bytes) { size_ += bytes; }
  // What lies behind the end is zero, for parsers that read past it.
  void pad() {
    reserve(size_);
    std::memset(data() + size_, 0, kPadding);
  }

 private:
  struct Block {
    char* memory = nullptr;
    size_t bytes = 0;
  };
  // The last block is kept at hand for each thread: malloc does so only with small ones.
  static constexpr size_t kLeastKept = 1 << 10, kMostKept = 64 << 10;
  struct Kept {
    Block block;
    ~Kept() { std::free(block.memory); }
  };
  static Block& kept() {
    static thread_local Kept last;
    return last.block;
  }
  static Block take(size_t bytes) {
    if (kept().bytes >= bytes && kept().bytes / 4 <= bytes) return std::exchange(kept(), Block());
    // Aligned by hand, see `line_of`.
    auto* memory = static_cast<char*>(std::malloc(bytes));
    if (memory == nullptr) throw std::bad_alloc();
    return {memory, bytes};
  }
  void give_back() {
    Block given{block_, block_bytes_};
    if (given.bytes >= kLeastKept && given.bytes <= kMostKept) std::swap(given, kept());
    std::free(given.memory);
  }

  static char* line_of(char* block) {  // the first cache line that begins in it
    return block + (kLine - reinterpret_cast<uintptr_t>(block) % kLine) % kLine;
  }
  void swap(Body& other) {
    std::swap(block_, other.block_);
    std::swap(block_bytes_, other.block_bytes_);
    std::swap(shift_, other.shift_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }
  char* block_ = nullptr;
  size_t block_bytes_ = 0, shift_ = 0, size_ = 0, capacity_ = 0;
};

}  // namespace sardonyx::serve
