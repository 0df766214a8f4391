// Concat.
#include "ops/tensor/concat.h"

#include <cstring>

#include "op/layout.h"
#include "op/streaming.h"
#include "ops/tensor/columns.h"
#include "ops/tensor/ints.h"
#include "ops/tensor/strided_copy.h"
#include "ops/tensor/track.h"

namespace sdx::ops {
namespace {

constexpr Version kHistory[] = {
    {1, "(inputs...: T) -> (concat_result: T) {axis: int} T in floats"},
    {4, "{axis!: int} T += ints uints bool c128 c64 string"},
    {11, ""},  // axis may be negative
    {13, "T += bf16"},
};

Result<Concat> read(const Node& node, const Facts&) { return Concat{node.i_or("axis", 1)}; }

// Whether the elements of x already lie in y, from element `start` on: the planner saw to it.
bool is_there(const View& x, const View& y, size_t start) {
  return x.type != DType::string && bits(x.type) >= 8 &&
         x.data<std::byte>() == y.data<std::byte>() + start * (bits(x.type) / 8);
}

// Too few bytes for several threads to share.
bool is_small(const View& x, size_t elements) {
  constexpr size_t kSmall = 1 << 15;
  return x.type != DType::string && bits(x.type) >= 8 && elements * bits(x.type) / 8 <= kSmall;
}

Status reference(const Concat& a, Args& args) {
  const View& y = args.out();
  SDX_ASSIGN(const size_t axis, resolve_axis(a.axis, y.rank()));
  const AxisSplit whole = split_at(y.dims, axis);
  if (join_narrow(args.ins, y, whole.outer, args)) return ok();
  int64_t start = 0;
  for (const View& x : args.ins) {
    const int64_t row = x.dims[axis] * int64_t(whole.inner);
    if (whole.outer == 1 && is_there(x, y, size_t(start))) {
      start += row;
      continue;
    }
    if (whole.outer == 1 && is_small(x, size_t(row))) {
      const size_t bytes = bits(x.type) / 8;
      if (row > 0)
        std::memcpy(y.data<std::byte>() + size_t(start) * bytes, x.raw, size_t(row) * bytes);
      start += row;
      continue;
    }
    Loops loops;
    loops.add(int64_t(whole.outer), row, int64_t(whole.size * whole.inner));
    loops.add(row, 1, 1);
    strided_copy(loops, x.type, x.raw, 0, y.raw, start, args.pool, args.isa);
    start += row;
  }
  return ok();
}

Result<Facts> infer(const Concat& a, const Facts& in) {
  const auto ranked =
      std::find_if(in.begin(), in.end(), [](const Fact& fact) { return fact.has_rank(); });
  if (ranked == in.end()) return Facts{Fact::tensor(in[0].type)};
  SDX_ASSIGN(const size_t axis, resolve_axis(a.axis, ranked->rank()));
  Shape shape = *ranked->shape;
  Dim total = 0;
  bool all_known = true;
  for (const Fact& fact : in) {
    if (!fact.has_rank()) {
      all_known = false;
      continue;
    }
    if (fact.rank() != shape.size()) {
      return fail("SDX-T0202", "inputs of ranks {} and {} cannot be joined: {} and {}",
                  shape.size(), fact.rank(), ranked->text(), fact.text());
    }
    total = total + fact.dim(axis);
    for (size_t i = 0; i < shape.size(); ++i) {
      if (i == axis || shape[i] == fact.dim(i) || !fact.dim(i).is_const()) continue;
      if (shape[i].is_const()) {
        return fail("SDX-T0202",
                    "inputs cannot be joined along axis {}: dimension {} is {} against {}", axis, i,
                    shape[i].value(), fact.dim(i).value());
      }
      shape[i] = fact.dim(i);
    }
  }
  shape[axis] = all_known ? total : Dim::unknown();
  Facts out{Fact::tensor(in[0].type, std::move(shape))};
  if (in.size() <= 32) track(a, reference, ~DataInputs{0}, in, out);
  return out;
}

// Along the first axis that is not 1 each input is a stretch of the result.
std::optional<size_t> joins(const Concat& a, const Call& call, size_t i) {
  const Dims dims = call.out[0].dims();
  const auto axis = resolve_axis(a.axis, dims.size());
  if (!axis || bits(call.out[0].type) < 8 ||
      std::any_of(dims.begin(), dims.begin() + std::ptrdiff_t(*axis),
                  [](int64_t size) { return size != 1; })) {
    return std::nullopt;
  }
  size_t elements = 0;
  for (size_t before = 0; before < i; ++before) elements += *element_count(call.in[before].dims());
  return bytes_for(call.out[0].type, elements);
}

// All inputs lie as one does. Blocks are joined if each input fills its own.
std::optional<Relaid> layout(const Concat& a, const Relay& asked) {
  const auto axis = resolve_axis(a.axis, asked.layout.rank());
  if (!axis) return std::nullopt;
  Relaid made = Relaid::same(asked);
  for (size_t i = 0; i < asked.in.size(); ++i) {
    const Fact& x = asked.in[i];
    if (!x.has_rank()) return std::nullopt;
    if (asked.layout.blocked == *axis &&
        (!x.dim(*axis).is_const() || x.dim(*axis).value() % kLayoutLanes != 0)) {
      return std::nullopt;
    }
    made.inputs[i].layout = asked.layout;
  }
  made.use.attrs["axis"] = int64_t(asked.layout.at(*axis));
  return made;
}

std::vector<Case> cases() {
  return {
      {.name = "opset1_joins_columns_by_default",
       .opset = 1,
       .attrs = {},
       .inputs = {Tensor::of<float>({2, 1}, {1, 2}), Tensor::of<float>({2, 2}, {3, 4, 5, 6})},
       .expected = {Tensor::of<float>({2, 3}, {1, 3, 4, 2, 5, 6})}},
      {.name = "two_columns_of_bytes",
       .opset = 13,
       .attrs = {{"axis", int64_t{-1}}},
       .inputs = {Tensor::of<uint8_t>({3, 1}, {1, 2, 3}), Tensor::of<uint8_t>({3, 1}, {4, 5, 6})},
       .expected = {Tensor::of<uint8_t>({3, 2}, {1, 4, 2, 5, 3, 6})}},
      {.name = "three_pairs_of_columns",
       .opset = 13,
       .attrs = {{"axis", int64_t{-1}}},
       .inputs = {Tensor::of<float>({2, 2}, {1, 2, 3, 4}), Tensor::of<float>({2, 2}, {5, 6, 7, 8}),
                  Tensor::of<float>({2, 2}, {9, 10, 11, 12})},
       .expected = {Tensor::of<float>({2, 6}, {1, 2, 5, 6, 9, 10, 3, 4, 7, 8, 11, 12})}},
      {.name = "of_strings",
       .opset = 13,
       .attrs = {{"axis", int64_t{-1}}},
       .inputs = {Tensor::of<std::string>({1}, {"a"}), Tensor::of<std::string>({0}, {}),
                  Tensor::of<std::string>({1}, {"b"})},
       .expected = {Tensor::of<std::string>({2}, {"a", "b"})}}};
}

Streaming stream(const Concat& a, const Streamed& s) {
  Streaming how = Streaming::of(Streaming::Kind::join);
  size_t flowing = 0;
  for (size_t i = 0; i < s.in.size(); ++i) {
    if (!s.flows(i)) continue;
    const auto axis = resolve_axis(a.axis, s.in[i].rank());
    if (!axis || *axis != *s.axes[i]) return Streaming::ask();
    how.input = i;
    ++flowing;
  }
  if (flowing > 1) return Streaming::refuse("it puts one stream behind the end of another");
  return how;
}

constexpr OpOf<Concat> kConcat{
    .name = "Concat",
    .doc = "Tensors joined along an axis.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .cases = cases,
    .by_equality = true,
    .joins = joins,
    .layout = layout,
    .stream = stream,
};

}  // namespace

extern const Op concat = erase<kConcat>();

}  // namespace sdx::ops
