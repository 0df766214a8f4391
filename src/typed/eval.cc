#include "typed/eval.h"

#include <algorithm>

#include "op/conform.h"
#include "typed/folding.h"
#include "typed/graph.h"

namespace sdx::typed {
namespace {

constexpr size_t kMostRead = 1024;

Status fits_limit(const Dims& dims, DType type, size_t most_bytes) {
  SDX_ASSIGN(const size_t count, element_count(dims));
  if (type != DType::undefined && bytes_for(type, count) > most_bytes) {
    return fail(kTooManyBytes, "a tensor {}{} takes {} bytes, the limit is {}", short_name(type),
                to_string(dims), bytes_for(type, count), most_bytes);
  }
  return ok();
}

// Strings that an operator joins or repeats: each of the results is at most as long as the longest
// of every input together.
Status strings_fit(std::span<const View> ins, const Fact& out, size_t most_bytes) {
  size_t longest = sizeof(std::string);
  for (const View& view : ins) {
    if (view.type != DType::string) continue;
    size_t most = 0;
    for (size_t i = 0; i < view.count; ++i)
      most = std::max(most, view.data<std::string>()[i].size());
    longest += most;
  }
  const size_t count = *element_count(out.dims());
  if (count == 0 || longest <= most_bytes / count) return ok();
  return fail(kTooManyBytes, "{} strings of up to {} bytes take more than the limit of {} bytes",
              count, longest, most_bytes);
}

class Late final : public LateOutputs, public BodyRunner {
 public:
  Late(std::span<const Value> inputs, std::vector<Value>& outputs, const Facts& facts, Pool& pool,
       const EvalOptions& options)
      : inputs_(inputs), outputs_(outputs), facts_(facts), pool_(pool), options_(options) {}

  Result<View> make(size_t output, Dims dims) override {
    SDX_TRY(fits_limit(dims, facts_[output].type, options_.most_bytes));
    SDX_TRY(FoldingAttempt::spend(*element_count(dims)));
    outputs_[output] = Tensor::make(facts_[output].type, std::move(dims));
    return view_of(outputs_[output].tensor());
  }
  const Value& value(size_t input) const override { return inputs_[input]; }
  void give(size_t output, Value value) override { outputs_[output] = std::move(value); }

  Result<std::vector<Value>> run_body(const Body& body, std::span<const Value> inputs) override {
    if (options_.bodies != nullptr) return options_.bodies->run_body(body, inputs);
    return body.run(inputs, pool_, options_.isa);
  }
  int64_t most_iterations() const override {
    return options_.bodies != nullptr ? options_.bodies->most_iterations() : kMostFoldedIterations;
  }
  Status hold(size_t bytes) override {
    if (options_.bodies != nullptr) return options_.bodies->hold(bytes);
    held_ += bytes;
    if (held_ <= options_.most_bytes) return ok();
    return fail(kTooManyBytes, "more than {} bytes are gathered, the limit", options_.most_bytes);
  }

 private:
  std::span<const Value> inputs_;
  std::vector<Value>& outputs_;
  const Facts& facts_;
  Pool& pool_;
  const EvalOptions& options_;
  size_t held_ = 0;
};

// Items of sequences: operators that change one copy it.
uint64_t items_in(std::span<const Value> values) {
  uint64_t items = 0;
  for (const Value& value : values) items += value.is_sequence() ? 16 * value.sequence().size() : 0;
  return items;
}

Pool& single_thread() {
  static Pool pool(1);
  return pool;
}

}  // namespace

Result<std::vector<Value>> eval(const sdx::Node& use, std::span<const Value> inputs,
                                const EvalOptions& options) {
  const Op& op = *use.op;
  Pool& pool = options.pool != nullptr ? *options.pool : single_thread();
  if (options.resolved != nullptr) {
    std::vector<Value> results(use.wanted.size());
    std::vector<View> views, outs(use.wanted.size());
    for (const Value& value : inputs)
      views.push_back(value.is_tensor() ? view_of(value.tensor()) : View{});
    const Facts none;
    Late late(inputs, results, none, pool, options);
    Args args;
    args.ins = views;
    args.outs = outs;
    args.pool = &pool;
    args.isa = options.isa;
    args.late = &late;
    SDX_TRY(op.reference(options.resolved, args));
    return results;
  }
  Facts in;
  std::vector<View> views;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Value& value = inputs[i];
    if (value.is_tensor()) {
      // Small tensors hold shapes, axes and bounds, which reading may need; larger ones are only
      // data.
      const bool known =
          (options.packer != nullptr && options.constant[i]) || value.tensor().count() <= kMostRead;
      in.push_back(known ? Fact::constant(value.tensor()) : fact_of(value));
      views.push_back(view_of(value.tensor()));
    } else {
      in.push_back(value.is_none() ? Fact{} : fact_of(value));
      views.emplace_back();
    }
  }
  if (options.check_types) {
    SDX_TRY(conforms(*op.at(use.opset), in, use.formal_inputs, use.wanted.size()));
  }
  SDX_ASSIGN(const std::shared_ptr<const void> attrs, op.read(use, in));
  SDX_ASSIGN(Facts out, op.infer(attrs.get(), in));
  out.resize(std::max(out.size(), use.wanted.size()));
  // What this run happens to give is no constant to a kernel that packs for all runs.
  for (size_t i = 0; options.packer != nullptr && i < in.size(); ++i) {
    if (!options.constant[i]) in[i].value.reset();
  }

  if (FoldingAttempt::active() && options.bodies == nullptr) {
    SDX_TRY(FoldingAttempt::spend(work_of(op, use, attrs.get(), in, out) + items_in(inputs)));
  }
  std::vector<Value> results(use.wanted.size());
  std::vector<View> outs(use.wanted.size());
  bool planned = true;
  for (size_t i = 0; i < results.size(); ++i) {
    if (!use.wants(i) || !out[i].present()) continue;
    if (!out[i].is_concrete()) {
      planned = false;
      continue;
    }
    SDX_TRY(fits_limit(out[i].dims(), out[i].type, options.most_bytes));
    if (out[i].type == DType::string) SDX_TRY(strings_fit(views, out[i], options.most_bytes));
    results[i] = Tensor::make(out[i].type, out[i].dims());
    outs[i] = view_of(results[i].tensor());
  }

  Late late(inputs, results, out, pool, options);
  Args args;
  args.ins = views;
  args.outs = outs;
  args.pool = &pool;
  args.isa = options.isa;
  args.late = &late;
  const Op::AnyKernel* chosen = nullptr;
  const Call call{in, out, options.isa, pool.threads()};
  if (!options.reference && planned) {
    for (const Op::AnyKernel& kernel : op.kernels) {
      if (kernel.fits(attrs.get(), call)) {
        chosen = &kernel;
        break;
      }
    }
  }
  std::shared_ptr<void> scratch;
  std::shared_ptr<const void> packed;
  if (chosen != nullptr) {
    const size_t bytes = chosen->scratch(attrs.get(), call);
    scratch = allocate_aligned(bytes);
    args.scratch = {static_cast<std::byte*>(scratch.get()), bytes};
    if (chosen->pack != nullptr) {
      packed = options.packer != nullptr
                   ? options.packer->pack(*chosen, use, attrs.get(), call, pool)
                   : chosen->pack(attrs.get(), call, pool);
      args.packed = packed.get();
    }
    SDX_TRY(chosen->run(attrs.get(), args));
  } else {
    SDX_TRY(op.reference(attrs.get(), args));
  }
  for (size_t i = 0; i < results.size(); ++i) {
    if (!use.wants(i) || !out[i].is_tensor() || results[i].is_tensor()) continue;
    return fail("SDX-R0034",
                "the size of output {} is not known: no list of more than {} tells one", i,
                kMostRead);
  }
  return results;
}

Result<std::vector<Value>> eval(const Graph& graph, std::span<const Value> inputs,
                                const EvalOptions& options) {
  std::vector<std::vector<Value>> wires(graph.size());
  for (size_t i = 0; i < graph.inputs().size(); ++i) wires[graph.inputs()[i].node] = {inputs[i]};
  std::vector<Value> arguments;
  for (size_t id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(uint32_t(id));
    if (node.kind == Node::Kind::source) continue;
    if (node.kind == Node::Kind::constant) {
      wires[id] = {*node.outputs[0].value};
      continue;
    }
    arguments.clear();
    for (const Outlet input : node.inputs) {
      arguments.push_back(input.present() ? wires[input.node][input.slot] : Value());
    }
    Result<std::vector<Value>> values = eval(node.use, arguments, options);
    if (!values) {
      return std::move(values).error().in(
          fmt::format("node \"{}\" ({})", node.use.name, node.op().name));
    }
    wires[id] = *std::move(values);
  }
  std::vector<Value> results;
  for (const Output& output : graph.outputs())
    results.push_back(wires[output.outlet.node][output.outlet.slot]);
  return results;
}

}  // namespace sdx::typed
