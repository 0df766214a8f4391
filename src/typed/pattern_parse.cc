// The text of a pattern.
#include <charconv>

#include "ops/list.h"
#include "typed/pattern.h"

namespace sdx::typed {

class PatternReader {
 public:
  explicit PatternReader(std::string_view text) : text_(text) {}

  Result<Pattern> read() {
    while (true) {
      blank(true);
      if (at_ == text_.size()) break;
      if (Status status = statement(); !status) {
        return std::move(status).error().in(fmt::format("pattern, line {}", line_));
      }
    }
    if (pattern_.output_.node == UINT32_MAX) {
      return fail("SDX-T0921", "a pattern ends with \"output %name\"").in("pattern");
    }
    return std::move(pattern_);
  }

 private:
  void blank(bool lines) {
    while (at_ < text_.size() && (text_[at_] == ' ' || (lines && text_[at_] == '\n'))) {
      if (text_[at_++] == '\n') ++line_;
    }
  }
  bool take(std::string_view token) {
    blank(false);
    if (!text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  Error expected(std::string_view what) const {
    const std::string_view rest = text_.substr(at_, text_.find('\n', at_) - at_);
    return fail("SDX-T0921", "expected {}, found \"{}\"", what, rest);
  }
  Status need(std::string_view token) {
    if (!take(token)) return expected(fmt::format("\"{}\"", token));
    return ok();
  }
  std::string_view word() {
    blank(false);
    const size_t start = at_;
    const auto part = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             c == '_' || c == '.' || c == ':' || c == '-' || c == '?';
    };
    while (at_ < text_.size() && part(text_[at_])) ++at_;
    return text_.substr(start, at_ - start);
  }

  Result<PatternWire> wire() {
    if (take("_")) return PatternWire{};
    SDX_TRY(need("%"));
    const std::string name(word());
    const auto at = wires_.find(name);
    if (at == wires_.end()) return fail("SDX-T0922", "nothing above defines %{}", name);
    return at->second;
  }

  Result<AttrValue> value() {
    if (take("[")) {
      std::vector<int64_t> list;
      while (!take("]")) {
        SDX_ASSIGN(const int64_t item, integer());
        list.push_back(item);
        (void)take(",");
      }
      return AttrValue(std::move(list));
    }
    if (take("\"")) {
      const size_t end = text_.find('"', at_);
      if (end == std::string_view::npos) return expected("the end of a string");
      std::string string(text_.substr(at_, end - at_));
      at_ = end + 1;
      return AttrValue(std::move(string));
    }
    const size_t start = at_;
    const std::string_view token = word();
    if (token.find('.') == std::string_view::npos) {
      at_ = start;
      SDX_ASSIGN(const int64_t number, integer());
      return AttrValue(number);
    }
    float number = 0;
    if (std::from_chars(token.data(), token.data() + token.size(), number).ec != std::errc()) {
      return expected("a number");
    }
    return AttrValue(number);
  }
  Result<int64_t> integer() {
    blank(false);
    int64_t number = 0;
    const auto [end, error] =
        std::from_chars(text_.data() + at_, text_.data() + text_.size(), number);
    if (error != std::errc()) return expected("an integer");
    at_ = size_t(end - text_.data());
    return number;
  }

  // "f32[N,8]", "any[?]", "f32".
  Status type(PatternNode& node) {
    const std::string_view name = word();
    if (name != "any") {
      const auto dtype = dtype_from_short(name);
      if (!dtype) return fail("SDX-T0921", "\"{}\" is no element type", name);
      node.type = *dtype;
    }
    if (!take("[")) return ok();
    node.dims.emplace();
    while (!take("]")) {
      const std::string_view size = word();
      int64_t number = 0;
      const bool numeric =
          std::from_chars(size.data(), size.data() + size.size(), number).ec == std::errc();
      if (size.empty()) return expected("a size");
      node.dims->push_back(numeric       ? PatternNode::Size(number)
                           : size == "?" ? PatternNode::Size()
                                         : PatternNode::Size(std::string(size)));
      (void)take(",");
    }
    return ok();
  }

  Status operation(PatternNode& node) {
    const std::string_view name = word();
    const size_t colons = name.rfind("::");
    const bool plain = colons == std::string_view::npos;
    node.op = find_op(plain ? "" : name.substr(0, colons), plain ? name : name.substr(colons + 2));
    if (node.op == nullptr) return fail("SDX-T0923", "there is no operator \"{}\"", name);
    if (take("{")) {
      while (!take("}")) {
        const std::string attribute(word());
        SDX_TRY(need("="));
        SDX_ASSIGN(AttrValue given, value());
        node.attrs.emplace(attribute, std::move(given));
        (void)take(",");
      }
    }
    SDX_TRY(need("("));
    while (!take(")")) {
      if (take("...")) {
        node.more_inputs = true;
        continue;
      }
      SDX_ASSIGN(const PatternWire input, wire());
      node.inputs.push_back(input);
      (void)take(",");
    }
    if (take("once")) node.once = true;
    return ok();
  }

  Status statement() {
    if (take("output")) {
      SDX_ASSIGN(pattern_.output_, wire());
    } else if (take("repeat")) {
      SDX_ASSIGN(const PatternWire through, wire());
      pattern_.through_ = pattern_.nodes_[through.node].names[through.slot];
    } else {
      PatternNode node;
      do {
        if (take("_")) {
          node.names.emplace_back();
          continue;
        }
        SDX_TRY(need("%"));
        node.names.emplace_back(word());
        const PatternWire made{uint32_t(pattern_.nodes_.size()), uint32_t(node.names.size() - 1)};
        if (!wires_.emplace(node.names.back(), made).second) {
          return fail("SDX-T0922", "%{} is defined twice", node.names.back());
        }
      } while (take(","));
      SDX_TRY(need("="));
      const size_t start = at_;
      const std::string_view kind = word();
      if (kind == "constant") {
        node.kind = PatternNode::Kind::constant;
      } else if (kind != "input") {
        at_ = start;
        node.kind = PatternNode::Kind::op;
        SDX_TRY(operation(node));
      }
      if (take(":")) SDX_TRY(type(node));
      pattern_.nodes_.push_back(std::move(node));
    }
    blank(false);
    if (at_ < text_.size() && text_[at_] != '\n') return expected("the end of the line");
    return ok();
  }

  std::string_view text_;
  size_t at_ = 0, line_ = 1;
  Pattern pattern_;
  std::map<std::string, PatternWire, std::less<>> wires_;
};

Result<Pattern> Pattern::parse(std::string_view text) { return PatternReader(text).read(); }

}  // namespace sdx::typed
