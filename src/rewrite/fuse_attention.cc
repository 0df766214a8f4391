// Attention, as exporters write it, becomes one operation that works by blocks of rows.
//
//   MatMul(g(Softmax(f(MatMul(q, k), operands))), v)   ->   FusedAttention[f, g](q, k, v, operands)
//
// f and g are programs of element-wise operations (after fuse_elementwise) or nothing. Transposes
// of q, k, v and the result that leave rows contiguous become part of it, and so do a factor of k
// and heads of k and v that are repeated: Reshape(Expand(Unsqueeze(x))).
#include <algorithm>

#include "ops/attention/fused_attention.h"
#include "ops/elementwise/elementwise.h"
#include "ops/list.h"
#include "ops/normalization/softmax.h"
#include "ops/tensor/transpose.h"
#include "rewrite/rules.h"

namespace sdx::rewrite {
namespace {

using typed::Node;
using typed::Outlet;
using Code = std::vector<std::string>;

// The program of `node` with its input `first` counted as input 0.
Code with_first(const Node& node, size_t first) {
  std::vector<Program::Instruction> code = node.as<ops::Elementwise>().program.code();
  for (Program::Instruction& i : code) {
    for (uint16_t* operand : {&i.a, &i.b}) {
      if (*operand == first) {
        *operand = 0;
      } else if (*operand < first) {
        ++*operand;
      }
    }
    if (!i.binary) i.b = 0;
  }
  return Program(node.inputs.size(), std::move(code)).text();
}

bool along_last_axis(const Rewriting& r, const Node& softmax) {
  const Fact& x = r.old.fact(softmax.inputs[0]);
  const auto& a = softmax.as<ops::Softmax>();
  return x.has_rank() && x.rank() >= 2 && a.first == x.rank() - 1 && a.count == 1;
}

bool is_matrix(const Rewriting& r, Outlet outlet) {
  return r.old.fact(outlet).has_rank() && r.old.fact(outlet).rank() >= 2;
}

using Perm = std::vector<int64_t>;

// The order of axes of a Transpose after which the last axis, or of `either` the last but one, was
// last before; nothing for another.
Perm rows_kept(const Node& transpose, bool either) {
  const Perm perm = transpose.as<ops::Transpose>().perm.value_or(Perm());
  const auto last = int64_t(perm.size()) - 1;
  if (last < 1) return {};
  return perm.back() == last || (either && perm[size_t(last) - 1] == last) ? perm : Perm{};
}

// The old wire that is an input of the operation, or what a Transpose turns to make it.
Outlet absorbed(const Rewriting& r, Outlet wire, const char* name, bool either, AttrMap& attrs,
                std::vector<const Node*>& stands_for) {
  const Node* transpose = r.only_from(wire, ops::transpose);
  if (transpose == nullptr) return wire;
  const Perm perm = rows_kept(*transpose, either);
  if (perm.empty()) return wire;
  attrs[name] = perm;
  stands_for.push_back(transpose);
  return transpose->inputs[0];
}

// The tensor [B, G, rows, columns] whose every matrix the old wire [B, G * times, rows, columns]
// has `times` times.
struct Repeated {
  Outlet x;
  int64_t times;
  const Node *expand, *join;
};
std::optional<Repeated> repeated(const Rewriting& r, Outlet wire) {
  const Node* join = r.only_from(wire, ops::reshape);
  const Node* expand = join == nullptr ? nullptr : r.only_from(join->inputs[0], ops::expand);
  if (expand == nullptr || r.uses(expand->inputs[0]) != 1) return std::nullopt;
  const Node& part = r.old.node(expand->inputs[0].node);
  if (part.kind != Node::Kind::op ||
      (part.use.op != &ops::unsqueeze && part.use.op != &ops::reshape)) {
    return std::nullopt;
  }
  const Fact &x = r.old.fact(part.inputs[0]), &wide = expand->outputs[0], &out = join->outputs[0];
  if (!x.has_rank() || x.rank() != 4 || !wide.has_rank() || wide.rank() != 5 ||
      !wide.dim(1).is_const() || !wide.dim(2).is_const() || !out.has_rank()) {
    return std::nullopt;
  }
  const Shape parted = {x.dim(0), x.dim(1), Dim(1), x.dim(2), x.dim(3)};
  const Shape expanded = {x.dim(0), x.dim(1), wide.dim(2), x.dim(2), x.dim(3)};
  const Shape joined = {x.dim(0), x.dim(1) * wide.dim(2), x.dim(2), x.dim(3)};
  if (!part.outputs[0].has_rank() || *part.outputs[0].shape != parted || *wide.shape != expanded ||
      *out.shape != joined) {
    return std::nullopt;
  }
  return Repeated{part.inputs[0], wide.dim(2).value(), expand, join};
}

// An old wire times a constant f32 scalar: the wire, the factor and the product.
struct Scaled {
  Outlet x;
  float factor;
  const Node* product;
};
std::optional<Scaled> scaled(const Rewriting& r, Outlet wire) {
  const Node* product = r.only_from(wire, ops::mul);
  for (size_t i = 0; product != nullptr && i < 2; ++i) {
    const Fact &factor = r.old.fact(product->inputs[1 - i]), &x = r.old.fact(product->inputs[i]);
    if (factor.value && factor.type == DType::f32 && factor.value->count() == 1 && x.has_rank() &&
        *x.shape == *product->outputs[0].shape) {
      return Scaled{product->inputs[i], *factor.value->data<float>(), product};
    }
  }
  return std::nullopt;
}

// Heads of K and V that are both repeated are read in place.
void read_repeated_in_place(const Rewriting& r, Outlet k, Outlet v, AttrMap& attrs,
                            std::vector<Outlet>& inputs, std::vector<const Node*>& stands_for) {
  const auto keeps_heads = [&](const char* name) {
    const auto perm = attrs.find(name);
    if (perm == attrs.end()) return true;
    const Perm& axes = std::get<Perm>(perm->second);
    return axes.size() == 4 && axes[0] == 0 && axes[1] == 1;
  };
  const auto keys = repeated(r, k), values = repeated(r, v);
  if (!keys || !values || keys->times != values->times || keys->times < 2 ||
      !keeps_heads("k_perm") || !keeps_heads("v_perm")) {
    return;
  }
  attrs["repeat"] = keys->times;
  inputs[1] = r.now(keys->x);
  inputs[2] = r.now(values->x);
  for (const Repeated& one : {*keys, *values}) {
    stands_for.push_back(one.expand);
    stands_for.push_back(one.join);
  }
}

// Transpose(FusedAttention(..)) -> FusedAttention[y_perm](..)
Result<std::optional<std::vector<Outlet>>> output_at(Rewriting& r, uint32_t id) {
  const auto not_here = [] { return std::optional<std::vector<Outlet>>(); };
  const Node& transpose = r.old.node(id);
  if (transpose.use.op != &ops::transpose || r.uses(transpose.inputs[0]) != 1) return not_here();
  const Node attention = r.made.node(r.now(transpose.inputs[0]).node);
  const Perm perm = rows_kept(transpose, false);
  if (!attention.is(ops::fused_attention) ||
      !attention.as<ops::attention_parts::FusedAttention>().y.empty() || perm.empty()) {
    return not_here();
  }
  const Node* stands_for[] = {&attention, &transpose};
  SDX_ASSIGN(std::vector<Outlet> wires,
             r.add_like(attention, ops::fused_attention, {{"y_perm", perm}}, attention.inputs,
                        stands_for));
  return std::optional(std::move(wires));
}

Result<std::optional<std::vector<Outlet>>> fuse_attention_at(Rewriting& r, uint32_t id) {
  const auto not_here = [] { return std::optional<std::vector<Outlet>>(); };
  const Node& sum = r.old.node(id);
  if (sum.use.op != &ops::matmul || !runs_in_float(sum.outputs[0].type) ||
      !is_matrix(r, sum.inputs[1])) {
    return not_here();
  }
  std::vector<const Node*> stands_for;
  std::vector<Outlet> operands;
  Code scores, weights;

  Outlet wire = sum.inputs[0];
  if (const Node* g = r.only_from(wire, ops::elementwise); g && g->inputs.size() == 1) {
    weights = g->as<ops::Elementwise>().program.text();
    stands_for.push_back(g);
    wire = g->inputs[0];
  }
  const Node* softmax = r.only_from(wire, ops::softmax);
  if (softmax == nullptr || !along_last_axis(r, *softmax)) return not_here();
  stands_for.push_back(softmax);

  wire = softmax->inputs[0];
  if (const Node* f = r.only_from(wire, ops::elementwise)) {
    const auto is_product = [&](Outlet input) {
      return r.only_from(input, ops::matmul) != nullptr && r.old.fact(input).has_rank() &&
             *r.old.fact(input).shape == *r.old.fact(wire).shape;
    };
    const auto product = std::find_if(f->inputs.begin(), f->inputs.end(), is_product);
    if (product == f->inputs.end()) return not_here();
    scores = with_first(*f, size_t(product - f->inputs.begin()));
    for (const Outlet input : f->inputs) {
      if (input != *product) operands.push_back(r.now(input));
    }
    stands_for.push_back(f);
    wire = *product;
  }
  const Node* product = r.only_from(wire, ops::matmul);
  if (product == nullptr || !is_matrix(r, product->inputs[0]) || !is_matrix(r, product->inputs[1]))
    return not_here();
  stands_for.push_back(product);
  stands_for.push_back(&sum);

  AttrMap attrs = {{"scores", scores}, {"weights", weights}};
  std::vector<const Node*> turns;
  Outlet keys = product->inputs[1];
  if (const auto factor = scaled(r, keys)) {
    attrs["k_scale"] = factor->factor;
    turns.push_back(factor->product);
    keys = factor->x;
  }
  const Outlet q = absorbed(r, product->inputs[0], "q_perm", false, attrs, turns);
  const Outlet k = absorbed(r, keys, "k_perm", true, attrs, turns);
  const Outlet v = absorbed(r, sum.inputs[1], "v_perm", false, attrs, turns);
  std::vector<Outlet> inputs = {r.now(q), r.now(k), r.now(v)};
  read_repeated_in_place(r, k, v, attrs, inputs, turns);
  inputs.insert(inputs.end(), operands.begin(), operands.end());
  std::reverse(stands_for.begin(), stands_for.end());
  stands_for.insert(stands_for.end(), turns.begin(), turns.end());
  SDX_ASSIGN(std::vector<Outlet> wires,
             r.add(ops::fused_attention, std::move(attrs), std::move(inputs), 1, stands_for));
  return std::optional(std::move(wires));
}

}  // namespace

const Rule fuse_attention{"fuse_attention", fuse_attention_at};
const Rule attention_output{"attention_output", output_at};

}  // namespace sdx::rewrite
