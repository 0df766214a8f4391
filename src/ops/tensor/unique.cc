// Unique.
#include <numeric>

#include "base/deadline.h"
#include "ops/tensor/ints.h"
#include "ops/tensor/order.h"
#include "ops/tensor/pick.h"

namespace sdx::ops {
namespace {

struct Unique {
  std::optional<int64_t> axis;  // absent: the input is flattened
  bool sorted;
  std::array<bool, 4> wanted;
};

constexpr Version kHistory[] = {
    {11,
     "(X: T) -> (Y: T, indices?: i64, inverse_indices?: i64, counts?: i64) {axis: int, sorted: int "
     "= 1} T in all"},
    {28, "T += bf16"},
};

Result<Unique> read(const Node& node, const Facts&) {
  Unique a{std::nullopt, node.i("sorted") != 0, {}};
  if (node.has("axis")) a.axis = node.i("axis");
  for (size_t i = 0; i < a.wanted.size(); ++i) a.wanted[i] = node.wants(i);
  return a;
}

Result<Facts> infer(const Unique& a, const Facts& in) {
  const Fact count = Fact::tensor(DType::i64, {Dim::unknown()});
  Fact inverse = count, values = Fact::tensor(in[0].type);
  if (!a.axis) {
    values.shape = Shape{Dim::unknown()};
    if (in[0].has_rank()) (*inverse.shape)[0] = product(*in[0].shape);
  } else if (in[0].has_rank()) {
    SDX_ASSIGN(const size_t axis, resolve_axis(*a.axis, in[0].rank()));
    values = like(in[0]);
    (*inverse.shape)[0] = in[0].dim(axis);
    (*values.shape)[axis] = Dim::unknown();
  }
  Facts out{values, count, inverse, count};
  for (size_t i = 0; i < out.size(); ++i) {
    if (!a.wanted[i]) out[i] = Fact{};
  }
  return out;
}

Status reference(const Unique& a, Args& args) {
  const View& x = args.in(0);
  AxisSplit at{1, x.count, 1};
  Dims dims{0};
  size_t axis = 0;
  if (a.axis) {
    SDX_ASSIGN(axis, resolve_axis(*a.axis, x.rank()));
    at = split_at(x.dims, axis);
    dims.assign(x.dims.begin(), x.dims.end());
  }
  const auto compare = [&](size_t i, size_t j) {
    Deadline::step(4);
    for (size_t outer = 0; outer < at.outer; ++outer) {
      for (size_t k = 0; k < at.inner; ++k) {
        const size_t base = outer * at.size * at.inner + k;
        const int order = compare_elements(x.type, x.raw, base + i * at.inner, base + j * at.inner);
        if (order != 0) return order;
      }
    }
    return 0;
  };
  std::vector<size_t> order(at.size);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t i, size_t j) { return compare(i, j) < 0; });

  // Groups of equal slices; the sort is stable, so each begins with its first occurrence.
  struct Group {
    size_t first, begin, count;
  };
  std::vector<Group> groups;
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || compare(order[i - 1], order[i]) != 0) groups.push_back({order[i], i, 0});
    ++groups.back().count;
  }
  if (!a.sorted) {
    std::sort(groups.begin(), groups.end(),
              [](const Group& g, const Group& h) { return g.first < h.first; });
  }

  const auto n = int64_t(groups.size());
  dims[axis] = n;
  if (a.wanted[0]) {
    SDX_ASSIGN(const View y, output(args, 0, dims));
    for (size_t outer = 0; outer < at.outer; ++outer) {
      for (size_t g = 0; g < groups.size(); ++g) {
        copy_row(x.type, x.raw, (outer * at.size + groups[g].first) * at.inner, y.raw,
                 (outer * groups.size() + g) * at.inner, at.inner);
      }
    }
  }
  if (a.wanted[1]) {
    SDX_ASSIGN(const View y, output(args, 1, {n}));
    for (size_t g = 0; g < groups.size(); ++g) y.data<int64_t>()[g] = int64_t(groups[g].first);
  }
  if (a.wanted[2]) {
    SDX_ASSIGN(const View y, output(args, 2, {int64_t(at.size)}));
    for (size_t g = 0; g < groups.size(); ++g) {
      for (size_t i = 0; i < groups[g].count; ++i)
        y.data<int64_t>()[order[groups[g].begin + i]] = int64_t(g);
    }
  }
  if (a.wanted[3]) {
    SDX_ASSIGN(const View y, output(args, 3, {n}));
    for (size_t g = 0; g < groups.size(); ++g) y.data<int64_t>()[g] = int64_t(groups[g].count);
  }
  return ok();
}

std::vector<Case> cases() {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  return {
      {.name = "nans_are_equal_and_last",
       .opset = 11,
       .attrs = {},
       .inputs = {Tensor::of<float>({5}, {nan, 1, -0.0f, nan, 0})},
       .expected = {Tensor::of<float>({3}, {-0.0f, 1, nan}), Tensor::of<int64_t>({3}, {2, 1, 0}),
                    Tensor::of<int64_t>({5}, {2, 1, 0, 2, 0}), Tensor::of<int64_t>({3}, {2, 1, 2})},
       .outputs = 4},
      {.name = "unsorted_keeps_the_order_of_appearance",
       .opset = 11,
       .attrs = {{"sorted", int64_t{0}}, {"axis", int64_t{1}}},
       .inputs = {Tensor::of<std::string>({1, 3}, {"b", "a", "b"})},
       .expected = {Tensor::of<std::string>({1, 2}, {"b", "a"})}}};
}

constexpr OpOf<Unique> kUnique{
    .name = "Unique",
    .doc =
        "The different elements, or slices along an axis, with where they first stand and how "
        "often they occur.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .cases = cases,
};

}  // namespace

extern const Op unique = erase<kUnique>();

}  // namespace sdx::ops
