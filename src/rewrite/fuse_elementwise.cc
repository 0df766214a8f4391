// Element-wise operations that feed each other become one Elementwise node.
//
//   y = f(x); z = g(y, b)   ->   z = Elementwise[f 0; g 2 1](x, b)
//
// The program performs the same rounded operations in the same order. 16-bit types round after
// every operation, as the separate operators did when they stored their results.
#include <algorithm>

#include "ops/elementwise/elementwise.h"
#include "ops/list.h"
#include "rewrite/rules.h"

namespace sdx::rewrite {
namespace {

using typed::Node;
using typed::Outlet;

// A program under construction on wires of the new graph.
struct Draft {
  std::vector<Outlet> inputs;
  std::vector<Program::Instruction> code;  // operands >= kResult are results
  static constexpr uint16_t kResult = 1000;

  uint16_t input(Outlet outlet) {
    const auto at = std::find(inputs.begin(), inputs.end(), outlet);
    if (at != inputs.end()) return uint16_t(at - inputs.begin());
    inputs.push_back(outlet);
    return uint16_t(inputs.size() - 1);
  }
  uint16_t push(Program::Instruction instruction) {
    code.push_back(instruction);
    return uint16_t(kResult + code.size() - 1);
  }
  std::vector<std::string> text() const {
    std::vector<Program::Instruction> fixed = code;
    for (Program::Instruction& i : fixed) {
      for (uint16_t* operand : {&i.a, &i.b}) {
        if (*operand >= kResult) *operand = uint16_t(*operand - kResult + inputs.size());
      }
    }
    return Program(inputs.size(), std::move(fixed)).text();
  }
};

// A program of one operation on its inputs is as good as an operator.
std::optional<Pointwise> only_instruction(const ops::Elementwise& a) {
  if (a.program.code().size() != 1) return std::nullopt;
  const Program::Instruction& i = a.program.code()[0];
  if (a.program.inputs() != (i.binary ? 2 : 1) || i.a != 0 || (i.binary && i.b != 1))
    return std::nullopt;
  return Pointwise{i.binary ? Pointwise::Kind::binary : Pointwise::Kind::unary, i.op, i.p, i.q};
}

std::optional<Pointwise> instruction_of(const typed::Graph& graph, const Node& node) {
  if (node.kind == Node::Kind::op && node.is(ops::elementwise))
    return only_instruction(node.as<ops::Elementwise>());
  if (node.kind != Node::Kind::op || node.op().pointwise == nullptr ||
      !runs_in_float(node.outputs[0].type)) {
    return std::nullopt;
  }
  Facts in;
  for (const Outlet input : node.inputs) {
    in.push_back(graph.fact(input));
    if (input.present() && !in.back().has_rank()) return std::nullopt;
  }
  return node.op().pointwise(node.resolved.get(), in);
}

// Adds the operations of `node` (of the new graph) to the draft; `operands` are what its inputs
// became.
std::optional<uint16_t> append(Draft& draft, const typed::Graph& graph, const Node& node,
                               const std::vector<uint16_t>& operands) {
  if (node.use.op == &ops::elementwise) {
    std::vector<uint16_t> results;
    const auto map = [&](uint16_t operand) {
      return operand < operands.size() ? operands[operand] : results[operand - operands.size()];
    };
    for (Program::Instruction i : node.as<ops::Elementwise>().program.code()) {
      i.a = map(i.a);
      i.b = i.binary ? map(i.b) : 0;
      results.push_back(draft.push(i));
    }
    return results.back();
  }
  const std::optional<Pointwise> op = instruction_of(graph, node);
  if (!op) return std::nullopt;
  Program::Instruction i{};
  i.binary = op->kind == Pointwise::Kind::binary;
  i.op = uint8_t(op->code);
  i.a = operands[0];
  i.b = i.binary ? operands[1] : uint16_t(0);
  i.p = op->p0;
  i.q = op->p1;
  uint16_t result = draft.push(i);
  const DType type = node.outputs[0].type;
  if (type != DType::f32) {
    const UnaryOp round = type == DType::f16 ? UnaryOp::round_to_f16 : UnaryOp::round_to_bf16;
    result = draft.push({false, uint8_t(round), result, 0, 0, 0});
  }
  return result;
}

size_t operands_of(const Pointwise& op) { return op.kind == Pointwise::Kind::binary ? 2 : 1; }

// Products can run a program on their blocks: an operation that reads one is worth a program of its
// own.
bool is_product(const Node& node) {
  return node.kind == Node::Kind::op &&
         std::any_of(node.op().kernels.begin(), node.op().kernels.end(),
                     [](const Op::AnyKernel& k) { return k.epilogue != nullptr; });
}

Result<std::optional<std::vector<Outlet>>> fuse_elementwise_at(Rewriting& r, uint32_t id) {
  const Node& node = r.old.node(id);
  const std::optional<Pointwise> op = instruction_of(r.old, node);
  if (!op) return std::optional<std::vector<Outlet>>();
  Draft draft;
  std::vector<uint16_t> operands;
  std::vector<const Node*> stands_for;
  bool fused = false;  // or worth a program all the same
  for (size_t i = 0; i < operands_of(*op); ++i) {
    const Outlet now = r.now(node.inputs[i]);
    const Node& producer = r.made.node(now.node);
    const bool inlines = producer.kind == Node::Kind::op && r.uses(node.inputs[i]) == 1 &&
                         r.made.fact(now).type == node.outputs[0].type &&
                         r.made.fact(now).has_rank() && node.outputs[0].has_rank() &&
                         *r.made.fact(now).shape == *node.outputs[0].shape &&
                         (producer.use.op == &ops::elementwise || instruction_of(r.made, producer));
    if (inlines) {
      std::vector<uint16_t> inner;
      const size_t reads = producer.use.op == &ops::elementwise
                               ? producer.inputs.size()
                               : operands_of(*instruction_of(r.made, producer));
      for (size_t k = 0; k < reads; ++k) inner.push_back(draft.input(producer.inputs[k]));
      if (const auto result = append(draft, r.made, producer, inner)) {
        operands.push_back(*result);
        stands_for.push_back(&producer);
        fused = true;
        continue;
      }
    }
    fused |= is_product(producer) && r.uses(node.inputs[i]) == 1;
    operands.push_back(draft.input(now));
  }
  stands_for.push_back(&node);
  if (!fused || !append(draft, r.old, node, operands)) return std::optional<std::vector<Outlet>>();
  if (draft.inputs.size() > Program::kMostInputs ||
      draft.code.size() > Program::kMostInstructions) {
    return std::optional<std::vector<Outlet>>();
  }
  SDX_ASSIGN(std::vector<Outlet> outlets,
             r.add(ops::elementwise, {{"code", draft.text()}}, draft.inputs, 1, stands_for));
  return std::optional(std::move(outlets));
}

}  // namespace

const Rule fuse_elementwise{"fuse_elementwise", fuse_elementwise_at};

}  // namespace sdx::rewrite
