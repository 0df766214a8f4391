// Layout: how a tensor lies in memory, and what an operator answers when it is asked to run on
// tensors that lie otherwise.
//
// A rewrite that wants channels last, channels in blocks, or an image as a Transpose left it, asks
// each operator in its way: "one of your inputs lies like this; how would you run, and how does
// your output lie then?" The answer is a node on the stored tensors that gives the same bits.
#pragma once

#include <optional>
#include <vector>

#include "fact/fact.h"
#include "op/node.h"

namespace sdx {

inline constexpr int64_t kLayoutLanes = 16;

struct Layout {
  std::vector<size_t> order;      // stored axis i is this axis of the tensor
  std::optional<size_t> blocked;  // this axis is stored as blocks of kLayoutLanes; what is inside a
                                  // block is one more stored axis, the last
  std::optional<size_t> one;      // before this stored axis there is one of size 1

  bool operator==(const Layout&) const = default;
  size_t rank() const { return order.size(); }
  bool plain() const;
  // The stored axis of an axis; of a blocked one, that of its blocks.
  size_t at(size_t axis) const;
  // One value per stored axis, from one per axis; axes that only the layout has get `other`.
  template <class T>
  std::vector<T> stored(const std::vector<T>& by_axis, T other) const {
    std::vector<T> values;
    for (const size_t axis : order) values.push_back(by_axis[axis]);
    if (one) values.insert(values.begin() + long(*one), other);
    if (blocked) values.push_back(other);
    return values;
  }
  // The stored shape; none if the blocked axis has no known size.
  std::optional<Shape> stored(const Shape& shape) const;
  // The same tensor under `one` more stored axis.
  Layout with_one(size_t before) const;
};

Layout plain_layout(size_t rank);
// Axis 1 behind all others.
Layout channels_last(size_t rank);
// Axis 1 in blocks.
Layout channels_blocked(size_t rank);

// The question: input `from` lies as `layout`.
struct Relay {
  const Node& use;
  const Facts &in, &out;  // as they are without any layout
  size_t from;
  const Layout& layout;

  const Fact& x() const { return in[from]; }
  // Whether the layout only moves axes.
  bool moves_only() const { return !layout.blocked && !layout.one; }
};

// An input of the node that runs instead.
struct Operand {
  static constexpr size_t kConstant = SIZE_MAX;

  size_t input = kConstant;      // of the node that was asked; an absent one stays absent
  std::optional<Layout> layout;  // none: as it is. A higher rank puts axes of size 1 before its own
  bool plain_too = false;        // as it is will do as well
  std::optional<Tensor> constant = {};

  static Operand of(std::span<const int64_t> values);
};

// The answer.
struct Relaid {
  Node use;  // what runs; op is null if the output is input `from` as it lies
  std::vector<Operand> inputs;
  Layout out;  // of every output
  // What it is worth, in bytes that need not be moved; negative if the operator would rather
  // not.
  int64_t gain = 0;
  bool canonical_nan = false;  // equal only if every NaN of the input is the canonical one

  // The node as it stands, its inputs as they are but for `from`.
  static Relaid same(const Relay& asked);
  // The newest version of an operator, without attributes, on input 0.
  static Relaid newest(const Relay& asked, const Op& op);
};

// Families.

// Operators that treat each element by itself, their inputs broadcast as numpy does.
std::optional<Relaid> relay_elements(const Relay& asked);
// Input 0 element by element; the others are parameters that stay as they are.
std::optional<Relaid> relay_first(const Relay& asked);

// .layout = each_element<A>
template <class A>
std::optional<Relaid> each_element(const A&, const Relay& asked) {
  return relay_elements(asked);
}
template <class A>
std::optional<Relaid> each_element_of_first(const A&, const Relay& asked) {
  return relay_first(asked);
}

// Images as [batch, blocks, spatial..., lanes]: blocks as they are, channels last as one block.
std::optional<Layout> as_blocks(const Layout& layout);

// Bytes per image, an unknown size counted as 32.
int64_t image_bytes(const Fact& fact);

}  // namespace sdx
