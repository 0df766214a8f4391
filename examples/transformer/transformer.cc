// A transformer block, built in C++: checked as it is written, run on sentences of two lengths,
// saved as ONNX, read back, and equal in every bit.
#include <sardonyx/ops.h>

#include <cmath>
#include <cstdio>
#include <iostream>

namespace ops = sardonyx::ops;
using sardonyx::Graph;
using sardonyx::Tensor;
using sardonyx::Type;
using sardonyx::Wire;

constexpr int64_t kWidth = 64, kHeads = 4, kHidden = 256;

// Weights as training would leave them: small, centred, and here from a counter.
Tensor weights(sardonyx::Dims dims, uint32_t seed) {
  Tensor tensor(Type::f32, std::move(dims));
  for (float& value : tensor.values<float>()) {
    seed = seed * 1664525U + 1013904223U;
    value = (static_cast<float>(seed >> 8) * 0x1p-24F - 0.5F) * 0.2F;
  }
  return tensor;
}

Wire linear(Graph& g, const std::string& name, const Wire& x, int64_t in, int64_t out) {
  const auto seed = static_cast<uint32_t>(name.size() * 7919 + static_cast<size_t>(name[0]));
  const Wire w = g.constant(name + "_w", weights({in, out}, seed));
  const Wire b = g.constant(name + "_b", weights({out}, seed + 1));
  return ops::matmul(x, w) + b;
}

Wire normalised(Graph& g, const std::string& name, const Wire& x) {
  const Wire scale = g.constant(name + "_scale", weights({kWidth}, 11));
  return ops::layer_normalization(x, scale + 1.0F, {.epsilon = 1e-5F}).y;
}

// [N,T,width] -> [N,heads,T,width/heads]
Wire heads(const Wire& x) {
  return ops::transpose(ops::reshape(x, {0, 0, kHeads, kWidth / kHeads}), {.perm = {0, 2, 1, 3}});
}

Wire attention(Graph& g, const Wire& x) {
  const Wire q = heads(linear(g, "q", x, kWidth, kWidth));
  const Wire k = heads(linear(g, "k", x, kWidth, kWidth));
  const Wire v = heads(linear(g, "v", x, kWidth, kWidth));
  const float scale = 1 / std::sqrt(static_cast<float>(kWidth / kHeads));
  const Wire scores = ops::matmul(q, ops::transpose(k, {.perm = {0, 1, 3, 2}})) * scale;
  const Wire mixed = ops::matmul(ops::softmax(scores), v);
  const Wire joined = ops::reshape(ops::transpose(mixed, {.perm = {0, 2, 1, 3}}), {0, 0, kWidth});
  return linear(g, "out", joined, kWidth, kWidth);
}

Graph block() {
  // A function of its own in the saved model, called where it is used.
  const sardonyx::Function gelu("TanhGelu", [](const Wire& x) {
    const Wire inner = (x + x * x * x * 0.044715F) * 0.7978846F;
    return x * 0.5F * (ops::tanh(inner) + 1.0F);
  });
  Graph g("block");
  const Wire x = g.parameter("x", Type::f32, {"N", "T", kWidth});
  const Wire h = (x + attention(g, normalised(g, "norm1", x))).named("attended");
  const Wire wide = gelu(linear(g, "up", normalised(g, "norm2", h), kWidth, kHidden));
  g.result("y", h + linear(g, "down", wide, kHidden, kWidth));
  return g;
}

int main(int argc, char** argv) try {
  const std::string path = argc > 1 ? argv[1] : "block.onnx";
  const Graph g = block();
  std::cout << g.nodes().size() << " nodes; the last is " << g.nodes().back() << "\n";

  // What does not fit is refused where it is written.
  try {
    ops::matmul(g.parameters()[0], weights({kWidth + 1, 2}, 1));
    return 1;
  } catch (const sardonyx::Error& error) {
    std::cout << error.what() << "\n";
  }

  g.save(path);
  sardonyx::Session built = g.compile(), read = sardonyx::Model::load(path).compile();
  for (const int64_t length : {5, 12}) {
    const Tensor x = weights({2, length, kWidth}, static_cast<uint32_t>(length));
    const std::string digest = built.run({{"x", x}})["y"].digest();
    std::cout << "T = " << length << ": " << digest << "\n";
    if (read.run({{"x", x}})["y"].digest() != digest) {
      std::cout << "the file gives another answer\n";
      return 1;
    }
  }
} catch (const sardonyx::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
