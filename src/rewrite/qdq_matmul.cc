// A product of dequantised matrices is computed in integers, whether weights or activations.
//
//   QuantizeLinear(MatMul(DequantizeLinear(a), DequantizeLinear(b)))   ->   QLinearMatMul(a, b)
//   MatMul(DequantizeLinear(a), DequantizeLinear(b))   ->   Cast(MatMulInteger(a, b)) * (sa * sb)
//
// The second form is for products that are read as floats. Rules of the standard numerics level, as
// qdq_conv is and for the same reasons.
#include <algorithm>
#include <cmath>

#include "ops/list.h"
#include "rewrite/quantised.h"
#include "rewrite/rules.h"

namespace sdx::rewrite {
namespace {

using typed::Node;
using typed::Outlet;
using Wires = std::optional<std::vector<Outlet>>;

struct Operands {
  Quantised a, b;
};

// The greatest distance of a byte from one of the zero points.
int64_t reach(const Tensor& zeros) {
  int64_t most = 0;
  for (size_t i = 0; i < zeros.count(); ++i) {
    const bool is_signed = zeros.type() == DType::i8;
    const int64_t zero =
        is_signed ? int64_t(zeros.data<int8_t>()[i]) : int64_t(zeros.data<uint8_t>()[i]);
    const int64_t low = is_signed ? -128 : 0;
    most = std::max({most, zero - low, low + 255 - zero});
  }
  return most;
}

// The operands of a product whose sums surely fit 32 bits: one scale for a, and for b one or one
// per column.
std::optional<Operands> operands(const Rewriting& r, const Node& product) {
  const Fact &left = r.old.fact(product.inputs[0]), &right = r.old.fact(product.inputs[1]);
  if (left.type != DType::f32 || !left.has_rank() || !right.has_rank() || left.rank() == 0 ||
      right.rank() < 2) {
    return std::nullopt;
  }
  const auto a = dequantised(r, product.inputs[0]),
             b = dequantised(r, product.inputs[1], int64_t(right.rank()) - 1);
  if (!a || !b) return std::nullopt;
  const Dim& rows = right.dim(right.rank() - 2);
  const Dim& terms = rows.is_const() ? rows : left.dim(left.rank() - 1);
  if (!terms.is_const()) return std::nullopt;
  constexpr int64_t kMostSum = INT32_MAX;
  if (terms.value() > kMostSum / (reach(*a->zero) * reach(*b->zero))) return std::nullopt;
  for (size_t i = 0; i < b->scale->count(); ++i) {
    if (!std::isnormal(*a->scale->data<float>() * b->scale->data<float>()[i])) return std::nullopt;
  }
  return Operands{*a, *b};
}

// A scale or zero point: one number has no axes.
Outlet constant(Rewriting& r, const Tensor& value) {
  return r.made.constant(value.count() == 1 ? value.reshaped({}) : value);
}

Result<Wires> in_bytes(Rewriting& r, const Node& node) {
  const Node* product = r.only_from(node.inputs[0], ops::matmul);
  const auto y = quantised(r, node, node.outputs[0].type);
  if (product == nullptr || !y) return Wires();
  const auto factors = operands(r, *product);
  if (!factors) return Wires();
  const auto& [a, b] = *factors;
  const Node* stands_for[] = {product, &node};
  SDX_ASSIGN(std::vector<Outlet> wires,
             r.add(ops::qlinear_matmul, {},
                   {r.now(a.tensor), constant(r, *a.scale), constant(r, *a.zero), r.now(b.tensor),
                    constant(r, *b.scale), constant(r, *b.zero), constant(r, *y->scale),
                    constant(r, *y->zero)},
                   1, stands_for));
  return Wires(std::move(wires));
}

// Whether in_bytes takes the product when its reader's turn comes.
bool is_quantised_next(const Rewriting& r, const Node& product, uint32_t id) {
  if (r.uses({id, 0}) != 1 || r.readers({id, 0}).empty()) return false;
  const Node& reader = r.old.node(r.readers({id, 0})[0]);
  return reader.is(ops::quantize_linear) && reader.inputs[0] == Outlet{id, 0} &&
         quantised(r, reader, reader.outputs[0].type).has_value() && product.outputs.size() == 1;
}

Result<Wires> in_floats(Rewriting& r, const Node& node, uint32_t id) {
  const auto factors = operands(r, node);
  if (!factors || is_quantised_next(r, node, id)) return Wires();
  const auto& [a, b] = *factors;
  Tensor scale = Tensor::make(DType::f32, b.scale->dims());
  for (size_t i = 0; i < scale.count(); ++i)
    scale.data<float>()[i] = *a.scale->data<float>() * b.scale->data<float>()[i];
  const Node* stands_for[] = {&node};
  SDX_ASSIGN(const std::vector<Outlet> sums,
             r.add(ops::matmul_integer, {},
                   {r.now(a.tensor), r.now(b.tensor), constant(r, *a.zero), constant(r, *b.zero)},
                   1, stands_for));
  SDX_ASSIGN(const std::vector<Outlet> floats,
             r.add(ops::cast, {{"to", int64_t(DType::f32)}}, {sums[0]}, 1, stands_for));
  SDX_ASSIGN(std::vector<Outlet> wires,
             r.add(ops::mul, {}, {floats[0], constant(r, scale)}, 1, stands_for));
  return Wires(std::move(wires));
}

Result<Wires> qdq_matmul_at(Rewriting& r, uint32_t id) {
  const Node& node = r.old.node(id);
  if (node.is(ops::quantize_linear)) return in_bytes(r, node);
  if (node.is(ops::matmul)) return in_floats(r, node, id);
  return Wires();
}

}  // namespace

const Rule qdq_matmul{"qdq_matmul", qdq_matmul_at};

}  // namespace sdx::rewrite
