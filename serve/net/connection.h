// Connection: one client's socket, in the clear or under TLS, and the protocol spoken on it, which
// is decided by ALPN or by the client's first bytes.
#pragma once

#include <deque>
#include <memory>
#include <string>

#include "serve/net/reactor.h"

struct ssl_st;

namespace sardonyx::serve {

// HTTP/1.1 or HTTP/2 on a connection. False as an answer: close once all is sent.
class Protocol {
 public:
  virtual ~Protocol() = default;
  virtual std::span<char> room() { return {}; }  // where to read to; empty: anywhere
  virtual bool received(std::string_view bytes) = 0;
  virtual bool received_into_room(size_t) { return true; }
  virtual bool more_output() { return true; }        // there is place for more
  virtual bool wants_input() const { return true; }  // false while a request is worked on
  virtual bool tick(Reactor::Clock::time_point now) = 0;
  virtual bool drain() = 0;  // no new requests; false if there are none left
  virtual void closed() = 0;
};

class Connection {
 public:
  Connection(Reactor& reactor, int fd, std::string peer);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void on_event(uint32_t events);
  void tick();
  void drain();
  void close();
  // Output is queued; `flush` sends what the socket takes, `flush_soon` with what else there is to
  // send. `resume` goes on after an answer that came later.
  void send(std::string_view text);
  void send(Piece piece);
  // A text that is sent by appending to it, and how much was.
  std::string& writing() { return pieces_.empty() ? text_ : behind_; }
  void wrote(size_t bytes);
  void flush();
  void flush_soon();
  void resume();
  void close_when_sent() { closing_ = true; }

  size_t unsent() const { return unsent_; }
  Reactor& reactor() { return reactor_; }
  const std::string& peer() const { return peer_; }
  bool secure() const { return ssl_ != nullptr; }

 private:
  enum Took : ssize_t { again = -1, failed = -2 };  // and 0: the client is done

  void read_all();
  bool decide(std::string_view bytes);
  bool shake_hands();
  ssize_t read_some(std::span<char> into);
  ssize_t write_some();
  void sent(size_t bytes);
  void want();  // which events to wait for

  static constexpr size_t kMostUnsent = 1 << 20;
  static constexpr size_t kSoon = 16 << 10;  // what is less goes out with other connections' output
  Reactor& reactor_;
  int fd_;
  std::string peer_;
  ssl_st* ssl_ = nullptr;
  bool shaking_ = false, closing_ = false, closed_ = false, reading_ = false, blocked_ = false;
  bool in_line_ = false;  // to be flushed with others
  bool empty_ = false;    // the socket gave all it had; the next event says that there is more
  uint32_t waits_for_ = EPOLLIN | EPOLLRDHUP;
  std::unique_ptr<Protocol> protocol_;
  std::string first_;  // bytes that came before the protocol was decided
  Reactor::Clock::time_point opened_;
  std::string text_;    // output that goes before the pieces
  std::string behind_;  // and what is being written to go behind them
  size_t text_sent_ = 0;
  std::deque<Piece> pieces_;
  size_t unsent_ = 0;
};

std::unique_ptr<Protocol> http1_protocol(Connection& connection);
std::unique_ptr<Protocol> http2_protocol(Connection& connection);

}  // namespace sardonyx::serve
