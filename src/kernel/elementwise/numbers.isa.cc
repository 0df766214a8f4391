#include "kernel/elementwise/numbers.h"

#include "kernel/math/doubles.h"
#include "kernel/simd/apart.h"
#include "kernel/simd/bytes.h"

namespace sdx::SDX_ISA {
namespace {

struct Boolean {};  // in memory a byte, of which any but 0 is true

template <class T>
struct Memory {
  using type = T;
};
template <>
struct Memory<Boolean> {
  using type = uint8_t;
};

template <class T>
inline constexpr bool kFloat = T(0.5) != T(0);
template <class T>
inline constexpr bool kSigned = T(-1) < T(0);

// As wide as T, or an int, and wrapping.
template <size_t kBytes>
struct Wrapping {
  using type = uint32_t;
};
template <>
struct Wrapping<8> {
  using type = uint64_t;
};

// As bits, for a choice between numbers would put what made x behind a branch.
template <class T>
T canonical_number(T x) {
  using U = typename Wrapping<sizeof(T)>::type;
  const U keep = U(0) - U(x == x);
  const U nan = __builtin_bit_cast(U, T(__builtin_nan("")));
  return __builtin_bit_cast(T, U((__builtin_bit_cast(U, x) & keep) | (nan & ~keep)));
}
template <class T, class F>
T arithmetic(T a, T b, F f) {
  if constexpr (kFloat<T>) {
    return canonical_number(f(a, b));
  } else {
    using U = typename Wrapping<sizeof(T)>::type;
    return T(f(U(a), U(b)));
  }
}

// The greater or lesser of two doubles; NaN if either is. Equal ones differ in the sign of a zero
// at most, which a conjunction clears and a disjunction sets.
template <bool kGreater>
double chosen(double a, double b) {
  const auto x = __builtin_bit_cast(uint64_t, a), y = __builtin_bit_cast(uint64_t, b);
  const uint64_t first = 0 - uint64_t(kGreater ? a > b : a < b), equal = 0 - uint64_t(a == b);
  const uint64_t number = 0 - uint64_t(a == a);
  const uint64_t both = kGreater ? x & y : x | y, one = (x & first) | (y & ~first);
  const uint64_t made = (both & equal) | (one & ~equal);
  return canonical_number(__builtin_bit_cast(double, (made & number) | (x & ~number)));
}

// The operations; each says which types it has.
struct Numbers {
  template <class T>
  static constexpr bool kHas = sizeof(T) == 8 || !kFloat<T>;
};
struct Integers {
  template <class T>
  static constexpr bool kHas = !kFloat<T>;
};
struct Doubles {
  template <class T>
  static constexpr bool kHas = sizeof(T) == 8 && kFloat<T>;
};
struct All {
  template <class T>
  static constexpr bool kHas = true;
};

struct Add : Numbers {
  template <class T>
  static T apply(T a, T b) {
    return arithmetic(a, b, [](auto x, auto y) { return x + y; });
  }
};
struct Sub : Numbers {
  template <class T>
  static T apply(T a, T b) {
    return arithmetic(a, b, [](auto x, auto y) { return x - y; });
  }
};
struct Mul : Numbers {
  template <class T>
  static T apply(T a, T b) {
    return arithmetic(a, b, [](auto x, auto y) { return x * y; });
  }
};
// By doubles, of which there are vectors: a quotient that is no integer lies further from the next
// one than 2^-31 of itself, so rounding does not reach it. Over -1 the sign turns, which wraps for
// the least integer. Choices are sums and masks: a division is never put behind a branch then.
struct Div {
  template <class T>
  static constexpr bool kHas = sizeof(T) == 4 && !kFloat<T>;
  static int32_t apply(int32_t a, int32_t b) {
    const bool zero = b == 0, negates = b == -1;
    const int32_t divisor = b + int32_t(zero) + 2 * int32_t(negates);
    const auto quotient = uint32_t(int32_t(double(a) / double(divisor)));
    const uint32_t flip = 0 - uint32_t(negates), keep = uint32_t(zero) - 1;
    return int32_t(((quotient ^ flip) - flip) & keep);
  }
};
struct Min : Numbers {
  template <class T>
  static T apply(T a, T b) {
    if constexpr (kFloat<T>) return chosen<false>(a, b);
    return a < b ? a : b;
  }
};
struct Max : Numbers {
  template <class T>
  static T apply(T a, T b) {
    if constexpr (kFloat<T>) return chosen<true>(a, b);
    return a > b ? a : b;
  }
};
struct Equal : All {
  template <class T>
  static bool apply(T a, T b) {
    return a == b;
  }
};
struct Less : All {
  template <class T>
  static bool apply(T a, T b) {
    return a < b;
  }
};
struct LessOrEqual : All {
  template <class T>
  static bool apply(T a, T b) {
    return a <= b;
  }
};
struct Abs : Numbers {
  template <class T>
  static T apply(T x) {
    if constexpr (kFloat<T>) return canonical_number(__builtin_fabs(x));
    return x < 0 ? Sub::apply(T(0), x) : x;
  }
};
struct Negate : Numbers {
  template <class T>
  static T apply(T x) {
    if constexpr (kFloat<T>) return canonical_number(-x);
    return Sub::apply(T(0), x);
  }
};
struct Sign : Numbers {
  template <class T>
  static T apply(T x) {
    if constexpr (!kFloat<T>) return T(T(x > 0) - T(x < 0));
    constexpr auto one = __builtin_bit_cast(uint64_t, 1.0),
                   minus = __builtin_bit_cast(uint64_t, -1.0);
    const uint64_t sign = ((0 - uint64_t(x > 0)) & one) | ((0 - uint64_t(x < 0)) & minus);
    const uint64_t none = (0 - uint64_t(x != x)) & __builtin_bit_cast(uint64_t, __builtin_nan(""));
    return T(__builtin_bit_cast(double, sign | none));
  }
};
struct Relu : Numbers {
  template <class T>
  static T apply(T x) {
    return Max::apply(x, T(0));
  }
};
struct Floor : Doubles {
  template <class T>
  static T apply(T x) {
    return canonical_number(__builtin_floor(x));
  }
};
struct Ceil : Doubles {
  template <class T>
  static T apply(T x) {
    return canonical_number(__builtin_ceil(x));
  }
};
struct Round : Doubles {
  template <class T>
  static T apply(T x) {
    return canonical_number(__builtin_nearbyint(x));
  }
};
struct Sqrt : Doubles {
  template <class T>
  static T apply(T x) {
    return canonical_number(__builtin_sqrt(x));
  }
};
struct Reciprocal : Doubles {
  template <class T>
  static T apply(T x) {
    return canonical_number(1.0 / x);
  }
};
struct Square : Doubles {
  template <class T>
  static T apply(T x) {
    return canonical_number(x * x);
  }
};

// An operand that stays becomes an array of so many copies, and the loop is the same for all steps.
constexpr size_t kCopies = 256;
template <class T>
__attribute__((noinline)) const T* copies(const void* one, size_t n, T* room) {
  const T value = *static_cast<const T*>(one);
  for (size_t i = 0; i < (n < kCopies ? n : kCopies); ++i) room[i] = value;
  return room;
}

template <class Op, class T>
void pair(const void* first, size_t step_a, const void* second, size_t step_b, void* out,
          size_t n) {
  using R = decltype(Op::apply(T(), T()));
  if (n == 0) return;
  if (n == 1) step_a = step_b = 1;
  T room[kCopies];
  const T* a = step_a == 0 ? copies(first, n, room) : static_cast<const T*>(first);
  const T* b = step_b == 0 ? copies(second, n, room) : static_cast<const T*>(second);
  R* y = static_cast<R*>(out);
  const size_t together = step_a + step_b == 2 ? n : kCopies;
  for (size_t done = 0; done < n; done += together) {
    const size_t count = n - done < together ? n - done : together;
    const T *from_a = a + done * step_a, *from_b = b + done * step_b;
    R* to = y + done;
    SDX_EACH_APART
    for (size_t i = 0; i < count; ++i) to[i] = Op::apply(from_a[i], from_b[i]);
  }
}

template <class Op, class T>
void map(const void* in, void* out, size_t n) {
  const T* x = static_cast<const T*>(in);
  T* y = static_cast<T*>(out);
  SDX_EACH_APART
  for (size_t i = 0; i < n; ++i) y[i] = Op::template apply<T>(x[i]);
}

template <DoubleFunction kFunction>
MapLoop function_of(NumberType type) {
  if (type != NumberType::f64) return nullptr;
  return [](const void* x, void* y, size_t n) {
    double_function(kFunction, static_cast<const double*>(x), static_cast<double*>(y), n);
  };
}

template <class T>
void clip(const void* in, const void* lowest, const void* highest, void* out, size_t n) {
  const T low = *static_cast<const T*>(lowest), high = *static_cast<const T*>(highest);
  const T* x = static_cast<const T*>(in);
  T* y = static_cast<T*>(out);
  SDX_EACH_APART
  for (size_t i = 0; i < n; ++i) y[i] = Min::apply(Max::apply(x[i], low), high);
}

// f.operator()<T>() for the C++ type of numbers; null for bools.
template <class F>
auto by_type(NumberType type, F f) -> decltype(f.template operator()<int32_t>()) {
  switch (type) {
    case NumberType::u8:
      return f.template operator()<uint8_t>();
    case NumberType::i8:
      return f.template operator()<int8_t>();
    case NumberType::i32:
      return f.template operator()<int32_t>();
    case NumberType::i64:
      return f.template operator()<int64_t>();
    case NumberType::f32:
      return f.template operator()<float>();
    case NumberType::f64:
      return f.template operator()<double>();
    case NumberType::boolean:
      return nullptr;
  }
  return nullptr;
}

template <class Op>
PairLoop pair_of(NumberType type) {
  return by_type(type, []<class T>() -> PairLoop {
    if constexpr (Op::template kHas<T>) return pair<Op, T>;
    return nullptr;
  });
}
template <class Op>
MapLoop map_of(NumberType type) {
  return by_type(type, []<class T>() -> MapLoop {
    if constexpr (Op::template kHas<T>) return map<Op, T>;
    return nullptr;
  });
}

// The greatest value of an integer type, and the greatest number of a float type not above it.
template <class D>
inline constexpr D kMost = D(~uint64_t{0} >> (64 - 8 * sizeof(D) + (kSigned<D> ? 1 : 0)));
template <class F, class D>
inline constexpr F kTop = F(kMost<D>);
template <>
inline constexpr float kTop<float, int32_t> = 0x1.fffffep30f;
template <>
inline constexpr float kTop<float, int64_t> = 0x1.fffffep62f;
template <>
inline constexpr double kTop<double, int64_t> = 0x1.fffffffffffffp62;

template <class F, class D>
inline constexpr F kLeast = kSigned<D> ? F(D(~kMost<D>)) : F(0);

// Brought into range first, so that the conversion has one meaning and no branch stands before it.
template <class D, class F>
D truncated(F x) {
  const F number = x == x ? x : F(0);
  const F low = number < kTop<F, D> ? number : kTop<F, D>;
  const F inside = low > kLeast<F, D> ? low : kLeast<F, D>;
  if constexpr (sizeof(D) == 1) return D(int32_t(inside));
  if constexpr (F(kTop<F, D>) == F(kMost<D>) && sizeof(F) > sizeof(D)) return D(inside);
  return number > kTop<F, D> ? kMost<D> : D(inside);
}

// The same for sixteen floats at a time and integers of up to 32 bits, for which compilers make
// many more masks than it needs.
SDX_INLINE void put(int32_t* y, I32x16 whole) { whole.store(y); }
SDX_INLINE void put(uint8_t* y, I32x16 whole) { store_bytes(y, whole); }
SDX_INLINE void put(int8_t* y, I32x16 whole) { store_bytes(reinterpret_cast<uint8_t*>(y), whole); }

template <class D>
void truncate_floats(const float* x, D* y, size_t n) {
  const F32x16 least(kLeast<float, D>), top(kTop<float, D>);
  const auto truncate = [&](F32x16 v) __attribute__((always_inline)) {
    const F32x16 number = select(v == v, v, F32x16(0.0f));
    const I32x16 whole = to_i32(min_raw(max_raw(number, least), top));
    if constexpr (sizeof(D) == 1) return whole;
    return select(number > top, I32x16(kMost<D>), whole);
  };
  size_t i = 0;
  for (; i + 16 <= n; i += 16) put(y + i, truncate(load(x + i)));
  if (i < n) {
    D last[16];
    put(last, truncate(load_n(x + i, n - i)));
    memcpy(y + i, last, (n - i) * sizeof(D));
  }
}

template <class S, class D>
void cast(const void* in, void* out, size_t n) {
  using To = typename Memory<D>::type;
  const auto* x = static_cast<const typename Memory<S>::type*>(in);
  To* y = static_cast<To*>(out);
  if constexpr (__is_same(S, float) && !__is_same(D, Boolean) && sizeof(D) <= 4) {
    return truncate_floats(x, y, n);
  }
  SDX_EACH_APART
  for (size_t i = 0; i < n; ++i) {
    if constexpr (__is_same(D, Boolean)) {
      y[i] = x[i] != 0;
    } else if constexpr (__is_same(S, Boolean)) {
      y[i] = To(uint8_t(x[i] != 0));
    } else if constexpr (kFloat<S> && !kFloat<D>) {
      y[i] = truncated<D>(x[i]);
    } else if constexpr (kFloat<S>) {
      y[i] = canonical_number(To(x[i]));
    } else {
      y[i] = To(x[i]);
    }
  }
}

template <class S>
MapLoop cast_from(NumberType to) {
  if (to == NumberType::boolean) {
    if constexpr (!__is_same(S, Boolean)) return cast<S, Boolean>;
    return nullptr;
  }
  return by_type(to, []<class D>() -> MapLoop {
    if constexpr (!__is_same(S, D)) return cast<S, D>;
    return nullptr;
  });
}

// Of the two floats around x the odd one; x itself if it is one.
float odd_float(double x) {
  const float near = float(x);
  const double back = double(near);
  uint32_t bits = __builtin_bit_cast(uint32_t, near);
  bits -= uint32_t(__builtin_fabs(back) > __builtin_fabs(x));
  return __builtin_bit_cast(float, bits | uint32_t(back != x));
}
double exact(int32_t x) { return double(x); }
double exact(double x) { return x; }
// What lies below 2^16 in a number of 2^40 and more only tells that it is no multiple.
double exact(int64_t x) {
  const auto bits = uint64_t(x);
  const uint64_t large = 0 - uint64_t(x >= (int64_t(1) << 40) || x < -(int64_t(1) << 40));
  const uint64_t odd = uint64_t((bits & 0xffff) != 0) << 16;
  const uint64_t coarse = (bits & ~uint64_t(0xffff)) | odd;
  return double(int64_t((coarse & large) | (bits & ~large)));
}

template <class S>
void halfway(const void* in, void* out, size_t n) {
  const S* x = static_cast<const S*>(in);
  float* y = static_cast<float*>(out);
  SDX_EACH_APART
  for (size_t i = 0; i < n; ++i) y[i] = odd_float(exact(x[i]));
}

// Without a branch, which conditions in no order would mislead half of the time.
template <class T>
void choose(const uint8_t* condition, const void* first, size_t step_a, const void* second,
            size_t step_b, void* out, size_t n) {
  if (n == 0) return;
  T room_a[kCopies], room_b[kCopies];
  const T* a = step_a == 0 ? copies(first, n, room_a) : static_cast<const T*>(first);
  const T* b = step_b == 0 ? copies(second, n, room_b) : static_cast<const T*>(second);
  T* y = static_cast<T*>(out);
  const size_t together = step_a + step_b == 2 ? n : kCopies;
  for (size_t done = 0; done < n; done += together) {
    const size_t count = n - done < together ? n - done : together;
    const T *from_a = a + done * step_a, *from_b = b + done * step_b;
    const uint8_t* chosen = condition + done;
    T* to = y + done;
    SDX_EACH_APART
    for (size_t i = 0; i < count; ++i) {
      const T mask = T(-T(chosen[i] != 0));
      to[i] = T((from_a[i] & mask) | (from_b[i] & T(~mask)));
    }
  }
}

}  // namespace

PairLoop pair_loop(NumberPair op, NumberType type) {
  switch (op) {
    case NumberPair::add:
      return pair_of<Add>(type);
    case NumberPair::sub:
      return pair_of<Sub>(type);
    case NumberPair::mul:
      return pair_of<Mul>(type);
    case NumberPair::div:
      return pair_of<Div>(type);
    case NumberPair::min:
      return pair_of<Min>(type);
    case NumberPair::max:
      return pair_of<Max>(type);
    case NumberPair::equal:
      return pair_of<Equal>(type);
    case NumberPair::less:
      return pair_of<Less>(type);
    case NumberPair::less_or_equal:
      return pair_of<LessOrEqual>(type);
  }
  return nullptr;
}

MapLoop map_loop(NumberMap op, NumberType type) {
  switch (op) {
    case NumberMap::abs:
      return map_of<Abs>(type);
    case NumberMap::negate:
      return map_of<Negate>(type);
    case NumberMap::sign:
      return map_of<Sign>(type);
    case NumberMap::relu:
      return map_of<Relu>(type);
    case NumberMap::floor:
      return map_of<Floor>(type);
    case NumberMap::ceil:
      return map_of<Ceil>(type);
    case NumberMap::round:
      return map_of<Round>(type);
    case NumberMap::sqrt:
      return map_of<Sqrt>(type);
    case NumberMap::reciprocal:
      return map_of<Reciprocal>(type);
    case NumberMap::square:
      return map_of<Square>(type);
    case NumberMap::exp:
      return function_of<DoubleFunction::exp>(type);
    case NumberMap::log:
      return function_of<DoubleFunction::log>(type);
    case NumberMap::tanh:
      return function_of<DoubleFunction::tanh>(type);
    case NumberMap::sigmoid:
      return function_of<DoubleFunction::sigmoid>(type);
    case NumberMap::sin:
      return function_of<DoubleFunction::sin>(type);
    case NumberMap::cos:
      return function_of<DoubleFunction::cos>(type);
  }
  return nullptr;
}

ClipLoop clip_loop(NumberType type) {
  return by_type(type, []<class T>() -> ClipLoop {
    if constexpr (Numbers::kHas<T>) return clip<T>;
    return nullptr;
  });
}

MapLoop cast_loop(NumberType from, NumberType to) {
  if (from == NumberType::boolean) return cast_from<Boolean>(to);
  return by_type(from, [to]<class S>() { return cast_from<S>(to); });
}

MapLoop halfway_loop(NumberType from) {
  switch (from) {
    case NumberType::i32:
      return halfway<int32_t>;
    case NumberType::i64:
      return halfway<int64_t>;
    case NumberType::f64:
      return halfway<double>;
    default:
      return cast_loop(from, NumberType::f32);
  }
}

ChooseLoop choose_loop(size_t bytes) {
  switch (bytes) {
    case 1:
      return choose<uint8_t>;
    case 2:
      return choose<uint16_t>;
    case 4:
      return choose<uint32_t>;
    case 8:
      return choose<uint64_t>;
    default:
      return nullptr;
  }
}

}  // namespace sdx::SDX_ISA
