// Scheduler: which request runs when. A request runs at once in the thread that brought it where
// that is known to be quick, else a worker takes it; whatever waits meanwhile and may share a run
// goes together. Nothing waits for company: an idle model answers a lone request at once.
#pragma once

#include <condition_variable>
#include <functional>
#include <list>
#include <thread>

#include "serve/model/served_model.h"

namespace sardonyx::serve {

struct Job {
  std::shared_ptr<ServedModel> model;
  InferRequest request;
  // Called once, by whichever thread has the answer.
  std::function<void(Outcome<InferResult>)> done;
  Clock::time_point arrived = Clock::now(), started = arrived;
  Clock::time_point deadline = Clock::time_point::max();
  std::atomic<bool> cancelled{false};
  uint64_t compute_ns = 0;
  size_t batch = 1;  // requests that shared its run
};
using JobPtr = std::shared_ptr<Job>;

class Scheduler {
 public:
  // What a run may take at most to be done in the thread that brought the request; and what it
  // takes at least to gain by company.
  static constexpr uint64_t kQuickNs = 200'000, kWorthSharingNs = 8'000;

  explicit Scheduler(size_t workers);
  ~Scheduler() { stop(); }
  // Ends the workers when all that waits is answered. What comes later runs at once or is refused.
  void stop();

  // Quick requests that came to one thread at one time: they run together when it has seen all.
  using Round = std::vector<JobPtr>;

  // True: it is answered already. One that joined the round, if there is one, is answered by
  // `run_round`, which the caller sees to; the others by a worker.
  bool submit(const JobPtr& job, Round* round = nullptr);
  void run_round(Round&& round);
  // Those whose time is over or whose client has left are answered although no worker is free.
  void sweep();
  size_t unfinished() const { return unfinished_->load(); }
  std::shared_ptr<const std::atomic<size_t>> at_work() const { return unfinished_; }
  size_t waiting() const { return waiting_.load(); }
  size_t workers() const { return threads_.size(); }

 private:
  void work();
  bool run_at_once(const JobPtr& job);
  void enqueue(const JobPtr& job);
  ServedModel* next_model();
  std::vector<JobPtr> take_batch(ServedModel& model);
  void run(const std::shared_ptr<ServedModel>& model, std::vector<JobPtr> jobs);
  std::vector<JobPtr> take_turn(Round& round);
  std::vector<JobPtr> alive_of(std::vector<JobPtr> jobs);
  void run_alive(ServedModel::Seat& seat, std::vector<JobPtr> jobs, Clock::time_point memory_by);
  void run_alone(ServedModel::Seat& seat, const JobPtr& job, Clock::time_point memory_by);
  void run_together(ServedModel::Seat& seat, const std::vector<JobPtr>& jobs,
                    Clock::time_point memory_by);
  void finish(const JobPtr& job, Outcome<InferResult> outcome);
  bool wait_for_sequence(const JobPtr& job);
  void end_of_sequence_turn(Job& job, bool failed);

  std::mutex mutex_;
  std::condition_variable wake_;
  std::list<std::shared_ptr<ServedModel>> active_;  // with requests that wait
  double least_used_s_ = 0;
  bool stop_ = false;
  std::shared_ptr<std::atomic<size_t>> unfinished_ = std::make_shared<std::atomic<size_t>>(0);
  std::atomic<size_t> waiting_{0};
  std::vector<std::thread> threads_;
};

}  // namespace sardonyx::serve
