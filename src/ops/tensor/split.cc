// Split.
#include "ops/tensor/split.h"

#include "op/layout.h"
#include "op/streaming.h"
#include "ops/tensor/columns.h"
#include "ops/tensor/ints.h"
#include "ops/tensor/strided_copy.h"
#include "ops/tensor/track.h"

namespace sdx::ops {
namespace {

constexpr Version kHistory[] = {
    {1, "(input: T, split?: T) -> (outputs......: T) {axis: int, split: ints} T in floats"},
    {2, "(input: T) -> (outputs...: T) {axis: int = 0} T += ints uints bool c128 c64 string"},
    {11, ""},  // axis may be negative
    {13, "(input: T, split?: i64) {-split} T += bf16"},
    {18, "{num_outputs: int}"},
};

Result<Split> read(const Node& node, const Facts& in) {
  Split a{node.i_or("axis", 0), node.wanted.size(), attr_ints(node, "split"), node.opset >= 18};
  const bool sized = given(a.sizes, in, 1);
  if (a.uneven && sized && node.has("num_outputs")) {
    return fail("SDX-T0212", "split and num_outputs cannot both be given");
  }
  if (node.has("num_outputs") && node.i("num_outputs") != int64_t(a.outputs)) {
    return fail("SDX-T0212", "num_outputs is {}, but the node has {} outputs",
                node.i("num_outputs"), a.outputs);
  }
  return a;
}

// Opset 1 takes the sizes as a tensor of floats.
MaybeInts sizes_of(const Split& a, const Facts& in) {
  if (!a.sizes && in.size() > 1 && in[1].present() && is_float(in[1].type) && in[1].value) {
    std::vector<int64_t> sizes;
    for (size_t i = 0; i < in[1].value->count(); ++i) {
      sizes.push_back(to_integer<int64_t>(get_f64(in[1].type, in[1].value->raw(), i)));
    }
    return sizes;
  }
  return known_ints(a.sizes, in, 1);
}

Status reference(const Split& a, Args& args) {
  const View& x = args.in(0);
  SDX_ASSIGN(const size_t axis, resolve_axis(a.axis, x.rank()));
  const AxisSplit whole = split_at(x.dims, axis);
  if (split_narrow(x, args.outs, whole.outer, args)) return ok();
  int64_t start = 0;
  for (size_t i = 0; i < args.outs.size(); ++i) {
    const View& y = args.out(i);
    int64_t size = 0;
    if (y.present()) {
      size = y.dims[axis];
    } else if (a.sizes || args.has(1)) {
      size = a.sizes ? (*a.sizes)[i]
                     : to_integer<int64_t>(get_f64(args.in(1).type, args.in(1).raw, i));
    } else {
      size = (int64_t(whole.size) + int64_t(a.outputs) - 1) / int64_t(a.outputs);
    }
    const int64_t row = size * int64_t(whole.inner);
    if (y.present()) {
      Loops loops;
      loops.add(int64_t(whole.outer), int64_t(whole.size * whole.inner), row);
      loops.add(row, 1, 1);
      strided_copy(loops, x.type, x.raw, start, y.raw, 0, args.pool, args.isa);
    }
    start += row;
  }
  return ok();
}

Result<std::vector<Dim>> part_sizes(const Split& a, const Facts& in, const Dim& whole) {
  const int64_t n = int64_t(a.outputs);
  if (given(a.sizes, in, 1)) {
    const MaybeInts sizes = sizes_of(a, in);
    if (!sizes) {
      const auto symbolic = in[1].integers();
      if (symbolic && symbolic->size() == a.outputs) return *symbolic;
      return std::vector<Dim>(a.outputs, Dim::unknown());
    }
    if (sizes->size() != a.outputs) {
      return fail("SDX-T0212", "{} sizes are given for {} outputs", sizes->size(), a.outputs);
    }
    int64_t sum = 0;
    for (const int64_t size : *sizes) {
      if (size < 0) return fail("SDX-T0212", "the sizes {} have a negative one", to_string(*sizes));
      if (__builtin_add_overflow(sum, size, &sum))
        return fail("SDX-T0212", "the sizes {} are too large", to_string(*sizes));
    }
    if (whole.is_const() && whole.value() != sum) {
      return fail("SDX-T0212", "the sizes {} add up to {}, the axis has {}", to_string(*sizes), sum,
                  whole.value());
    }
    return shape_of(*sizes);
  }
  if (n == 0) return fail("SDX-T0212", "there is no output");
  if (whole.is_const() && whole.value() % n != 0 && !a.uneven) {
    return fail("SDX-T0212", "an axis of {} cannot be split into {} equal parts", whole.value(), n);
  }
  const Dim part = a.uneven ? ceil_div(whole, n) : floor_div(whole, n);
  std::vector<Dim> parts(a.outputs, part);
  if (a.uneven) parts.back() = whole - part * Dim(n - 1);
  if (parts.back().is_const() && parts.back().value() < 0) {
    return fail("SDX-T0212", "an axis of {} cannot be split into {} parts of {}", whole.text(), n,
                part.text());
  }
  return parts;
}

Result<Facts> infer(const Split& a, const Facts& in) {
  if (!in[0].has_rank()) return Facts(a.outputs, Fact::tensor(in[0].type));
  SDX_ASSIGN(const size_t axis, resolve_axis(a.axis, in[0].rank()));
  SDX_ASSIGN(const std::vector<Dim> sizes, part_sizes(a, in, in[0].dim(axis)));
  Facts out;
  for (const Dim& size : sizes) {
    out.push_back(like(in[0]));
    (*out.back().shape)[axis] = size;
  }
  track(a, reference, 1, in, out);
  return out;
}

// Parts along the outermost axis that has more than one element lie one after the other.
std::optional<size_t> alias(const Split& a, const Call& call, size_t slot) {
  const Dims dims = call.in[0].dims();
  const auto axis = resolve_axis(a.axis, dims.size());
  if (!axis || is_packed(call.in[0].type) || call.in[0].type == DType::string) return std::nullopt;
  for (size_t i = 0; i < *axis; ++i) {
    if (dims[i] != 1) return std::nullopt;
  }
  int64_t before = 0;
  for (size_t i = 0; i < slot; ++i) {
    if (!call.out[i].is_concrete() || call.out[i].rank() != dims.size()) return std::nullopt;
    before += call.out[i].dim(*axis).value();
  }
  return size_t(before) * split_at(dims, *axis).inner * bits(call.in[0].type) / 8;
}

// An axis in blocks is cut between them.
std::optional<Relaid> layout(const Split& a, const Relay& asked) {
  const auto axis = resolve_axis(a.axis, asked.layout.rank());
  if (asked.from != 0 || !axis) return std::nullopt;
  std::vector<int64_t> sizes;
  for (const Fact& part : asked.out) {
    if (!part.has_rank() || !part.dim(*axis).is_const()) return std::nullopt;
    sizes.push_back(part.dim(*axis).value());
  }
  for (size_t i = 0; asked.layout.blocked == *axis && i < sizes.size(); ++i) {
    if (i + 1 < sizes.size() && sizes[i] % kLayoutLanes != 0) return std::nullopt;
    sizes[i] = (sizes[i] + kLayoutLanes - 1) / kLayoutLanes;
  }
  Relaid made = Relaid::newest(asked, *asked.use.op);
  made.use.attrs["axis"] = int64_t(asked.layout.at(*axis));
  made.inputs.push_back(Operand::of(sizes));
  return made;
}

std::vector<Case> cases() {
  const Tensor x = Tensor::of<float>({5}, {1, 2, 3, 4, 5});
  const Tensor two = Tensor::of<float>({2}, {1, 2}), three = Tensor::of<float>({3}, {3, 4, 5});
  return {{.name = "opset2_has_sizes_as_an_attribute",
           .opset = 2,
           .attrs = {{"split", std::vector<int64_t>{2, 3}}},
           .inputs = {x},
           .expected = {two, three},
           .outputs = 2},
          {.name = "opset1_takes_sizes_as_floats",
           .opset = 1,
           .attrs = {},
           .inputs = {x, Tensor::of<float>({2}, {2, 3})},
           .expected = {two, three},
           .outputs = 2},
          {.name = "channels_of_images",
           .opset = 18,
           .attrs = {{"axis", int64_t{1}}},
           .inputs = {Tensor::of<float>({1, 3, 1, 2}, {1, 2, 3, 4, 5, 6}),
                      Tensor::of<int64_t>({2}, {1, 2})},
           .expected = {Tensor::of<float>({1, 1, 1, 2}, {1, 2}),
                        Tensor::of<float>({1, 2, 1, 2}, {3, 4, 5, 6})},
           .outputs = 2},
          {.name = "the_last_part_may_be_smaller",
           .opset = 18,
           .attrs = {{"num_outputs", int64_t{3}}},
           .inputs = {x},
           .expected = {two, Tensor::of<float>({2}, {3, 4}), Tensor::of<float>({1}, {5})},
           .outputs = 3}};
}

Streaming stream(const Split& a, const Streamed& s) {
  const auto axis = resolve_axis(a.axis, s.in[0].rank());
  if (!axis || !s.only_first()) return Streaming::refuse("its parts' sizes move along the axis");
  if (*axis != *s.axes[0]) return Streaming::ask();
  Streaming how = Streaming::of(Streaming::Kind::slice);
  int64_t start = 0;
  for (size_t i = 0; i < a.outputs; ++i) {
    const Dim& size = s.out[i].dim(*axis);
    const bool last = i + 1 == a.outputs;
    if (!size.is_const() && !last)
      return Streaming::refuse("where it splits depends on the length");
    how.slices.push_back({start, 1, last ? INT64_MAX : start + size.value(), 0});
    if (!last) start += size.value();
  }
  if (s.out.back().dim(*axis).is_const())
    return Streaming::refuse("its parts have fixed sizes, the axis has not");
  return how;
}

constexpr OpOf<Split> kSplit{
    .name = "Split",
    .doc = "A tensor cut along an axis, into parts of the given sizes or of equal size.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .cases = cases,
    .alias = alias,
    .layout = layout,
    .stream = stream,
};

}  // namespace

extern const Op split = erase<kSplit>();

}  // namespace sdx::ops
