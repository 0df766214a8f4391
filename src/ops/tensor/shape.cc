// Shape and Size.
#include "ops/tensor/ints.h"

namespace sdx::ops {
namespace {

struct ShapeOf {
  int64_t start = 0;
  std::optional<int64_t> end;

  // The axes [first, last) that are asked for.
  std::pair<size_t, size_t> range(size_t rank) const {
    const auto clamp = [&](int64_t axis) {
      return size_t(std::clamp<int64_t>(axis < 0 ? axis + int64_t(rank) : axis, 0, int64_t(rank)));
    };
    const size_t first = clamp(start), last = end ? clamp(*end) : rank;
    return {first, std::max(first, last)};
  }
};

constexpr Version kShapeHistory[] = {
    {1, "(data: T) -> (shape: T1) T in all T1 in i64"},
    {13, "T += bf16"},
    {15, "{end: int, start: int = 0}"},
    {19, "T += f8"},
    {21, "T += i4 u4"},
    {23, "T += f4e2m1"},
    {24, "T += f8e8m0"},
    {25, "T += i2 u2"},
};

Result<ShapeOf> read_shape(const Node& node, const Facts&) {
  ShapeOf a{node.i_or("start", 0), std::nullopt};
  if (node.has("end")) a.end = node.i("end");
  return a;
}

Result<Facts> infer_shape(const ShapeOf& a, const Facts& in) {
  if (!in[0].has_rank()) return Facts{Fact::tensor(DType::i64, {Dim::unknown()})};
  const auto [first, last] = a.range(in[0].rank());
  Fact out = Fact::tensor(DType::i64, {int64_t(last - first)});
  out.symbolic.emplace(in[0].shape->begin() + long(first), in[0].shape->begin() + long(last));
  return Facts{std::move(out)};
}

Status reference_shape(const ShapeOf& a, Args& args) {
  const auto [first, last] = a.range(args.in(0).rank());
  std::copy(args.in(0).dims.begin() + long(first), args.in(0).dims.begin() + long(last),
            args.out().data<int64_t>());
  return ok();
}

std::vector<Case> cases_shape() {
  const Tensor x = Tensor::of<std::string>({3, 1, 2}, {"a", "b", "c", "d", "e", "f"});
  return {{.name = "of_a_string_tensor",
           .opset = 1,
           .attrs = {},
           .inputs = {x},
           .expected = {Tensor::of<int64_t>({3}, {3, 1, 2})}},
          {.name = "start_beyond_end_gives_nothing",
           .opset = 15,
           .attrs = {{"start", int64_t{2}}, {"end", int64_t{-9}}},
           .inputs = {x},
           .expected = {Tensor::of<int64_t>({0}, {})}}};
}

constexpr OpOf<ShapeOf> kShape{
    .name = "Shape",
    .doc = "The dimensions of a tensor, or those from `start` up to `end`.",
    .history = kShapeHistory,
    .read = read_shape,
    .infer = infer_shape,
    .reference = reference_shape,
    .cases = cases_shape,
    .by_equality = true,
};

struct Nothing {};

constexpr Version kSizeHistory[] = {
    {1, "(data: T) -> (size: T1) T in all T1 in i64"},
    {13, "T += bf16"},
    {19, "T += f8"},
    {21, "T += i4 u4"},
    {23, "T += f4e2m1"},
    {24, "T += f8e8m0"},
    {25, "T += i2 u2"},
};

Result<Nothing> read_size(const Node&, const Facts&) { return Nothing{}; }

Result<Facts> infer_size(const Nothing&, const Facts& in) {
  Fact out = Fact::tensor(DType::i64, Shape{});
  if (in[0].has_rank()) out.symbolic.emplace(1, product(*in[0].shape));
  return Facts{std::move(out)};
}

Status reference_size(const Nothing&, Args& args) {
  *args.out().data<int64_t>() = int64_t(args.in(0).count);
  return ok();
}

std::vector<Case> cases_size() {
  return {{.name = "of_a_scalar_is_one",
           .opset = 1,
           .attrs = {},
           .inputs = {Tensor::scalar<float>(7)},
           .expected = {Tensor::scalar<int64_t>(1)}}};
}

constexpr OpOf<Nothing> kSize{
    .name = "Size",
    .doc = "The number of elements of a tensor.",
    .history = kSizeHistory,
    .read = read_size,
    .infer = infer_size,
    .reference = reference_size,
    .cases = cases_size,
    .by_equality = true,
};

}  // namespace

extern const Op shape = erase<kShape>();
extern const Op size = erase<kSize>();

}  // namespace sdx::ops
