// Text to a model: ONNX's grammar, part by part, each followed by the "#!" comments that complete
// it.
#include "base/text_place.h"
#include "model/text.h"
#include "model/text_fields.h"
#include "model/text_tensor.h"
#include "model/walk.h"

namespace sdx::model {
namespace {

// The kind of one item of a list; of a kind that is no list, itself.
AttributeType item_kind(AttributeType kind) {
  using Kind = AttributeType;
  switch (kind) {
    case Kind::floats:
      return Kind::f;
    case Kind::ints:
      return Kind::i;
    case Kind::strings:
      return Kind::s;
    case Kind::tensors:
      return Kind::t;
    case Kind::graphs:
      return Kind::g;
    case Kind::sparse_tensors:
      return Kind::sparse_tensor;
    case Kind::types:
      return Kind::type;
    default:
      return kind;
  }
}

class Parser {
 public:
  Parser(std::string_view text, const Limits& limits) : in_(text, limits) {}
  size_t at() const { return in_.at(); }

  Status model(Model& m) {
    if (in_.take("<")) {
      do {
        const size_t start = (in_.skip(), in_.at());
        SDX_ASSIGN(const std::string_view key, in_.need_identifier());
        SDX_TRY(in_.expect(":"));
        if (key == "ir_version") {
          SDX_TRY(number(m, &Model::ir_version));
        } else if (key == "model_version") {
          SDX_TRY(number(m, &Model::model_version));
        } else if (key == "opset_import") {
          SDX_TRY(imports(m.opset_import));
        } else if (key == "producer_name") {
          SDX_TRY(words(m, &Model::producer_name));
        } else if (key == "producer_version") {
          SDX_TRY(words(m, &Model::producer_version));
        } else if (key == "domain") {
          SDX_TRY(words(m, &Model::domain));
        } else if (key == "doc_string") {
          SDX_TRY(words(m, &Model::doc_string));
        } else if (key == "metadata_props") {
          SDX_TRY(in_.expect("["));
          if (!in_.take("]")) {
            SDX_TRY(parse_entries(in_, m.metadata_props));
            SDX_TRY(in_.expect("]"));
          }
        } else {
          in_.go_to(start);
          return in_.unexpected("a field of the model such as ir_version or opset_import");
        }
      } while (in_.take(","));
      SDX_TRY(in_.expect(">"));
    }
    SDX_ASSIGN(std::string name, in_.name());
    SDX_TRY(graph(std::move(name), m.graph.emplace()));
    while (!in_.at_end() && in_.peek() != '#') SDX_TRY(function(m.functions.emplace_back()));
    SDX_TRY(extension("model", m));
    return in_.at_end() ? ok() : stray();
  }

  Status functions(std::vector<Function>& list) {
    while (!in_.at_end()) SDX_TRY(function(list.emplace_back()));
    return ok();
  }

 private:
  Error stray() {
    return fail("SDX-M0102", "\"{}\" does not belong here",
                in_.text().substr(in_.at(), in_.text().find_first_of(" \n", in_.at()) - in_.at()));
  }

  template <class M>
  Status extension(std::string_view kind, M& message) {
    while (in_.extension(kind)) {
      if constexpr (std::is_same_v<M, TensorData>) {
        const size_t start = in_.at();
        if (in_.take_here("raw") && (in_.take_here(",") || in_.line_ended())) {
          SDX_TRY(make_raw(message));
        } else {
          in_.go_to(start);
        }
      }
      SDX_TRY(parse_fields(in_, message));
      SDX_TRY(in_.end_of_extension());
    }
    return ok();
  }

  template <class M>
  Status number(M& m, int64_t M::*member) {
    SDX_ASSIGN(const int64_t value, in_.integer());
    set(m, member, value);
    return ok();
  }
  template <class M>
  Status words(M& m, std::string M::*member) {
    SDX_ASSIGN(std::string value, in_.string());
    set(m, member, std::move(value));
    return ok();
  }
  // A name that is there only if it says something.
  template <class M>
  static void put_name(M& m, std::string M::*member, std::string name) {
    if (!name.empty()) set(m, member, std::move(name));
  }

  Status imports(std::vector<OpsetId>& list) {
    SDX_TRY(in_.expect("["));
    if (in_.take("]")) return ok();
    do {
      OpsetId& import = list.emplace_back();
      SDX_TRY(words(import, &OpsetId::domain));
      SDX_TRY(in_.expect(":"));
      SDX_TRY(number(import, &OpsetId::version));
    } while (in_.take(","));
    return in_.expect("]");
  }

  Status function(Function& f) {
    if (in_.take("<")) {
      do {
        const size_t start = (in_.skip(), in_.at());
        SDX_ASSIGN(const std::string_view key, in_.need_identifier());
        SDX_TRY(in_.expect(":"));
        if (key == "opset_import") {
          SDX_TRY(imports(f.opset_import));
        } else if (key == "domain") {
          SDX_TRY(words(f, &Function::domain));
        } else if (key == "overload") {
          SDX_TRY(words(f, &Function::overload));
        } else if (key == "doc_string") {
          SDX_TRY(words(f, &Function::doc_string));
        } else {
          in_.go_to(start);
          return in_.unexpected("domain, overload, opset_import or doc_string");
        }
      } while (in_.take(","));
      SDX_TRY(in_.expect(">"));
    }
    SDX_ASSIGN(std::string name, in_.name());
    put_name(f, &Function::name, std::move(name));
    if (in_.take("<") && !in_.take(">")) {
      do {
        SDX_ASSIGN(std::string parameter, in_.name());
        if (in_.peek() == ':' || in_.peek() == '=') {
          SDX_TRY(attribute(f.attribute_proto.emplace_back(), std::move(parameter)));
        } else {
          f.attribute.push_back(std::move(parameter));
        }
      } while (in_.take(","));
      SDX_TRY(in_.expect(">"));
    }
    SDX_TRY(parameters(f.input, f.value_info));
    SDX_TRY(in_.expect("=>"));
    SDX_TRY(parameters(f.output, f.value_info));
    if (in_.take("<") && !in_.take(">")) {
      SDX_TRY(values(f.value_info));
      SDX_TRY(in_.expect(">"));
    }
    SDX_TRY(nodes(f.node));
    return extension("function", f);
  }
  // Names, each with a type if it has one.
  Status parameters(std::vector<std::string>& list, std::vector<ValueInfo>& infos) {
    SDX_TRY(in_.expect("("));
    if (in_.take(")")) return ok();
    do {
      ValueInfo info;
      SDX_TRY(value(info));
      list.push_back(info.name);
      if (info.type) infos.push_back(std::move(info));
    } while (in_.take(","));
    return in_.expect(")");
  }

  Result<DType> element_type() {
    const size_t start = (in_.skip(), in_.at());
    if (const auto type = dtype_from_onnx(in_.identifier())) return *type;
    in_.go_to(start);
    return in_.unexpected("an element type such as float or int64");
  }

  template <class T>
  Status tensor_type(T& out) {
    SDX_ASSIGN(const DType element, element_type());
    set(out, &T::elem_type, static_cast<int32_t>(element));
    if (!in_.take("[")) {
      out.shape.emplace();
      return ok();
    }
    if (in_.take("]")) return ok();  // the rank is not known
    Shape& shape = out.shape.emplace();
    do {
      Dimension& dim = shape.dim.emplace_back();
      if (in_.take("?")) continue;
      if (in_.name_ahead()) {
        SDX_ASSIGN(dim.value, in_.name());
      } else {
        const char first = in_.peek();
        if (first != '-' && (first < '0' || first > '9')) {
          return in_.unexpected("a dimension: a number, a name or \"?\"");
        }
        SDX_ASSIGN(dim.value, in_.integer());
      }
    } while (in_.take(","));
    return in_.expect("]");
  }

  Status type(Type& t) {
    const std::string_view word = in_.peek_identifier();
    if (dtype_from_onnx(word)) return tensor_type(t.value.emplace<TensorType>());
    if (!is_type_word(word)) return in_.unexpected("a type");
    SDX_TRY(in_.descend());
    in_.identifier();
    SDX_TRY(in_.expect("("));
    if (word == "seq") {
      SDX_TRY(type(t.value.emplace<SequenceType>().elem_type.emplace()));
    } else if (word == "optional") {
      SDX_TRY(type(t.value.emplace<OptionalType>().elem_type.emplace()));
    } else if (word == "sparse_tensor") {
      SDX_TRY(tensor_type(t.value.emplace<SparseTensorType>()));
    } else if (word == "map") {
      auto& map = t.value.emplace<MapType>();
      SDX_ASSIGN(const DType key, element_type());
      set(map, &MapType::key_type, static_cast<int32_t>(key));
      SDX_TRY(in_.expect(","));
      SDX_TRY(type(map.value_type.emplace()));
    } else {
      SDX_TRY(opaque(t.value.emplace<OpaqueType>()));
    }
    in_.ascend();
    return in_.expect(")");
  }
  Status opaque(OpaqueType& out) {
    if (in_.peek() == ')') return ok();
    SDX_ASSIGN(std::string first, dotted());
    if (in_.take(",")) {
      set(out, &OpaqueType::domain, std::move(first));
      SDX_ASSIGN(const std::string_view name, in_.need_identifier());
      set(out, &OpaqueType::name, std::string(name));
    } else {
      set(out, &OpaqueType::name, std::move(first));
    }
    return ok();
  }
  Result<std::string> dotted() {
    SDX_ASSIGN(const std::string_view first, in_.need_identifier());
    std::string all(first);
    while (in_.take(".")) {
      SDX_ASSIGN(const std::string_view next, in_.need_identifier());
      all += fmt::format(".{}", next);
    }
    return all;
  }

  Status value(ValueInfo& info) {
    SDX_TRY(typed_name(info));
    return extension("value", info);
  }
  Status typed_name(ValueInfo& info) {
    if (is_type_word(in_.peek_identifier())) SDX_TRY(type(info.type.emplace()));
    SDX_ASSIGN(std::string name, in_.name());
    put_name(info, &ValueInfo::name, std::move(name));
    return ok();
  }
  Status values(std::vector<ValueInfo>& list) {
    do {
      SDX_TRY(value(list.emplace_back()));
    } while (in_.take(","));
    return ok();
  }

  // A tensor whose type has been read, from its elements on.
  Status tensor(const std::optional<Type>& declared, size_t type_at, TensorData& t) {
    const TensorType* type = declared ? declared->tensor() : nullptr;
    const auto refuse = [&](std::string_view why) {
      in_.go_to(type_at);
      return fail("SDX-M0101", "{}", why);
    };
    if (type == nullptr) return refuse("elements need the type of a tensor before them");
    if (!type->shape) return refuse("the dimensions of a tensor with elements must be given");
    set(t, &TensorData::data_type, type->elem_type);
    for (const Dimension& dim : type->shape->dim) {
      if (dim.number() == nullptr) return refuse("the dimensions of a tensor must be numbers");
      t.dims.push_back(*dim.number());
    }
    SDX_TRY(parse_elements(in_, t));
    return extension("tensor", t);
  }

  // A value, or an initializer: "type name = elements". A graph's input may have both.
  Status value_or_initializer(std::vector<ValueInfo>& infos, std::vector<TensorData>& initializers,
                              bool keep_info) {
    const size_t start = (in_.skip(), in_.at());
    ValueInfo info;
    SDX_TRY(typed_name(info));
    if (in_.take("=")) {
      TensorData& t = initializers.emplace_back();
      put_name(t, &TensorData::name, info.name);
      SDX_TRY(tensor(info.type, start, t));
      if (!keep_info) return ok();
    }
    SDX_TRY(extension("value", info));
    infos.push_back(std::move(info));
    return ok();
  }

  Status attribute(Attribute& a, std::string name) {
    using Kind = AttributeType;
    put_name(a, &Attribute::name, std::move(name));
    Kind stated = Kind::undefined;
    if (in_.take(":")) {
      const size_t start = (in_.skip(), in_.at());
      const std::string_view word = in_.identifier();
      for (size_t i = 1; i < std::size(kAttributeWords); ++i) {
        if (kAttributeWords[i] == word) stated = static_cast<Kind>(i);
      }
      if (stated == Kind::undefined) {
        in_.go_to(start);
        return in_.unexpected("a type of attribute such as int, floats or graph");
      }
    }
    SDX_TRY(in_.expect("="));
    const size_t start = (in_.skip(), in_.at());
    const Kind item = item_kind(stated);
    if (in_.take("@")) {
      SDX_ASSIGN(std::string outer, in_.name());
      set(a, &Attribute::ref_attr_name, std::move(outer));
      if (stated != Kind::undefined) set(a, &Attribute::type, stated);
    } else if (in_.take("[")) {
      if (stated != Kind::undefined && item == stated) {
        in_.go_to(start);
        return in_.unexpected("one value, not a list");
      }
      SDX_TRY(list(a, stated));
    } else if (stated != item) {
      return in_.unexpected("\"[\": the attribute is a list");
    } else {
      SDX_ASSIGN(const Kind found, single(a, item));
      set(a, &Attribute::type, found);
    }
    return extension("attribute", a);
  }

  Status list(Attribute& a, AttributeType stated) {
    using Kind = AttributeType;
    Kind item = item_kind(stated);
    const size_t start = in_.at();
    if (in_.take("]")) {
      if (stated == Kind::undefined) {
        in_.go_to(start);
        return fail("SDX-M0101", "an empty list needs its type, as in \"axes: ints = []\"");
      }
      set(a, &Attribute::type, stated);
      return ok();
    }
    do {
      const size_t here = (in_.skip(), in_.at());
      Attribute one;
      SDX_ASSIGN(const Kind found, single(one, item_kind(stated)));
      item = item == Kind::undefined ? found : item;
      if (found == Kind::i && item == Kind::f) {
        one.f = static_cast<float>(one.i);
      } else if (found == Kind::f && item == Kind::i) {
        // [1, 2.5]: the integers before were floats.
        item = Kind::f;
        for (const int64_t whole : a.ints) a.floats.push_back(static_cast<float>(whole));
        a.ints.clear();
      } else if (found != item) {
        in_.go_to(here);
        return in_.unexpected(
            fmt::format("an item of type {}", kAttributeWords[static_cast<size_t>(item)]));
      }
      switch (item) {
        case Kind::f:
          a.floats.push_back(one.f);
          break;
        case Kind::i:
          a.ints.push_back(one.i);
          break;
        case Kind::s:
          a.strings.push_back(std::move(one.s));
          break;
        case Kind::t:
          a.tensors.push_back(std::move(*one.t));
          break;
        case Kind::g:
          a.graphs.push_back(std::move(*one.g));
          break;
        case Kind::sparse_tensor:
          a.sparse_tensors.push_back(std::move(*one.sparse_tensor));
          break;
        default:
          a.type_protos.push_back(std::move(*one.tp));
          break;
      }
    } while (in_.take(","));
    for (size_t i = 1; i < std::size(kAttributeWords); ++i) {
      const auto kind = static_cast<Kind>(i);
      if (item_kind(kind) == item && kind != item) set(a, &Attribute::type, kind);
    }
    return in_.expect("]");
  }

  // One value, of the kind that is expected if one is; the kind that it is.
  Result<AttributeType> single(Attribute& a, AttributeType expected) {
    using Kind = AttributeType;
    const size_t start = (in_.skip(), in_.at());
    const std::string_view word = in_.peek_identifier();
    const char first = in_.peek();
    const auto wrong = [&](Kind found) -> Result<AttributeType> {
      if (expected == Kind::undefined || expected == found) return found;
      in_.go_to(start);
      return in_.unexpected(
          fmt::format("a value of type {}", kAttributeWords[static_cast<size_t>(expected)]));
    };
    if (in_.take("!")) {
      SDX_TRY(in_.expect("{"));
      SDX_TRY(parse_fields(in_, a.sparse_tensor.emplace()));
      SDX_TRY(in_.expect("}"));
      return wrong(Kind::sparse_tensor);
    }
    if (is_type_word(word)) {
      std::optional<Type> declared;
      SDX_TRY(type(declared.emplace()));
      const char next = in_.peek();
      const bool elements = next == '{' || next == '=' || in_.name_ahead();
      if (!elements) {
        a.tp.emplace() = *std::move(declared);
        return wrong(Kind::type);
      }
      TensorData& t = a.t.emplace();
      if (in_.name_ahead()) {
        SDX_ASSIGN(std::string name, in_.name());
        put_name(t, &TensorData::name, std::move(name));
      }
      in_.take("=");
      SDX_TRY(tensor(declared, start, t));
      return wrong(Kind::t);
    }
    if (first == '"') {
      SDX_TRY(words(a, &Attribute::s));
      return wrong(Kind::s);
    }
    if (!word.empty() && !is_number_word(word)) {
      in_.identifier();
      SDX_TRY(graph(std::string(word), a.g.emplace()));
      return wrong(Kind::g);
    }
    SDX_ASSIGN(const std::string_view digits, in_.number());
    const bool whole = digits.find_first_of(".eEnN") == digits.npos;
    in_.go_to(start);
    if (whole && expected != Kind::f) {
      SDX_TRY(number(a, &Attribute::i));
      return wrong(Kind::i);
    }
    SDX_ASSIGN(const float value, in_.real<float>());
    set(a, &Attribute::f, value);
    return wrong(Kind::f);
  }

  Status attributes(std::vector<Attribute>& list) {
    if (!in_.take("<")) return ok();
    do {
      SDX_ASSIGN(const std::string_view name, in_.need_identifier());
      SDX_TRY(attribute(list.emplace_back(), std::string(name)));
    } while (in_.take(","));
    return in_.expect(">");
  }

  // Names between commas, any of them "" or left out before a comma.
  Status names(std::vector<std::string>& list) {
    while (in_.name_ahead() || in_.peek() == ',') {
      if (in_.peek() == ',') {
        list.emplace_back();
      } else {
        SDX_ASSIGN(std::string name, in_.name());
        list.push_back(std::move(name));
      }
      if (!in_.take(",")) break;
    }
    return ok();
  }

  Status node(Node& n) {
    if (++nodes_ > in_.limits.nodes) {
      return fail("SDX-M0101", "more than {} nodes", in_.limits.nodes);
    }
    if (in_.take("[")) {
      SDX_ASSIGN(std::string name, in_.name());
      set(n, &Node::name, std::move(name));
      SDX_TRY(in_.expect("]"));
    }
    SDX_TRY(names(n.output));
    SDX_TRY(in_.expect("="));
    SDX_ASSIGN(std::string operation, dotted());
    const size_t dot = operation.rfind('.');
    if (dot != operation.npos) {
      set(n, &Node::domain, operation.substr(0, dot));
      operation.erase(0, dot + 1);
    }
    set(n, &Node::op_type, std::move(operation));
    if (in_.take(":")) {
      SDX_ASSIGN(const std::string_view overload, in_.need_identifier());
      set(n, &Node::overload, std::string(overload));
    }
    SDX_TRY(attributes(n.attribute));
    SDX_TRY(in_.expect("("));
    SDX_TRY(names(n.input));
    SDX_TRY(in_.expect(")"));
    if (n.attribute.empty()) SDX_TRY(attributes(n.attribute));
    return extension("node", n);
  }

  Status nodes(std::vector<Node>& list) {
    SDX_TRY(in_.expect("{"));
    while (!in_.take("}")) {
      if (in_.at_end()) return in_.unexpected("a node or \"}\"");
      if (in_.peek() == '#') return stray();
      SDX_TRY(node(list.emplace_back()));
    }
    return ok();
  }

  Status graph(std::string name, Graph& g) {
    SDX_TRY(in_.descend());
    put_name(g, &Graph::name, std::move(name));
    SDX_TRY(in_.expect("("));
    if (!in_.take(")")) {
      do {
        SDX_TRY(value_or_initializer(g.input, g.initializer, true));
      } while (in_.take(","));
      SDX_TRY(in_.expect(")"));
    }
    SDX_TRY(in_.expect("=>"));
    SDX_TRY(in_.expect("("));
    if (!in_.take(")")) {
      SDX_TRY(values(g.output));
      SDX_TRY(in_.expect(")"));
    }
    if (in_.take("<") && !in_.take(">")) {
      do {
        SDX_TRY(value_or_initializer(g.value_info, g.initializer, false));
      } while (in_.take(","));
      SDX_TRY(in_.expect(">"));
    }
    SDX_TRY(nodes(g.node));
    in_.ascend();
    return extension("graph", g);
  }

  Lexer in_;
  size_t nodes_ = 0;
};

}  // namespace

Result<Model> parse_text(std::string_view text, const Limits& limits, std::string_view file,
                         std::shared_ptr<ExternalFiles> files) {
  Parser parser(text, limits);
  Model model;
  if (Status status = parser.model(model); !status) {
    return at_place(std::move(status).error(), text, parser.at(), file);
  }
  SDX_TRY(each_tensor(model, [&](TensorData& tensor) -> Status {
    if (tensor.data_location == DataLocation::external) tensor.files = files;
    return ok();
  }));
  return model;
}

Result<std::vector<Function>> parse_functions(std::string_view text, const Limits& limits,
                                              std::string_view file) {
  Parser parser(text, limits);
  std::vector<Function> functions;
  if (Status status = parser.functions(functions); !status) {
    return at_place(std::move(status).error(), text, parser.at(), file);
  }
  return functions;
}

}  // namespace sdx::model
