// Cast, CastLike and BitCast.
#include <cmath>

#include "kernel/elementwise/loops.h"
#include "op/layout.h"
#include "ops/tensor/ints.h"
#include "ops/tensor/strided_copy.h"
#include "ops/tensor/text_number.h"
#include "ops/widened.h"

namespace sdx::ops {
namespace {

struct Cast {
  DType to;
  bool saturate = true;  // into f8 types: the largest value instead of infinity or NaN
  ScaleRounding rounding = ScaleRounding::up;  // into f8e8m0
};

constexpr Version kCastHistory[] = {
    {1, "(input: T1) -> (output: T2) {to!: string} T1 in num bool T2 in num bool"},
    {6, "{to!: int}"},
    {9, "T1 += string T2 += string"},
    {13, "T1 += bf16 T2 += bf16"},
    {19, "{saturate: int = 1} T1 += f8 T2 += f8"},
    {21, "T1 += i4 u4 T2 += i4 u4"},
    {23, "T1 += f4e2m1 T2 += f4e2m1"},
    {24, "{round_mode: string = \"up\"} T1 += f8e8m0 T2 += f8e8m0"},
    {25, "T1 += i2 u2 T2 += i2 u2"},
    {28, "T1 += f6e2m3 f6e3m2 T2 += f6e2m3 f6e3m2"},
};
constexpr Version kCastLikeHistory[] = {
    {15,
     "(input: T1, target_type: T2) -> (output: T2) T1 in num bf16 bool string T2 in num bf16 bool "
     "string"},
    {19, "{saturate: int = 1} T1 += f8 T2 += f8"},
    {21, "T1 += i4 u4 T2 += i4 u4"},
    {23, "T1 += f4e2m1 T2 += f4e2m1"},
    {24, "{round_mode: string = \"up\"} T1 += f8e8m0 T2 += f8e8m0"},
    {25, "T1 += i2 u2 T2 += i2 u2"},
};
constexpr Version kBitCastHistory[] = {
    {26,
     "(input: T1) -> (output: T2) {to!: int} T1 in num f8 bf16 bool c128 c64 f4e2m1 f8e8m0 i2 i4 "
     "u2 u4 "
     "T2 in num f8 bf16 bool c128 c64 f4e2m1 f8e8m0 i2 i4 u2 u4"},
};

Result<Cast> options(const Node& node, DType to) {
  Cast a{to, node.i_or("saturate", 1) != 0};
  if (!node.has("round_mode") || node.s("round_mode") == "up") return a;
  if (node.s("round_mode") == "down") {
    a.rounding = ScaleRounding::down;
  } else if (node.s("round_mode") == "nearest") {
    a.rounding = ScaleRounding::nearest;
  } else {
    return fail("SDX-T0217", "round_mode \"{}\" is not up, down or nearest", node.s("round_mode"));
  }
  return a;
}

Result<DType> target(const Node& node) {
  if (node.opset < 6) {
    // The name of a TensorProto data type: "FLOAT".
    std::string name = node.s("to");
    std::transform(name.begin(), name.end(), name.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
    const auto type = dtype_from_onnx(name);
    if (!type) return fail("SDX-T0217", "to names no element type: \"{}\"", node.s("to"));
    return *type;
  }
  if (!valid(node.i("to")))
    return fail("SDX-T0217", "to is {}, which is no element type", node.i("to"));
  return static_cast<DType>(node.i("to"));
}

Result<Cast> read_cast(const Node& node, const Facts&) {
  SDX_ASSIGN(const DType to, target(node));
  if (is_complex(to)) return fail("SDX-T0217", "a cast to {} is not defined", short_name(to));
  return options(node, to);
}
Result<Cast> read_cast_like(const Node& node, const Facts& in) { return options(node, in[1].type); }

// A magnitude of 2^53 or more as a double that rounds to any narrower type as the integer itself
// would: the bits that do not fit are kept as one sticky bit.
double sticky(uint64_t magnitude) {
  if (magnitude < (uint64_t{1} << 53)) return double(magnitude);
  return double((magnitude >> 11) | ((magnitude & 2047) != 0 ? 1 : 0)) * 2048.0;
}

// x, exact or sticky, as an element of a floating type.
void set_float(const Cast& a, void* to, size_t i, double x) {
  if (x != x) x = std::numeric_limits<double>::quiet_NaN();
  switch (a.to) {
    case DType::f32:
    case DType::f64:
      return set_f64(a.to, to, i, x);
    case DType::f8e8m0:
      // Without saturation what lies below the smallest value has no answer, zero included.
      if (!a.saturate && std::fabs(x) < 0x1p-127) return set_bits(a.to, to, i, 255);
      return set_bits(a.to, to, i, encode_e8m0(x, a.rounding, a.saturate));
    case DType::f16:
    case DType::bf16:
      return set_bits(a.to, to, i, encode_float(a.to, x));
    default:
      return set_bits(a.to, to, i, encode_float(a.to, x, a.saturate));
  }
}

// The nearest integer, the even one of two; the rounding mode is the IEEE default in every run.
double nearest_even(double x) {
  constexpr double kWhole = 0x1p52;  // from here on there are no fractions
  if (!(std::fabs(x) < kWhole)) return x;
  return x < 0 ? (x - kWhole) + kWhole : (x + kWhole) - kWhole;
}

// Integers of a byte or more are truncated and saturate. 2- and 4-bit ones take the low bits of the
// nearest integer, as ONNX's notes on these types say.
void set_integer(DType type, void* to, size_t i, double x) {
  const bool done =
      visit_integers(type, [&]<class T>() { static_cast<T*>(to)[i] = to_integer<T>(x); });
  if (!done) set_bits(type, to, i, uint64_t(to_integer<int64_t>(nearest_even(x))));
}

std::string text_of(DType type, const void* from, size_t i) {
  if (type == DType::boolean) return get_bits(type, from, i) != 0 ? "True" : "False";
  if (type == DType::f64) return number_text(static_cast<const double*>(from)[i]);
  if (is_float(type)) return number_text(float(get_f64(type, from, i)));
  return is_signed(type) ? std::to_string(get_i64(type, from, i))
                         : std::to_string(get_bits(type, from, i));
}

Status set_parsed(const Cast& a, void* to, size_t i, const std::string& text) {
  if (a.to == DType::boolean) {
    const auto is = [&](std::string_view word) {
      return std::equal(text.begin(), text.end(), word.begin(), word.end(),
                        [](char c, char w) { return (c | 32) == w; });
    };
    if (is("true") || is("false")) {
      set_bits(a.to, to, i, is("true"));
      return ok();
    }
    SDX_ASSIGN(const double x, parse_f64(text));
    set_bits(a.to, to, i, x != 0);
  } else if (a.to == DType::f32) {
    SDX_ASSIGN(static_cast<float*>(to)[i], parse_f32(text));
  } else if (is_float(a.to)) {
    SDX_ASSIGN(const double x, parse_f64(text));
    set_float(a, to, i, x);
  } else if (a.to == DType::u64) {
    SDX_ASSIGN(static_cast<uint64_t*>(to)[i], parse_u64(text));
  } else {
    SDX_ASSIGN(const int64_t x, parse_i64(text));
    set_bits(a.to, to, i, uint64_t(x));
  }
  return ok();
}

Status reference_cast(const Cast& a, Args& args) {
  const View &x = args.in(0), &y = args.out();
  clear_tail(y.type, y.raw, y.count);
  if (x.type == y.type) {
    flat_copy(x.type, x.raw, 0, y.raw, 0, x.count, args.pool, args.isa);
    return ok();
  }
  for (size_t i = 0; i < x.count; ++i) {
    if (x.type == DType::string) {
      SDX_TRY(set_parsed(a, y.raw, i, x.data<std::string>()[i]));
    } else if (y.type == DType::string) {
      y.data<std::string>()[i] = text_of(x.type, x.raw, i);
    } else if (is_float(x.type)) {
      const double value = get_f64(x.type, x.raw, i);
      if (y.type == DType::boolean) {
        set_bits(y.type, y.raw, i, value != 0);
      } else if (is_float(y.type)) {
        set_float(a, y.raw, i, value);
      } else {
        set_integer(y.type, y.raw, i, value);
      }
    } else {
      const int64_t value = get_i64(x.type, x.raw, i);
      const bool negative = is_signed(x.type) && value < 0;
      const uint64_t magnitude = negative ? 0 - uint64_t(value) : uint64_t(value);
      if (y.type == DType::boolean) {
        set_bits(y.type, y.raw, i, value != 0);
      } else if (y.type == DType::f64) {
        y.data<double>()[i] = negative ? double(value) : double(magnitude);
      } else if (is_float(y.type)) {
        set_float(a, y.raw, i, negative ? -sticky(magnitude) : sticky(magnitude));
      } else {
        set_bits(y.type, y.raw, i, uint64_t(value));
      }
    }
  }
  return ok();
}

Result<Facts> infer_cast(const Cast& a, const Facts& in) {
  Fact out = like(in[0], a.to);
  // Sizes fit in 48 bits, and shape arithmetic in 32-bit integers is meant not to wrap.
  const bool wide = a.to == DType::i64 || a.to == DType::i32;
  const bool whole = is_integer(in[0].type) || in[0].type == DType::boolean;
  if ((wide || a.to == DType::boolean) && whole && in[0].has_rank()) {
    auto values = in[0].integers();
    bool known = values && values->size() <= kMostTracked;
    for (size_t i = 0; known && i < values->size(); ++i) {
      Dim& dim = (*values)[i];
      if (a.to == DType::i32 && dim.is_const())
        dim = int64_t(int32_t(uint32_t(uint64_t(dim.value()))));
      if (a.to == DType::boolean && in[0].type != DType::boolean) {
        known = dim.is_const();
        dim = dim.is_const(0) ? 0 : 1;
      }
    }
    if (known) out.symbolic = std::move(values);
  }
  return Facts{std::move(out)};
}

std::optional<size_t> alias_cast(const Cast& a, const Call& call, size_t) {
  if (call.in[0].type != a.to) return std::nullopt;
  return 0;
}

template <class F>
bool visit_native(DType type, F&& f) {
  if (type == DType::boolean) return f.template operator()<bool>(), true;
  return visit_floats(type, f) || visit_integers(type, f);
}

template <class S, class D>
D convert(S x) {
  constexpr bool kFloatIn = std::is_floating_point_v<S>;
  if constexpr (std::is_same_v<D, bool>) {
    return x != 0;
  } else if constexpr (std::is_same_v<D, F16> || std::is_same_v<D, BF16>) {
    // Through float only where that is exact; otherwise one rounding from double.
    if constexpr (std::is_same_v<S, float> || sizeof(S) <= 2) return D::from(float(x));
    const double value = kFloatIn ? double(x)
                         : x < 0  ? -sticky(0 - uint64_t(x))
                                  : sticky(uint64_t(x));
    return D{uint16_t(encode_float(dtype_of<D>, value))};
  } else if constexpr (std::is_floating_point_v<D>) {
    const D value = D(x);
    return value == value ? value : std::numeric_limits<D>::quiet_NaN();
  } else if constexpr (kFloatIn) {
    return to_integer<D>(x);
  } else {
    return D(x);
  }
}

// Between the types of kernel/elementwise/numbers.h.
template <class T>
inline constexpr bool is_number = number_type(dtype_of<T>).has_value();

bool fits_numbers(const Cast& a, const Call& call) {
  return cast_loop(call.in[0].type, a.to, call.isa) != nullptr;
}

Status run_numbers(const Cast&, Args& args) {
  const View &x = args.in(0), &y = args.out();
  const MapLoop loop = cast_loop(x.type, y.type, args.isa);
  const size_t from = bytes_for(x.type, 1), to = bytes_for(y.type, 1);
  args.pool->parallel(x.count, 16384, [&](size_t begin, size_t end, int) {
    loop(x.data<std::byte>() + begin * from, y.data<std::byte>() + begin * to, end - begin);
  });
  return ok();
}

// Between the others of eight bits and more.
bool fits_native(const Cast& a, const Call& call) {
  const auto native = [](DType type) { return visit_native(type, []<class T>() {}); };
  return native(call.in[0].type) && native(a.to) && call.in[0].type != a.to &&
         !fits_numbers(a, call);
}

// Sixteen at a time, a number of steps that the compiler knows and makes vectors of.
template <class S, class D>
void convert_all(const S* __restrict from, D* __restrict to, size_t n) {
  using In = std::conditional_t<std::is_same_v<S, bool>, uint8_t, S>;
  const auto* in = reinterpret_cast<const In*>(from);
  const auto one = [](In x) {
    if constexpr (std::is_same_v<S, F16> || std::is_same_v<S, BF16>) {
      return convert<float, D>(float(x));
    } else if constexpr (std::is_same_v<S, bool>) {
      return convert<uint8_t, D>(x != 0);
    } else if constexpr (std::is_same_v<S, float> && std::is_integral_v<D> && sizeof(D) <= 2 &&
                         !std::is_same_v<D, bool>) {
      // The bounds are whole numbers of float, so they may come before the integer.
      constexpr float kLeast = std::numeric_limits<D>::min(), kMost = std::numeric_limits<D>::max();
      const float number = x == x ? x : 0.0f, low = number < kMost ? number : kMost;
      return D(int32_t(low > kLeast ? low : kLeast));
    } else {
      return convert<S, D>(x);
    }
  };
  // Integers of eight bytes become floats one by one on most machines.
  constexpr bool kOneByOne = std::is_integral_v<In> && sizeof(In) == 8 && !std::is_integral_v<D>;
  size_t i = 0;
  for (; !kOneByOne && i + 16 <= n; i += 16) {
    for (size_t j = 0; j < 16; ++j) to[i + j] = one(in[i + j]);
  }
  for (; i < n; ++i) to[i] = one(in[i]);
}

Status run_native(const Cast&, Args& args) {
  const View &x = args.in(0), &y = args.out();
  visit_native(x.type, [&]<class S>() {
    visit_native(y.type, [&]<class D>() {
      if constexpr (!std::is_same_v<S, D> && !(is_number<S> && is_number<D>)) {
        args.pool->parallel(x.count, 16384, [&](size_t begin, size_t end, int) {
          convert_all(x.data<S>() + begin, y.data<D>() + begin, end - begin);
        });
      }
    });
  });
  return ok();
}

// Between float and the 16-bit types, many elements at a time.
bool fits_halves(const Cast& a, const Call& call) {
  const DType from = call.in[0].type;
  return (from == DType::f32 && is_half(a.to)) || (is_half(from) && a.to == DType::f32);
}

Status run_halves(const Cast&, Args& args) {
  const View &x = args.in(0), &y = args.out();
  const auto narrow = narrowing(y.type, args.isa);
  const auto widen = widening(x.type, args.isa);
  args.pool->parallel(x.count, 16384, [&](size_t begin, size_t end, int) {
    const size_t n = end - begin;
    if (x.type == DType::f32) {
      narrow(x.data<float>() + begin, y.data<uint16_t>() + begin, n);
    } else {
      widen(x.data<uint16_t>() + begin, y.data<float>() + begin, n);
    }
  });
  return ok();
}

// Between the 16-bit types and the others of numbers.h: by way of float.
MapLoop beside_halves(DType from, DType to, Isa isa) {
  if (is_half(from)) return cast_loop(DType::f32, to, isa);
  return is_half(to) ? halfway_loop(from, isa) : nullptr;
}
bool fits_by_floats(const Cast& a, const Call& call) {
  return beside_halves(call.in[0].type, a.to, call.isa) != nullptr;
}

Status run_by_floats(const Cast&, Args& args) {
  const View &x = args.in(0), &y = args.out();
  const bool widens = is_half(x.type);
  const MapLoop loop = beside_halves(x.type, y.type, args.isa);
  const size_t bytes = bytes_for(widens ? y.type : x.type, 1);
  const auto widen = widening(x.type, args.isa);
  const auto narrow = narrowing(y.type, args.isa);
  args.pool->parallel(x.count, 16384, [&](size_t begin, size_t end, int) {
    alignas(kAlignment) float floats[1024];
    for (size_t i = begin; i < end; i += std::size(floats)) {
      const size_t n = std::min(std::size(floats), end - i);
      if (widens) {
        widen(x.data<uint16_t>() + i, floats, n);
        loop(floats, y.data<std::byte>() + i * bytes, n);
      } else {
        loop(x.data<std::byte>() + i * bytes, floats, n);
        narrow(floats, y.data<uint16_t>() + i, n);
      }
    }
  });
  return ok();
}

constexpr Kernel<Cast> kCastKernels[] = {{"halves", fits_halves, run_halves},
                                         {"by_floats", fits_by_floats, run_by_floats},
                                         {"numbers", fits_numbers, run_numbers},
                                         {"native", fits_native, run_native}};

// Bits of every kind of number: exponents from end to end, ties, and NaN with any payload.
template <class T>
Tensor patterns(DType type, uint64_t step, size_t count) {
  Tensor tensor = Tensor::make(type, {int64_t(count)});
  for (size_t i = 0; i < count; ++i) static_cast<T*>(tensor.raw())[i] = T(i * step);
  return tensor;
}
Case between(std::string name, DType to, Tensor x) {
  return {.name = std::move(name), .opset = 13, .attrs = {{"to", int64_t(to)}}, .inputs = {x}};
}

// Bits of packed elements, from the least significant on.
Tensor packed(DType type, Dims dims, std::initializer_list<int> values) {
  Tensor tensor = Tensor::make(type, std::move(dims));
  size_t i = 0;
  for (const int value : values) set_bits(type, tensor.raw(), i++, uint64_t(int64_t(value)));
  return tensor;
}

// Around what halves hold: a tie of two of them and its neighbours, and the ends of their ranges.
std::vector<Case> cases_of_near_ties() {
  std::vector<double> doubles;
  for (const double tie : {1 + 0x1p-11, 1 + 0x3p-11, 1 + 0x1p-8, 0x1p-25, 0x3p-25, 65520.0,
                           0x1p-134, 0x1.ffp127, 0x1p-150, 1e300, 2049.0, 0x1.01p40}) {
    for (const double beside : {0.0, tie * 2, -tie / 2})
      for (const double sign : {1.0, -1.0}) doubles.push_back(sign * std::nextafter(tie, beside));
    doubles.push_back(tie);
  }
  std::vector<int64_t> integers;
  for (int shift = 8; shift < 62; ++shift) {
    for (const int64_t odd : {-1, 0, 1})
      integers.push_back((int64_t{0x103} << shift) / 0x100 + odd),
          integers.push_back(-integers.back());
  }
  std::vector<Case> cases;
  for (const DType to : {DType::f16, DType::bf16}) {
    const std::string name(short_name(to));
    cases.push_back(between("doubles_near_ties_to_" + name, to,
                            Tensor::of<double>({int64_t(doubles.size())}, std::span(doubles))));
    cases.push_back(between("integers_near_ties_to_" + name, to,
                            Tensor::of<int64_t>({int64_t(integers.size())}, std::span(integers))));
  }
  return cases;
}

// Bits of every kind of number of each type of numbers.h, as each of the others.
std::vector<Case> cases_of_numbers() {
  constexpr DType kTypes[] = {DType::u8,  DType::i8,  DType::i32,     DType::i64, DType::f32,
                              DType::f64, DType::f16, DType::boolean, DType::bf16};
  std::vector<Case> cases;
  for (const DType from : kTypes) {
    const Tensor x = bytes_for(from, 1) == 8   ? patterns<uint64_t>(from, 0x0010008004002001, 4099)
                     : bytes_for(from, 1) == 4 ? patterns<uint32_t>(from, 0x100803, 4099)
                     : bytes_for(from, 1) == 2 ? patterns<uint16_t>(from, 15, 4370)
                                               : patterns<uint8_t>(from, 1, 259);
    for (const DType to : kTypes) {
      if (to == from) continue;
      cases.push_back(between(fmt::format("{}_as_{}", short_name(from), short_name(to)), to, x));
    }
  }
  return cases;
}

std::vector<Case> cases_cast() {
  std::vector<Case> cases = cases_of_numbers();
  for (Case& c : cases_of_near_ties()) cases.push_back(std::move(c));
  const std::vector<Case> others = {
      {.name = "opset1_names_the_type",
       .opset = 1,
       .attrs = {{"to", std::string("INT32")}},
       .inputs = {Tensor::of<float>({4},
                                    {-1.9f, 2.9f, 3e9f, std::numeric_limits<float>::quiet_NaN()})},
       .expected = {Tensor::of<int32_t>({4}, {-1, 2, 2147483647, 0})}},
      {.name = "integers_keep_their_low_bits",
       .opset = 13,
       .attrs = {{"to", int64_t{3}}},
       .inputs = {Tensor::of<int16_t>({2}, {200, -129})},
       .expected = {Tensor::of<int8_t>({2}, {-56, 127})}},
      {.name = "four_bits_take_the_nearest_integer",
       .opset = 21,
       .attrs = {{"to", int64_t(DType::i4)}},
       .inputs = {Tensor::of<float>({6}, {2.6f, -2.6f, 1.5f, 0.5f, -0.5f, 9.f})},
       .expected = {packed(DType::i4, {6}, {3, -3, 2, 0, 0, -7})}},
      {.name = "a_large_integer_is_rounded_once",
       .opset = 13,
       .attrs = {{"to", int64_t{1}}},
       .inputs = {Tensor::of<int64_t>({2}, {0x2000002000000001, -0x2000002000000001})},
       .expected = {Tensor::of<float>({2}, {0x1.000002p61f, -0x1.000002p61f})}},
      {.name = "numbers_become_shortest_text",
       .opset = 9,
       .attrs = {{"to", int64_t{8}}},
       .inputs = {Tensor::of<float>(
           {5}, {0.1f, -3, 1e-5f, 1e20f, std::numeric_limits<float>::infinity()})},
       .expected = {Tensor::of<std::string>({5}, {"0.1", "-3.0", "1e-05", "1e+20", "INF"})}},
      {.name = "text_becomes_numbers",
       .opset = 9,
       .attrs = {{"to", int64_t{7}}},
       .inputs = {Tensor::of<std::string>({3}, {"9007199254740993", " +12 ", "-1e2"})},
       .expected = {Tensor::of<int64_t>({3}, {9007199254740993, 12, -100})}},
      {.name = "text_of_booleans_becomes_numbers",
       .opset = 9,
       .attrs = {{"to", int64_t{3}}},
       .inputs = {Tensor::of<std::string>({2}, {"True", "False"})},
       .expected = {Tensor::of<int8_t>({2}, {1, 0})}},
      between("floats_to_i16", DType::i16, patterns<uint32_t>(DType::f32, 0x40801, 16270)),
      between("floats_to_u16", DType::u16, patterns<uint32_t>(DType::f32, 0x40801, 16270)),
      between("every_f16_widened", DType::f32, patterns<uint16_t>(DType::f16, 1, 65536)),
      between("every_bf16_widened", DType::f32, patterns<uint16_t>(DType::bf16, 1, 65536)),
      between("floats_to_f16", DType::f16, patterns<uint32_t>(DType::f32, 0x40801, 16270)),
      between("ties_to_f16", DType::f16, patterns<uint32_t>(DType::f32, 0x11000, 61681)),
      between("floats_to_bf16", DType::bf16, patterns<uint32_t>(DType::f32, 0x40801, 16270)),
      between("ties_to_bf16", DType::bf16, patterns<uint32_t>(DType::f32, 0x98000, 6898))};
  cases.insert(cases.end(), others.begin(), others.end());
  return cases;
}

constexpr OpOf<Cast> kCast{
    .name = "Cast",
    .doc = "Every element converted to another type.",
    .history = kCastHistory,
    .read = read_cast,
    .infer = infer_cast,
    .reference = reference_cast,
    .kernels = kCastKernels,
    .cases = cases_cast,
    .by_equality = true,
    .alias = alias_cast,
    .layout = each_element_of_first<Cast>,
};
constexpr OpOf<Cast> kCastLike{
    .name = "CastLike",
    .doc = "Every element converted to the type of another tensor.",
    .history = kCastLikeHistory,
    .read = read_cast_like,
    .infer = infer_cast,
    .reference = reference_cast,
    .kernels = kCastKernels,
    .alias = alias_cast,
    .layout = each_element_of_first<Cast>,
};

Result<Cast> read_bit_cast(const Node& node, const Facts& in) {
  SDX_ASSIGN(const DType to, target(node));
  if (to == DType::string || bits(to) != bits(in[0].type)) {
    return fail("SDX-T0218", "{} and {} elements differ in size", short_name(in[0].type),
                short_name(to));
  }
  return Cast{to};
}
Result<Facts> infer_bit_cast(const Cast& a, const Facts& in) { return Facts{like(in[0], a.to)}; }
Status reference_bit_cast(const Cast&, Args& args) {
  const View &x = args.in(0), &y = args.out();
  clear_tail(y.type, y.raw, y.count);
  flat_copy(x.type, x.raw, 0, y.raw, 0, x.count, args.pool, args.isa);
  return ok();
}
std::optional<size_t> alias_bit_cast(const Cast&, const Call&, size_t) { return 0; }
std::vector<Case> cases_bit_cast() {
  return {{.name = "shows_the_bits_of_a_float",
           .opset = 26,
           .attrs = {{"to", int64_t{12}}},
           .inputs = {Tensor::of<float>({2}, {1, -0.0f})},
           .expected = {Tensor::of<uint32_t>({2}, {0x3f800000, 0x80000000})}}};
}
constexpr OpOf<Cast> kBitCast{
    .name = "BitCast",
    .doc = "The same bits read as another type of the same size.",
    .history = kBitCastHistory,
    .read = read_bit_cast,
    .infer = infer_bit_cast,
    .reference = reference_bit_cast,
    .cases = cases_bit_cast,
    .alias = alias_bit_cast,
    .layout = each_element_of_first<Cast>,
};

}  // namespace

extern const Op bit_cast = erase<kBitCast>();
extern const Op cast = erase<kCast>();
extern const Op cast_like = erase<kCastLike>();

}  // namespace sdx::ops
