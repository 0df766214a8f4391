// Transpose.
#include "ops/tensor/transpose.h"

#include "op/layout.h"
#include "ops/tensor/ints.h"
#include "ops/tensor/strided_copy.h"
#include "ops/tensor/track.h"

namespace sdx::ops {
namespace {

constexpr Version kHistory[] = {
    {1, "(data: T) -> (transposed: T) {perm: ints} T in all"},
    {13, "T += bf16"},
    {21, "T += f8 i4 u4"},
    {23, "T += f4e2m1"},
    {24, "T += f8e8m0"},
    {25, "T += i2 u2"},
};

Result<Transpose> read(const Node& node, const Facts&) {
  Transpose a{attr_ints(node, "perm")};
  if (!a.perm) return a;
  std::vector<bool> seen(a.perm->size());
  for (int64_t& axis : *a.perm) {
    SDX_ASSIGN(const size_t at, resolve_axis(axis, a.perm->size(), "perm"));
    if (seen[at]) return fail("SDX-T0211", "perm {} names axis {} twice", to_string(*a.perm), at);
    seen[at] = true;
    axis = int64_t(at);
  }
  return a;
}

Status reference(const Transpose& a, Args& args) {
  const View &x = args.in(0), &y = args.out();
  const SmallInts from = strides_of(x.dims), to = strides_of(y.dims);
  Loops loops;
  for (size_t i = 0; i < y.rank(); ++i) loops.add(y.dims[i], from[a.axis(i, y.rank())], to[i]);
  clear_tail(y.type, y.raw, y.count);
  strided_copy(loops, x.type, x.raw, 0, y.raw, 0, args.pool, args.isa);
  return ok();
}

Result<Facts> infer(const Transpose& a, const Facts& in) {
  if (!in[0].has_rank()) {
    return Facts{a.perm ? Fact::tensor(in[0].type, Shape(a.perm->size(), Dim::unknown()))
                        : Fact::tensor(in[0].type)};
  }
  if (a.perm && a.perm->size() != in[0].rank()) {
    return fail("SDX-T0211", "perm {} has {} axes, the input {} has {}", to_string(*a.perm),
                a.perm->size(), in[0].text(), in[0].rank());
  }
  Shape shape;
  for (size_t i = 0; i < in[0].rank(); ++i) shape.push_back(in[0].dim(a.axis(i, in[0].rank())));
  Facts out{Fact::tensor(in[0].type, std::move(shape))};
  track(a, reference, 1, in, out);
  return out;
}

// Moving axes of size 1 moves nothing.
std::optional<size_t> alias(const Transpose& a, const Call& call, size_t) {
  size_t last = 0;
  for (size_t i = 0; i < call.in[0].rank(); ++i) {
    const size_t axis = a.axis(i, call.in[0].rank());
    if (call.in[0].dim(axis).is_const(1)) continue;
    if (axis < last) return std::nullopt;
    last = axis;
  }
  return 0;
}

// The elements stay where they are, and their axes get other names.
std::optional<Relaid> layout(const Transpose& a, const Relay& asked) {
  if (!asked.x().has_rank()) return std::nullopt;
  const size_t rank = asked.x().rank();
  std::vector<size_t> name(rank);
  for (size_t i = 0; i < rank; ++i) name[a.axis(i, rank)] = i;
  Relaid made = Relaid::same(asked);
  made.use.op = nullptr;
  for (size_t& axis : made.out.order) axis = name[axis];
  if (made.out.blocked) made.out.blocked = name[*made.out.blocked];
  return made;
}

std::vector<Case> cases() {
  Tensor packed = Tensor::make(DType::u4, {2, 3});
  Tensor turned = Tensor::make(DType::u4, {3, 2});
  for (size_t i = 0; i < 6; ++i) {
    set_bits(DType::u4, packed.raw(), i, i);
    set_bits(DType::u4, turned.raw(), i % 3 * 2 + i / 3, i);
  }
  return {{.name = "reverses_axes_by_default",
           .opset = 1,
           .attrs = {},
           .inputs = {Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6})},
           .expected = {Tensor::of<float>({3, 2}, {1, 4, 2, 5, 3, 6})}},
          {.name = "of_four_bit_elements",
           .opset = 21,
           .attrs = {},
           .inputs = {packed},
           .expected = {turned}}};
}

constexpr OpOf<Transpose> kTranspose{
    .name = "Transpose",
    .doc = "The axes in another order.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .cases = cases,
    .by_equality = true,
    .alias = alias,
    .layout = layout,
};

}  // namespace

extern const Op transpose = erase<kTranspose>();

}  // namespace sdx::ops
