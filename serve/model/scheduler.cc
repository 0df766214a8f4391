#include "serve/model/scheduler.h"

#include <time.h>

#include <algorithm>

namespace sardonyx::serve {
namespace {

uint64_t ns_between(Clock::time_point from, Clock::time_point to) {
  return to > from ? static_cast<uint64_t>((to - from).count()) : 0;
}

constexpr int64_t kUsualPriority = 1'000'000;  // of requests that ask for none: behind all that do

// Plans are made per size, so sizes between these are left for the next run.
size_t good_rows(size_t rows) {
  static constexpr size_t kSizes[] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128};
  size_t best = 1;
  for (const size_t size : kSizes) {
    if (size <= rows) best = size;
  }
  return rows > 128 ? rows : best;
}

// What a run throws, out of memory above all, is its requests' failure and nobody else's.
template <class Run>
auto caught(const Run& run) -> decltype(run()) {
  try {
    return run();
  } catch (const std::exception& error) {
    return Failure{Kind::internal, std::string("SDX-V0426: ") + error.what()};
  }
}

constexpr auto kMemoryWait = std::chrono::seconds(10);  // for other runs' memory
constexpr auto kSequenceLife = std::chrono::minutes(5);
constexpr size_t kMostSequences = 10'000;

}  // namespace

Scheduler::Scheduler(size_t workers) {
  for (size_t i = 0; i < std::max<size_t>(1, workers); ++i)
    threads_.emplace_back([this] { work(); });
}

void Scheduler::stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

bool Scheduler::submit(const JobPtr& job, Round* round) {
  unfinished_->fetch_add(1);
  if (job->request.timeout_us == 0) job->request.timeout_us = job->model->settings().timeout_us;
  if (job->request.timeout_us > 0 && job->request.timeout_us < int64_t{1} << 52) {
    job->deadline =
        std::min(job->deadline, job->arrived + std::chrono::microseconds(job->request.timeout_us));
  }
  if (!job->request.sequence.empty() && wait_for_sequence(job)) return false;
  ServedModel& model = *job->model;
  const std::optional<uint64_t> expected = model.expected_ns(job->request);
  const bool quick =
      expected && *expected <= kQuickNs && model.waiting.load(std::memory_order_relaxed) == 0;
  if (quick && round != nullptr && *expected >= kWorthSharingNs && model.shares_at_once() &&
      job->request.sequence.empty()) {
    round->push_back(job);
    return false;
  }
  if (quick && run_at_once(job)) return true;
  enqueue(job);
  return false;
}

bool Scheduler::run_at_once(const JobPtr& job) {
  ServedModel& model = *job->model;
  ServedModel::Lease seat = model.lease();
  if (!seat || !model.has_room(*seat, job->request)) return false;
  run_alone(*seat, job, Clock::time_point::min());
  return true;
}

void Scheduler::run_round(Round&& round) {
  while (!round.empty()) {
    std::vector<JobPtr> jobs = take_turn(round);
    const std::shared_ptr<ServedModel> model = jobs.front()->model;
    if (ServedModel::Lease seat = model->lease()) {
      run_alive(*seat, std::move(jobs), Clock::time_point::min());
    } else {
      for (const JobPtr& job : jobs) enqueue(job);
    }
  }
}

// Of a round the first and, in order, what may share its run: as many as make a good size.
std::vector<JobPtr> Scheduler::take_turn(Round& round) {
  const JobPtr first = round.front();
  ServedModel& model = *first->model;
  const auto joins = [&](const JobPtr& job) {
    return job == first ||
           (job->model == first->model && model.may_share(first->request, job->request));
  };
  const auto all = static_cast<size_t>(std::count_if(round.begin(), round.end(), joins));
  // Now and then one goes alone, so that what that takes stays known.
  const bool alone = model.statistics.executions.load(std::memory_order_relaxed) % 8 == 0;
  const size_t most = alone ? 1 : std::min(model.settings().most_rows, good_rows(all));
  std::vector<JobPtr> jobs;
  size_t rows = 0;
  std::erase_if(round, [&](const JobPtr& job) {
    const size_t more = model.rows(job->request);
    const bool taken = (jobs.empty() || rows + more <= most) && joins(job);
    if (taken) {
      jobs.push_back(job);
      rows += more;
    }
    return taken;
  });
  return jobs;
}

void Scheduler::enqueue(const JobPtr& job) {
  ServedModel& model = *job->model;
  bool full = false, stopped = false;
  {
    const std::lock_guard lock(mutex_);
    full = model.waiting.load() >= model.settings().queue;
    stopped = stop_;
    if (!full && !stopped) {
      const int64_t priority = job->request.priority == 0 ? kUsualPriority : job->request.priority;
      model.line.waiting[priority].push_back(job);
      model.waiting.fetch_add(1);
      waiting_.fetch_add(1);
      if (!std::exchange(model.line.listed, true)) {
        // A model that was idle starts level with the others, not with credit for its rest.
        model.line.used_s = std::max(model.line.used_s, least_used_s_);
        active_.push_back(job->model);
      }
    }
  }
  if (stopped) return finish(job, Failure{Kind::unavailable, "SDX-V0425: the server is stopping"});
  if (!full) return wake_.notify_one();
  add(model.statistics.rejected);
  const double wait_s =
      static_cast<double>(model.usual_ns()) * 1e-9 * static_cast<double>(model.settings().queue);
  finish(job, Failure{Kind::overloaded,
                      "SDX-V0420: " + std::to_string(model.settings().queue) +
                          " requests already wait for model \"" + model.name() + "\"",
                      static_cast<int>(std::clamp(wait_s / 2, 1.0, 60.0))});
}

// The model that has used least among those with a request that may run now.
ServedModel* Scheduler::next_model() {
  ServedModel* best = nullptr;
  for (const auto& model : active_) {
    // Rows that wait for a batch in one run are worth more than a second run beside it.
    const bool alone = model->batching().possible && model->usual_ns() > 1'000'000;
    const size_t most = alone ? 1 : model->concurrency();
    if (model->line.running >= most) continue;
    if (best == nullptr || model->line.used_s < best->line.used_s) best = model.get();
  }
  return best;
}

std::vector<JobPtr> Scheduler::take_batch(ServedModel& model) {
  std::vector<JobPtr> jobs;
  size_t rows = 0, most = model.settings().most_rows;
  auto& lines = model.line.waiting;
  const JobPtr first = lines.begin()->second.front();
  if (model.batching().possible && model.settings().batching) {
    size_t all = 0;
    for (const auto& [priority, line] : lines) all += line.size();
    most = std::min(most, good_rows(all));
  } else {
    most = 1;
  }
  for (auto& [priority, line] : lines) {
    for (auto at = line.begin(); at != line.end();) {
      const JobPtr& job = *at;
      const size_t more = model.rows(job->request);
      const bool fits =
          jobs.empty() || (rows + more <= most && model.may_share(first->request, job->request));
      if (!fits) {
        ++at;
        continue;
      }
      jobs.push_back(job);
      rows += more;
      at = line.erase(at);
      if (rows >= most) break;
    }
    if (rows >= most) break;
  }
  std::erase_if(lines, [](const auto& line) { return line.second.empty(); });
  model.waiting.fetch_sub(jobs.size());
  waiting_.fetch_sub(jobs.size());
  return jobs;
}

void Scheduler::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    ServedModel* next = next_model();
    if (next == nullptr) {
      if (stop_) return;
      wake_.wait(lock);
      continue;
    }
    std::vector<JobPtr> jobs = take_batch(*next);
    std::shared_ptr<ServedModel> model = jobs.front()->model;
    ++model->line.running;
    if (model->line.waiting.empty()) {
      model->line.listed = false;
      active_.remove(model);
    }
    lock.unlock();
    const auto start = Clock::now();
    run(model, std::move(jobs));
    const double used_s = static_cast<double>(ns_between(start, Clock::now())) * 1e-9;
    lock.lock();
    --model->line.running;
    model->line.used_s += used_s;
    least_used_s_ = model->line.used_s;
    for (const auto& other : active_) least_used_s_ = std::min(least_used_s_, other->line.used_s);
    // The place that came free may be what another worker waits for.
    if (!active_.empty()) wake_.notify_one();
    lock.unlock();
    model.reset();  // its last reader may free it, without the lock
    lock.lock();
  }
}

// Of these jobs those whose client and time are there; the others have their answer.
std::vector<JobPtr> Scheduler::alive_of(std::vector<JobPtr> jobs) {
  const auto now = Clock::now();
  std::vector<JobPtr> alive;
  for (JobPtr& job : jobs) {
    if (job->cancelled) {
      finish(job, Failure{Kind::cancelled, "SDX-V0421: the client has left"});
    } else if (job->deadline <= now) {
      finish(job, Failure{Kind::deadline, "SDX-V0422: the request's time was over before it ran"});
    } else {
      alive.push_back(std::move(job));
    }
  }
  return alive;
}

void Scheduler::run(const std::shared_ptr<ServedModel>& model, std::vector<JobPtr> jobs) {
  const auto now = Clock::now();
  while (true) {
    if (ServedModel::Lease seat = model->lease())
      return run_alive(*seat, std::move(jobs), now + kMemoryWait);
    // Requests that run in reactors hold all sessions, each for less than kQuickNs.
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

void Scheduler::run_alive(ServedModel::Seat& seat, std::vector<JobPtr> jobs,
                          Clock::time_point memory_by) {
  const std::vector<JobPtr> alive = alive_of(std::move(jobs));
  if (alive.size() == 1) {
    run_alone(seat, alive.front(), memory_by);
  } else if (!alive.empty()) {
    run_together(seat, alive, memory_by);
  }
}

void Scheduler::run_alone(ServedModel::Seat& seat, const JobPtr& job, Clock::time_point memory_by) {
  ServedModel& model = *job->model;
  job->started = Clock::now();
  Outcome<InferResult> outcome = caught(
      [&] { return model.run(seat, job->request, &job->cancelled, job->deadline, memory_by); });
  job->compute_ns = ns_between(job->started, Clock::now());
  if (outcome) model.took(job->request, job->compute_ns);
  add(model.statistics.executions);
  finish(job, std::move(outcome));
}

void Scheduler::run_together(ServedModel::Seat& seat, const std::vector<JobPtr>& jobs,
                             Clock::time_point memory_by) {
  ServedModel& model = *jobs.front()->model;
  const auto start = Clock::now();
  std::vector<Outcome<InferResult>> outcomes;
  std::vector<const InferRequest*> requests;
  for (const JobPtr& job : jobs) requests.push_back(&job->request);
  auto results = caught([&] { return model.run(seat, requests, Clock::time_point::min()); });
  if (results) {
    for (InferResult& result : *results) outcomes.emplace_back(std::move(result));
  } else {
    // One request's fault must not be the others': each by itself.
    for (const JobPtr& job : jobs) {
      outcomes.push_back(caught([&] {
        return model.run(seat, job->request, &job->cancelled, job->deadline, memory_by);
      }));
    }
  }
  const auto end = Clock::now();
  add(model.statistics.executions);
  for (size_t i = 0; i < jobs.size(); ++i) {
    jobs[i]->started = start;
    jobs[i]->batch = jobs.size();
    jobs[i]->compute_ns = ns_between(start, end);
    finish(jobs[i], std::move(outcomes[i]));
  }
}

void Scheduler::finish(const JobPtr& job, Outcome<InferResult> outcome) {
  Statistics& counts = job->model->statistics;
  if (outcome) {
    timespec now{};
    clock_gettime(CLOCK_REALTIME_COARSE, &now);  // milliseconds will do, and it is cheaper
    counts.last_ms.store(static_cast<uint64_t>(now.tv_sec * 1000 + now.tv_nsec / 1'000'000),
                         std::memory_order_relaxed);
    add(counts.rows, job->model->rows(job->request));
    counts.queue.record(ns_between(job->arrived, job->started));
    counts.compute.record(job->compute_ns);
    counts.request.record(ns_between(job->arrived, job->started) + job->compute_ns);
  } else {
    const Kind kind = outcome.failure().kind;
    if (kind != Kind::overloaded)
      add(kind == Kind::cancelled  ? counts.cancelled
          : kind == Kind::deadline ? counts.expired
                                   : counts.failed);
  }
  if (!job->request.sequence.empty()) end_of_sequence_turn(*job, !outcome);
  job->done(std::move(outcome));
  unfinished_->fetch_sub(1);
}

// Requests of one sequence run in the order in which they came. True: it runs later.
bool Scheduler::wait_for_sequence(const JobPtr& job) {
  ServedModel& model = *job->model;
  bool too_many = false;
  {
    const std::lock_guard lock(model.sequences_mutex);
    std::erase_if(model.sequences, [&](const auto& entry) {
      return !entry.second.busy && job->arrived - entry.second.used > kSequenceLife;
    });
    too_many = model.sequences.size() >= kMostSequences &&
               !model.sequences.contains(job->request.sequence);
    if (!too_many) {
      ServedModel::Kept& kept = model.sequences[job->request.sequence];
      kept.used = job->arrived;
      if (kept.busy) {
        kept.next.push_back(job);
        return true;
      }
      kept.busy = true;
      if (job->request.sequence_start) kept.states.clear();
    }
  }
  if (!too_many) return false;
  job->request.sequence.clear();
  finish(job, Failure{Kind::overloaded, "SDX-V0423: too many sequences are open", 1});
  return true;
}

void Scheduler::end_of_sequence_turn(Job& job, bool failed) {
  JobPtr next;
  ServedModel& model = *job.model;
  {
    const std::lock_guard lock(model.sequences_mutex);
    const auto kept = model.sequences.find(job.request.sequence);
    if (kept == model.sequences.end()) return;
    kept->second.busy = false;
    if (!failed && job.request.sequence_end) kept->second.states.clear();
    if (!kept->second.next.empty()) {
      next = kept->second.next.front();
      kept->second.next.pop_front();
      kept->second.busy = true;
      if (next->request.sequence_start) kept->second.states.clear();
    } else if (!failed && job.request.sequence_end) {
      model.sequences.erase(kept);
    }
  }
  if (next) enqueue(next);
}

void Scheduler::sweep() {
  std::vector<JobPtr> over;
  const auto now = Clock::now();
  {
    const std::lock_guard lock(mutex_);
    for (auto model = active_.begin(); model != active_.end();) {
      auto& lines = (*model)->line.waiting;
      for (auto& [priority, line] : lines) {
        for (auto at = line.begin(); at != line.end();) {
          const bool ends = (*at)->cancelled || (*at)->deadline <= now;
          if (ends) {
            over.push_back(*at);
            (*model)->waiting.fetch_sub(1);
            waiting_.fetch_sub(1);
          }
          at = ends ? line.erase(at) : at + 1;
        }
      }
      std::erase_if(lines, [](const auto& line) { return line.second.empty(); });
      (*model)->line.listed = !lines.empty();
      model = lines.empty() ? active_.erase(model) : std::next(model);
    }
  }
  for (const JobPtr& job : over) {
    finish(job, job->cancelled ? Failure{Kind::cancelled, "SDX-V0421: the client has left"}
                               : Failure{Kind::deadline,
                                         "SDX-V0422: the request's time was over before it ran"});
  }
}

}  // namespace sardonyx::serve
