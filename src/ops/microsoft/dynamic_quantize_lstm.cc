// DynamicQuantizeLSTM: an LSTM whose weights are 8-bit integers.
//
// onnxruntime rounds the inputs and the states to bytes too, by scales of each step; here they stay
// floats, so the answer is that of the LSTM with the dequantised weights.
#include "ops/microsoft/images.h"
#include "ops/noise.h"

namespace sdx::ops::microsoft {
namespace {

constexpr Version kHistory[] = {
    {1,
     "(X: T, W: T2, R: T2, B?: T, sequence_lens?: T1, initial_h?: T, initial_c?: T, P?: T, "
     "W_scale: "
     "T, W_zero_point: T2, R_scale: T, R_zero_point: T2) -> (Y?: T, Y_h?: T, Y_c?: T) "
     "{activation_alpha: floats, activation_beta: floats, activations: strings, clip: float, "
     "direction: string = \"forward\", hidden_size: int, input_forget: int = 0} T in f32 T1 in i32 "
     "T2 in u8 i8"}};

// (w - zero point) * scale, one of each per direction, or per direction and column; weights are
// [directions, rows, 4 * hidden], which LSTM has the other way round.
Wire weights(Composer& c, Wire w, Wire scale, Wire zero) {
  const auto spread = [&](Wire x) {
    const size_t rank = c.fact(x).rank();
    c.require(rank == 1 || rank == 2, "SDX-T1096", "a scale or zero point is {}", c.fact(x).text());
    return c.add(unsqueeze, {x, rank == 1 ? c.ints({1, 2}) : c.ints({1})});
  };
  const Wire centred = c.add(sub, {c.cast(w, DType::f32), spread(c.cast(zero, DType::f32))});
  c.require(c.fact(w).rank() == 3, "SDX-T1096", "weights are {}; they must have 3 dimensions",
            c.fact(w).text());
  return c.transpose(c.add(mul, {centred, spread(scale)}), {0, 2, 1});
}

Result<Wires> compose(Composer& c) {
  const Wire w = weights(c, c.in(1), c.in(8), c.in(9)), r = weights(c, c.in(2), c.in(10), c.in(11));
  const AttrMap attrs =
      some_attributes(c.node(), {"activation_alpha", "activation_beta", "activations", "clip",
                                 "direction", "hidden_size", "input_forget"});
  return c.add(lstm, {c.in(0), w, r, c.in(3), c.in(4), c.in(5), c.in(6), c.in(7)}, attrs, 3);
}

std::vector<Case> cases() {
  return {{.name = "a_scale_per_column",
           .opset = 1,
           .attrs = {{"hidden_size", int64_t{3}}},
           .inputs = {noise({4, 2, 5}), noise(DType::i8, {1, 5, 12}, 2, -128, 128),
                      noise(DType::i8, {1, 3, 12}, 3, -128, 128), noise({1, 24}, 4), Value{},
                      Value{}, Value{}, Value{}, noise(DType::f32, {1, 12}, 5, .001, .02),
                      Tensor::make(DType::i8, {1, 12}), noise(DType::f32, {1, 12}, 6, .001, .02),
                      Tensor::make(DType::i8, {1, 12})},
           .outputs = 3},
          {.name = "both_directions",
           .opset = 1,
           .attrs = {{"hidden_size", int64_t{3}}, {"direction", std::string("bidirectional")}},
           .inputs = {noise({4, 2, 5}), noise(DType::u8, {2, 5, 12}, 2, 0, 256),
                      noise(DType::u8, {2, 3, 12}, 3, 0, 256), Value{}, Value{}, Value{}, Value{},
                      Value{}, Tensor::of<float>({2}, {.01f, .02f}),
                      Tensor::of<uint8_t>({2}, {128, 120}), Tensor::of<float>({2}, {.01f, .02f}),
                      Tensor::of<uint8_t>({2}, {128, 128})},
           .outputs = 3}};
}

constexpr OpOf<Composition> kLstm = composed<compose>(
    kDomain, "DynamicQuantizeLSTM", "LSTM whose weights are 8-bit integers.", kHistory, cases);

}  // namespace

extern const Op dynamic_quantize_lstm = erase<kLstm>();

}  // namespace sdx::ops::microsoft
