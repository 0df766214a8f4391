// A quantised convolution adds other bytes to its own on its way.
//
//   QuantisedElementwise[add](QLinearConvChannelsLast(x, ...), other)
//     ->   QLinearConvChannelsLast(x, ..., other)
#include "ops/conv/channels_last.h"
#include "ops/list.h"
#include "ops/quant/quantised_elementwise.h"
#include "rewrite/rules.h"

namespace sdx::rewrite {
namespace {

using typed::Node;
using typed::Outlet;
using Wires = std::optional<std::vector<Outlet>>;

constexpr size_t kOther = 8;  // the last input of QLinearConvChannelsLast

// The input whose convolution takes the sum on, since nobody else reads it; of two, the later one.
std::optional<size_t> taker(const Rewriting& r, const Node& sum) {
  std::optional<size_t> found;
  for (size_t i = 0; i < 2; ++i) {
    const Node* conv = r.only_from(sum.inputs[i], ops::qlinear_conv_channels_last);
    if (conv == nullptr || conv->inputs.size() > kOther) continue;
    if (!found || sum.inputs[i].node > sum.inputs[*found].node) found = i;
  }
  return found;
}

Result<Wires> join_sums_at(Rewriting& r, uint32_t id) {
  const Node& node = r.old.node(id);
  if (!node.is(ops::quantised_elementwise) || node.inputs.size() != 2) return Wires();
  const Fact &one = r.old.fact(node.inputs[0]), &two = r.old.fact(node.inputs[1]);
  if (!one.has_rank() || !two.has_rank() || !(*one.shape == *two.shape)) return Wires();
  const auto& a = node.as<ops::QuantisedElementwise>();
  const std::optional<size_t> first = taker(r, node);
  if (!a.sum || !first) return Wires();
  std::vector<float> scales = a.scale;
  std::vector<int64_t> zeros;
  for (const uint8_t zero : a.zero)
    zeros.push_back(node.outputs[0].type == DType::i8 ? int64_t(int8_t(zero)) : zero);
  if (*first == 1) {
    std::swap(scales[0], scales[1]);
    std::swap(zeros[0], zeros[1]);
  }
  const Node& conv = r.old.node(node.inputs[*first].node);
  std::vector<Outlet> inputs;
  for (const Outlet input : conv.inputs) inputs.push_back(r.now(input));
  inputs.resize(kOther);
  inputs.push_back(r.now(node.inputs[1 - *first]));
  const Node* stands_for[] = {&conv, &node};
  SDX_ASSIGN(std::vector<Outlet> y, r.add_like(conv, ops::qlinear_conv_channels_last,
                                               {{"sum_code", a.program.text()},
                                                {"sum_scales", std::move(scales)},
                                                {"sum_zeros", std::move(zeros)}},
                                               std::move(inputs), stands_for));
  return Wires(std::move(y));
}

}  // namespace

const Rule join_sums{"join_sums", join_sums_at};

}  // namespace sdx::rewrite
