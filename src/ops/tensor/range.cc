// Range.
#include <cmath>

#include "ops/tensor/ints.h"

namespace sdx::ops {
namespace {

struct Range {
  bool in_double = false;  // stash_type 11: f16 and bf16 are computed in double
};

constexpr Version kHistory[] = {
    {11, "(start: T, limit: T, delta: T) -> (output: T) T in f32 f64 i16 i32 i64"},
    {27, "{stash_type: int = 1} T += bf16 f16"},
};

Result<Range> read(const Node& node, const Facts&) {
  const int64_t stash = node.i_or("stash_type", 1);
  if (stash != 1 && stash != 11)
    return fail("SDX-T0224", "stash_type is {}, not 1 (float) or 11 (double)", stash);
  return Range{stash == 11};
}

// ceil((limit - start) / delta), not below 0: exact for integers, in double for floating types.
Result<int64_t> count_of(DType type, const void* start, const void* limit, const void* delta) {
  if (is_integer(type)) {
    const int64_t step = get_i64(type, delta, 0);
    if (step == 0) return fail("SDX-T0224", "delta is 0");
    const int64_t from = get_i64(type, start, 0), to = get_i64(type, limit, 0);
    if (step > 0 ? to <= from : to >= from) return int64_t{0};
    // Distances are exact as unsigned numbers even where the signed difference overflows.
    const uint64_t distance =
        step > 0 ? uint64_t(to) - uint64_t(from) : uint64_t(from) - uint64_t(to);
    const uint64_t stride = step > 0 ? uint64_t(step) : 0 - uint64_t(step);
    return int64_t(std::min<uint64_t>((distance - 1) / stride + 1, uint64_t{1} << 62));
  }
  const double step = get_f64(type, delta, 0);
  const double count = std::ceil((get_f64(type, limit, 0) - get_f64(type, start, 0)) / step);
  if (step == 0 || count != count)
    return fail("SDX-T0224", "a range with steps of {} has no length", step);
  return to_integer<int64_t>(std::clamp(count, 0.0, 0x1p62));
}

Result<Facts> infer(const Range&, const Facts& in) {
  Fact out = Fact::tensor(in[0].type, {Dim::unknown()});
  for (const Fact& fact : in) {
    if (fact.is_concrete() && !(product(*fact.shape) == Dim(1))) {
      return fail("SDX-T0224", "start, limit and delta must be scalars, not {}", fact.text());
    }
  }
  if (in[0].value && in[1].value && in[2].value) {
    SDX_ASSIGN((*out.shape)[0],
               count_of(in[0].type, in[0].value->raw(), in[1].value->raw(), in[2].value->raw()));
    const Dims dims = out.dims();
    SDX_TRY(element_count(dims));
    // Of known numbers the elements are folded where they are few; differences of sizes, as below,
    // could overflow.
    return Facts{std::move(out)};
  }
  const auto start = in[0].integers(), limit = in[1].integers(), delta = in[2].integers();
  if (!start || !limit || !delta || !(*delta)[0].is_const() || !is_integer(in[0].type))
    return Facts{std::move(out)};
  const int64_t step = (*delta)[0].value();
  if (step == 0) return fail("SDX-T0224", "delta is 0");
  const Dim distance = step > 0 ? (*limit)[0] - (*start)[0] : (*start)[0] - (*limit)[0];
  const Dim n = ceil_div(distance, step > 0 ? step : -step);
  (*out.shape)[0] = surely_not_negative(distance) ? n : max(n, 0);
  const Dim& size = (*out.shape)[0];
  if (size.is_const() && size.value() <= int64_t(kMostTracked)) {
    out.symbolic.emplace();
    for (int64_t i = 0; i < size.value(); ++i)
      out.symbolic->push_back((*start)[0] + Dim(i) * (*delta)[0]);
  }
  return Facts{std::move(out)};
}

// y[i] = start + i * delta, the product and the sum each rounded.
Status reference(const Range& a, Args& args) {
  const View &start = args.in(0), &delta = args.in(2);
  const View& y = args.out();
  visit_integers(y.type, [&]<class T>() {
    for (size_t i = 0; i < y.count; ++i) {
      y.data<T>()[i] = T(uint64_t(*start.data<T>()) + i * uint64_t(*delta.data<T>()));
    }
  });
  visit_floats(y.type, [&]<class T>() {
    if (a.in_double && sizeof(T) == 2) {
      for (size_t i = 0; i < y.count; ++i) {
        set_f64(y.type, y.raw, i,
                get_f64(y.type, start.raw, 0) + double(i) * get_f64(y.type, delta.raw, 0));
      }
      return;
    }
    using C = Compute<T>;
    for (size_t i = 0; i < y.count; ++i) {
      y.data<T>()[i] = store<T>(load(*start.data<T>()) + C(i) * load(*delta.data<T>()));
    }
  });
  return ok();
}

std::vector<Case> cases() {
  return {
      {.name = "counts_down",
       .opset = 11,
       .attrs = {},
       .inputs = {Tensor::scalar<int16_t>(10), Tensor::scalar<int16_t>(4),
                  Tensor::scalar<int16_t>(-4)},
       .expected = {Tensor::of<int16_t>({2}, {10, 6})}},
      {.name = "over_all_integers",
       .opset = 11,
       .attrs = {},
       .inputs = {Tensor::scalar<int64_t>(std::numeric_limits<int64_t>::min()),
                  Tensor::scalar<int64_t>(std::numeric_limits<int64_t>::max()),
                  Tensor::scalar<int64_t>(int64_t{1} << 62)},
       .expected = {Tensor::of<int64_t>(
           {4}, {std::numeric_limits<int64_t>::min(), -(int64_t{1} << 62), 0, int64_t{1} << 62})}},
      {.name = "is_empty_in_the_wrong_direction",
       .opset = 11,
       .attrs = {},
       .inputs = {Tensor::scalar<double>(1), Tensor::scalar<double>(0), Tensor::scalar<double>(1)},
       .expected = {Tensor::of<double>({0}, {})}}};
}

constexpr OpOf<Range> kRange{
    .name = "Range",
    .doc = "Numbers from `start` in steps of `delta`, up to but without `limit`.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .cases = cases,
    .by_equality = true,
};

}  // namespace

extern const Op range = erase<kRange>();

}  // namespace sdx::ops
