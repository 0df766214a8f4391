#include <algorithm>

#include "ops/attention/fused_attention.h"

namespace sdx::ops::attention_parts {
namespace {

// dims[axes - 1 - i] back to front against `dims`; 0 where it broadcasts.
void steps(std::span<const int64_t> dims, size_t inner, size_t axes, size_t* into) {
  size_t step = inner;
  for (size_t i = 0; i < axes; ++i) {
    const size_t size = i < dims.size() ? size_t(dims[dims.size() - 1 - i]) : 1;
    into[axes - 1 - i] = size == 1 ? 0 : step;
    step *= size;
  }
}

using DimsOf = std::span<const int64_t>;

// A tensor as it is meant: sizes and steps of its axes.
struct Meant {
  size_t rank;
  std::array<size_t, kMostBatchAxes + 2> size, step;

  // axes[i] is where axis i lies in memory, or if `inverse`, what lies there.
  Meant(DimsOf dims, const Axes& axes, bool inverse) : rank(dims.size()) {
    size_t inner = 1;
    for (size_t at = rank; at-- > 0; inner *= size_t(dims[at])) {
      const auto found = std::find(axes.begin(), axes.end(), at);
      const size_t axis = axes.empty() ? at : inverse ? axes[at] : size_t(found - axes.begin());
      size[axis] = size_t(dims[at]);
      step[axis] = inner;
    }
  }
  size_t rows() const { return size[rank - 2]; }
  size_t columns() const { return size[rank - 1]; }
  MatrixSteps place(size_t axes) const {
    MatrixSteps p;
    p.row = step[rank - 2];
    p.column = step[rank - 1];
    for (size_t i = 0; i + 2 < rank; ++i) {
      const size_t axis = rank - 3 - i;
      p.batch[axes - 1 - i] = size[axis] == 1 ? 0 : step[axis];
    }
    return p;
  }
};

// Heads of one row each that read the same K and V are the rows of one product.
void rows_from_heads(Sizes& s) {
  const size_t last = s.axes - 1, count = s.repeat;
  s.m = count;
  s.batches /= count;
  s.size[last] /= count;
  for (MatrixSteps* place : {&s.q, &s.y}) {
    place->row = place->batch[last];
    place->batch[last] *= count;
  }
  for (auto& step : s.operand) {
    step[s.axes] = step[last];
    step[last] *= count;
  }
  s.repeat = 1;
}

Sizes sizes_of(const FusedAttention& a, std::span<const DimsOf> in, DimsOf out) {
  Sizes s;
  const Meant q(in[0], a.q, false), k(in[1], a.k, false), v(in[2], a.v, false), y(out, a.y, true);
  s.m = q.rows();
  s.depth = q.columns();
  s.n = k.columns();
  s.width = v.columns();
  s.axes = out.size() - 2;
  for (size_t i = 0; i < s.axes; ++i) {
    s.size[i] = y.size[i];
    s.batches *= s.size[i];
  }
  s.q = q.place(s.axes);
  s.k = k.place(s.axes);
  s.v = v.place(s.axes);
  s.y = y.place(s.axes);
  for (size_t i = 3; i < in.size(); ++i) steps(in[i], 1, s.axes + 2, s.operand[i - 2].data());
  s.repeat = a.repeat;
  if (a.repeat > 1 && s.m == 1 && s.q.batch[s.axes - 1] != 0) rows_from_heads(s);
  return s;
}

constexpr size_t kMostInputs = Program::kMostInputs + 2;

}  // namespace

Sizes sizes_of(const FusedAttention& a, const Args& args) {
  std::array<DimsOf, kMostInputs> in;
  for (size_t i = 0; i < args.ins.size(); ++i) in[i] = args.in(i).dims;
  return sizes_of(a, std::span(in).first(args.ins.size()), args.out().dims);
}
Sizes sizes_of(const FusedAttention& a, const Call& call) {
  std::array<Dims, kMostInputs> dims;
  std::array<DimsOf, kMostInputs> in;
  for (size_t i = 0; i < call.in.size(); ++i) in[i] = dims[i] = call.in[i].dims();
  const Dims out = call.out[0].dims();
  return sizes_of(a, std::span(in).first(call.in.size()), out);
}

}  // namespace sdx::ops::attention_parts
