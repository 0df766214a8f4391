#include "serve/http/http1_parser.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace sardonyx::serve {
namespace {

// RFC 9110: what a method or a header's name is made of.
constexpr bool is_token(unsigned char c) {
  if (c >= '0' && c <= '9') return true;
  if ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') return true;
  return std::string_view("!#$%&'*+-.^_`|~").find(static_cast<char>(c)) != std::string_view::npos;
}

// Each character of a token in lower case; 0 of the others.
struct TokenTable {
  char lower[256] = {};
  constexpr TokenTable() {
    for (int c = 0; c < 256; ++c) {
      if (is_token(static_cast<unsigned char>(c)))
        lower[c] = static_cast<char>(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
    }
  }
};
constexpr TokenTable kToken;

bool token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](unsigned char c) { return kToken.lower[c] != 0; });
}

// Whether a header's value holds a control character but for tabs; eight bytes at a time, which
// are looked at one by one only if one of them may be.
bool holds_control(std::string_view value) {
  const auto control = [](unsigned char c) { return (c < 0x20 && c != '\t') || c == 0x7f; };
  constexpr uint64_t kOnes = 0x0101010101010101;
  for (uint64_t eight = 0; value.size() >= 8; value.remove_prefix(8)) {
    std::memcpy(&eight, value.data(), 8);
    const uint64_t deleted = eight ^ (kOnes * 0x7f);
    const uint64_t found = ((eight - kOnes * 0x20) & ~eight) | ((deleted - kOnes) & ~deleted);
    if ((found & (kOnes * 0x80)) != 0 && std::any_of(value.begin(), value.begin() + 8, control))
      return true;
  }
  return std::any_of(value.begin(), value.end(), control);
}

bool same_word(std::string_view text, std::string_view lower) {
  return text.size() == lower.size() &&
         std::equal(text.begin(), text.end(), lower.begin(), [](char a, char b) {
           return (a >= 'A' && a <= 'Z' ? static_cast<char>(a | 0x20) : a) == b;
         });
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// Whether a list such as "keep-alive, Upgrade" names the word.
bool lists(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    if (same_word(trimmed(list.substr(0, comma)), word)) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

}  // namespace

bool Http1Parser::bad(int status, std::string reason) {
  state_ = State::bad;
  status_ = status;
  reason_ = std::move(reason);
  return false;
}

size_t Http1Parser::feed(std::string_view bytes) {
  size_t taken = 0;
  while (taken < bytes.size()) {
    const std::string_view rest = bytes.substr(taken);
    switch (state_) {
      case State::head:
        taken += feed_head(rest);
        break;
      case State::body:
      case State::chunk:
        taken += feed_length(rest);
        break;
      case State::chunk_size:
      case State::chunk_end:
      case State::trailer:
        taken += feed_line(rest);
        break;
      case State::done:
      case State::bad:
        return taken;
    }
  }
  return taken;
}

size_t Http1Parser::feed_head(std::string_view bytes) {
  std::string& head = request_.head;
  size_t skip = 0;
  // An empty line before a request is forgiven, as RFC 9112 asks.
  while (head.empty() && skip < bytes.size() && (bytes[skip] == '\r' || bytes[skip] == '\n'))
    ++skip;
  const size_t before = head.size();
  std::string_view more = bytes.substr(skip, limits_->head_bytes + 4 - before);
  // Mostly it comes in one piece, with its body behind it.
  const size_t here = before == 0 ? more.find("\r\n\r\n") : std::string_view::npos;
  if (here != std::string_view::npos) {
    more = more.substr(0, here + 4);
    scanned_ = here;
  }
  head.append(more);
  const size_t end = head.find("\r\n\r\n", scanned_);
  if (end == std::string::npos) {
    scanned_ = head.size() < 3 ? 0 : head.size() - 3;
    if (head.size() > limits_->head_bytes) bad(431, "SDX-V0101: the head is too long");
    return skip + head.size() - before;
  }
  head.resize(end + 4);
  parse_head();
  return skip + end + 4 - before;
}

void Http1Parser::parse_head() {
  std::string& head = request_.head;
  size_t at = head.find("\r\n");
  if (!parse_request_line(std::string_view(head).substr(0, at))) return;
  request_.headers.reserve(12);
  for (at += 2; at + 2 < head.size();) {
    const size_t end = head.find("\r\n", at);
    if (!parse_header(head.data() + at, end - at)) return;
    at = end + 2;
  }
  if (!decide_body()) return;
  if (state_ == State::body && left_ == 0) state_ = State::done;
}

bool Http1Parser::parse_request_line(std::string_view line) {
  const size_t first = line.find(' '), last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) {
    return bad(400, "SDX-V0102: the request line is not \"METHOD TARGET HTTP/1.1\"");
  }
  request_.method = line.substr(0, first);
  if (!token(request_.method)) return bad(400, "SDX-V0103: the method is not a word");
  const std::string_view version = line.substr(last + 1);
  if (version == "HTTP/1.0") {
    http_1_0_ = true;
    keep_alive_ = false;
  } else if (version != "HTTP/1.1") {
    return bad(version.starts_with("HTTP/") ? 505 : 400, "SDX-V0104: the version is not HTTP/1.1");
  }
  std::string_view target = line.substr(first + 1, last - first - 1);
  const auto visible = [](unsigned char c) { return c > 0x20 && c != 0x7f; };
  if (target.empty() || !std::all_of(target.begin(), target.end(), visible)) {
    return bad(400, "SDX-V0105: the target holds a space or a control character");
  }
  if (target.front() != '/') {  // "http://host/path" as proxies send it, or "*"
    const size_t scheme = target.find("://");
    const size_t slash = scheme == std::string_view::npos ? scheme : target.find('/', scheme + 3);
    if (slash != std::string_view::npos) target.remove_prefix(slash);
  }
  const size_t question = std::min(target.find('?'), target.size());
  request_.path = target.substr(0, question);
  request_.query = target.substr(std::min(question + 1, target.size()));
  return true;
}

bool Http1Parser::parse_header(char* line, size_t size) {
  if (request_.headers.size() == limits_->headers) {
    return bad(431, "SDX-V0106: more than " + std::to_string(limits_->headers) + " headers");
  }
  const std::string_view text(line, size);
  size_t colon = 0;
  while (colon < size) {
    const char lower = kToken.lower[static_cast<unsigned char>(line[colon])];
    if (lower == 0) break;
    line[colon++] = lower;
  }
  if (colon == 0 || colon == size || line[colon] != ':') {
    return bad(400, "SDX-V0107: a header is not \"name: value\"");
  }
  const std::string_view value = trimmed(text.substr(colon + 1));
  if (holds_control(value)) {
    return bad(400, "SDX-V0108: a header's value holds a control character");
  }
  request_.headers.push_back({text.substr(0, colon), value});
  return true;
}

bool Http1Parser::decide_body() {
  bool length = false, chunked = false, host = false;
  size_t aligned_at = 0;
  for (const Header& header : request_.headers) {
    if (header.name == "content-length") {
      const auto [end, error] = std::from_chars(header.value.begin(), header.value.end(), left_);
      if (length || error != std::errc() || end != header.value.end() ||
          header.value.front() == '-') {
        return bad(400, "SDX-V0109: Content-Length is not one number");
      }
      length = true;
    } else if (header.name == "transfer-encoding") {
      if (chunked || !same_word(header.value, "chunked")) {
        return bad(501, "SDX-V0110: Transfer-Encoding is not \"chunked\"");
      }
      chunked = true;
    } else if (header.name == "connection") {
      if (lists(header.value, "close")) keep_alive_ = false;
      if (http_1_0_ && lists(header.value, "keep-alive")) keep_alive_ = true;
    } else if (header.name == "expect") {
      if (!same_word(header.value, "100-continue")) return bad(417, "SDX-V0111: unknown Expect");
      expects_continue_ = !http_1_0_;
    } else if (header.name == "host") {
      if (host) return bad(400, "SDX-V0112: two Host headers");
      host = true;
      request_.authority = header.value;
    } else if (header.name == "inference-header-content-length") {
      std::from_chars(header.value.begin(), header.value.end(), aligned_at);
    }
  }
  if (!host && !http_1_0_) return bad(400, "SDX-V0113: no Host header");
  if (chunked && (length || http_1_0_)) return bad(400, "SDX-V0114: a length and chunks");
  if (left_ > limits_->body_bytes) {
    return bad(413, "SDX-V0115: a body of " + std::to_string(left_) + " bytes; at most " +
                        std::to_string(limits_->body_bytes) + " are taken");
  }
  request_.body = Body(aligned_at);
  state_ = chunked ? State::chunk_size : State::body;
  // Memory grows with what has come, so that a length alone reserves little.
  if (state_ == State::body && left_ > 0) request_.body.reserve(std::min(left_, size_t{1} << 20));
  return true;
}

size_t Http1Parser::feed_length(std::string_view bytes) {
  const size_t count = std::min(left_, bytes.size());
  request_.body.append(bytes.substr(0, count));
  left_ -= count;
  if (left_ == 0) state_ = state_ == State::body ? State::done : State::chunk_end;
  return count;
}

std::span<char> Http1Parser::body_room() {
  if (state_ != State::body || left_ < 16 << 10) return {};
  Body& body = request_.body;
  if (body.room().empty())
    body.reserve(body.size() + std::min(left_, std::max(body.size(), size_t{1} << 20)));
  return body.room().first(std::min(body.room().size(), left_));
}

void Http1Parser::wrote_body(size_t bytes) {
  request_.body.wrote(bytes);
  left_ -= bytes;
  if (left_ == 0) state_ = State::done;
}

size_t Http1Parser::feed_line(std::string_view bytes) {
  const size_t end = bytes.find('\n');
  const size_t count = end == std::string_view::npos ? bytes.size() : end + 1;
  line_.append(bytes.substr(0, count));
  trailer_bytes_ += count;
  if (line_.size() > 4096 || trailer_bytes_ > (size_t{4} << 20) + request_.body.size()) {
    bad(400, "SDX-V0116: a chunk's line or trailer is too long");
  } else if (end != std::string_view::npos) {
    if (!line_.ends_with("\r\n")) {
      bad(400, "SDX-V0117: a chunk's line does not end in CR LF");
    } else {
      line_.resize(line_.size() - 2);
      line_is_whole();
    }
    line_.clear();
  }
  return count;
}

void Http1Parser::line_is_whole() {
  if (state_ == State::chunk_end) {
    state_ = State::chunk_size;
    if (!line_.empty()) bad(400, "SDX-V0118: a chunk is longer than it said");
  } else if (state_ == State::trailer) {
    if (line_.empty()) state_ = State::done;  // trailers are not looked at
  } else {
    const std::string_view size = trimmed(std::string_view(line_).substr(0, line_.find(';')));
    const auto [end, error] = std::from_chars(size.begin(), size.end(), left_, 16);
    if (size.empty() || error != std::errc() || end != size.end() || size.front() == '-') {
      bad(400, "SDX-V0119: a chunk's size is not a hexadecimal number");
    } else if (left_ > limits_->body_bytes - request_.body.size()) {
      bad(413, "SDX-V0120: a body over " + std::to_string(limits_->body_bytes) + " bytes");
    } else {
      state_ = left_ == 0 ? State::trailer : State::chunk;
    }
  }
}

Request Http1Parser::take() {
  // Views look into the head, whose bytes a short string would carry inside itself.
  const char* before = request_.head.data();
  Request taken;
  taken.head = std::move(request_.head);
  const auto moved = [&](std::string_view view) {
    return view.empty() ? view
                        : std::string_view(taken.head.data() + (view.data() - before), view.size());
  };
  taken.method = moved(request_.method);
  taken.path = moved(request_.path);
  taken.query = moved(request_.query);
  taken.authority = moved(request_.authority);
  taken.headers = std::move(request_.headers);
  if (taken.head.data() != before) {
    for (Header& header : taken.headers) header = {moved(header.name), moved(header.value)};
  }
  taken.body = std::move(request_.body);
  request_ = Request();
  state_ = State::head;
  keep_alive_ = true;
  http_1_0_ = expects_continue_ = false;
  left_ = scanned_ = trailer_bytes_ = 0;
  return taken;
}

}  // namespace sardonyx::serve
