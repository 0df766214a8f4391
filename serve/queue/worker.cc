#include "serve/queue/worker.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <deque>
#include <map>
#include <thread>

#include "serve/core.h"
#include "serve/log.h"
#include "serve/oip/json.h"
#include "serve/queue/jetstream.h"
#include "serve/queue/objects.h"

namespace sardonyx::serve {
namespace {

using namespace std::chrono_literals;

// An answer on its way from a run to the result stream.
struct Answered {
  uint64_t key = 0;
  Outcome<Response> response = Response();
  bool by_reference = false;
};

// Answers come from the scheduler's threads; the loop takes them.
class Answers {
 public:
  Answers() : event_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}
  ~Answers() { close(event_); }
  int descriptor() const { return event_; }
  void add(Answered answered) {
    const std::lock_guard lock(mutex_);
    all_.push_back(std::move(answered));
    const uint64_t one = 1;
    (void)!write(event_, &one, sizeof one);
  }
  std::deque<Answered> take() {
    uint64_t count = 0;
    (void)!read(event_, &count, sizeof count);
    const std::lock_guard lock(mutex_);
    return std::exchange(all_, {});
  }

 private:
  int event_;
  std::mutex mutex_;
  std::deque<Answered> all_;
};

// A message that this worker has and has not acknowledged.
struct Delivery {
  NatsMessage message;
  std::string id, token;
  Clock::time_point sign = Clock::now();  // the last sign of life that the server got
  std::optional<Clock::time_point> published;
  bool dead = false;
};

Outcome<InferRequest> read_request(const NatsMessage& message) {
  const std::string_view length = message.header("Inference-Header-Content-Length");
  size_t json_bytes = message.payload.size();
  if (!length.empty()) {
    const auto [end, error] = std::from_chars(length.begin(), length.end(), json_bytes);
    if (error != std::errc() || end != length.end() || json_bytes > message.payload.size()) {
      return Failure{Kind::bad_request, "SDX-V0630: Inference-Header-Content-Length is " +
                                            std::string(length) + " and the message has " +
                                            std::to_string(message.payload.size()) + " bytes"};
    }
  }
  const auto body = std::make_shared<Body>(json_bytes);
  body->append(message.payload);
  body->pad();
  auto request = read_infer_json(*body, json_bytes);
  if (request) request->alive = body;
  return request;
}

std::vector<std::string_view> pieces_of(const Response& response) {
  std::vector<std::string_view> pieces = {response.text};
  for (const Piece& piece : response.pieces) pieces.push_back(piece.bytes);
  return pieces;
}

// A result that does not fit into a message goes to a file, and a note of it into the message.
Outcome<Response> by_reference(const QueueSettings& settings, const Response& response) {
  if (settings.objects.empty()) {
    return Failure{Kind::too_large,
                   "SDX-V0631: the result has " + std::to_string(response.body_bytes()) +
                       " bytes; --objects DIR is where such results go, by reference"};
  }
  auto stored = store_object(settings.objects, pieces_of(response));
  if (!stored) return stored.failure();
  Response note;
  note.headers = response.headers;
  note.content_type = response.content_type;
  note.text = "{\"reference\":{\"file\":";
  append_json_string(note.text, stored->sha256);
  note.text += ",\"sha256\":\"" + stored->sha256 + "\",\"bytes\":" + std::to_string(stored->bytes);
  note.text += "}}";
  return note;
}

class QueueWorker {
 public:
  QueueWorker(const QueueSettings& settings, int signals)
      : settings_(settings), core_(settings.server), signals_(signals) {
    if (settings_.pending == 0) settings_.pending = 32 * core_.settings.workers;
  }

  int run(const NatsAddress& address) {
    core_.repository.scan();
    log(Level::info, core_.ready() ? "ready" : "not ready",
        {{"models", std::to_string(core_.repository.index().size())}});
    std::atomic<bool> ended{false};
    std::thread keeper([&] { keep(ended); });
    const int code = connect_again_and_again(address);
    ended = true;
    keeper.join();
    core_.scheduler.reset();
    log(Level::info, "stopped",
        {{"answered", std::to_string(answered_)},
         {"answered before", std::to_string(was_there_)},
         {"dead", std::to_string(dead_)}});
    return code;
  }

 private:
  // Looks at the folder of models, and ends requests whose time is over.
  void keep(const std::atomic<bool>& ended) {
    auto next = Clock::now() + 1s;
    while (!ended) {
      std::this_thread::sleep_for(20ms);
      if (core_.scheduler->waiting() > 0) core_.scheduler->sweep();
      if (Clock::now() < next) continue;
      next = Clock::now() + 1s;
      core_.repository.scan();
    }
  }

  int connect_again_and_again(const NatsAddress& address) {
    auto pause = 100ms;
    while (!stopping_) {
      const auto began = Clock::now();
      const std::optional<Failure> failure = session(address);
      if (!failure) return 0;
      const bool hopeless = failure->kind != Kind::unavailable;
      log(hopeless ? Level::error : Level::warning, "not connected",
          {{"reason", failure->message}});
      if (hopeless) {
        std::fprintf(stderr, "error: %s\n", failure->message.c_str());
        return 2;
      }
      if (Clock::now() - began > 5s) pause = 100ms;
      wait_for_signal(pause);
      pause = std::min<std::chrono::milliseconds>(2 * pause, 2s);
    }
    return 0;
  }

  void wait_for_signal(std::chrono::milliseconds time) {
    pollfd ready{signals_, POLLIN, 0};
    if (poll(&ready, 1, int(time.count())) > 0) stopping_ = true;
  }

  // One connection, from its beginning to its end; a failure if it broke.
  std::optional<Failure> session(const NatsAddress& address) {
    auto connected = Nats::connect(address);
    if (!connected) return connected.failure();
    nats_ = *std::move(connected);
    if (auto failure = prepare_streams(*nats_, settings_)) return failure;
    log(Level::info, "connected", {{"host", address.host}, {"port", address.port}});
    // What was at hand before is delivered again; answers that still come for it are not taken.
    at_hand_.clear();
    wanted_ = 0;
    auto next_tick = Clock::now();
    while (!(stopping_ && at_hand_.empty())) {
      if (auto failure = pull()) return failure;
      if (auto failure = wait()) return failure;
      for (Answered& answered : answers_.take()) {
        if (auto failure = finish(std::move(answered))) return failure;
      }
      if (Clock::now() < next_tick) continue;
      next_tick = Clock::now() + 200ms;
      if (auto failure = tick()) return failure;
    }
    return std::nullopt;
  }

  // Asks for as many messages as there is room for.
  std::optional<Failure> pull() {
    const auto now = Clock::now();
    if (wanted_ > 0 && now - pulled_ > 8s) wanted_ = 0;  // lost: the server ends them after 5
    if (stopping_ || wanted_ > 0 || at_hand_.size() > settings_.pending / 2 || now < not_before_)
      return std::nullopt;
    wanted_ = settings_.pending - at_hand_.size();
    pulled_ = now;
    const std::string how =
        settings_.until_empty ? ",\"no_wait\":true}" : ",\"expires\":5000000000}";
    return nats_->publish(
        "$JS.API.CONSUMER.MSG.NEXT." + settings_.stream + "." + settings_.consumer,
        nats_->inbox() + ".p." + std::to_string(++pulls_), {},
        {"{\"batch\":" + std::to_string(wanted_) + how});
  }

  // Until something comes: a message, an answer, a signal. Takes all messages that are there.
  std::optional<Failure> wait() {
    pollfd ready[] = {{nats_->descriptor(), POLLIN, 0},
                      {answers_.descriptor(), POLLIN, 0},
                      {signals_, POLLIN, 0}};
    poll(ready, 3, 50);
    if (ready[2].revents != 0 && !stopping_) {
      stopping_ = true;
      log(Level::info, "draining", {{"at hand", std::to_string(at_hand_.size())}});
    }
    for (;;) {
      auto message = nats_->next(0ms);
      if (!message) return message.failure();
      if (!*message) return std::nullopt;
      if (auto failure = take(std::move(**message))) return failure;
    }
  }

  std::optional<Failure> take(NatsMessage message) {
    const std::string results = nats_->inbox() + ".r.";
    if (message.subject.starts_with(results))
      return stored(message.subject.substr(results.size()), message);
    if (delivery_of(message.reply)) return deliver(std::move(message));
    // The end of a pull. Of an earlier one than the last, nothing is open.
    if (message.subject != nats_->inbox() + ".p." + std::to_string(pulls_) || message.status == 100)
      return std::nullopt;
    wanted_ = 0;
    if (message.status == 503)
      return Failure{Kind::unavailable, "SDX-V0632: JetStream does not answer"};
    if (message.status != 408)
      not_before_ = Clock::now() + 20ms;  // nothing there: not at once again
    if (message.status == 404 && settings_.until_empty && at_hand_.empty()) {
      const auto done = all_done(*nats_, settings_);
      if (!done) return done.failure();
      if (*done) stopping_ = true;
      not_before_ = Clock::now() + 100ms;
    }
    return std::nullopt;
  }

  std::optional<Failure> deliver(NatsMessage message) {
    if (wanted_ > 0) --wanted_;
    if (stopping_) return nats_->publish(message.reply, "", {}, {"-NAK"});
    const DeliveryInfo info = *delivery_of(message.reply);
    const uint64_t key = ++keys_;
    Delivery& delivery = at_hand_[key];
    delivery.id = message.header("Nats-Msg-Id");
    if (delivery.id.empty()) delivery.id = "seq-" + std::to_string(info.sequence);
    delivery.token = token_of(delivery.id);
    delivery.message = std::move(message);
    if (info.deliveries > settings_.tries) {
      return bury(key, "SDX-V0633: delivered " + std::to_string(info.deliveries - 1) +
                           " times and never answered");
    }
    return submit(key, delivery);
  }

  std::optional<Failure> submit(uint64_t key, const Delivery& delivery) {
    auto request = read_request(delivery.message);
    if (!request) return bury(key, request.failure().message);
    if (request->id.empty()) request->id = delivery.id;
    std::string name(delivery.message.header("Sardonyx-Model"));
    if (name.empty()) name = settings_.model;
    if (name.empty()) {
      const auto index = core_.repository.index();
      if (index.size() == 1) name = index[0].name;
    }
    auto model = core_.repository.find(name, delivery.message.header("Sardonyx-Version"));
    if (!model) return answered_with(key, model.failure());
    if (!request->sequence.empty())
      return bury(key, "SDX-V0634: sequences keep state in one server; a queue has none");
    const auto job = std::make_shared<Job>();
    job->model = *std::move(model);
    job->request = *std::move(request);
    // The job outlives `done`, which it calls: a plain pointer makes no circle.
    job->done = [this, key, job = job.get()](Outcome<InferResult> outcome) {
      answers_.add(answer(key, job->request, std::move(outcome)));
    };
    core_.scheduler->submit(job);
    return std::nullopt;
  }

  // In a thread of the scheduler.
  Answered answer(uint64_t key, const InferRequest& request, Outcome<InferResult> outcome) const {
    Answered answered;
    answered.key = key;
    if (!outcome) {
      answered.response = outcome.failure();
      return answered;
    }
    Response response = infer_json(*std::move(outcome), request);
    answered.by_reference = response.body_bytes() > settings_.inline_bytes;
    answered.response =
        answered.by_reference ? by_reference(settings_, response) : Outcome<Response>(response);
    return answered;
  }

  std::optional<Failure> finish(Answered answered) {
    const auto at = at_hand_.find(answered.key);
    if (at == at_hand_.end()) return std::nullopt;  // of a connection before this one
    if (!answered.response) return answered_with(answered.key, answered.response.failure());
    const Response& response = *answered.response;
    NatsHeaders headers = {{"Nats-Expected-Last-Subject-Sequence", "0"},
                           {"Content-Type", std::string(response.content_type)},
                           {"Sardonyx-Id", at->second.id}};
    headers.insert(headers.end(), response.headers.begin(), response.headers.end());
    if (answered.by_reference) headers.emplace_back("Sardonyx-Reference", "file");
    at->second.published = Clock::now();
    return nats_->publish(result_subject(settings_, at->second.token),
                          nats_->inbox() + ".r." + std::to_string(answered.key), headers,
                          pieces_of(response));
  }

  // What may be better next time is delivered again, a second later; the rest is dead.
  std::optional<Failure> answered_with(uint64_t key, const Failure& failure) {
    const bool passing = failure.kind == Kind::overloaded || failure.kind == Kind::unavailable ||
                         failure.kind == Kind::internal || failure.kind == Kind::deadline;
    if (!passing) return bury(key, failure.message);
    const std::string reply = at_hand_[key].message.reply;
    log(Level::warning, "again", {{"id", at_hand_[key].id}, {"reason", failure.message}});
    at_hand_.erase(key);
    return nats_->publish(reply, "", {}, {"-NAK {\"delay\":1000000000}"});
  }

  std::optional<Failure> bury(uint64_t key, const std::string& reason) {
    Delivery& delivery = at_hand_[key];
    log(Level::warning, "dead letter", {{"id", delivery.id}, {"reason", reason}});
    delivery.dead = true;
    delivery.published = Clock::now();
    NatsHeaders headers = {{"Nats-Expected-Last-Subject-Sequence", "0"},
                           {"Sardonyx-Id", delivery.id},
                           {"Sardonyx-Reason", reason}};
    for (const auto& header : delivery.message.headers) {
      if (!header.first.starts_with("Nats-")) headers.push_back(header);
    }
    return nats_->publish(dead_subject(settings_, delivery.token),
                          nats_->inbox() + ".r." + std::to_string(key), headers,
                          {delivery.message.payload});
  }

  // The result stream has said what became of a result or a dead letter.
  std::optional<Failure> stored(std::string_view number, const NatsMessage& answer) {
    uint64_t key = 0;
    std::from_chars(number.begin(), number.end(), key);
    const auto at = at_hand_.find(key);
    if (at == at_hand_.end()) return std::nullopt;
    std::string reason;
    const Published result = published(answer, reason);
    if (result == Published::nobody || result == Published::refused) {
      // Full, or not there: the message comes again, to whoever is better off then.
      log(Level::error, "result not stored", {{"id", at->second.id}, {"reason", reason}});
      const std::string reply = at->second.message.reply;
      at_hand_.erase(at);
      return nats_->publish(reply, "", {}, {"-NAK {\"delay\":1000000000}"});
    }
    (at->second.dead ? dead_ : result == Published::stored ? answered_ : was_there_) += 1;
    const Delivery delivery = std::move(at->second);
    at_hand_.erase(at);
    return nats_->publish(delivery.message.reply, "", {}, {delivery.dead ? "+TERM" : "+ACK"});
  }

  // Signs of life for what takes long, and a look at whether the server lives.
  std::optional<Failure> tick() {
    const auto now = Clock::now();
    const auto often = std::chrono::duration<double>(settings_.ack_wait_s / 3);
    for (auto& [key, delivery] : at_hand_) {
      if (delivery.published && now - *delivery.published > 5s)
        return Failure{Kind::unavailable, "SDX-V0635: the result stream does not answer"};
      if (now - delivery.sign < often) continue;
      delivery.sign = now;
      if (auto failure = nats_->publish(delivery.message.reply, "", {}, {"+WPI"})) return failure;
    }
    return nats_->keep_alive();
  }

  QueueSettings settings_;
  Answers answers_;
  Core core_;
  int signals_;
  std::unique_ptr<Nats> nats_;
  std::map<uint64_t, Delivery> at_hand_;
  uint64_t keys_ = 0, pulls_ = 0, answered_ = 0, was_there_ = 0, dead_ = 0;
  size_t wanted_ = 0;  // messages that the last pull may still bring
  Clock::time_point pulled_, not_before_;
  bool stopping_ = false;
};

int refuse(const std::string& why) {
  std::fprintf(stderr, "error: %s\n", why.c_str());
  return 2;
}

}  // namespace

int work_queue(const QueueSettings& settings) {
  const auto address = NatsAddress::parse(settings.url);
  if (!address) return refuse(address.failure().message);
  if (!is_name(settings.stream) || !is_name(settings.consumer))
    return refuse("SDX-V0603: streams and consumers are named by letters, digits, - and _");
  struct stat state {};
  if (!settings.objects.empty() &&
      (stat(settings.objects.c_str(), &state) != 0 || !S_ISDIR(state.st_mode)))
    return refuse("SDX-V0604: --objects " + settings.objects + " is no folder");
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // before any thread is made
  signal(SIGPIPE, SIG_IGN);
  const int descriptor = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  const int code = QueueWorker(settings, descriptor).run(*address);
  close(descriptor);
  return code;
}

}  // namespace sardonyx::serve
