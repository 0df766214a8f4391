#include "listing.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

namespace sdx::cli {
namespace {

std::string upper(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return std::toupper(c); });
  return out;
}

std::string dims(const std::optional<model::Shape>& shape) {
  if (!shape) return "unknown rank";
  if (shape->dim.empty()) return "scalar";
  std::string text;
  for (const model::Dimension& dim : shape->dim) {
    if (!text.empty()) text += "x";
    if (dim.number() != nullptr) {
      text += std::to_string(*dim.number());
    } else {
      text += dim.param() != nullptr && !dim.param()->empty() ? *dim.param() : "?";
    }
  }
  return text;
}

std::string type_text(const model::Type& type) {
  if (const auto* t = type.tensor())
    return fmt::format("{}, {}", upper(onnx_name(t->dtype())), dims(t->shape));
  if (const auto* t = type.sparse_tensor()) {
    return fmt::format("SPARSE {}, {}", upper(onnx_name(t->dtype())), dims(t->shape));
  }
  const auto inner = [](const model::Box<model::Type>& element) {
    return element ? type_text(*element) : std::string("?");
  };
  if (const auto* t = type.sequence()) return fmt::format("SEQUENCE({})", inner(t->elem_type));
  if (const auto* t = type.optional()) return fmt::format("OPTIONAL({})", inner(t->elem_type));
  if (const auto* t = type.map()) {
    const DType key = valid(t->key_type) ? static_cast<DType>(t->key_type) : DType::undefined;
    return fmt::format("MAP({}, {})", upper(onnx_name(key)), inner(t->value_type));
  }
  if (const auto* t = type.opaque()) return fmt::format("OPAQUE({}.{})", t->domain, t->name);
  return "?";
}

template <class T, class F>
std::string list(const std::vector<T>& items, F&& text) {
  constexpr size_t kMost = 16;
  std::string all = "[";
  for (size_t i = 0; i < std::min(items.size(), kMost); ++i)
    all += (i > 0 ? ", " : "") + text(items[i]);
  return all + (items.size() > kMost ? fmt::format(", ... {} in all]", items.size()) : "]");
}

std::string in_quotes(const std::string& text) {
  constexpr size_t kMost = 60;
  std::string out = "'";
  for (const char c : text.substr(0, kMost)) {
    out += static_cast<unsigned char>(c) < 0x20 ? fmt::format("\\x{:02x}", static_cast<uint8_t>(c))
                                                : std::string(1, c);
  }
  return out + (text.size() > kMost ? "...'" : "'");
}

std::string attribute_text(const model::Attribute& a) {
  using enum model::AttributeType;
  if (!a.ref_attr_name.empty()) return "@" + a.ref_attr_name;
  switch (a.type) {
    case f:
      return fmt::format("{}", a.f);
    case i:
      return std::to_string(a.i);
    case s:
      return in_quotes(a.s);
    case t:
      return "<Tensor>";
    case g:
      return a.g ? "<graph " + a.g->name + ">" : "<graph>";
    case floats:
      return list(a.floats, [](float x) { return fmt::format("{}", x); });
    case ints:
      return list(a.ints, [](int64_t x) { return std::to_string(x); });
    case strings:
      return list(a.strings, in_quotes);
    case tensors:
      return list(a.tensors, [](const auto&) { return std::string("<Tensor>"); });
    case graphs:
      return list(a.graphs, [](const auto& graph) { return "<graph " + graph.name + ">"; });
    case sparse_tensor:
      return "<SparseTensor>";
    case sparse_tensors:
      return list(a.sparse_tensors, [](const auto&) { return std::string("<SparseTensor>"); });
    case type:
      return a.tp ? type_text(*a.tp) : "?";
    case types:
      return list(a.type_protos, type_text);
    case undefined:
      break;
  }
  return "?";
}

std::string names(const std::vector<std::string>& list) {
  std::string text;
  for (size_t i = 0; i < list.size(); ++i) text += (i > 0 ? ", %" : "%") + list[i];
  return text;
}

class Listing {
 public:
  Listing(const Types& types, const BodyTypes& bodies) : types_(&types), bodies_(bodies) {}
  std::string text;

  void graph(const model::Graph& graph, const std::string& indent) {
    const Types* outer = types_;
    if (const auto at = bodies_.find(&graph); at != bodies_.end()) types_ = &at->second;
    text += fmt::format("{}graph {} (\n", indent, graph.name);
    for (const model::ValueInfo& input : graph.input) {
      const std::string declared = input.type ? type_text(*input.type) : "?";
      const auto at = types_->find(input.name);
      // What was learnt stands beside what the model leaves open.
      const bool learnt = at != types_->end() && declared.find('?') != declared.npos;
      text += fmt::format("{}  %{}[{}]{}\n", indent, input.name, declared,
                          learnt ? " : " + at->second.text() : "");
    }
    if (!graph.initializer.empty() || !graph.sparse_initializer.empty()) {
      text += indent + ") initializers (\n";
      for (const model::TensorData& init : graph.initializer) {
        text += fmt::format(
            "{}  %{}[{}, {}]\n", indent, init.name, upper(onnx_name(init.dtype())),
            init.dims.empty() ? "scalar" : fmt::format("{}", fmt::join(init.dims, "x")));
      }
      for (const model::SparseTensorData& init : graph.sparse_initializer) {
        text += fmt::format(
            "{}  %{}[SPARSE {}, {}]\n", indent, init.values ? init.values->name : "",
            init.values ? upper(onnx_name(init.values->dtype())) : "?", fmt::join(init.dims, "x"));
      }
    }
    text += indent + ") {\n";
    std::vector<std::string> results;
    for (const model::ValueInfo& output : graph.output) results.push_back(output.name);
    body(graph.node, results, indent);
    types_ = outer;
  }

  void function(const model::Function& f) {
    text += fmt::format("function {}.{} (\n", f.domain, f.name);
    for (const std::string& input : f.input) text += fmt::format("  %{}\n", input);
    text += ") {\n";
    body(f.node, f.output, "");
  }

 private:
  void body(const std::vector<model::Node>& nodes, const std::vector<std::string>& results,
            const std::string& indent) {
    for (const model::Node& node : nodes) one(node, indent + "  ");
    text += fmt::format("{}  return {}\n{}}}\n", indent, names(results), indent);
  }

  void one(const model::Node& node, const std::string& indent) {
    std::string attributes;
    for (const model::Attribute& a : node.attribute) {
      attributes +=
          fmt::format("{}{} = {}", attributes.empty() ? "" : ", ", a.name, attribute_text(a));
    }
    text += fmt::format("{}{} = {}{}{}{}({})", indent, names(node.output), node.domain,
                        node.domain.empty() ? "" : ".", node.op_type,
                        attributes.empty() ? "" : "[" + attributes + "]", names(node.input));
    std::string found;
    for (const std::string& output : node.output) {
      const auto at = types_->find(output);
      if (at != types_->end()) found += (found.empty() ? " : " : ", ") + at->second.text();
    }
    text += found + "\n";
    for (const model::Attribute& a : node.attribute) {
      if (a.g) graph(*a.g, indent + "  ");
      for (const model::Graph& g : a.graphs) graph(g, indent + "  ");
    }
  }

  const Types* types_;
  const BodyTypes& bodies_;
};

}  // namespace

std::string listing(const model::Model& model, const Types& types, const BodyTypes& bodies) {
  Listing out(types, bodies);
  if (model.graph) out.graph(*model.graph, "");
  for (const model::Function& function : model.functions) out.function(function);
  return std::move(out.text);
}

}  // namespace sdx::cli
