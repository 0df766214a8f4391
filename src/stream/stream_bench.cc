// A pulse of 8 rows beside its share of the whole run: the wake-word network of models.h, one
// thread. Items are rows of the input.
#include <benchmark/benchmark.h>

#include "stream/models.h"

namespace sdx::stream {
namespace {

void whole_run(benchmark::State& state) {
  const BuiltNetwork made = built(networks()[0]);
  const int64_t rows = state.range(0);
  const auto compiled = compiled_whole(made.graph);
  run::Session session(*compiled);
  const std::vector<Value> inputs{noise(DType::f32, {1, 20, rows}, 7)};
  for (auto _ : state) benchmark::DoNotOptimize(session.run(inputs));
  state.SetItemsProcessed(state.iterations() * rows);
}
BENCHMARK(whole_run)->Arg(512)->Arg(2048)->Arg(8192)->UseRealTime();

void pulses(benchmark::State& state) {
  const BuiltNetwork made = built(networks()[0]);
  const auto source = Source::make(made.graph, "T", plain_settings(), std::make_shared<Pool>(1));
  Stream stream(*source);
  const int64_t rows = state.range(0);
  const Tensor chunk = noise(DType::f32, {1, 20, rows}, 7);
  for (int64_t done = 0; done < 1024; done += rows) (void)stream.push(std::span(&chunk, 1));
  for (auto _ : state) benchmark::DoNotOptimize(stream.push(std::span(&chunk, 1)));
  state.SetItemsProcessed(state.iterations() * rows);
}
BENCHMARK(pulses)->Arg(1)->Arg(8)->Arg(64)->UseRealTime();

}  // namespace
}  // namespace sdx::stream
