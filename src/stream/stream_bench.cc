// What a pulse costs beside its share of the whole run: the wake-word network of models.h on one
// thread, with whole runs over 2,048 and over 8,192 rows. Whole runs and pulses take turns. `ratio`
// is the time of a pulse, the median of a hundred in the best round, over that of as many rows of
// the best whole run.
//
//   build/stream_bench                       pulses of 1, 8, 16 and 64 rows
#include <benchmark/benchmark.h>

#include <algorithm>
#include <ctime>

#include "stream/models.h"

namespace sdx::stream {
namespace {

constexpr int kRounds = 60, kPulses = 100;

// Of this thread: while others have the CPU it stands still.
double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return double(now.tv_sec) + double(now.tv_nsec) * 1e-9;
}
double seconds(const auto& work) {
  const double start = thread_seconds();
  work();
  return thread_seconds() - start;
}

void pulse(benchmark::State& state) {
  const int64_t all = state.range(0), rows = state.range(1);
  const BuiltNetwork made = built(networks()[0]);
  const auto compiled = compiled_whole(made.graph);
  run::Session session(*compiled);
  const std::vector<Value> inputs{noise(DType::f32, {1, 20, all}, 7)};

  const auto source = Source::make(made.graph, "T", plain_settings(), std::make_shared<Pool>(1));
  Stream stream(*source);
  const Tensor chunk = noise(DType::f32, {1, 20, rows}, 8);
  const auto push = [&] { benchmark::DoNotOptimize(stream.push(std::span(&chunk, 1))); };
  for (int64_t done = 0; done < 1024; done += rows) push();  // until every push is like the last

  for (auto _ : state) {
    double whole = 1e9, pulse = 1e9;
    std::vector<double> times(kPulses);
    for (int round = 0; round < kRounds; ++round) {
      whole = std::min(whole, seconds([&] { benchmark::DoNotOptimize(session.run(inputs)); }));
      for (double& time : times) time = seconds(push);
      std::nth_element(times.begin(), times.begin() + kPulses / 2, times.end());
      pulse = std::min(pulse, times[kPulses / 2]);
    }
    const double share = whole * double(rows) / double(all);
    state.SetIterationTime(pulse);
    state.counters["share_us"] = share * 1e6;
    state.counters["pulse_us"] = pulse * 1e6;
    state.counters["ratio"] = pulse / share;
  }
}
BENCHMARK(pulse)
    ->ArgsProduct({{2048, 8192}, {1, 8, 16, 64}})
    ->ArgNames({"whole", "pulse"})
    ->Iterations(1)
    ->UseManualTime();

}  // namespace
}  // namespace sdx::stream
