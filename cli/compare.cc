// sardonyx compare: the same bits from the reference bodies, from the kernels and from the
// optimised graph, or where they part.
//
// The reference and the kernels run the same graph, so every wire of theirs is compared, by a hash.
// The optimised graph has other wires: its outputs are compared, and where they differ, the wires
// that stand for the same node of the model.
#include <cstdio>

#include "base/printable.h"
#include "base/sha256.h"
#include "compare_with.h"
#include "json.h"
#include "load.h"

namespace sdx::cli {
namespace {

using Flags = CompareWith;
using Lines = std::vector<std::string>;  // what differs

std::string hash_of(const View& view) {
  Sha256 sha;
  if (view.type == DType::string) {
    for (const std::string& text : view.values<std::string>())
      sha.add(text.c_str(), text.size() + 1);
  } else {
    sha.add(view.raw, view.bytes());
  }
  return sha.hex();
}

// Hashes of every wire of a run, in order; and, asked for one wire, its value.
struct Recorder : run::Observer {
  struct Wire {
    uint32_t node;
    uint32_t slot;
    std::string name, op, hash;
  };
  std::vector<Wire> wires;
  const Wire* wanted = nullptr;
  Tensor value;

  void after(uint32_t id, const typed::Node& node, std::span<const View> outputs) override {
    for (uint32_t slot = 0; slot < outputs.size(); ++slot) {
      const View& view = outputs[slot];
      if (!view.present()) continue;
      if (wanted != nullptr) {
        if (wanted->node == id && wanted->slot == slot) {
          const Dims dims(view.dims.begin(), view.dims.end());
          value = Tensor::over(view.type, dims, nullptr, view.raw).copy();
        }
        continue;
      }
      const std::string& name = node.origin.empty() ? node.use.name : node.origin.back();
      wires.push_back({id, slot, name, std::string(node.op().name), hash_of(view)});
    }
  }
};

// What all runs have in common.
struct Subject {
  typed::Graph graph;
  CompileOptions options;
  std::vector<Value> inputs;
};

struct Run {
  bool optimize, reference;  // how it was compiled
  std::vector<Value> outputs;
  Recorder recorder;
};

// A plan holds constants of its own, so there is one at a time.
Status record(const Subject& subject, Run& run, Recorder& recorder) {
  CompileOptions options = subject.options;
  options.optimize = run.optimize;
  options.reference = run.reference;
  SDX_ASSIGN(const auto compiled, compile(subject.graph, options));
  SDX_ASSIGN(run.outputs, run::Session(compiled).run(subject.inputs, {.observer = &recorder}));
  return {};
}

Result<Run> run_with(const Subject& subject, bool optimize, bool reference) {
  Run run{.optimize = optimize, .reference = reference, .outputs = {}, .recorder = {}};
  SDX_TRY(record(subject, run, run.recorder));
  return run;
}

// The first element whose bits differ, with both values.
std::string first_difference(const Tensor& a, const Tensor& b) {
  if (a.type() != b.type() || a.dims() != b.dims()) {
    return fmt::format("{}{} against {}{}", short_name(a.type()), to_string(a.dims()),
                       short_name(b.type()), to_string(b.dims()));
  }
  if (a.type() == DType::string) return "strings differ";
  size_t first = 0, differing = 0;
  const bool complex = is_complex(a.type());
  const DType type = !complex ? a.type() : a.type() == DType::c64 ? DType::f32 : DType::f64;
  const size_t count = a.count() * (complex ? 2 : 1);
  for (size_t i = count; i-- > 0;) {
    if (get_bits(type, a.raw(), i) != get_bits(type, b.raw(), i)) first = i, ++differing;
  }
  if (differing == 0) return "";
  return fmt::format("element {} is {} (bits {:#x}) against {} (bits {:#x}); {} of {} differ",
                     first, get_f64(type, a.raw(), first), get_bits(type, a.raw(), first),
                     get_f64(type, b.raw(), first), get_bits(type, b.raw(), first), differing,
                     count);
}

std::string first_difference(const Value& a, const Value& b) {
  if (equal(a, b)) return "";
  if (a.is_tensor() && b.is_tensor()) return first_difference(a.tensor(), b.tensor());
  return fmt::format("{} against {}", fact_of(a).text(), fact_of(b).text());
}

Tensor value_of(const Subject& subject, const Run& run, const Recorder::Wire& wire) {
  Recorder one;
  one.wanted = &wire;
  Run again{.optimize = run.optimize, .reference = run.reference, .outputs = {}, .recorder = {}};
  (void)record(subject, again, one).ok();
  return one.value;
}

// Compares outputs; on a difference names the first wire of `a` and `b` that stands for one node
// and differs.
bool same(const Subject& subject, const char* a_name, const Run& a, const char* b_name,
          const Run& b, Lines& lines) {
  bool equal_outputs = true;
  for (size_t i = 0; i < a.outputs.size(); ++i) {
    const std::string why = first_difference(a.outputs[i], b.outputs[i]);
    if (why.empty()) continue;
    equal_outputs = false;
    lines.push_back(fmt::format("{} and {} differ: output \"{}\": {}", a_name, b_name,
                                subject.graph.outputs()[i].name, why));
  }
  for (const Recorder::Wire& wire : a.recorder.wires) {
    if (equal_outputs || wire.name.empty()) continue;
    for (const Recorder::Wire& other : b.recorder.wires) {
      if (other.name != wire.name || other.slot != wire.slot || other.hash == wire.hash) continue;
      lines.push_back(fmt::format(
          "first at node \"{}\" ({}, {}) output {}: {}", wire.name, wire.op, other.op, wire.slot,
          first_difference(value_of(subject, a, wire), value_of(subject, b, other))));
      return false;
    }
  }
  return equal_outputs;
}

// Every wire of two runs of one graph.
bool same_wires(const Subject& subject, const Run& reference, const Run& kernels, Lines& lines) {
  const auto &a = reference.recorder.wires, &b = kernels.recorder.wires;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (a[i].hash == b[i].hash) continue;
    lines.push_back(fmt::format(
        "reference and kernels differ: node \"{}\" ({}) output {}: {}", a[i].name, a[i].op,
        a[i].slot,
        first_difference(value_of(subject, reference, a[i]), value_of(subject, kernels, b[i]))));
    return false;
  }
  return a.size() == b.size();
}

Result<bool> compare(const Flags& flags) {
  SDX_ASSIGN(Loaded loaded, load(flags.model, flags.engine, flags.inputs));
  const int threads = loaded.compiled->pool().threads();
  loaded.plan.reset();
  loaded.compiled.reset();
  SDX_ASSIGN(typed::Graph graph, type(std::move(loaded.model), loaded.options));
  const Subject subject{std::move(graph), std::move(loaded.options), std::move(loaded.inputs)};
  SDX_ASSIGN(const Run reference, run_with(subject, false, true));
  SDX_ASSIGN(const Run kernels, run_with(subject, false, false));
  SDX_ASSIGN(const Run optimized, run_with(subject, true, false));
  Lines lines;
  const bool wires = same_wires(subject, reference, kernels, lines);
  const bool outputs = same(subject, "kernels", kernels, "optimised", optimized, lines);
  if (flags.json) {
    print_json({{"model", flags.model},
                {"equal", wires && outputs},
                {"wires", reference.recorder.wires.size()},
                {"outputs", reference.outputs.size()},
                {"steps", optimized.recorder.wires.size()},
                {"threads", threads},
                {"isa", isa_name(subject.options.isa)},
                {"differences", lines}});
    return wires && outputs;
  }
  for (const std::string& line : lines) std::printf("%s\n", printable(line).c_str());
  if (!wires || !outputs) return false;
  std::printf(
      "equal bits: %zu wires, %zu outputs; reference, kernels (%s, %d threads) and optimised (%zu "
      "steps)\n",
      reference.recorder.wires.size(), reference.outputs.size(),
      std::string(isa_name(subject.options.isa)).c_str(), threads, optimized.recorder.wires.size());
  return true;
}

}  // namespace

Command compare_command(CommandLine program) {
  CommandLine app = program.command(
      "compare", "a model's wires with its reference; with another model; with another engine");
  auto flags = std::make_shared<Flags>();
  app.option("model", flags->model, "an .onnx file, or its text (.txt)").required();
  app.option("other", flags->other, "another model, which gets the same inputs by position");
  app.option("--against", flags->folder,
             "a folder of outputs, and of wires if it has them, as run --output-dir and --dump "
             "write them: outputs.npz, output_0.npy, NAME.npy (.pb)");
  app.option("--rtol", flags->tolerance.relative,
             "with another model or --against: |a-b| <= atol + rtol |b|")
      .not_negative()
      .show_default();
  app.option("--atol", flags->tolerance.absolute, "the same").not_negative().show_default();
  app.flag("--json", flags->json, "as one JSON object");
  flags->inputs.seed = 0;
  flags->inputs.add_to(app);
  flags->engine.add_to(app);
  return {app, [flags] {
            if (!flags->other.empty() && !flags->folder.empty())
              return report(fail("SDX-C0048", "give another model or --against, not both"));
            const bool alone = flags->other.empty() && flags->folder.empty();
            const Result<bool> same = alone ? compare(*flags) : compare_with(*flags);
            if (!same) return report(same.error());
            return *same ? kOk : kWrong;
          }};
}

}  // namespace sdx::cli
