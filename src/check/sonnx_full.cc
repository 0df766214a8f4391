// The restrictions of the SONNX working group's later drafts on graphs and nodes.
#include <fmt/ranges.h>

#include <algorithm>

#include "check/checker.h"

namespace sdx::check {
namespace {

constexpr std::string_view kOperators[] = {"Abs",
                                           "Add",
                                           "Cast",
                                           "Clip",
                                           "Concat",
                                           "Constant",
                                           "ConstantOfShape",
                                           "Conv",
                                           "ConvTranspose",
                                           "Div",
                                           "Equal",
                                           "Erf",
                                           "Exp",
                                           "Expand",
                                           "Flatten",
                                           "Gather",
                                           "Gemm",
                                           "GlobalAveragePool",
                                           "GRU",
                                           "HardSwish",
                                           "Identity",
                                           "LeakyRelu",
                                           "Less",
                                           "Log",
                                           "LSTM",
                                           "MatMul",
                                           "Max",
                                           "MaxPool",
                                           "Min",
                                           "Mod",
                                           "Mul",
                                           "Neg",
                                           "Not",
                                           "Pad",
                                           "Pow",
                                           "Range",
                                           "ReduceMean",
                                           "ReduceSum",
                                           "Relu",
                                           "Reshape",
                                           "Resize",
                                           "ScatterND",
                                           "Shape",
                                           "Sigmoid",
                                           "Slice",
                                           "Softmax",
                                           "Softplus",
                                           "Split",
                                           "Sqrt",
                                           "Squeeze",
                                           "Sub",
                                           "Tanh",
                                           "Transpose",
                                           "Unsqueeze",
                                           "Where"};
constexpr std::string_view kInReview[] = {"ArgMax", "BatchNormalization", "ConvInteger",
                                          "DequantizeLinear", "QuantizeLinear"};

bool allowed(DType type) {
  switch (type) {
    case DType::f16:
    case DType::f32:
    case DType::f64:
    case DType::i8:
    case DType::i16:
    case DType::i32:
    case DType::i64:
    case DType::u8:
    case DType::u16:
    case DType::u32:
    case DType::u64:
    case DType::boolean:
    case DType::string:
      return true;
    default:
      return false;
  }
}

template <class List>
bool among(const List& list, std::string_view name) {
  return std::find(std::begin(list), std::end(list), name) != std::end(list);
}

}  // namespace

void Checker::sonnx_full_graph(const model::Graph* graph, const Scope& scope,
                               const std::set<std::string_view>& given) {
  sonnx_sparse(graph, scope);
  sonnx_types(graph, scope);
  sonnx_paths(scope, given);
  const std::vector<model::Node>& nodes = *scope.nodes;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const Place place{scope.place, "node", nodes[i].name, i, &nodes[i], scope.opsets};
    sonnx_node(nodes[i], scope, place);
  }
}

void Checker::sonnx_sparse(const model::Graph* graph, const Scope& scope) {
  const auto value = [&](const model::ValueInfo& info) {
    if (info.type && info.type->sparse_tensor() != nullptr) {
      report(rule::sonnx_gr1, *scope.place, "{} is a sparse tensor", in_quotes(info.name));
    }
  };
  if (graph != nullptr) {
    for (const model::SparseTensorData& init : graph->sparse_initializer) {
      report(rule::sonnx_gr1, *scope.place, "the initializer {} is sparse",
             in_quotes(init.values ? init.values->name : ""));
    }
    for (const auto* list : {&graph->input, &graph->output, &graph->value_info}) {
      for (const model::ValueInfo& info : *list) value(info);
    }
  }
  for (size_t i = 0; i < scope.nodes->size(); ++i) {
    const model::Node& node = (*scope.nodes)[i];
    for (const model::Attribute& a : node.attribute) {
      if (!a.sparse_tensor && a.sparse_tensors.empty()) continue;
      const Place place{scope.place, "node", node.name, i, &node, scope.opsets};
      report(rule::sonnx_gr1, place, "the attribute {} is a sparse tensor", in_quotes(a.name));
    }
  }
}

void Checker::sonnx_types(const model::Graph* graph, const Scope& scope) {
  std::set<std::string_view> declared;
  if (graph != nullptr) {
    for (const auto* list : {&graph->input, &graph->output, &graph->value_info}) {
      for (const model::ValueInfo& info : *list) {
        const bool typed = info.type && fact_of(*info.type).present() &&
                           fact_of(*info.type).onnx_type().find("undefined") == std::string::npos;
        if (typed) declared.insert(info.name);
      }
    }
  }
  std::vector<std::string_view> implicit;
  const auto look = [&](std::string_view name) {
    const Definition* definition = scope.own(name);
    if (definition == nullptr) return;
    const Fact& fact = definition->fact;
    if (fact.is_tensor() && fact.type != DType::undefined && !allowed(fact.type)) {
      report(rule::sonnx_type, *scope.place, "{} is of type {}", in_quotes(name),
             onnx_name(fact.type));
    }
    const bool stored = definition->kind == Definition::Kind::initializer;
    if (graph != nullptr && !stored && !declared.contains(name)) implicit.push_back(name);
  };
  if (graph != nullptr) {
    for (const model::ValueInfo& input : graph->input) look(input.name);
    for (const model::TensorData& init : graph->initializer) look(init.name);
  }
  for (const model::Node& node : *scope.nodes) {
    for (const std::string& output : node.output) look(output);
  }
  if (implicit.empty()) return;
  report(rule::sonnx_gr2, *scope.place, "no type is declared for {}{}", in_quotes(implicit[0]),
         implicit.size() == 1 ? "" : fmt::format(" and {} more values", implicit.size() - 1))
      .help = "value_info states the types of values between nodes";
}

void Checker::sonnx_paths(const Scope& scope, const std::set<std::string_view>& given) {
  const std::vector<model::Node>& nodes = *scope.nodes;
  const auto producer = [&](std::string_view name) {
    const Definition* definition = scope.own(name);
    return definition != nullptr && definition->kind == Definition::Kind::node ? definition->node
                                                                               : nodes.size();
  };
  std::vector<bool> reaches(nodes.size(), false), grounded(nodes.size(), false);
  std::vector<size_t> queue;
  const auto reach = [&](size_t node) {
    if (node >= nodes.size() || reaches[node]) return;
    reaches[node] = true;
    queue.push_back(node);
  };
  for (const std::string_view output : given) reach(producer(output));
  while (!queue.empty()) {
    const size_t node = queue.back();
    queue.pop_back();
    for (const std::string_view name : names_used(nodes[node])) reach(producer(name));
  }
  for (size_t i = 0; i < nodes.size(); ++i) {
    grounded[i] = nodes[i].op_type == "Constant";
    for (const std::string_view name : names_used(nodes[i])) {
      const size_t from = producer(name);
      if (from >= nodes.size() || (from < i && grounded[from])) grounded[i] = true;
    }
    const Place place{scope.place, "node", nodes[i].name, i, &nodes[i], scope.opsets};
    if (!reaches[i]) report(rule::sonnx_n2, place, "no output of the graph depends on this node");
    if (!grounded[i]) {
      report(rule::sonnx_n2, place, "this node depends on no input and on no constant");
    }
  }
}

void Checker::sonnx_node(const model::Node& node, const Scope& scope, const Place& place) {
  const Callee called = callee(node, *scope.opsets);
  if (called.function != nullptr) return;  // its body is judged
  const bool default_domain = canonical(node.domain).empty();
  if (default_domain && among(kInReview, node.op_type)) {
    add(rule::sonnx_op, Severity::note, place,
        fmt::format("{} is in review for the profile", node.op_type));
  } else if (!default_domain || !among(kOperators, node.op_type)) {
    report(rule::sonnx_op, place, "{}.{} is no operator of the profile", shown(node.domain),
           node.op_type);
  }
  if (called.signature == nullptr) return;
  const Signature& signature = *called.signature;

  std::vector<std::string_view> defaults;
  for (const AttrDecl& declared : signature.attributes) {
    if (node.find(declared.name) == nullptr) defaults.push_back(declared.name);
  }
  // Exactly one of Constant's attributes is given; SONNX-CONST says which.
  if (!defaults.empty() && node.op_type != "Constant") {
    report(rule::sonnx_gr4, place, "attributes that are not given: {}", fmt::join(defaults, ", "));
  }

  std::vector<std::string_view> left_out;
  const auto look = [&](const std::vector<Formal>& formals, const std::vector<std::string>& names) {
    for (size_t i = 0; i < formals.size(); ++i) {
      if (formals[i].option == Formal::Option::variadic) continue;
      if (i >= names.size() || names[i].empty()) left_out.push_back(formals[i].name);
    }
  };
  look(signature.inputs, node.input);
  look(signature.outputs, node.output);
  if (!left_out.empty()) {
    report(rule::sonnx_n1, place, "left out: {}", fmt::join(left_out, ", "));
  }

  // Arithmetic on two types at once converts one of them.
  if (node.op_type == "Pow" && node.input.size() == 2) {
    const Fact base = scope.fact(node.input[0]), exponent = scope.fact(node.input[1]);
    const bool known = base.is_tensor() && exponent.is_tensor() && base.type != DType::undefined &&
                       exponent.type != DType::undefined;
    if (known && base.type != exponent.type) {
      Diagnostic& d = report(rule::sonnx_gr3, place, "Pow of {} and {} converts its exponent",
                             onnx_name(base.type), onnx_name(exponent.type));
      d.inputs = input_lines(node, &signature, scope);
      d.help = "a Cast node makes the conversion explicit";
    }
  }
  sonnx_operator(node, signature, scope, place);
}

}  // namespace sdx::check
