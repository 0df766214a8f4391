// The subgraphs of If, Loop, Scan and SequenceMap against what these operators give and take.
#include "check/checker.h"

namespace sdx::check {
namespace {

Fact declared(const model::ValueInfo& info) {
  if (!info.type) return {};
  return fact_of(*info.type);
}

const model::Graph* graph_of(const model::Node& node, std::string_view attribute) {
  const model::Attribute* a = node.find(attribute);
  return a == nullptr || !a->g ? nullptr : a->g.get();
}

// While running, an optional that holds a value is that value.
bool optional(const Fact& fact) { return fact.present() && fact.kind == Fact::Kind::optional; }

// The type of a value, without its shape.
Fact plain(Fact fact) {
  fact.shape.reset();
  return fact;
}

}  // namespace

void Checker::bodies(const model::Node& node, const Callee& called, Scope& scope,
                     const Place& place) {
  if (called.op == nullptr || called.signature == nullptr || !canonical(node.domain).empty()) {
    return;
  }
  if (node.op_type == "If") {
    if_branches(node, scope, place);
  } else if (node.op_type == "Loop") {
    loop_body(node, scope, place);
  } else if (node.op_type == "Scan") {
    scan_body(node, called.signature->since < 9 ? 1 : 0, scope, place);
  } else if (node.op_type == "SequenceMap") {
    if (const model::Graph* body = graph_of(node, "body")) {
      body_counts(node, *body, node.input.size(), node.output.size(), 0, place);
    }
  }
}

bool Checker::body_counts(const model::Node& node, const model::Graph& body, size_t inputs,
                          size_t least_outputs, size_t not_given, const Place& place) {
  size_t formal = body.input.size();
  if (model_.ir_version <= 3) {  // constants of the body stand among its inputs, at the end
    for (const model::ValueInfo& input : body.input) {
      for (const model::TensorData& init : body.initializer) formal -= init.name == input.name;
    }
  }
  if (formal != inputs) {
    report(rule::body_signature, place, "the subgraph {} has {} inputs; {} gives it {}",
           in_quotes(body.name), formal, node.op_type, inputs);
    return false;
  }
  if (body.output.size() < least_outputs || body.output.size() < node.output.size() + not_given) {
    report(rule::body_signature, place, "the subgraph {} has {} outputs; {} needs {}",
           in_quotes(body.name), body.output.size(), node.op_type,
           std::max(least_outputs, node.output.size() + not_given));
    return false;
  }
  return true;
}

void Checker::if_branches(const model::Node& node, Scope& scope, const Place& place) {
  const model::Graph *yes = graph_of(node, "then_branch"), *no = graph_of(node, "else_branch");
  for (const model::Graph* branch : {yes, no}) {
    if (branch == nullptr || branch->input.empty() || model_.ir_version <= 3) continue;
    report(rule::body_signature, place, "the branch {} has {} inputs; a branch has none",
           in_quotes(branch->name), branch->input.size());
  }
  if (yes == nullptr || no == nullptr) return;
  if (yes->output.size() != no->output.size() || yes->output.size() != node.output.size()) {
    report(rule::branches, place,
           "then_branch gives {} outputs, else_branch {}, the node names {}; expected equal counts",
           yes->output.size(), no->output.size(), node.output.size());
    return;
  }
  for (size_t i = 0; i < yes->output.size(); ++i) {
    const Fact a = declared(yes->output[i]), b = declared(no->output[i]);
    if (!optional(a) && !optional(b) && !same_type(a, b)) {
      report(rule::branches, place, "output {} is {} in then_branch and {} in else_branch", i,
             type_text(a), type_text(b));
    } else if (!node.output[i].empty() && !optional(a) && !optional(b)) {
      give_output(node.output[i], plain(a.present() ? a : b), scope, place);
    }
  }
}

void Checker::body_type(std::string_view what, const Fact& found, const Fact& expected,
                        const Place& place) {
  if (optional(found) || optional(expected) || same_type(found, expected)) return;
  report(rule::body_signature, place, "{} is {}; expected {}", what, found.onnx_type(),
         expected.onnx_type());
}

void Checker::loop_body(const model::Node& node, Scope& scope, const Place& place) {
  const model::Graph* body = graph_of(node, "body");
  if (body == nullptr) return;
  const size_t carried = node.input.size() > 2 ? node.input.size() - 2 : 0;
  if (!body_counts(node, *body, carried + 2, carried + 1, 1, place)) return;
  body_type("input 0 of the body, the iteration,", declared(body->input[0]),
            Fact::tensor(DType::i64), place);
  body_type("input 1 of the body, the condition,", declared(body->input[1]),
            Fact::tensor(DType::boolean), place);
  for (size_t i = 0; i < 2; ++i) {
    const Fact given = declared(body->input[i]);
    if (!given.has_rank() || given.rank() == 0) continue;
    report(rule::body_scalars, place, "input {} of the body, the {}, is {}; expected a scalar", i,
           i == 0 ? "iteration" : "condition", type_text(given));
  }
  body_type("output 0 of the body, the condition,", declared(body->output[0]),
            Fact::tensor(DType::boolean), place);
  for (size_t i = 0; i < carried; ++i) {
    const Fact given = scope.fact(node.input[i + 2]);
    const Fact in = declared(body->input[i + 2]), out = declared(body->output[i + 1]);
    body_type(fmt::format("input {} of the body, a carried value,", i + 2), in, given, place);
    body_type(fmt::format("output {} of the body, a carried value,", i + 1), out,
              given.present() ? given : in, place);
  }
  for (size_t i = 0; i < node.output.size(); ++i) {
    Fact fact = plain(declared(body->output[i + 1]));
    if (!node.output[i].empty() && !optional(fact) &&
        !(i < carried && optional(scope.fact(node.input[i + 2])))) {
      give_output(node.output[i], fact, scope, place);
    }
  }
}

void Checker::scan_body(const model::Node& node, size_t first, Scope& scope, const Place& place) {
  const model::Graph* body = graph_of(node, "body");
  const model::Attribute* scans = node.find("num_scan_inputs");
  if (body == nullptr || scans == nullptr || node.input.size() < first) return;
  const size_t given = node.input.size() - first;
  if (scans->i < 1 || static_cast<uint64_t>(scans->i) > given) {
    report(rule::body_signature, place, "num_scan_inputs is {}; {} inputs are given", scans->i,
           given);
    return;
  }
  const size_t states = given - static_cast<size_t>(scans->i);
  if (!body_counts(node, *body, given, states, 0, place)) return;
  for (size_t i = 0; i < given; ++i) {
    body_type(fmt::format("input {} of the body", i), declared(body->input[i]),
              plain(scope.fact(node.input[i + first])), place);
  }
  for (size_t i = 0; i < states; ++i) {
    body_type(fmt::format("output {} of the body, a state,", i), declared(body->output[i]),
              plain(scope.fact(node.input[i + first])), place);
  }
  for (size_t i = 0; i < node.output.size(); ++i) {
    if (node.output[i].empty()) continue;
    give_output(node.output[i], plain(declared(body->output[i])), scope, place);
  }
}

}  // namespace sdx::check
