#include "ops/control/bodies.h"

namespace sdx::ops {
namespace {

// Copies a block of one axis position: `whole` is [outer, size, inner], `part` is [outer, inner].
void move_piece(const Tensor& part, Tensor& whole, size_t axis, size_t i, bool into_whole) {
  const AxisSplit at = split_at(whole.dims(), axis);
  const DType type = whole.type();
  auto& other = const_cast<Tensor&>(part);
  for (size_t outer = 0; outer < at.outer; ++outer) {
    const size_t in_whole = (outer * at.size + i) * at.inner, in_part = outer * at.inner;
    if (type == DType::string) {
      auto* w = whole.data<std::string>() + in_whole;
      auto* p = other.data<std::string>() + in_part;
      into_whole ? std::copy_n(p, at.inner, w) : std::copy_n(w, at.inner, p);
    } else if (is_packed(type)) {
      for (size_t k = 0; k < at.inner; ++k) {
        if (into_whole) {
          set_bits(type, whole.raw(), in_whole + k, get_bits(type, other.raw(), in_part + k));
        } else {
          set_bits(type, other.raw(), in_part + k, get_bits(type, whole.raw(), in_whole + k));
        }
      }
    } else {
      const size_t bytes = bits(type) / 8;
      auto* w = whole.data<std::byte>() + in_whole * bytes;
      auto* p = other.data<std::byte>() + in_part * bytes;
      std::memcpy(into_whole ? w : p, into_whole ? p : w, at.inner * bytes);
    }
  }
}

}  // namespace

Result<Tensor> stack(std::span<const Tensor> items, size_t axis, DType type,
                     const std::optional<Shape>& item_shape) {
  Dims dims;
  if (items.empty()) {
    // Nothing ran: the body's declared shape with unknown sizes as zero.
    for (const Dim& dim : item_shape.value_or(Shape{}))
      dims.push_back(dim.is_const() ? dim.value() : 0);
  } else {
    dims = items[0].dims();
    type = items[0].type();
  }
  if (axis > dims.size())
    return fail("SDX-T0601", "scan output axis {} is beyond rank {}", axis, dims.size() + 1);
  dims.insert(dims.begin() + std::ptrdiff_t(axis), int64_t(items.size()));
  SDX_TRY(element_count(dims));
  Tensor whole = Tensor::make(type, dims);
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i].dims() != items[0].dims()) {
      return fail("SDX-R0601", "scan output has shape {} in iteration {} and {} in the first",
                  to_string(items[i].dims()), i, to_string(items[0].dims()));
    }
    move_piece(items[i], whole, axis, i, true);
  }
  return whole;
}

Tensor piece(const Tensor& whole, size_t axis, size_t i) {
  Dims dims = whole.dims();
  dims.erase(dims.begin() + std::ptrdiff_t(axis));
  Tensor part = Tensor::make(whole.type(), dims);
  move_piece(part, const_cast<Tensor&>(whole), axis, i, false);
  return part;
}

}  // namespace sdx::ops
