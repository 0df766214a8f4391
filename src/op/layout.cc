#include "op/layout.h"

#include <algorithm>
#include <numeric>

#include "op/op.h"

namespace sdx {

bool Layout::plain() const {
  return !blocked && !one && std::is_sorted(order.begin(), order.end());
}

size_t Layout::at(size_t axis) const {
  const auto i = size_t(std::find(order.begin(), order.end(), axis) - order.begin());
  return one && *one <= i ? i + 1 : i;
}

std::optional<Shape> Layout::stored(const Shape& shape) const {
  Shape made = stored(std::vector<Dim>(shape), Dim(1));
  if (!blocked) return made;
  const Dim& size = shape[*blocked];
  if (!size.is_const()) return std::nullopt;
  if (size.is_const(1)) return made;
  made[at(*blocked)] = Dim((size.value() + kLayoutLanes - 1) / kLayoutLanes);
  made.back() = Dim(kLayoutLanes);
  return made;
}

Layout Layout::with_one(size_t before) const {
  Layout made = *this;
  made.one = before;
  return made;
}

Layout plain_layout(size_t rank) {
  Layout layout;
  layout.order.resize(rank);
  std::iota(layout.order.begin(), layout.order.end(), 0);
  return layout;
}

Layout channels_last(size_t rank) {
  Layout layout = plain_layout(rank);
  if (rank > 2) std::rotate(layout.order.begin() + 1, layout.order.begin() + 2, layout.order.end());
  return layout;
}

Layout channels_blocked(size_t rank) {
  Layout layout = plain_layout(rank);
  layout.blocked = 1;
  return layout;
}

Relaid Relaid::same(const Relay& asked) {
  Relaid made;
  made.use = asked.use;
  for (size_t i = 0; i < asked.in.size(); ++i) made.inputs.push_back({.input = i, .layout = {}});
  made.inputs[asked.from].layout = asked.layout;
  made.out = asked.layout;
  return made;
}

Relaid Relaid::newest(const Relay& asked, const Op& op) {
  Relaid made;
  made.use.op = &op;
  made.use.opset = op.signatures().back().since;
  made.use.name = asked.use.name;
  made.use.wanted = asked.use.wanted;
  made.inputs.push_back({.input = 0, .layout = asked.layout});
  made.out = asked.layout;
  return made;
}

Operand Operand::of(std::span<const int64_t> values) {
  return {.layout = {}, .constant = Tensor::of<int64_t>({int64_t(values.size())}, values)};
}

namespace {

bool is_one(const Fact& fact) { return fact.has_rank() && product(*fact.shape).is_const(1); }

}  // namespace

std::optional<Relaid> relay_elements(const Relay& asked) {
  const Fact &x = asked.x(), &y = asked.out[0];
  if (!x.has_rank() || !y.has_rank() || !(*x.shape == *y.shape)) return std::nullopt;
  Relaid made = Relaid::same(asked);
  for (size_t i = 0; i < asked.in.size(); ++i) {
    const Fact& fact = asked.in[i];
    if (!fact.present() || i == asked.from || is_one(fact)) continue;
    if (!fact.has_rank() || fact.rank() > y.rank()) return std::nullopt;
    made.inputs[i].layout = asked.layout;
    const size_t missing = y.rank() - fact.rank();
    if (!asked.layout.blocked || *asked.layout.blocked < missing) continue;
    const Dim &size = fact.dim(*asked.layout.blocked - missing),
              &whole = y.dim(*asked.layout.blocked);
    if (!size.is_const(1) && !(size == whole)) return std::nullopt;
  }
  return made;
}

std::optional<Relaid> relay_first(const Relay& asked) {
  if (asked.from != 0) return std::nullopt;
  return Relaid::same(asked);
}

std::optional<Layout> as_blocks(const Layout& layout) {
  if (layout == channels_blocked(layout.rank())) return layout;
  if (layout.rank() > 2 && layout == channels_last(layout.rank())) return layout.with_one(1);
  return std::nullopt;
}

int64_t image_bytes(const Fact& fact) {
  constexpr int64_t kSomeSize = 32;
  int64_t count = 1;
  for (size_t i = 1; fact.has_rank() && i < fact.rank(); ++i)
    count *= fact.dim(i).is_const() ? fact.dim(i).value() : kSomeSize;
  return count * int64_t(std::max<size_t>(8, bits(fact.type))) / 8;
}

}  // namespace sdx
