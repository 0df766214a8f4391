// Expand and Tile.
#include "op/streaming.h"
#include "ops/tensor/ints.h"
#include "ops/tensor/strided_copy.h"
#include "ops/tensor/track.h"

namespace sdx::ops {
namespace {

struct Expand {};

constexpr Version kExpandHistory[] = {
    {8, "(input: T, shape: i64) -> (output: T) T in all"},
    {13, "T += bf16"},
};

Result<Expand> read_expand(const Node&, const Facts&) { return Expand{}; }

Status reference_expand(const Expand&, Args& args) {
  const View &x = args.in(0), &y = args.out();
  const SmallInts from = strides_of(x.dims), to = strides_of(y.dims);
  const size_t missing = y.rank() - x.rank();
  Loops loops;
  for (size_t i = 0; i < y.rank(); ++i) {
    const bool repeats = i < missing || x.dims[i - missing] == 1;
    loops.add(y.dims[i], repeats ? 0 : from[i - missing], to[i]);
  }
  strided_copy(loops, x.type, x.raw, 0, y.raw, 0, args.pool, args.isa);
  return ok();
}

Result<Facts> infer_expand(const Expand& a, const Facts& in) {
  const auto wanted = in[1].integers();
  if (!in[0].has_rank()) return Facts{Fact::tensor(in[0].type)};
  if (!wanted) {
    Fact out = unknown_dims(in[0].type, in[1]);
    if (out.has_rank() && out.rank() < in[0].rank())
      out.shape->resize(in[0].rank(), Dim::unknown());
    return Facts{std::move(out)};
  }
  SDX_TRY(no_negative(*wanted));
  SDX_ASSIGN(Shape shape, broadcast(*in[0].shape, *wanted));
  Facts out{Fact::tensor(in[0].type, std::move(shape))};
  track(a, reference_expand, 1, in, out);
  return out;
}

std::optional<size_t> alias_expand(const Expand&, const Call& call, size_t) {
  const auto before = element_count(call.in[0].dims()), after = element_count(call.out[0].dims());
  if (!before || !after || *before != *after) return std::nullopt;
  return 0;
}

std::vector<Case> cases_expand() {
  return {{.name = "keeps_sizes_that_the_shape_has_as_one",
           .opset = 8,
           .attrs = {},
           .inputs = {Tensor::of<int8_t>({2, 1}, {1, 2}), Tensor::of<int64_t>({3}, {2, 1, 2})},
           .expected = {Tensor::of<int8_t>({2, 2, 2}, {1, 1, 2, 2, 1, 1, 2, 2})}}};
}

// Along the streamed axis the shape asks for 1, which leaves the rows as they are.
Streaming stream_expand(const Expand&, const Streamed& s) {
  if (!s.flows(0)) return Streaming::refuse("its size depends on the length");
  Streaming how = Streaming::of(Streaming::Kind::rows);
  std::vector<int64_t> dims;
  for (const Dim& dim : *s.out[0].shape) dims.push_back(dim.is_const() ? dim.value() : 1);
  how.constants.emplace_back(
      1, Tensor::of<int64_t>({int64_t(dims.size())}, std::span<const int64_t>(dims)));
  return how;
}

constexpr OpOf<Expand> kExpand{
    .name = "Expand",
    .doc =
        "The input repeated along axes of size 1 until it has the broadcast of its shape and the "
        "given one.",
    .history = kExpandHistory,
    .read = read_expand,
    .infer = infer_expand,
    .reference = reference_expand,
    .cases = cases_expand,
    .by_equality = true,
    .alias = alias_expand,
    .stream = stream_expand,
};

struct Tile {
  bool one_axis;  // opset 1: a count and an axis, both scalars of the data's type
};

constexpr Version kTileHistory[] = {
    {1, "(input: T, tiles: T, axis: T) -> (output: T) T in floats T1 in i64"},
    {6, "(input: T, repeats: T1) T += ints uints bool c128 c64 string"},
    {13, "T += bf16"},
};

Result<Tile> read_tile(const Node& node, const Facts&) { return Tile{node.opset < 6}; }

Status reference_tile(const Tile&, Args& args) {
  const View &x = args.in(0), &y = args.out();
  const SmallInts from = strides_of(x.dims), to = strides_of(y.dims);
  if (y.count == 0) return ok();
  // All repetitions but those along the first repeated axis would be read again and again from x;
  // the loops that write in order cost no more and need no second pass.
  Loops loops;
  for (size_t i = 0; i < y.rank(); ++i) {
    loops.add(y.dims[i] / x.dims[i], 0, x.dims[i] * to[i]);
    loops.add(x.dims[i], from[i], to[i]);
  }
  strided_copy(loops, x.type, x.raw, 0, y.raw, 0, args.pool, args.isa);
  return ok();
}

Result<Facts> infer_tile(const Tile& a, const Facts& in) {
  if (!in[0].has_rank()) return Facts{Fact::tensor(in[0].type)};
  std::vector<Dim> repeats(in[0].rank(), 1);
  if (a.one_axis) {
    for (size_t i = 1; i < 3; ++i) {
      if (in[i].is_concrete() && !(product(*in[i].shape) == Dim(1)))
        return fail("SDX-T0216", "{} is {}; it must be one number", i == 1 ? "tiles" : "axis",
                    in[i].text());
    }
    if (!in[1].value || !in[2].value) return Facts{unknown_like(in[0])};
    const double axis = get_f64(in[2].type, in[2].value->raw(), 0);
    SDX_ASSIGN(const size_t at, resolve_axis(to_integer<int64_t>(axis), in[0].rank()));
    repeats[at] = to_integer<int64_t>(get_f64(in[1].type, in[1].value->raw(), 0));
  } else {
    const auto given_repeats = in[1].integers();
    if (!given_repeats) return Facts{unknown_like(in[0])};
    repeats = *given_repeats;
  }
  if (repeats.size() != in[0].rank()) {
    return fail("SDX-T0216", "repeats has {} elements for an input of rank {}", repeats.size(),
                in[0].rank());
  }
  Facts out{like(in[0])};
  for (size_t i = 0; i < repeats.size(); ++i) {
    if (repeats[i].is_const() && repeats[i].value() < 0) {
      return fail("SDX-T0216", "repeats {} has a negative number", to_string(repeats));
    }
    (*out[0].shape)[i] = in[0].dim(i) * repeats[i];
  }
  track(a, reference_tile, 1, in, out);
  return out;
}

std::vector<Case> cases_tile() {
  const Tensor x = Tensor::of<float>({2, 1}, {1, 2});
  const Tensor twice = Tensor::of<float>({2, 2}, {1, 1, 2, 2});
  return {{.name = "opset1_repeats_one_axis",
           .opset = 1,
           .attrs = {},
           .inputs = {x, Tensor::scalar<float>(2), Tensor::scalar<float>(1)},
           .expected = {twice}},
          {.name = "opset6_repeats_every_axis",
           .opset = 6,
           .attrs = {},
           .inputs = {x, Tensor::of<int64_t>({2}, {1, 2})},
           .expected = {twice}}};
}

constexpr OpOf<Tile> kChunk{
    .name = "Tile",
    .doc = "The input repeated along every axis.",
    .history = kTileHistory,
    .read = read_tile,
    .infer = infer_tile,
    .reference = reference_tile,
    .cases = cases_tile,
};

}  // namespace

extern const Op expand = erase<kExpand>();
extern const Op tile = erase<kChunk>();

}  // namespace sdx::ops
