// Protobuf's wire format, read with every step checked, and written.
//
// Our own rather than protozero's, which reports malformed input by exceptions without the place;
// here a failed step returns false and `error()` says the byte offset in the file and the reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sdx {

enum class WireType : uint8_t {
  varint = 0,
  fixed64 = 1,
  bytes = 2,
  group_start = 3,
  group_end = 4,
  fixed32 = 5
};
std::string_view name(WireType type);

class WireReader {
 public:
  // `origin`: the offset of bytes[0] in the file, for messages.
  explicit WireReader(std::span<const std::byte> bytes, size_t origin = 0)
      : begin_(bytes.data()), at_(begin_), end_(begin_ + bytes.size()), origin_(origin) {}

  bool at_end() const { return at_ == end_; }
  size_t offset() const { return origin_ + static_cast<size_t>(at_ - begin_); }

  // Each reads one item and returns true, or returns false and leaves an error.
  bool tag(uint32_t& field, WireType& type);
  bool varint(uint64_t& value);
  bool fixed32(uint32_t& value);
  bool fixed64(uint64_t& value);
  bool bytes(std::span<const std::byte>& value);
  // The value of field `field`, of any wire type; groups with all that is in them, `depth` deep at
  // most.
  bool skip(uint32_t field, WireType type, size_t depth);

  Error error() const {
    return fail("SDX-B0201", "malformed protobuf at byte {}: {}", bad_offset_, reason_);
  }

 private:
  bool bad(const std::byte* where, std::string_view reason);

  const std::byte* begin_;
  const std::byte* at_;
  const std::byte* end_;
  size_t origin_;
  size_t bad_offset_ = 0;
  std::string_view reason_;
};

size_t varint_size(uint64_t value);
inline size_t tag_size(uint32_t field) { return varint_size(uint64_t{field} << 3); }

// Where encoded bytes go, in order.
class ByteSink {
 public:
  virtual ~ByteSink() = default;
  virtual Status put(std::span<const std::byte> bytes) = 0;
};

// Small items are gathered; large ones go to the sink as they are. The first error stays and
// `finish` tells it.
class WireWriter {
 public:
  explicit WireWriter(ByteSink& sink) : sink_(sink) {}

  void tag(uint32_t field, WireType type) {
    varint(uint64_t{field} << 3 | static_cast<uint64_t>(type));
  }
  void varint(uint64_t value);
  void fixed32(uint32_t value);
  void fixed64(uint64_t value);
  void raw(const void* data, size_t size);
  Status finish();

 private:
  void flush();

  ByteSink& sink_;
  std::string gathered_;
  Status status_;
};

}  // namespace sdx
