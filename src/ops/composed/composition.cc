#include "ops/composed/composition.h"

#include "op/conform.h"

namespace sdx {
namespace ops {
extern const Op cast, reshape, slice, transpose;
}  // namespace ops

namespace {

// Small tensors hold shapes, axes and bounds, which reading a node may need.
constexpr size_t kMostRead = 1024;

const Fact kAbsent;

Fact fact_at_run(const View& view, size_t most_read = kMostRead) {
  if (!view.present()) return {};
  Tensor tensor =
      Tensor::over(view.type, Dims(view.dims.begin(), view.dims.end()), nullptr, view.raw);
  if (tensor.count() <= most_read) return Fact::constant(std::move(tensor));
  return fact_of(Value(std::move(tensor)));
}

bool all_ranks_known(const Facts& in) {
  return std::all_of(in.begin(), in.end(),
                     [](const Fact& f) { return !f.is_tensor() || f.has_rank(); });
}

// The element type that an ONNX spelling such as "tensor(float)" names.
DType element_of(const std::string& onnx_type) {
  for (int code = 1; valid(code); ++code) {
    if (Fact::tensor(DType(code)).onnx_type() == onnx_type) return DType(code);
  }
  return DType::undefined;
}

}  // namespace

Composer::Composer(const Node& node, const Facts& in)
    : node_(node), in_(in), facts_(in.begin(), in.end()) {
  made_.inputs = in.size();
}

const Fact& Composer::fact(Wire wire) const {
  return wire.present() && wire.id < facts_.size() ? facts_[wire.id] : kAbsent;
}

Wire Composer::constant(Tensor value) {
  const Wire wire{uint32_t(facts_.size())};
  facts_.push_back(Fact::constant(value));
  Composition::Step step;
  step.first = wire.id;
  step.constant = std::move(value);
  made_.steps.push_back(std::move(step));
  return wire;
}

Wire Composer::ints(std::vector<int64_t> values) {
  const auto n = int64_t(values.size());
  return constant(Tensor::of<int64_t>({n}, std::span<const int64_t>(values)));
}

Wire Composer::number(DType type, double value) {
  Tensor tensor = Tensor::make(type, {});
  if (is_float(type)) {
    set_f64(type, tensor.raw(), 0, value);
  } else {
    set_i64(type, tensor.raw(), 0, int64_t(value));
  }
  return constant(std::move(tensor));
}

Wire Composer::add(const Op& op, Wires inputs, AttrMap attrs) {
  return add(op, std::move(inputs), std::move(attrs), 1)[0];
}

Wires Composer::add(const Op& op, Wires inputs, AttrMap attrs, size_t outputs) {
  if (failed()) return Wires(outputs);
  while (!inputs.empty() && !inputs.back().present()) inputs.pop_back();
  Node use;
  use.op = &op;
  use.opset = op.signatures().back().since;
  use.name = node_.name;
  use.wanted.assign(outputs, true);
  use.formal_inputs = inputs.size();
  const auto refused = [&](Error error) {
    error_ = std::move(error);
    return Wires(outputs);
  };
  const Signature& signature = op.signatures().back();
  Result<AttrMap> complete_attrs = complete(signature, std::move(attrs));
  if (!complete_attrs) return refused(std::move(complete_attrs).error());
  use.attrs = *std::move(complete_attrs);
  Facts in;
  for (const Wire wire : inputs) in.push_back(fact(wire));
  if (Status status = conforms(signature, in, in.size(), outputs); !status)
    return refused(std::move(status).error());
  Result<std::shared_ptr<const void>> resolved = op.read(use, in);
  if (!resolved) return refused(std::move(resolved).error());
  Result<Facts> out = op.infer(resolved->get(), in);
  if (!out) return refused(std::move(out).error());
  if (is_composed(op)) {
    if (static_cast<const Composition*>(resolved->get())->open) {
      (void)later();
      return Wires(outputs);
    }
    return splice(*static_cast<const Composition*>(resolved->get()), inputs, outputs);
  }
  Composition::Step step;
  step.use = std::move(use);
  step.inputs = std::move(inputs);
  step.first = uint32_t(facts_.size());
  out->resize(outputs);
  Wires wires;
  for (Fact& fact : *out) {
    wires.push_back({uint32_t(facts_.size())});
    facts_.push_back(std::move(fact));
  }
  made_.steps.push_back(std::move(step));
  return wires;
}

// The nodes of an inner composition become nodes of this one.
Wires Composer::splice(const Composition& inner, const Wires& inputs, size_t outputs) {
  Wires moved(inputs);
  moved.resize(inner.inputs);
  const auto now = [&](Wire wire) { return wire.present() ? moved[wire.id] : wire; };
  for (const Composition::Step& step : inner.steps) {
    if (step.use.op == nullptr) {
      moved.push_back(constant(step.constant));
      continue;
    }
    Wires from;
    for (const Wire wire : step.inputs) from.push_back(now(wire));
    AttrMap attrs = step.use.attrs;
    const Wires to = add(*step.use.op, std::move(from), std::move(attrs), step.use.wanted.size());
    moved.insert(moved.end(), to.begin(), to.end());
  }
  Wires result;
  for (const Wire wire : inner.outputs) result.push_back(now(wire));
  result.resize(outputs);
  return result;
}

Wire Composer::reshape(Wire x, std::vector<int64_t> shape) {
  return add(ops::reshape, {x, ints(std::move(shape))});
}

Wire Composer::transpose(Wire x, std::vector<int64_t> perm) {
  return add(ops::transpose, {x}, {{"perm", std::move(perm)}});
}

Wire Composer::slice(Wire x, int64_t axis, int64_t begin, int64_t end) {
  return add(ops::slice, {x, ints({begin}), ints({end}), ints({axis})});
}

Wire Composer::cast(Wire x, DType type) {
  if (fact(x).type == type) return x;
  return add(ops::cast, {x}, {{"to", int64_t(type)}});
}

int64_t Composer::size(Wire x, size_t axis, std::string_view what) {
  const Fact& f = fact(x);
  if (!require(!f.has_rank() || axis < f.rank(), "SDX-T1050", "{} has no dimension {}; it is {}",
               what, axis, f.text())) {
    return 1;
  }
  if (f.has_rank() && f.dim(axis).is_const()) return f.dim(axis).value();
  (void)later();
  return 1;
}

Result<Composition> Composer::finish(Result<Wires> wires) && {
  if (error_) return *std::move(error_);
  if (!wires) return std::move(wires).error();
  made_.outputs = *std::move(wires);
  for (const Wire wire : made_.outputs) made_.facts.push_back(fact(wire));
  return std::move(made_);
}

Result<Composition> read_composition(const Node& node, const Facts& in, Compose compose) {
  if (all_ranks_known(in)) {
    Composer composer(node, in);
    Result<Wires> wires = compose(composer);
    if (!composer.is_for_later()) return std::move(composer).finish(std::move(wires));
  }
  Composition open;
  open.open = true;
  open.inputs = in.size();
  open.node = node;
  open.compose = compose;
  const Signature& signature = *node.op->at(node.opset);
  for (size_t i = 0; i < node.wanted.size(); ++i) {
    open.facts.push_back(Fact::tensor(element_of(output_type(signature, in, i))));
  }
  return open;
}

Result<Facts> infer_composition(const Composition& a, const Facts& in) {
  // Facts of inputs that are passed through may have been learnt since.
  Facts out = a.facts;
  for (size_t i = 0; i < out.size(); ++i) {
    if (!a.open && a.outputs[i].present() && a.outputs[i].id < a.inputs) {
      out[i] = like(in[a.outputs[i].id]);
    }
    out[i].value.reset();
  }
  return out;
}

namespace {

class Inner final : public LateOutputs {
 public:
  Inner(std::vector<Value>& inputs, std::vector<Value>& outputs, const Facts& facts)
      : inputs_(inputs), outputs_(outputs), facts_(facts) {}
  Result<View> make(size_t output, Dims dims) override {
    SDX_TRY(element_count(dims));
    outputs_[output] = Tensor::make(facts_[output].type, std::move(dims));
    return view_of(outputs_[output].tensor());
  }
  const Value& value(size_t input) const override { return inputs_[input]; }
  void give(size_t output, Value value) override { outputs_[output] = std::move(value); }

 private:
  std::vector<Value>& inputs_;
  std::vector<Value>& outputs_;
  const Facts& facts_;
};

Result<std::vector<Value>> run_step(const Composition::Step& step, std::vector<Value> inputs,
                                    bool reference, Args& outer) {
  const Op& op = *step.use.op;
  Facts in;
  std::vector<View> views;
  for (const Value& value : inputs) {
    views.push_back(value.is_tensor() ? view_of(value.tensor()) : View{});
    in.push_back(fact_at_run(views.back()));
  }
  SDX_ASSIGN(const std::shared_ptr<const void> attrs, op.read(step.use, in));
  SDX_ASSIGN(Facts out, op.infer(attrs.get(), in));
  out.resize(step.use.wanted.size());
  std::vector<Value> results(out.size());
  std::vector<View> outs(out.size());
  bool planned = true;
  for (size_t i = 0; i < out.size(); ++i) {
    planned = planned && out[i].is_concrete();
    if (!out[i].is_concrete()) continue;
    SDX_TRY(element_count(out[i].dims()));
    results[i] = Tensor::make(out[i].type, out[i].dims());
    outs[i] = view_of(results[i].tensor());
  }
  Inner late(inputs, results, out);
  Args args;
  args.ins = views;
  args.outs = outs;
  args.pool = outer.pool;
  args.isa = outer.isa;
  args.late = &late;
  const Call call{in, out, args.isa, args.pool->threads()};
  for (const Op::AnyKernel& kernel : op.kernels) {
    if (reference || !planned || !kernel.fits(attrs.get(), call)) continue;
    const size_t bytes = kernel.scratch(attrs.get(), call);
    const std::shared_ptr<void> scratch = allocate_aligned(bytes);
    args.scratch = {static_cast<std::byte*>(scratch.get()), bytes};
    std::shared_ptr<const void> packed;
    if (kernel.pack != nullptr) packed = kernel.pack(attrs.get(), call, *args.pool);
    args.packed = packed.get();
    SDX_TRY(kernel.run(attrs.get(), args));
    return results;
  }
  SDX_TRY(op.reference(attrs.get(), args));
  return results;
}

Status put(const Value& value, size_t output, Args& args) {
  const Tensor& tensor = value.tensor();
  View to = args.out(output);
  if (!to.present()) {
    SDX_ASSIGN(to, args.make(output, tensor.dims()));
  }
  if (tensor.type() == DType::string) {
    std::copy_n(tensor.data<std::string>(), tensor.count(), to.data<std::string>());
  } else if (tensor.bytes() != 0) {
    std::memcpy(to.raw, tensor.raw(), tensor.bytes());
  }
  return ok();
}

Status run(const Composition& a, Args& args, bool reference) {
  if (a.open) {
    Facts in;
    for (const View& view : args.ins) in.push_back(fact_at_run(view, SIZE_MAX));
    SDX_ASSIGN(const Composition closed, read_composition(a.node, in, a.compose));
    if (closed.open) return fail("SDX-R0507", "{}: its nodes cannot be known", a.node.op->name);
    return run(closed, args, reference);
  }
  std::vector<Value> wires;
  for (const View& view : args.ins) {
    wires.push_back(view.present()
                        ? Value(Tensor::over(view.type, Dims(view.dims.begin(), view.dims.end()),
                                             nullptr, view.raw))
                        : Value());
  }
  wires.resize(a.inputs);
  // Values are dropped after their last use.
  std::vector<size_t> last;
  const auto used = [&](Wire wire, size_t step) {
    if (!wire.present()) return;
    if (last.size() <= wire.id) last.resize(wire.id + 1, 0);
    last[wire.id] = step;
  };
  for (size_t i = 0; i < a.steps.size(); ++i) {
    for (const Wire wire : a.steps[i].inputs) used(wire, i);
  }
  for (const Wire wire : a.outputs) used(wire, a.steps.size());
  for (size_t i = 0; i < a.steps.size(); ++i) {
    const Composition::Step& step = a.steps[i];
    if (step.use.op == nullptr) {
      wires.emplace_back(step.constant);
      continue;
    }
    std::vector<Value> inputs;
    for (const Wire wire : step.inputs) inputs.push_back(wire.present() ? wires[wire.id] : Value());
    SDX_ASSIGN(std::vector<Value> results, run_step(step, std::move(inputs), reference, args));
    for (Value& value : results) wires.push_back(std::move(value));
    for (const Wire wire : step.inputs) {
      if (wire.present() && last[wire.id] == i) wires[wire.id] = Value();
    }
  }
  for (size_t i = 0; i < a.outputs.size() && i < args.outs.size(); ++i) {
    if (!a.outputs[i].present()) continue;
    if (!args.wants(i) && (i >= a.facts.size() || a.facts[i].is_concrete())) continue;
    SDX_TRY(put(wires[a.outputs[i].id], i, args));
  }
  return ok();
}

}  // namespace

Status run_references(const Composition& a, Args& args) { return run(a, args, true); }
Status run_kernels(const Composition& a, Args& args) { return run(a, args, false); }

bool is_composed(const Op& op) {
  return !op.kernels.empty() && op.kernels[0].name.data() == kComposedKernel.data();
}

}  // namespace sdx
