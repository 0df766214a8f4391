// ServedModel: one version of a model, compiled, with the sessions that run it and what is counted
// of it. Never changes; a new version is another ServedModel.
#pragma once

#include <sardonyx/sardonyx.h>

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "serve/failure.h"
#include "serve/model/budget.h"
#include "serve/model/settings.h"
#include "serve/model/statistics.h"
#include "serve/oip/request.h"

namespace sardonyx::serve {

struct Job;

// Requests that wait for a model, and what it has used; the scheduler's, under the scheduler's
// lock.
struct Line {
  std::map<int64_t, std::deque<std::shared_ptr<Job>>>
      waiting;         // by priority, the most urgent first
  size_t running = 0;  // by workers
  double used_s = 0;   // of workers' time, for fairness
  bool listed = false;
};

// Whether requests may share a run, and if not, why not.
struct Batching {
  bool possible = false;
  std::string reason;               // names the node that looks at other rows
  std::vector<bool> inputs_by_row;  // which inputs have rows; others must be equal to be shared
};

class ServedModel {
 public:
  static Outcome<std::shared_ptr<ServedModel>> load(const std::string& name,
                                                    const std::string& version,
                                                    const std::string& path,
                                                    const ModelSettings& settings, size_t workers,
                                                    std::shared_ptr<Budget> budget);
  ~ServedModel();
  ServedModel(const ServedModel&) = delete;
  ServedModel& operator=(const ServedModel&) = delete;

  const std::string& name() const { return name_; }
  const std::string& version() const { return version_; }
  const std::string& path() const { return path_; }
  const ModelSettings& settings() const { return settings_; }
  const std::vector<Port>& inputs() const { return inputs_; }
  const std::vector<Port>& outputs() const { return outputs_; }
  const Batching& batching() const { return batching_; }
  const std::vector<std::string>& notes() const { return notes_; }
  size_t concurrency() const { return concurrency_; }
  const Port* input(std::string_view name) const;

  // A session and the working memory that is counted for it.
  struct Seat {
    Session session;
    size_t arena_bytes = 0;
  };
  // A seat for one run, given back when the lease ends; none if all are in use.
  class Lease {
   public:
    Lease() = default;
    Lease(ServedModel* model, Seat* seat) : model_(model), seat_(seat) {}
    Lease(Lease&& other) noexcept
        : model_(std::exchange(other.model_, nullptr)), seat_(other.seat_) {}
    Lease& operator=(Lease&&) = delete;
    ~Lease();
    explicit operator bool() const { return model_ != nullptr; }
    Seat& operator*() { return *seat_; }

   private:
    ServedModel* model_ = nullptr;
    Seat* seat_ = nullptr;
  };
  Lease lease();

  // Whether the request's run can have its working memory without waiting.
  bool has_room(Seat& seat, const InferRequest& request);
  // One request in one run. Where working memory is short it waits for it until `memory_by`.
  Outcome<InferResult> run(Seat& seat, const InferRequest& request, const std::atomic<bool>* stop,
                           Clock::time_point deadline, Clock::time_point memory_by);
  // Several in one run, their rows one below the other; as many results.
  Outcome<std::vector<InferResult>> run(Seat& seat,
                                        const std::vector<const InferRequest*>& requests,
                                        Clock::time_point memory_by);
  // Whether quick ones may without a worker, which could wait for the memory of their run.
  bool shares_at_once() const { return batching_.possible && !budget_->on(); }
  // Whether they may: the same inputs and outputs, of sizes that differ in their rows alone.
  bool may_share(const InferRequest& a, const InferRequest& b) const;
  size_t rows(const InferRequest& request) const;

  // What a request's run will take, by the runs of its shapes so far; nothing if there were none.
  std::optional<uint64_t> expected_ns(const InferRequest& request) const;
  void took(const InferRequest& request, uint64_t ns);
  uint64_t usual_ns() const { return usual_ns_.load(std::memory_order_relaxed); }

  Statistics statistics;
  Line line;
  std::atomic<size_t> waiting{0};  // requests in `line`
  // What is kept of sequences: the states, by sequence and input.
  struct Kept {
    std::map<std::string, Value> states;
    Clock::time_point used;
    bool busy = false;
    std::deque<std::shared_ptr<Job>> next;
  };
  std::mutex sequences_mutex;
  std::map<std::string, Kept> sequences;

 private:
  ServedModel() = default;
  void warm_up();
  Outcome<Outputs> run_named(Seat& seat, const std::vector<NamedValue>& inputs,
                             const InferRequest& request, const std::atomic<bool>* stop,
                             Clock::time_point deadline, Clock::time_point memory_by);
  std::optional<Failure> make_room(Seat& seat, const std::vector<NamedValue>& inputs,
                                   Clock::time_point memory_by);
  void give_up_idle();
  std::optional<Failure> complain(const InferRequest& request) const;

  std::string name_, version_, path_;
  ModelSettings settings_;
  std::vector<Port> inputs_, outputs_;
  std::vector<std::string> tensor_outputs_;
  Batching batching_;
  std::vector<std::string> notes_;
  size_t concurrency_ = 1;
  std::atomic<uint64_t> usual_ns_{0};
  struct Cost {
    std::atomic<uint64_t> shapes{0}, ns{0};
  };
  std::array<Cost, 64> costs_;
  std::shared_ptr<Budget> budget_;
  std::optional<Session> origin_;  // never runs; the others are made from it, in any thread
  std::mutex mutex_;
  std::deque<Seat> seats_;  // all; guarded by mutex_, as is the next
  std::vector<Seat*> free_;
};

}  // namespace sardonyx::serve
