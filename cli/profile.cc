// sardonyx profile: where the time of a run goes, by node and by operator, and how near that is to
// what the machine can do.
#include <algorithm>
#include <cstdio>

#include "base/printable.h"
#include "bytes/file.h"
#include "copy_rates.h"
#include "json.h"
#include "kernel/peak.h"
#include "load.h"
#include "progress.h"
#include "work.h"

namespace sdx::cli {
namespace {

struct ProfileFlags {
  std::string model, trace;
  EngineFlags engine;
  InputFlags inputs;
  int runs = 5;
  size_t top = 30;
  bool json = false;
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
  double flops = 0;    // a multiply-add is two
  double bytes = 0;    // of its inputs and outputs
  double copy_ms = 0;  // that copying as many bytes takes, in the cache that holds them
  bool integer = false;

  Load& operator+=(const Load& other) {
    flops += other.flops, bytes += other.bytes, copy_ms += other.copy_ms;
    integer |= other.integer;
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
  double gflops;  // of all threads
  CopyRates copies;
};

// How near a step comes to what bounds it: multiply-adds on registers, or copies of its size. No
// number where what was measured is no bound: integer products have units of their own, and a
// kernel may need fewer products than the operator's definition, or fewer bytes than it could read.
struct Rate {
  double gflops = 0, gbytes = 0;
  bool computes = false;          // bound by multiply-adds rather than by bytes
  std::optional<double> of_peak;  // at most 1
};

Rate rate_of(const Row& row, const Peaks& peaks) {
  constexpr double kNoise = 1.05;  // two measurements of one thing differ by as much
  Rate rate;
  if (row.ms <= 0 || row.load.bytes <= 0) return rate;
  rate.gflops = row.load.flops / row.ms * 1e-6;
  rate.gbytes = row.load.bytes / row.ms * 1e-6;
  const double compute = rate.gflops / peaks.gflops, memory = row.load.copy_ms / row.ms;
  rate.computes = compute >= memory || (row.load.integer && row.load.flops > 0);
  const double share = rate.computes ? compute : memory;
  if (share <= kNoise && !(rate.computes && row.load.integer)) rate.of_peak = std::min(share, 1.0);
  return rate;
}

std::string text_of(const Row& row, const Rate& rate) {
  if (row.ms <= 0 || row.load.bytes <= 0) return "";
  const std::string share =
      rate.of_peak ? fmt::format("{:3.0f}%", 100 * *rate.of_peak) : std::string(4, ' ');
  if (rate.computes)
    return fmt::format("{:7.1f} {} {}", rate.gflops, row.load.integer ? "GOP/s  " : "GFLOP/s",
                       share);
  return fmt::format("{:7.1f} GB/s    {}", rate.gbytes, share);
}

void print_row(const Row& row, double total, const Peaks& peaks, const std::string& first) {
  std::printf("%9.3f ms %5.1f%% %6zu %20s  %-34s %s\n", row.ms,
              total > 0 ? 100 * row.ms / total : 0, row.count,
              text_of(row, rate_of(row, peaks)).c_str(), row.kernel.c_str(),
              printable(first).c_str());
}

Json row_json(const Row& row, double total, const Peaks& peaks) {
  const Rate rate = rate_of(row, peaks);
  Json json = {{"operator", row.op},
               {"kernel", row.kernel},
               {"why", row.why},
               {"ms", row.ms},
               {"share", total > 0 ? row.ms / total : 0},
               {"count", row.count},
               {"gflops", rate.gflops},
               {"gbytes", rate.gbytes}};
  json["of_peak"] = rate.of_peak ? Json(*rate.of_peak) : Json(nullptr);
  if (!row.name.empty()) json["node"] = row.name, json["output"] = row.shape;
  return json;
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

// Operators that read no more of their inputs than they write.
bool reads_parts(std::string_view op) {
  static constexpr std::string_view kParts[] = {
      "Compress",   "Gather", "GatherElements", "GatherND",
      "SequenceAt", "Slice",  "Split",          "GatherBlockQuantized"};
  return std::find(std::begin(kParts), std::end(kParts), op) != std::end(kParts);
}

Load load_of(const plan::Plan& plan, const plan::Step& step, const CopyRates& copies) {
  const typed::Node& node = plan.graph.node(step.node);
  Load load;
  Facts in;
  bool known = true;
  const auto bytes = [&](const Fact& fact) -> double {
    if (!fact.present()) return 0;
    known = known && fact.is_concrete() && fact.type != DType::string;
    if (!known) return 0;
    const auto elements = element_count(fact.dims());
    return elements ? static_cast<double>(bytes_for(fact.type, *elements)) : 0;
  };
  double read = 0, written = 0;
  for (const typed::Outlet input : node.inputs) in.push_back(plan.graph.fact(input));
  for (const Fact& fact : in) read += bytes(fact);
  for (const Fact& fact : node.outputs) written += bytes(fact);
  if (reads_parts(node.op().name)) read = std::min(read, written);
  load.bytes = read + written;
  if (step.epilogue) {
    for (const typed::Outlet input : plan.graph.node(step.epilogue->node).inputs) {
      if (input.node != step.node) load.bytes += bytes(plan.graph.fact(input));
    }
  }
  if (!known) return {};
  load.copy_ms = copies.milliseconds(load.bytes);
  if (counts_multiply_adds(node)) {
    load.flops = 2 * static_cast<double>(multiply_adds(node, in));
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

std::vector<Row> rows_of(const plan::Plan& plan, const CopyRates& copies) {
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
    row.load = load_of(plan, step, copies);
  }
  return rows;
}

Status write_trace(const std::string& path, const std::vector<Row>& rows,
                   const std::vector<Event>& events) {
  Json list = Json::array();
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
  const Json trace = {{"traceEvents", std::move(list)}, {"displayTimeUnit", "ms"}};
  const std::string text = trace.dump(-1, ' ', false, Json::error_handler_t::replace);
  SDX_ASSIGN(const auto file, FileWriter::create(path));
  SDX_TRY(file->write(std::as_bytes(std::span(text))));
  return file->commit();
}

// The rows of all nodes, and their sums by operator and kernel, slowest first.
struct Profile {
  std::vector<Row> nodes, operators;
  double total_ms = 0;
  size_t steps = 0;
  int threads = 0;
  std::string isa;
};

void print_text(const ProfileFlags& flags, const Profile& profile, const Peaks& peaks) {
  std::printf("%.3f ms in %zu steps, each the fastest of %d runs, %d threads, %s\n",
              profile.total_ms, profile.steps, flags.runs, profile.threads, profile.isa.c_str());
  std::printf(
      "peak, measured: %.1f GFLOP/s in multiply-adds, %.1f GB/s in copies (%.1f in caches)\n",
      peaks.gflops, peaks.copies.slowest(), peaks.copies.fastest());
  print_head("by operator", "operator, why this kernel");
  for (const Row& row : profile.operators)
    print_row(row, profile.total_ms, peaks, fmt::format("{}: {}", row.op, row.why));
  print_head("by node", "node");
  size_t shown = 0;
  for (const Row& row : profile.nodes) {
    if (shown++ == flags.top) {
      std::printf("... --top N shows more\n");
      break;
    }
    print_row(row, profile.total_ms, peaks, fmt::format("{} ({}) {}", row.name, row.op, row.shape));
  }
}

void print_profile_json(const ProfileFlags& flags, const Profile& profile, const Peaks& peaks) {
  Json operators = Json::array(), nodes = Json::array();
  for (const Row& row : profile.operators)
    operators.push_back(row_json(row, profile.total_ms, peaks));
  for (const Row& row : profile.nodes) nodes.push_back(row_json(row, profile.total_ms, peaks));
  print_json({{"model", flags.model},
              {"total_ms", profile.total_ms},
              {"steps", profile.steps},
              {"runs", flags.runs},
              {"threads", profile.threads},
              {"isa", profile.isa},
              {"peak_gflops", peaks.gflops},
              {"peak_gbytes", peaks.copies.slowest()},
              {"peak_gbytes_in_caches", peaks.copies.fastest()},
              {"operators", std::move(operators)},
              {"nodes", std::move(nodes)}});
}

Status profile(const ProfileFlags& flags) {
  SDX_ASSIGN(const Loaded loaded, load(flags.model, flags.engine, flags.inputs));
  run::Session session(loaded.compiled);
  Timer timer;
  Progress progress("profiling", "runs");
  for (int run = -1; run < flags.runs; ++run) {  // the first warms caches and is not counted
    if (run == 0) timer.events.clear();
    const auto outputs = session.run(loaded.inputs, {.observer = &timer});
    if (!outputs) return asking_for_sizes(Error(outputs.error()).in(flags.model), loaded.assumed);
    progress.at(static_cast<size_t>(run) + 2, static_cast<size_t>(flags.runs) + 1);
  }
  progress.finish();
  Profile profile;
  profile.threads = loaded.compiled->pool().threads();
  profile.isa = std::string(isa_name(loaded.options.isa));
  profile.steps = session.plan()->steps.size();
  Pool pool(profile.threads);
  const Peaks peaks{peak_gflops(loaded.options.isa) * profile.threads, CopyRates(pool)};
  std::vector<Row> rows = rows_of(*session.plan(), peaks.copies);
  // The fastest of a node's runs: whatever else the machine does only adds to a time.
  for (const Event& event : timer.events) {
    Row& row = rows[event.node];
    row.ms = row.count == 0 ? event.ms : std::min(row.ms, event.ms);
    ++row.count;
  }
  std::map<std::tuple<std::string, std::string, std::string>, Row> by_kernel;
  for (Row& row : rows) {
    if (row.count == 0) continue;
    row.count /= static_cast<size_t>(flags.runs);
    row.ms *= static_cast<double>(row.count);
    profile.total_ms += row.ms;
    Row& sum = by_kernel[{row.op, row.kernel, row.why}];
    sum.op = row.op, sum.kernel = row.kernel, sum.why = row.why;
    sum.ms += row.ms, sum.count += row.count, sum.load += row.load;
  }
  if (!flags.trace.empty()) SDX_TRY(write_trace(flags.trace, rows, timer.events));
  for (auto& [key, row] : by_kernel) profile.operators.push_back(std::move(row));
  std::erase_if(rows, [](const Row& row) { return row.count == 0; });
  profile.operators = sorted(std::move(profile.operators));
  profile.nodes = sorted(std::move(rows));
  if (flags.json) {
    print_profile_json(flags, profile, peaks);
  } else {
    print_text(flags, profile, peaks);
  }
  return ok();
}

}  // namespace

Command profile_command(CommandLine program) {
  CommandLine app = program.command("profile", "time by node and by operator");
  auto flags = std::make_shared<ProfileFlags>();
  app.option("model", flags->model, "an .onnx file, or its text (.txt)").required();
  app.option("--trace", flags->trace, "also write every step in Chrome's trace format");
  app.option("--runs", flags->runs, "timed runs").positive().show_default();
  app.option("--top", flags->top, "nodes to list").show_default();
  app.flag("--json", flags->json, "every operator and node as one JSON object");
  flags->inputs.seed = 0;
  flags->inputs.add_to(app);
  flags->engine.add_to(app);
  return {app, [flags] {
            const Status status = profile(*flags);
            return status ? kOk : report(status.error());
          }};
}

}  // namespace sdx::cli
