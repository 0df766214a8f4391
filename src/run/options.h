// RunOptions: what one run is allowed and asked to do, and who watches it.
#pragma once

#include <atomic>
#include <chrono>
#include <span>
#include <vector>

#include "plan/plan.h"

namespace sdx::run {

// Called as a run goes on, for tracing, profiling and comparing.
struct Observer {
  virtual ~Observer() = default;
  virtual void start(const plan::Plan&) {}
  virtual void before(uint32_t /*id*/, const typed::Node&) {}
  // After each step, with the node whose outputs it made.
  virtual void after(uint32_t id, const typed::Node& node, std::span<const View> outputs) = 0;
  // Who watches a subgraph of `node`, each time it runs; nobody unless told.
  virtual Observer* inside(const typed::Node& node, const typed::Graph& body) {
    (void)node, (void)body;
    return nullptr;
  }
};

inline constexpr int64_t kMostIterations = 1'000'000'000;

struct RunOptions {
  using Clock = std::chrono::steady_clock;

  Observer* observer = nullptr;
  bool guard = false;  // every step is held to its contract (run/guard.h); slow
  // Once this is true or the time has come, the run ends with an error before its next step, in
  // subgraphs too; the session can be used again.
  const std::atomic<bool>* stop = nullptr;
  Clock::time_point deadline = Clock::time_point::max();
  int64_t most_iterations = kMostIterations;  // of one Loop
  // The outputs to compute, one entry per output of the graph; null: all. The others come back
  // empty.
  const std::vector<bool>* wanted = nullptr;

  bool limited() const { return stop != nullptr || deadline != Clock::time_point::max(); }
  // The error if it is time to end.
  Status check() const;
};

}  // namespace sdx::run
