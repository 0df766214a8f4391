// OneHot.
#include "ops/tensor/ints.h"
#include "ops/tensor/pick.h"
#include "ops/tensor/strided_copy.h"

namespace sdx::ops {
namespace {

struct OneHot {
  int64_t axis;
};

constexpr Version kHistory[] = {
    {9,
     "(indices: T1, depth: T2, values: T3) -> (output: T3) {axis: int = -1} T1 in num T2 in num T3 "
     "in all"},
    {11, ""},  // negative indices count from the end
    {28, "T3 += bf16"},
};

Result<OneHot> read(const Node& node, const Facts&) { return OneHot{node.i("axis")}; }

Result<Facts> infer(const OneHot& a, const Facts& in) {
  if (in[2].is_concrete() && !(in[2].rank() == 1 && in[2].dim(0) == Dim(2))) {
    return fail("SDX-T0226", "values must be [off, on], not {}", in[2].text());
  }
  if (in[1].is_concrete() &&
      (in[1].rank() > 1 || (in[1].rank() == 1 && !(in[1].dim(0) == Dim(1))))) {
    return fail("SDX-T0226", "depth must be one number, not {}", in[1].text());
  }
  if (!in[0].has_rank()) return Facts{Fact::tensor(in[2].type)};
  SDX_ASSIGN(const size_t axis, resolve_axis(a.axis, in[0].rank() + 1));
  Dim depth = Dim::unknown();
  if (in[1].value && in[1].value->count() == 1) {
    depth = get_i64(in[1].type, in[1].value->raw(), 0);
  } else if (const auto known = in[1].integers(); known && known->size() == 1) {
    depth = (*known)[0];
  }
  if (depth.is_const() && depth.value() < 0) return fail("SDX-T0226", "depth is {}", depth.value());
  Shape shape = *in[0].shape;
  shape.insert(shape.begin() + long(axis), depth);
  return Facts{Fact::tensor(in[2].type, std::move(shape))};
}

// Indices outside [-depth, depth) mark nothing.
Status reference(const OneHot& a, Args& args) {
  const View &indices = args.in(0), &values = args.in(2), &y = args.out();
  SDX_ASSIGN(const size_t axis, resolve_axis(a.axis, y.rank()));
  const AxisSplit at = split_at(y.dims, axis);
  fill(y.type, values.raw, y.raw, y.count, args.pool, args.isa);
  for (size_t i = 0; i < indices.count; ++i) {
    int64_t index = get_i64(indices.type, indices.raw, i);
    if (indices.type == DType::u64 && index < 0) continue;
    if (index < 0) index += int64_t(at.size);
    if (index < 0 || index >= int64_t(at.size)) continue;
    copy_row(y.type, values.raw, 1, y.raw,
             (i / at.inner * at.size + size_t(index)) * at.inner + i % at.inner, 1);
  }
  return ok();
}

std::vector<Case> cases() {
  return {{.name = "marks_strings_and_skips_what_is_out_of_range",
           .opset = 11,
           .attrs = {{"axis", int64_t{0}}},
           .inputs = {Tensor::of<float>({3}, {1.5f, -1, 7}), Tensor::scalar<int32_t>(2),
                      Tensor::of<std::string>({2}, {"-", "x"})},
           .expected = {Tensor::of<std::string>({2, 3}, {"-", "-", "-", "x", "x", "-"})}}};
}

constexpr OpOf<OneHot> kOneHot{
    .name = "OneHot",
    .doc = "A new axis on which the position given by each index is marked.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .cases = cases,
};

}  // namespace

extern const Op one_hot = erase<kOneHot>();

}  // namespace sdx::ops
