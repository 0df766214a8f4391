// Requests and responses as both versions of HTTP carry them, and the exchange that joins one to
// the other: an answer may come later and be made by another thread.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "serve/http/body.h"

namespace sardonyx::serve {

class Reactor;

struct Header {
  std::string_view name;  // in lower case
  std::string_view value;
};

struct Request {
  std::string head;  // what the views look at
  std::string_view method, path, query, authority;
  std::vector<Header> headers;
  Body body;

  std::string_view header(std::string_view name) const {
    for (const Header& header : headers) {
      if (header.name == name) return header.value;
    }
    return {};
  }
};

// Bytes that go out, and what keeps them alive.
struct Piece {
  std::string_view bytes;
  std::shared_ptr<const void> owner;
};
Piece piece_of(std::string text);

struct Response {
  int status = 200;
  std::string_view content_type = "application/json";
  std::vector<std::pair<std::string, std::string>> headers;
  std::string text;
  std::vector<Piece> pieces;  // after the text
  // Of gRPC: sent behind the body.
  int grpc_status = -1;
  std::string grpc_message;

  size_t body_bytes() const {
    size_t bytes = text.size();
    for (const Piece& piece : pieces) bytes += piece.bytes.size();
    return bytes;
  }
};

// One request and its one answer. All calls in the reactor's thread, except `gone`.
class Exchange {
 public:
  Exchange(Reactor& reactor, std::chrono::steady_clock::time_point began)
      : reactor(reactor), began(began) {}
  virtual ~Exchange() = default;
  // Sends the answer; a second one, or one to a client that has left, goes nowhere.
  virtual void respond(Response response) = 0;
  // Of a stream: a part of the body, before `respond` ends it.
  virtual void send_part(Response part) { respond(std::move(part)); }

  Reactor& reactor;
  Request request;
  std::atomic<bool> gone = false;  // the client has left
  std::function<void()> on_gone;   // called once in the reactor's thread when it leaves
  const std::chrono::steady_clock::time_point began;  // when the reactor woke for it
  std::string peer;                                   // its address, for logs
  bool secure = false, http2 = false;                 // over TLS; over HTTP/2
  // Of streams: called with the bytes of the body as they come, and once with end = true.
  std::function<void(std::string_view bytes, bool end)> on_data;
};
using ExchangePtr = std::shared_ptr<Exchange>;

std::string_view reason_of(int status);  // 404 -> "Not Found"

// Limits on what clients may send.
struct HttpLimits {
  size_t head_bytes = 64 << 10;
  size_t headers = 128;
  size_t body_bytes = size_t{1} << 30;
  std::chrono::milliseconds head_time{10'000};   // from a request's first byte to its last header
  std::chrono::milliseconds idle_time{120'000};  // between requests
  size_t slow_bytes_per_s = 1024;  // a body that comes slower than this, over 10 s, is refused
  size_t streams = 256;            // at a time on one HTTP/2 connection
  size_t connections = 20'000;
};

}  // namespace sardonyx::serve
