#include "serve/server.h"

#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <thread>

#include "serve/grpc.h"
#include "serve/log.h"
#include "serve/rest.h"
#include "serve/span.h"

namespace sardonyx::serve {
namespace {

class Calls final : public Handler {
 public:
  explicit Calls(Core& core) : core_(core), rest_(core), grpc_(core) {}
  void handle(const ExchangePtr& exchange) override {
    try {
      if (exchange->http2 &&
          exchange->request.header("content-type").starts_with("application/grpc")) {
        grpc_.handle(exchange);
      } else {
        rest_.handle(exchange);
      }
    } catch (const std::exception& error) {  // out of memory, above all
      log(Level::error, "call failed", {{"reason", error.what()}});
      answer(exchange, Failure{Kind::internal, std::string("SDX-V0190: ") + error.what()});
    }
  }
  bool handle_put_off() override { return core_.run_round(); }

 private:
  Core& core_;
  Rest rest_;
  Grpc grpc_;
};

// The socket that systemd made, or -1.
int activated_socket() {
  const char* pid = std::getenv("LISTEN_PID");
  const char* count = std::getenv("LISTEN_FDS");
  if (pid == nullptr || count == nullptr || std::atoi(pid) != getpid() || std::atoi(count) < 1)
    return -1;
  return 3;
}

Outcome<int> listen_on(const std::string& host, int port) {
  if (const int fd = activated_socket(); fd >= 0) return fd;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int result = getaddrinfo(host.empty() ? nullptr : host.c_str(),
                                 std::to_string(port).c_str(), &hints, &found);
  if (result != 0)
    return Failure{Kind::internal, "SDX-V0191: host " + host + ": " + gai_strerror(result)};
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all(found, freeaddrinfo);
  std::string why = "no address";
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    const int fd = socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    const int one = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (fd >= 0 && bind(fd, at->ai_addr, at->ai_addrlen) == 0 && listen(fd, 4096) == 0) return fd;
    why = std::strerror(errno);
    if (fd >= 0) close(fd);
  }
  return Failure{Kind::internal, "SDX-V0192: cannot listen on " + host + " port " +
                                     std::to_string(port) + ": " + why};
}

int port_of(int fd) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  char port[16] = "0";
  getnameinfo(reinterpret_cast<sockaddr*>(&address), size, nullptr, 0, port, sizeof port,
              NI_NUMERICSERV);
  return std::atoi(port);
}

// As many descriptors as allowed: each client is one.
void raise_descriptors() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// Looks at the folder and the certificate from time to time, and sends spans.
class Keeper {
 public:
  Keeper(Core& core, Tls* tls) : thread_([this, &core, tls] { work(core, tls); }) {}
  ~Keeper() {
    stop_ = true;
    thread_.join();
  }

 private:
  void work(Core& core, Tls* tls) {
    using namespace std::chrono_literals;
    core.repository.scan();
    log(Level::info, core.ready() ? "ready" : "not ready",
        {{"models", std::to_string(core.repository.index().size())}});
    auto next = Clock::now();
    while (!stop_) {
      std::this_thread::sleep_for(20ms);
      if (core.scheduler->waiting() > 0) core.scheduler->sweep();
      if (Clock::now() < next) continue;
      next = Clock::now() + std::chrono::milliseconds(static_cast<int64_t>(
                                core.settings.poll_s > 0 ? core.settings.poll_s * 1000 : 1000));
      if (core.settings.poll_s > 0) core.repository.scan();
      if (tls != nullptr) {
        if (const std::string wrong = tls->reload_if_changed(); !wrong.empty())
          log(Level::error, "certificate refused", {{"reason", wrong}});
      }
      if (core.settings.otlp.empty()) continue;
      if (const std::string spans = take_spans(); !spans.empty()) {
        if (const std::string wrong = send_spans(core.settings.otlp, spans); !wrong.empty())
          log(Level::warning, "spans lost", {{"reason", wrong}});
      }
    }
  }
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

// First `ready` is false and each answer closes its connection, while new ones are still taken:
// whoever spreads requests over servers needs a moment to see it, and what it sends until then is
// answered.
void drain(Core& core, std::vector<std::unique_ptr<Reactor>>& reactors) {
  constexpr auto kNotice = std::chrono::milliseconds(1500);
  core.shared.draining = true;
  if (core.shared.connections > 0) std::this_thread::sleep_for(kNotice);
  for (auto& reactor : reactors) reactor->drain();
  const auto end =
      Clock::now() + std::chrono::milliseconds(static_cast<int64_t>(core.settings.drain_s * 1000));
  while (Clock::now() < end && (core.scheduler->unfinished() > 0 || core.shared.connections > 0)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    if (core.scheduler->unfinished() == 0) {
      for (auto& reactor : reactors) reactor->drain();
    }
  }
}

}  // namespace

int serve(const ServerSettings& settings, const std::function<std::string()>& confine) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // before any thread is made
  signal(SIGPIPE, SIG_IGN);
  raise_descriptors();
  const auto fail = [](const Failure& failure) {
    std::fprintf(stderr, "error: %s\n", failure.message.c_str());
    return 2;
  };
  std::unique_ptr<Tls> tls;
  if (settings.tls.asked()) {
    auto made = Tls::from(settings.tls);
    if (!made) return fail(made.failure());
    tls = *std::move(made);
  }
  const auto listener = listen_on(settings.host, settings.port);
  if (!listener) return fail(listener.failure());
  if (confine) {
    if (const std::string wrong = confine(); !wrong.empty()) {
      std::fprintf(stderr, "%s\n", wrong.c_str());
      return 2;
    }
  }

  Core core(settings);
  Calls calls(core);
  core.shared.handler = &calls;
  core.shared.tls = tls.get();
  std::vector<std::unique_ptr<Reactor>> reactors;
  std::vector<std::thread> threads;
  for (size_t i = 0; i < core.settings.reactors; ++i) {
    reactors.push_back(std::make_unique<Reactor>(core.shared, *listener));
  }
  for (auto& reactor : reactors) threads.emplace_back([&reactor] { reactor->run(); });
  log(Level::info, "listening",
      {{"host", settings.host},
       {"port", std::to_string(port_of(*listener))},
       {"tls", tls ? "yes" : "no"}});
  {
    const Keeper keeper(core, tls.get());
    int signal_number = 0;
    sigwait(&signals, &signal_number);
    log(Level::info, "draining", {{"signal", std::to_string(signal_number)}});
    drain(core, reactors);
  }
  while (core.controls > 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  core.scheduler->stop();  // reactors may still ask it
  for (auto& reactor : reactors) reactor->stop();
  for (std::thread& thread : threads) thread.join();
  reactors.clear();
  close(*listener);
  log(Level::info, "stopped", {});
  return 0;
}

}  // namespace sardonyx::serve
