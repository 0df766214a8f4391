// Scatter, ScatterElements, ScatterND and TensorScatter.
#include "ops/tensor/scatter.h"

#include <cmath>

#include "ops/tensor/ints.h"
#include "ops/tensor/pick.h"
#include "ops/tensor/strided_copy.h"
#include "ops/tensor/track.h"

namespace sdx::ops {
namespace {

using Reduction = ScatterReduction;

Result<Reduction> read_reduction(const Node& node) {
  if (!node.has("reduction")) return Reduction::none;
  const std::string& name = node.s("reduction");
  if (name == "none") return Reduction::none;
  if (name == "add") return Reduction::add;
  if (name == "mul") return Reduction::mul;
  if (node.opset >= 18 && name == "max") return Reduction::max;
  if (node.opset >= 18 && name == "min") return Reduction::min;
  return fail("SDX-T0220", "reduction \"{}\" is not defined in opset {}", name, node.opset);
}

// f(old, update). Integers wrap; a NaN wins over any number; max(-0, +0) is +0 and min is -0.
template <class T>
T combine(Reduction reduction, T a, T b) {
  switch (reduction) {
    case Reduction::add:
      if constexpr (std::is_integral_v<T>)
        return T(uint64_t(a) + uint64_t(b));
      else
        return a + b;
    case Reduction::mul:
      if constexpr (std::is_integral_v<T>)
        return T(uint64_t(a) * uint64_t(b));
      else
        return a * b;
    case Reduction::max:
    case Reduction::min:
      if constexpr (std::is_floating_point_v<T>) {
        if (a != a || b != b) return std::numeric_limits<T>::quiet_NaN();
        if (a == b) return (reduction == Reduction::max) == std::signbit(a) ? b : a;
      }
      if constexpr (std::is_arithmetic_v<T>)
        return (a < b) == (reduction == Reduction::max) ? b : a;
      return b;
    case Reduction::none:
      break;
  }
  return b;
}

bool reduces(DType type, Reduction reduction) {
  if (reduction == Reduction::none) return true;
  if (is_complex(type)) return reduction == Reduction::add || reduction == Reduction::mul;
  return type != DType::string && !is_packed(type);
}

// f.operator()<T>(combined), where combined(old, update) is what an element of C++ type T becomes;
// false for types without one: strings and packed elements.
template <class F>
bool visit_combined(DType type, Reduction reduction, F&& f) {
  if (reduction == Reduction::none) {
    const auto last = [](const auto&, const auto& b) { return b; };
    if (type == DType::string || is_packed(type)) return false;
    switch (bits(type)) {
      case 8:
        return f.template operator()<uint8_t>(last), true;
      case 16:
        return f.template operator()<uint16_t>(last), true;
      case 32:
        return f.template operator()<uint32_t>(last), true;
      case 64:
        return f.template operator()<uint64_t>(last), true;
      default:
        return f.template operator()<std::complex<double>>(last), true;
    }
  }
  if (type == DType::boolean) {
    const bool either = reduction == Reduction::add || reduction == Reduction::max;
    f.template operator()<bool>([either](bool a, bool b) { return either ? a || b : a && b; });
    return true;
  }
  // Sums, which are what most models ask for, without a question for each element.
  const auto plain = [&]<class T>() {
    if (reduction == Reduction::add) {
      f.template operator()<T>([](T a, T b) { return combine(Reduction::add, a, b); });
    } else {
      f.template operator()<T>([=](T a, T b) { return combine(reduction, a, b); });
    }
  };
  if (type == DType::c64) return plain.template operator()<std::complex<float>>(), true;
  if (type == DType::c128) return plain.template operator()<std::complex<double>>(), true;
  return visit_integers(type, plain) || visit_floats(type, [&]<class T>() {
           if (reduction == Reduction::add) {
             f.template operator()<T>(
                 [](T a, T b) { return store<T>(combine(Reduction::add, load(a), load(b))); });
           } else {
             f.template operator()<T>(
                 [=](T a, T b) { return store<T>(combine(reduction, load(a), load(b))); });
           }
         });
}

constexpr Version kScatterHistory[] = {
    {9,
     "(data: T, indices: Tind, updates: T) -> (output: T) {axis: int = 0} T in all Tind in i32 "
     "i64"},
    {11, "deprecated"},
};
constexpr Version kElementsHistory[] = {
    {11,
     "(data: T, indices: Tind, updates: T) -> (output: T) {axis: int = 0} T in all Tind in i32 "
     "i64"},
    {13, "T += bf16"},
    {16, "{reduction: string = \"none\"}"},
    {18, ""},  // max and min
};

Result<ScatterElements> read_elements(const Node& node, const Facts& in) {
  SDX_ASSIGN(const Reduction reduction, read_reduction(node));
  if (!reduces(in[0].type, reduction)) return unsupported_type(node.op->name, in[0].type);
  return ScatterElements{node.i("axis"), reduction};
}

// Updates are applied in row-major order, so the last of several for one place is the one that
// stays.
Status reference_elements(const ScatterElements& a, Args& args) {
  const View &x = args.in(0), &indices = args.in(1), &updates = args.in(2), &y = args.out();
  SDX_ASSIGN(const size_t axis, resolve_axis(a.axis, x.rank()));
  SDX_TRY(check_indices(indices, x.dims[axis], axis));
  const SmallInts strides = strides_of(x.dims);
  flat_copy(x.type, x.raw, 0, y.raw, 0, x.count, args.pool, args.isa);
  const auto each = [&](auto move) {
    element_positions(indices, axis, x.dims, strides, 0, indices.count, move);
  };
  const bool typed = visit_combined(x.type, a.reduction, [&]<class T>(auto combined) {
    T* to = y.data<T>();
    const T* from = updates.data<T>();
    each([=](size_t at, size_t i) { to[at] = combined(to[at], from[i]); });
  });
  if (!typed) {
    const RowCopy copy(x.type);
    each([&](size_t at, size_t i) { copy(updates.raw, i, y.raw, at, 1); });
  }
  return ok();
}

Result<Facts> infer_elements(const ScatterElements& a, const Facts& in) {
  if (in[0].has_rank() && in[1].has_rank() && in[2].has_rank()) {
    SDX_ASSIGN(const size_t axis, resolve_axis(a.axis, in[0].rank()));
    if (in[0].rank() != in[1].rank() || in[1].rank() != in[2].rank()) {
      return fail("SDX-T0214", "data {}, indices {} and updates {} must have the same rank",
                  in[0].text(), in[1].text(), in[2].text());
    }
    for (size_t i = 0; i < in[0].rank(); ++i) {
      const Dim &data = in[0].dim(i), &index = in[1].dim(i), &given_update = in[2].dim(i);
      if (index.is_const() && given_update.is_const() && !(index == given_update)) {
        return fail("SDX-T0214", "indices {} and updates {} must have the same shape", in[1].text(),
                    in[2].text());
      }
      if (i != axis && data.is_const() && index.is_const() && index.value() > data.value()) {
        return fail("SDX-T0214", "dimension {} of the indices is {}, of the data only {}", i,
                    index.value(), data.value());
      }
    }
  }
  Facts out{like(in[0])};
  if (a.reduction == Reduction::none) track(a, reference_elements, 0b101, in, out);
  return out;
}

std::vector<Case> cases_elements() {
  return {{.name = "max_lets_nan_win",
           .opset = 18,
           .attrs = {{"reduction", std::string("max")}},
           .inputs = {Tensor::of<float>({2}, {1, 2}), Tensor::of<int64_t>({2}, {0, -1}),
                      Tensor::of<float>({2}, {std::numeric_limits<float>::quiet_NaN(), 1})},
           .expected = {Tensor::of<float>({2}, {std::numeric_limits<float>::quiet_NaN(), 2})}},
          {.name = "add_wraps_integers",
           .opset = 16,
           .attrs = {{"reduction", std::string("add")}},
           .inputs = {Tensor::of<int8_t>({1}, {100}), Tensor::of<int32_t>({1}, {0}),
                      Tensor::of<int8_t>({1}, {100})},
           .expected = {Tensor::of<int8_t>({1}, {-56})}}};
}

constexpr OpOf<ScatterElements> kScatter{
    .name = "Scatter",
    .doc = "The older name of ScatterElements.",
    .history = kScatterHistory,
    .read = read_elements,
    .infer = infer_elements,
    .reference = reference_elements,
};
constexpr OpOf<ScatterElements> kScatterElements{
    .name = "ScatterElements",
    .doc =
        "A copy of the data in which single elements are replaced by, or combined with, updates.",
    .history = kElementsHistory,
    .read = read_elements,
    .infer = infer_elements,
    .reference = reference_elements,
    .cases = cases_elements,
};

constexpr Version kNdHistory[] = {
    {11, "(data: T, indices: i64, updates: T) -> (output: T) T in all"},
    {13, "T += bf16"},
    {16, "{reduction: string = \"none\"}"},
    {18, ""},  // max and min
};

Result<ScatterNd> read_nd(const Node& node, const Facts& in) {
  SDX_ASSIGN(const Reduction reduction, read_reduction(node));
  if (!reduces(in[0].type, reduction)) return unsupported_type(node.op->name, in[0].type);
  return ScatterNd{reduction};
}

Status reference_nd(const ScatterNd& a, Args& args) {
  const View &x = args.in(0), &indices = args.in(1), &updates = args.in(2), &y = args.out();
  SDX_TRY(check_tuples(indices, x.dims, 0));
  const size_t depth = size_t(indices.dims.back());
  const size_t tuples = split_at(indices.dims, indices.rank() - 1).outer;
  const size_t slice = split_at(x.dims, 0, depth).inner;
  flat_copy(x.type, x.raw, 0, y.raw, 0, x.count, args.pool, args.isa);
  const auto each = [&](auto move) {
    for (size_t i = 0; i < tuples; ++i)
      move(tuple_position(indices, i, depth, x.dims, 0) * slice, i * slice);
  };
  constexpr size_t kShort = 16;  // elements that are moved sooner than a call is made
  const bool moves = a.reduction == Reduction::none && slice > kShort;
  const bool typed = !moves && visit_combined(x.type, a.reduction, [&]<class T>(auto combined) {
    T* __restrict to = y.data<T>();
    const T* __restrict from = updates.data<T>();
    each([=](size_t at, size_t first) {
      for (size_t j = 0; j < slice; ++j) to[at + j] = combined(to[at + j], from[first + j]);
    });
  });
  if (!typed) {
    const RowCopy copy(x.type);
    each([&](size_t at, size_t first) { copy(updates.raw, first, y.raw, at, slice); });
  }
  return ok();
}

Result<Facts> infer_nd(const ScatterNd& a, const Facts& in) {
  if (in[0].has_rank() && in[1].has_rank()) {
    if (in[1].rank() == 0) return fail("SDX-T0215", "indices must have at least one dimension");
    const Dim& depth = in[1].shape->back();
    if (depth.is_const() && depth.value() > int64_t(in[0].rank())) {
      return fail("SDX-T0215", "an index has {} numbers, data {} only {} dimensions", depth.value(),
                  in[0].text(), in[0].rank());
    }
    if (depth.is_const() && in[2].has_rank()) {
      Shape wanted(in[1].shape->begin(), in[1].shape->end() - 1);
      wanted.insert(wanted.end(), in[0].shape->begin() + ptrdiff_t(depth.value()),
                    in[0].shape->end());
      bool fits = wanted.size() == in[2].rank();
      for (size_t i = 0; fits && i < wanted.size(); ++i) {
        fits = !wanted[i].is_const() || !in[2].dim(i).is_const() || wanted[i] == in[2].dim(i);
      }
      if (!fits)
        return fail("SDX-T0215", "updates {} must have the shape {}", in[2].text(),
                    to_string(wanted));
    }
  }
  Facts out{like(in[0])};
  if (a.reduction == Reduction::none) track(a, reference_nd, 0b101, in, out);
  return out;
}

std::vector<Case> cases_nd() {
  return {{.name = "later_updates_win",
           .opset = 11,
           .attrs = {},
           .inputs = {Tensor::of<float>({3}, {1, 2, 3}), Tensor::of<int64_t>({2, 1}, {1, -2}),
                      Tensor::of<float>({2}, {8, 9})},
           .expected = {Tensor::of<float>({3}, {1, 9, 3})}}};
}

constexpr OpOf<ScatterNd> kScatterNd{
    .name = "ScatterND",
    .doc = "A copy of the data in which slices are replaced by, or combined with, updates.",
    .history = kNdHistory,
    .read = read_nd,
    .infer = infer_nd,
    .reference = reference_nd,
    .cases = cases_nd,
};

struct TensorScatter {
  int64_t axis;
  bool circular;
};

constexpr Version kCacheHistory[] = {
    {24,
     "(past_cache: T, update: T, write_indices?: i64) -> (present_cache: T) {axis: int = -2, mode: "
     "string = "
     "\"linear\"} T in all f8 bf16 f4e2m1 f8e8m0 i4 u4"},
};

Result<TensorScatter> read_cache(const Node& node, const Facts&) {
  const std::string& mode = node.s("mode");
  if (mode != "linear" && mode != "circular")
    return fail("SDX-T0221", "mode \"{}\" is not linear or circular", mode);
  return TensorScatter{node.i("axis"), mode == "circular"};
}

Status reference_cache(const TensorScatter& a, Args& args) {
  const View &x = args.in(0), &updates = args.in(1), &y = args.out();
  SDX_ASSIGN(const size_t axis, resolve_axis(a.axis, x.rank()));
  const AxisSplit at = split_at(x.dims, axis);
  const size_t length = size_t(updates.dims[axis]);
  clear_tail(y.type, y.raw, y.count);
  flat_copy(x.type, x.raw, 0, y.raw, 0, x.count, args.pool, args.isa);
  const size_t batch = size_t(x.dims[0]), per_batch = batch == 0 ? 0 : at.outer / batch;
  for (size_t outer = 0; outer < at.outer; ++outer) {
    int64_t start = args.has(2) ? args.in(2).data<int64_t>()[outer / per_batch] : 0;
    if (a.circular && at.size > 0)
      start = (start % int64_t(at.size) + int64_t(at.size)) % int64_t(at.size);
    if (start < 0 || (!a.circular && start > int64_t(at.size) - int64_t(length))) {
      return fail("SDX-R0101", "write index {} with {} rows is out of range for axis {} of size {}",
                  start, length, axis, at.size);
    }
    for (size_t i = 0; i < length; ++i) {
      const size_t row = (size_t(start) + i) % at.size;
      copy_row(x.type, updates.raw, (outer * length + i) * at.inner, y.raw,
               (outer * at.size + row) * at.inner, at.inner);
    }
  }
  return ok();
}

Result<Facts> infer_cache(const TensorScatter& a, const Facts& in) {
  if (in[0].has_rank() && in[1].has_rank()) {
    SDX_ASSIGN(const size_t axis, resolve_axis(a.axis, in[0].rank()));
    if (axis == 0) return fail("SDX-T0221", "axis 0 is the batch");
    bool fits = in[0].rank() == in[1].rank();
    for (size_t i = 0; fits && i < in[0].rank(); ++i) {
      const Dim &cache = in[0].dim(i), &rows = in[1].dim(i);
      if (!cache.is_const() || !rows.is_const()) continue;
      fits = i == axis ? rows.value() <= cache.value() : rows == cache;
    }
    if (!fits)
      return fail("SDX-T0221", "update {} does not fit into the cache {}", in[1].text(),
                  in[0].text());
    if (in.size() > 2 && in[2].is_concrete() && in[0].dim(0).is_const() &&
        (in[2].rank() != 1 || !(in[2].dim(0) == in[0].dim(0)))) {
      return fail("SDX-T0221", "write_indices {} must have one element per batch of {}",
                  in[2].text(), in[0].text());
    }
  }
  return Facts{like(in[0])};
}

std::vector<Case> cases_cache() {
  return {{.name = "circular_writes_wrap",
           .opset = 24,
           .attrs = {{"mode", std::string("circular")}},
           .inputs = {Tensor::of<float>({1, 3, 1}, {1, 2, 3}), Tensor::of<float>({1, 2, 1}, {8, 9}),
                      Tensor::of<int64_t>({1}, {2})},
           .expected = {Tensor::of<float>({1, 3, 1}, {9, 2, 8})}}};
}

constexpr OpOf<TensorScatter> kTensorScatter{
    .name = "TensorScatter",
    .doc = "A cache in which some rows of each batch are replaced, from a given row on.",
    .history = kCacheHistory,
    .read = read_cache,
    .infer = infer_cache,
    .reference = reference_cache,
    .cases = cases_cache,
};

}  // namespace

extern const Op scatter = erase<kScatter>();
extern const Op scatter_elements = erase<kScatterElements>();
extern const Op scatter_nd = erase<kScatterNd>();
extern const Op tensor_scatter = erase<kTensorScatter>();

}  // namespace sdx::ops
