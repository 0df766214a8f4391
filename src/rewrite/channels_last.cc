// Quantised convolutions, and what lies between them, run on images whose channels come last.
//
//   QLinearConv(x, ...)   ->   Transpose(QLinearConvLast(Transpose(x), ...))
//
// A Transpose back and forth between two such nodes cancels, so images turn once, at the first
// convolution, and once after the last one. MaxPool and element-wise programs on bytes go along,
// and where such a program adds a convolution's bytes to others, the convolution does it on its
// way:
//
//   QuantisedElementwise[add](QLinearConvLast(x, ...), other)   ->   QLinearConvLast(x, ..., other)
#include <algorithm>

#include "kernel/quant/sum.h"
#include "ops/list.h"
#include "rewrite/rules.h"

namespace sdx::rewrite {
namespace {

using typed::Node;
using typed::Outlet;
using Wires = std::optional<std::vector<Outlet>>;

constexpr size_t kOther = 8;  // the last input of QLinearConvLast
const std::vector<int64_t> kToLast = {0, 2, 3, 1}, kToFirst = {0, 3, 1, 2};

// A new wire's image with its channels last, if it exists already.
std::optional<Outlet> existing_last(const Rewriting& r, Outlet now) {
  const Node& node = r.made.node(now.node);
  if (node.kind != Node::Kind::op || node.use.op != &ops::transpose ||
      node.use.ints_or_empty("perm") != kToFirst) {
    return std::nullopt;
  }
  return node.inputs[0];
}

Result<Outlet> turned(Rewriting& r, Outlet wire, const std::vector<int64_t>& perm,
                      const Node& stands_for) {
  const Node* nodes[] = {&stands_for};
  SDX_ASSIGN(std::vector<Outlet> wires, r.add(ops::transpose, {{"perm", perm}}, {wire}, 1, nodes));
  return wires[0];
}
Result<Outlet> last(Rewriting& r, Outlet now, const Node& stands_for) {
  if (const auto wire = existing_last(r, now)) return *wire;
  return turned(r, now, kToLast, stands_for);
}

bool all_equal(const Tensor& t, int value) {
  const auto* bytes = static_cast<const uint8_t*>(t.raw());
  return std::all_of(bytes, bytes + t.count(), [&](uint8_t b) { return b == uint8_t(value); });
}

// One group, unsigned x, weights that are signed or count as such.
bool fits(const Rewriting& r, const Node& node) {
  const Fact &x = r.old.fact(node.inputs[0]), &w = r.old.fact(node.inputs[3]),
             &w_zero = r.old.fact(node.inputs[5]);
  for (const size_t i : {1, 2, 4, 6, 7}) {
    if (!r.old.fact(node.inputs[i]).value) return false;
  }
  return x.type == DType::u8 && x.has_rank() && x.rank() == 4 && w.value && w.rank() == 4 &&
         node.use.i_or("group", 1) == 1 && w_zero.value &&
         all_equal(*w_zero.value, w.type == DType::i8 ? 0 : 128);
}

Result<Wires> convolution(Rewriting& r, const Node& node) {
  if (!fits(r, node)) return Wires();
  std::vector<Outlet> inputs;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (i != 5) inputs.push_back(r.now(node.inputs[i]));  // the weights' zero point
  }
  SDX_ASSIGN(inputs[0], last(r, inputs[0], node));
  const Node* stands_for[] = {&node};
  SDX_ASSIGN(const std::vector<Outlet> y,
             r.add(ops::qlinear_conv_last, node.use.attrs, std::move(inputs), 1, stands_for));
  SDX_ASSIGN(const Outlet wire, turned(r, y[0], kToFirst, node));
  return Wires({wire});
}

Result<Wires> go_along(Rewriting& r, const Node& node, const Op& op) {
  std::vector<Outlet> inputs;
  for (const Outlet input : node.inputs) {
    const auto wire = existing_last(r, r.now(input));
    if (!wire) return Wires();
    inputs.push_back(*wire);
  }
  const Node* stands_for[] = {&node};
  SDX_ASSIGN(const std::vector<Outlet> y,
             r.add(op, node.use.attrs, std::move(inputs), 1, stands_for));
  SDX_ASSIGN(const Outlet wire, turned(r, y[0], kToFirst, node));
  return Wires({wire});
}

// A convolution that nobody else reads takes the sum on; of two, the later one.
Result<Wires> sum(Rewriting& r, const Node& node) {
  if (node.inputs.size() != 2) return Wires();
  const auto code = node.use.get<std::vector<std::string>>("code");
  auto scales = node.use.get<std::vector<float>>("scales");
  auto zeros = node.use.get<std::vector<int64_t>>("zeros");
  SDX_ASSIGN(const Program program, Program::parse(2, code));
  if (!sum_of_bytes(program, scales, zeros, node.outputs[0].type == DType::i8)) return Wires();

  std::optional<Outlet> last[2];
  size_t first = 2;
  for (size_t i = 0; i < 2; ++i) {
    last[i] = existing_last(r, r.now(node.inputs[i]));
    if (!last[i]) return Wires();
    const Node& made = r.made.node(last[i]->node);
    const bool takes = made.kind == Node::Kind::op && made.use.op == &ops::qlinear_conv_last &&
                       made.inputs.size() <= kOther && r.uses(node.inputs[i]) == 1;
    if (takes && (first == 2 || last[i]->node > last[first]->node)) first = i;
  }
  if (first == 2) return Wires();
  if (first == 1) {
    std::swap(scales[0], scales[1]);
    std::swap(zeros[0], zeros[1]);
  }
  const Node& conv = r.made.node(last[first]->node);
  std::vector<Outlet> inputs = conv.inputs;
  inputs.resize(kOther);
  inputs.push_back(*last[1 - first]);
  AttrMap attrs = conv.use.attrs;
  attrs["sum_code"] = code;
  attrs["sum_scales"] = std::move(scales);
  attrs["sum_zeros"] = std::move(zeros);
  const Node* stands_for[] = {&r.old.node(node.inputs[first].node), &node};
  SDX_ASSIGN(const std::vector<Outlet> y,
             r.add(ops::qlinear_conv_last, std::move(attrs), std::move(inputs), 1, stands_for));
  SDX_ASSIGN(const Outlet wire, turned(r, y[0], kToFirst, node));
  return Wires({wire});
}

Result<Wires> at(Rewriting& r, uint32_t id) {
  const Node& node = r.old.node(id);
  if (node.use.op == &ops::qlinear_conv) return convolution(r, node);
  const DType type = node.outputs[0].type;
  if (type != DType::u8 && type != DType::i8) return Wires();
  if (node.use.op == &ops::quantised_elementwise) {
    SDX_ASSIGN(Wires wires, sum(r, node));
    if (wires) return wires;
    return go_along(r, node, ops::quantised_elementwise);
  }
  if (node.use.op == &ops::max_pool && node.outputs.size() == 1 && node.outputs[0].has_rank() &&
      node.outputs[0].rank() == 4) {
    return go_along(r, node, ops::max_pool_last);
  }
  return Wires();
}

}  // namespace

const Rule channels_last{"channels_last", at};

}  // namespace sdx::rewrite
