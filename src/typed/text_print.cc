#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>

#include "typed/text.h"

namespace sdx::typed {
namespace {

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (byte < 0x20 || byte == 0x7F) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out + "\"";
}

// The shortest digits that read back as the same number, never looking like an integer.
template <class F>
std::string number(F x) {
  std::string text = fmt::format("{}", x);
  if (text.find_first_of(".en") == std::string::npos) text += ".0";
  return text;
}

// Elements of this type have a text that reads back exactly, given that no NaN is an odd one.
bool has_text(const Tensor& tensor) {
  const DType type = tensor.type();
  if (is_complex(type) || tensor.count() > kMostInline) return false;
  if (!is_float(type)) return true;
  for (size_t i = 0; i < tensor.count(); ++i) {
    const double x = get_f64(type, tensor.raw(), i);
    if (!std::isnan(x)) continue;
    if (type != DType::f32 || get_bits(type, tensor.raw(), i) != 0x7FC00000) return false;
  }
  return true;
}

std::string element(const Tensor& tensor, size_t i) {
  const DType type = tensor.type();
  if (type == DType::string) return in_quotes(tensor.data<std::string>()[i]);
  if (type == DType::boolean) return tensor.data<uint8_t>()[i] != 0 ? "true" : "false";
  if (type == DType::u64) return std::to_string(tensor.data<uint64_t>()[i]);
  if (is_integer(type)) return std::to_string(get_i64(type, tensor.raw(), i));
  const double x = get_f64(type, tensor.raw(), i);
  return type == DType::f64 ? number(x) : number(static_cast<float>(x));
}

class Printer {
 public:
  Printer(const Graph& graph, TextTable* table) : graph_(graph), table_(table) {}

  std::string line(uint32_t id) {
    const Node& node = graph_.node(id);
    std::string text;
    for (uint32_t slot = 0; slot < node.outputs.size(); ++slot) {
      if (slot > 0) text += ", ";
      text += node.outputs[slot].present() ? wire({id, slot}) : "_";
    }
    text += " = ";
    if (node.kind == Node::Kind::source) {
      text += fmt::format("input : {}", node.outputs[0].text());
      if (wire({id, 0}) != "%" + node.use.name) text += " " + in_quotes(node.use.name);
      return text;
    }
    if (node.kind == Node::Kind::constant) {
      const Fact& fact = node.outputs[0];
      if (fact.value != nullptr) return text + tensor(*fact.value);
      return text + fmt::format("<{} packed>", fact.text());  // only a kernel's form of it is kept
    }
    text += operation(node);
    text += " : ";
    for (size_t slot = 0; slot < node.outputs.size(); ++slot) {
      if (slot > 0) text += ", ";
      text += node.outputs[slot].present() ? node.outputs[slot].text() : "_";
    }
    if (!node.use.name.empty()) text += " " + in_quotes(node.use.name);
    return text;
  }

  std::string all() {
    std::string text = fmt::format("graph {} {{\n", in_quotes(graph_.name));
    for (uint32_t id = 0; id < graph_.size(); ++id) text += fmt::format("  {}\n", line(id));
    for (const Output& output : graph_.outputs()) {
      text += fmt::format("  output {} = {}\n", in_quotes(output.name), wire(output.outlet));
    }
    return text + "}\n";
  }

 private:
  // Inputs are called by their name where it is a word; other wires by their place.
  std::string wire(Outlet outlet) const {
    if (!outlet.present()) return "_";
    const Node& node = graph_.node(outlet.node);
    const std::string& name = node.use.name;
    const auto word = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
    };
    if (node.kind == Node::Kind::source && !name.empty() &&
        std::all_of(name.begin(), name.end(), word) &&
        !std::isdigit(static_cast<unsigned char>(name[0]))) {
      return "%" + name;
    }
    return outlet.slot == 0 ? fmt::format("%{}", outlet.node)
                            : fmt::format("%{}.{}", outlet.node, outlet.slot);
  }

  std::string operation(const Node& node) {
    const Op& op = node.op();
    std::string text = op.domain.empty() ? "" : fmt::format("{}::", op.domain);
    text += fmt::format("{}.{}", op.name, node.use.opset);
    const Signature* signature = op.at(node.use.opset);
    std::string attrs;
    for (const auto& [name, value] : node.use.attrs) {
      const AttrDecl* decl = signature == nullptr ? nullptr : signature->attribute(name);
      if (decl != nullptr && decl->fallback && attribute(*decl->fallback) == attribute(value))
        continue;
      attrs += fmt::format("{}{}={}", attrs.empty() ? "" : ", ", name, attribute(value));
    }
    if (!attrs.empty()) text += fmt::format(" {{{}}}", attrs);
    text += " (";
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (i > 0) text += i == node.use.formal_inputs ? "; " : ", ";
      text += wire(node.inputs[i]);
    }
    return text + ")";
  }

  std::string tensor(const Tensor& value) {
    const std::string type = fmt::format("{}{}", short_name(value.type()), to_string(value.dims()));
    if (!has_text(value)) {
      const size_t entry = kept_++;
      if (table_ != nullptr) table_->tensors.push_back(value);
      return fmt::format("<{} #{}>", type, entry);
    }
    std::string elements;
    for (size_t i = 0; i < value.count(); ++i) elements += (i > 0 ? ", " : "") + element(value, i);
    return fmt::format("{} {{{}}}", type, elements);
  }

  template <class T, class F>
  std::string list(const std::vector<T>& items, F&& item_text) {
    std::string text = "[";
    for (size_t i = 0; i < items.size(); ++i) text += (i > 0 ? "," : "") + item_text(items[i]);
    return text + "]";
  }

  std::string attribute(const AttrValue& value) {
    return std::visit([this](const auto& v) { return attribute_text(v); }, value);
  }
  std::string attribute_text(int64_t v) { return std::to_string(v); }
  std::string attribute_text(float v) { return number(v); }
  std::string attribute_text(const std::string& v) { return in_quotes(v); }
  std::string attribute_text(const std::vector<int64_t>& v) {
    return list(v, [](int64_t x) { return std::to_string(x); });
  }
  std::string attribute_text(const std::vector<float>& v) {
    return list(v, [](float x) { return number(x); });
  }
  std::string attribute_text(const std::vector<std::string>& v) { return list(v, in_quotes); }
  std::string attribute_text(const Tensor& v) { return tensor(v); }
  std::string attribute_text(const std::vector<Tensor>& v) {
    return list(v, [this](const Tensor& x) { return tensor(x); });
  }
  std::string attribute_text(const Fact& v) { return v.text(); }
  std::string attribute_text(const std::shared_ptr<const BodySource>& v) {
    if (table_ == nullptr) return fmt::format("<graph #{}>", bodies_++);
    table_->bodies.push_back(v);
    return fmt::format("<graph #{}>", table_->bodies.size() - 1);
  }

  const Graph& graph_;
  TextTable* table_;
  size_t kept_ = 0, bodies_ = 0;
};

}  // namespace

std::string print(const Graph& graph, TextTable* table) { return Printer(graph, table).all(); }

std::string print_node(const Graph& graph, uint32_t id) { return Printer(graph, nullptr).line(id); }

}  // namespace sdx::typed
