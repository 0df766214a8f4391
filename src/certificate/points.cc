#include "certificate/points.h"

#include "kernel/program/program.h"
#include "ops/list.h"

namespace sdx::certificate {
namespace {

using typed::Graph;
using typed::Node;

// "clip 0 0x0p+0 0x1.8p+2" is clip with two parameters; "add 0 1" is add of two operands.
std::string function_of(Program::Instruction i) {
  i.a = 0;
  i.b = i.binary ? 1 : 0;
  return Program(i.binary ? 2 : 1, {i}).text()[0];
}

std::vector<Point> points_of_program(const Program& program, size_t made,
                                     const std::vector<size_t>& operands, size_t& next) {
  std::vector<Point> points;
  std::vector<size_t> values = operands;
  for (const Program::Instruction& i : program.code()) {
    const bool last = &i == &program.code().back();
    std::vector<size_t> args{values[i.a]};
    if (i.binary) args.push_back(values[i.b]);
    values.push_back(last ? made : next++);
    points.push_back({values.back(), function_of(i), std::move(args)});
  }
  return points;
}

}  // namespace

std::optional<std::vector<Point>> points_of(const Graph& graph, const Node& node, size_t made,
                                            const std::vector<size_t>& operands, size_t& next) {
  if (node.kind != Node::Kind::op) return std::nullopt;
  if (node.use.op == &ops::elementwise) {
    const auto program =
        Program::parse(node.inputs.size(), node.use.get<std::vector<std::string>>("code"));
    if (!program || program->code().empty()) return std::nullopt;
    return points_of_program(*program, made, operands, next);
  }
  if (node.op().pointwise == nullptr) return std::nullopt;
  const auto op = node.op().pointwise(node.resolved.get(), graph.facts(node.inputs));
  const size_t reads = op && op->kind == Pointwise::Kind::binary ? 2 : 1;
  if (!op || operands.size() < reads) return std::nullopt;
  const DType type = node.outputs[0].type;
  const bool rounded = type == DType::f16 || type == DType::bf16;
  const size_t first = rounded ? next++ : made;
  std::vector<Point> points;
  points.push_back({first,
                    function_of({reads == 2, uint8_t(op->code), 0, 0, op->p0, op->p1}),
                    {operands.begin(), operands.begin() + long(reads)}});
  if (rounded) {
    const UnaryOp round = type == DType::f16 ? UnaryOp::round_to_f16 : UnaryOp::round_to_bf16;
    points.push_back({made, function_of({false, uint8_t(round), 0, 0, 0, 0}), {first}});
  }
  return points;
}

}  // namespace sdx::certificate
