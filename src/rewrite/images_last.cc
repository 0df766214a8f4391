// Images that come from products of matrices, and go to some, keep their channels last.
//
//   Conv(Transpose[0, 3, 1, 2](x), w)   ->   Transpose[0, 3, 1, 2](ConvLast(x, w))
//
// Element-wise operations, Resize and Concat of channels go along; a ConvLast takes what a Concat
// would join as it is. A Resize that changes no size goes. Reshapes that join rows and columns into
// one axis, or part them, change places with the Transpose, so that it meets the one that turns the
// image back, and both go. All this happens where such a Transpose, or a convolution to much fewer
// numbers, lies ahead.
#include <algorithm>

#include "kernel/conv/channels_last/conv_channels_last.h"
#include "ops/conv/conv_last.h"
#include "ops/list.h"
#include "rewrite/rules.h"

namespace sdx::rewrite {
namespace {

using typed::Node;
using typed::Outlet;
using Wires = std::optional<std::vector<Outlet>>;
using Perm = std::vector<int64_t>;

const Perm kToLast = {0, 2, 3, 1}, kToFirst = {0, 3, 1, 2}, kExchanged = {0, 2, 1};
constexpr int kFarAhead = 6;  // nodes

bool is(const Node& node, const Op& op) {
  return node.kind == Node::Kind::op && node.use.op == &op;
}
bool is_image(const Fact& fact) {
  return fact.is_tensor() && fact.type == DType::f32 && fact.has_rank() && fact.rank() == 4;
}
bool is_one(const Fact& fact) { return fact.has_rank() && product(*fact.shape).is_const(1); }

// What a Transpose by `perm` turns to make this new wire.
std::optional<Outlet> turned_from(const Rewriting& r, Outlet now, const Perm& perm) {
  const Node& node = r.made.node(now.node);
  if (!is(node, ops::transpose) || node.use.ints_or_empty("perm") != perm) return std::nullopt;
  return node.inputs[0];
}
std::optional<Outlet> last_of(const Rewriting& r, Outlet old_wire) {
  return turned_from(r, r.now(old_wire), kToFirst);
}

Result<Wires> turned(Rewriting& r, Outlet wire, const Perm& perm, const Node& stands_for) {
  const Node* nodes[] = {&stands_for};
  SDX_ASSIGN(std::vector<Outlet> wires, r.add(ops::transpose, {{"perm", perm}}, {wire}, 1, nodes));
  return Wires(std::move(wires));
}

int64_t at(const std::vector<int64_t>& values, size_t i, int64_t otherwise) {
  return i < values.size() ? values[i] : otherwise;
}

// Convolutions that ConvLast has a kernel for.
bool conv_can(const Rewriting& r, const Node& node) {
  if (!is(node, ops::conv)) return false;
  const Fact &x = r.old.fact(node.inputs[0]), &w = r.old.fact(node.inputs[1]);
  if (!is_image(x) || !is_image(w) || !w.value) return false;
  const std::vector<int64_t> strides = node.use.ints_or_empty("strides"),
                             dilations = node.use.ints_or_empty("dilations");
  ConvShape s;
  s.groups = size_t(node.use.i("group"));
  s.in_channels = size_t(w.dim(1).value()) * s.groups;
  s.out_channels = size_t(w.dim(0).value());
  for (size_t i : {0, 1}) {
    s.kernel[i + 1] = size_t(w.dim(i + 2).value());
    s.stride[i + 1] = size_t(at(strides, i, 1));
    s.dilation[i + 1] = size_t(at(dilations, i, 1));
  }
  return conv_channels_last_fits(s);
}

// What comes out is at most half of what goes in.
bool shrinks(const Rewriting& r, const Node& conv) {
  const Dim in = product(*r.old.fact(conv.inputs[0]).shape);
  const Dim out = product(*conv.outputs[0].shape);
  return in.is_const() && out.is_const() && 2 * out.value() <= in.value();
}

bool joins_pixels(const Fact& image, const Fact& matrix) {
  return is_image(image) && matrix.has_rank() && matrix.rank() == 3 &&
         image.dim(0) == matrix.dim(0) && image.dim(1) == matrix.dim(1) && image.dim(1).is_const();
}

bool joins_channels(const Node& node) {
  return is(node, ops::concat) && is_image(node.outputs[0]) &&
         (node.use.i_or("axis", 1) == 1 || node.use.i_or("axis", 1) == -3);
}

bool resizes(const Rewriting& r, const Node& node) {
  if (!is(node, ops::resize) || node.use.opset < 11 || !is_image(node.outputs[0])) return false;
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    const Fact& fact = r.old.fact(node.inputs[i]);
    const bool empty = !fact.present() || (fact.value && fact.value->count() == 0);
    if (i == 1 ? !empty : !empty && !fact.value) return false;
  }
  return true;
}

// Whether the image is wanted with its channels last somewhere ahead of this old wire.
bool welcome(const Rewriting& r, Outlet wire, int ahead = kFarAhead) {
  if (ahead == 0) return false;
  for (const uint32_t id : r.readers(wire)) {
    const Node& node = r.old.node(id);
    if (is(node, ops::transpose)) {
      const Perm perm = node.use.ints_or_empty("perm");
      if (perm == kToLast || perm == kExchanged) return true;
      continue;
    }
    if (is(node, ops::reshape) ? !joins_pixels(r.old.fact(wire), node.outputs[0])
                               : !is_image(node.outputs[0]))
      continue;
    const bool conv = node.inputs[0] == wire && conv_can(r, node);
    if (conv && shrinks(r, node)) return true;
    const bool passes = conv || is(node, ops::reshape) || joins_channels(node) ||
                        resizes(r, node) || node.op().pointwise != nullptr;
    if (passes && welcome(r, {id, 0}, ahead - 1)) return true;
  }
  return false;
}

Result<Wires> convolution(Rewriting& r, const Node& node, uint32_t id) {
  const auto x = last_of(r, node.inputs[0]);
  if (!x || !conv_can(r, node) || !(shrinks(r, node) || welcome(r, {id, 0}))) return Wires();
  std::vector<Outlet> inputs = {*x, r.now(node.inputs[1]), {}};
  if (node.inputs.size() > 2) inputs[2] = r.now(node.inputs[2]);
  // Parts are joined as they are gathered, if a vector of channels never straddles two of them.
  constexpr size_t kMostParts = 16;
  constexpr int64_t kTogether = 16;
  const Node& joined = r.made.node(x->node);
  if (is(joined, ops::concat) && joined.use.i("axis") == 3 && joined.inputs.size() <= kMostParts &&
      r.uses(node.inputs[0]) == 1 && node.use.i("group") == 1 &&
      std::all_of(joined.inputs.begin(), joined.inputs.end(), [&](Outlet part) {
        const Dim& channels = r.made.fact(part).dim(3);
        return channels.is_const() && channels.value() % kTogether == 0;
      })) {
    inputs[0] = joined.inputs[0];
    inputs.insert(inputs.end(), joined.inputs.begin() + 1, joined.inputs.end());
  }
  const Node* stands_for[] = {&node};
  SDX_ASSIGN(const std::vector<Outlet> y,
             r.add(ops::conv_last, node.use.attrs, std::move(inputs), 1, stands_for));
  return turned(r, y[0], kToFirst, node);
}

// Whether any NaN of this old wire is the canonical one, since an operation made it.
bool is_computed(const Rewriting& r, Outlet wire) {
  const Node* node = &r.old.node(wire.node);
  while (is(*node, ops::reshape) || is(*node, ops::transpose))
    node = &r.old.node(node->inputs[0].node);
  return node->kind == Node::Kind::op &&
         (node->op().pointwise != nullptr || node->op().multiply_adds != nullptr);
}

// A Resize that changes no size gives what it gets, but for the bits of a NaN.
bool changes_nothing(const Rewriting& r, const Node& node) {
  const Fact& x = r.old.fact(node.inputs[0]);
  if (!x.is_concrete() || *x.shape != *node.outputs[0].shape || !is_computed(r, node.inputs[0]) ||
      node.use.s("coordinate_transformation_mode") == "tf_crop_and_resize") {
    return false;
  }
  if (node.inputs.size() > 3 && node.inputs[3].present()) return true;
  const Fact& scales = r.old.fact(node.inputs[2]);
  return scales.value &&
         std::all_of(scales.value->values<float>().begin(), scales.value->values<float>().end(),
                     [](float scale) { return scale == 1; });
}

// Sizes and scales stay as they are: they are said to be those of the axes' new places.
Result<Wires> resized(Rewriting& r, const Node& node, uint32_t id) {
  const auto x = last_of(r, node.inputs[0]);
  if (!x || !welcome(r, {id, 0})) return Wires();
  Perm axes = node.use.ints_or_empty("axes");
  if (axes.empty()) axes = {0, 1, 2, 3};
  constexpr int64_t kPlace[] = {0, 3, 1, 2};
  for (int64_t& axis : axes) axis = kPlace[axis < 0 ? axis + 4 : axis];
  AttrMap attrs = node.use.attrs;
  attrs["axes"] = axes;
  std::vector<Outlet> inputs;
  for (const Outlet input : node.inputs) inputs.push_back(r.now(input));
  inputs[0] = *x;
  const Node* stands_for[] = {&node};
  SDX_ASSIGN(const std::vector<Outlet> y,
             r.add(ops::resize, std::move(attrs), std::move(inputs), 1, stands_for));
  return turned(r, y[0], kToFirst, node);
}

Result<Wires> joined(Rewriting& r, const Node& node, uint32_t id) {
  std::vector<Outlet> inputs;
  for (const Outlet input : node.inputs) {
    const auto x = last_of(r, input);
    if (!x) return Wires();
    inputs.push_back(*x);
  }
  if (!welcome(r, {id, 0})) return Wires();
  const Node* stands_for[] = {&node};
  SDX_ASSIGN(const std::vector<Outlet> y,
             r.add(ops::concat, {{"axis", int64_t{3}}}, std::move(inputs), 1, stands_for));
  return turned(r, y[0], kToFirst, node);
}

// Operands are turned images, single numbers, or constants of one number per channel.
Result<Wires> each_element(Rewriting& r, const Node& node, uint32_t id) {
  const Fact& out = node.outputs[0];
  if (!is_image(out)) return Wires();
  std::vector<Outlet> inputs;
  std::vector<size_t> vectors;
  bool any = false;
  for (const Outlet input : node.inputs) {
    const Fact& fact = r.old.fact(input);
    inputs.push_back(r.now(input));
    if (!input.present() || is_one(fact)) continue;
    if (const auto x = last_of(r, input); x && *fact.shape == *out.shape) {
      inputs.back() = *x;
      any = true;
      continue;
    }
    if (!fact.value || fact.rank() < 3) return Wires();
    const Dim& channels = fact.dim(fact.rank() - 3);
    if (!(channels == out.dim(1)) || !(product(*fact.shape) == channels)) return Wires();
    vectors.push_back(inputs.size() - 1);
  }
  if (!any || !welcome(r, {id, 0})) return Wires();
  for (const size_t i : vectors) {
    const Outlet shape = r.made.constant(Tensor::of<int64_t>({1}, {out.dim(1).value()}));
    SDX_ASSIGN(const std::vector<Outlet> vector,
               r.add(ops::reshape, {}, {inputs[i], shape}, 1, {}));
    inputs[i] = vector[0];
  }
  SDX_ASSIGN(const std::vector<Outlet> y, r.made.add(node.use, std::move(inputs), node.origin));
  return turned(r, y[0], kToFirst, node);
}

Result<Wires> reshaped(Rewriting& r, Outlet x, const Dims& dims, const Perm& perm,
                       const Node& node) {
  const Outlet shape = r.made.constant(Tensor::of<int64_t>({int64_t(dims.size())}, dims));
  const Node* stands_for[] = {&node};
  SDX_ASSIGN(const std::vector<Outlet> y, r.add(ops::reshape, {}, {x, shape}, 1, stands_for));
  return turned(r, y[0], perm, node);
}

Result<Wires> reshape(Rewriting& r, const Node& node, uint32_t id) {
  const Fact &in = r.old.fact(node.inputs[0]), &out = node.outputs[0];
  if (!in.has_rank() || !out.has_rank()) return Wires();
  if (const auto x = last_of(r, node.inputs[0]); x && joins_pixels(in, out))
    return reshaped(r, *x, {0, -1, out.dim(1).value()}, kExchanged, node);
  const auto x = turned_from(r, r.now(node.inputs[0]), kExchanged);
  if (!x || !joins_pixels(out, in) || !out.dim(2).is_const() || !out.dim(3).is_const() ||
      !welcome(r, {id, 0})) {
    return Wires();
  }
  return reshaped(r, *x, {0, out.dim(2).value(), out.dim(3).value(), out.dim(1).value()}, kToFirst,
                  node);
}

Result<Wires> at(Rewriting& r, uint32_t id) {
  const Node& node = r.old.node(id);
  if (is(node, ops::reshape)) return reshape(r, node, id);
  if (is(node, ops::conv)) return convolution(r, node, id);
  if (joins_channels(node)) return joined(r, node, id);
  if (resizes(r, node)) {
    if (changes_nothing(r, node)) return Wires({r.now(node.inputs[0])});
    return resized(r, node, id);
  }
  if (node.op().pointwise != nullptr) return each_element(r, node, id);
  return Wires();
}

}  // namespace

const Rule images_last{"images_last", at};

}  // namespace sdx::rewrite
