#include "typed/eval.h"

#include "typed/graph.h"

namespace sdx::typed {
namespace {

constexpr size_t kMostRead = 1024;

class Late final : public LateOutputs {
 public:
  Late(std::span<const Value> inputs, std::vector<Value>& outputs, const Facts& facts)
      : inputs_(inputs), outputs_(outputs), facts_(facts) {}

  Result<View> make(size_t output, Dims dims) override {
    SDX_TRY(element_count(dims));
    outputs_[output] = Tensor::make(facts_[output].type, std::move(dims));
    return view_of(outputs_[output].tensor());
  }
  const Value& value(size_t input) const override { return inputs_[input]; }
  void give(size_t output, Value value) override { outputs_[output] = std::move(value); }

 private:
  std::span<const Value> inputs_;
  std::vector<Value>& outputs_;
  const Facts& facts_;
};

Pool& single_thread() {
  static Pool pool(1);
  return pool;
}

}  // namespace

Result<std::vector<Value>> eval(const sdx::Node& use, std::span<const Value> inputs,
                                const EvalOptions& options) {
  const Op& op = *use.op;
  Facts in;
  std::vector<View> views;
  for (const Value& value : inputs) {
    if (value.is_tensor()) {
      // Small tensors hold shapes, axes and bounds, which reading may need; larger ones are only
      // data.
      in.push_back(value.tensor().count() <= kMostRead ? Fact::constant(value.tensor())
                                                       : fact_of(value));
      views.push_back(view_of(value.tensor()));
    } else {
      in.push_back(value.is_none() ? Fact{} : fact_of(value));
      views.emplace_back();
    }
  }
  SDX_ASSIGN(const std::shared_ptr<const void> attrs, op.read(use, in));
  SDX_ASSIGN(Facts out, op.infer(attrs.get(), in));
  out.resize(std::max(out.size(), use.wanted.size()));

  std::vector<Value> results(use.wanted.size());
  std::vector<View> outs(use.wanted.size());
  bool planned = true;
  for (size_t i = 0; i < results.size(); ++i) {
    if (!use.wants(i) || !out[i].present()) continue;
    if (!out[i].is_concrete()) {
      planned = false;
      continue;
    }
    SDX_TRY(element_count(out[i].dims()));
    results[i] = Tensor::make(out[i].type, out[i].dims());
    outs[i] = view_of(results[i].tensor());
  }

  Late late(inputs, results, out);
  Pool& pool = options.pool != nullptr ? *options.pool : single_thread();
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
      packed = chosen->pack(attrs.get(), call, pool);
      args.packed = packed.get();
    }
    SDX_TRY(chosen->run(attrs.get(), args));
  } else {
    SDX_TRY(op.reference(attrs.get(), args));
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
