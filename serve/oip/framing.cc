#include "serve/oip/framing.h"

#include <algorithm>
#include <charconv>

namespace sardonyx::serve {

std::optional<std::chrono::nanoseconds> read_grpc_timeout(std::string_view text) {
  int64_t number = 0;
  if (text.size() < 2 || text.size() > 9) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size() - 1, number);
  if (error != std::errc() || end != text.data() + text.size() - 1 || number < 0)
    return std::nullopt;
  using std::chrono::nanoseconds;
  switch (text.back()) {
    case 'H':
      return std::chrono::hours(std::min<int64_t>(number, 100'000));
    case 'M':
      return std::chrono::minutes(std::min<int64_t>(number, 10'000'000));
    case 'S':
      return std::chrono::seconds(number);
    case 'm':
      return std::chrono::milliseconds(number);
    case 'u':
      return std::chrono::microseconds(number);
    case 'n':
      return nanoseconds(number);
    default:
      return std::nullopt;
  }
}

GrpcLayout look_at_grpc(std::string_view first) {
  GrpcLayout layout;
  if (first.size() < 5 || first[0] != 0) return layout;
  size_t size = 0;
  for (size_t i = 1; i < 5; ++i) size = size << 8 | static_cast<unsigned char>(first[i]);
  layout.bytes = 5 + size;
  constexpr uint64_t kRawContents = 7 << 3 | 2;
  size_t at = 5;
  const auto varint = [&](uint64_t& value) {
    value = 0;
    for (int shift = 0; shift < 63 && at < first.size(); shift += 7) {
      const auto byte = static_cast<unsigned char>(first[at++]);
      value |= uint64_t{byte & 127U} << shift;
      if (byte < 128) return true;
    }
    return false;
  };
  // Fields before it are short ones with lengths; with anything else there is nothing to gain.
  uint64_t tag = 0, length = 0;
  while (varint(tag) && (tag & 7) == 2 && varint(length)) {
    if (tag == kRawContents) {
      layout.tensor_at = at;
      return layout;
    }
    if (length > first.size() - at) return layout;
    at += length;
  }
  return layout;
}

Outcome<std::optional<std::string_view>> next_message(std::string_view& bytes, size_t most) {
  if (bytes.size() < 5) return std::optional<std::string_view>();
  size_t size = 0;
  for (size_t i = 1; i < 5; ++i) size = size << 8 | static_cast<unsigned char>(bytes[i]);
  if (bytes[0] != 0 && bytes[0] != 1)
    return Failure{Kind::bad_request, "SDX-V0341: a message's first byte is neither 0 nor 1"};
  if (size > most)
    return Failure{Kind::too_large, "SDX-V0342: a message of " + std::to_string(size) +
                                        " bytes; at most " + std::to_string(most) + " are taken"};
  if (bytes.size() < 5 + size) return std::optional<std::string_view>();
  const std::string_view message = bytes.substr(5, size);
  bytes.remove_prefix(5 + size);
  return std::optional(message);
}

}  // namespace sardonyx::serve
