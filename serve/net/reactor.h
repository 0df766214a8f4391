// Reactor: one thread, one epoll, the connections it accepted. Nothing in it blocks; other threads
// hand it work with `post`.
#pragma once

#include <sys/epoll.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_set>
#include <vector>

#include "serve/http/message.h"

namespace sardonyx::serve {

class Connection;
class Tls;

// What answers requests.
class Handler {
 public:
  virtual ~Handler() = default;
  // Both in the reactor's thread. What `handle` has put off is done when the events at hand, or
  // those of 0.1 ms, have been read, before answers are sent; false: there was nothing.
  virtual void handle(const ExchangePtr& exchange) = 0;
  virtual bool handle_put_off() { return false; }
};

// What all reactors share.
struct Shared {
  HttpLimits limits;
  Handler* handler = nullptr;
  Tls* tls = nullptr;  // none: in the clear
  std::atomic<size_t> connections = 0;
  std::atomic<size_t> refused_connections = 0;
  // How long a reactor looks for the next event before it sleeps, if the last one came as soon:
  // being woken takes longer than a small request. Not while something runs.
  std::chrono::microseconds look_for{0};
  std::shared_ptr<const std::atomic<size_t>> at_work;
  std::atomic<bool> draining = false;  // answers say "Connection: close", nothing new is accepted
};

class Reactor {
 public:
  using Clock = std::chrono::steady_clock;

  // Accepts from a listening socket that it may share with other reactors.
  Reactor(Shared& shared, int listener);
  ~Reactor();
  Reactor(const Reactor&) = delete;
  Reactor& operator=(const Reactor&) = delete;

  void run();    // until `stop`
  void stop();   // from any thread
  void drain();  // from any thread: idle connections are closed, no more come
  void post(std::function<void()> work);  // from any thread; run in this one

  Shared& shared() { return shared_; }
  Clock::time_point now() const { return now_; }
  std::span<char> scratch() { return {scratch_.get(), kScratch}; }
  bool watch(int fd, uint32_t events, Connection* connection, bool first);
  // Has the connection flushed after the events at hand, or soon in between: answers that leave one
  // behind the other wake a client that sleeps once, and waking it takes longer than a small run.
  void flush_later(Connection* connection);
  void bury(Connection* connection);  // closed; freed when the events at hand are done

 private:
  static constexpr size_t kScratch = 256 << 10;
  static constexpr std::chrono::microseconds kFlushWithin{100};

  int wait(std::span<epoll_event> events);
  void flush_all();
  void accept_all();
  void run_posted();
  void tick();

  Shared& shared_;
  int epoll_ = -1, wake_ = -1, listener_ = -1;
  bool accepting_ = true;
  bool worth_looking_ = false;
  std::atomic<bool> stop_ = false;
  std::unique_ptr<char[]> scratch_;
  Clock::time_point now_ = Clock::now(), next_tick_ = now_;
  std::unordered_set<Connection*> connections_;
  std::vector<Connection*> buried_, unflushed_;
  Clock::time_point flush_by_;  // of `unflushed_`
  std::mutex mutex_;
  std::vector<std::function<void()>> posted_;  // guarded by mutex_
};

}  // namespace sardonyx::serve
