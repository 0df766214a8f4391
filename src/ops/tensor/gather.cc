// Gather, GatherElements and GatherND.
#include "ops/tensor/gather.h"

#include <cstring>

#include "ops/tensor/ints.h"
#include "ops/tensor/pick.h"
#include "ops/tensor/strided_copy.h"
#include "ops/tensor/track.h"

namespace sdx::ops {
namespace {

constexpr Version kGatherHistory[] = {
    {1, "(data: T, indices: Tind) -> (output: T) {axis: int = 0} T in all Tind in i32 i64"},
    {11, ""},  // axis and indices may be negative
    {13, "T += bf16"},
};

Result<Gather> read_axis(const Node& node, const Facts&) { return Gather{node.i("axis")}; }

Status reference_gather(const Gather& a, Args& args) {
  const View &x = args.in(0), &indices = args.in(1), &y = args.out();
  SDX_ASSIGN(const size_t axis, resolve_axis(a.axis, x.rank()));
  const AxisSplit at = split_at(x.dims, axis);
  SDX_TRY(check_indices(indices, int64_t(at.size), axis));
  const size_t rows = at.outer * indices.count;
  const RowCopy copy(x.type);
  share_rows(args.pool, rows, at.inner, y.type, [&](size_t begin, size_t end) {
    size_t outer = begin / indices.count, k = begin % indices.count;
    for (size_t i = begin; i < end; ++i) {
      const size_t index = size_t(index_at(indices, k, int64_t(at.size)));
      copy(x.raw, (outer * at.size + index) * at.inner, y.raw, i * at.inner, at.inner);
      if (++k == indices.count) k = 0, ++outer;
    }
  });
  return ok();
}

Result<Facts> infer_gather(const Gather& a, const Facts& in) {
  if (!in[0].has_rank() || !in[1].has_rank()) return Facts{Fact::tensor(in[0].type)};
  SDX_ASSIGN(const size_t axis, resolve_axis(a.axis, in[0].rank()));
  Shape shape(in[0].shape->begin(), in[0].shape->begin() + long(axis));
  shape.insert(shape.end(), in[1].shape->begin(), in[1].shape->end());
  shape.insert(shape.end(), in[0].shape->begin() + long(axis) + 1, in[0].shape->end());
  Facts out{Fact::tensor(in[0].type, std::move(shape))};
  track(a, reference_gather, 1, in, out);
  return out;
}

std::vector<Case> cases_gather() {
  return {{.name = "of_strings_by_negative_indices",
           .opset = 11,
           .attrs = {{"axis", int64_t{-1}}},
           .inputs = {Tensor::of<std::string>({2, 2}, {"a", "b", "c", "d"}),
                      Tensor::of<int32_t>({1}, {-1})},
           .expected = {Tensor::of<std::string>({2, 1}, {"b", "d"})}}};
}

constexpr OpOf<Gather> kGather{
    .name = "Gather",
    .doc = "Slices along an axis, picked by index.",
    .history = kGatherHistory,
    .read = read_axis,
    .infer = infer_gather,
    .reference = reference_gather,
    .cases = cases_gather,
    .by_equality = true,
};

constexpr Version kElementsHistory[] = {
    {11, "(data: T, indices: Tind) -> (output: T) {axis: int = 0} T in all Tind in i32 i64"},
    {13, "T += bf16"},
};

Status reference_elements(const Gather& a, Args& args) {
  const View &x = args.in(0), &indices = args.in(1), &y = args.out();
  SDX_ASSIGN(const size_t axis, resolve_axis(a.axis, x.rank()));
  SDX_TRY(check_indices(indices, x.dims[axis], axis));
  const SmallInts strides = strides_of(x.dims);
  const RowCopy copy(x.type);
  const auto pick = [&]<class T>(size_t begin, size_t end) {
    const T* from = static_cast<const T*>(x.raw);
    T* to = static_cast<T*>(y.raw);
    element_positions(indices, axis, x.dims, strides, begin, end,
                      [=](size_t at, size_t i) { to[i] = from[at]; });
  };
  const size_t size = x.type == DType::string ? 0 : bits(x.type);
  share_rows(args.pool, y.count, 1, y.type, [&](size_t begin, size_t end) {
    if (size == 32) return pick.operator()<uint32_t>(begin, end);
    if (size == 64) return pick.operator()<uint64_t>(begin, end);
    if (size == 16) return pick.operator()<uint16_t>(begin, end);
    if (size == 8) return pick.operator()<uint8_t>(begin, end);
    element_positions(indices, axis, x.dims, strides, begin, end,
                      [&](size_t at, size_t i) { copy(x.raw, at, y.raw, i, 1); });
  });
  return ok();
}

Result<Facts> infer_elements(const Gather& a, const Facts& in) {
  if (in[0].has_rank()) SDX_TRY(resolve_axis(a.axis, in[0].rank()));
  if (in[0].has_rank() && in[1].has_rank() && in[0].rank() != in[1].rank()) {
    return fail("SDX-T0214", "data {} and indices {} must have the same rank", in[0].text(),
                in[1].text());
  }
  if (in[0].has_rank() && in[1].has_rank()) {
    for (size_t i = 0; i < in[0].rank(); ++i) {
      const Dim &data = in[0].dim(i), &index = in[1].dim(i);
      if (int64_t(i) == (a.axis < 0 ? a.axis + int64_t(in[0].rank()) : a.axis)) continue;
      if (data.is_const() && index.is_const() && index.value() > data.value()) {
        return fail("SDX-T0214", "dimension {} of the indices is {}, of the data only {}", i,
                    index.value(), data.value());
      }
    }
  }
  Facts out{like(in[1], in[0].type)};
  track(a, reference_elements, 1, in, out);
  return out;
}

std::vector<Case> cases_elements() {
  return {{.name = "indices_may_be_smaller_than_data",
           .opset = 11,
           .attrs = {{"axis", int64_t{1}}},
           .inputs = {Tensor::of<uint16_t>({2, 2}, {1, 2, 3, 4}),
                      Tensor::of<int64_t>({1, 3}, {1, -2, 1})},
           .expected = {Tensor::of<uint16_t>({1, 3}, {2, 1, 2})}},
          {.name = "along_the_first_of_three_axes",
           .opset = 11,
           .attrs = {},
           .inputs = {Tensor::of<float>({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}),
                      Tensor::of<int32_t>({1, 2, 2}, {1, 0, -1, 0})},
           .expected = {Tensor::of<float>({1, 2, 2}, {5, 2, 7, 4})}}};
}

constexpr OpOf<Gather> kGatherElements{
    .name = "GatherElements",
    .doc = "Elements picked one by one: the index replaces the position along the axis.",
    .history = kElementsHistory,
    .read = read_axis,
    .infer = infer_elements,
    .reference = reference_elements,
    .cases = cases_elements,
};

struct GatherNd {
  int64_t batch_dims;
};

constexpr Version kNdHistory[] = {
    {11, "(data: T, indices: i64) -> (output: T) T in all"},
    {12, "{batch_dims: int = 0}"},
    {13, "T += bf16"},
};

Result<GatherNd> read_nd(const Node& node, const Facts&) {
  const int64_t batch = node.i_or("batch_dims", 0);
  if (batch < 0) return fail("SDX-T0215", "batch_dims is {}", batch);
  return GatherNd{batch};
}

Status reference_nd(const GatherNd& a, Args& args) {
  const View &x = args.in(0), &indices = args.in(1), &y = args.out();
  const size_t batch_dims = size_t(a.batch_dims), depth = size_t(indices.dims.back());
  SDX_TRY(check_tuples(indices, x.dims, batch_dims));
  const AxisSplit at = split_at(x.dims, batch_dims, depth);  // [batch, indexed, slice]
  const size_t tuples =
      depth == 0 ? split_at(indices.dims, indices.rank() - 1).outer : indices.count / depth;
  const size_t per_batch = at.outer == 0 ? 0 : tuples / at.outer;
  const RowCopy copy(x.type);
  share_rows(args.pool, tuples, at.inner, y.type, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      const size_t place =
          tuple_position(indices, i, depth, x.dims, batch_dims) + i / per_batch * at.size;
      copy(x.raw, place * at.inner, y.raw, i * at.inner, at.inner);
    }
  });
  return ok();
}

Result<Facts> infer_nd(const GatherNd& a, const Facts& in) {
  if (!in[0].has_rank() || !in[1].has_rank()) return Facts{Fact::tensor(in[0].type)};
  const size_t batch = size_t(a.batch_dims);
  if (in[1].rank() == 0 || in[0].rank() == 0 || batch >= in[1].rank() || batch >= in[0].rank()) {
    return fail("SDX-T0215",
                "data {} and indices {} must have more than batch_dims = {} dimensions",
                in[0].text(), in[1].text(), batch);
  }
  const Dim& depth = in[1].shape->back();
  if (!depth.is_const()) return Facts{Fact::tensor(in[0].type)};
  if (depth.value() > int64_t(in[0].rank() - batch)) {
    return fail("SDX-T0215", "an index has {} numbers, data {} after {} batch dimensions only {}",
                depth.value(), in[0].text(), batch, in[0].rank() - batch);
  }
  for (size_t i = 0; i < batch; ++i) {
    if (in[0].dim(i).is_const() && in[1].dim(i).is_const() && !(in[0].dim(i) == in[1].dim(i))) {
      return fail("SDX-T0215", "batch dimension {} is {} in data and {} in indices", i,
                  in[0].dim(i).value(), in[1].dim(i).value());
    }
  }
  Shape shape(in[1].shape->begin(), in[1].shape->end() - 1);
  shape.insert(shape.end(), in[0].shape->begin() + ptrdiff_t(batch) + ptrdiff_t(depth.value()),
               in[0].shape->end());
  Facts out{Fact::tensor(in[0].type, std::move(shape))};
  track(a, reference_nd, 1, in, out);
  return out;
}

std::vector<Case> cases_nd() {
  return {
      {.name = "batches_pair_up",
       .opset = 12,
       .attrs = {{"batch_dims", int64_t{1}}},
       .inputs = {Tensor::of<float>({2, 2}, {1, 2, 3, 4}), Tensor::of<int64_t>({2, 1}, {1, -2})},
       .expected = {Tensor::of<float>({2}, {2, 3})}}};
}

constexpr OpOf<GatherNd> kGatherNd{
    .name = "GatherND",
    .doc = "Slices picked by tuples of indices.",
    .history = kNdHistory,
    .read = read_nd,
    .infer = infer_nd,
    .reference = reference_nd,
    .cases = cases_nd,
};

}  // namespace

extern const Op gather = erase<kGather>();
extern const Op gather_elements = erase<kGatherElements>();
extern const Op gather_nd = erase<kGatherNd>();

}  // namespace sdx::ops
