// sardonyx profile: where the time of a run goes, by node and by operator, and how near that is to
// what the machine can do.
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/printable.h"
#include "bytes/file.h"
#include "kernel/peak.h"
#include "load.h"
#include "progress.h"

namespace sdx::cli {
namespace {

struct Flags {
  std::string model, trace;
  EngineFlags engine;
  InputFlags inputs;
  int runs = 5;
  size_t top = 30;
};

struct Event {
  uint32_t node;
  double start_ms, ms;
};

struct Timer : run::Observer {
  std::vector<Event> events;  // of all runs
  double started = 0;

  void before(uint32_t, const typed::Node&) override { started = now_ms(); }
  void after(uint32_t id, const typed::Node&, std::span<const View>) override {
    events.push_back({id, started, now_ms() - started});
  }
};

// What a step has to do at least.
struct Load {
  double flops = 0;  // a multiply-add is two
  double bytes = 0;  // of its inputs and outputs
  bool integer = false;

  Load& operator+=(const Load& other) {
    flops += other.flops, bytes += other.bytes, integer |= other.integer;
    return *this;
  }
};

struct Row {
  std::string name, op, kernel, why, shape;
  double ms = 0;
  size_t count = 0;
  Load load;
};

struct Peaks {
  double gflops, gbytes;  // of all threads
};

// The rate in the resource that the step uses the larger part of. Integer products have no peak to
// compare with: the measured one is that of floats.
std::string rate(const Row& row, const Peaks& peaks) {
  if (row.ms <= 0 || row.load.bytes <= 0) return "";
  const double gflops = row.load.flops / row.ms * 1e-6, gbytes = row.load.bytes / row.ms * 1e-6;
  if (row.load.flops > 0 && row.load.integer) return fmt::format("{:7.1f} GOP/s       ", gflops);
  const double compute = 100 * gflops / peaks.gflops, memory = 100 * gbytes / peaks.gbytes;
  return compute >= memory ? fmt::format("{:7.1f} GFLOP/s {:3.0f}%", gflops, compute)
                           : fmt::format("{:7.1f} GB/s    {:3.0f}%", gbytes, memory);
}

void print_row(const Row& row, double total, const Peaks& peaks, const std::string& first) {
  std::printf("%9.3f ms %5.1f%% %6zu %20s  %-34s %s\n", row.ms,
              total > 0 ? 100 * row.ms / total : 0, row.count, rate(row, peaks).c_str(),
              row.kernel.c_str(), printable(first).c_str());
}

void print_head(const char* title, const char* last) {
  std::printf("\n%s\n%12s %6s %6s %20s  %-34s %s\n", title, "time", "share", "count",
              "rate, of peak", "kernel", last);
}

std::vector<Row> sorted(std::vector<Row> rows) {
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.ms > b.ms; });
  return rows;
}

Load load_of(const plan::Plan& plan, const plan::Step& step) {
  const typed::Node& node = plan.graph.node(step.node);
  Load load;
  Facts in;
  bool known = true;
  const auto count = [&](const Fact& fact) {
    if (!fact.present()) return;
    known = known && fact.is_concrete() && fact.type != DType::string;
    if (!known) return;
    if (const auto elements = element_count(fact.dims())) {
      load.bytes += static_cast<double>(bytes_for(fact.type, *elements));
    }
  };
  for (const typed::Outlet input : node.inputs) in.push_back(plan.graph.fact(input));
  for (const Fact& fact : in) count(fact);
  for (const Fact& fact : node.outputs) count(fact);
  if (step.epilogue) {
    for (const typed::Outlet input : plan.graph.node(step.epilogue->node).inputs) {
      if (input.node != step.node) count(plan.graph.fact(input));
    }
  }
  if (!known) return {};
  if (node.op().multiply_adds != nullptr) {
    const Call call{in, node.outputs, plan.options.isa, plan.options.threads};
    load.flops = 2 * static_cast<double>(node.op().multiply_adds(node.resolved.get(), call));
    load.integer = !in.empty() && (in[0].type == DType::i8 || in[0].type == DType::u8);
  }
  return load;
}

// An operator's kernels are asked in their order; the first that fits is taken.
std::string why(const plan::Step& step, const Op& op) {
  if (step.late) return "chosen while running: its shapes depend on data";
  if (op.kernels.empty()) return "the operator has no other";
  if (step.kernel == nullptr) return fmt::format("none of {} fits", op.kernels.size());
  std::string passed;
  for (const Op::AnyKernel& kernel : op.kernels) {
    if (&kernel == step.kernel) break;
    passed += (passed.empty() ? "" : ", ") + std::string(kernel.name);
  }
  return passed.empty() ? "the first choice" : passed + " did not fit";
}

std::vector<Row> rows_of(const plan::Plan& plan) {
  std::vector<Row> rows(plan.graph.size());
  for (const plan::Step& step : plan.steps) {
    const typed::Node& node = plan.graph.node(step.node);
    Row& row = rows[plan.result_of(step)];
    row.op = std::string(node.op().name);
    row.kernel = step.late                ? "late"
                 : step.kernel == nullptr ? "reference"
                                          : std::string(step.kernel->name);
    if (step.epilogue) row.kernel += " + program";
    row.why = why(step, node.op());
    row.name = node.use.name.empty() ? fmt::format("%{}", step.node) : node.use.name;
    if (!node.outputs.empty()) row.shape = node.outputs[0].text();
    row.load = load_of(plan, step);
  }
  return rows;
}

Status write_trace(const std::string& path, const std::vector<Row>& rows,
                   const std::vector<Event>& events) {
  auto list = nlohmann::ordered_json::array();
  const double origin = events.empty() ? 0 : events.front().start_ms;
  for (const Event& event : events) {
    const Row& row = rows[event.node];
    list.push_back(
        {{"name", row.name},
         {"cat", row.op},
         {"ph", "X"},
         {"ts", (event.start_ms - origin) * 1000},
         {"dur", event.ms * 1000},
         {"pid", 1},
         {"tid", 1},
         {"args", {{"operator", row.op}, {"kernel", row.kernel}, {"output", row.shape}}}});
  }
  const nlohmann::ordered_json trace = {{"traceEvents", std::move(list)},
                                        {"displayTimeUnit", "ms"}};
  const std::string text = trace.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  SDX_ASSIGN(const auto file, FileWriter::create(path));
  SDX_TRY(file->write(std::as_bytes(std::span(text))));
  return file->commit();
}

Status profile(const Flags& flags) {
  SDX_ASSIGN(const Loaded loaded, load(flags.model, flags.engine, flags.inputs));
  run::Session session(loaded.compiled);
  Timer timer;
  Progress progress("profiling", "runs");
  for (int run = -1; run < flags.runs; ++run) {  // the first warms caches and is not counted
    if (run == 0) timer.events.clear();
    const auto outputs = session.run(loaded.inputs, {.observer = &timer});
    if (!outputs) return Error(outputs.error()).in(flags.model);
    progress.at(static_cast<size_t>(run + 2), static_cast<size_t>(flags.runs + 1));
  }
  progress.finish();
  std::vector<Row> rows = rows_of(*session.plan());
  // The fastest of a node's runs: whatever else the machine does only adds to a time.
  for (const Event& event : timer.events) {
    Row& row = rows[event.node];
    row.ms = row.count == 0 ? event.ms : std::min(row.ms, event.ms);
    ++row.count;
  }
  double total = 0;
  std::map<std::tuple<std::string, std::string, std::string>, Row> by_kernel;
  for (Row& row : rows) {
    if (row.count == 0) continue;
    row.count /= static_cast<size_t>(flags.runs);
    row.ms *= static_cast<double>(row.count);
    total += row.ms;
    Row& sum = by_kernel[{row.op, row.kernel, row.why}];
    sum.op = row.op, sum.kernel = row.kernel, sum.why = row.why;
    sum.ms += row.ms, sum.count += row.count, sum.load += row.load;
  }
  if (!flags.trace.empty()) SDX_TRY(write_trace(flags.trace, rows, timer.events));

  const int threads = loaded.compiled->pool().threads();
  Pool pool(threads);
  const double core = peak_gflops(loaded.options.isa);
  const Peaks peaks{core * threads, peak_gbytes(pool)};
  std::printf("%.3f ms in %zu steps, each the fastest of %d runs, %d threads, %s\n", total,
              session.plan()->steps.size(), flags.runs, threads,
              std::string(isa_name(loaded.options.isa)).c_str());
  std::printf("peak, measured: %.1f GFLOP/s in multiply-adds, %.1f GB/s in copies\n", peaks.gflops,
              peaks.gbytes);
  print_head("by operator", "operator, why this kernel");
  std::vector<Row> sums;
  for (auto& [key, row] : by_kernel) sums.push_back(std::move(row));
  for (const Row& row : sorted(std::move(sums))) {
    print_row(row, total, peaks, fmt::format("{}: {}", row.op, row.why));
  }
  print_head("by node", "node");
  rows = sorted(std::move(rows));
  size_t shown = 0;
  for (const Row& row : rows) {
    if (row.count == 0) break;
    if (shown++ == flags.top) {
      std::printf("... --top N shows more\n");
      break;
    }
    print_row(row, total, peaks, fmt::format("{} ({}) {}", row.name, row.op, row.shape));
  }
  return ok();
}

}  // namespace

Command profile_command(CommandLine program) {
  CommandLine app = program.command("profile", "time by node and by operator");
  auto flags = std::make_shared<Flags>();
  app.option("model", flags->model, "an .onnx file, or its text (.txt)").required();
  app.option("--trace", flags->trace, "also write every step in Chrome's trace format");
  app.option("--runs", flags->runs, "timed runs").positive().show_default();
  app.option("--top", flags->top, "nodes to list").show_default();
  flags->inputs.seed = 0;
  flags->inputs.add_to(app);
  flags->engine.add_to(app);
  return {app, [flags] {
            const Status status = profile(*flags);
            return status ? kOk : report(status.error());
          }};
}

}  // namespace sdx::cli
