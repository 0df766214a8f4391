// sardonyx bench: how long loading and running take.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "load.h"
#include "progress.h"

namespace sdx::cli {
namespace {

struct BenchFlags {
  std::string model;
  EngineFlags engine;
  InputFlags inputs;
  int runs = 10, warmup = 2;
  bool json = false;
};

// Buffers for every output, if all their shapes are known before running.
std::vector<Tensor> static_outputs(const plan::Plan& plan) {
  std::vector<Tensor> buffers;
  for (const typed::Output& output : plan.graph.outputs()) {
    const Fact& fact = plan.graph.fact(output.outlet);
    if (!fact.is_concrete() || fact.type == DType::undefined || fact.type == DType::string)
      return {};
    buffers.push_back(Tensor::make(fact.type, fact.dims()));
  }
  return buffers;
}

// Of this program alone: getrusage would also count what its parent held before starting it.
double peak_rss_mb() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) return std::stod(line.substr(6)) / 1024;
  }
  return 0;
}

// The smallest time that at least `share` of the runs did not exceed.
double at_share(const std::vector<double>& sorted, double share) {
  const auto rank =
      static_cast<size_t>(std::max(0.0, share * static_cast<double>(sorted.size()) - 1e-9));
  return sorted[std::min(rank, sorted.size() - 1)];
}

Status bench(const BenchFlags& flags) {
  SDX_ASSIGN(const Loaded loaded, load(flags.model, flags.engine, flags.inputs));
  run::Session session(loaded.compiled);
  std::vector<Tensor> buffers = static_outputs(*loaded.plan);
  const auto once = [&]() -> Status {
    if (!buffers.empty()) return session.run_into(loaded.inputs, buffers);
    Result<std::vector<Value>> outputs = session.run(loaded.inputs);
    if (!outputs) return std::move(outputs).error();
    return ok();
  };
  std::vector<double> times;
  Progress progress("timing", "runs");
  for (int i = -flags.warmup; i < flags.runs; ++i) {
    const double start = now_ms();
    if (Status status = once(); !status)
      return asking_for_sizes(std::move(status).error().in(flags.model), loaded.assumed);
    if (i >= 0) times.push_back(now_ms() - start);
    progress.at(static_cast<size_t>(i) + static_cast<size_t>(flags.warmup) + 1,
                static_cast<size_t>(flags.runs) + static_cast<size_t>(flags.warmup));
  }
  progress.finish();
  std::sort(times.begin(), times.end());
  const double median = (times[(times.size() - 1) / 2] + times[times.size() / 2]) / 2;
  const auto rounded = [](double x) { return std::round(x * 1e4) / 1e4; };
  const auto& cache = loaded.compiled->settings().plan.cache;
  if (flags.json) {
    nlohmann::ordered_json line = {{"load_ms", rounded(loaded.load_ms)},
                                   {"min_ms", rounded(times.front())},
                                   {"median_ms", rounded(median)},
                                   {"p90_ms", rounded(at_share(times, 0.9))},
                                   {"runs", flags.runs},
                                   {"peak_rss_mb", rounded(peak_rss_mb())},
                                   {"arena_bytes", session.arena_bytes()},
                                   {"threads", loaded.compiled->pool().threads()},
                                   {"isa", isa_name(loaded.options.isa)}};
    if (cache) {
      const plan::PackCache::Report report = cache->report();
      line["pack_cache"] = {
          {"read", report.read}, {"packed", report.packed}, {"written", report.written}};
    }
    std::printf("%s\n", line.dump().c_str());
  } else {
    std::printf(
        "min %.3f ms, median %.3f ms, 90%% within %.3f ms over %d runs; load %.1f ms, peak %.0f "
        "MB, arena %zu "
        "bytes, %d threads, %s\n",
        times.front(), median, at_share(times, 0.9), flags.runs, loaded.load_ms, peak_rss_mb(),
        session.arena_bytes(), loaded.compiled->pool().threads(),
        std::string(isa_name(loaded.options.isa)).c_str());
    if (cache) {
      const plan::PackCache::Report report = cache->report();
      std::printf("packed weights: %zu read (%.1f MB), %zu packed%s; %s\n", report.read,
                  double(report.read_bytes) / 1e6, report.packed,
                  report.written ? " and written" : "", report.path.c_str());
    }
  }
  return ok();
}

}  // namespace

Command bench_command(CommandLine program) {
  CommandLine app = program.command("bench", "time a model");
  auto flags = std::make_shared<BenchFlags>();
  app.option("model", flags->model, "an .onnx file, or its text (.txt)").required();
  app.option("--runs", flags->runs, "timed runs").positive().show_default();
  app.option("--warmup", flags->warmup, "runs before them").not_negative().show_default();
  flags->inputs.seed = 0;  // times do not depend on values
  flags->inputs.add_to(app);
  app.flag("--json", flags->json, "one JSON line instead of words");
  flags->engine.add_to(app);
  return {app, [flags] {
            const Status status = bench(*flags);
            return status ? kOk : report(status.error());
          }};
}

}  // namespace sdx::cli
