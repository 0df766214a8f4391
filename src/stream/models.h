// Networks of the kinds that are streamed, written out with weights of noise: wake words, speech
// recognition, noise suppression, separation.
#pragma once

#include "stream/testing.h"

namespace sdx::stream {

class Network {
 public:
  explicit Network(typed::Graph& graph, uint64_t seed = 1) : b(graph), seed_(seed) {}

  Outlet weight(Dims dims, float scale = 0.3f) {
    Tensor tensor = noise(DType::f32, std::move(dims), ++seed_);
    for (size_t i = 0; i < tensor.count(); ++i) tensor.data<float>()[i] *= scale;
    return b.graph().constant(std::move(tensor));
  }
  Outlet conv(Outlet x, int64_t in, int64_t out, int64_t k, int64_t dilation = 1,
              int64_t before = 0, int64_t after = 0, int64_t stride = 1, int64_t group = 1) {
    return b.op("Conv", {x, weight({out, in / group, k}), weight({out})},
                {{"pads", std::vector<int64_t>{before, after}},
                 {"strides", std::vector<int64_t>{stride}},
                 {"dilations", std::vector<int64_t>{dilation}},
                 {"group", group}});
  }
  Outlet from_row(Outlet x, int64_t first) {
    return b.op("Slice", {x, b.ints({first}), b.ints({INT64_MAX}), b.ints({2}), b.ints({1})});
  }
  Outlet dense(Outlet x, int64_t in, int64_t out) {  // rows last but one
    return b.add(b.op("MatMul", {x, weight({in, out})}), weight({out}));
  }
  Outlet layer_norm(Outlet x, int64_t size) {
    return b.op("LayerNormalization", {x, weight({size}), weight({size})});
  }
  // [T, 1, in] -> [T, 1, hidden]
  Outlet recurrent(const char* op, Outlet x, int64_t in, int64_t hidden) {
    const int64_t gates = std::string_view(op) == "LSTM" ? 4 : 3;
    const Outlet y = b.op(op,
                          {x, weight({1, gates * hidden, in}), weight({1, gates * hidden, hidden}),
                           weight({1, 2 * gates * hidden})},
                          {{"hidden_size", hidden}});
    return b.op("Squeeze", {y, b.ints({1})});
  }

  Builder b;

 private:
  uint64_t seed_;
};

struct NetworkCase {
  const char* name;
  Shape input;
  size_t axis;
  int64_t rows;                       // of a whole run
  int64_t pulse;                      // of the pulsed model
  Outlet (*build)(Network&, Outlet);  // the output
};

// The wake-word network of 24 gated layers, dilated by 1, 2, 4 and 8, without padding: as many
// rows late as it looks back, 182.
inline Outlet wake_word(Network& n, Outlet x) {
  Builder& b = n.b;
  constexpr int64_t kDilations[] = {1, 2, 4, 8};
  const Outlet normal = b.add(b.mul(x, n.weight({1, 20, 1})), n.weight({1, 20, 1}));
  Outlet at = n.conv(normal, 20, 16, 3);
  int64_t later = 180;
  Outlet skips;
  for (int layer = 0; layer < 24; ++layer) {
    const int64_t d = kDilations[layer % 4];
    later -= 2 * d;
    const Outlet gated = b.mul(b.op("Tanh", {n.conv(at, 16, 64, 3, d)}),
                               b.op("Sigmoid", {n.conv(at, 16, 64, 3, d)}));
    const Outlet skip = n.conv(n.from_row(gated, later), 64, 32, 1);
    skips = skips.present() ? b.add(skips, skip) : skip;
    if (layer < 23) at = b.add(n.conv(gated, 64, 16, 1), n.from_row(at, 2 * d));
  }
  const Outlet post = n.conv(b.op("Relu", {skips}), 32, 32, 1);
  return n.conv(b.op("Relu", {post}), 32, 2, 1);
}

// Causal WaveNet: padding in front only.
inline Outlet wave_net(Network& n, Outlet x) {
  Builder& b = n.b;
  Outlet at = n.conv(x, 1, 8, 2, 1, 1), skips;
  for (int layer = 0; layer < 6; ++layer) {
    const int64_t d = int64_t{1} << layer;
    const Outlet gated = b.mul(b.op("Tanh", {n.conv(at, 8, 8, 2, d, d)}),
                               b.op("Sigmoid", {n.conv(at, 8, 8, 2, d, d)}));
    const Outlet skip = n.conv(gated, 8, 8, 1);
    skips = skips.present() ? b.add(skips, skip) : skip;
    at = b.add(at, n.conv(gated, 8, 8, 1));
  }
  return b.op("Softmax", {n.conv(b.op("Relu", {skips}), 8, 16, 1)}, {{"axis", int64_t{1}}});
}

// Kaldi's TDNN-LSTM: spliced frames, a third of the rate, an LSTM, more context.
inline Outlet tdnn_lstm(Network& n, Outlet x) {
  Builder& b = n.b;
  Outlet at = b.op("Relu", {n.conv(x, 12, 16, 5)});
  at = b.op("Relu", {n.conv(at, 16, 16, 3, 1, 0, 0, 3)});
  at = n.recurrent("LSTM", b.transpose(at, {2, 0, 1}), 16, 12);
  at = b.op("Relu", {n.conv(b.transpose(at, {1, 2, 0}), 12, 16, 3, 3)});
  at = n.recurrent("LSTM", b.transpose(at, {2, 0, 1}), 16, 12);
  return b.op("LogSoftmax", {n.dense(at, 12, 20)}, {{"axis", int64_t{2}}});
}

// Conv-TasNet with causal normalisation per frame: encoder, masks from dilated depthwise
// convolutions, decoder by a transposed convolution that overlaps.
inline Outlet conv_tas_net(Network& n, Outlet x) {
  Builder& b = n.b;
  const Outlet coded = b.op("Relu", {n.conv(x, 1, 16, 16, 1, 0, 0, 8)});
  Outlet at = n.conv(coded, 16, 8, 1);
  for (int layer = 0; layer < 4; ++layer) {
    const int64_t d = int64_t{1} << layer;
    Outlet y = b.op("PRelu", {n.conv(at, 8, 12, 1), n.weight({12, 1})});
    y = n.conv(y, 12, 12, 3, d, d, d, 1, 12);
    const Outlet turned = n.layer_norm(b.transpose(y, {0, 2, 1}), 12);
    at = b.add(at, n.conv(b.transpose(turned, {0, 2, 1}), 12, 8, 1));
  }
  const Outlet masked = b.mul(coded, b.op("Sigmoid", {n.conv(at, 8, 16, 1)}));
  return b.op("ConvTranspose", {masked, n.weight({16, 1, 16})},
              {{"strides", std::vector<int64_t>{8}}});
}

// A recurrent denoiser in two stages, as DTLN and GTCRN are: frames, a mask from GRUs, frames back.
inline Outlet denoiser(Network& n, Outlet x) {
  Builder& b = n.b;
  const Outlet frames = n.conv(x, 1, 24, 8, 1, 0, 0, 4);
  Outlet at = b.transpose(b.op("Abs", {frames}), {2, 0, 1});
  at = n.recurrent("GRU", n.layer_norm(at, 24), 24, 16);
  at = n.recurrent("GRU", at, 16, 16);
  const Outlet mask = b.op("Sigmoid", {b.transpose(n.dense(at, 16, 24), {1, 2, 0})});
  return b.op("ConvTranspose", {b.mul(frames, mask), n.weight({24, 1, 8})},
              {{"strides", std::vector<int64_t>{4}}});
}

// CRNN: images of a spectrum, pooled along its bands only, then a GRU.
inline Outlet crnn(Network& n, Outlet x) {
  Builder& b = n.b;
  const auto conv = [&](Outlet from, int64_t in, int64_t out) {
    const Outlet y = b.op("Conv", {from, n.weight({out, in, 3, 3}), n.weight({out})},
                          {{"pads", std::vector<int64_t>{1, 1, 1, 1}}});
    return b.op(
        "MaxPool", {b.op("Relu", {y})},
        {{"kernel_shape", std::vector<int64_t>{1, 2}}, {"strides", std::vector<int64_t>{1, 2}}});
  };
  Outlet at = conv(conv(x, 1, 4), 4, 6);            // [1, 6, T, 4]
  at = b.transpose(at, {2, 0, 1, 3});               // [T, 1, 6, 4]
  at = b.op("Reshape", {at, b.ints({-1, 1, 24})});  // [T, 1, 24]
  at = n.recurrent("GRU", at, 24, 16);
  return b.op("Sigmoid", {n.dense(at, 16, 3)});
}

// A conformer whose attention stays in chunks of 4 frames after a subsampling by 8.
inline Outlet conformer(Network& n, Outlet x) {
  Builder& b = n.b;
  Outlet at = x;
  for (int i = 0; i < 3; ++i) at = b.op("Relu", {n.conv(at, i == 0 ? 10 : 12, 12, 3, 1, 2, 0, 2)});
  Outlet rows = b.transpose(at, {0, 2, 1});  // [1, T / 8, 12]
  for (int block = 0; block < 2; ++block) {
    const Outlet normal = n.layer_norm(rows, 12);
    const Outlet q = b.op("Reshape", {n.dense(normal, 12, 12), b.ints({1, -1, 4, 12})});
    const Outlet k = b.op("Reshape", {n.dense(normal, 12, 12), b.ints({1, -1, 4, 12})});
    const Outlet v = b.op("Reshape", {n.dense(normal, 12, 12), b.ints({1, -1, 4, 12})});
    const Outlet scores = b.op("Softmax", {b.op("MatMul", {q, b.transpose(k, {0, 1, 3, 2})})},
                               {{"axis", int64_t{3}}});
    const Outlet seen = b.op("Reshape", {b.op("MatMul", {scores, v}), b.ints({1, -1, 12})});
    rows = b.add(rows, n.dense(seen, 12, 12));
    Outlet local = n.conv(b.transpose(rows, {0, 2, 1}), 12, 12, 3, 1, 2, 0, 1, 12);
    rows = b.add(rows, b.transpose(b.mul(local, b.op("Sigmoid", {local})), {0, 2, 1}));
  }
  return b.op("LogSoftmax", {n.dense(rows, 12, 8)}, {{"axis", int64_t{2}}});
}

// A front end: frames of a signal, their power, bands, a logarithm, differences.
inline Outlet front_end(Network& n, Outlet x) {
  Builder& b = n.b;
  const Outlet frames =
      b.op("STFT", {x, b.number(4, DType::i64), n.weight({16}, 1.0f), b.number(16, DType::i64)});
  const Outlet power = b.op("ReduceSumSquare", {frames, b.ints({3})}, {{"keepdims", int64_t{0}}});
  const Outlet bands = b.op("MatMul", {power, b.op("Abs", {n.weight({9, 5})})});
  const Outlet log = b.op("Log", {b.plus(bands, 1e-3)});
  const Outlet turned = b.transpose(log, {0, 2, 1});
  return b.op("Concat", {turned, n.conv(turned, 5, 5, 5, 1, 2, 2)}, {{"axis", int64_t{1}}});
}

// Speech detection like silero's: reflected padding, frames by a convolution, magnitudes, strided
// convolutions, an LSTM, one number per frame.
inline Outlet voice_detector(Network& n, Outlet x) {
  Builder& b = n.b;
  const Outlet padded =
      b.op("Pad", {x, b.ints({0, 0, 6, 0, 0, 6})}, {{"mode", std::string("reflect")}});
  const Outlet both = n.conv(padded, 1, 20, 16, 1, 0, 0, 8);
  const auto parts = b.ops("Split", {both, b.ints({10, 10})}, {{"axis", int64_t{1}}}, 2);
  Outlet at = b.op("Sqrt", {b.add(b.square(parts[0]), b.square(parts[1]))});
  at = b.op("Relu", {n.conv(at, 10, 12, 3, 1, 1, 1)});
  at = b.op("Relu", {n.conv(at, 12, 12, 3, 1, 1, 1, 2)});
  at = n.recurrent("LSTM", b.transpose(at, {2, 0, 1}), 12, 12);
  return b.op("Sigmoid", {n.conv(b.op("Relu", {b.transpose(at, {1, 2, 0})}), 12, 1, 1)});
}

// A recurrence written out as a Scan, behind and before convolutions.
inline Outlet scanned(Network& n, Outlet x) {
  Builder& b = n.b;
  const Outlet at = b.op("Relu", {n.conv(x, 6, 8, 3, 1, 1, 1)});
  const Outlet rows = scanned_rows(b, at, n.weight({1, 5}), noise(DType::f32, {8, 5}, 91),
                                   noise(DType::f32, {5, 5}, 92));
  return n.conv(rows, 5, 3, 2, 2);
}

// Pictures one after the other: windows over time and place, some of them dilated.
inline Outlet video(Network& n, Outlet x) {
  Builder& b = n.b;
  const auto conv = [&](Outlet from, int64_t in, int64_t out, std::vector<int64_t> pads,
                        std::vector<int64_t> strides, std::vector<int64_t> dilations) {
    return b.op("Relu", {b.op("Conv", {from, n.weight({out, in, 3, 3, 3}), n.weight({out})},
                              {{"pads", std::move(pads)},
                               {"strides", std::move(strides)},
                               {"dilations", std::move(dilations)}})});
  };
  Outlet at = conv(x, 2, 4, {1, 1, 1, 1, 1, 1}, {1, 2, 2}, {1, 1, 1});  // [1, 4, T, 3, 3]
  at = conv(at, 4, 6, {4, 1, 1, 0, 1, 1}, {2, 1, 1}, {2, 1, 1});        // causal, half the rate
  at = b.op("MaxPool", {at}, {{"kernel_shape", std::vector<int64_t>{2, 3, 3}}});
  return b.op("Sigmoid", {at});
}

inline const std::vector<NetworkCase>& networks() {
  static const Dim t = Dim::symbol("T");
  static const std::vector<NetworkCase> all = {
      {"wake_word", {1, 20, t}, 2, 400, 8, wake_word},
      {"wave_net", {1, 1, t}, 2, 300, 16, wave_net},
      {"tdnn_lstm", {1, 12, t}, 2, 120, 12, tdnn_lstm},
      {"conv_tas_net", {1, 1, t}, 2, 400, 32, conv_tas_net},
      {"denoiser", {1, 1, t}, 2, 240, 8, denoiser},
      {"crnn", {1, 1, t, 16}, 2, 60, 4, crnn},
      {"conformer", {1, 10, t}, 2, 256, 32, conformer},
      {"front_end", {1, t, 1}, 1, 200, 8, front_end},
      {"voice_detector", {1, 1, t}, 2, 256, 16, voice_detector},
      {"scanned", {1, 6, t}, 2, 90, 6, scanned},
      {"video", {1, 2, t, 6, 6}, 2, 40, 4, video},
  };
  return all;
}

struct BuiltNetwork {
  typed::Graph graph;
  Status status;
};
inline BuiltNetwork built(const NetworkCase& network) {
  BuiltNetwork made;
  Network n(made.graph);
  const Outlet x = made.graph.source("x", Fact::tensor(DType::f32, network.input));
  made.graph.output("y", network.build(n, x));
  made.status = n.b.status();
  return made;
}

}  // namespace sdx::stream
