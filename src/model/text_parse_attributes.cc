// Attributes of a model's text, whose kind is stated or follows from their value.
#include "model/text_parser.h"

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

}  // namespace

Status TextParser::attribute(Attribute& a, std::string name) {
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

Status TextParser::list(Attribute& a, AttributeType stated) {
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

Result<AttributeType> TextParser::single(Attribute& a, AttributeType expected) {
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

Status TextParser::attributes(std::vector<Attribute>& list) {
  if (!in_.take("<")) return ok();
  do {
    SDX_ASSIGN(const std::string_view name, in_.need_identifier());
    SDX_TRY(attribute(list.emplace_back(), std::string(name)));
  } while (in_.take(","));
  return in_.expect(">");
}

}  // namespace sdx::model
