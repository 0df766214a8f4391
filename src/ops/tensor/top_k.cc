// TopK.
#include "ops/tensor/top_k.h"

#include <numeric>

#include "ops/tensor/ints.h"
#include "ops/tensor/order.h"
#include "ops/tensor/pick.h"

namespace sdx::ops {
namespace {

constexpr Version kHistory[] = {
    {1, "(X: T) -> (Values: T, Indices: I) {axis: int = -1, k!: int} T in floats I in i64"},
    {10, "(X: T, K: i64) {-k}"},
    {11, "{largest: int = 1, sorted: int = 1} T += ints uints"},  // with sorted = 0 any order may
                                                                  // be given: the sorted one is
    {24, "T += bf16"},
};

Result<TopK> read(const Node& node, const Facts&) {
  TopK a{node.i("axis"), std::nullopt, node.i_or("largest", 1) != 0};
  if (node.has("k")) a.k = {node.i("k")};
  return a;
}

Result<Facts> infer(const TopK& a, const Facts& in) {
  if (!in[0].has_rank()) return Facts{Fact::tensor(in[0].type), Fact::tensor(DType::i64)};
  SDX_ASSIGN(const size_t axis, resolve_axis(a.axis, in[0].rank()));
  const auto k = known_dims(a.k, in, 1);
  if (k && k->size() != 1) return fail("SDX-T0228", "K has {} elements, not one", k->size());
  const Dim& n = in[0].dim(axis);
  if (k && (*k)[0].is_const() &&
      ((*k)[0].value() < 0 || (n.is_const() && (*k)[0].value() > n.value()))) {
    return fail("SDX-T0228", "K is {}, axis {} has {} elements", (*k)[0].value(), axis, n.text());
  }
  Fact values = like(in[0]);
  (*values.shape)[axis] = k ? (*k)[0] : Dim::unknown();
  return Facts{values, like(values, DType::i64)};
}

// Element i of a lane before element j in the answer: the better value, or the lower index among
// equals.
template <class T>
struct Better {
  const T* lane;
  size_t stride;
  bool largest;
  bool operator()(uint32_t i, uint32_t j) const {
    int order;
    if constexpr (std::is_integral_v<T>) {
      order = compare_values(lane[i * stride], lane[j * stride]);
    } else {
      order = compare_values(load(lane[i * stride]), load(lane[j * stride]));
    }
    if (order != 0) return largest ? order > 0 : order < 0;
    return i < j;
  }
};

template <class F>
bool visit_numbers(DType type, F&& f) {
  return visit_floats(type, f) || visit_integers(type, f);
}

// One lane: `order` has room for at.size indices.
template <class T>
void lane(const TopK& a, const View& x, Args& args, const AxisSplit& at, size_t k, size_t index,
          uint32_t* order) {
  const size_t outer = index / at.inner, inner = index % at.inner;
  const T* from = x.data<T>() + outer * at.size * at.inner + inner;
  std::iota(order, order + at.size, uint32_t{0});
  const Better<T> better{from, at.inner, a.largest};
  if (k * 8 < at.size) {
    std::partial_sort(order, order + k, order + at.size, better);
  } else {
    std::sort(order, order + at.size, better);
  }
  for (size_t i = 0; i < k; ++i) {
    const size_t to = (outer * k + i) * at.inner + inner;
    if (args.wants(0)) args.out(0).data<T>()[to] = from[order[i] * at.inner];
    if (args.wants(1)) args.out(1).data<int64_t>()[to] = order[i];
  }
}

Status run_lanes(const TopK& a, Args& args, uint32_t* scratch, size_t threads) {
  const View& x = args.in(0);
  SDX_ASSIGN(const size_t axis, resolve_axis(a.axis, x.rank()));
  const AxisSplit at = split_at(x.dims, axis);
  if (at.size > std::numeric_limits<uint32_t>::max())
    return fail("SDX-R0103", "an axis of {} elements is too long", at.size);
  const View& sized = args.wants(0) ? args.out(0) : args.out(1);
  if (!sized.present()) return ok();
  const size_t k = size_t(sized.dims[axis]), lanes = at.outer * at.inner;
  visit_numbers(x.type, [&]<class T>() {
    const auto some = [&](size_t begin, size_t end, int thread) {
      for (size_t i = begin; i < end; ++i)
        lane<T>(a, x, args, at, k, i, scratch + size_t(thread) * at.size);
    };
    if (threads > 1) {
      args.pool->parallel(lanes, std::max<size_t>(1, 4096 / std::max<size_t>(1, at.size)), some);
    } else {
      some(0, lanes, 0);
    }
  });
  return ok();
}

Status reference(const TopK& a, Args& args) {
  const View& x = args.in(0);
  SDX_ASSIGN(const size_t axis, resolve_axis(a.axis, x.rank()));
  std::vector<uint32_t> order(size_t(x.dims[axis]));
  return run_lanes(a, args, order.data(), 1);
}

bool fits_lanes(const TopK& a, const Call& call) {
  return resolve_axis(a.axis, call.in[0].rank()).ok();
}
size_t scratch_lanes(const TopK& a, const Call& call) {
  const auto axis = resolve_axis(a.axis, call.in[0].rank());
  return axis ? size_t(call.in[0].dim(*axis).value()) * sizeof(uint32_t) * size_t(call.threads) : 0;
}
Status run_kernel(const TopK& a, Args& args) {
  return run_lanes(a, args, reinterpret_cast<uint32_t*>(args.scratch.data()),
                   size_t(args.pool->threads()));
}

constexpr Kernel<TopK> kKernels[] = {{"lanes", fits_lanes, run_kernel, scratch_lanes}};

std::vector<Case> cases() {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  return {
      {.name = "opset1_has_k_as_an_attribute",
       .opset = 1,
       .attrs = {{"k", int64_t{2}}, {"axis", int64_t{0}}},
       .inputs = {Tensor::of<float>({3}, {1, 3, 2})},
       .expected = {Tensor::of<float>({2}, {3, 2}), Tensor::of<int64_t>({2}, {1, 2})},
       .outputs = 2},
      {.name = "nan_is_largest_and_ties_go_by_index",
       .opset = 11,
       .attrs = {},
       .inputs = {Tensor::of<float>({5}, {0, nan, -0.0f, 5, nan}), Tensor::of<int64_t>({1}, {5})},
       .expected = {Tensor::of<float>({5}, {nan, nan, 5, 0, -0.0f}),
                    Tensor::of<int64_t>({5}, {1, 4, 3, 0, 2})},
       .outputs = 2}};
}

constexpr OpOf<TopK> kTopK{
    .name = "TopK",
    .doc = "The k largest or smallest elements along an axis, best first, and where they stand.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .kernels = kKernels,
    .cases = cases,
};

}  // namespace

extern const Op top_k = erase<kTopK>();

}  // namespace sdx::ops
