#include "serve/queue/nats.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstring>
#include <nlohmann/json.hpp>

namespace sardonyx::serve {
namespace {

using namespace std::chrono_literals;

Failure away(const std::string& why) { return {Kind::unavailable, "SDX-V0601: " + why}; }

std::string random_name() {
  uint8_t bytes[12] = {};
  if (getrandom(bytes, sizeof bytes, 0) < 0) std::memset(bytes, 0, sizeof bytes);
  static constexpr char kHex[] = "0123456789abcdef";
  std::string name;
  for (const uint8_t byte : bytes) {
    name += kHex[byte >> 4];
    name += kHex[byte & 15];
  }
  return name;
}

Outcome<int> connected(const NatsAddress& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int result = getaddrinfo(address.host.c_str(), address.port.c_str(), &hints, &found);
  if (result != 0) return away(address.host + ": " + gai_strerror(result));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all(found, freeaddrinfo);
  std::string why = "no address";
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    const int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const timeval limit{5, 0};  // of the connection, and of sending
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    const int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (fd >= 0 && ::connect(fd, at->ai_addr, at->ai_addrlen) == 0) return fd;
    why = std::strerror(errno);
    if (fd >= 0) close(fd);
  }
  return away(address.host + " port " + address.port + ": " + why);
}

}  // namespace

Outcome<NatsAddress> NatsAddress::parse(const std::string& url) {
  constexpr std::string_view kScheme = "nats://";
  const auto wrong = [&](const std::string& why) {
    return Failure{Kind::bad_request, "SDX-V0602: --nats " + url + ": " + why};
  };
  if (url.find("://") != std::string::npos && !url.starts_with(kScheme))
    return wrong("not nats://HOST:PORT; for TLS put a proxy or a leaf node beside the worker");
  NatsAddress address;
  std::string rest = url.starts_with(kScheme) ? url.substr(kScheme.size()) : url;
  if (rest.ends_with('/')) rest.pop_back();
  if (const size_t at = rest.rfind('@'); at != std::string::npos) {
    const std::string who = rest.substr(0, at);
    const size_t colon = who.find(':');
    if (colon == std::string::npos) {
      address.token = who;
    } else {
      address.user = who.substr(0, colon);
      address.password = who.substr(colon + 1);
    }
    rest = rest.substr(at + 1);
  }
  const size_t colon = rest.rfind(':');
  if (colon != std::string::npos && (rest.find(']') == std::string::npos || rest[colon - 1] == ']'))
    address.port = rest.substr(colon + 1), rest.resize(colon);
  if (rest.starts_with('[') && rest.ends_with(']')) rest = rest.substr(1, rest.size() - 2);
  address.host = rest;
  const bool digits = address.port.find_first_not_of("0123456789") == std::string::npos;
  if (address.host.empty() || address.port.empty() || !digits) return wrong("no HOST:PORT");
  return address;
}

Outcome<std::unique_ptr<Nats>> Nats::connect(const NatsAddress& address) {
  const auto fd = connected(address);
  if (!fd) return fd.failure();
  std::unique_ptr<Nats> nats(new Nats(*fd));
  if (auto failure = nats->hello(address)) return *failure;
  return nats;
}

Nats::~Nats() { close(fd_); }

std::optional<Failure> Nats::hello(const NatsAddress& address) {
  inbox_ = "_INBOX." + random_name();
  bool greeted = false;
  const auto end = std::chrono::steady_clock::now() + 5s;
  while (std::chrono::steady_clock::now() < end) {
    auto item = parser_.next();
    if (!item) return item.failure();
    if (item->kind == NatsParser::Kind::info) {
      const auto info = nlohmann::json::parse(item->text, nullptr, false);
      if (!info.is_object() || !info.value("headers", false))
        return away("the server has no headers; NATS 2.2 or later with JetStream is needed");
      if (info.value("tls_required", false)) return away("the server asks for TLS");
      max_payload_ = info.value("max_payload", max_payload_);
      nlohmann::json options = {{"verbose", false},      {"pedantic", false},  {"headers", true},
                                {"no_responders", true}, {"name", "sardonyx"}, {"lang", "c++"},
                                {"version", "1"},        {"protocol", 1}};
      if (!address.user.empty()) options["user"] = address.user, options["pass"] = address.password;
      if (!address.token.empty()) options["auth_token"] = address.token;
      const std::string text =
          "CONNECT " + options.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) +
          "\r\nPING\r\n";
      if (auto failure = send({text})) return failure;
      greeted = true;
    } else if (item->kind == NatsParser::Kind::pong && greeted) {
      return subscribe(inbox_ + ".>");
    } else if (item->kind == NatsParser::Kind::error) {
      return away("the server refuses: " + item->text);
    } else if (item->kind == NatsParser::Kind::none) {
      pollfd ready{fd_, POLLIN, 0};
      if (poll(&ready, 1, 100) <= 0) continue;
      char bytes[16384];
      const ssize_t got = recv(fd_, bytes, sizeof bytes, 0);
      if (got <= 0) return away("the server closed the connection");
      parser_.add({bytes, size_t(got)});
    }
  }
  return away("the server does not greet");
}

std::optional<Failure> Nats::send(const std::vector<std::string_view>& pieces) {
  const std::lock_guard lock(send_mutex_);
  std::vector<iovec> left;
  for (const std::string_view piece : pieces) {
    if (!piece.empty()) left.push_back({const_cast<char*>(piece.data()), piece.size()});
  }
  for (size_t at = 0; at < left.size();) {
    msghdr message{};
    message.msg_iov = &left[at];
    message.msg_iovlen = std::min<size_t>(left.size() - at, 64);
    const ssize_t sent = sendmsg(fd_, &message, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return away(std::string("sending failed: ") + std::strerror(errno));
    for (auto rest = size_t(sent); at < left.size();) {
      const size_t taken = std::min(rest, left[at].iov_len);
      left[at].iov_base = static_cast<char*>(left[at].iov_base) + taken;
      left[at].iov_len -= taken;
      rest -= taken;
      if (left[at].iov_len > 0) break;
      ++at;
    }
  }
  return std::nullopt;
}

std::optional<Failure> Nats::subscribe(const std::string& subject) {
  return send({"SUB ", subject, " 1\r\n"});
}

std::optional<Failure> Nats::publish(std::string_view subject, std::string_view reply,
                                     const NatsHeaders& headers,
                                     const std::vector<std::string_view>& payload) {
  std::string head;
  if (!headers.empty()) {
    head = "NATS/1.0\r\n";
    for (const auto& [name, value] : headers) {
      std::string clean = value;  // a line's end would begin another header
      for (char& c : clean) {
        if (c == '\r' || c == '\n') c = ' ';
      }
      head += name + ": " + clean + "\r\n";
    }
    head += "\r\n";
  }
  size_t bytes = head.size();
  for (const std::string_view piece : payload) bytes += piece.size();
  std::string line = head.empty() ? "PUB " : "HPUB ";
  line += subject;
  if (!reply.empty()) line.append(" ").append(reply);
  if (!head.empty()) line += " " + std::to_string(head.size());
  line += " " + std::to_string(bytes) + "\r\n";
  std::vector<std::string_view> pieces = {line, head};
  pieces.insert(pieces.end(), payload.begin(), payload.end());
  pieces.emplace_back("\r\n");
  return send(pieces);
}

Outcome<std::optional<NatsMessage>> Nats::next(std::chrono::milliseconds wait) {
  if (!kept_.empty()) {
    std::optional<NatsMessage> message = std::move(kept_.front());
    kept_.erase(kept_.begin());
    return message;
  }
  return read(wait);
}

Outcome<std::optional<NatsMessage>> Nats::read(std::chrono::milliseconds wait) {
  const auto end = std::chrono::steady_clock::now() + wait;
  for (;;) {
    auto item = parser_.next();
    if (!item) return item.failure();
    if (item->kind == NatsParser::Kind::message) return std::optional(std::move(item->message));
    if (item->kind == NatsParser::Kind::error) return away("the server says " + item->text);
    if (item->kind == NatsParser::Kind::ping) {
      if (auto failure = send({"PONG\r\n"})) return *failure;
    }
    if (item->kind != NatsParser::Kind::none) continue;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now());
    pollfd ready{fd_, POLLIN, 0};
    const int count = poll(&ready, 1, int(std::max<int64_t>(left.count(), 0)));
    if (count < 0 && errno != EINTR) return away(std::strerror(errno));
    if (count <= 0) return std::optional<NatsMessage>();
    char bytes[65536];
    const ssize_t got = recv(fd_, bytes, sizeof bytes, 0);
    if (got == 0) return away("the server closed the connection");
    if (got < 0 && errno != EINTR && errno != EAGAIN)
      return away(std::string("the connection is lost: ") + std::strerror(errno));
    if (got > 0) {
      heard_ = asked_ = std::chrono::steady_clock::now();
      parser_.add({bytes, size_t(got)});
    }
  }
}

Outcome<NatsMessage> Nats::request(const std::string& subject, const std::string& payload,
                                   std::chrono::milliseconds wait) {
  const std::string reply = inbox_ + ".q." + std::to_string(++requests_);
  if (auto failure = publish(subject, reply, {}, {payload})) return *failure;
  const auto end = std::chrono::steady_clock::now() + wait;
  while (std::chrono::steady_clock::now() < end) {
    auto message = read(50ms);
    if (!message) return message.failure();
    if (!*message) continue;
    if ((*message)->subject == reply) return std::move(**message);
    kept_.push_back(std::move(**message));
  }
  return away("no answer to " + subject);
}

std::optional<Failure> Nats::keep_alive() {
  const auto now = std::chrono::steady_clock::now();
  if (now - heard_ > 10s) return away("the server is silent");
  if (now - asked_ < 3s) return std::nullopt;
  asked_ = now;
  return send({"PING\r\n"});
}

}  // namespace sardonyx::serve
