// Operators that give the same elements another shape: Identity, Reshape, Flatten, Squeeze and
// Unsqueeze.
#include "op/streaming.h"
#include "ops/tensor/ints.h"
#include "ops/tensor/reshape_layout.h"
#include "ops/tensor/strided_copy.h"

namespace sdx::ops {
namespace {

template <class A>
Status copy_all(const A&, Args& args) {
  clear_tail(args.out().type, args.out().raw, args.out().count);
  flat_copy(args.in(0).type, args.in(0).raw, 0, args.out().raw, 0, args.in(0).count, args.pool,
            args.isa);
  return ok();
}
template <class A>
std::optional<size_t> alias_all(const A&, const Call&, size_t) {
  return 0;
}
// An output of this shape whose elements are those of input 0.
template <class A>
Result<Facts> same_elements(const A&, const Facts& in, Shape shape) {
  Facts out{Fact::tensor(in[0].type, std::move(shape))};
  if (!in[0].is_concrete() || !out[0].is_concrete()) return out;
  auto elements = in[0].integers();
  if (elements && elements->size() <= kMostTracked &&
      product(*out[0].shape).is_const(int64_t(elements->size()))) {
    out[0].symbolic = std::move(elements);
  }
  return out;
}

template <class A>
std::optional<Relaid> reshaped(const A&, const Relay& asked) {
  return reshape_layout(asked);
}

struct Identity {};

constexpr Version kIdentityHistory[] = {
    {1, "(input: T) -> (output: T) T in all"},
    {13, "T += bf16"},
    {14, "(input: V) -> (output: V) V in all seq(all) bf16 -T"},
    {16, "V += optional(all) optional(seq(all))"},
    {19, "V += f8"},
    {21, "V += i4 u4"},
    {23, "V += f4e2m1"},
    {24, "V += f8e8m0"},
    {25, "V += i2 u2"},
};

Result<Identity> read_identity(const Node&, const Facts&) { return Identity{}; }
Result<Facts> infer_identity(const Identity&, const Facts& in) { return Facts{in[0]}; }
Status reference_identity(const Identity& a, Args& args) {
  if (args.in(0).present() && args.wants(0)) return copy_all(a, args);
  args.give(0, args.value(0));
  return ok();
}
std::optional<size_t> alias_identity(const Identity&, const Call& call, size_t) {
  if (!call.in[0].is_tensor()) return std::nullopt;
  return 0;
}
std::optional<Relaid> layout_identity(const Identity&, const Relay& asked) {
  Relaid made = Relaid::same(asked);
  made.use.op = nullptr;
  return made;
}
std::vector<Case> cases_identity() {
  const Tensor x = Tensor::of<std::string>({2}, {"a", ""});
  return {{.name = "of_strings", .opset = 1, .attrs = {}, .inputs = {x}, .expected = {x}}};
}
constexpr OpOf<Identity> kIdentity{
    .name = "Identity",
    .doc = "The input itself.",
    .history = kIdentityHistory,
    .read = read_identity,
    .infer = infer_identity,
    .reference = reference_identity,
    .cases = cases_identity,
    .by_equality = true,
    .alias = alias_identity,
    .layout = layout_identity,
};

struct Reshape {
  MaybeInts shape;  // otherwise input 1
  bool allow_zero = false;
};

constexpr Version kReshapeHistory[] = {
    {1, "(data: T) -> (reshaped: T) {consumed_inputs: ints, shape: ints} T in floats"},
    {5, "(data: T, shape: i64) {-consumed_inputs, -shape} T += ints uints bool c128 c64 string"},
    {13, "T += bf16"},
    {14, "{allowzero: int = 0}"},
    {19, "T += f8"},
    {21, "T += i4 u4"},
    {23, "T += f4e2m1"},
    {24, "T += f8e8m0"},
    {25, "T += i2 u2"},
};

Result<Reshape> read_reshape(const Node& node, const Facts&) {
  Reshape a;
  if (node.opset < 5) a.shape = node.ints_or_empty("shape");
  a.allow_zero = node.i_or("allowzero", 0) != 0;
  return a;
}

// The quotient of the two products, equal factors taken out first: only what is left can stay a
// division.
Dim quotient(Shape above, Shape below) {
  std::erase_if(below, [&](const Dim& dim) {
    const auto at = std::find(above.begin(), above.end(), dim);
    if (at == above.end()) return false;
    above.erase(at);
    return true;
  });
  return floor_div(product(above), product(below));
}

Result<Facts> infer_reshape(const Reshape& a, const Facts& in) {
  const auto wanted = known_dims(a.shape, in, 1);
  if (!wanted) return Facts{unknown_dims(in[0].type, in[1])};
  SDX_TRY(no_negative(*wanted, -1));
  Shape shape = *wanted;
  std::optional<size_t> hole;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i].is_const(-1)) {
      if (hole) return fail("SDX-T0207", "the shape {} has more than one -1", to_string(*wanted));
      hole = i;
    } else if (shape[i].is_const(0) && !a.allow_zero) {
      if (in[0].has_rank() && i >= in[0].rank()) {
        return fail("SDX-T0208", "the shape {} copies dimension {}, but the input {} has only {}",
                    to_string(*wanted), i, in[0].text(), in[0].rank());
      }
      shape[i] = in[0].has_rank() ? in[0].dim(i) : Dim::unknown();
    }
  }
  if (!in[0].has_rank()) {
    if (hole) shape[*hole] = Dim::unknown();
    return Facts{Fact::tensor(in[0].type, std::move(shape))};
  }
  if (hole) {
    Shape rest = shape;
    rest.erase(rest.begin() + long(*hole));
    const Dim below = product(rest), above = product(*in[0].shape);
    if (below.is_const(0)) {
      return fail("SDX-T0209",
                  "the -1 in the shape {} stands beside a dimension of 0: no size fits",
                  to_string(*wanted));
    }
    if (below.is_const() && above.is_const() && above.value() % below.value() != 0) {
      return fail("SDX-T0201", "{} elements ({}) cannot take the shape {}", above.value(),
                  in[0].text(), to_string(*wanted));
    }
    shape[*hole] = quotient(*in[0].shape, rest);
  }
  const Dim before = product(*in[0].shape), after = product(shape);
  if (before.is_const() && after.is_const() && !(before == after)) {
    return fail("SDX-T0201", "{} elements ({}) cannot take the shape {} of {}", before.value(),
                in[0].text(), to_string(*wanted), after.value());
  }
  return same_elements(a, in, std::move(shape));
}

std::vector<Case> cases_reshape() {
  const Tensor x = Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  return {{.name = "opset1_has_the_shape_as_an_attribute",
           .opset = 1,
           .attrs = {{"shape", std::vector<int64_t>{0, -1, 1}}},
           .inputs = {x},
           .expected = {x.reshaped({2, 3, 1})}},
          {.name = "allowzero_means_zero",
           .opset = 14,
           .attrs = {{"allowzero", int64_t{1}}},
           .inputs = {Tensor::of<float>({0, 3}, {}), Tensor::of<int64_t>({2}, {3, 0})},
           .expected = {Tensor::of<float>({3, 0}, {})}}};
}

// Rows stay, are put together k by k, or are taken apart, if all axes before keep their sizes.
// `target`: the input that holds the shape, if there is one.
Streaming stream_regrouped(const Streamed& s, std::optional<size_t> target) {
  if (!s.only_first()) return Streaming::refuse("its shape moves along the axis");
  const Fact &x = s.in[0], &y = s.out[0];
  const size_t along = *s.axes[0];
  std::optional<size_t> to;
  for (size_t i = 0; i < y.rank(); ++i) {
    if (y.dim(i).is_const()) continue;
    if (to) return Streaming::refuse("several sizes of its output depend on the length");
    to = i;
  }
  if (!to) return Streaming::refuse("its output has no axis that follows the stream");
  int64_t before = 1, before_out = 1, after = 1, after_out = 1;
  for (size_t i = 0; i < x.rank(); ++i) {
    if (i != along) (i < along ? before : after) *= x.dim(i).value();
  }
  for (size_t i = 0; i < y.rank(); ++i) {
    if (i != *to) (i < *to ? before_out : after_out) *= y.dim(i).value();
  }
  if (before != before_out || after == 0 || after_out == 0)
    return Streaming::refuse("it mixes the axis with the axes before it");
  Streaming how = Streaming::of(Streaming::Kind::rows);
  if (after_out != after && after_out % after == 0) {
    how.kind = Streaming::Kind::window;
    how.reach = {after_out / after, 1, 0, after_out / after - 1};
  } else if (after_out != after && after % after_out == 0) {
    how.kind = Streaming::Kind::spread;
    how.reach = {1, after / after_out, 0, 0};
  } else if (after_out != after) {
    return Streaming::refuse("a row of its output is no whole number of rows");
  }
  std::vector<int64_t> dims;
  for (size_t i = 0; i < y.rank(); ++i) dims.push_back(i == *to ? -1 : y.dim(i).value());
  if (target) {
    how.constants.emplace_back(
        *target, Tensor::of<int64_t>({int64_t(dims.size())}, std::span<const int64_t>(dims)));
  } else if (s.use.has("shape")) {
    how.attrs.emplace("shape", dims);
  }
  return how;
}
Streaming stream_reshape(const Reshape& a, const Streamed& s) {
  return stream_regrouped(s, a.shape ? std::nullopt : std::optional<size_t>(1));
}

constexpr OpOf<Reshape> kReshape{
    .name = "Reshape",
    .doc =
        "The same elements under another shape; -1 is the size that is left, 0 copies the input's.",
    .history = kReshapeHistory,
    .read = read_reshape,
    .infer = infer_reshape,
    .reference = copy_all<Reshape>,
    .cases = cases_reshape,
    .alias = alias_all<Reshape>,
    .layout = reshaped<Reshape>,
    .stream = stream_reshape,
};

struct Flatten {
  int64_t axis;
};

constexpr Version kFlattenHistory[] = {
    {1, "(input: T) -> (output: T) {axis: int = 1} T in floats"},
    {9, "T += ints uints bool c128 c64 string"},
    {11, ""},  // axis may be negative
    {13, "T += bf16"},
    {21, "T += f8 i4 u4"},
    {23, "T += f4e2m1"},
    {24, "T += f8e8m0"},
    {25, "T += i2 u2"},
};

Result<Flatten> read_flatten(const Node& node, const Facts&) { return Flatten{node.i("axis")}; }

Result<Facts> infer_flatten(const Flatten& a, const Facts& in) {
  if (!in[0].has_rank()) return Facts{Fact::tensor(in[0].type, {Dim::unknown(), Dim::unknown()})};
  const int64_t rank = int64_t(in[0].rank());
  if (a.axis < -rank || a.axis > rank) {
    return fail("SDX-T0110", "axis {} is not in [{}, {}]", a.axis, -rank, rank);
  }
  const std::span<const Dim> dims(*in[0].shape);
  const size_t axis = size_t(a.axis < 0 ? a.axis + rank : a.axis);
  return same_elements(a, in, {product(dims.first(axis)), product(dims.subspan(axis))});
}

std::vector<Case> cases_flatten() {
  const Tensor x = Tensor::of<float>({2, 1, 3}, {1, 2, 3, 4, 5, 6});
  return {{.name = "ones_behind_the_columns_go",
           .opset = 9,
           .attrs = {},
           .inputs = {Tensor::of<float>({2, 3, 1}, {1, 2, 3, 4, 5, 6})},
           .expected = {Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6})}},
          {.name = "at_the_last_axis_gives_one_column",
           .opset = 9,
           .attrs = {{"axis", int64_t{3}}},
           .inputs = {x},
           .expected = {x.reshaped({6, 1})}}};
}

Streaming stream_flatten(const Flatten&, const Streamed& s) {
  return stream_regrouped(s, std::nullopt);
}

constexpr OpOf<Flatten> kFlatten{
    .name = "Flatten",
    .doc = "A matrix: the axes before `axis` are the rows, the others the columns.",
    .history = kFlattenHistory,
    .read = read_flatten,
    .infer = infer_flatten,
    .reference = copy_all<Flatten>,
    .cases = cases_flatten,
    .alias = alias_all<Flatten>,
    .layout = reshaped<Flatten>,
    .stream = stream_flatten,
};

struct Axes {
  MaybeInts axes;  // otherwise input 1
};

constexpr Version kUnsqueezeHistory[] = {
    {1, "(data: T) -> (expanded: T) {axes!: ints} T in all"},
    {11, ""},  // axes may be negative
    {13, "(data: T, axes: i64) {-axes} T += bf16"},
    {21, "T += f8 i4 u4"},
    {23, "T += f4e2m1"},
    {24, "T += f8e8m0"},
    {25, "T += i2 u2"},
};
constexpr Version kSqueezeHistory[] = {
    {1, "(data: T) -> (squeezed: T) {axes: ints} T in all"},
    {11, ""},  // axes may be negative
    {13, "(data: T, axes?: i64) {-axes} T += bf16"},
    {21, "T += f8 i4 u4"},
    {23, "T += f4e2m1"},
    {24, "T += f8e8m0"},
    {25, "T += i2 u2"},
};

Result<Axes> read_axes(const Node& node, const Facts&) { return Axes{attr_ints(node, "axes")}; }

Result<Facts> infer_unsqueeze(const Axes& a, const Facts& in) {
  const auto axes = known_ints(a.axes, in, 1);
  if (!in[0].has_rank()) return Facts{Fact::tensor(in[0].type)};
  if (!axes) {
    Fact out = unknown_dims(in[0].type, in[1]);
    if (out.has_rank()) out.shape->resize(out.rank() + in[0].rank(), Dim::unknown());
    return Facts{std::move(out)};
  }
  SDX_ASSIGN(const SmallInts ones, resolve_axes(*axes, in[0].rank() + axes->size()));
  Shape shape;
  for (size_t i = 0, next = 0; i < in[0].rank() + axes->size(); ++i) {
    const bool one = std::find(ones.begin(), ones.end(), int64_t(i)) != ones.end();
    shape.push_back(one ? Dim(1) : in[0].dim(next++));
  }
  return same_elements(a, in, std::move(shape));
}

Result<Facts> infer_squeeze(const Axes& a, const Facts& in) {
  if (!in[0].has_rank()) return Facts{Fact::tensor(in[0].type)};
  SmallInts gone;
  if (given(a.axes, in, 1)) {
    const auto axes = known_ints(a.axes, in, 1);
    if (!axes) {
      const Fact& list = in[1];
      if (!list.is_concrete() || list.rank() != 1 || list.dim(0).value() > int64_t(in[0].rank())) {
        return Facts{Fact::tensor(in[0].type)};
      }
      return Facts{Fact::tensor(in[0].type,
                                Shape(in[0].rank() - size_t(list.dim(0).value()), Dim::unknown()))};
    }
    SDX_ASSIGN(gone, resolve_axes(*axes, in[0].rank()));
    for (const int64_t axis : gone) {
      const Dim& dim = in[0].dim(size_t(axis));
      if (dim.is_const() && dim.value() != 1) {
        return fail("SDX-T0210", "axis {} of {} cannot be squeezed: its size is {}, not 1", axis,
                    in[0].text(), dim.value());
      }
    }
  } else {
    for (size_t i = 0; i < in[0].rank(); ++i) {
      // Whether a symbolic size is 1 only a binding tells, and with it the rank.
      if (!in[0].dim(i).is_const()) return Facts{Fact::tensor(in[0].type)};
      if (in[0].dim(i).is_const(1)) gone.push_back(int64_t(i));
    }
  }
  Shape shape;
  for (size_t i = 0; i < in[0].rank(); ++i) {
    if (std::find(gone.begin(), gone.end(), int64_t(i)) == gone.end())
      shape.push_back(in[0].dim(i));
  }
  return same_elements(a, in, std::move(shape));
}

std::vector<Case> cases_unsqueeze() {
  const Tensor x = Tensor::of<int8_t>({2}, {1, 2});
  return {{.name = "opset1_axes_are_an_attribute",
           .opset = 1,
           .attrs = {{"axes", std::vector<int64_t>{2, 0}}},
           .inputs = {x},
           .expected = {x.reshaped({1, 2, 1})}},
          {.name = "opset13_axes_are_an_input",
           .opset = 13,
           .attrs = {},
           .inputs = {x, Tensor::of<int64_t>({1}, {-1})},
           .expected = {x.reshaped({2, 1})}}};
}
std::vector<Case> cases_squeeze() {
  const Tensor x = Tensor::of<int8_t>({1, 2, 1}, {1, 2});
  return {{.name = "opset1_axes_are_an_attribute",
           .opset = 1,
           .attrs = {{"axes", std::vector<int64_t>{0}}},
           .inputs = {x},
           .expected = {x.reshaped({2, 1})}},
          {.name = "without_axes_drops_all_ones",
           .opset = 13,
           .attrs = {},
           .inputs = {x},
           .expected = {x.reshaped({2})}}};
}

constexpr OpOf<Axes> kUnsqueeze{
    .name = "Unsqueeze",
    .doc = "The same elements with axes of size 1 put in.",
    .history = kUnsqueezeHistory,
    .read = read_axes,
    .infer = infer_unsqueeze,
    .reference = copy_all<Axes>,
    .cases = cases_unsqueeze,
    .by_equality = true,
    .alias = alias_all<Axes>,
    .layout = reshaped<Axes>,
};
constexpr OpOf<Axes> kSqueeze{
    .name = "Squeeze",
    .doc = "The same elements without the given axes, or without all axes of size 1.",
    .history = kSqueezeHistory,
    .read = read_axes,
    .infer = infer_squeeze,
    .reference = copy_all<Axes>,
    .cases = cases_squeeze,
    .by_equality = true,
    .alias = alias_all<Axes>,
    .layout = reshaped<Axes>,
};

}  // namespace

extern const Op flatten = erase<kFlatten>();
extern const Op identity = erase<kIdentity>();
extern const Op reshape = erase<kReshape>();
extern const Op squeeze = erase<kSqueeze>();
extern const Op unsqueeze = erase<kUnsqueeze>();

}  // namespace sdx::ops
