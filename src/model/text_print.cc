// A model as text. Each part is printed in ONNX's syntax; a mask of the fields that parsing it
// gives back is kept beside it, and what is missing in the mask follows in a "#!" comment.
#include <algorithm>

#include "model/text.h"
#include "model/text_fields.h"
#include "model/text_tensor.h"

namespace sdx::model {
namespace {

// Identifiers with points between them.
bool is_dotted(std::string_view domain) {
  while (true) {
    const size_t dot = domain.find('.');
    if (!is_identifier(domain.substr(0, dot))) return false;
    if (dot == domain.npos) return true;
    domain.remove_prefix(dot + 1);
  }
}

bool known(DType type) { return type != DType::undefined; }

bool carried_whole(const std::optional<Shape>& shape) {
  if (!shape) return true;
  return shape->unknown.empty() &&
         std::all_of(shape->dim.begin(), shape->dim.end(), [](const Dimension& dim) {
           const bool readable = dim.param() == nullptr || is_readable(*dim.param());
           return readable && dim.unknown.empty() && !given(dim, &Dimension::denotation);
         });
}

// Whether the syntax has words for all of the type.
bool carried_whole(const Type& type) {
  if (!type.unknown.empty() || given(type, &Type::denotation)) return false;
  if (const TensorType* t = type.tensor()) {
    return t->unknown.empty() && known(t->dtype()) && carried_whole(t->shape);
  }
  if (const SparseTensorType* t = type.sparse_tensor()) {
    return t->unknown.empty() && known(t->dtype()) && carried_whole(t->shape);
  }
  const auto inner = [](const Box<Type>& element) { return element && carried_whole(*element); };
  if (const SequenceType* t = type.sequence()) return t->unknown.empty() && inner(t->elem_type);
  if (const OptionalType* t = type.optional()) return t->unknown.empty() && inner(t->elem_type);
  if (const MapType* t = type.map()) {
    return t->unknown.empty() && valid(t->key_type) && inner(t->value_type);
  }
  const OpaqueType* t = type.opaque();
  if (t == nullptr || !t->unknown.empty()) return false;
  const bool named = !t->name.empty() && is_identifier(t->name);
  const bool anonymous = !given(*t, &OpaqueType::name) && !given(*t, &OpaqueType::domain);
  const bool in_domain = t->domain.empty() ? !given(*t, &OpaqueType::domain) : is_dotted(t->domain);
  return anonymous || (named && in_domain);
}

bool carried_whole(const std::vector<OpsetId>& imports) {
  return std::all_of(imports.begin(), imports.end(), [](const OpsetId& import) {
    return given(import, &OpsetId::domain) && given(import, &OpsetId::version) &&
           import.unknown.empty() && is_readable(import.domain);
  });
}

class Printer {
 public:
  std::string text;

  void model(const Model& m) {
    using M = Model;
    uint32_t carried = bits_of(&M::graph, &M::functions);
    const size_t start = text.size();
    const auto key = [&](std::string_view name) {
      text += fmt::format("{}\n  {}: ", text.size() == start ? "<" : ",", name);
    };
    const auto number = [&](std::string_view name, int64_t M::*member) {
      if (!given(m, member)) return;
      key(name);
      text += std::to_string(m.*member);
      carried |= bits_of(member);
    };
    const auto words = [&](std::string_view name, std::string M::*member) {
      if (!given(m, member) || !is_readable(m.*member)) return;
      key(name);
      print_quoted(m.*member, text);
      carried |= bits_of(member);
    };
    number("ir_version", &M::ir_version);
    if (!m.opset_import.empty() && carried_whole(m.opset_import)) {
      key("opset_import");
      imports(m.opset_import);
      carried |= bits_of(&M::opset_import);
    }
    words("producer_name", &M::producer_name);
    words("producer_version", &M::producer_version);
    words("domain", &M::domain);
    number("model_version", &M::model_version);
    words("doc_string", &M::doc_string);
    if (!m.metadata_props.empty() && model::carried_whole(m.metadata_props)) {
      key("metadata_props");
      text += '[';
      print_entries(m.metadata_props, text);
      text += ']';
      carried |= bits_of(&M::metadata_props);
    }
    if (text.size() > start) text += "\n>\n";
    graph(m.graph ? *m.graph : Graph{}, true);
    end_line();
    for (const Function& f : m.functions) function(f);
    extension("model", m, carried, m.graph ? 0 : bits_of(&M::graph));
    end_line();
  }

  void function(const Function& f) {
    using F = Function;
    uint32_t carried = bits_of(&F::name, &F::input, &F::output, &F::attribute, &F::node,
                               &F::attribute_proto, &F::value_info);
    const size_t start = text.size();
    const auto key = [&](std::string_view name) {
      text += fmt::format("{}\n  {}: ", text.size() == start ? "<" : ",", name);
    };
    const auto words = [&](std::string_view name, std::string F::*member) {
      if (!given(f, member) || !is_readable(f.*member)) return;
      key(name);
      print_quoted(f.*member, text);
      carried |= bits_of(member);
    };
    words("domain", &F::domain);
    words("overload", &F::overload);
    if (!f.opset_import.empty() && carried_whole(f.opset_import)) {
      key("opset_import");
      imports(f.opset_import);
      carried |= bits_of(&F::opset_import);
    }
    words("doc_string", &F::doc_string);
    if (text.size() > start) text += "\n>\n";
    name(f.name);
    if (f.name.empty() && has(f, &F::name)) carried &= ~bits_of(&F::name);
    text += ' ';
    if (!f.attribute.empty() || !f.attribute_proto.empty()) {
      text += '<';
      std::string_view separator;
      for (const std::string& parameter : f.attribute) {
        text += std::exchange(separator, ", ");
        name(parameter);
      }
      for (const Attribute& fallback : f.attribute_proto) {
        text += std::exchange(separator, ", ");
        attribute(fallback);
      }
      close("> ");
    }
    names(f.input);
    text += " => ";
    names(f.output);
    text += ' ';
    if (!f.value_info.empty()) {
      text += "\n  <";
      values(f.value_info);
      close("> ");
    }
    nodes(f.node);
    extension("function", f, carried);
    end_line();
  }

 private:
  void indent() { text.append(2 * level_, ' '); }
  void end_line() {
    if (!text.empty() && text.back() != '\n') text += '\n';
  }

  // " #!KIND fields" and a line end, if there is anything to say. `first`: a word before the
  // fields.
  template <class M>
  void extension(std::string_view kind, const M& message, uint32_t carried, uint32_t cleared = 0,
                 std::string_view first = {}) {
    const std::string rest = print_fields(message, carried, cleared);
    if (rest.empty() && first.empty()) return;
    if (text.ends_with('\n')) {
      indent();
    } else {
      text += ' ';
    }
    text +=
        fmt::format("#!{} {}{}{}\n", kind, first, first.empty() || rest.empty() ? "" : ", ", rest);
  }

  void name(std::string_view word) {
    if (is_identifier(word) && !is_type_word(word)) {
      text += word;
    } else {
      print_quoted(word, text);
    }
  }
  void names(const std::vector<std::string>& list) {
    text += '(';
    bare_names(list);
    text += ')';
  }
  void bare_names(const std::vector<std::string>& list) {
    std::string_view separator;
    for (const std::string& word : list) {
      text += std::exchange(separator, ", ");
      name(word);
    }
  }
  void imports(const std::vector<OpsetId>& list) {
    text += '[';
    std::string_view separator;
    for (const OpsetId& import : list) {
      text += std::exchange(separator, ", ");
      print_quoted(import.domain, text);
      text += fmt::format(" : {}", import.version);
    }
    text += ']';
  }

  void tensor_type(DType element, const std::optional<Shape>& shape) {
    text += onnx_name(element);
    if (!shape) {
      text += "[]";
    } else if (!shape->dim.empty()) {
      std::string_view separator = "[";
      for (const Dimension& dim : shape->dim) {
        text += std::exchange(separator, ", ");
        if (const int64_t* size = dim.number()) {
          text += std::to_string(*size);
        } else if (const std::string* symbol = dim.param()) {
          if (is_identifier(*symbol)) {
            text += *symbol;
          } else {
            print_quoted(*symbol, text);
          }
        } else {
          text += '?';
        }
      }
      text += ']';
    }
  }
  // Of a type that is carried whole.
  void type(const Type& t) {
    if (const TensorType* tensor = t.tensor()) return tensor_type(tensor->dtype(), tensor->shape);
    if (const SparseTensorType* sparse = t.sparse_tensor()) {
      text += "sparse_tensor(";
      tensor_type(sparse->dtype(), sparse->shape);
    } else if (const SequenceType* sequence = t.sequence()) {
      text += "seq(";
      type(*sequence->elem_type);
    } else if (const OptionalType* optional = t.optional()) {
      text += "optional(";
      type(*optional->elem_type);
    } else if (const MapType* map = t.map()) {
      text += fmt::format("map({}, ", onnx_name(static_cast<DType>(map->key_type)));
      type(*map->value_type);
    } else if (const OpaqueType* opaque = t.opaque()) {
      text += fmt::format("opaque({}{}{}", opaque->domain, opaque->domain.empty() ? "" : ", ",
                          opaque->name);
    }
    text += ')';
  }

  void value(const ValueInfo& info) {
    uint32_t carried = 0;
    if (!info.type || carried_whole(*info.type)) {
      carried |= bits_of(&ValueInfo::type);
      if (info.type) {
        type(*info.type);
        text += ' ';
      }
    }
    name(info.name);
    if (!info.name.empty() || !has(info, &ValueInfo::name)) carried |= bits_of(&ValueInfo::name);
    extension("value", info, carried);
  }
  void close(std::string_view bracket) {
    if (text.ends_with('\n')) indent();
    text += bracket;
  }
  // Separated by commas; a line that a comment ended is continued with an indentation.
  void separate(std::string_view& separator) {
    if (text.ends_with('\n')) text.append(2 * level_ + 2, ' ');
    text += std::exchange(separator, ", ");
  }
  void values(const std::vector<ValueInfo>& list) {
    std::string_view separator;
    for (const ValueInfo& info : list) {
      separate(separator);
      value(info);
    }
  }

  void tensor(const TensorData& t, bool initializer) {
    using T = TensorData;
    const DType element = t.dtype();
    uint32_t carried = bits_of(&T::dims), cleared = 0;
    if (known(element)) {
      carried |= bits_of(&T::data_type);
    } else if (!given(t, &T::data_type)) {
      cleared |= bits_of(&T::data_type);
    }
    text += onnx_name(known(element) ? element : DType::f32);
    std::string_view separator = "[";
    for (const int64_t dim : t.dims) {
      text += std::exchange(separator, ", ");
      text += std::to_string(dim);
    }
    if (!t.dims.empty()) text += ']';
    text += ' ';
    if (initializer || !t.name.empty()) {
      name(t.name);
      text += initializer ? " = " : " ";
    }
    // Without the sign, a place would read as dimensions.
    if (!initializer && t.data_location == DataLocation::external) text += "= ";
    if (!t.name.empty()) carried |= bits_of(&T::name);
    const PrintedElements printed = print_elements(t, text);
    extension("tensor", t, carried | printed.carried, cleared, printed.raw ? "raw" : "");
  }

  void attribute(const Attribute& a) {
    using A = Attribute;
    using Kind = AttributeType;
    const bool stated = static_cast<int>(a.type) >= 1 && static_cast<int>(a.type) <= 14;
    uint32_t carried = 0, cleared = 0;
    if (is_identifier(a.name)) {
      text += a.name;
      carried |= bits_of(&A::name);
    } else {
      text += "attribute";
      if (!given(a, &A::name)) cleared |= bits_of(&A::name);
    }
    if (!a.ref_attr_name.empty() && is_readable(a.ref_attr_name)) {
      if (stated) text += fmt::format(": {}", kAttributeWords[static_cast<size_t>(a.type)]);
      text += " = @";
      name(a.ref_attr_name);
      if (stated || !given(a, &A::type)) carried |= bits_of(&A::type);
      carried |= bits_of(&A::ref_attr_name);
      return extension("attribute", a, carried, cleared);
    }
    const Kind kind = stated ? a.type : likely_kind(a);
    if (stated) {
      carried |= bits_of(&A::type);
    } else if (!given(a, &A::type)) {
      cleared |= bits_of(&A::type);
    }
    text += fmt::format(": {} = ", kAttributeWords[static_cast<size_t>(kind)]);
    // One value: what is not there is cleared again.
    const auto one = [&](auto member, bool good) {
      if (!given(a, member)) {
        cleared |= bits_of(member);
      } else if (good) {
        carried |= bits_of(member);
      }
    };
    const auto list = [&](auto member, bool good, auto&& print) {
      text += '[';
      if (good) {
        std::string_view separator;
        for (const auto& item : a.*member) {
          separate(separator);
          print(item);
        }
        carried |= bits_of(member);
      }
      close("]");
    };
    switch (kind) {
      case Kind::undefined:
      case Kind::i:
        text += std::to_string(a.i);
        one(&A::i, true);
        break;
      case Kind::f:
        one(&A::f, real(a.f));
        break;
      case Kind::s: {
        const bool good = is_readable(a.s);
        print_quoted(good ? a.s : "", text);
        one(&A::s, good);
        break;
      }
      case Kind::t:
        tensor(a.t ? *a.t : TensorData{}, false);
        one(&A::t, true);
        break;
      case Kind::g:
        graph(a.g ? *a.g : Graph{}, false);
        one(&A::g, true);
        break;
      case Kind::sparse_tensor:
        text += fmt::format("!{{{}}}", a.sparse_tensor ? print_fields(*a.sparse_tensor, 0, 0) : "");
        one(&A::sparse_tensor, true);
        break;
      case Kind::type: {
        const bool good = a.tp && carried_whole(*a.tp);
        if (good) {
          type(*a.tp);
        } else {
          text += "float";
        }
        one(&A::tp, good);
        break;
      }
      case Kind::ints:
        list(&A::ints, true, [&](int64_t item) { text += std::to_string(item); });
        break;
      case Kind::floats: {
        std::string tried;
        const bool good = std::all_of(a.floats.begin(), a.floats.end(),
                                      [&](float item) { return print_number(item, tried); });
        list(&A::floats, good, [&](float item) { real(item); });
        break;
      }
      case Kind::strings:
        list(&A::strings, std::all_of(a.strings.begin(), a.strings.end(), is_readable),
             [&](const std::string& item) { print_quoted(item, text); });
        break;
      case Kind::tensors:
        list(&A::tensors, true, [&](const TensorData& item) { tensor(item, false); });
        break;
      case Kind::graphs:
        list(&A::graphs, true, [&](const Graph& item) { graph(item, false); });
        break;
      case Kind::sparse_tensors:
        list(&A::sparse_tensors, true, [&](const SparseTensorData& item) {
          text += fmt::format("!{{{}}}", print_fields(item, 0, 0));
        });
        break;
      case Kind::types:
        list(&A::type_protos,
             std::all_of(a.type_protos.begin(), a.type_protos.end(),
                         [](const Type& item) { return carried_whole(item); }),
             [&](const Type& item) { type(item); });
        break;
    }
    extension("attribute", a, carried, cleared);
  }
  // With a point or exponent, so that it is a float without its type too.
  bool real(float value) {
    const size_t start = text.size();
    const bool exact = print_number(value, text);
    if (text.find_first_of(".ena", start) == text.npos) text += ".0";
    return exact;
  }
  // Files of IR version 1 say no type: by what is there.
  static AttributeType likely_kind(const Attribute& a) {
    using Kind = AttributeType;
    return a.t                       ? Kind::t
           : a.g                     ? Kind::g
           : !a.ints.empty()         ? Kind::ints
           : !a.floats.empty()       ? Kind::floats
           : !a.strings.empty()      ? Kind::strings
           : given(a, &Attribute::s) ? Kind::s
           : given(a, &Attribute::f) ? Kind::f
                                     : Kind::i;
  }

  void node(const Node& n) {
    using N = Node;
    uint32_t carried = bits_of(&N::input, &N::output, &N::attribute);
    indent();
    if (given(n, &N::name)) {
      text += '[';
      name(n.name);
      text += "] ";
      carried |= bits_of(&N::name);
    }
    bare_names(n.output);
    text += n.output.empty() ? "= " : " = ";
    if (is_dotted(n.domain)) {
      text += n.domain + ".";
      carried |= bits_of(&N::domain);
    }
    if (is_identifier(n.op_type)) {
      text += n.op_type;
      carried |= bits_of(&N::op_type);
    } else {
      text += "operator";
    }
    const uint32_t unnamed =
        given(n, &N::op_type) || (carried & bits_of(&N::op_type)) != 0 ? 0 : bits_of(&N::op_type);
    if (is_identifier(n.overload)) {
      text += ":" + n.overload;
      carried |= bits_of(&N::overload);
    }
    text += ' ';
    // Subgraphs come after the inputs, as ONNX prints them.
    const bool late = std::any_of(n.attribute.begin(), n.attribute.end(),
                                  [](const Attribute& a) { return a.g || !a.graphs.empty(); });
    if (!late && !n.attribute.empty()) {
      attributes(n.attribute);
      text += ' ';
    }
    names(n.input);
    if (late) {
      text += ' ';
      attributes(n.attribute);
    }
    extension("node", n, carried, unnamed);
    end_line();
  }
  void attributes(const std::vector<Attribute>& list) {
    text += '<';
    std::string_view separator;
    for (const Attribute& a : list) {
      separate(separator);
      attribute(a);
    }
    close(">");
  }

  void nodes(const std::vector<Node>& list) {
    text += "{\n";
    ++level_;
    for (const Node& n : list) node(n);
    --level_;
    indent();
    text += '}';
  }

  void graph(const Graph& g, bool main) {
    using G = Graph;
    uint32_t carried = bits_of(&G::node, &G::initializer, &G::input, &G::output, &G::value_info);
    uint32_t cleared = 0;
    const bool plain = is_identifier(g.name) && !is_type_word(g.name) && !is_number_word(g.name);
    if (plain || main) {
      name(g.name);
      if (!g.name.empty() || !has(g, &G::name)) carried |= bits_of(&G::name);
    } else {
      text += "graph";  // where a value is expected, a quoted name would be a string
      if (!given(g, &G::name)) cleared |= bits_of(&G::name);
    }
    text += " (";
    values(g.input);
    close(") => (");
    values(g.output);
    close(") ");
    if (!g.initializer.empty() || !g.value_info.empty()) {
      text += "<\n";
      ++level_;
      std::string_view separator;
      for (const TensorData& init : g.initializer) {
        next_line(separator);
        tensor(init, true);
      }
      for (const ValueInfo& info : g.value_info) {
        next_line(separator);
        value(info);
      }
      end_line();
      --level_;
      indent();
      text += "> ";
    }
    nodes(g.node);
    extension("graph", g, carried, cleared);
  }
  // One per line, with the comma before the line end or, after a comment, at the start.
  void next_line(std::string_view& separator) {
    if (text.ends_with('\n')) {
      indent();
      text += separator;
    } else {
      text += ",\n";
      indent();
    }
    separator = ", ";
  }

  size_t level_ = 0;
};

}  // namespace

bool is_text_path(std::string_view path) {
  return path.ends_with(".txt") || path.ends_with(".onnxtxt");
}

std::string print_text(const Model& model) {
  Printer printer;
  printer.model(model);
  return std::move(printer.text);
}

std::string print_text(const Function& function) {
  Printer printer;
  printer.function(function);
  return std::move(printer.text);
}

}  // namespace sdx::model
