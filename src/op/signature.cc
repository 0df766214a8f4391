#include "op/signature.h"

#include <algorithm>
#include <charconv>

namespace sdx {

AttrValue::AttrValue(const AttrValue&) = default;
AttrValue::AttrValue(AttrValue&&) noexcept = default;
AttrValue& AttrValue::operator=(const AttrValue&) = default;
AttrValue& AttrValue::operator=(AttrValue&&) noexcept = default;
AttrValue::~AttrValue() = default;

AttrMap::AttrMap() = default;
AttrMap::AttrMap(std::initializer_list<value_type> values) : map(values) {}
AttrMap::AttrMap(const AttrMap&) = default;
AttrMap::AttrMap(AttrMap&&) noexcept = default;
AttrMap& AttrMap::operator=(const AttrMap&) = default;
AttrMap& AttrMap::operator=(AttrMap&&) noexcept = default;
AttrMap::~AttrMap() = default;

namespace {

constexpr std::string_view kAttrNames[] = {
    "undefined", "float",   "int",    "string",        "tensor",         "graph", "floats", "ints",
    "strings",   "tensors", "graphs", "sparse_tensor", "sparse_tensors", "type",  "types"};

const std::map<std::string_view, std::vector<std::string_view>>& groups() {
  static const std::map<std::string_view, std::vector<std::string_view>> kGroups = {
      {"ints", {"i8", "i16", "i32", "i64"}},
      {"uints", {"u8", "u16", "u32", "u64"}},
      {"floats", {"f16", "f32", "f64"}},
      {"num", {"ints", "uints", "floats"}},
      {"all", {"num", "bool", "string", "c64", "c128"}},
      {"f8", {"f8e4m3fn", "f8e4m3fnuz", "f8e5m2", "f8e5m2fnuz"}},
  };
  return kGroups;
}

// One word of the type language as ONNX spells it; a group gives several.
Result<std::vector<std::string>> spell(std::string_view word, bool bare = false) {
  const auto wrapped = [&](std::string_view prefix) -> bool {
    return word.starts_with(prefix) && word.ends_with(")");
  };
  for (const std::string_view kind : {"seq(", "optional("}) {
    if (!wrapped(kind)) continue;
    SDX_ASSIGN(auto inner, spell(word.substr(kind.size(), word.size() - kind.size() - 1)));
    for (std::string& type : inner) type = std::string(kind) + type + ")";
    return inner;
  }
  if (wrapped("map(")) {
    const size_t comma = word.find(',');
    if (comma == word.npos) return fail("SDX-O0001", "map type without a comma: {}", word);
    SDX_ASSIGN(auto key, spell(word.substr(4, comma - 4), true));
    SDX_ASSIGN(auto value, spell(word.substr(comma + 1, word.size() - comma - 2), true));
    return std::vector<std::string>{"map(" + key[0] + ", " + value[0] + ")"};
  }
  if (const auto group = groups().find(word); group != groups().end()) {
    std::vector<std::string> all;
    for (const std::string_view member : group->second) {
      SDX_ASSIGN(auto types, spell(member, bare));
      all.insert(all.end(), types.begin(), types.end());
    }
    return all;
  }
  const auto type = dtype_from_short(word);
  if (!type) return fail("SDX-O0001", "unknown type word \"{}\"", word);
  const std::string name(onnx_name(*type));
  return std::vector<std::string>{bare ? name : "tensor(" + name + ")"};
}

class Parser {
 public:
  Parser(std::string_view text, Signature& into) : rest_(text), sig_(into) {}

  Status run() {
    while (skip(), !rest_.empty()) {
      if (eat("deprecated")) {
        sig_.deprecated = true;
      } else if (eat("experimental")) {
        sig_.experimental = true;
      } else if (eat("->")) {
        SDX_TRY(formals(sig_.outputs, sig_.min_outputs, sig_.max_outputs));
      } else if (peek('(')) {
        SDX_TRY(formals(sig_.inputs, sig_.min_inputs, sig_.max_inputs));
      } else if (eat("{")) {
        SDX_TRY(attributes());
      } else {
        SDX_TRY(constraint());
      }
    }
    return ok();
  }

 private:
  void skip() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\n')) rest_.remove_prefix(1);
  }
  bool peek(char c) { return skip(), !rest_.empty() && rest_[0] == c; }
  bool eat(std::string_view token) {
    skip();
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  Status expect(std::string_view token) {
    if (eat(token)) return ok();
    return fail("SDX-O0001", "expected \"{}\" at \"{}\"", token, rest_.substr(0, 30));
  }
  // Letters, digits, '_' and, for types, balanced parentheses.
  std::string_view word() {
    skip();
    size_t n = 0;
    int depth = 0;
    while (n < rest_.size()) {
      const char c = rest_[n];
      if (c == '(') {
        ++depth;
      } else if (c == ')') {
        if (depth == 0) break;
        --depth;
      } else if (!(std::isalnum(static_cast<unsigned char>(c)) || c == '_' ||
                   (c == ',' && depth > 0))) {
        break;
      }
      ++n;
    }
    const std::string_view found = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return found;
  }

  // A type variable, or a concrete type in our words.
  static Result<std::string> type_name(std::string_view word) {
    const bool concrete = dtype_from_short(word) || word.find('(') != word.npos;
    if (!concrete) return std::string(word);
    SDX_ASSIGN(auto types, spell(word));
    return types[0];
  }

  Status formals(std::vector<Formal>& list, size_t& least, size_t& most) {
    SDX_TRY(expect("("));
    list.clear();
    least = most = 0;
    while (!eat(")")) {
      if (!list.empty()) SDX_TRY(expect(","));
      Formal formal;
      formal.name = word();
      if (rest_.starts_with("......") && eat("..."))
        formal.name += "...";  // Split-1 names its outputs so
      size_t variadic_min = 1;
      if (eat("...")) {
        formal.option = Formal::Option::variadic;
        if (const std::string_view count = word(); !count.empty()) {
          std::from_chars(count.data(), count.data() + count.size(), variadic_min);
        }
        if (eat("~")) formal.homogeneous = false;
      } else if (eat("?")) {
        formal.option = Formal::Option::optional;
      }
      SDX_TRY(expect(":"));
      SDX_ASSIGN(formal.type, type_name(word()));
      // The least count ends at the last input that must be there.
      if (formal.option == Formal::Option::single) least = list.size() + 1;
      // Counting a variadic one, even if it may be empty, counts what stands before it.
      if (formal.option == Formal::Option::variadic) least = list.size() + variadic_min;
      most = formal.option == Formal::Option::variadic ? kUnbounded : list.size() + 1;
      list.push_back(std::move(formal));
    }
    return ok();
  }

  Result<AttrValue> literal(AttrType type) {
    if (type == AttrType::string) return text();
    if (type == AttrType::int_) return number<int64_t>();
    if (type == AttrType::float_) return number<float>();
    SDX_TRY(expect("["));
    const auto list = [&]<class T>(std::vector<T> items, auto one) -> Result<AttrValue> {
      while (!eat("]")) {
        if (!items.empty()) SDX_TRY(expect(","));
        SDX_ASSIGN(AttrValue item, one());
        items.push_back(std::get<T>(item));
      }
      return AttrValue(std::move(items));
    };
    if (type == AttrType::ints)
      return list(std::vector<int64_t>{}, [&] { return number<int64_t>(); });
    if (type == AttrType::floats)
      return list(std::vector<float>{}, [&] { return number<float>(); });
    return list(std::vector<std::string>{}, [&] { return text(); });
  }
  Result<AttrValue> text() {
    SDX_TRY(expect("\""));
    const size_t end = rest_.find('"');
    if (end == rest_.npos) return fail("SDX-O0001", "unterminated string");
    std::string value(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return AttrValue(std::move(value));
  }
  template <class T>
  Result<AttrValue> number() {
    skip();
    T value{};
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc())
      return fail("SDX-O0001", "expected a number at \"{}\"", rest_.substr(0, 30));
    rest_.remove_prefix(size_t(end - rest_.data()));
    return AttrValue(value);
  }

  Status attributes() {
    for (bool first = true; !eat("}"); first = false) {
      if (!first) SDX_TRY(expect(","));
      const bool remove = eat("-");
      const std::string name(word());
      std::erase_if(sig_.attributes, [&](const AttrDecl& a) { return a.name == name; });
      if (remove) continue;
      AttrDecl decl;
      decl.name = name;
      decl.required = eat("!");
      SDX_TRY(expect(":"));
      const std::string_view type = word();
      const auto* at = std::find(std::begin(kAttrNames), std::end(kAttrNames), type);
      if (at == std::end(kAttrNames))
        return fail("SDX-O0001", "unknown attribute type \"{}\"", type);
      decl.type = static_cast<AttrType>(at - kAttrNames);
      if (eat("=")) {
        SDX_ASSIGN(decl.fallback, literal(decl.type));
      }
      sig_.attributes.push_back(std::move(decl));
    }
    std::sort(sig_.attributes.begin(), sig_.attributes.end(),
              [](const AttrDecl& a, const AttrDecl& b) { return a.name < b.name; });
    return ok();
  }

  Status constraint() {
    if (eat("-")) {
      sig_.types.erase(std::string(word()));
      return ok();
    }
    const std::string variable(word());
    const bool plus = eat("+="), minus = !plus && eat("-=");
    if (!plus && !minus && !eat("in")) {
      return fail("SDX-O0001", "expected \"in\", \"+=\" or \"-=\" at \"{}\"", rest_.substr(0, 30));
    }
    std::vector<std::string>& types = sig_.types[variable];
    if (!plus && !minus) types.clear();
    while (true) {
      // The list ends before the next variable ("T2 in ..."), bracket or flag.
      const std::string_view before = rest_;
      const std::string_view next = word();
      const bool is_type = !next.empty() && (groups().contains(next) || dtype_from_short(next) ||
                                             next.find('(') != next.npos);
      if (!is_type) {
        rest_ = before;
        break;
      }
      SDX_ASSIGN(auto spelled, spell(next));
      for (std::string& type : spelled) {
        if (minus) {
          std::erase(types, type);
        } else {
          types.push_back(std::move(type));
        }
      }
    }
    std::sort(types.begin(), types.end());
    types.erase(std::unique(types.begin(), types.end()), types.end());
    return ok();
  }

  std::string_view rest_;
  Signature& sig_;
};

}  // namespace

std::string_view attr_type_name(AttrType type) { return kAttrNames[static_cast<size_t>(type)]; }

const AttrDecl* Signature::attribute(std::string_view name) const {
  for (const AttrDecl& decl : attributes) {
    if (decl.name == name) return &decl;
  }
  return nullptr;
}

static const Formal* formal_at(const std::vector<Formal>& list, size_t i) {
  if (i < list.size()) return &list[i];
  if (!list.empty() && list.back().option == Formal::Option::variadic) return &list.back();
  return nullptr;
}
const Formal* Signature::input(size_t i) const { return formal_at(inputs, i); }
const Formal* Signature::output(size_t i) const { return formal_at(outputs, i); }

Result<std::vector<Signature>> fold(std::span<const Version> history) {
  std::vector<Signature> folded;
  Signature signature;
  for (const Version& version : history) {
    signature.since = version.since;
    signature.deprecated = signature.experimental = false;
    if (Status status = Parser(version.delta, signature).run(); !status) {
      return std::move(status).error().in(fmt::format("history of version {}", version.since));
    }
    folded.push_back(signature);
  }
  return folded;
}

}  // namespace sdx
