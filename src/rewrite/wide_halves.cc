// Convolutions of 16-bit floats, and what stands between them, run on floats.
//
//   Conv[f16](x, w)   ->   Cast[f16](Elementwise[round_to_f16](Conv[f32](Cast[f32](x), w')))
//
// 16-bit types widen exactly, operators compute in float and round once: the float convolution and
// the rounding after it give the same bits. A Cast back and forth between two such nodes goes, so
// that the wire between them is of floats, each one a 16-bit number, and convolutions have their
// layouts and kernels. Weights are widened once.
#include <algorithm>
#include <array>

#include "ops/elementwise/elementwise.h"
#include "ops/list.h"
#include "rewrite/rules.h"

namespace sdx::rewrite {
namespace {

using typed::Node;
using typed::Outlet;
using Wires = std::optional<std::vector<Outlet>>;

bool is_half(DType type) { return type == DType::f16 || type == DType::bf16; }

UnaryOp rounding_to(DType type) {
  return type == DType::f16 ? UnaryOp::round_to_f16 : UnaryOp::round_to_bf16;
}

bool is_one_of(const Node& node, std::span<const Op* const> ops) {
  return std::any_of(ops.begin(), ops.end(), [&](const Op* op) { return node.is(*op); });
}

// Gives only numbers that it is given.
bool chooses(const Node& node) {
  static constexpr std::array kOps = {&ops::max_pool, &ops::concat, &ops::global_max_pool};
  return is_one_of(node, kOps);
}

// Computes in float and rounds once.
bool computes(const Rewriting& r, const Node& node) {
  static constexpr std::array kOps = {&ops::average_pool, &ops::global_average_pool,
                                      &ops::reduce_mean};
  if (is_one_of(node, kOps)) return true;
  return !node.is(ops::cast) && node.op().pointwise != nullptr &&
         node.op().pointwise(node.resolved.get(), r.old.facts(node.inputs)).has_value();
}

// Whether all numbers of a wire of floats are of the 16-bit type.
bool holds(const typed::Graph& graph, Outlet wire, DType type) {
  const Node& node = graph.node(wire.node);
  if (node.kind != Node::Kind::op) return false;
  if (node.is(ops::cast)) return graph.fact(node.inputs[0]).type == type;
  if (node.is(ops::elementwise)) {
    const Program::Instruction& last = node.as<ops::Elementwise>().program.code().back();
    return !last.binary && last.op == uint8_t(rounding_to(type));
  }
  return chooses(node) && std::all_of(node.inputs.begin(), node.inputs.end(),
                                      [&](Outlet input) { return holds(graph, input, type); });
}

// The floats that an old 16-bit wire is made of in the new graph, if there are any.
std::optional<Outlet> floats_of(const Rewriting& r, Outlet old) {
  const Outlet now = r.now(old);
  const Node& node = r.made.node(now.node);
  if (node.kind != Node::Kind::op || !node.is(ops::cast)) return std::nullopt;
  const Outlet from = node.inputs[0];
  if (r.made.fact(from).type != DType::f32 || !holds(r.made, from, r.made.fact(now).type))
    return std::nullopt;
  return from;
}

Result<Outlet> cast(Rewriting& r, Outlet wire, DType type, const Node& node) {
  const Node* stands_for[] = {&node};
  SDX_ASSIGN(const std::vector<Outlet> wires,
             r.add(ops::cast, {{"to", int64_t(type)}}, {wire}, 1, stands_for));
  return wires[0];
}

Tensor floats(const Tensor& halves) {
  Tensor wide = Tensor::make(DType::f32, halves.dims());
  const auto* from = static_cast<const uint16_t*>(halves.raw());
  const auto widen = halves.type() == DType::f16 ? &f16_to_f32 : &bf16_to_f32;
  std::transform(from, from + halves.count(), wide.data<float>(), widen);
  return wide;
}

Result<Outlet> widened(Rewriting& r, Outlet old, const Node& node) {
  if (const auto& value = r.old.fact(old).value) return r.made.constant(floats(*value));
  if (const auto wide = floats_of(r, old)) return *wide;
  return cast(r, r.now(old), DType::f32, node);
}

Result<Outlet> rounded(Rewriting& r, Outlet wire, DType type, const Node& node) {
  const Program program(1, {{false, uint8_t(rounding_to(type)), 0}});
  const Node* stands_for[] = {&node};
  SDX_ASSIGN(const std::vector<Outlet> wires,
             r.add(ops::elementwise, {{"code", program.text()}}, {wire}, 1, stands_for));
  return wires[0];
}

// A convolution of known weights; of other nodes, those that read what such a one has made.
bool applies(const Rewriting& r, const Node& node) {
  if (node.kind != Node::Kind::op || node.outputs.size() != 1) return false;
  const DType type = node.outputs[0].type;
  if (!is_half(type) || !node.outputs[0].has_rank()) return false;
  if (node.is(ops::conv)) return r.old.fact(node.inputs[1]).value != nullptr;
  return (chooses(node) || computes(r, node)) &&
         std::any_of(node.inputs.begin(), node.inputs.end(), [&](Outlet input) {
           return input.present() && r.old.fact(input).type == type &&
                  floats_of(r, input).has_value();
         });
}

Result<Wires> wide_halves_at(Rewriting& r, uint32_t id) {
  const Node& node = r.old.node(id);
  if (!applies(r, node)) return Wires();
  const DType type = node.outputs[0].type;
  std::vector<Outlet> inputs;
  for (const Outlet input : node.inputs) {
    inputs.push_back(r.now(input));
    if (input.present() && r.old.fact(input).type == type) {
      SDX_ASSIGN(inputs.back(), widened(r, input, node));
    }
  }
  SDX_ASSIGN(std::vector<Outlet> wires, r.made.add(node.use, std::move(inputs), node.origin));
  if (!chooses(node)) {
    SDX_ASSIGN(wires[0], rounded(r, wires[0], type, node));
  }
  SDX_ASSIGN(wires[0], cast(r, wires[0], type, node));
  return Wires(std::move(wires));
}

}  // namespace

const Rule wide_halves{"wide_halves", wide_halves_at};

}  // namespace sdx::rewrite
