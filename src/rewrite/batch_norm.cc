// BatchNormalization by known statistics is spelled out, so that it joins its neighbours.
//
//   BatchNormalization(x, scale, B, mean, var)   ->   Add(Mul(Sub(x, mean), s), B)
//       where s = scale / sqrt(var + epsilon), computed here
//
// These are its operations, each rounded as it rounds them.
#include <algorithm>

#include "ops/list.h"
#include "ops/normalization/batch_normalization.h"
#include "rewrite/rules.h"

namespace sdx::rewrite {
namespace {

using typed::Node;
using typed::Outlet;
using Wires = std::optional<std::vector<Outlet>>;

bool all_known_floats(const Rewriting& r, const Node& node) {
  const Fact& x = r.old.fact(node.inputs[0]);
  return x.type == DType::f32 && x.has_rank() && x.rank() > 1 &&
         std::all_of(node.inputs.begin() + 1, node.inputs.end(), [&](Outlet input) {
           const Fact& fact = r.old.fact(input);
           return fact.type == DType::f32 && fact.value && fact.rank() == 1;
         });
}

Result<Wires> batch_norm_at(Rewriting& r, uint32_t id) {
  const Node& node = r.old.node(id);
  if (!node.is(ops::batch_normalization)) return Wires();
  const auto& a = node.as<ops::BatchNorm>();
  if (a.training || !a.spatial || node.outputs.size() != 1 || !all_known_floats(r, node))
    return Wires();
  const Node* stands_for[] = {&node};
  Status status = ok();
  const auto add = [&](const Op& op, std::vector<Outlet> inputs) {
    if (!status) return Outlet();
    Result<std::vector<Outlet>> wires = r.add(op, {}, std::move(inputs), 1, stands_for);
    if (wires) return (*wires)[0];
    status = std::move(wires).error();
    return Outlet();
  };
  // One number per channel, along axis 1.
  Dims along(r.old.fact(node.inputs[0]).rank() - 1, 1);
  const auto vector = [&](size_t i) {
    const Tensor& values = *r.old.fact(node.inputs[i]).value;
    along[0] = int64_t(values.count());
    return r.made.constant(values.reshaped(along));
  };
  const Outlet epsilon = r.made.constant(Tensor::scalar(a.epsilon));
  const Outlet factor =
      add(ops::div, {vector(1), add(ops::sqrt, {add(ops::add, {vector(4), epsilon})})});
  const Outlet moved = add(ops::sub, {r.now(node.inputs[0]), vector(3)});
  const Outlet y = add(ops::add, {add(ops::mul, {moved, factor}), vector(2)});
  SDX_TRY(std::move(status));
  return Wires({y});
}

}  // namespace

const Rule batch_norm{"batch_norm", batch_norm_at};

}  // namespace sdx::rewrite
