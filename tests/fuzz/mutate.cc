#include "mutate.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "model/fields.h"
#include "ops/list.h"

namespace sdx::fuzz {
namespace {

using model::Attribute;
using model::AttributeType;
using model::Graph;
using model::Node;
using model::set;
using model::TensorData;
using model::ValueInfo;

void collect(Graph& graph, std::vector<Graph*>& into) {
  into.push_back(&graph);
  for (Node& node : graph.node) {
    for (Attribute& attribute : node.attribute) {
      if (attribute.g) collect(*attribute.g, into);
      for (Graph& inner : attribute.graphs) collect(inner, into);
    }
  }
}

// What a node of the graph may read.
std::vector<std::string> names_in(const Graph& graph) {
  std::vector<std::string> names;
  for (const ValueInfo& input : graph.input) names.push_back(input.name);
  for (const TensorData& tensor : graph.initializer) names.push_back(tensor.name);
  for (const Node& node : graph.node) {
    for (const std::string& output : node.output) {
      if (!output.empty()) names.push_back(output);
    }
  }
  return names;
}

std::string fresh_name(const Graph& graph, Random& random) {
  return "v" + std::to_string(graph.node.size()) + "_" + std::to_string(random.below(1000));
}

ValueInfo without_type(const std::string& name) {
  ValueInfo info;
  set(info, &ValueInfo::name, name);
  return info;
}

void set_bytes(TensorData& tensor, std::string bytes) {
  const auto kept = std::make_shared<const std::string>(std::move(bytes));
  tensor.raw_data = {std::as_bytes(std::span(*kept)), kept};
  tensor.present |= uint32_t{1} << model::number_of(&TensorData::raw_data);
}

// An attribute as the operator declares it, of any value.
Attribute declared(const AttrDecl& decl, Random& random) {
  Attribute a;
  set(a, &Attribute::name, decl.name);
  set(a, &Attribute::type, static_cast<AttributeType>(decl.type));
  switch (a.type) {
    case AttributeType::i:
      set(a, &Attribute::i, static_cast<int64_t>(random.below(4)));
      break;
    case AttributeType::f:
      set(a, &Attribute::f, 0.5F);
      break;
    case AttributeType::s:
      set(a, &Attribute::s, std::string("a"));
      break;
    case AttributeType::ints:
      a.ints.assign(random.below(4), 1);
      break;
    case AttributeType::floats:
      a.floats.assign(random.below(4), 0.5F);
      break;
    case AttributeType::strings:
      a.strings.assign(random.below(3), "a");
      break;
    default:
      break;
  }
  return a;
}

}  // namespace

int64_t Mutator::number(int64_t old) {
  static constexpr int64_t kOdd[] = {0,         1,         -1,        2,         3,
                                     INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, 1LL << 31,
                                     1LL << 32, 1LL << 40, 1LL << 62, 255,       16};
  switch (random_.below(5)) {
    case 0:
      return random_.pick(kOdd);
    case 1:
      return static_cast<int64_t>(static_cast<uint64_t>(old) + 1);
    case 2:
      return static_cast<int64_t>(static_cast<uint64_t>(old) - 1);
    case 3:
      return static_cast<int64_t>(0 - static_cast<uint64_t>(old));
    default:
      return static_cast<int64_t>(random_.below(8)) - 2;
  }
}

int64_t Mutator::size(int64_t old) {
  if (random_.one_in(10)) return number(old);
  if (random_.one_in(3)) {
    return static_cast<int64_t>(static_cast<uint64_t>(old) + 1 - random_.below(3));
  }
  static constexpr int64_t kSizes[] = {0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 33, 64};
  return random_.pick(kSizes);
}

float Mutator::real(float old) {
  static constexpr float kOdd[] = {0,      -0.0F, 1,     -1,       0.5F,      1e-45F,
                                   1e-20F, 1e20F, 3e38F, INFINITY, -INFINITY, __builtin_nanf("")};
  return random_.one_in(2) ? random_.pick(kOdd) : old * (random_.one_in(2) ? 2.0F : -0.25F);
}

int32_t Mutator::element_type() {
  static constexpr int32_t kUsual[] = {1, 2, 3, 6, 7, 9, 10, 11, 16};
  return random_.one_in(3) ? static_cast<int32_t>(random_.below(30)) : random_.pick(kUsual);
}

void Mutator::change_tensor(TensorData& tensor) {
  std::string bytes(reinterpret_cast<const char*>(tensor.raw_data.bytes.data()),
                    tensor.raw_data.size());
  switch (random_.below(5)) {
    case 0: {  // a byte, or eight
      if (bytes.empty()) break;
      const size_t at = random_.below(bytes.size());
      if (random_.one_in(2) || bytes.size() < 8) {
        bytes[at] = static_cast<char>(random_.next());
      } else {
        const int64_t value = number(0);
        std::memcpy(&bytes[std::min(at / 8 * 8, bytes.size() - 8)], &value, 8);
      }
      set_bytes(tensor, std::move(bytes));
      break;
    }
    case 1:
    case 2: {  // another size, with the bytes it needs
      if (tensor.dims.empty()) {
        tensor.dims.push_back(1);
        break;
      }
      int64_t& dim = random_.pick(tensor.dims);
      const int64_t before = dim;
      dim = size(dim);
      if (before <= 0 || dim < 0 || dim > 64 || bytes.empty()) break;
      std::string repeated;
      const size_t wanted = bytes.size() / static_cast<size_t>(before) * static_cast<size_t>(dim);
      while (repeated.size() < wanted && repeated.size() < 65536) repeated += bytes;
      repeated.resize(std::min<size_t>(wanted, 65536));
      set_bytes(tensor, std::move(repeated));
      break;
    }
    case 3: {
      if (random_.one_in(2) && !tensor.dims.empty()) {
        std::swap(random_.pick(tensor.dims), random_.pick(tensor.dims));
      } else {
        tensor.dims.insert(
            tensor.dims.begin() + static_cast<ptrdiff_t>(random_.below(tensor.dims.size() + 1)), 1);
      }
      break;
    }
    default:
      set(tensor, &TensorData::data_type, element_type());
  }
}

void Mutator::change_type(model::Type& type) {
  auto* tensor = std::get_if<model::TensorType>(&type.value);
  if (tensor == nullptr) {
    if (auto* sequence = std::get_if<model::SequenceType>(&type.value); sequence != nullptr) {
      if (sequence->elem_type) change_type(*sequence->elem_type);
    } else if (auto* optional = std::get_if<model::OptionalType>(&type.value)) {
      if (optional->elem_type) change_type(*optional->elem_type);
    }
    return;
  }
  if (random_.one_in(3)) {
    set(*tensor, &model::TensorType::elem_type, element_type());
    return;
  }
  if (!tensor->shape || random_.one_in(16)) {
    if (tensor->shape) {
      tensor->shape.reset();
    } else {
      tensor->shape.emplace();
    }
    return;
  }
  auto& dims = tensor->shape->dim;
  const size_t at = random_.below(dims.size() + 1);
  if (at == dims.size() || random_.one_in(8)) {
    dims.emplace(dims.begin() + static_cast<ptrdiff_t>(at))->value = size(1);
  } else if (random_.one_in(8)) {
    dims.erase(dims.begin() + static_cast<ptrdiff_t>(at));
  } else if (random_.one_in(4)) {
    dims[at].value = std::string(1, char('M' + random_.below(4)));
  } else if (random_.one_in(8)) {
    dims[at].value = std::monostate();
  } else {
    dims[at].value = size(dims[at].number() != nullptr ? *dims[at].number() : 1);
  }
}

void Mutator::change_attribute(Node& node) {
  const Op* op = find_op(node.domain, node.op_type);
  if (op != nullptr && (node.attribute.empty() || random_.one_in(3))) {
    const Signature& signature = random_.pick(op->signatures());
    if (signature.attributes.empty()) return;
    node.attribute.push_back(declared(random_.pick(signature.attributes), random_));
    return;
  }
  if (node.attribute.empty()) return;
  const size_t at = random_.below(node.attribute.size());
  Attribute& a = node.attribute[at];
  if (random_.one_in(8)) {
    node.attribute.erase(node.attribute.begin() + static_cast<ptrdiff_t>(at));
    return;
  }
  switch (a.type) {
    case AttributeType::i:
      set(a, &Attribute::i, number(a.i));
      break;
    case AttributeType::f:
      set(a, &Attribute::f, real(a.f));
      break;
    case AttributeType::s:
      if (!a.s.empty()) a.s[random_.below(a.s.size())] = static_cast<char>(random_.next());
      break;
    case AttributeType::t:
      if (a.t) change_tensor(*a.t);
      break;
    case AttributeType::ints:
      if (a.ints.empty() || random_.one_in(4)) {
        a.ints.push_back(number(1));
      } else if (random_.one_in(6)) {
        a.ints.pop_back();
      } else {
        int64_t& i = random_.pick(a.ints);
        i = number(i);
      }
      break;
    case AttributeType::floats:
      if (a.floats.empty() || random_.one_in(4)) {
        a.floats.push_back(real(1));
      } else if (random_.one_in(6)) {
        a.floats.pop_back();
      } else {
        float& f = random_.pick(a.floats);
        f = real(f);
      }
      break;
    case AttributeType::strings:
      if (a.strings.empty() || random_.one_in(2)) {
        a.strings.push_back("b");
      } else {
        a.strings.pop_back();
      }
      break;
    case AttributeType::type:
      if (a.tp) change_type(*a.tp);
      break;
    default:
      set(a, &Attribute::type, static_cast<AttributeType>(random_.below(15)));
  }
}

void Mutator::change_operator(Node& node) {
  const auto ops = all_ops();
  const Op* old = find_op(node.domain, node.op_type);
  const Op* op = random_.pick(ops);
  // Mostly one that takes as many inputs.
  for (int tries = 0; tries < 8 && old != nullptr; ++tries, op = random_.pick(ops)) {
    const Signature &a = old->signatures().back(), &b = op->signatures().back();
    if (a.max_inputs == b.max_inputs && a.attributes.size() == b.attributes.size()) break;
  }
  set(node, &Node::op_type, std::string(op->name));
  if (std::string(op->domain) != node.domain) set(node, &Node::domain, std::string(op->domain));
  if (random_.one_in(2)) node.attribute.clear();
}

void Mutator::change_inputs(Graph& graph, Node& node) {
  const std::vector<std::string> names = names_in(graph);
  switch (random_.below(6)) {
    case 0:
      node.input.push_back(names.empty() ? "" : random_.pick(names));
      break;
    case 1:
      if (!node.input.empty()) node.input.pop_back();
      break;
    case 2:
      if (!node.input.empty()) random_.pick(node.input).clear();
      break;
    case 3:
      if (!node.input.empty()) std::swap(random_.pick(node.input), random_.pick(node.input));
      break;
    case 4:
      node.output.push_back(random_.one_in(4) ? "" : fresh_name(graph, random_));
      break;
    default:
      if (!node.input.empty() && !names.empty()) random_.pick(node.input) = random_.pick(names);
  }
}

void Mutator::change_nodes(Graph& graph) {
  if (graph.node.empty()) return;
  const size_t at = random_.below(graph.node.size());
  switch (random_.below(5)) {
    case 0:
      graph.node.erase(graph.node.begin() + static_cast<ptrdiff_t>(at));
      break;
    case 1:
      std::swap(graph.node[at], random_.pick(graph.node));
      break;
    default: {
      // A node like this one reads what it gives, or what it reads.
      Node copy = graph.node[at];
      if (!copy.input.empty() && random_.one_in(2) && !graph.node[at].output.empty()) {
        copy.input[0] = graph.node[at].output[0];
      }
      for (std::string& output : copy.output) {
        if (!output.empty()) output = fresh_name(graph, random_);
      }
      if (random_.one_in(2)) change_operator(copy);
      if (!copy.output.empty()) graph.output.push_back(without_type(copy.output[0]));
      graph.node.insert(graph.node.begin() + static_cast<ptrdiff_t>(at + 1), std::move(copy));
    }
  }
}

void Mutator::change_interface(Graph& graph) {
  std::vector<ValueInfo>* lists[] = {&graph.input, &graph.input, &graph.output, &graph.value_info};
  auto& infos = *random_.pick(lists);
  switch (random_.below(6)) {
    case 0: {  // a value inside becomes an output
      const std::vector<std::string> names = names_in(graph);
      if (!names.empty()) graph.output.push_back(without_type(random_.pick(names)));
      break;
    }
    case 1: {  // a weight becomes an input with a default
      if (graph.initializer.empty()) break;
      const TensorData& tensor = random_.pick(graph.initializer);
      ValueInfo info = without_type(tensor.name);
      model::TensorType type;
      set(type, &model::TensorType::elem_type, tensor.data_type);
      type.shape.emplace();
      for (const int64_t dim : tensor.dims) type.shape->dim.emplace_back().value = dim;
      info.type.emplace().value = std::move(type);
      graph.input.push_back(std::move(info));
      break;
    }
    case 2:
      if (!infos.empty() && random_.one_in(3)) {
        infos.erase(infos.begin() + static_cast<ptrdiff_t>(random_.below(infos.size())));
      }
      break;
    default: {
      if (infos.empty()) break;
      ValueInfo& info = random_.pick(infos);
      if (info.type && random_.one_in(16)) {
        info.type.reset();
      } else if (info.type) {
        change_type(*info.type);
      }
    }
  }
}

void Mutator::change_versions(model::Model& model) {
  if (random_.one_in(4)) {
    set(model, &model::Model::ir_version, static_cast<int64_t>(3 + random_.below(12)));
    return;
  }
  if (model.opset_import.empty()) model.opset_import.emplace_back();
  set(random_.pick(model.opset_import), &model::OpsetId::version,
      random_.one_in(16) ? number(1) : static_cast<int64_t>(1 + random_.below(27)));
}

void Mutator::change_functions(model::Model& model) {
  if (model.functions.empty()) return;
  model::Function& function = random_.pick(model.functions);
  if (function.node.empty()) return;
  Node& node = random_.pick(function.node);
  if (random_.one_in(2)) {
    change_attribute(node);
  } else if (random_.one_in(2)) {
    change_operator(node);
  } else if (!node.input.empty() && !function.input.empty()) {
    random_.pick(node.input) = random_.pick(function.input);
  }
}

void Mutator::mutate(model::Model& model) {
  if (!model.graph) model.graph.emplace();
  std::vector<Graph*> graphs;
  collect(*model.graph, graphs);
  Graph& graph = *random_.pick(graphs);
  const size_t what = random_.below(16);
  if (what == 0) {
    change_versions(model);
  } else if (what == 1) {
    change_functions(model);
  } else if (what <= 3) {
    if (!graph.initializer.empty()) change_tensor(random_.pick(graph.initializer));
  } else if (what <= 6) {
    change_interface(graph);
  } else if (what <= 8) {
    change_nodes(graph);
  } else if (!graph.node.empty()) {
    Node& node = random_.pick(graph.node);
    if (what <= 12) {
      change_attribute(node);
    } else if (what <= 14) {
      change_inputs(graph, node);
    } else {
      change_operator(node);
    }
  }
}

void Mutator::splice(model::Model& model, const model::Model& other) {
  if (!model.graph || !other.graph || other.graph->node.empty()) return;
  std::vector<Graph*> graphs;
  collect(*model.graph, graphs);
  Graph& graph = *random_.pick(graphs);
  const std::vector<std::string> names = names_in(graph);
  std::set<std::string> taken(names.begin(), names.end());
  std::map<std::string, std::string> renamed;
  const auto bring = [&](const std::string& name) {
    if (name.empty() || renamed.contains(name)) return;
    std::string mine = name;
    while (taken.contains(mine)) mine += "_";
    const auto weight =
        std::find_if(other.graph->initializer.begin(), other.graph->initializer.end(),
                     [&](const TensorData& t) { return t.name == name; });
    if (weight == other.graph->initializer.end()) {
      if (!names.empty()) renamed[name] = random_.pick(names);
      return;
    }
    TensorData copy = *weight;
    set(copy, &TensorData::name, mine);
    graph.initializer.push_back(std::move(copy));
    taken.insert(mine);
    renamed[name] = mine;
  };
  const auto& nodes = other.graph->node;
  const size_t first = random_.below(nodes.size());
  const size_t last = std::min(nodes.size(), first + 1 + random_.below(4));
  for (size_t i = first; i < last; ++i) {
    Node copy = nodes[i];
    for (std::string& input : copy.input) {
      bring(input);
      if (const auto at = renamed.find(input); at != renamed.end()) input = at->second;
    }
    for (std::string& output : copy.output) {
      if (output.empty()) continue;
      std::string mine = output;
      while (taken.contains(mine)) mine += "_";
      taken.insert(mine);
      renamed[output] = mine;
      output = mine;
    }
    if (!copy.output.empty()) graph.output.push_back(without_type(copy.output[0]));
    graph.node.push_back(std::move(copy));
  }
  for (const model::OpsetId& id : other.opset_import) {
    const bool known =
        std::any_of(model.opset_import.begin(), model.opset_import.end(),
                    [&](const model::OpsetId& mine) { return mine.domain == id.domain; });
    if (!known) model.opset_import.push_back(id);
  }
}

}  // namespace sdx::fuzz
