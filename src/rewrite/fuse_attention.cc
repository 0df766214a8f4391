// Attention, as exporters write it, becomes one operation that works by blocks of rows.
//
//   MatMul(g(Softmax(f(MatMul(q, k), operands))), v)   ->   FusedAttention[f, g](q, k, v, operands)
//
// f and g are programs of element-wise operations (after fuse_elementwise) or nothing. Transposes
// of q, k, v and the result that leave rows contiguous become part of it.
#include <algorithm>

#include "kernel/program/program.h"
#include "ops/list.h"
#include "rewrite/rules.h"

namespace sdx::rewrite {
namespace {

using typed::Node;
using typed::Outlet;
using Code = std::vector<std::string>;

// The program of `node` with its input `first` counted as input 0.
Code with_first(const Node& node, size_t first) {
  const auto program =
      Program::parse(node.inputs.size(), node.use.get<std::vector<std::string>>("code"));
  if (!program) return {};
  std::vector<Program::Instruction> code = program->code();
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

// Softmax along the last axis, whatever the opset.
bool along_last_axis(const Rewriting& r, const Node& softmax) {
  const Fact& x = r.old.fact(softmax.inputs[0]);
  if (!x.has_rank() || x.rank() < 2) return false;
  const int64_t axis = softmax.use.i("axis"), rank = int64_t(x.rank());
  return axis == -1 || axis == rank - 1;
}

bool is_matrix(const Rewriting& r, Outlet outlet) {
  return r.old.fact(outlet).has_rank() && r.old.fact(outlet).rank() >= 2;
}

using Perm = std::vector<int64_t>;

// The order of axes of a Transpose after which the last axis, or of `either` the last but one, was
// last before; nothing for another.
Perm rows_kept(const Node& transpose, bool either) {
  const Perm perm = transpose.use.ints_or_empty("perm");
  const auto last = int64_t(perm.size()) - 1;
  if (last < 1 || *std::min_element(perm.begin(), perm.end()) < 0) return {};
  return perm.back() == last || (either && perm[size_t(last) - 1] == last) ? perm : Perm{};
}

// An input of the operation, or what a Transpose turns to make it.
Outlet absorbed(const Rewriting& r, Outlet wire, const char* name, bool either, AttrMap& attrs,
                std::vector<const Node*>& stands_for) {
  const Node* transpose = r.only_from(wire, ops::transpose);
  if (transpose == nullptr) return r.now(wire);
  const Perm perm = rows_kept(*transpose, either);
  if (perm.empty()) return r.now(wire);
  attrs[name] = perm;
  stands_for.push_back(transpose);
  return r.now(transpose->inputs[0]);
}

// Transpose(FusedAttention(..)) -> FusedAttention[y_perm](..)
Result<std::optional<std::vector<Outlet>>> output_at(Rewriting& r, uint32_t id) {
  const auto not_here = [] { return std::optional<std::vector<Outlet>>(); };
  const Node& transpose = r.old.node(id);
  if (transpose.use.op != &ops::transpose || r.uses(transpose.inputs[0]) != 1) return not_here();
  const Node attention = r.made.node(r.now(transpose.inputs[0]).node);
  const Perm perm = rows_kept(transpose, false);
  if (attention.kind != Node::Kind::op || attention.use.op != &ops::fused_attention ||
      attention.use.attrs.contains("y_perm") || perm.empty()) {
    return not_here();
  }
  AttrMap attrs = attention.use.attrs;
  attrs["y_perm"] = perm;
  const Node* stands_for[] = {&attention, &transpose};
  SDX_ASSIGN(std::vector<Outlet> wires,
             r.add(ops::fused_attention, std::move(attrs), attention.inputs, 1, stands_for));
  return std::optional(std::move(wires));
}

Result<std::optional<std::vector<Outlet>>> at(Rewriting& r, uint32_t id) {
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
    weights = g->use.get<std::vector<std::string>>("code");
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
  std::vector<Outlet> inputs = {absorbed(r, product->inputs[0], "q_perm", false, attrs, turns),
                                absorbed(r, product->inputs[1], "k_perm", true, attrs, turns),
                                absorbed(r, sum.inputs[1], "v_perm", false, attrs, turns)};
  inputs.insert(inputs.end(), operands.begin(), operands.end());
  std::reverse(stands_for.begin(), stands_for.end());
  stands_for.insert(stands_for.end(), turns.begin(), turns.end());
  SDX_ASSIGN(std::vector<Outlet> wires,
             r.add(ops::fused_attention, std::move(attrs), std::move(inputs), 1, stands_for));
  return std::optional(std::move(wires));
}

}  // namespace

const Rule fuse_attention{"fuse_attention", at};
const Rule attention_output{"attention_output", output_at};

}  // namespace sdx::rewrite
