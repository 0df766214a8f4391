#include "typed/eval.h"

#include <algorithm>

#include "op/conform.h"
#include "op/one_node.h"
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

// Also runs the node's subgraphs, within the limits of the evaluation.
class Late final : public LateValues, public NodeBodies {
 public:
  Late(std::span<const Value> inputs, std::vector<Value>& outputs, const Facts& facts, Pool& pool,
       const EvalOptions& options)
      : LateValues(inputs, outputs, facts), inputs_(inputs), pool_(pool), options_(options) {}

  Result<std::vector<Value>> run_body(const Body& body, std::span<const Value> inputs) override {
    if (options_.bodies != nullptr) return options_.bodies->run_body(body, inputs);
    return body.run(inputs, pool_, options_.isa);
  }
  std::span<const Value> inputs() const override { return inputs_; }
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
  Status allows(const Dims& dims, DType type) const override {
    SDX_TRY(fits_limit(dims, type, options_.most_bytes));
    return FoldingAttempt::spend(*element_count(dims));
  }

  const std::span<const Value> inputs_;
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
  const std::vector<View> views = views_of(inputs);
  if (options.resolved != nullptr) {
    std::vector<Value> results(use.wanted.size());
    const std::vector<View> outs(use.wanted.size());
    const Facts none;
    Late late(inputs, results, none, pool, options);
    const Call call{none, none, options.isa, pool.threads()};
    SDX_TRY(run_one({op, options.resolved, nullptr, call, views, outs, pool, late}));
    return results;
  }
  Facts in;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Value& value = inputs[i];
    if (value.is_tensor()) {
      // Small tensors hold shapes, axes and bounds, which reading may need; larger ones are only
      // data.
      const bool known =
          (options.packer != nullptr && options.constant[i]) || value.tensor().count() <= kMostRead;
      in.push_back(known ? Fact::constant(value.tensor()) : fact_of(value));
    } else {
      in.push_back(value.is_none() ? Fact{} : fact_of(value));
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
  std::shared_ptr<const void> packed;
  if (chosen != nullptr && chosen->pack != nullptr && options.packer != nullptr)
    packed = options.packer->pack(*chosen, use, attrs.get(), call, pool);
  SDX_TRY(run_one({op, attrs.get(), chosen, call, views, outs, pool, late, packed.get()}));
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
