#include "serve/core.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <thread>

#include "serve/log.h"
#include "serve/record.h"
#include "serve/span.h"

namespace sardonyx::serve {
namespace {

std::string sha256(std::string_view text) {
  unsigned char digest[32];
  EVP_Digest(text.data(), text.size(), digest, nullptr, EVP_sha256(), nullptr);
  static constexpr char kHex[] = "0123456789abcdef";
  std::string hex;
  for (const unsigned char byte : digest) {
    hex += kHex[byte >> 4];
    hex += kHex[byte & 15];
  }
  return hex;
}

bool same_secret(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

size_t cpus() { return std::max(1U, std::thread::hardware_concurrency()); }

ServerSettings completed(ServerSettings settings) {
  if (settings.workers == 0) settings.workers = cpus();
  if (settings.reactors == 0) settings.reactors = cpus();
  const auto cache = [&](ModelSettings& model) {
    if (model.pack_cache.empty())
      model.pack_cache = settings.pack_cache == "off" ? "" : settings.pack_cache;
  };
  cache(settings.defaults);
  for (auto& [name, model] : settings.by_model) cache(model);
  // Tokens are compared by their hashes: equal times, whatever the length.
  for (Token& token : settings.tokens) {
    if (token.sha256.empty()) token.sha256 = sha256(token.value);
    token.value.clear();
  }
  return settings;
}

// A job of a client, and what its end needs.
struct Asked : Job {
  ExchangePtr exchange;
  Core::Answer answer;
  std::thread::id here = std::this_thread::get_id();  // of the exchange's reactor
};

thread_local Scheduler::Round round_here;  // of this thread's reactor

// Outputs that were asked for in shared memory go there.
std::optional<Failure> hand_over(const Regions& regions, const InferRequest& request,
                                 InferResult& result) {
  for (size_t i = 0; i < request.outputs.size() && i < result.outputs.size(); ++i) {
    if (!request.outputs[i].shared) continue;
    OutputTensor& output = result.outputs[i];
    if (auto failure = regions.write(*request.outputs[i].shared, output)) return failure;
    output.shared = request.outputs[i].shared;
    output.shared->bytes = output.tensor.type() == Type::string
                               ? string_bytes(output.tensor).size()
                               : packed_bytes(output.tensor.type(), output.tensor.count());
  }
  return std::nullopt;
}

}  // namespace

Core::Core(const ServerSettings& given)
    : settings(completed(given)),
      repository(settings.models, settings.by_model, settings.defaults, settings.workers,
                 settings.working_memory),
      regions(settings.shared_memory),
      scheduler(std::make_unique<Scheduler>(settings.workers)) {
  shared.limits = settings.http;
  shared.look_for = std::chrono::microseconds(settings.look_us);
  shared.at_work = scheduler->at_work();
}

std::optional<Failure> Core::refusal(const Request& request, Group group) const {
  if (group == Group::open || settings.tokens.empty()) return std::nullopt;
  std::string_view given = request.header("authorization");
  if (given.size() < 7 || (given.substr(0, 7) != "Bearer " && given.substr(0, 7) != "bearer ")) {
    return Failure{Kind::unauthorized,
                   "SDX-V0140: this call needs \"Authorization: Bearer TOKEN\""};
  }
  const std::string hash = sha256(given.substr(7));
  for (const Token& token : settings.tokens) {
    if (!same_secret(token.sha256, hash)) continue;
    const bool may = group == Group::infer    ? token.infer
                     : group == Group::manage ? token.manage
                                              : token.look;
    if (may) return std::nullopt;
    return Failure{Kind::forbidden, "SDX-V0141: this token does not allow this call"};
  }
  return Failure{Kind::unauthorized, "SDX-V0142: the token is not known"};
}

void Core::control(const ExchangePtr& exchange, bool load, std::string name, std::string config,
                   std::function<void(std::optional<Failure>)> done) {
  ++controls;
  std::thread([this, exchange, load, name = std::move(name), config = std::move(config),
               done = std::move(done)] {
    const auto failure = load ? repository.load(name, config) : repository.unload(name);
    exchange->reactor.post([done, failure] { done(failure); });
    --controls;
  }).detach();
}

void Core::infer(const ExchangePtr& exchange, std::shared_ptr<ServedModel> model,
                 InferRequest&& request, Answer answer) {
  auto asked = std::make_shared<Asked>();
  asked->model = std::move(model);
  asked->request = std::move(request);
  asked->exchange = exchange;
  asked->answer = std::move(answer);
  // The job outlives `done`, which it calls: a plain pointer makes no circle.
  asked->done = [this, job = asked.get()](Outcome<InferResult> outcome) {
    const ExchangePtr& exchange = job->exchange;
    Response response;
    try {
      if (outcome) {
        if (auto failure = hand_over(regions, job->request, *outcome))
          outcome = *std::move(failure);
      }
      if (outcome && !settings.record.empty()) record(settings.record, *job, *outcome);
      note_span(settings, *exchange, *job, outcome ? nullptr : &outcome.failure());
      response = job->answer(std::move(outcome), job->request);
    } catch (const std::exception& error) {  // out of memory, above all
      log(Level::error, "answer failed", {{"reason", error.what()}});
      response = job->answer(Failure{Kind::internal, std::string("SDX-V0193: ") + error.what()},
                             job->request);
    }
    if (std::this_thread::get_id() == job->here) {
      exchange->respond(std::move(response));
      return;
    }
    auto shared_response = std::make_shared<Response>(std::move(response));
    exchange->reactor.post(
        [exchange, shared_response] { exchange->respond(std::move(*shared_response)); });
  };
  const JobPtr job = asked;
  if (scheduler->submit(job, &round_here)) return;
  // Weak, because the job's end holds the exchange. Called in this thread, so not before now.
  exchange->on_gone = [weak = std::weak_ptr(job)] {
    if (const auto left = weak.lock()) left->cancelled = true;
  };
}

bool Core::run_round() {
  if (round_here.empty()) return false;
  scheduler->run_round(std::exchange(round_here, {}));
  return true;
}

}  // namespace sardonyx::serve
