// HTTP/1.1 on a connection: one request at a time; those that a client sends ahead wait their turn.
#include "serve/http/http1_parser.h"
#include "serve/net/connection.h"

namespace sardonyx::serve {
namespace {

class Http1;

class Http1Exchange final : public Exchange {
 public:
  Http1Exchange(Reactor& reactor, Http1* protocol)
      : Exchange(reactor, reactor.now()), protocol(protocol) {}
  void respond(Response response) override;
  Http1* protocol;  // none once answered or closed
};

class Http1 final : public Protocol {
 public:
  explicit Http1(Connection& connection)
      : connection_(connection),
        limits_(connection.reactor().shared().limits),
        parser_(limits_),
        since_(connection.reactor().now()) {}

  std::span<char> room() override { return parser_.body_room(); }
  bool received_into_room(size_t bytes) override {
    parser_.wrote_body(bytes);
    body_bytes_ += bytes;
    return received({});
  }
  bool received(std::string_view bytes) override;
  bool wants_input() const override { return exchange_ == nullptr; }
  bool tick(Reactor::Clock::time_point now) override;
  bool drain() override {
    draining_ = true;
    return exchange_ != nullptr || parser_.started();
  }
  void closed() override;
  void answered(Response& response, const Request& request);

 private:
  bool work_on(std::string_view& bytes);  // leaves what comes before its request's answer
  bool refuse();
  void hand_over();

  Connection& connection_;
  const HttpLimits& limits_;
  Http1Parser parser_;
  std::shared_ptr<Http1Exchange> exchange_;  // the request that is worked on
  std::string ahead_;                        // bytes that came before its answer
  size_t ahead_at_ = 0;                      // of these the first that is not looked at
  bool keep_alive_ = true, draining_ = false, working_ = false, in_request_ = false;
  Reactor::Clock::time_point since_;  // when the present wait began
  size_t body_bytes_ = 0;             // since then
};

bool Http1::received(std::string_view bytes) {
  body_bytes_ += bytes.size();
  const bool kept = !ahead_.empty();
  if (kept) bytes = std::string_view(ahead_.append(bytes)).substr(ahead_at_);
  const bool go_on = work_on(bytes);
  if (exchange_ == nullptr || bytes.empty()) {
    ahead_.clear();
    ahead_at_ = 0;
  } else if (kept) {
    ahead_at_ = ahead_.size() - bytes.size();
  } else {
    ahead_ = bytes;
  }
  return go_on;
}

bool Http1::work_on(std::string_view& bytes) {
  working_ = true;
  bool go_on = true;
  while (go_on && exchange_ == nullptr && keep_alive_) {
    bytes.remove_prefix(parser_.feed(bytes));
    if (parser_.take_continue() && parser_.in_body())
      connection_.send("HTTP/1.1 100 Continue\r\n\r\n");
    if (parser_.state() == Http1Parser::State::bad) {
      go_on = refuse();
    } else if (!parser_.done()) {
      break;
    } else {
      hand_over();
    }
  }
  working_ = false;
  if (parser_.started() != in_request_) {
    in_request_ = parser_.started();
    since_ = connection_.reactor().now();
    body_bytes_ = 0;
  }
  return go_on && (keep_alive_ || exchange_ != nullptr);
}

bool Http1::refuse() {
  const std::string text = "{\"error\":\"" + parser_.reason() + "\"}";
  connection_.send("HTTP/1.1 " + std::to_string(parser_.status()) + ' ' +
                   std::string(reason_of(parser_.status())) +
                   "\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: " +
                   std::to_string(text.size()) + "\r\n\r\n" + text);
  return false;
}

void Http1::hand_over() {
  keep_alive_ = parser_.keep_alive();
  exchange_ = std::make_shared<Http1Exchange>(connection_.reactor(), this);
  exchange_->request = parser_.take();
  exchange_->peer = connection_.peer();
  exchange_->secure = connection_.secure();
  const ExchangePtr exchange = exchange_;  // an answer made at once lets go of the other
  connection_.reactor().shared().handler->handle(exchange);
}

void Http1::answered(Response& response, const Request& request) {
  if (draining_ || connection_.reactor().shared().draining.load(std::memory_order_relaxed)) {
    keep_alive_ = false;
  }
  std::string& head = connection_.writing();
  const size_t before = head.size();
  head += "HTTP/1.1 ";
  head += std::to_string(response.status);
  head += ' ';
  head += reason_of(response.status);
  const size_t size = response.body_bytes();
  if (size > 0) {
    head += "\r\nContent-Type: ";
    head += response.content_type;
  }
  for (const auto& [name, value] : response.headers) {
    head += "\r\n";
    head += name;
    head += ": ";
    head += value;
  }
  if (!keep_alive_) head += "\r\nConnection: close";
  head += "\r\nContent-Length: ";
  head += std::to_string(size);
  head += "\r\n\r\n";
  const bool with_body = request.method != "HEAD", short_text = response.text.size() < 16 << 10;
  if (with_body && short_text) head += response.text;
  connection_.wrote(head.size() - before);
  if (with_body) {
    if (!short_text) connection_.send(piece_of(std::move(response.text)));
    for (Piece& piece : response.pieces) connection_.send(std::move(piece));
  }
  exchange_.reset();
  since_ = connection_.reactor().now();
  if (working_) return;
  if (!keep_alive_) connection_.close_when_sent();
  connection_.resume();
}

void Http1::closed() {
  if (exchange_ == nullptr) return;
  const auto exchange = std::move(exchange_);
  exchange->protocol = nullptr;
  exchange->gone = true;
  if (exchange->on_gone) exchange->on_gone();
}

bool Http1::tick(Reactor::Clock::time_point now) {
  if (exchange_ != nullptr || connection_.unsent() > 0) {
    since_ = exchange_ != nullptr ? now : since_;
    return now - since_ < limits_.idle_time;  // a client that does not take its answer
  }
  if (!parser_.started()) return now - since_ < limits_.idle_time;
  if (!parser_.in_body()) {
    if (now - since_ < limits_.head_time) return true;
    connection_.send(
        "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n");
    return false;
  }
  const auto window = std::chrono::seconds(10);
  if (now - since_ < window) return true;
  const bool fast_enough = body_bytes_ >= limits_.slow_bytes_per_s * 10;
  since_ = now;
  body_bytes_ = 0;
  return fast_enough;
}

void Http1Exchange::respond(Response response) {
  if (protocol == nullptr) return;
  Http1* to = std::exchange(protocol, nullptr);
  to->answered(response, request);
}

}  // namespace

std::unique_ptr<Protocol> http1_protocol(Connection& connection) {
  return std::make_unique<Http1>(connection);
}

}  // namespace sardonyx::serve
