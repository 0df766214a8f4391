// The meaning of Resize.
#include <cmath>
#include <cstring>
#include <numeric>

#include "ops/tensor/pick.h"
#include "ops/tensor/resize.h"

namespace sdx::ops {
namespace {

bool is_outside(const ResizePlan& plan, std::span<const int64_t> dims, size_t i) {
  for (size_t axis = dims.size(); axis-- > 0; i /= size_t(dims[axis])) {
    if (!plan[axis].outside.empty() && plan[axis].outside[i % size_t(dims[axis])]) return true;
  }
  return false;
}
// v = sum of weight * value over the taps whose weight is not 0, in ascending order; every product
// and sum is rounded.
template <class C, class Get>
C weighted(const AxisTaps& taps, size_t at, Get get) {
  C sum = 0;
  bool first = true;
  for (size_t k = 0; k < taps.taps; ++k) {
    const C weight = C(taps.weight[at * taps.taps + k]);
    if (weight == 0) continue;
    const C term = weight * get(size_t(taps.index[at * taps.taps + k]));
    sum = first ? term : sum + term;
    first = false;
  }
  return sum;
}

// Axes are resized one after the other, the last one first; what lies between is kept in the
// computing type C.
template <class C>
std::vector<C> interpolate(const ResizePlan& plan, std::span<const int64_t> x_dims,
                           std::vector<C> data) {
  Dims dims(x_dims.begin(), x_dims.end());
  for (size_t axis = dims.size(); axis-- > 0;) {
    const AxisTaps& taps = plan[axis];
    if (taps.identity()) continue;
    const AxisSplit at = split_at(dims, axis);
    const size_t size = taps.index.size() / taps.taps;
    std::vector<C> next(at.outer * size * at.inner);
    for (size_t outer = 0; outer < at.outer; ++outer) {
      for (size_t i = 0; i < size; ++i) {
        for (size_t inner = 0; inner < at.inner; ++inner) {
          next[(outer * size + i) * at.inner + inner] = weighted<C>(
              taps, i, [&](size_t k) { return data[(outer * at.size + k) * at.inner + inner]; });
        }
      }
    }
    data = std::move(next);
    dims[axis] = int64_t(size);
  }
  return data;
}

// Integers are rounded to the nearest even one and saturate; true is what is not zero.
template <class C>
void put(const View& y, size_t i, C value) {
  if (visit_floats(y.type, [&]<class T>() { y.data<T>()[i] = store<T>(Compute<T>(value)); }))
    return;
  if (visit_integers(y.type,
                     [&]<class T>() { y.data<T>()[i] = to_integer<T>(std::nearbyint(value)); }))
    return;
  set_f64(y.type, y.raw, i, double(value));
}

template <class C>
void reference_in(const Resize& a, const ResizePlan& plan, const View& x, const View& y) {
  std::vector<C> data(x.count);
  for (size_t i = 0; i < x.count; ++i) data[i] = C(get_f64(x.type, x.raw, i));
  data = interpolate(plan, x.dims, std::move(data));
  const bool outside = any_outside(plan);
  for (size_t i = 0; i < y.count; ++i)
    put<C>(y, i, outside && is_outside(plan, y.dims, i) ? C(a.extrapolation) : data[i]);
}

// How often each element stands in a row of `index`, if all stand equally often; else 0.
size_t repeats_of(const std::vector<int32_t>& index) {
  size_t times = 0;
  while (times < index.size() && index[times] == 0) ++times;
  for (size_t i = 0; i < index.size() && times != 0; ++i) {
    if (size_t(index[i]) != i / times) return 0;
  }
  return times;
}

// Each of the elements twice, into one row or two alike; `width` elements of a row are made.
void twice_each(const uint32_t* from, uint32_t* to, uint32_t* also, size_t width) {
  typedef uint32_t Quad __attribute__((vector_size(16)));
  const auto eight = [&](size_t i) {
    Quad four;
    std::memcpy(&four, from + i / 2, sizeof four);
    const Quad pair[2] = {__builtin_shufflevector(four, four, 0, 0, 1, 1),
                          __builtin_shufflevector(four, four, 2, 2, 3, 3)};
    std::memcpy(to + i, pair, sizeof pair);
    std::memcpy(also + i, pair, sizeof pair);
  };
  size_t i = 0;
  for (; i + 8 <= width; i += 8) eight(i);
  // The last ones with some of those before them.
  if (i < width && width >= 8) return eight(width - 8);
  for (; i < width; ++i) to[i] = also[i] = from[i / 2];
}

// Elements of 32 bits; `times` as above. Images of twice the size are what most models ask for.
void pick_nearest(const uint32_t* from, const std::vector<int32_t>& index, size_t times,
                  uint32_t* to) {
  if (times == 2) return twice_each(from, to, to, index.size());
  for (size_t i = 0; i < index.size(); ++i) to[i] = from[index[i]];
}

// Images of 32-bit elements whose rows and columns all stand twice.
bool doubles_images(const ResizePlan& plan, DType type) {
  const size_t rank = plan.size();
  if (bits(type) != 32 || type == DType::string || rank < 2) return false;
  for (size_t axis = 0; axis + 2 < rank; ++axis) {
    if (!plan[axis].identity()) return false;
  }
  return repeats_of(plan[rank - 2].index) == 2 && repeats_of(plan[rank - 1].index) == 2 &&
         plan[rank - 1].index.size() % 2 == 0 && plan[rank - 2].index.size() % 2 == 0;
}

}  // namespace

void take_nearest(const ResizePlan& plan, const View& x, const View& y, Pool* pool) {
  const size_t rank = y.rank();
  if (y.count == 0) return;
  if (rank == 0) return copy_row(x.type, x.raw, 0, y.raw, 0, 1);
  const SmallInts strides = strides_of(x.dims);
  const size_t width = size_t(y.dims[rank - 1]);
  const std::vector<int32_t>& columns = plan[rank - 1].index;
  const bool whole = plan[rank - 1].identity();
  if (doubles_images(plan, x.type) && 4 * x.count == y.count) {
    const auto* from = x.data<uint32_t>();
    auto* to = y.data<uint32_t>();
    return share_rows(pool, y.count / width / 2, 2 * width, y.type, [&](size_t begin, size_t end) {
      for (size_t row = begin; row < end; ++row) {
        uint32_t* first = to + row * 2 * width;
        twice_each(from + row * (width / 2), first, first + width, width);
      }
    });
  }
  const size_t times = repeats_of(columns);
  share_rows(pool, y.count / width, width, y.type, [&](size_t begin, size_t end) {
    size_t last = SIZE_MAX;
    std::vector<size_t> at(rank - 1);  // of the row, along the axes before its own
    for (size_t axis = rank - 1, rest = begin; axis-- > 0; rest /= size_t(y.dims[axis]))
      at[axis] = rest % size_t(y.dims[axis]);
    for (size_t row = begin; row < end; ++row) {
      size_t base = 0;
      for (size_t axis = 0; axis + 1 < rank; ++axis)
        base += size_t(plan[axis].index[at[axis]]) * size_t(strides[axis]);
      for (size_t axis = rank - 1; axis-- > 0 && ++at[axis] == size_t(y.dims[axis]);) at[axis] = 0;
      if (base == last) {
        copy_row(y.type, y.raw, (row - 1) * width, y.raw, row * width, width);
      } else if (whole) {
        copy_row(x.type, x.raw, base, y.raw, row * width, width);
      } else if (bits(x.type) == 32) {
        pick_nearest(x.data<uint32_t>() + base, columns, times, y.data<uint32_t>() + row * width);
      } else {
        for (size_t i = 0; i < width; ++i)
          copy_row(x.type, x.raw, base + size_t(columns[i]), y.raw, row * width + i, 1);
      }
      last = base;
    }
  });
}

bool any_outside(const ResizePlan& plan) {
  return std::any_of(plan.begin(), plan.end(),
                     [](const AxisTaps& taps) { return !taps.outside.empty(); });
}

Status resize_reference(const Resize& a, Args& args) {
  View x = args.in(0), y = args.out();
  SDX_ASSIGN(ResizePlan plan, resize_plan(a, x.dims, y.dims, wanted(a, args)));
  if (a.how.mode == Resampling::Mode::nearest) {
    take_nearest(plan, x, y, args.pool);
    if (!any_outside(plan) || x.type == DType::string || is_complex(x.type)) return ok();
    for (size_t i = 0; i < y.count; ++i) {
      if (is_outside(plan, y.dims, i)) put<double>(y, i, a.extrapolation);
    }
    return ok();
  }
  Dims x_dims(x.dims.begin(), x.dims.end()), y_dims(y.dims.begin(), y.dims.end());
  if (is_complex(x.type)) {
    // Real and imaginary parts are a last axis of two.
    for (View* view : {&x, &y}) {
      view->type = view->type == DType::c64 ? DType::f32 : DType::f64;
      view->count *= 2;
    }
    x_dims.push_back(2);
    y_dims.push_back(2);
    x.dims = x_dims;
    y.dims = y_dims;
    plan.push_back(axis_taps({}, {2, 2, 1}));
  }
  // 32- and 64-bit integers need the precision of double.
  const bool wide = x.type == DType::f64 || (is_integer(x.type) && bits(x.type) >= 32);
  if (wide) {
    reference_in<double>(a, plan, x, y);
  } else {
    reference_in<float>(a, plan, x, y);
  }
  return ok();
}

}  // namespace sdx::ops
