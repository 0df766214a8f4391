// CausalConvWithState.
#include <algorithm>
#include <cmath>

#include "kernel/math/math.h"
#include "op/streaming.h"
#include "ops/common.h"

namespace sdx::ops {
namespace {

struct CausalConv {
  bool silu;
};

constexpr Version kHistory[] = {
    {27,
     "(input: T, weight: T, bias?: T, past_state?: T) -> (output: T, present_state: T) "
     "{activation: string = "
     "\"none\"} T in bf16 f16 f32"},
};

Result<CausalConv> read(const Node& node, const Facts&) {
  const std::string& activation = node.s("activation");
  if (activation != "none" && activation != "silu" && activation != "swish") {
    return fail("SDX-T0550", "activation \"{}\" is not none, silu or swish", activation);
  }
  return CausalConv{activation != "none"};
}

Status check(std::span<const int64_t> x, std::span<const int64_t> w) {
  if (x.size() == 3 && w.size() == 3 && w[0] == x[1] && w[1] == 1 && w[2] >= 1) return ok();
  return fail("SDX-T0551",
              "input {} and weight {}: expected [batch, channels, length] and [channels, 1, taps]",
              to_string(x), to_string(w));
}

Result<Facts> infer(const CausalConv&, const Facts& in) {
  if (in[0].is_concrete() && in[1].is_concrete()) SDX_TRY(check(in[0].dims(), in[1].dims()));
  Shape state(3, Dim::unknown());
  if (in[0].has_rank() && in[0].rank() == 3) {
    state[0] = in[0].dim(0);
    state[1] = in[0].dim(1);
  }
  if (in[1].has_rank() && in[1].rank() == 3) state[2] = in[1].dim(2) - Dim(1);
  return Facts{like(in[0]), Fact::tensor(in[0].type, std::move(state))};
}

// The past (zeros if absent) and the input are one sequence s; y[i] = sum over taps k of w[k] * s[i
// + k], a chain of fma, k ascending, + bias; with silu y * sigmoid(y). In float, rounded once. The
// new state is the end of s.
template <class T>
void convolve(const CausalConv& a, const Args& args) {
  const View &x = args.in(0), &w = args.in(1);
  const size_t channels = size_t(x.dims[1]), length = size_t(x.dims[2]), taps = size_t(w.dims[2]);
  const size_t past = taps - 1;
  args.pool->parallel(size_t(x.dims[0]) * channels, 1, [&](size_t begin, size_t end, int) {
    for (size_t row = begin; row < end; ++row) {
      const T* now = x.data<T>() + row * length;
      const T* before = args.has(3) ? args.in(3).data<T>() + row * past : nullptr;
      const auto s = [&](size_t i) -> T {
        if (i >= past) return now[i - past];
        return before != nullptr ? before[i] : T{};
      };
      const T* weight = w.data<T>() + row % channels * taps;
      for (size_t i = 0; i < length; ++i) {
        float y = 0;
        for (size_t k = 0; k < taps; ++k) y = std::fma(load(weight[k]), load(s(i + k)), y);
        if (args.has(2)) y = y + load(args.in(2).data<T>()[row % channels]);
        if (a.silu) y = y * math::sigmoid(y);
        args.out(0).data<T>()[row * length + i] = store<T>(y);
      }
      for (size_t i = 0; args.wants(1) && i < past; ++i) {
        args.out(1).data<T>()[row * past + i] = s(length + i);
      }
    }
  });
}

Status reference(const CausalConv& a, Args& args) {
  const View& x = args.in(0);
  SDX_TRY(check(x.dims, args.in(1).dims));
  const size_t rows = size_t(x.dims[0] * x.dims[1]), past = size_t(args.in(1).dims[2] - 1);
  if (args.has(2) && args.in(2).count != size_t(x.dims[1])) {
    return fail("SDX-T0552", "bias has shape {}; there are {} channels", to_string(args.in(2).dims),
                x.dims[1]);
  }
  if (args.has(3) && args.in(3).count != rows * past) {
    return fail("SDX-T0553", "past_state has shape {}; it must be [{},{},{}]",
                to_string(args.in(3).dims), x.dims[0], x.dims[1], past);
  }
  if (x.type == DType::f32) convolve<float>(a, args);
  if (x.type == DType::f16) convolve<F16>(a, args);
  if (x.type == DType::bf16) convolve<BF16>(a, args);
  return ok();
}

std::vector<Case> cases() {
  return {
      {.name = "the_state_carries_the_end_of_the_sequence",
       .opset = 27,
       .attrs = {},
       .inputs = {Tensor::of<float>({1, 1, 2}, {3, 4}), Tensor::of<float>({1, 1, 3}, {1, 10, 100}),
                  Value{}, Tensor::of<float>({1, 1, 2}, {1, 2})},
       .expected = {Tensor::of<float>({1, 1, 2}, {321, 432}), Tensor::of<float>({1, 1, 2}, {3, 4})},
       .outputs = 2}};
}

Streaming stream(const CausalConv&, const Streamed& s) {
  if (!s.only_first() || *s.axes[0] != 2) return Streaming::ask();
  Streaming how = Streaming::of(Streaming::Kind::carry);
  how.pairs = {{3, 1}};
  return how;
}

constexpr OpOf<CausalConv> kCausalConvWithState{
    .name = "CausalConvWithState",
    .doc =
        "A convolution of each channel over the present and the past, which it carries from call "
        "to call.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .cases = cases,
    .stream = stream,
};

}  // namespace

extern const Op causal_conv_with_state = erase<kCausalConvWithState>();

}  // namespace sdx::ops
