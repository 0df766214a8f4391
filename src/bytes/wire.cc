#include "bytes/wire.h"

#include <bit>

#include "base/endian.h"

namespace sdx {

std::string_view name(WireType type) {
  switch (type) {
    case WireType::varint:
      return "varint";
    case WireType::fixed64:
      return "8 bytes";
    case WireType::bytes:
      return "length-delimited";
    case WireType::group_start:
      return "group start";
    case WireType::group_end:
      return "group end";
    case WireType::fixed32:
      return "4 bytes";
  }
  return "unknown";
}

bool WireReader::bad(const std::byte* where, std::string_view reason) {
  bad_offset_ = origin_ + static_cast<size_t>(where - begin_);
  reason_ = reason;
  return false;
}

bool WireReader::varint(uint64_t& value) {
  const std::byte* start = at_;
  value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (at_ == end_) return bad(start, "the bytes end within a varint");
    const auto byte = static_cast<uint64_t>(*at_++);
    if (shift == 63 && byte > 1) return bad(start, "a varint is longer than 64 bits");
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return bad(start, "a varint is longer than 64 bits");
}

bool WireReader::tag(uint32_t& field, WireType& type) {
  const std::byte* start = at_;
  uint64_t value = 0;
  if (!varint(value)) return false;
  const uint64_t number = value >> 3;
  if (number == 0 || number >= (uint64_t{1} << 29)) {
    return bad(start, "a field number is outside 1 to 2^29 - 1");
  }
  if ((value & 7) > 5) return bad(start, "a wire type is 6 or 7");
  field = static_cast<uint32_t>(number);
  type = static_cast<WireType>(value & 7);
  return true;
}

bool WireReader::fixed32(uint32_t& value) {
  if (end_ - at_ < 4) return bad(at_, "the bytes end within a 4-byte number");
  value = load_little<uint32_t>(at_);
  at_ += 4;
  return true;
}

bool WireReader::fixed64(uint64_t& value) {
  if (end_ - at_ < 8) return bad(at_, "the bytes end within an 8-byte number");
  value = load_little<uint64_t>(at_);
  at_ += 8;
  return true;
}

bool WireReader::bytes(std::span<const std::byte>& value) {
  const std::byte* start = at_;
  uint64_t size = 0;
  if (!varint(size)) return false;
  if (size > static_cast<uint64_t>(end_ - at_)) {
    return bad(start, "a length reaches beyond the bytes that hold it");
  }
  value = {at_, static_cast<size_t>(size)};
  at_ += size;
  return true;
}

bool WireReader::skip(uint32_t field, WireType type, size_t depth) {
  uint64_t wide = 0;
  uint32_t narrow = 0;
  std::span<const std::byte> ignored;
  switch (type) {
    case WireType::varint:
      return varint(wide);
    case WireType::fixed64:
      return fixed64(wide);
    case WireType::bytes:
      return bytes(ignored);
    case WireType::fixed32:
      return fixed32(narrow);
    case WireType::group_end:
      return bad(at_, "a group ends that has not begun");
    case WireType::group_start:
      break;
  }
  if (depth == 0) return bad(at_, "groups are nested too deep");
  while (true) {
    uint32_t inner = 0;
    WireType inner_type = WireType::varint;
    const std::byte* start = at_;
    if (at_end()) return bad(at_, "the bytes end within a group");
    if (!tag(inner, inner_type)) return false;
    if (inner_type == WireType::group_end) {
      return inner == field || bad(start, "a group ends under another field's number");
    }
    if (!skip(inner, inner_type, depth - 1)) return false;
  }
}

size_t varint_size(uint64_t value) {
  return (static_cast<size_t>(std::bit_width(value | 1)) + 6) / 7;
}

void WireWriter::varint(uint64_t value) {
  char encoded[10];
  size_t size = 0;
  while (value >= 0x80) {
    encoded[size++] = static_cast<char>(value | 0x80);
    value >>= 7;
  }
  encoded[size++] = static_cast<char>(value);
  raw(encoded, size);
}

void WireWriter::fixed32(uint32_t value) {
  value = load_little<uint32_t>(&value);
  raw(&value, sizeof value);
}

void WireWriter::fixed64(uint64_t value) {
  value = load_little<uint64_t>(&value);
  raw(&value, sizeof value);
}

void WireWriter::raw(const void* data, size_t size) {
  constexpr size_t kLarge = size_t{64} << 10;
  if (size < kLarge) {
    gathered_.append(static_cast<const char*>(data), size);
    if (gathered_.size() >= kLarge) flush();
    return;
  }
  flush();
  if (status_) status_ = sink_.put({static_cast<const std::byte*>(data), size});
}

void WireWriter::flush() {
  if (status_) status_ = sink_.put(std::as_bytes(std::span(gathered_)));
  gathered_.clear();
}

Status WireWriter::finish() {
  flush();
  return std::move(status_);
}

}  // namespace sdx
