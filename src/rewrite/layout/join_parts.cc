// A convolution with channels last takes what a Concat would join as it is.
//
//   ConvChannelsLast(Concat[channels](a, b, ...), w)   ->   ConvChannelsLast(a, w, b, ...)
#include <algorithm>

#include "ops/conv/channels_last.h"
#include "ops/list.h"
#include "ops/tensor/concat.h"
#include "rewrite/rules.h"

namespace sdx::rewrite {
namespace {

using typed::Node;
using typed::Outlet;
using Wires = std::optional<std::vector<Outlet>>;

constexpr size_t kMostParts = 16;
constexpr int64_t kTogether = 16;  // a vector of channels never straddles two parts

bool joins_channels(const Rewriting& r, const Node& concat) {
  const int64_t axis = concat.as<ops::Concat>().axis;
  const auto last = int64_t(concat.outputs[0].rank()) - 1;
  return (axis == last || axis == -1) && concat.inputs.size() <= kMostParts &&
         std::all_of(concat.inputs.begin(), concat.inputs.end(), [&](Outlet input) {
           const Dim& channels = r.old.fact(input).dim(size_t(last));
           return channels.is_const() && channels.value() % kTogether == 0;
         });
}

Result<Wires> join_parts_at(Rewriting& r, uint32_t id) {
  const Node& conv = r.old.node(id);
  if (!conv.is(ops::conv_channels_last) || conv.inputs.size() > 3) return Wires();
  const Node* concat = r.only_from(conv.inputs[0], ops::concat);
  const bool one_group =
      r.old.fact(conv.inputs[1]).dim(1) == r.old.fact(conv.inputs[0]).shape->back();
  if (concat == nullptr || !one_group || !joins_channels(r, *concat)) return Wires();
  std::vector<Outlet> inputs = {r.now(concat->inputs[0]), r.now(conv.inputs[1]), {}};
  if (conv.inputs.size() > 2) inputs[2] = r.now(conv.inputs[2]);
  for (size_t i = 1; i < concat->inputs.size(); ++i) inputs.push_back(r.now(concat->inputs[i]));
  const Node* stands_for[] = {concat, &conv};
  SDX_ASSIGN(std::vector<Outlet> y,
             r.add_like(conv, ops::conv_channels_last, {}, std::move(inputs), stands_for));
  return Wires(std::move(y));
}

}  // namespace

const Rule join_parts{"join_parts", join_parts_at};

}  // namespace sdx::rewrite
