// Arithmetic on constants that was too large to fold while the graph was typed is done once, not in
// every run.
//
//   Cast(w), Mul(w, s), Concat(w1, w2), MatMul(w1, w2)   ->   a constant        all inputs constant
//
// Rules that have a use for the nodes come before (weights of few bits, transposed ones); what is
// left feeds kernels that pack it as they pack other weights. A small file may ask for much
// (Expand, Tile): a result is made only where the inputs warrant it. Products (positions that go
// through a layer's weights, a change of weights by two thin matrices) are made as far as the
// model's account has work and bytes for them: the first run would do the same work.
#include "base/budget.h"
#include "base/pages.h"
#include "op/body_runner.h"
#include "rewrite/rules.h"
#include "typed/eval.h"
#include "typed/folding.h"

namespace sdx::rewrite {
namespace {

using typed::Node;
using typed::Outlet;
using Wires = std::optional<std::vector<Outlet>>;

// How much larger a result may be than what it is made from: bytes that become floats.
constexpr size_t kMostGrowth = 4;
// Work is counted as references do it; kernels of products are so many times as fast at least.
constexpr uint64_t kProductsPace = 16;

// The bytes of the results; none if they are not known, or need not be made.
std::optional<size_t> bytes_made(const Node& node) {
  size_t bytes = 0;
  for (const Fact& fact : node.outputs) {
    if (!fact.present()) continue;
    if (!fact.is_tensor() || !fact.is_concrete() || fact.type == DType::string) return std::nullopt;
    const auto count = element_count(fact.dims());
    if (!count) return std::nullopt;
    bytes += bytes_for(fact.type, *count);
  }
  return bytes;
}

// Whether the model's account allows for results of so many bytes.
bool is_warranted(const Node& node, const Facts& in, size_t made) {
  Budget* budget = Budget::open();
  if (typed::is_linear(node.op())) {
    size_t stored = 0;
    for (const Fact& fact : in) stored += fact.value ? fact.value->bytes() : 0;
    if (made > kMostGrowth * stored) return false;
  } else if (budget != nullptr) {
    const uint64_t work =
        typed::work_of(node.op(), node.use, node.resolved.get(), in, node.outputs);
    if (!budget->take_work(work / kProductsPace)) return false;
  }
  return budget == nullptr || budget->take_bytes(made);
}

Result<std::optional<std::vector<Value>>> computed(const Node& node, const Facts& in, Isa isa) {
  const std::optional<size_t> made = bytes_made(node);
  if (!made) return std::optional<std::vector<Value>>();
  if (auto seen = typed::seen_through(node.op(), node.resolved.get(), in, node.outputs))
    return seen;
  if (!is_warranted(node, in, *made)) return std::optional<std::vector<Value>>();
  std::vector<Value> inputs;
  for (const Fact& fact : in) inputs.push_back(fact.value ? Value(*fact.value) : Value());
  SDX_ASSIGN(std::vector<Value> values,
             typed::eval(node.use, inputs, {.reference = false, .isa = isa}));
  for (const Fact& fact : in) {
    if (fact.value) release_pages(fact.value->raw(), fact.value->bytes());
  }
  return std::optional(std::move(values));
}

Result<Wires> constant_arithmetic_at(Rewriting& r, uint32_t id) {
  const Node& node = r.old.node(id);
  const bool has_known_work = typed::is_linear(node.op()) || node.op().multiply_adds != nullptr;
  if (node.inputs.empty() || !node.op().deterministic || !has_known_work || has_bodies(node.use))
    return Wires();
  Facts in;
  for (const Outlet input : node.inputs) {
    in.push_back(r.made.fact(r.now(input)));
    if (in.back().present() && in.back().value == nullptr) return Wires();
  }
  SDX_ASSIGN(const std::optional<std::vector<Value>> values, computed(node, in, r.isa));
  if (!values) return Wires();
  std::vector<Outlet> outlets(values->size());
  for (size_t slot = 0; slot < values->size(); ++slot) {
    if ((*values)[slot].is_tensor())
      outlets[slot] = r.made.constant((*values)[slot].tensor(), node.use.name);
  }
  return Wires(std::move(outlets));
}

}  // namespace

const Rule constant_arithmetic{"constant_arithmetic", constant_arithmetic_at};

}  // namespace sdx::rewrite
