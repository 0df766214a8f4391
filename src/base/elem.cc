#include "base/elem.h"

#include <cmath>
#include <cstring>

#include "base/endian.h"

namespace sdx {
namespace {

enum class Specials { ieee, nan_all_ones, nan_negative_zero, none };

struct Format {
  int exponent_bits, mantissa_bits, bias;
  Specials specials;
};

Format format_of(DType t) {
  switch (t) {
    case DType::f16:
      return {5, 10, 15, Specials::ieee};
    case DType::bf16:
      return {8, 7, 127, Specials::ieee};
    case DType::f8e4m3fn:
      return {4, 3, 7, Specials::nan_all_ones};
    case DType::f8e4m3fnuz:
      return {4, 3, 8, Specials::nan_negative_zero};
    case DType::f8e5m2:
      return {5, 2, 15, Specials::ieee};
    case DType::f8e5m2fnuz:
      return {5, 2, 16, Specials::nan_negative_zero};
    case DType::f6e2m3:
      return {2, 3, 1, Specials::none};
    case DType::f6e3m2:
      return {3, 2, 3, Specials::none};
    default:
      return {2, 1, 1, Specials::none};  // f4e2m1
  }
}

constexpr float kNaN = std::bit_cast<float>(0x7fc00000u);

uint32_t max_magnitude(const Format& f) {
  const uint32_t all = (1u << (f.exponent_bits + f.mantissa_bits)) - 1;
  if (f.specials == Specials::ieee) return all - (1u << f.mantissa_bits);
  return f.specials == Specials::nan_all_ones ? all - 1 : all;
}

}  // namespace

float decode_float(DType t, uint32_t bits) {
  if (t == DType::f16) return f16_to_f32(static_cast<uint16_t>(bits));
  if (t == DType::bf16) return bf16_to_f32(static_cast<uint16_t>(bits));
  if (t == DType::f8e8m0) return bits == 255 ? kNaN : std::ldexp(1.0f, int(bits) - 127);
  const Format f = format_of(t);
  const int magnitude_bits = f.exponent_bits + f.mantissa_bits;
  const uint32_t magnitude = bits & ((1u << magnitude_bits) - 1);
  const bool negative = (bits >> magnitude_bits) & 1;
  if (f.specials == Specials::nan_negative_zero && negative && magnitude == 0) return kNaN;
  if (f.specials == Specials::nan_all_ones && magnitude == (1u << magnitude_bits) - 1) return kNaN;
  if (f.specials == Specials::ieee && magnitude > max_magnitude(f)) {
    if (magnitude != max_magnitude(f) + 1) return kNaN;
    return negative ? -INFINITY : INFINITY;
  }
  const int exponent = int(magnitude >> f.mantissa_bits);
  const uint32_t mantissa = magnitude & ((1u << f.mantissa_bits) - 1);
  const float value = exponent == 0 ? std::ldexp(float(mantissa), 1 - f.bias - f.mantissa_bits)
                                    : std::ldexp(float(mantissa | (1u << f.mantissa_bits)),
                                                 exponent - f.bias - f.mantissa_bits);
  return negative ? -value : value;
}

uint32_t encode_float(DType t, double x, bool saturate) {
  if (t == DType::f8e8m0) return encode_e8m0(x, ScaleRounding::nearest, saturate);
  const Format f = format_of(t);
  const int magnitude_bits = f.exponent_bits + f.mantissa_bits;
  const uint32_t sign = std::signbit(x) ? 1u << magnitude_bits : 0;
  const uint32_t max = max_magnitude(f);
  if (std::isnan(x)) {
    if (f.specials == Specials::none) return 0;
    if (f.specials == Specials::nan_negative_zero) return 1u << magnitude_bits;
    if (f.specials == Specials::nan_all_ones) return (1u << magnitude_bits) - 1;
    return (max + 1) | (1u << (f.mantissa_bits - 1));
  }
  const auto overflow = [&]() -> uint32_t {
    if (saturate || f.specials == Specials::none) return sign | max;
    if (f.specials == Specials::ieee) return sign | (max + 1);
    if (f.specials == Specials::nan_all_ones) return sign | ((1u << magnitude_bits) - 1);
    return 1u << magnitude_bits;
  };
  if (std::isinf(x)) return overflow();
  const double a = std::fabs(x);
  uint32_t magnitude = 0;
  if (a != 0) {
    const int exponent = std::max(std::ilogb(a), 1 - f.bias);
    if (exponent > f.bias + 2) return overflow();
    // a in units of the last place; at most mantissa_bits + 1 bits, so rounding to even is exact in
    // a double.
    const double units = std::nearbyint(std::ldexp(a, f.mantissa_bits - exponent));
    magnitude = uint32_t((exponent + f.bias - 1) << f.mantissa_bits) + uint32_t(units);
    if (magnitude > max) return overflow();
  }
  if (magnitude == 0 && f.specials == Specials::nan_negative_zero) return 0;
  return sign | magnitude;
}

uint32_t encode_e8m0(double x, ScaleRounding mode, bool saturate) {
  if (std::isnan(x)) return 255;
  const double a = std::fabs(x);
  if (std::isinf(a)) return saturate ? 254 : 255;
  if (a == 0) return 0;
  int exponent = std::ilogb(a);
  const double fraction = std::ldexp(a, -exponent);  // in [1, 2)
  if (mode == ScaleRounding::up ? fraction > 1
                                : mode == ScaleRounding::nearest && fraction >= 1.5) {
    ++exponent;
  }
  if (exponent > 127) return saturate ? 254 : 255;
  return exponent < -127 ? 0 : uint32_t(exponent + 127);
}

float f16_to_f32(uint16_t h) {
  const uint32_t sign = uint32_t(h & 0x8000) << 16;
  const uint32_t magnitude = h & 0x7fff;
  if (magnitude > 0x7c00) return kNaN;
  if (magnitude == 0x7c00) return std::bit_cast<float>(sign | 0x7f800000);
  if (magnitude >= 0x400) return std::bit_cast<float>(sign | ((magnitude << 13) + (112u << 23)));
  const float value = float(magnitude) * 0x1p-24f;  // subnormal: exact
  return std::bit_cast<float>(std::bit_cast<uint32_t>(value) | sign);
}

uint16_t f32_to_f16(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  const uint32_t sign = (bits >> 16) & 0x8000;
  const uint32_t a = bits & 0x7fffffff;
  if (a > 0x7f800000) return 0x7e00;
  if (a >= 0x477ff000) return static_cast<uint16_t>(sign | 0x7c00);  // rounds to 2^16 or beyond
  if (a < 0x38800000) {  // below 2^-14: adding 0.5 leaves the subnormal, rounded to even, in the
                         // low bits
    const float shifted = std::bit_cast<float>(a) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000));
  }
  const uint32_t rounded = a + 0xfff + ((a >> 13) & 1);
  return static_cast<uint16_t>(sign | ((rounded - (112u << 23)) >> 13));
}

uint16_t f32_to_bf16(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  if ((bits & 0x7fffffff) > 0x7f800000) return 0x7fc0;
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

// Where the least significant bytes of a number lie.
static std::byte* low_bytes(uint64_t& value, size_t count) {
  return reinterpret_cast<std::byte*>(&value) + (kMemoryIsLittle ? 0 : sizeof value - count);
}

uint64_t get_bits(DType t, const void* data, size_t i) {
  const size_t width = bits(t);
  const auto* bytes = static_cast<const uint8_t*>(data);
  if (width >= 8) {
    uint64_t value = 0;
    std::memcpy(low_bytes(value, width / 8), bytes + i * (width / 8), width / 8);
    return value;
  }
  const size_t bit = i * width;
  uint32_t two = bytes[bit / 8];
  if (bit % 8 + width > 8) two |= uint32_t(bytes[bit / 8 + 1]) << 8;
  return (two >> (bit % 8)) & ((1u << width) - 1);
}

void set_bits(DType t, void* data, size_t i, uint64_t value) {
  const size_t width = bits(t);
  auto* bytes = static_cast<uint8_t*>(data);
  if (width >= 8) {
    std::memcpy(bytes + i * (width / 8), low_bytes(value, width / 8), width / 8);
    return;
  }
  for (size_t k = 0; k < width; ++k) {
    const size_t bit = i * width + k;
    const auto mask = static_cast<uint8_t>(1u << (bit % 8));
    if ((value >> k) & 1) {
      bytes[bit / 8] |= mask;
    } else {
      bytes[bit / 8] &= static_cast<uint8_t>(~mask);
    }
  }
}

int64_t get_i64(DType t, const void* data, size_t i) {
  if (is_float(t)) return to_integer<int64_t>(get_f64(t, data, i));
  const uint64_t value = get_bits(t, data, i);
  if (t == DType::boolean) return value != 0;
  if (!is_signed(t)) return static_cast<int64_t>(value);
  const int unused = 64 - int(bits(t));
  return static_cast<int64_t>(value << unused) >> unused;
}

double get_f64(DType t, const void* data, size_t i) {
  if (t == DType::f32) return static_cast<const float*>(data)[i];
  if (t == DType::f64) return static_cast<const double*>(data)[i];
  if (is_float(t)) return decode_float(t, static_cast<uint32_t>(get_bits(t, data, i)));
  if (t == DType::u64) return double(static_cast<const uint64_t*>(data)[i]);
  return double(get_i64(t, data, i));
}

void set_f64(DType t, void* data, size_t i, double x) {
  if (t == DType::f32) {
    static_cast<float*>(data)[i] = float(x);
  } else if (t == DType::f64) {
    static_cast<double*>(data)[i] = x;
  } else if (is_float(t)) {
    set_bits(t, data, i, encode_float(t, x));
  } else if (t == DType::boolean) {
    set_bits(t, data, i, x != 0);
  } else if (t == DType::u64) {
    static_cast<uint64_t*>(data)[i] = to_integer<uint64_t>(x);
  } else {
    set_i64(t, data, i, to_integer<int64_t>(x));
  }
}

void set_i64(DType t, void* data, size_t i, int64_t x) {
  if (is_float(t)) {
    set_f64(t, data, i, double(x));
  } else {
    set_bits(t, data, i, t == DType::boolean ? uint64_t(x != 0) : static_cast<uint64_t>(x));
  }
}

}  // namespace sdx
