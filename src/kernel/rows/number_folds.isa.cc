#include "kernel/rows/number_folds.h"

#include "kernel/simd/native.h"
#include "kernel/simd/numbers.h"
#include "kernel/simd/unroll.h"

namespace sdx::SDX_ISA {
namespace {

template <class T>
inline constexpr bool kDouble = T(0.5) != T(0);

// How an element enters what the ones before came to, and the 64 bits that are handed out.
// kInOrder: the order of elements changes the bits.
template <Fold kFold, class T>
struct Entering {  // sums and products of integers
  using Acc = uint64_t;
  static constexpr bool kInOrder = false;
  static constexpr Acc kNone = kFold == Fold::prod ? 1 : 0;
  SDX_INLINE static Acc enter(Acc acc, T x) {
    const auto wide = int64_t(x);
    if constexpr (kFold == Fold::prod) return acc * uint64_t(wide);
    if constexpr (kFold == Fold::sum_abs)
      return acc + (x < T(0) ? 0 - uint64_t(wide) : uint64_t(wide));
    if constexpr (kFold == Fold::sum_square) return acc + uint64_t(wide) * uint64_t(wide);
    return acc + uint64_t(wide);
  }
  SDX_INLINE static uint64_t end(Acc acc) { return acc; }
};

template <Fold kFold, class T>
requires(!kDouble<T> && (kFold == Fold::max || kFold == Fold::min)) struct Entering<kFold, T> {
  using Acc = T;
  static constexpr bool kInOrder = false;
  static constexpr T kMost = T(~uint64_t{0} >> (64 - 8 * sizeof(T) + (T(-1) < T(0) ? 1 : 0)));
  static constexpr T kNone = kFold == Fold::max ? T(~kMost) : kMost;
  SDX_INLINE static T enter(T acc, T x) {
    if constexpr (kFold == Fold::max) return x > acc ? x : acc;
    return x < acc ? x : acc;
  }
  SDX_INLINE static uint64_t end(T acc) { return uint64_t(int64_t(acc)); }
};

// As integers in the order of the doubles, -0 below +0 and NaN above all; the least element is the
// negative of the greatest negative.
template <Fold kFold, class T>
requires(kDouble<T> && (kFold == Fold::max || kFold == Fold::min)) struct Entering<kFold, T> {
  using Acc = int64_t;
  static constexpr bool kInOrder = false;
  static constexpr uint64_t kSign = uint64_t(1) << 63, kTurn = kFold == Fold::min ? kSign : 0;
  static constexpr uint64_t kNan = 0x7ff8000000000000, kMinusInfinity = 0xfff0000000000000;
  SDX_INLINE static int64_t key(uint64_t bits) {
    return int64_t(bits ^ ((0 - (bits >> 63)) & ~kSign));
  }
  static constexpr Acc kNone = int64_t(kMinusInfinity ^ ~kSign);
  SDX_INLINE static Acc enter(Acc acc, double x) {
    const uint64_t number = 0 - uint64_t(x == x);
    const uint64_t bits = __builtin_bit_cast(uint64_t, x) ^ kTurn;
    const int64_t next = key((bits & number) | (kNan & ~number));
    return next > acc ? next : acc;
  }
  SDX_INLINE static uint64_t end(Acc acc) {
    const auto bits = uint64_t(key(uint64_t(acc)));
    return bits == kNan ? bits : bits ^ kTurn;
  }
};

template <Fold kFold, class T>
requires(kDouble<T>&& kFold != Fold::max && kFold != Fold::min) struct Entering<kFold, T> {
  using Acc = double;
  static constexpr bool kInOrder = true;
  static constexpr double kNone = kFold == Fold::prod ? 1.0 : 0.0;
  template <class F>
  SDX_INLINE static F join(F a, F b) {
    if constexpr (kFold == Fold::prod) return a * b;
    return a + b;
  }
  SDX_INLINE static double enter(double acc, double x) {
    if constexpr (kFold == Fold::sum_abs) return acc + __builtin_fabs(x);
    if constexpr (kFold == Fold::sum_square) return acc + x * x;
    return join(acc, x);
  }
  SDX_INLINE static F64 enter(F64 acc, F64 x) {
    if constexpr (kFold == Fold::sum_abs)
      return acc + F64((RawF64)((RawI64)x.v & int64_t(~(uint64_t(1) << 63))));
    if constexpr (kFold == Fold::sum_square) return acc + x * x;
    return join(acc, x);
  }
  SDX_INLINE static uint64_t end(double acc) { return __builtin_bit_cast(uint64_t, acc); }
};

// The fixed tree over the sixteen lanes.
template <class E>
SDX_INLINE double tree(double* lane) {
  for (size_t half = kFoldLanes / 2; half > 0; half /= 2) {
    for (size_t j = 0; j < half; ++j) lane[j] = E::join(lane[j], lane[j + half]);
  }
  return lane[0];
}

template <class E>
SDX_INLINE double lanes_of_row(const double* x, size_t n) {
  constexpr int kVec = F64::kLanes, kVecs = int(kFoldLanes) / kVec;
  F64 acc[kVecs];
  repeat<kVecs>([&](int v) __attribute__((always_inline)) { acc[v] = F64(E::kNone); });
  size_t i = 0;
  for (; i + kFoldLanes <= n; i += kFoldLanes) {
    repeat<kVecs>([&](int v) __attribute__((always_inline)) {
      acc[v] = E::enter(acc[v], F64::load(x + i + size_t(v * kVec)));
    });
  }
  double lane[kFoldLanes];
  repeat<kVecs>([&](int v) __attribute__((always_inline)) { acc[v].store(lane + v * kVec); });
  for (size_t j = 0; i < n; ++i, ++j) lane[j] = E::enter(lane[j], x[i]);
  return tree<E>(lane);
}

template <class E, class T>
void fold_rows(const void* in, size_t rows, size_t n, uint64_t* y) {
  const T* x = static_cast<const T*>(in);
  for (size_t r = 0; r < rows; ++r, x += n) {
    if constexpr (E::kInOrder) {
      y[r] = E::end(lanes_of_row<E>(x, n));
    } else {
      auto acc = E::kNone;
      for (size_t i = 0; i < n; ++i) acc = E::enter(acc, x[i]);
      y[r] = E::end(acc);
    }
  }
}

constexpr size_t kColumns = 64;  // whose lanes stay in the first cache

template <class E, class T>
void fold_columns(const void* in, size_t n, size_t step, size_t cols, uint64_t* y) {
  using Acc = typename E::Acc;
  // Lanes that take no element change nothing, so short sums need fewer.
  size_t used = 1;
  while (E::kInOrder && used < kFoldLanes && used < n) used *= 2;
  Acc lane[E::kInOrder ? kFoldLanes : 1][kColumns];
  for (size_t first = 0; first < cols; first += kColumns) {
    const size_t width = least(cols - first, kColumns);
    for (size_t j = 0; j < used; ++j) {
      for (size_t c = 0; c < width; ++c) lane[j][c] = E::kNone;
    }
    for (size_t i = 0; i < n; ++i) {
      const T* row = static_cast<const T*>(in) + i * step + first;
      Acc* to = lane[i % used];
      for (size_t c = 0; c < width; ++c) to[c] = E::enter(to[c], row[c]);
    }
    if constexpr (E::kInOrder) {
      for (size_t half = used / 2; half > 0; half /= 2) {
        for (size_t j = 0; j < half; ++j) {
          for (size_t c = 0; c < width; ++c) lane[j][c] = E::join(lane[j][c], lane[j + half][c]);
        }
      }
    }
    for (size_t c = 0; c < width; ++c) y[first + c] = E::end(lane[0][c]);
  }
}

template <Fold kFold>
NumberFold of_type(NumberType type) {
  const auto loops = []<class T>() {
    using E = Entering<kFold, T>;
    return NumberFold{fold_rows<E, T>, fold_columns<E, T>};
  };
  switch (type) {
    case NumberType::u8:
      return loops.template operator()<uint8_t>();
    case NumberType::i8:
      return loops.template operator()<int8_t>();
    case NumberType::i32:
      return loops.template operator()<int32_t>();
    case NumberType::i64:
      return loops.template operator()<int64_t>();
    case NumberType::f64:
      return loops.template operator()<double>();
    case NumberType::f32:
    case NumberType::boolean:
      break;
  }
  return {};
}

}  // namespace

NumberFold number_fold(Fold fold, NumberType type) {
  switch (fold) {
    case Fold::sum:
      return of_type<Fold::sum>(type);
    case Fold::sum_abs:
      return of_type<Fold::sum_abs>(type);
    case Fold::sum_square:
      return of_type<Fold::sum_square>(type);
    case Fold::prod:
      return of_type<Fold::prod>(type);
    case Fold::max:
      return of_type<Fold::max>(type);
    case Fold::min:
      return of_type<Fold::min>(type);
  }
  return {};
}

}  // namespace sdx::SDX_ISA
