// Nats: one connection to a NATS server, in its text protocol. One thread reads; it and others may
// publish. What arrives is parsed with suspicion: lengths have limits, and whatever is not the
// protocol ends the connection.
#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "serve/failure.h"

namespace sardonyx::serve {

struct NatsAddress {
  std::string host, port = "4222", user, password, token;
  // nats://[USER:PASSWORD@|TOKEN@]HOST[:PORT]
  static Outcome<NatsAddress> parse(const std::string& url);
};

struct NatsMessage {
  std::string subject, reply, payload;
  int status = 0;  // of a message without a payload that the server itself sends: 404, 408 ...
  std::vector<std::pair<std::string, std::string>> headers;
  std::string_view header(std::string_view name) const;  // "" if there is none
};

using NatsHeaders = std::vector<std::pair<std::string, std::string>>;

// Splits what arrives into messages; the connection's half that fuzzing can hold.
class NatsParser {
 public:
  enum class Kind { none, message, ping, pong, info, error, ok };
  struct Item {
    Kind kind = Kind::none;
    NatsMessage message;
    std::string text;  // of info and error
  };
  void add(std::string_view bytes) { held_.append(bytes); }
  // The next item; none if more bytes are needed. A failure: this is not NATS.
  Outcome<Item> next();

 private:
  Outcome<Item> message(std::string_view line, size_t line_bytes, bool with_headers);
  std::string held_;
  size_t at_ = 0;  // what lies before it is done
};

class Nats {
 public:
  // Connects and says hello; the server must have headers, as those since 2.2 do.
  static Outcome<std::unique_ptr<Nats>> connect(const NatsAddress& address);
  ~Nats();
  Nats(const Nats&) = delete;
  Nats& operator=(const Nats&) = delete;

  int descriptor() const { return fd_; }
  size_t max_payload() const { return max_payload_; }
  // Subjects of this connection alone begin with it.
  const std::string& inbox() const { return inbox_; }

  std::optional<Failure> subscribe(const std::string& subject);
  std::optional<Failure> publish(std::string_view subject, std::string_view reply,
                                 const NatsHeaders& headers,
                                 const std::vector<std::string_view>& payload);
  // Reads what is there, waiting at most so long. Nothing: no message came. Pings are answered.
  Outcome<std::optional<NatsMessage>> next(std::chrono::milliseconds wait);
  // A request and its answer; other messages that come meanwhile are kept for next().
  Outcome<NatsMessage> request(const std::string& subject, const std::string& payload,
                               std::chrono::milliseconds wait);
  // A failure if the server has been silent too long; asks it if it lives.
  std::optional<Failure> keep_alive();

 private:
  explicit Nats(int fd) : fd_(fd) {}
  std::optional<Failure> send(const std::vector<std::string_view>& pieces);
  std::optional<Failure> hello(const NatsAddress& address);
  Outcome<std::optional<NatsMessage>> read(std::chrono::milliseconds wait);

  int fd_;
  size_t max_payload_ = size_t{1} << 20;
  std::string inbox_;
  NatsParser parser_;
  std::vector<NatsMessage> kept_;
  std::mutex send_mutex_;
  std::chrono::steady_clock::time_point heard_ = std::chrono::steady_clock::now(), asked_ = heard_;
  uint64_t requests_ = 0;
};

}  // namespace sardonyx::serve
