#include <algorithm>
#include <charconv>

#include "serve/queue/nats.h"

namespace sardonyx::serve {
namespace {

constexpr size_t kMostLine = 64 << 10, kMostMessage = size_t{64} << 20;

Failure broken(const std::string& why) {
  return {Kind::unavailable, "SDX-V0600: the server does not speak NATS: " + why};
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (true) {
    const size_t start = line.find_first_not_of(" \t");
    if (start == std::string_view::npos) return words;
    line.remove_prefix(start);
    const size_t end = std::min(line.find_first_of(" \t"), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

bool number(std::string_view text, size_t& value) {
  const auto [end, error] = std::from_chars(text.begin(), text.end(), value);
  return error == std::errc() && end == text.end();
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

bool same_name(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) ==
           std::tolower(static_cast<unsigned char>(y));
  });
}

// "NATS/1.0 408 Request Timeout\r\nName: value\r\n\r\n"
bool read_headers(std::string_view text, NatsMessage& message) {
  constexpr std::string_view kVersion = "NATS/1.0";
  if (!text.starts_with(kVersion)) return false;
  size_t end = text.find("\r\n");
  if (end == std::string_view::npos) return false;
  const auto words = words_of(text.substr(kVersion.size(), end - kVersion.size()));
  size_t status = 0;
  if (!words.empty() && number(words[0], status) && status < 1000) message.status = int(status);
  for (text.remove_prefix(end + 2); !text.empty(); text.remove_prefix(end + 2)) {
    end = text.find("\r\n");
    if (end == std::string_view::npos) return false;
    const std::string_view line = text.substr(0, end);
    if (line.empty()) continue;
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) return false;
    message.headers.emplace_back(line.substr(0, colon), trimmed(line.substr(colon + 1)));
  }
  return true;
}

}  // namespace

std::string_view NatsMessage::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (same_name(key, name)) return value;
  }
  return {};
}

Outcome<NatsParser::Item> NatsParser::next() {
  if (at_ > 0 && (at_ == held_.size() || at_ > kMostLine)) {
    held_.erase(0, at_);
    at_ = 0;
  }
  const std::string_view rest = std::string_view(held_).substr(at_);
  const size_t end = rest.find("\r\n");
  if (end == std::string_view::npos) {
    if (rest.size() > kMostLine) return broken("a line without an end");
    return Item{};
  }
  const std::string_view line = rest.substr(0, end);
  const std::string_view verb = line.substr(0, std::min(line.find(' '), line.size()));
  if (same_name(verb, "MSG") || same_name(verb, "HMSG"))
    return message(line, end + 2, same_name(verb, "HMSG"));
  Item item;
  item.text = line.substr(std::min(verb.size() + 1, line.size()));
  if (same_name(verb, "PING")) item.kind = Kind::ping;
  if (same_name(verb, "PONG")) item.kind = Kind::pong;
  if (same_name(verb, "INFO")) item.kind = Kind::info;
  if (same_name(verb, "-ERR")) item.kind = Kind::error;
  if (same_name(verb, "+OK")) item.kind = Kind::ok;
  if (item.kind == Kind::none) return broken("\"" + std::string(line.substr(0, 60)) + "\"");
  at_ += end + 2;
  return item;
}

// MSG SUBJECT SID [REPLY] BYTES; HMSG SUBJECT SID [REPLY] HEADER_BYTES ALL_BYTES.
Outcome<NatsParser::Item> NatsParser::message(std::string_view line, size_t line_bytes,
                                              bool with_headers) {
  const auto words = words_of(line);
  const size_t least = with_headers ? 5 : 4;
  size_t head = 0, all = 0;
  if (words.size() < least || words.size() > least + 1 || !number(words.back(), all) ||
      (with_headers && !number(words[words.size() - 2], head)) || head > all ||
      all > kMostMessage) {
    return broken("\"" + std::string(line.substr(0, 60)) + "\"");
  }
  const std::string_view rest = std::string_view(held_).substr(at_);
  if (rest.size() < line_bytes + all + 2) return Item{};
  if (rest.substr(line_bytes + all, 2) != "\r\n") return broken("a message of another length");
  Item item;
  item.kind = Kind::message;
  item.message.subject = words[1];
  if (words.size() > least) item.message.reply = words[3];
  if (with_headers && !read_headers(rest.substr(line_bytes, head), item.message))
    return broken("headers that are none");
  item.message.payload = rest.substr(line_bytes + head, all - head);
  at_ += line_bytes + all + 2;
  return item;
}

}  // namespace sardonyx::serve
