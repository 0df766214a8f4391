// Core: what every call of either protocol needs: the models, the scheduler, who may do what, and
// what is counted.
#pragma once

#include <memory>

#include "serve/http/message.h"
#include "serve/model/scheduler.h"
#include "serve/net/reactor.h"
#include "serve/repo/repository.h"
#include "serve/settings.h"
#include "serve/shm/regions.h"

namespace sardonyx::serve {

enum class Group { open, infer, manage, look };  // of calls; open: health, which needs no token

struct Core {
  explicit Core(const ServerSettings& settings);

  ServerSettings settings;
  Shared shared;
  Repository repository;
  Regions regions;
  std::unique_ptr<Scheduler> scheduler;
  Clock::time_point started = Clock::now();
  std::atomic<uint64_t> requests{0}, bad_requests{0};
  std::atomic<int> controls{0};  // loads and unloads under way, in threads of their own

  bool ready() const { return repository.all_ready() && !shared.draining; }
  // Why this request may not make calls of the group, or nothing.
  std::optional<Failure> refusal(const Request& request, Group group) const;
  // Loads or unloads a model in a thread of its own; `done` is called in the exchange's.
  void control(const ExchangePtr& exchange, bool load, std::string name, std::string settings,
               std::function<void(std::optional<Failure>)> done);
  // Runs a request; `answer` makes the response in whichever thread has the result, and the
  // exchange's own thread sends it.
  using Answer = std::function<Response(Outcome<InferResult>, const InferRequest&)>;
  void infer(const ExchangePtr& exchange, std::shared_ptr<ServedModel> model,
             InferRequest&& request, Answer answer);
  // Runs what `infer` has put off in this reactor's thread, so that it runs together.
  bool run_round();  // false: nothing
};

}  // namespace sardonyx::serve
