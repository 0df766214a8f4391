// An Einsum of two operands as a batch of matrix products, and how its tensors lie in memory.
#pragma once

#include <array>
#include <optional>
#include <span>

#include "base/aligned.h"
#include "kernel/gemm/gemm.h"
#include "ops/matmul/einsum.h"
#include "ops/tensor/strided_copy.h"

namespace sdx::ops {

// Two operands as a batch of matrix products: every label is in the batch (both operands and the
// output), a row (first operand and output), a column (second and output) or summed (both
// operands). Labels keep their numbers' order within each group, so the chain over the summed ones
// is the reference's.
struct Product {
  static constexpr size_t kMostLabels = 16;
  struct Axis {
    size_t size = 1, a = 0, b = 0, y = 0;  // and its steps in the operands and the output
  };
  std::array<Axis, kMostLabels> batch{}, row{}, col{}, sum{};
  size_t batches = 0, rows = 0, cols = 0, sums = 0;  // axes
  size_t count = 1, m = 1, n = 1, k = 1;             // sizes

  GemmArgs gemm_args() const {
    GemmArgs g;
    g.m = m;
    g.n = n;
    g.k = k;
    g.batch = count;
    return g;
  }
};

inline std::optional<Product> product_of(const Einsum& a, std::span<const int64_t> x,
                                         std::span<const int64_t> y) {
  if (a.terms.size() != 2 || a.labels > Product::kMostLabels) return std::nullopt;
  std::array<Product::Axis, Product::kMostLabels> axes{};
  std::array<bool, Product::kMostLabels> in_a{}, in_b{};
  const auto walk = [&](const std::vector<size_t>& term, std::span<const int64_t> dims, auto& seen,
                        size_t Product::Axis::*step) {
    size_t at = 1;
    for (size_t i = dims.size(); i-- > 0;) {
      const size_t label = term[i], size = size_t(dims[i]);
      if (seen[label] || size == 0 || (axes[label].size != 1 && axes[label].size != size))
        return false;
      seen[label] = true;
      axes[label].size = size;
      axes[label].*step = at;
      at *= size;
    }
    return true;
  };
  if (!walk(a.terms[0], x, in_a, &Product::Axis::a) ||
      !walk(a.terms[1], y, in_b, &Product::Axis::b))
    return std::nullopt;
  // A size of 1 against a larger one broadcasts: left to the reference.
  for (size_t t = 0; t < 2; ++t) {
    for (size_t i = 0; i < a.terms[t].size(); ++i) {
      if (size_t((t == 0 ? x : y)[i]) != axes[a.terms[t][i]].size) return std::nullopt;
    }
  }
  size_t step = 1;
  for (size_t l = a.outputs; l-- > 0;) {
    axes[l].y = step;
    step *= axes[l].size;
  }
  Product p;
  for (size_t l = 0; l < a.labels; ++l) {
    const bool out = l < a.outputs;
    if (in_a[l] && in_b[l]) {
      (out ? p.batch[p.batches++] : p.sum[p.sums++]) = axes[l];
      (out ? p.count : p.k) *= axes[l].size;
    } else if (out && in_a[l]) {
      p.row[p.rows++] = axes[l];
      p.m *= axes[l].size;
    } else if (out && in_b[l]) {
      p.col[p.cols++] = axes[l];
      p.n *= axes[l].size;
    } else {
      return std::nullopt;
    }
  }
  return p;
}

// A group of labels as one axis of a tensor, if it is one: its steps from element to element agree.
struct Line {
  size_t size, step;
};
using Axes = std::array<Product::Axis, Product::kMostLabels>;
inline std::optional<Line> line_of(const Axes& axes, size_t n, size_t Product::Axis::*step) {
  Line line{1, 0};
  for (size_t i = n; i-- > 0;) {
    if (axes[i].size == 1) continue;
    if (line.size == 1) line.step = axes[i].*step;
    if (axes[i].*step != line.step * line.size) return std::nullopt;
    line.size *= axes[i].size;
  }
  return line;
}

// A tensor of the product: matrices [outer][inner], each group of labels in its order. `step` says
// where its elements lie now; where they are lines, the product reads or writes them there.
struct Matrices {
  const Axes *batch, *outer, *inner;
  size_t batches, outers, inners;  // labels
  size_t Product::Axis::*step;

  struct Place {
    size_t batch, ld;
    bool turned;  // [inner][outer]
  };
  std::optional<Place> place(bool may_turn) const {
    const auto b = line_of(*batch, batches, step), o = line_of(*outer, outers, step),
               i = line_of(*inner, inners, step);
    if (!b || !o || !i) return std::nullopt;
    if (i->size == 1 || i->step == 1)
      return Place{b->step, o->size == 1 ? i->size : o->step, false};
    if (may_turn && (o->size == 1 || o->step == 1)) return Place{b->step, i->step, true};
    return std::nullopt;
  }
  // Between where the elements lie and one matrix behind the other.
  Loops loops(size_t outer_size, size_t inner_size, bool back) const {
    Loops loops;
    size_t rest = 1;
    for (size_t i = 0; i < batches; ++i) rest *= (*batch)[i].size;
    rest *= outer_size * inner_size;
    const auto add = [&](const Axes& axes, size_t n) {
      for (size_t i = 0; i < n; ++i) {
        rest /= axes[i].size;
        const auto there = int64_t(axes[i].*step), here = int64_t(rest);
        loops.add(int64_t(axes[i].size), back ? here : there, back ? there : here);
      }
    };
    add(*batch, batches);
    add(*outer, outers);
    add(*inner, inners);
    return loops;
  }
};

// The operands and the result; floats of scratch memory for those that have to be moved.
struct Layout {
  Matrices a, b, y;
  std::optional<Matrices::Place> a_at, b_at, y_at;
  size_t a_floats, b_floats, y_floats;

  explicit Layout(const Product& p)
      : a{&p.batch, &p.row, &p.sum, p.batches, p.rows, p.sums, &Product::Axis::a},
        b{&p.batch, &p.sum, &p.col, p.batches, p.sums, p.cols, &Product::Axis::b},
        y{&p.batch, &p.row, &p.col, p.batches, p.rows, p.cols, &Product::Axis::y},
        a_at(a.place(true)),
        b_at(b.place(true)),
        y_at(y.place(false)),
        a_floats(a_at ? 0 : aligned_floats(p.count * p.m * p.k)),
        b_floats(b_at ? 0 : aligned_floats(p.count * p.k * p.n)),
        y_floats(y_at ? 0 : aligned_floats(p.count * p.m * p.n)) {}

  GemmArgs gemm_args(const Product& p) const {
    GemmArgs g = p.gemm_args();
    const auto [a_batch, lda, trans_a] = a_at.value_or(Matrices::Place{p.m * p.k, p.k, false});
    const auto [b_batch, ldb, trans_b] = b_at.value_or(Matrices::Place{p.k * p.n, p.n, false});
    const auto [y_batch, ldc, unused] = y_at.value_or(Matrices::Place{p.m * p.n, p.n, false});
    g.a_batch = a_batch, g.lda = lda, g.trans_a = trans_a;
    g.b_batch = b_batch, g.ldb = ldb, g.trans_b = trans_b;
    g.c_batch = y_batch, g.ldc = ldc;
    return g;
  }
};

}  // namespace sdx::ops
