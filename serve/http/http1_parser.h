// HTTP/1.1 requests from bytes, cut anywhere. Strict where leniency lets two readers disagree about
// where a request ends: lines end in CR LF, a name touches its colon, a length is digits alone and
// said once, and a request has a length or chunks, never both.
#pragma once

#include "serve/http/message.h"

namespace sardonyx::serve {

class Http1Parser {
 public:
  enum class State { head, body, chunk_size, chunk, chunk_end, trailer, done, bad };

  explicit Http1Parser(const HttpLimits& limits) : limits_(&limits) {}

  // Takes bytes until the request is whole or wrong; answers how many it took.
  size_t feed(std::string_view bytes);
  // Where the rest of a body of known length can be read to, and what was; empty: use `feed`.
  std::span<char> body_room();
  void wrote_body(size_t bytes);

  State state() const { return state_; }
  bool done() const { return state_ == State::done; }
  bool started() const { return state_ != State::head || !request_.head.empty(); }
  bool in_body() const { return state_ != State::head && !done() && state_ != State::bad; }
  // True once after the head of a request that waits for "100 Continue" before it sends its body.
  bool take_continue() { return std::exchange(expects_continue_, false); }

  // Of a request that is done.
  Request take();
  bool keep_alive() const { return keep_alive_; }
  // Of a bad one.
  int status() const { return status_; }
  const std::string& reason() const { return reason_; }

 private:
  size_t feed_head(std::string_view bytes);
  size_t feed_line(std::string_view bytes);
  size_t feed_length(std::string_view bytes);
  void parse_head();
  bool parse_request_line(std::string_view line);
  bool parse_header(char* line, size_t size);
  bool decide_body();
  void line_is_whole();
  bool bad(int status, std::string reason);

  const HttpLimits* limits_;
  State state_ = State::head;
  Request request_;
  bool keep_alive_ = true, expects_continue_ = false, http_1_0_ = false;
  size_t left_ = 0;     // bytes of the body or chunk still to come
  size_t scanned_ = 0;  // of the head, searched for its end
  size_t trailer_bytes_ = 0;
  std::string line_;  // a chunk's size or a trailer, as far as it came
  int status_ = 400;
  std::string reason_;
};

}  // namespace sardonyx::serve
