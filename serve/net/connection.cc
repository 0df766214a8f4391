#include "serve/net/connection.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

#include "serve/net/tls.h"

namespace sardonyx::serve {
namespace {

// What an HTTP/2 client says first; no HTTP/1.1 method is called PRI.
constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

}  // namespace

Connection::Connection(Reactor& reactor, int fd, std::string peer)
    : reactor_(reactor), fd_(fd), peer_(std::move(peer)), opened_(reactor.now()) {
  if (Tls* tls = reactor.shared().tls) {
    ssl_ = tls->accept(fd);
    shaking_ = true;
  }
}

Connection::~Connection() {
  if (!closed_) ::close(fd_);
  if (ssl_ != nullptr) SSL_free(ssl_);
}

void Connection::close() {
  if (closed_) return;
  closed_ = true;
  if (protocol_) protocol_->closed();
  if (ssl_ != nullptr && !shaking_) SSL_shutdown(ssl_);
  ERR_clear_error();
  ::close(fd_);
  reactor_.bury(this);
}

void Connection::on_event(uint32_t events) {
  if (closed_) return;
  if (events & EPOLLERR) return close();
  blocked_ = false;
  empty_ = false;
  if (shaking_ && !shake_hands()) return;
  // A client that hangs up while its request is worked on has given it up.
  if ((events & (EPOLLRDHUP | EPOLLHUP)) && (protocol_ && !protocol_->wants_input()))
    return close();
  if (events & EPOLLOUT) flush();
  read_all();
}

bool Connection::shake_hands() {
  ERR_clear_error();
  const int result = SSL_accept(ssl_);
  if (result == 1) {
    shaking_ = false;
    const unsigned char* name = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(ssl_, &name, &size);
    if (std::string_view(reinterpret_cast<const char*>(name), size) == "h2") {
      protocol_ = http2_protocol(*this);
    }
    return true;
  }
  const int error = SSL_get_error(ssl_, result);
  if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
    blocked_ = error == SSL_ERROR_WANT_WRITE;
    want();
  } else {
    close();
  }
  return false;
}

// True once the protocol is known.
bool Connection::decide(std::string_view bytes) {
  first_.append(bytes);
  const size_t count = std::min(first_.size(), kPreface.size());
  if (std::string_view(first_).substr(0, count) == kPreface.substr(0, count)) {
    if (count < kPreface.size()) return false;
    protocol_ = http2_protocol(*this);
  } else {
    protocol_ = http1_protocol(*this);
  }
  return true;
}

void Connection::read_all() {
  if (reading_) return;  // an answer that is made at once calls `resume` from within
  reading_ = true;
  while (!closed_ && !closing_ && !blocked_ && !empty_ &&
         (!protocol_ || protocol_->wants_input()) && unsent_ < kMostUnsent) {
    const std::span<char> room = protocol_ ? protocol_->room() : std::span<char>();
    const std::span<char> into = room.empty() ? reactor_.scratch() : room;
    const ssize_t count = read_some(into);
    if (count == again) {
      empty_ = true;
      break;
    }
    if (count <= 0) {
      close();
      break;
    }
    const std::string_view bytes(into.data(), static_cast<size_t>(count));
    bool go_on = true;
    if (!room.empty()) {
      go_on = protocol_->received_into_room(bytes.size());
    } else if (protocol_) {
      go_on = protocol_->received(bytes);
    } else if (decide(bytes)) {
      const std::string first = std::move(first_);
      go_on = protocol_->received(first);
    }
    if (!go_on) closing_ = true;
    // A socket that gave less than asked is empty: no second call to learn that.
    if (ssl_ == nullptr && bytes.size() < into.size()) empty_ = true;
  }
  reading_ = false;
  if (closed_) return;
  if (unsent_ < kSoon && !closing_) {
    flush_soon();
  } else {
    flush();
  }
}

ssize_t Connection::read_some(std::span<char> into) {
  if (ssl_ == nullptr) {
    const ssize_t count = ::recv(fd_, into.data(), into.size(), 0);
    if (count >= 0) return count;
    return errno == EAGAIN || errno == EINTR ? again : failed;
  }
  ERR_clear_error();
  const int count =
      SSL_read(ssl_, into.data(), static_cast<int>(std::min(into.size(), size_t{1} << 30)));
  if (count > 0) return count;
  const int error = SSL_get_error(ssl_, count);
  return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? again : failed;
}

void Connection::send(std::string_view text) {
  unsent_ += text.size();
  if (pieces_.empty()) {
    text_.append(text);
  } else {
    pieces_.push_back(piece_of(std::string(text)));
  }
}

void Connection::wrote(size_t bytes) {
  if (pieces_.empty()) {
    unsent_ += bytes;
  } else {
    send(std::exchange(behind_, {}));
  }
}

void Connection::send(Piece piece) {
  if (piece.bytes.size() < 4096) return send(piece.bytes);
  unsent_ += piece.bytes.size();
  pieces_.push_back(std::move(piece));
}

ssize_t Connection::write_some() {
  iovec parts[16];
  int count = 0;
  if (text_sent_ < text_.size())
    parts[count++] = {text_.data() + text_sent_, text_.size() - text_sent_};
  for (size_t i = 0; i < pieces_.size() && count < 16; ++i) {
    parts[count++] = {const_cast<char*>(pieces_[i].bytes.data()), pieces_[i].bytes.size()};
  }
  if (ssl_ == nullptr) {  // most answers are one text, and `send` is the shorter way
    const ssize_t written = count == 1
                                ? ::send(fd_, parts[0].iov_base, parts[0].iov_len, MSG_NOSIGNAL)
                                : ::writev(fd_, parts, count);
    if (written >= 0) return written;
    return errno == EAGAIN || errno == EINTR ? again : failed;
  }
  ERR_clear_error();
  const int written = SSL_write(ssl_, parts[0].iov_base,
                                static_cast<int>(std::min(parts[0].iov_len, size_t{1} << 20)));
  if (written > 0) return written;
  const int error = SSL_get_error(ssl_, written);
  return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? again : failed;
}

void Connection::sent(size_t bytes) {
  unsent_ -= bytes;
  const size_t text = std::min(bytes, text_.size() - text_sent_);
  text_sent_ += text;
  bytes -= text;
  if (text_sent_ == text_.size()) {
    text_sent_ = 0;
    text_.clear();
    if (text_.capacity() > 16 << 10) text_.shrink_to_fit();
  }
  while (bytes > 0) {
    Piece& piece = pieces_.front();
    const size_t count = std::min(bytes, piece.bytes.size());
    piece.bytes.remove_prefix(count);
    bytes -= count;
    if (piece.bytes.empty()) pieces_.pop_front();
  }
}

void Connection::flush_soon() {
  if (!std::exchange(in_line_, true)) reactor_.flush_later(this);
}

void Connection::flush() {
  in_line_ = false;
  if (closed_ || shaking_) return;
  blocked_ = false;
  while (true) {
    if (protocol_ && !protocol_->more_output()) closing_ = true;
    if (unsent_ == 0) break;
    const ssize_t written = write_some();
    if (written == failed) return close();
    if (written == again) {
      blocked_ = true;
      break;
    }
    sent(static_cast<size_t>(written));
  }
  if (unsent_ == 0 && closing_) return close();
  want();
}

void Connection::resume() {
  if (closed_) return;
  // The protocol first looks at what it already has; then the socket.
  if (protocol_ && !reading_ && !protocol_->received({})) closing_ = true;
  if (!reading_) read_all();
}

void Connection::want() {
  const bool input =
      !closing_ &&
      (shaking_ || ((!protocol_ || protocol_->wants_input()) && unsent_ < kMostUnsent));
  const uint32_t events = (input ? EPOLLIN : 0U) | EPOLLRDHUP | (blocked_ ? EPOLLOUT : 0U);
  if (events == waits_for_) return;
  waits_for_ = events;
  reactor_.watch(fd_, events, this, false);
}

void Connection::tick() {
  if (closed_) return;
  const auto since = reactor_.now() - opened_;
  if (!protocol_) {
    if (since > reactor_.shared().limits.head_time) close();
    return;
  }
  if (!protocol_->tick(reactor_.now())) {
    closing_ = true;
    flush();
  }
}

void Connection::drain() {
  if (closed_) return;
  if (!protocol_) return close();
  if (!protocol_->drain()) closing_ = true;
  flush();
}

}  // namespace sardonyx::serve
