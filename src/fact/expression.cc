#include "fact/expression.h"

#include <charconv>

namespace sdx {
namespace {

using Op = Expression::Op;

Expression number(int64_t value) { return {Op::number, value, {}, {}}; }
Expression of(Op op, Expression a, Expression b) {
  return {op, 0, {}, {std::move(a), std::move(b)}};
}
Expression negated(Expression e) { return of(Op::product, number(-1), std::move(e)); }

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         static_cast<unsigned char>(c) >= 0x80 ||
         std::string_view("_.?:@#$").find(c) != std::string_view::npos;
}

// sum := product (("+" | "-") product)*, product := unary (("*" | "/" | "%") unary)*
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<Expression> whole() {
    SDX_ASSIGN(Expression e, sum());
    skip();
    if (at_ != text_.size()) return unexpected("an operator");
    return e;
  }

 private:
  Error unexpected(std::string_view wanted) const {
    return fail("SDX-F0001", "\"{}\", character {}: expected {}", text_, at_ + 1, wanted);
  }
  void skip() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }
  bool take(char c) {
    skip();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  Status expect(char c) {
    if (take(c)) return ok();
    return unexpected(std::string(1, c));
  }

  Result<Expression> sum() {
    constexpr int kDeepest = 200;
    if (++depth_ > kDeepest) return unexpected("less nesting");
    SDX_ASSIGN(Expression e, product());
    while (true) {
      const bool plus = take('+');
      if (!plus && !take('-')) break;
      SDX_ASSIGN(Expression right, product());
      e = of(Op::sum, std::move(e), plus ? std::move(right) : negated(std::move(right)));
    }
    --depth_;
    return e;
  }

  Result<Expression> product() {
    SDX_ASSIGN(Expression e, unary());
    while (true) {
      if (take('*')) {
        SDX_ASSIGN(Expression right, unary());
        e = of(Op::product, std::move(e), std::move(right));
      } else if (take('/')) {
        SDX_ASSIGN(Expression right, unary());
        e = of(Op::floor_div, std::move(e), std::move(right));
      } else if (take('%')) {  // a - b * floor(a / b)
        SDX_ASSIGN(const Expression right, unary());
        e = of(Op::sum, e, negated(of(Op::product, right, of(Op::floor_div, e, right))));
      } else {
        return e;
      }
    }
  }

  Result<Expression> unary() {
    if (!take('-')) return atom();
    SDX_ASSIGN(Expression e, atom());
    return negated(std::move(e));
  }

  Result<Expression> atom() {
    skip();
    if (take('(')) {
      SDX_ASSIGN(Expression e, sum());
      SDX_TRY(expect(')'));
      return e;
    }
    if (take('`')) return quoted();
    const size_t start = at_;
    while (at_ < text_.size() && is_name(text_[at_])) ++at_;
    const std::string_view word = text_.substr(start, at_ - start);
    if (word.empty()) return unexpected("a number or a name");
    if (word[0] >= '0' && word[0] <= '9') {
      int64_t value = 0;
      const auto [end, bad] = std::from_chars(word.data(), word.data() + word.size(), value);
      if (bad != std::errc{} || end != word.data() + word.size()) return unexpected("a number");
      return number(value);
    }
    if (at_ == text_.size() || text_[at_] != '(')
      return Expression{Op::symbol, 0, std::string(word), {}};
    return call(word);
  }

  Result<Expression> quoted() {
    std::string name;
    while (true) {
      if (at_ == text_.size()) return unexpected("a closing `");
      const char c = text_[at_++];
      if (c == '`' && !(at_ < text_.size() && text_[at_] == '`')) break;
      if (c == '`') ++at_;
      name += c;
    }
    return Expression{Op::symbol, 0, std::move(name), {}};
  }

  Result<Expression> call(std::string_view name) {
    SDX_TRY(expect('('));
    SDX_ASSIGN(Expression a, sum());
    if (name == "floor" || name == "ceil") {
      SDX_TRY(expect(')'));
      if (name == "floor") return a;  // a division is a floor division
      if (a.op != Op::floor_div) return a;
      // ceil(a / b) = -floor(-a / b)
      return negated(of(Op::floor_div, negated(std::move(a.args[0])), std::move(a.args[1])));
    }
    SDX_TRY(expect(','));
    SDX_ASSIGN(Expression b, sum());
    SDX_TRY(expect(')'));
    if (name == "min") return of(Op::min, std::move(a), std::move(b));
    if (name == "max") return of(Op::max, std::move(a), std::move(b));
    if (name == "broadcast") return of(Op::broadcast, std::move(a), std::move(b));
    return unexpected("floor, ceil, min, max or broadcast before the parenthesis");
  }

  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Result<Expression> parse_expression(std::string_view text) { return Parser(text).whole(); }

Result<Dim> apply(Op op, const Dim& a, const Dim& b) {
  switch (op) {
    case Op::sum:
      return a + b;
    case Op::product:
      return a * b;
    case Op::floor_div:
      return floor_div(a, b);
    case Op::min:
      return min(a, b);
    case Op::max:
      return max(a, b);
    default:
      return broadcast(a, b);
  }
}

Dim dim_of(const Expression& e) {
  switch (e.op) {
    case Op::number:
      return e.value;
    case Op::symbol:
      return Dim::symbol(e.name);
    default:
      break;
  }
  const Result<Dim> both = apply(e.op, dim_of(e.args[0]), dim_of(e.args[1]));
  return both ? *both : Dim::unknown();
}

Result<Dim> parse_dim(std::string_view text) {
  SDX_ASSIGN(const Expression e, parse_expression(text));
  return dim_of(e);
}

}  // namespace sdx
