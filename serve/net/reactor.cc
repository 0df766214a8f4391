#include "serve/net/reactor.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "serve/net/connection.h"

namespace sardonyx::serve {
namespace {

std::string text_of(const sockaddr_storage& address) {
  char text[INET6_ADDRSTRLEN] = "?";
  if (address.ss_family == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in&>(address).sin_addr, text, sizeof text);
  } else if (address.ss_family == AF_INET6) {
    inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr, text,
              sizeof text);
  }
  return text;
}

}  // namespace

Reactor::Reactor(Shared& shared, int listener)
    : shared_(shared), listener_(listener), scratch_(new char[kScratch]) {
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  wake_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  epoll_event event{EPOLLIN, {.ptr = &wake_}};
  epoll_ctl(epoll_, EPOLL_CTL_ADD, wake_, &event);
  // One reactor wakes for a new client, not all of them.
  event = {EPOLLIN | EPOLLEXCLUSIVE, {.ptr = &listener_}};
  epoll_ctl(epoll_, EPOLL_CTL_ADD, listener_, &event);
}

Reactor::~Reactor() {
  for (Connection* connection : std::vector(connections_.begin(), connections_.end())) {
    connection->close();
  }
  for (Connection* connection : buried_) delete connection;
  ::close(epoll_);
  ::close(wake_);
}

void Reactor::stop() {
  stop_ = true;
  post([] {});
}

void Reactor::drain() {
  post([this] {
    if (accepting_) epoll_ctl(epoll_, EPOLL_CTL_DEL, listener_, nullptr);
    accepting_ = false;
    for (Connection* connection : std::vector(connections_.begin(), connections_.end())) {
      connection->drain();
    }
  });
}

void Reactor::post(std::function<void()> work) {
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    first = posted_.empty();
    posted_.push_back(std::move(work));
  }
  if (first) {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(wake_, &one, sizeof one);
  }
}

void Reactor::run_posted() {
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t taken = read(wake_, &count, sizeof count);
  std::vector<std::function<void()>> work;
  {
    const std::lock_guard lock(mutex_);
    work.swap(posted_);
  }
  for (auto& one : work) one();
}

bool Reactor::watch(int fd, uint32_t events, Connection* connection, bool first) {
  epoll_event event{events, {.ptr = connection}};
  return epoll_ctl(epoll_, first ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &event) == 0;
}

void Reactor::bury(Connection* connection) {
  if (connections_.erase(connection) > 0) {
    shared_.connections.fetch_sub(1, std::memory_order_relaxed);
    buried_.push_back(connection);
  }
}

void Reactor::flush_later(Connection* connection) {
  if (unflushed_.empty()) flush_by_ = Clock::now() + kFlushWithin;
  unflushed_.push_back(connection);
}

// Those that were closed meanwhile are buried, not yet freed.
void Reactor::flush_all() {
  while (shared_.handler->handle_put_off()) {  // whose answers let clients' next requests in
  }
  for (Connection* connection : unflushed_) connection->flush();
  unflushed_.clear();
}

void Reactor::accept_all() {
  for (int i = 0; i < 64; ++i) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    const int fd = accept4(listener_, reinterpret_cast<sockaddr*>(&address), &size,
                           SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) return;  // none left, or out of descriptors: those at hand go on
    if (shared_.connections.load(std::memory_order_relaxed) >= shared_.limits.connections) {
      shared_.refused_connections.fetch_add(1, std::memory_order_relaxed);
      ::close(fd);
      continue;
    }
    const int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    auto connection = std::make_unique<Connection>(*this, fd, text_of(address));
    if (!watch(fd, EPOLLIN | EPOLLRDHUP, connection.get(), true)) continue;
    connections_.insert(connection.release());
    shared_.connections.fetch_add(1, std::memory_order_relaxed);
  }
}

void Reactor::tick() {
  for (Connection* connection : std::vector(connections_.begin(), connections_.end())) {
    connection->tick();
  }
  next_tick_ = now_ + std::chrono::milliseconds(500);
}

int Reactor::wait(std::span<epoll_event> events) {
  const auto begin = Clock::now();
  const int most = static_cast<int>(events.size());
  if (worth_looking_) {
    do {
      const int count = epoll_wait(epoll_, events.data(), most, 0);
      if (count != 0) return count;
      if (shared_.at_work->load(std::memory_order_relaxed) > 0) break;
    } while (Clock::now() - begin < shared_.look_for);
  }
  const int count = epoll_wait(epoll_, events.data(), most, 500);
  worth_looking_ = shared_.at_work != nullptr && Clock::now() - begin < shared_.look_for;
  return count;
}

void Reactor::run() {
  epoll_event events[128];
  while (!stop_) {
    const int count = wait(events);
    now_ = Clock::now();
    for (int i = 0; i < count; ++i) {
      void* what = events[i].data.ptr;
      if (what == &wake_) {
        run_posted();
      } else if (what == &listener_) {
        accept_all();
      } else {
        static_cast<Connection*>(what)->on_event(events[i].events);
      }
      if (!unflushed_.empty() && Clock::now() >= flush_by_) flush_all();
    }
    flush_all();
    if (now_ >= next_tick_) tick();
    for (Connection* connection : buried_) delete connection;
    buried_.clear();
  }
}

}  // namespace sardonyx::serve
