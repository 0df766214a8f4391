// unroll: a loop that the front end writes out, so that arrays of accumulators become registers.
#pragma once

namespace sdx::SDX_ISA {

template <int I>
struct Index {
  static constexpr int value = I;
};

template <int... I>
struct Indices {};
template <int N, int... I>
struct IndicesBelow : IndicesBelow<N - 1, N - 1, I...> {};
template <int... I>
struct IndicesBelow<0, I...> {
  using All = Indices<I...>;
};

// All in one function: of calls that call the next one, each would be compiled with all that come
// after it.
template <class F, int... I>
[[gnu::always_inline]] constexpr void unroll_over(F& f, Indices<I...>) {
  (f(Index<I>{}), ...);
}
// f(Index<0>), f(Index<1>), ... f(Index<N - 1>).
template <int N, class F>
[[gnu::always_inline]] constexpr void unroll(F&& f) {
  unroll_over(f, typename IndicesBelow<N>::All{});
}

template <class F, int... I>
[[gnu::always_inline]] constexpr void repeat_over(F& f, Indices<I...>) {
  (f(I), ...);
}
// f(0), f(1), ... f(N - 1): as `unroll`, where the number need be no constant of the language. `f`
// is then one function, compiled once, and not N of them: prefer it. It must be inlined always.
template <int N, class F>
[[gnu::always_inline]] constexpr void repeat(F&& f) {
  repeat_over(f, typename IndicesBelow<N>::All{});
}

}  // namespace sdx::SDX_ISA
