// Convolutions that feed each other keep their channels in blocks of 16
// (kernel/conv/blocked/conv_blocked.h).
//
//   z = Conv(Relu(Conv(x, v)), w)   ->   z = FromBlocked(ConvBlocked(Relu(ConvBlocked(x, v)), w))
//
// A wire [N, C, H, W] becomes [N, ceil(C / 16), H, W, 16]. Element-wise operations, poolings, means
// over planes and Concat work on that shape as they are. Nodes that can take part and are connected
// form an island; it changes its layout if its convolutions outnumber the wires to be converted at
// its shores by more than two to one.
#include <algorithm>
#include <array>
#include <numeric>

#include "kernel/conv/blocked/conv_blocked.h"
#include "ops/conv/blocked.h"
#include "ops/list.h"
#include "rewrite/rewrite.h"

namespace sdx::rewrite {
namespace {

using typed::Graph;
using typed::Node;
using typed::Outlet;

constexpr auto kLanes = int64_t(kBlockLanes);
// Fewer output channels leave most lanes of a block empty.
constexpr int64_t kFewestChannels = 8;

enum class Role : uint8_t { none, conv, pointwise, pool, mean, concat };

bool is_image(const Fact& fact) {
  return fact.is_tensor() && fact.type == DType::f32 && fact.has_rank() && fact.rank() == 4 &&
         fact.dim(1).is_const() && fact.dim(1).value() > 0;
}
bool is_vector(const Fact& fact) { return fact.dim(2).is_const(1) && fact.dim(3).is_const(1); }
bool is_one(const Fact& fact) { return fact.has_rank() && product(*fact.shape).is_const(1); }

int64_t at(const std::vector<int64_t>& values, size_t i, int64_t otherwise) {
  return i < values.size() ? values[i] : otherwise;
}

bool conv_can(const Graph& graph, const Node& node) {
  const Fact &x = graph.fact(node.inputs[0]), &w = graph.fact(node.inputs[1]);
  if (!is_image(x) || !is_image(node.outputs[0]) || w.value == nullptr) return false;
  if (node.inputs.size() > 2 && node.inputs[2].present() &&
      graph.fact(node.inputs[2]).value == nullptr) {
    return false;
  }
  const std::vector<int64_t> strides = node.use.ints_or_empty("strides"),
                             dilations = node.use.ints_or_empty("dilations");
  ConvShape s;
  s.groups = size_t(node.use.i("group"));
  s.in_channels = size_t(x.dim(1).value());
  s.out_channels = size_t(w.dim(0).value());
  for (size_t i : {0, 1}) {
    s.kernel[i + 1] = size_t(w.dim(i + 2).value());
    s.stride[i + 1] = size_t(at(strides, i, 1));
    s.dilation[i + 1] = size_t(at(dilations, i, 1));
  }
  if (!is_vector(node.outputs[0]) && w.dim(0).value() < kFewestChannels) return false;
  return conv_blocked_fits(s, false);
}

// Every operand is an image of the result's shape, a vector of its channels, or one number.
bool pointwise_can(const Graph& graph, const Node& node) {
  const Fact& out = node.outputs[0];
  if (!is_image(out) || out.dim(1).is_const(1)) return false;
  bool has_image = false;
  for (const Outlet input : node.inputs) {
    if (!input.present()) continue;
    const Fact& fact = graph.fact(input);
    if (is_one(fact)) continue;
    if (!is_image(fact) || !(fact.dim(1) == out.dim(1))) return false;
    const bool same = *fact.shape == *out.shape;
    has_image |= same;
    if (!same && (!is_vector(fact) || !(fact.dim(0).is_const(1) || fact.dim(0) == out.dim(0))))
      return false;
  }
  if (!has_image) return false;
  if (node.use.op == &ops::elementwise) return true;
  Facts in;
  for (const Outlet input : node.inputs) in.push_back(graph.fact(input));
  return node.op().pointwise != nullptr && node.op().pointwise(node.resolved.get(), in).has_value();
}

bool pool_can(const Graph& graph, const Node& node) {
  return is_image(graph.fact(node.inputs[0])) && is_image(node.outputs[0]) &&
         node.outputs.size() == 1 && node.use.s("auto_pad") == "NOTSET" &&
         graph.fact(node.inputs[0]).dim(1).value() >= kFewestChannels;
}

bool mean_can(const Graph& graph, const Node& node) {
  if (!is_image(graph.fact(node.inputs[0])) || !is_image(node.outputs[0])) return false;
  if (node.use.op == &ops::global_average_pool) return true;
  std::optional<std::vector<int64_t>> axes = node.use.ints_or_empty("axes");
  if (node.inputs.size() > 1 && node.inputs[1].present())
    axes = graph.fact(node.inputs[1]).constant_integers();
  if (!axes || axes->size() != 2 || node.use.i("keepdims") == 0) return false;
  std::array<int64_t, 2> sorted{};
  for (size_t i : {0, 1}) sorted[i] = (*axes)[i] < 0 ? (*axes)[i] + 4 : (*axes)[i];
  std::sort(sorted.begin(), sorted.end());
  return sorted[0] == 2 && sorted[1] == 3;
}

bool concat_can(const Graph& graph, const Node& node) {
  const int64_t axis = node.use.i_or("axis", 1);
  if (!is_image(node.outputs[0]) || (axis != 1 && axis != -3)) return false;
  return std::all_of(node.inputs.begin(), node.inputs.end(), [&](Outlet input) {
    return is_image(graph.fact(input)) && graph.fact(input).dim(1).value() % kLanes == 0;
  });
}

Role role_of(const Graph& graph, const Node& node) {
  if (node.kind != Node::Kind::op) return Role::none;
  const Op* op = node.use.op;
  if (op == &ops::conv) return conv_can(graph, node) ? Role::conv : Role::none;
  if (op == &ops::max_pool || op == &ops::average_pool)
    return pool_can(graph, node) ? Role::pool : Role::none;
  if (op == &ops::reduce_mean || op == &ops::global_average_pool)
    return mean_can(graph, node) ? Role::mean : Role::none;
  if (op == &ops::concat) return concat_can(graph, node) ? Role::concat : Role::none;
  return pointwise_can(graph, node) ? Role::pointwise : Role::none;
}

// Whether input i of a node that takes part is an image or a vector of channels.
bool takes_blocks(const Graph& graph, const Node& node, Role role, size_t i) {
  if (!node.inputs[i].present()) return false;
  if (role == Role::concat) return true;
  if (role == Role::pointwise) return !is_one(graph.fact(node.inputs[i]));
  return i == 0;
}

// A convolution of a few planes reads them as they are.
bool reads_planes(const Graph& graph, const Node& node, Role role) {
  const Fact& x = graph.fact(node.inputs[0]);
  return role == Role::conv && x.dim(1).value() < kLanes && node.use.i("group") == 1;
}

// The roles of the nodes on islands that are worth it.
std::vector<Role> choose(const Graph& graph) {
  const size_t count = graph.size();
  std::vector<Role> roles(count);
  for (uint32_t id = 0; id < count; ++id) roles[id] = role_of(graph, graph.node(id));
  std::vector<uint32_t> parent(count);
  std::iota(parent.begin(), parent.end(), 0);
  const auto island = [&](uint32_t id) {
    while (parent[id] != id) id = parent[id] = parent[parent[id]];
    return id;
  };
  for (uint32_t id = 0; id < count; ++id) {
    const Node& node = graph.node(id);
    for (size_t i = 0; roles[id] != Role::none && i < node.inputs.size(); ++i) {
      if (takes_blocks(graph, node, roles[id], i) && roles[node.inputs[i].node] != Role::none)
        parent[island(id)] = island(node.inputs[i].node);
    }
  }
  std::vector<size_t> convs(count, 0), shores(count, 0);
  std::vector<bool> enters(count, false), leaves(count, false);
  for (uint32_t id = 0; id < count; ++id) {
    const Node& node = graph.node(id);
    convs[island(id)] += roles[id] == Role::conv ? 1 : 0;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const Outlet input = node.inputs[i];
      if (!input.present()) continue;
      const bool from_island = roles[input.node] != Role::none;
      const bool to_island = roles[id] != Role::none && takes_blocks(graph, node, roles[id], i);
      if (from_island && !to_island) leaves[input.node] = true;
      if (from_island || !to_island || enters[input.node] ||
          graph.node(input.node).kind == Node::Kind::constant ||
          reads_planes(graph, node, roles[id]) || is_vector(graph.fact(input))) {
        continue;
      }
      enters[input.node] = true;
      ++shores[island(id)];
    }
  }
  for (const typed::Output& output : graph.outputs()) {
    if (roles[output.outlet.node] != Role::none) leaves[output.outlet.node] = true;
  }
  for (uint32_t id = 0; id < count; ++id) {
    if (leaves[id] && !is_vector(graph.node(id).outputs[0])) ++shores[island(id)];
  }
  std::vector<Role> chosen = roles;
  for (uint32_t id = 0; id < count; ++id) {
    if (convs[island(id)] <= 2 * shores[island(id)]) chosen[id] = Role::none;
  }
  return chosen;
}

// The new graph, with each old wire in one or both layouts.
struct Maker : typed::Remake {
  Maker(const Graph& graph, const std::vector<Role>& chosen)
      : Remake(graph, "blocked_layout"),
        roles(chosen),
        plain(graph.size()),
        blocked(graph.size()) {}

  const std::vector<Role>& roles;
  std::vector<std::vector<Outlet>> plain, blocked;  // by old node and slot; absent: not made yet

  Result<Outlet> add(const Op& op, AttrMap attrs, std::vector<Outlet> inputs, const Node* node) {
    sdx::Node use;
    use.op = &op;
    use.opset = op.signatures().back().since;
    use.attrs = std::move(attrs);
    use.wanted.assign(1, true);
    if (node != nullptr) use.name = node->use.name;
    SDX_ASSIGN(const std::vector<Outlet> wires,
               made.add(std::move(use), std::move(inputs),
                        node == nullptr ? std::vector<std::string>{} : node->origin));
    return wires[0];
  }

  Result<Outlet> as_plain(Outlet wire) {
    if (!wire.present()) return wire;
    Outlet& now = plain[wire.node][wire.slot];
    if (!now.present()) {
      SDX_ASSIGN(now, add(ops::from_blocked, {{"channels", old.fact(wire).dim(1).value()}},
                          {blocked[wire.node][wire.slot]}, nullptr));
    }
    return now;
  }
  Result<Outlet> as_blocked(Outlet wire) {
    Outlet& now = blocked[wire.node][wire.slot];
    if (!now.present()) {
      SDX_ASSIGN(now, add(ops::to_blocked, {}, {plain[wire.node][wire.slot]}, nullptr));
    }
    return now;
  }

  Result<Outlet> conv(const Node& node) {
    AttrMap attrs = node.use.attrs;
    const Outlet x = node.inputs[0];
    const bool planes = reads_planes(old, node, Role::conv) && plain[x.node][x.slot].present();
    attrs["plain"] = int64_t{planes};
    std::vector<Outlet> inputs(node.inputs.size());
    SDX_ASSIGN(inputs[0], planes ? as_plain(x) : as_blocked(x));
    for (size_t i = 1; i < inputs.size(); ++i) {
      SDX_ASSIGN(inputs[i], as_plain(node.inputs[i]));
    }
    return add(ops::conv_blocked, std::move(attrs), std::move(inputs), &node);
  }

  // The window has one more axis, along which it does nothing.
  Result<Outlet> pool(const Node& node) {
    AttrMap attrs = node.use.attrs;
    attrs.erase("auto_pad");
    std::vector<int64_t> pads = node.use.ints_or_empty("pads");
    pads.resize(4, 0);
    attrs["pads"] = std::vector<int64_t>{pads[0], pads[1], 0, pads[2], pads[3], 0};
    for (const char* name : {"kernel_shape", "strides", "dilations"}) {
      std::vector<int64_t> values = node.use.ints_or_empty(name);
      if (values.empty()) continue;
      values.push_back(1);
      attrs[name] = values;
    }
    SDX_ASSIGN(const Outlet x, as_blocked(node.inputs[0]));
    return add(*node.use.op, std::move(attrs), {x}, &node);
  }

  Result<Outlet> mean(const Node& node) {
    SDX_ASSIGN(const Outlet x, as_blocked(node.inputs[0]));
    const Outlet axes = made.constant(Tensor::of<int64_t>({2}, {2, 3}));
    return add(ops::reduce_mean, {}, {x, axes}, &node);
  }

  // The node itself, on other shapes.
  Result<Outlet> same(const Node& node, Role role) {
    std::vector<Outlet> inputs(node.inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      SDX_ASSIGN(inputs[i], takes_blocks(old, node, role, i) ? as_blocked(node.inputs[i])
                                                             : as_plain(node.inputs[i]));
    }
    sdx::Node use = node.use;
    if (role == Role::concat) use.attrs["axis"] = int64_t{1};
    SDX_ASSIGN(const std::vector<Outlet> wires,
               made.add(std::move(use), std::move(inputs), node.origin));
    return wires[0];
  }

  Status take(uint32_t id) {
    const Node& node = old.node(id);
    Place here = at(id);
    if (roles[id] != Role::none) here.by("blocked_layout");
    plain[id].resize(node.outputs.size());
    blocked[id].resize(node.outputs.size());
    if (node.kind == Node::Kind::source) {
      plain[id] = {made.source(node.use.name, node.outputs[0])};
    } else if (node.kind == Node::Kind::constant) {
      plain[id] = {made.constant(*node.outputs[0].value, node.use.name)};
    } else if (roles[id] == Role::conv) {
      SDX_ASSIGN(blocked[id][0], conv(node));
    } else if (roles[id] == Role::pool) {
      SDX_ASSIGN(blocked[id][0], pool(node));
    } else if (roles[id] == Role::mean) {
      SDX_ASSIGN(blocked[id][0], mean(node));
    } else if (roles[id] != Role::none) {
      SDX_ASSIGN(blocked[id][0], same(node, roles[id]));
    } else {
      std::vector<Outlet> inputs(node.inputs.size());
      for (size_t i = 0; i < inputs.size(); ++i) {
        SDX_ASSIGN(inputs[i], as_plain(node.inputs[i]));
      }
      SDX_ASSIGN(plain[id], made.add(node.use, std::move(inputs), node.origin));
    }
    return ok();
  }
};

}  // namespace

Result<Graph> blocked_layout(const Graph& graph) {
  const std::vector<Role> roles = choose(graph);
  if (std::none_of(roles.begin(), roles.end(), [](Role role) { return role == Role::conv; }))
    return graph;
  Maker maker(graph, roles);
  for (uint32_t id = 0; id < graph.size(); ++id) SDX_TRY(maker.take(id));
  for (const typed::Output& output : graph.outputs()) {
    const auto here = maker.at(output.outlet.node);
    SDX_ASSIGN(const Outlet wire, maker.as_plain(output.outlet));
    maker.made.output(output.name, wire);
  }
  return maker.finish();
}

}  // namespace sdx::rewrite
