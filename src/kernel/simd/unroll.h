// unroll: a loop that the front end writes out, so that arrays of accumulators become registers.
#pragma once

namespace sdx::SDX_ISA {

template <int I>
struct Index {
  static constexpr int value = I;
};

// f(Index<0>), f(Index<1>), ... f(Index<N - 1>).
template <int N, int I = 0, class F>
[[gnu::always_inline]] constexpr void unroll(F&& f) {
  if constexpr (I < N) {
    f(Index<I>{});
    unroll<N, I + 1>(f);
  }
}

}  // namespace sdx::SDX_ISA
