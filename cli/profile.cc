// sardonyx profile: where the time of a run goes, by node and by operator.
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "bytes/file.h"
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

  void before(const typed::Node&) override { started = now_ms(); }
  void after(uint32_t id, const typed::Node&, std::span<const View>) override {
    events.push_back({id, started, now_ms() - started});
  }
};

struct Row {
  std::string name, op, kernel, shape;
  double ms = 0;
  size_t count = 0;
};

void print_row(const Row& row, double total, const char* first) {
  std::printf("%9.3f ms %5.1f%% %6zu  %-34s %s\n", row.ms, total > 0 ? 100 * row.ms / total : 0,
              row.count, row.kernel.c_str(), first);
}

std::vector<Row> sorted(std::vector<Row> rows) {
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.ms > b.ms; });
  return rows;
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
    if (step.fused) row.kernel += " + program";
    row.name = node.use.name.empty() ? fmt::format("%{}", step.node) : node.use.name;
    if (!node.outputs.empty()) row.shape = node.outputs[0].text();
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
  double total = 0;
  for (const Event& event : timer.events) {
    rows[event.node].ms += event.ms / flags.runs;
    ++rows[event.node].count;
    total += event.ms / flags.runs;
  }
  std::map<std::pair<std::string, std::string>, Row> by_kernel;
  for (Row& row : rows) {
    if (row.count == 0) continue;
    row.count /= static_cast<size_t>(flags.runs);
    Row& sum = by_kernel[{row.op, row.kernel}];
    sum.op = row.op, sum.kernel = row.kernel, sum.ms += row.ms, sum.count += row.count;
  }
  if (!flags.trace.empty()) SDX_TRY(write_trace(flags.trace, rows, timer.events));

  std::printf("%.3f ms in %zu steps, mean of %d runs, %d threads, %s\n\nby operator\n", total,
              session.plan()->steps.size(), flags.runs, loaded.compiled->pool().threads(),
              std::string(isa_name(loaded.options.isa)).c_str());
  std::printf("%12s %6s %6s  %-34s %s\n", "time", "share", "count", "kernel", "operator");
  std::vector<Row> sums;
  for (auto& [key, row] : by_kernel) sums.push_back(std::move(row));
  for (const Row& row : sorted(std::move(sums))) print_row(row, total, row.op.c_str());
  std::printf("\nby node\n%12s %6s %6s  %-34s %s\n", "time", "share", "count", "kernel", "node");
  rows = sorted(std::move(rows));
  size_t shown = 0;
  for (const Row& row : rows) {
    if (row.count == 0) break;
    if (shown++ == flags.top) {
      std::printf("... --top N shows more\n");
      break;
    }
    print_row(row, total, fmt::format("{} ({}) {}", row.name, row.op, row.shape).c_str());
  }
  return ok();
}

}  // namespace

Command profile_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand("profile", "time by node and by operator");
  auto flags = std::make_shared<Flags>();
  app->add_option("model", flags->model, "an .onnx file, or its text (.txt)")->required();
  app->add_option("--trace", flags->trace, "also write every step in Chrome's trace format");
  app->add_option("--runs", flags->runs, "timed runs")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app->add_option("--top", flags->top, "nodes to list")->capture_default_str();
  flags->inputs.seed = 0;
  flags->inputs.add_to(*app);
  flags->engine.add_to(*app);
  return {app, [flags] {
            const Status status = profile(*flags);
            return status ? kOk : report(status.error());
          }};
}

}  // namespace sdx::cli
