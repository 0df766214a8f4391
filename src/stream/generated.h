// Random graphs along an axis T: chains and branches of the operators that stream, and, if asked
// for, one of those that cannot.
#pragma once

#include "stream/testing.h"

namespace sdx::stream {

class Generator {
 public:
  explicit Generator(uint64_t seed, bool refused = false)
      : state_(seed * 0x9e3779b97f4a7c15u + 7), refused_(refused) {}

  struct Made {
    typed::Graph graph;
    Status status;
    std::string text;
  };
  Made run() {
    Made made;
    Builder build(made.graph);
    build_ = &build;
    const int64_t channels = 1 + pick(4);
    wires_ = {{made.graph.source(
                   "x", Fact::tensor(DType::f32, {Dim(1), Dim(channels), Dim::symbol("T")})),
               channels}};
    if (pick(4) == 0) {
      const int64_t more = 1 + pick(3);
      wires_.push_back(
          {made.graph.source("w", Fact::tensor(DType::f32, {1, more, Dim::symbol("T")})), more});
    }
    if (pick(4) == 0) fixed_ = made.graph.source("f", Fact::tensor(DType::f32, {1, 1, 1}));
    const int64_t count = 1 + pick(7);
    for (int64_t i = 0; i < count && build.status(); ++i) {
      const Wire from = wires_[size_t(pick(int64_t(wires_.size())))];
      const Wire next = grow(from);
      if (!next.at.present() || !build.status()) break;
      wires_.push_back(next);
    }
    if (refused_) wires_.push_back(whole_axis(wires_.back()));
    made.graph.output("y", wires_.back().at);
    if (wires_.size() > 3 && pick(3) == 0) made.graph.output("z", wires_[wires_.size() / 2].at);
    if (!refused_ && pick(4) == 0) made.graph.output("late", reduced(wires_.back()));
    made.status = build.status();
    made.text = text_;
    return made;
  }

 private:
  // [1, channels, rows]
  struct Wire {
    Outlet at;
    int64_t channels;
  };

  int64_t pick(int64_t below) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return int64_t((state_ >> 33) % uint64_t(below));
  }
  void note(std::string words) { text_ += words + "; "; }
  Outlet weight(Dims dims) {
    return build_->graph().constant(noise(DType::f32, std::move(dims), uint64_t(pick(1 << 30))));
  }
  Dim rows(const Wire& wire) { return build_->fact(wire.at).dim(2); }

  Wire grow(const Wire& from) {
    Builder& b = *build_;
    switch (pick(33)) {
      case 0: {
        const char* names[] = {"Relu", "Tanh", "Sigmoid", "Neg", "Abs"};
        const char* name = names[pick(5)];
        note(name);
        return {b.op(name, {from.at}), from.channels};
      }
      case 1:
      case 2:
      case 3:
        return conv(from);
      case 4:
        return pool(from);
      case 5:
        return transposed_conv(from);
      case 6:
      case 7:
        return padded(from);
      case 8: {
        const int64_t start = pick(4), step = 1 + pick(3),
                      end = pick(2) == 0 ? INT64_MAX : -1 - pick(3);
        note(fmt::format("Slice {}:{}:{}", start, end, step));
        return {
            b.op("Slice", {from.at, b.ints({start}), b.ints({end}), b.ints({2}), b.ints({step})}),
            from.channels};
      }
      case 9: {
        const int64_t before = pick(4), after = pick(4);
        note(fmt::format("Concat {} {}", before, after));
        gradient::Outlets parts;
        if (before > 0) parts.push_back(weight({1, from.channels, before}));
        parts.push_back(from.at);
        if (after > 0) parts.push_back(weight({1, from.channels, after}));
        return {b.op("Concat", parts, {{"axis", int64_t{2}}}), from.channels};
      }
      case 10: {
        note("MatMul");
        const int64_t to = 1 + pick(5);
        const Outlet turned = b.transpose(from.at, {0, 2, 1});
        return {b.transpose(b.op("MatMul", {turned, weight({from.channels, to})}), {0, 2, 1}), to};
      }
      case 11: {
        note("Softmax");
        return {b.op("Softmax", {from.at}, {{"axis", int64_t{1}}}), from.channels};
      }
      case 12: {
        note("LayerNormalization");
        const Outlet turned = b.transpose(from.at, {0, 2, 1});
        const Outlet normal =
            b.op("LayerNormalization", {turned, weight({from.channels}), weight({from.channels})});
        return {b.transpose(normal, {0, 2, 1}), from.channels};
      }
      case 13: {
        // Frames of k rows, each mixed, and rows again.
        const int64_t k = 2 + pick(2);
        note(fmt::format("Reshape by {}", k));
        const Outlet cut =
            b.op("Slice", {from.at, b.ints({0}), b.ints({INT64_MAX}), b.ints({2}), b.ints({1})});
        const Outlet turned = b.transpose(cut, {0, 2, 1});
        const Outlet frames = b.op("Reshape", {turned, b.ints({1, -1, k * from.channels})});
        if (pick(3) == 0) return {b.transpose(frames, {0, 2, 1}), k * from.channels};
        if (pick(2) == 0) {
          note("Softmax of each frame");
          const Outlet shares = b.op("Softmax", {frames}, {{"axis", int64_t{2}}});
          return {b.transpose(b.op("Reshape", {shares, b.ints({1, -1, from.channels})}), {0, 2, 1}),
                  from.channels};
        }
        const Outlet mixed =
            b.op("MatMul", {frames, weight({k * from.channels, k * from.channels})});
        const Outlet apart = b.op("Reshape", {mixed, b.ints({1, -1, from.channels})});
        return {b.transpose(apart, {0, 2, 1}), from.channels};
      }
      case 14: {
        note("Gather");
        const Outlet picked =
            b.op("Gather", {from.at, b.ints({0, from.channels - 1})}, {{"axis", int64_t{1}}});
        return {picked, 2};
      }
      case 15:
        return resized(from);
      case 16:
      case 17:
        return recurrent(from);
      case 18: {
        const int64_t exclusive = pick(2);
        note(fmt::format("CumSum {}", exclusive));
        return {b.op("CumSum", {from.at, b.ints({2})}, {{"exclusive", exclusive}}), from.channels};
      }
      case 19:
        return attention(from);
      case 20: {
        // A branch that is late against the other.
        note("branch");
        const Wire other = grow(from);
        if (!other.at.present() || other.channels != from.channels || !b.status() ||
            !(rows(other) == rows(from)))
          return other;
        note("Add");
        return {b.op("Add", {from.at, other.at}), from.channels};
      }
      case 21: {
        // Two wires of equal length and width, if there are such.
        for (const Wire& other : wires_) {
          if (other.at == from.at || other.channels != from.channels ||
              !(rows(other) == rows(from)))
            continue;
          note("Mul of two");
          return {b.op("Mul", {from.at, other.at}), from.channels};
        }
        return {b.op("Identity", {from.at}), from.channels};
      }
      case 22:
        return conv_2d(from);
      case 23:
        return frames(from);
      case 24:
        if (!fixed_.present()) return {b.op("Identity", {from.at}), from.channels};
        note("Mul by an input");
        return {b.op("Mul", {from.at, fixed_}), from.channels};
      case 25: {
        note("Split of rows");
        const int64_t first = 1 + pick(4);
        const Outlet size = b.op("Gather", {b.shape(from.at), b.ints({2})});
        const Outlet sizes =
            b.op("Concat", {b.ints({first}), b.sub(size, b.ints({first}))}, {{"axis", int64_t{0}}});
        return {b.ops("Split", {from.at, sizes}, {{"axis", int64_t{2}}}, 2)[1], from.channels};
      }
      case 26:
        return conv_3d(from);
      case 27: {
        note("Scan");
        const int64_t hidden = 1 + pick(4);
        const auto some = [&](Dims dims) {
          return noise(DType::f32, dims, uint64_t(pick(1 << 30)));
        };
        return {scanned_rows(b, from.at, weight({1, hidden}), some({from.channels, hidden}),
                             some({hidden, hidden})),
                hidden};
      }
      case 28: {
        const int64_t exclusive = pick(2);
        note(fmt::format("CumProd {}", exclusive));
        // Factors near 1: a product that is 0 hides what comes after it.
        const Outlet factors = b.plus(b.times(b.op("Tanh", {from.at}), 0.1), 1);
        return {b.op("CumProd", {factors, b.ints({2})}, {{"exclusive", exclusive}}), from.channels};
      }
      case 29: {
        if (from.channels > 1) return pool_2d(from);
        note("Expand");
        return {b.op("Expand", {from.at, b.ints({1, 3, 1})}), 3};
      }
      case 30:
        return pool_2d(from);
      case 31: {
        // All channels of a row in one, and apart again.
        note("Flatten");
        const Outlet turned = b.transpose(from.at, {2, 0, 1});
        const Outlet flat = b.op("Flatten", {turned}, {{"axis", int64_t{1}}});
        return {b.transpose(b.op("Unsqueeze", {flat, b.ints({0})}), {0, 2, 1}), from.channels};
      }
      default: {
        note("Split");
        if (from.channels < 2) return {b.op("Identity", {from.at}), from.channels};
        const auto parts =
            b.ops("Split", {from.at, b.ints({1, from.channels - 1})}, {{"axis", int64_t{1}}}, 2);
        return {parts[1], from.channels - 1};
      }
    }
  }

  Wire conv(const Wire& from) {
    const int64_t k = 1 + pick(5), dilation = 1 + pick(3), stride = 1 + pick(3);
    const int64_t reach = (k - 1) * dilation + 1;
    const int64_t before = pick(3) == 0 ? reach - 1 : pick(reach),
                  after = pick(2) == 0 ? 0 : pick(reach);
    const int64_t group = pick(3) == 0 ? from.channels : 1;
    const int64_t to = group * (1 + pick(3));
    note(fmt::format("Conv k{} d{} s{} p{},{} g{}", k, dilation, stride, before, after, group));
    return {build_->op("Conv", {from.at, weight({to, from.channels / group, k}), weight({to})},
                       {{"strides", std::vector<int64_t>{stride}},
                        {"dilations", std::vector<int64_t>{dilation}},
                        {"pads", std::vector<int64_t>{before, after}},
                        {"group", group}}),
            to};
  }
  Wire conv_2d(const Wire& from) {
    note("Conv of images");
    Builder& b = *build_;
    const Outlet image = b.op("Unsqueeze", {from.at, b.ints({1})});  // [1, 1, channels, rows]
    const int64_t k = 1 + pick(3);
    const Outlet y = b.op("Conv", {image, weight({2, 1, 1, k})},
                          {{"pads", std::vector<int64_t>{0, pick(k), 0, pick(k)}}});
    const Outlet turned = b.transpose(y, {0, 3, 1, 2});
    const Outlet flat = b.op("Reshape", {turned, b.ints({1, -1, 2 * from.channels})});
    return {b.transpose(flat, {0, 2, 1}), 2 * from.channels};
  }
  Wire conv_3d(const Wire& from) {
    Builder& b = *build_;
    const int64_t k = 1 + pick(3), dilation = 1 + pick(2), stride = 1 + pick(2);
    const int64_t reach = (k - 1) * dilation + 1, before = pick(reach), after = pick(reach);
    const int64_t across = 1 + pick(std::min<int64_t>(2, from.channels));
    note(fmt::format("Conv of volumes k{} d{} s{} p{},{}", k, dilation, stride, before, after));
    // [1, 1, 1, channels, rows]
    const Outlet volume = b.op("Unsqueeze", {from.at, b.ints({1, 2})});
    const Outlet y = b.op("Conv", {volume, weight({2, 1, 1, across, k}), weight({2})},
                          {{"strides", std::vector<int64_t>{1, 1, stride}},
                           {"dilations", std::vector<int64_t>{1, 1, dilation}},
                           {"pads", std::vector<int64_t>{0, 0, before, 0, 0, after}}});
    const int64_t to = 2 * (from.channels - across + 1);
    const Outlet flat = b.op("Reshape", {b.transpose(y, {0, 4, 1, 2, 3}), b.ints({1, -1, to})});
    return {b.transpose(flat, {0, 2, 1}), to};
  }
  // Over rows alone, of [1, 1, channels, rows].
  Wire pool_2d(const Wire& from) {
    Builder& b = *build_;
    const int64_t k = 1 + pick(3), stride = 1 + pick(3), before = pick(k), after = pick(k);
    const bool powers = pick(2) == 0;
    note(fmt::format("{} of images k{} s{} p{},{}", powers ? "LpPool" : "MaxPool", k, stride,
                     before, after));
    const Outlet image = b.op("Unsqueeze", {from.at, b.ints({1})});
    const Outlet y = b.op(powers ? "LpPool" : "MaxPool", {image},
                          {{"kernel_shape", std::vector<int64_t>{1, k}},
                           {"strides", std::vector<int64_t>{1, stride}},
                           {"pads", std::vector<int64_t>{0, before, 0, after}}});
    return {b.op("Squeeze", {y, b.ints({1})}), from.channels};
  }
  // Overlapping frames of one channel, by a Fourier transform.
  Wire frames(const Wire& from) {
    Builder& b = *build_;
    const int64_t size = 2 + pick(5), step = 1 + pick(size);
    note(fmt::format("STFT {} by {}", size, step));
    const Outlet one = b.op("Slice", {from.at, b.ints({0}), b.ints({1}), b.ints({1})});
    const Outlet signal = b.transpose(one, {0, 2, 1});
    const Outlet spectra =
        b.op("STFT", {signal, b.number(double(step), DType::i64), weight({size})});
    const int64_t bins = 2 * (size / 2 + 1);
    return {b.transpose(b.op("Reshape", {spectra, b.ints({1, -1, bins})}), {0, 2, 1}), bins};
  }
  // What needs the whole axis before it gives a row.
  Wire whole_axis(const Wire& from) {
    Builder& b = *build_;
    switch (pick(8)) {
      case 0:
        note("Softmax of rows");
        return {b.op("Softmax", {from.at}, {{"axis", int64_t{2}}}), from.channels};
      case 1:
        note("less the mean");
        return {b.sub(from.at, b.mean(from.at, {2})), from.channels};
      case 2: {
        note("reversed GRU");
        const Outlet x = b.transpose(from.at, {2, 0, 1});
        const Outlet y = b.op("GRU", {x, weight({1, 6, from.channels}), weight({1, 6, 2})},
                              {{"hidden_size", int64_t{2}}, {"direction", std::string("reverse")}});
        return {b.transpose(b.op("Squeeze", {y, b.ints({1})}), {1, 2, 0}), 2};
      }
      case 3: {
        note("full attention");
        const Outlet x = b.transpose(from.at, {0, 2, 1});
        const Outlet y = b.op("Attention", {x, x, x},
                              {{"q_num_heads", int64_t{1}}, {"kv_num_heads", int64_t{1}}});
        return {b.transpose(y, {0, 2, 1}), from.channels};
      }
      case 4:
        note("backwards");
        return {
            b.op("Slice", {from.at, b.ints({-1}), b.ints({INT64_MIN}), b.ints({2}), b.ints({-1})}),
            from.channels};
      case 5:
        note("InstanceNormalization");
        return {b.op("InstanceNormalization",
                     {from.at, weight({from.channels}), weight({from.channels})}),
                from.channels};
      case 6:
        // Sums, since the last rows by themselves may be a Concat's.
        note("CumSum and Pad wrap");
        return {b.op("Pad",
                     {b.op("CumSum", {from.at, b.ints({2})}),
                      b.ints({0, 0, 1 + pick(3), 0, 0, pick(3)})},
                     {{"mode", std::string("wrap")}}),
                from.channels};
      default:
        note("reversed CumSum");
        return {b.op("CumSum", {from.at, b.ints({2})}, {{"reverse", int64_t{1}}}), from.channels};
    }
  }
  Wire pool(const Wire& from) {
    const int64_t k = 1 + pick(4), stride = 1 + pick(3), before = pick(k), after = pick(k);
    const bool average = pick(2) == 0;
    AttrMap attrs{{"kernel_shape", std::vector<int64_t>{k}},
                  {"strides", std::vector<int64_t>{stride}},
                  {"pads", std::vector<int64_t>{before, after}},
                  {"ceil_mode", pick(2)}};
    if (average) attrs.emplace("count_include_pad", pick(2));
    note(fmt::format("{} k{} s{} p{},{}", average ? "AveragePool" : "MaxPool", k, stride, before,
                     after));
    return {build_->op(average ? "AveragePool" : "MaxPool", {from.at}, std::move(attrs)),
            from.channels};
  }
  Wire transposed_conv(const Wire& from) {
    // With a factor in common, there are rows that no input meets.
    const int64_t k = 1 + pick(5), stride = 1 + pick(3), dilation = stride == 2 ? 1 : 1 + pick(2);
    const int64_t reach = (k - 1) * dilation + 1, before = pick(reach);
    const int64_t after = reach > stride ? pick(reach - stride + 1) : 0;
    const int64_t extra = stride > 1 ? pick(2) : 0, to = 1 + pick(3);
    note(fmt::format("ConvTranspose k{} s{} d{} p{},{} o{}", k, stride, dilation, before, after,
                     extra));
    return {build_->op("ConvTranspose", {from.at, weight({from.channels, to, k}), weight({to})},
                       {{"strides", std::vector<int64_t>{stride}},
                        {"dilations", std::vector<int64_t>{dilation}},
                        {"pads", std::vector<int64_t>{before, after}},
                        {"output_padding", std::vector<int64_t>{extra}}}),
            to};
  }
  Wire padded(const Wire& from) {
    const char* modes[] = {"constant", "edge", "reflect"};
    const std::string mode = modes[pick(3)];
    const int64_t before = pick(4), after = pick(4);
    note(fmt::format("Pad {} {},{}", mode, before, after));
    return {
        build_->op("Pad", {from.at, build_->ints({0, 0, before, 0, 0, after})}, {{"mode", mode}}),
        from.channels};
  }
  Wire resized(const Wire& from) {
    Builder& b = *build_;
    const bool linear = pick(2) == 0;
    const int64_t factor = linear ? int64_t{1} << (1 + pick(2)) : 2 + pick(3);
    const float scales[] = {1, 1, float(factor)};
    const Outlet wire = b.graph().constant(Tensor::of<float>({3}, std::span<const float>(scales)));
    note(fmt::format("Resize {} by {}", linear ? "linear" : "nearest", factor));
    AttrMap attrs{{"mode", std::string(linear ? "linear" : "nearest")}};
    if (!linear) {
      attrs.emplace("coordinate_transformation_mode", std::string("asymmetric"));
      attrs.emplace("nearest_mode", std::string("floor"));
    }
    return {b.op("Resize", {from.at, {}, wire}, std::move(attrs)), from.channels};
  }
  Wire recurrent(const Wire& from) {
    Builder& b = *build_;
    const int64_t hidden = 1 + pick(4), which = pick(3);
    const int64_t gates = which == 0 ? 4 : which == 1 ? 3 : 1;
    const char* name = which == 0 ? "LSTM" : which == 1 ? "GRU" : "RNN";
    note(name);
    const Outlet x = b.transpose(from.at, {2, 0, 1});
    gradient::Outlets in{x, weight({1, gates * hidden, from.channels}),
                         weight({1, gates * hidden, hidden}), weight({1, 2 * gates * hidden})};
    if (pick(2) == 0) {
      in.push_back({});
      in.push_back(weight({1, 1, hidden}));
    }
    const Outlet y = b.op(name, in, {{"hidden_size", hidden}});
    const Outlet flat = b.op("Squeeze", {y, b.ints({1})});
    return {b.transpose(flat, {1, 2, 0}), hidden};
  }
  Wire attention(const Wire& from) {
    Builder& b = *build_;
    const int64_t size = 2;
    const bool windowed = pick(2) == 0;
    const int64_t left = pick(20), right = windowed ? pick(3) : -1;
    note(fmt::format("Attention {},{}", windowed ? left : -1, right));
    const Outlet x = b.transpose(from.at, {0, 2, 1});
    gradient::Outlets in;
    for (int i = 0; i < 3; ++i)
      in.push_back(b.op("MatMul", {x, weight({from.channels, 2 * size})}));
    AttrMap attrs{{"q_num_heads", int64_t{2}}, {"kv_num_heads", int64_t{2}}};
    if (windowed) {
      attrs.emplace("left_window_size", left);
      attrs.emplace("right_window_size", right);
    } else {
      attrs.emplace("is_causal", int64_t{1});
    }
    return {b.transpose(b.op("Attention", in, std::move(attrs)), {0, 2, 1}), 2 * size};
  }
  Outlet reduced(const Wire& from) {
    if (pick(4) == 0) {
      const char* name = pick(2) == 0 ? "GlobalAveragePool" : "GlobalMaxPool";
      note(name);
      return build_->op(name, {from.at});
    }
    const char* names[] = {"ReduceSum", "ReduceMean", "ReduceMax",
                           "ReduceMin", "ReduceL2",   "ReduceProd"};
    const char* name = names[pick(6)];
    note(name);
    return build_->op(name, {from.at, build_->ints({2})}, {{"keepdims", pick(2)}});
  }

  uint64_t state_;
  const bool refused_;
  Builder* build_ = nullptr;
  Outlet fixed_;  // an input that does not move
  std::vector<Wire> wires_;
  std::string text_;
};

}  // namespace sdx::stream
