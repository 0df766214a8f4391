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
