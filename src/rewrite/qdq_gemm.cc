// A product with constant weights between dequantisation and quantisation is computed in integers,
// like a convolution of images of one pixel.
//
//   QuantizeLinear(Gemm(DequantizeLinear(x), DequantizeLinear(w), b))
//     ->   Reshape(QLinearConv(Reshape(x), w, round(b / (sx * sw))))
//
// A rule of the standard numerics level, as qdq_conv is and for the same reasons.
#include "ops/list.h"
#include "ops/matmul/gemm.h"
#include "rewrite/quantised.h"
#include "rewrite/rules.h"

namespace sdx::rewrite {
namespace {

using typed::Node;
using typed::Outlet;
using Wires = std::optional<std::vector<Outlet>>;

// w as [out, in, 1, 1].
Tensor as_kernels(const Tensor& w, bool transposed) {
  const int64_t rows = w.dims()[0], columns = w.dims()[1];
  if (transposed) return w.reshaped({rows, columns, 1, 1});
  Tensor kernels = Tensor::make(w.type(), {columns, rows, 1, 1});
  const auto* from = static_cast<const uint8_t*>(w.raw());
  auto* to = kernels.data<uint8_t>();
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) to[j * rows + i] = from[i * columns + j];
  }
  return kernels;
}

Result<Outlet> reshaped(Rewriting& r, Outlet wire, std::vector<int64_t> shape, const Node& node) {
  const Node* stands_for[] = {&node};
  const Outlet to = r.made.constant(Tensor::of<int64_t>({int64_t(shape.size())}, shape));
  SDX_ASSIGN(std::vector<Outlet> wires, r.add(ops::reshape, {}, {wire, to}, 1, stands_for));
  return wires[0];
}

Result<Wires> qdq_gemm_at(Rewriting& r, uint32_t id) {
  const Node& node = r.old.node(id);
  if (node.use.op != &ops::quantize_linear) return Wires();
  const Node* gemm = r.only_from(node.inputs[0], ops::gemm);
  const auto y = quantised(r, node, node.outputs[0].type);
  if (gemm == nullptr || !y) return Wires();
  const auto& [alpha, beta, trans_a, transposed] = gemm->as<ops::Gemm>();
  if (alpha != 1 || beta != 1 || trans_a) return Wires();
  const auto x = dequantised(r, gemm->inputs[0]);
  const auto w = dequantised(r, gemm->inputs[1], 0);
  if (!x || !w || !r.old.fact(w->tensor).value) return Wires();
  // Scales per channel lie along axis 0, which is the output's only if w is transposed.
  if (!transposed && w->scale->count() != 1) return Wires();
  const Tensor kernels = as_kernels(*r.old.fact(w->tensor).value, transposed);

  std::optional<Tensor> integers;
  if (gemm->inputs.size() > 2 && gemm->inputs[2].present()) {
    const Fact& bias = r.old.fact(gemm->inputs[2]);
    if (!bias.value || bias.rank() != 1 || bias.value->count() != size_t(kernels.dims()[0]))
      return Wires();
    integers = integer_bias(*bias.value, *x, *w, *y);
    if (!integers) return Wires();
  }
  SDX_ASSIGN(const Outlet pixels,
             reshaped(r, r.now(x->tensor), {-1, kernels.dims()[1], 1, 1}, *gemm));
  std::vector<Outlet> inputs =
      qlinear_conv_inputs(r, pixels, r.made.constant(kernels), *x, *w, *y, integers);
  const Node* stands_for[] = {gemm, &node};
  SDX_ASSIGN(const std::vector<Outlet> image,
             r.add(ops::qlinear_conv, {}, std::move(inputs), 1, stands_for));
  SDX_ASSIGN(const Outlet wire, reshaped(r, image[0], {-1, kernels.dims()[0]}, node));
  return Wires({wire});
}

}  // namespace

const Rule qdq_gemm{"qdq_gemm", qdq_gemm_at};

}  // namespace sdx::rewrite
