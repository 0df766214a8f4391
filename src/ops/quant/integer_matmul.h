// What MatMulInteger and MatMulIntegerToFloat do alike: A is the operator, T the type that its sums
// are given in.
#pragma once

#include "ops/quant/integer_sums.h"

namespace sdx::ops {

template <class A, class T>
struct IntegerMatMul {
  // y[i][j] = T(sum over k of (a[i][k] - a_zero[i]) * (b[k][j] - b_zero[j]), modulo 2^32).
  static Status reference(const A&, Args& args) {
    const View &a = args.in(0), &b = args.in(1);
    SDX_ASSIGN(const ProductSizes p, product_sizes(a.dims, b.dims));
    PerLine a_zero, b_zero;
    if (args.has(2)) {
      SDX_ASSIGN(a_zero, per_line(args.in(2), p.m, p.a, "a_zero_point"));
    }
    if (args.has(3)) {
      SDX_ASSIGN(b_zero, per_line(args.in(3), p.n, p.b, "b_zero_point"));
    }
    T* y = args.out().data<T>();
    for (size_t batch = 0; batch < p.batches; ++batch) {
      const size_t in_a = p.batch_of(p.a, batch), in_b = p.batch_of(p.b, batch);
      for (size_t i = 0; i < p.m; ++i) {
        const int32_t za = args.has(2) ? int_at(args.in(2), a_zero.at(in_a, i)) : 0;
        for (size_t j = 0; j < p.n; ++j) {
          const int32_t zb = args.has(3) ? int_at(args.in(3), b_zero.at(in_b, j)) : 0;
          uint32_t sum = 0;
          for (size_t k = 0; k < p.k; ++k) {
            sum += uint32_t((int_at(a, (in_a * p.m + i) * p.k + k) - za) *
                            (int_at(b, (in_b * p.k + k) * p.n + j) - zb));
          }
          *y++ = T(int32_t(sum));
        }
      }
    }
    return ok();
  }

  template <bool kPacked>
  static bool fits(const A&, const Call& call) {
    return !kPacked || can_pack(call.in[1]);
  }
  template <bool kPacked>
  static size_t scratch(const A&, const Call& call) {
    return sums_scratch(call.in[0], call.in[1], kPacked, call.threads);
  }
  static std::shared_ptr<const void> pack(const A&, const Call& call, Pool& pool) {
    return pack_right(call.in[1], pool, call.isa);
  }

  static Status run(const A&, Args& args) {
    SDX_ASSIGN(const ProductSizes p, product_sizes(args.in(0).dims, args.in(1).dims));
    EpilogueCall after{args.epilogue, args.epilogue_inputs, args.isa};
    IntegerSums s;
    s.a = args.in(0);
    s.b = args.in(1);
    s.packed = args.packed;
    s.scratch = args.scratch.data();
    if constexpr (std::is_same_v<T, float>) {
      s.floats = args.out().data<float>();
      s.after = &after;
    } else {
      s.sums = args.out().data<int32_t>();
    }
    if (args.has(2)) {
      s.a_zero = args.in(2);
      SDX_TRY(per_line(s.a_zero, p.m, p.a, "a_zero_point"));
    }
    if (args.has(3)) {
      s.b_zero = args.in(3);
      SDX_TRY(per_line(s.b_zero, p.n, p.b, "b_zero_point"));
    }
    integer_sums(s, p, *args.pool, args.isa);
    return ok();
  }

  static uint64_t multiply_adds(const A&, const Call& call) {
    const Dims a = call.in[0].dims(), b = call.in[1].dims();
    const auto p = product_sizes(a, b);
    return p ? p->batches * p->m * p->n * p->k : 0;
  }
};

}  // namespace sdx::ops
