#include <algorithm>
#include <cctype>
#include <charconv>
#include <limits>
#include <map>

#include "base/text_place.h"
#include "ops/list.h"
#include "typed/text.h"

namespace sdx::typed {
namespace {

class Parser {
 public:
  Parser(std::string_view text, const TextTable& table) : text_(text), table_(table) {}

  Result<Graph> all() {
    Status status = graph();
    if (!status) {
      return at_place(std::move(status).error(), text_, at_);
    }
    return std::move(graph_);
  }

 private:
  Status graph() {
    SDX_TRY(expect("graph"));
    SDX_ASSIGN(graph_.name, string());
    SDX_TRY(expect("{"));
    while (!take("}")) {
      if (take("output")) {
        SDX_ASSIGN(std::string name, string());
        SDX_TRY(expect("="));
        SDX_ASSIGN(const Outlet outlet, wire());
        graph_.output(std::move(name), outlet);
      } else {
        SDX_TRY(node());
      }
    }
    skip();
    return at_ == text_.size() ? ok() : unexpected("the end");
  }

  Status node() {
    std::vector<std::string> names;  // "" for '_'
    do {
      SDX_ASSIGN(std::string name, wire_name());
      names.push_back(std::move(name));
    } while (take(","));
    SDX_TRY(expect("="));
    skip();
    if (take("input")) return source(names);
    if (peek('<') || constant_ahead()) {
      SDX_ASSIGN(Tensor value, tensor());
      return define(names, {graph_.constant(std::move(value))});
    }
    return operation(names);
  }

  Status source(const std::vector<std::string>& names) {
    SDX_TRY(expect(":"));
    SDX_ASSIGN(Fact type, fact());
    skip();
    std::string name = names[0];
    if (peek('"')) {
      SDX_ASSIGN(name, string());
    }
    return define(names, {graph_.source(std::move(name), std::move(type))});
  }

  Status operation(const std::vector<std::string>& names) {
    const size_t start = at_;
    SDX_ASSIGN(std::string name, word());
    std::string domain;
    if (take("::")) {
      domain = std::move(name);
      SDX_ASSIGN(name, word());
    }
    const size_t dot = name.rfind('.');
    sdx::Node use;
    const auto [end, bad] =
        dot == name.npos
            ? std::from_chars_result{nullptr, std::errc::invalid_argument}
            : std::from_chars(name.data() + dot + 1, name.data() + name.size(), use.opset);
    if (bad != std::errc{} || end != name.data() + name.size()) {
      return fail("SDX-T0802", "\"{}\" is not an operator and its version, such as Add.14", name);
    }
    use.op = find_op(domain, name.substr(0, dot));
    const Signature* signature = use.op == nullptr ? nullptr : use.op->at(use.opset);
    if (signature == nullptr) {
      at_ = start;
      return fail("SDX-T0803", "there is no operator {}", name);
    }
    if (take("{")) SDX_TRY(attributes(*signature, use.attrs));
    std::vector<Outlet> inputs;
    SDX_TRY(expect("("));
    bool captures = false;
    while (!take(")")) {
      if (!inputs.empty() && take(";")) {
        use.formal_inputs = inputs.size();
        captures = true;
      } else if (!inputs.empty()) {
        SDX_TRY(expect(","));
      }
      SDX_ASSIGN(const Outlet input, wire());
      inputs.push_back(input);
    }
    if (!captures) use.formal_inputs = inputs.size();
    for (const std::string& output : names) use.wanted.push_back(!output.empty());
    std::vector<std::string> types;
    Facts stated;
    if (take(":")) {
      do {
        skip();
        const size_t from = at_;
        stated.emplace_back();
        if (!take("_")) {
          SDX_ASSIGN(stated.back(), fact());
        }
        types.emplace_back(text_.substr(from, at_ - from));
      } while (take(","));
    }
    skip();
    if (peek('"')) {
      SDX_ASSIGN(use.name, string());
    }
    const size_t here = at_;
    at_ = start;  // what the operator finds wrong is wrong here
    std::vector<std::string> origin;
    if (!use.name.empty()) origin.push_back(use.name);
    SDX_ASSIGN(const std::vector<Outlet> outlets,
               graph_.add(std::move(use), std::move(inputs), std::move(origin)));
    for (size_t slot = 0; slot < std::min(types.size(), outlets.size()); ++slot) {
      // What a model's inference has learnt of an open type is taken over.
      if (stated[slot].is_tensor() && outlets[slot].present()) {
        graph_.learn(outlets[slot], stated[slot]);
      }
      const std::string inferred = names[slot].empty() ? "_" : graph_.fact(outlets[slot]).text();
      if (types[slot] != inferred && inferred.find('?') == inferred.npos) {
        return fail("SDX-T0804", "output {} is {}, the text says {}", slot, inferred, types[slot]);
      }
    }
    at_ = here;
    return define(names, outlets);
  }

  Status define(const std::vector<std::string>& names, const std::vector<Outlet>& outlets) {
    if (names.size() > outlets.size())
      return fail("SDX-T0805", "{} names for {} wires", names.size(), outlets.size());
    for (size_t i = 0; i < names.size(); ++i) {
      if (!names[i].empty() && !wires_.emplace(names[i], outlets[i]).second) {
        return fail("SDX-T0805", "%{} is defined twice", names[i]);
      }
    }
    return ok();
  }

  Status attributes(const Signature& signature, AttrMap& into) {
    while (!take("}")) {
      if (!into.empty()) SDX_TRY(expect(","));
      SDX_ASSIGN(std::string name, word());
      const AttrDecl* decl = signature.attribute(name);
      if (decl == nullptr)
        return fail("SDX-T0806", "attribute \"{}\" is not one of this operator", name);
      SDX_TRY(expect("="));
      SDX_ASSIGN(AttrValue value, attribute(decl->type));
      into.emplace(std::move(name), std::move(value));
    }
    return ok();
  }

  template <class T>
  Result<AttrValue> one(Result<T> value) {
    if (!value) return std::move(value).error();
    return AttrValue(*std::move(value));
  }

  template <class F>
  auto list(F&& item) -> Result<AttrValue> {
    using T = std::remove_cvref_t<decltype(*item())>;
    std::vector<T> items;
    SDX_TRY(expect("["));
    while (!take("]")) {
      if (!items.empty()) SDX_TRY(expect(","));
      SDX_ASSIGN(T value, item());
      items.push_back(std::move(value));
    }
    return AttrValue(std::move(items));
  }

  Result<AttrValue> attribute(AttrType type) {
    switch (type) {
      case AttrType::int_:
        return one(integer<int64_t>());
      case AttrType::float_:
        return one(real<float>());
      case AttrType::string:
        return one(string());
      case AttrType::ints:
        return list([this] { return integer<int64_t>(); });
      case AttrType::floats:
        return list([this] { return real<float>(); });
      case AttrType::strings:
        return list([this] { return string(); });
      case AttrType::tensor:
      case AttrType::sparse_tensor:
        return one(tensor());
      case AttrType::tensors:
        return list([this] { return tensor(); });
      case AttrType::type:
        return one(fact());
      case AttrType::graph: {
        SDX_TRY(expect("<"));
        SDX_TRY(expect("graph"));
        SDX_ASSIGN(const size_t entry, table_entry(table_.bodies.size()));
        return AttrValue(table_.bodies[entry]);
      }
      default:
        return fail("SDX-T0806", "attributes of type {} have no text", attr_type_name(type));
    }
  }

  // "#3>" of a table that has `size` entries.
  Result<size_t> table_entry(size_t size) {
    SDX_TRY(expect("#"));
    SDX_ASSIGN(const auto entry, integer<uint64_t>());
    SDX_TRY(expect(">"));
    if (entry >= size) return fail("SDX-T0807", "entry {} of a table that has {}", entry, size);
    return size_t(entry);
  }

  // "i64[2] {" or the like; operators are followed by '.', "::" or '('.
  bool constant_ahead() const {
    size_t end = at_;
    while (end < text_.size() && std::isalnum(static_cast<unsigned char>(text_[end]))) ++end;
    return dtype_from_short(text_.substr(at_, end - at_)).has_value() && end < text_.size() &&
           text_[end] == '[';
  }

  Result<Tensor> tensor() {
    const bool in_table = take("<");
    SDX_ASSIGN(const Fact type, fact());
    if (!type.is_concrete()) return fail("SDX-T0808", "a constant is of type {}", type.text());
    SDX_ASSIGN(const size_t count, element_count(type.dims()));
    if (in_table) {
      SDX_ASSIGN(const size_t entry, table_entry(table_.tensors.size()));
      const Tensor& kept = table_.tensors[entry];
      if (kept.type() != type.type || kept.dims() != type.dims()) {
        return fail("SDX-T0807", "entry {} is {}{}, the text says {}", entry,
                    short_name(kept.type()), to_string(kept.dims()), type.text());
      }
      return kept;
    }
    if (count > kMostInline)
      return fail("SDX-T0808", "a constant of {} elements stands in the text", count);
    Tensor value = Tensor::make(type.type, type.dims());
    SDX_TRY(expect("{"));
    for (size_t i = 0; i < count; ++i) {
      if (i > 0) SDX_TRY(expect(","));
      SDX_TRY(element(value, i));
    }
    SDX_TRY(expect("}"));
    return value;
  }

  Status element(Tensor& into, size_t i) {
    const DType type = into.type();
    if (type == DType::string) {
      SDX_ASSIGN(into.data<std::string>()[i], string());
    } else if (type == DType::boolean) {
      into.data<bool>()[i] = take("true");
      if (!into.data<bool>()[i]) return expect("false");
    } else if (type == DType::u64) {
      SDX_ASSIGN(into.data<uint64_t>()[i], integer<uint64_t>());
    } else if (is_integer(type)) {
      SDX_ASSIGN(const auto x, integer<int64_t>());
      set_i64(type, into.raw(), i, x);
      if (get_i64(type, into.raw(), i) != x)
        return fail("SDX-T0808", "{} cannot hold {}", short_name(type), x);
    } else if (type == DType::f32) {
      SDX_ASSIGN(into.data<float>()[i], real<float>());
    } else if (is_float(type)) {
      SDX_ASSIGN(const auto x, real<double>());
      set_f64(type, into.raw(), i, x);
    } else {
      return fail("SDX-T0808", "elements of type {} have no text", short_name(type));
    }
    return ok();
  }

  Result<Fact> fact() {
    for (const auto& [word, make] :
         {std::pair{"seq(", &Fact::sequence}, std::pair{"optional(", &Fact::optional_of}}) {
      if (!take(word)) continue;
      SDX_TRY(descend());
      SDX_ASSIGN(Fact element, fact());
      --depth_;
      SDX_TRY(expect(")"));
      return make(std::move(element));
    }
    if (take("map(")) {
      SDX_ASSIGN(const DType key, dtype());
      SDX_TRY(expect(","));
      SDX_TRY(descend());
      SDX_ASSIGN(Fact element, fact());
      --depth_;
      SDX_TRY(expect(")"));
      return Fact::map(key, std::move(element));
    }
    SDX_ASSIGN(const DType type, dtype());
    if (take("[..]")) return Fact::tensor(type);
    SDX_TRY(expect("["));
    Shape shape;
    while (!take("]")) {
      if (!shape.empty()) SDX_TRY(expect(","));
      skip();
      // A number or a symbol; an expression is kept as a symbol of that text, which only an
      // output's type may be.
      size_t end = at_;
      for (int open = 0; end < text_.size() && text_[end] != '\n'; ++end) {
        const char c = text_[end];
        if (open == 0 && (c == ',' || c == ']')) break;
        open += c == '(' ? 1 : c == ')' ? -1 : 0;
      }
      const std::string_view size = text_.substr(at_, end - at_);
      int64_t number = 0;
      const auto [last, bad] = std::from_chars(size.data(), size.data() + size.size(), number);
      if (size.empty()) return unexpected("a size");
      shape.push_back(bad == std::errc{} && last == size.data() + size.size()
                          ? Dim(number)
                          : Dim::symbol(std::string(size)));
      at_ = end;
    }
    return Fact::tensor(type, std::move(shape));
  }

  Result<DType> dtype() {
    if (take("?")) return DType::undefined;
    const size_t start = at_;
    SDX_ASSIGN(const std::string name, word());
    if (const auto type = dtype_from_short(name)) return *type;
    at_ = start;
    return unexpected("an element type");
  }

  Status descend() {
    constexpr int kDeepest = 64;
    if (++depth_ > kDeepest) return fail("SDX-T0801", "types within types beyond {}", kDeepest);
    return ok();
  }

  Result<Outlet> wire() {
    const size_t start = at_;
    SDX_ASSIGN(const std::string name, wire_name());
    if (name.empty()) return Outlet{};
    const auto found = wires_.find(name);
    if (found == wires_.end()) {
      at_ = start;
      return fail("SDX-T0805", "%{} is not defined before it is used", name);
    }
    return found->second;
  }

  // "%name"; "" for '_'.
  Result<std::string> wire_name() {
    if (take("_")) return std::string();
    SDX_TRY(expect("%"));
    return word();
  }

  Result<std::string> word() {
    skip();
    size_t end = at_;
    while (end < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[end])) ||
                                  text_[end] == '_' || text_[end] == '.')) {
      ++end;
    }
    if (end == at_) return unexpected("a name");
    std::string name(text_.substr(at_, end - at_));
    at_ = end;
    return name;
  }

  Result<std::string> string() {
    SDX_TRY(expect("\""));
    std::string value;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] != '\\') {
        value += text_[at_++];
      } else if (text_.substr(at_, 2) == "\\x" && at_ + 4 <= text_.size()) {
        uint8_t byte = 0;
        const auto [end, bad] =
            std::from_chars(text_.data() + at_ + 2, text_.data() + at_ + 4, byte, 16);
        if (bad != std::errc{} || end != text_.data() + at_ + 4)
          return unexpected("two hexadecimal digits");
        value += static_cast<char>(byte);
        at_ += 4;
      } else if (at_ + 1 < text_.size()) {
        value += text_[at_ + 1];
        at_ += 2;
      } else {
        break;
      }
    }
    if (at_ >= text_.size()) return unexpected("the end of a string");
    ++at_;
    return value;
  }

  template <class T>
  Result<T> integer() {
    skip();
    T value{};
    const auto [end, bad] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (bad != std::errc{}) return unexpected("an integer");
    at_ = static_cast<size_t>(end - text_.data());
    return value;
  }

  template <class T>
  Result<T> real() {
    if (take("nan")) return std::numeric_limits<T>::quiet_NaN();
    T value{};
    skip();
    const auto [end, bad] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (bad != std::errc{}) return unexpected("a number");
    at_ = static_cast<size_t>(end - text_.data());
    return value;
  }

  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool peek(char c) const { return at_ < text_.size() && text_[at_] == c; }
  bool take(std::string_view token) {
    skip();
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  Status expect(std::string_view token) {
    return take(token) ? ok() : unexpected(fmt::format("\"{}\"", token));
  }
  Error unexpected(std::string_view wanted) const {
    const std::string_view rest = text_.substr(std::min(at_, text_.size()));
    const std::string_view found = rest.substr(0, std::min<size_t>(rest.find('\n'), 20));
    return fail("SDX-T0801", "expected {}, found {}", wanted,
                rest.empty() ? "the end" : fmt::format("\"{}\"", found));
  }

  std::string_view text_;
  const TextTable& table_;
  size_t at_ = 0;
  int depth_ = 0;
  Graph graph_;
  std::map<std::string, Outlet, std::less<>> wires_;
};

}  // namespace

Result<Graph> parse(std::string_view text, const TextTable& table) {
  return Parser(text, table).all();
}

}  // namespace sdx::typed
