#include "ops/elementwise/broadcast.h"

namespace sdx {

template <size_t N>
Broadcast<N>::Broadcast(std::span<const int64_t> out, const InputDims& in, const Offsets& trail) {
  Offsets stride;
  stride.fill(1);
  for (size_t axis = out.size(); axis-- > 0;) {
    count_ *= size_t(out[axis]);
    Offsets step{};
    for (size_t i = 0; i < N; ++i) {
      const size_t from_end = out.size() - axis;
      if (from_end <= trail[i] || from_end > trail[i] + in[i].size()) continue;
      const int64_t size = in[i][in[i].size() + trail[i] - from_end];
      if (size != 1) step[i] = stride[i];
      stride[i] *= size_t(size);
    }
    add(out[axis], step);
  }
  if (axes_ == 0) {
    sizes_[0] = 1;
    steps_[0] = {};
    axes_ = 1;
  }
}

template <size_t N>
void Broadcast<N>::each(size_t begin, size_t end, Piece piece, void* body) const {
  if (begin >= end) return;
  std::array<size_t, kMostAxes> index;
  Offsets from{};
  for (size_t axis = 0, rest = begin; axis < axes_; ++axis) {
    index[axis] = rest % sizes_[axis];
    rest /= sizes_[axis];
    for (size_t i = 0; i < N; ++i) from[i] += index[axis] * steps_[axis][i];
  }
  for (size_t at = begin; at < end;) {
    const size_t length = std::min(end - at, sizes_[0] - index[0]);
    piece(body, at, from, length);
    at += length;
    // The next run: back to the start of this axis, one further on the next, carrying over.
    for (size_t i = 0; i < N; ++i) from[i] -= index[0] * steps_[0][i];
    index[0] = 0;
    for (size_t axis = 1; axis < axes_; ++axis) {
      for (size_t i = 0; i < N; ++i) from[i] += steps_[axis][i];
      if (++index[axis] < sizes_[axis]) break;
      for (size_t i = 0; i < N; ++i) from[i] -= sizes_[axis] * steps_[axis][i];
      index[axis] = 0;
    }
  }
}

template <size_t N>
void Broadcast<N>::add(int64_t size, const Offsets& step) {
  if (size == 0) count_ = 0;
  if (count_ == 0 || size == 1) return;
  if (axes_ > 0) {
    bool merges = true;
    for (size_t i = 0; i < N; ++i) {
      merges = merges && step[i] == steps_[axes_ - 1][i] * sizes_[axes_ - 1];
    }
    if (merges) {
      sizes_[axes_ - 1] *= size_t(size);
      return;
    }
  }
  sizes_[axes_] = size_t(size);
  steps_[axes_++] = step;
}

template class Broadcast<1>;
template class Broadcast<2>;
template class Broadcast<3>;

Result<std::optional<Shape>> broadcast_all(std::span<const Fact> in) {
  std::optional<Shape> shape;
  for (const Fact& fact : in) {
    if (!fact.present()) continue;
    if (!fact.has_rank()) return std::optional<Shape>();
    if (!shape) {
      shape = fact.shape;
      continue;
    }
    SDX_ASSIGN(shape, broadcast(*shape, *fact.shape));
  }
  return shape;
}

template <size_t N>
void track(Fact& out, const Facts& in, DimsToDim<N> f) {
  if (!out.is_concrete()) return;
  const Dims dims = out.dims();
  const auto count = element_count(dims);
  if (!count || *count > kMostTracked) return;
  std::array<std::vector<Dim>, N> known;
  std::array<Dims, N> in_dims;
  typename Broadcast<N>::InputDims spans;
  bool symbolic = false;
  for (size_t i = 0; i < N; ++i) {
    if (!in[i].is_concrete()) return;
    symbolic = symbolic || !in[i].value;
    std::optional<std::vector<Dim>> values = in[i].integers();
    if (!values) return;
    known[i] = *std::move(values);
    in_dims[i] = in[i].dims();
    spans[i] = in_dims[i];
  }
  // Constants alone are folded by the reference, which also knows how they wrap.
  if (!symbolic) return;
  const Broadcast<N> walk(dims, spans);
  std::vector<Dim> result;
  bool all = true;
  walk.pieces(0, walk.count(), [&](size_t, const auto& from, size_t length) {
    for (size_t j = 0; j < length && all; ++j) {
      std::array<const Dim*, N> element;
      for (size_t i = 0; i < N; ++i) element[i] = &known[i][from[i] + j * walk.step(i)];
      std::optional<Dim> value = f(element);
      all = value.has_value();
      if (all) result.push_back(*std::move(value));
    }
  });
  if (all) out.symbolic = std::move(result);
}

template void track<1>(Fact&, const Facts&, DimsToDim<1>);
template void track<2>(Fact&, const Facts&, DimsToDim<2>);
template void track<3>(Fact&, const Facts&, DimsToDim<3>);

bool never_negative(const Dim& dim) {
  return dim.is_const() ? dim.value() >= 0 : dim.text().find('-') == std::string::npos;
}

}  // namespace sdx
