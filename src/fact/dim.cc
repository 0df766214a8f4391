#include "fact/dim.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <string_view>

namespace sdx {

struct Dim::Atom {
  Kind kind;
  std::string name;
  Dim a, b;
  std::string text;
};

namespace {

int64_t floor_quotient(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return q - ((a % b != 0) && ((a < 0) != (b < 0)) ? 1 : 0);
}

// Sizes fit in 48 bits. What overflows 64 stays at the bound, so that it can never pass for a small
// size: element_count refuses it.
int64_t mul(int64_t a, int64_t b) {
  int64_t product;
  if (!__builtin_mul_overflow(a, b, &product)) return product;
  return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
}
int64_t add(int64_t a, int64_t b) {
  int64_t sum;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a > 0 ? INT64_MAX : INT64_MIN;
}

// A model can ask for expressions that double with every node. Beyond these bounds, which no size
// of a real model comes near, a size is one that only running tells.
constexpr size_t kMostTerms = 64, kMostFactors = 16, kLongestText = 2048;

// Names that could be read as an expression stand in backticks: the text of a size can be parsed
// back (fact/expression.h).
std::string symbol_text(const std::string& name) {
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || static_cast<unsigned char>(c) >= 0x80 ||
           std::string_view("_.?:@#$").find(c) != std::string_view::npos;
  };
  if (!name.empty() && !std::isdigit(static_cast<unsigned char>(name[0])) &&
      std::all_of(name.begin(), name.end(), plain)) {
    return name;
  }
  std::string text = "`";
  for (const char c : name) text += c == '`' ? std::string("``") : std::string(1, c);
  return text + "`";
}

// An operand of a division.
std::string operand(const std::string& text) {
  int depth = 0;
  bool quoted = false, plain = true;
  for (const char c : text) {
    if (c == '`') quoted = !quoted;
    if (quoted) continue;
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (depth == 0 && (c == '+' || c == '-' || c == '*')) plain = false;
  }
  return plain ? text : "(" + text + ")";
}

}  // namespace

Dim Dim::symbol(std::string name) { return atom(Kind::symbol, std::move(name), 0, 0); }

bool Dim::is_unknown() const {
  if (poly_ == nullptr) return false;
  return std::any_of(poly_->begin(), poly_->end(), [](const auto& entry) {
    return std::any_of(entry.second.atoms.begin(), entry.second.atoms.end(), [](const auto& atom) {
      return atom->kind == Kind::symbol ? atom->name == "?"
                                        : atom->a.is_unknown() || atom->b.is_unknown();
    });
  });
}

Dim Dim::atom(Kind kind, std::string name, Dim a, Dim b) {
  std::string text;
  switch (kind) {
    case Kind::symbol:
      text = symbol_text(name);
      break;
    case Kind::floor_div:
      text = "floor(" + operand(a.text()) + "/" + operand(b.text()) + ")";
      break;
    case Kind::min:
      text = "min(" + a.text() + "," + b.text() + ")";
      break;
    case Kind::max:
      text = "max(" + a.text() + "," + b.text() + ")";
      break;
    case Kind::broadcast:
      text = "broadcast(" + a.text() + "," + b.text() + ")";
      break;
  }
  if (text.size() > kLongestText) return unknown();
  auto node =
      std::make_shared<const Atom>(Atom{kind, std::move(name), std::move(a), std::move(b), text});
  Poly poly;
  poly.emplace(text, Term{1, {std::move(node)}});
  return from(std::move(poly));
}

Dim::Poly Dim::poly() const {
  if (poly_) return *poly_;
  Poly poly;
  if (constant_ != 0) poly.emplace("", Term{constant_, {}});
  return poly;
}

Dim Dim::from(Poly poly) {
  std::erase_if(poly, [](const auto& entry) { return entry.second.factor == 0; });
  if (poly.empty()) return 0;
  if (poly.size() == 1 && poly.begin()->first.empty()) return poly.begin()->second.factor;
  size_t length = 0, factors = 0;
  for (const auto& [key, term] : poly) {
    length += key.size();
    factors = std::max(factors, term.atoms.size());
  }
  if (poly.size() > kMostTerms || length > kLongestText || factors > kMostFactors) return unknown();
  Dim dim;
  dim.poly_ = std::make_shared<const Poly>(std::move(poly));
  return dim;
}

Dim Dim::operator+(const Dim& other) const {
  if (is_const() && other.is_const()) return add(constant_, other.constant_);
  Poly sum = poly();
  for (const auto& [key, term] : other.poly()) {
    const auto [at, fresh] = sum.emplace(key, term);
    if (!fresh) at->second.factor = add(at->second.factor, term.factor);
  }
  return from(std::move(sum));
}

Dim Dim::operator-(const Dim& other) const { return *this + other * Dim(-1); }

Dim Dim::operator*(const Dim& other) const {
  if (is_const() && other.is_const()) return mul(constant_, other.constant_);
  if (poly().size() * other.poly().size() > 4 * kMostTerms) return unknown();
  Poly result;
  for (const auto& [ka, ta] : poly()) {
    for (const auto& [kb, tb] : other.poly()) {
      Term term{mul(ta.factor, tb.factor), ta.atoms};
      term.atoms.insert(term.atoms.end(), tb.atoms.begin(), tb.atoms.end());
      std::sort(term.atoms.begin(), term.atoms.end(),
                [](const auto& x, const auto& y) { return x->text < y->text; });
      std::string key;
      for (const auto& atom : term.atoms) key += (key.empty() ? "" : "*") + atom->text;
      const auto [at, fresh] = result.emplace(key, term);
      if (!fresh) at->second.factor = add(at->second.factor, term.factor);
    }
  }
  return from(std::move(result));
}

Dim floor_div(const Dim& a, const Dim& b) {
  if (b.is_const(1)) return a;
  if (a.is_const() && b.is_const() && b.value() != 0) return floor_quotient(a.value(), b.value());
  if (a.is_const(0)) return 0;
  if (a == b) return 1;
  if (b.is_const() && b.value() > 0) {
    // Terms that b divides leave the division: floor((4N+3)/2) = 2N + floor(3/2).
    Dim::Poly whole, rest;
    for (const auto& [key, term] : a.poly()) {
      const int64_t quotient = floor_quotient(term.factor, b.value());
      const int64_t remainder = term.factor - quotient * b.value();
      if (remainder == 0 || key.empty()) {
        whole.emplace(key, Dim::Term{quotient, term.atoms});
        if (remainder != 0) rest.emplace(key, Dim::Term{remainder, term.atoms});
      } else {
        rest.emplace(key, term);
      }
    }
    const Dim left = Dim::from(std::move(rest));
    const Dim outside = Dim::from(std::move(whole));
    if (left.is_const()) return outside + floor_quotient(left.value(), b.value());
    return outside + Dim::atom(Dim::Kind::floor_div, "", left, b);
  }
  // A single term in which b occurs as a factor: (N*C)/N = C.
  if (a.poly_ && b.poly_ && a.poly_->size() == 1 && b.poly_->size() == 1) {
    const Dim::Term& ta = a.poly_->begin()->second;
    const Dim::Term& tb = b.poly_->begin()->second;
    std::vector<std::shared_ptr<const Dim::Atom>> left = ta.atoms;
    bool divides = tb.factor != 0 && ta.factor % tb.factor == 0;
    for (const auto& atom : tb.atoms) {
      const auto at = std::find_if(left.begin(), left.end(),
                                   [&](const auto& x) { return x->text == atom->text; });
      if (at == left.end()) {
        divides = false;
        break;
      }
      left.erase(at);
    }
    if (divides) {
      std::string key;
      for (const auto& atom : left) key += (key.empty() ? "" : "*") + atom->text;
      Dim::Poly poly;
      poly.emplace(key, Dim::Term{ta.factor / tb.factor, left});
      return Dim::from(std::move(poly));
    }
  }
  return Dim::atom(Dim::Kind::floor_div, "", a, b);
}

// By how much a is larger than b, if that is the same for all sizes: n + 1 than n, by 1.
static std::optional<int64_t> excess(const Dim& a, const Dim& b) {
  const Dim more = a - b;
  return more.is_const() ? std::optional(more.value()) : std::nullopt;
}

Dim min(const Dim& a, const Dim& b) {
  if (a.is_const() && b.is_const()) return std::min(a.value(), b.value());
  if (const auto more = excess(a, b)) return *more < 0 ? a : b;
  return a.text() < b.text() ? Dim::atom(Dim::Kind::min, "", a, b)
                             : Dim::atom(Dim::Kind::min, "", b, a);
}

Dim max(const Dim& a, const Dim& b) {
  if (a.is_const() && b.is_const()) return std::max(a.value(), b.value());
  if (const auto more = excess(a, b)) return *more < 0 ? b : a;
  return a.text() < b.text() ? Dim::atom(Dim::Kind::max, "", a, b)
                             : Dim::atom(Dim::Kind::max, "", b, a);
}

Result<Dim> broadcast(const Dim& a, const Dim& b) {
  if (a == b || b.is_const(1)) return a;
  if (a.is_const(1)) return b;
  if (a.is_const() && b.is_const()) {
    return fail("SDX-T0102", "sizes {} and {} do not broadcast", a.value(), b.value());
  }
  // Against a constant other than 1 a symbol must be that constant or 1.
  if (a.is_const()) return a;
  if (b.is_const()) return b;
  return a.text() < b.text() ? Dim::atom(Dim::Kind::broadcast, "", a, b)
                             : Dim::atom(Dim::Kind::broadcast, "", b, a);
}

bool Dim::never_wraps() const {
  constexpr int64_t kMostFactor = 1024, kMostNumber = int64_t{1} << 40;
  constexpr size_t kFewTerms = 8;
  if (is_const()) return -kMostNumber < constant_ && constant_ < kMostNumber;
  if (poly_->size() > kFewTerms) return false;
  return std::all_of(poly_->begin(), poly_->end(), [](const auto& entry) {
    const Term& term = entry.second;
    if (term.atoms.empty()) return Dim(term.factor).never_wraps();
    const Atom& atom = *term.atoms[0];
    return term.atoms.size() == 1 && -kMostFactor < term.factor && term.factor < kMostFactor &&
           (atom.kind == Kind::symbol || (atom.a.never_wraps() && atom.b.never_wraps()));
  });
}

Dim Dim::bind(const Bindings& bindings) const {
  if (is_const()) return *this;
  // Most sizes come to a number, and need no polynomial on the way.
  struct Number {
    static std::optional<int64_t> of(const Atom& atom, const Bindings& bindings) {
      if (atom.kind == Kind::symbol) {
        const auto at = bindings.find(atom.name);
        return at == bindings.end() ? std::nullopt : std::optional(at->second);
      }
      const auto a = of(atom.a, bindings), b = of(atom.b, bindings);
      if (!a || !b) return std::nullopt;
      if (atom.kind == Kind::min) return std::min(*a, *b);
      if (atom.kind == Kind::max) return std::max(*a, *b);
      if (atom.kind == Kind::broadcast || *b == 0) return std::nullopt;
      return floor_quotient(*a, *b);
    }
    static std::optional<int64_t> of(const Dim& dim, const Bindings& bindings) {
      if (dim.is_const()) return dim.value();
      int64_t sum = 0;
      for (const auto& [key, term] : *dim.poly_) {
        int64_t product = term.factor;
        for (const auto& atom : term.atoms) {
          const auto factor = of(*atom, bindings);
          if (!factor) return std::nullopt;
          product = mul(product, *factor);
        }
        sum = add(sum, product);
      }
      return sum;
    }
  };
  if (const auto number = Number::of(*this, bindings)) return *number;
  Dim sum = 0;
  for (const auto& [key, term] : *poly_) {
    Dim value = term.factor;
    for (const auto& atom : term.atoms) {
      const Dim a = atom->a.bind(bindings), b = atom->b.bind(bindings);
      switch (atom->kind) {
        case Kind::symbol: {
          const auto at = bindings.find(atom->name);
          value = value * (at == bindings.end() ? symbol(atom->name) : Dim(at->second));
          break;
        }
        case Kind::floor_div:
          value = value * floor_div(a, b);
          break;
        case Kind::min:
          value = value * min(a, b);
          break;
        case Kind::max:
          value = value * max(a, b);
          break;
        case Kind::broadcast: {
          Result<Dim> both = broadcast(a, b);
          // A conflict stays in the expression: eval() finds no value and the caller reports it.
          value = value * (both ? *both : Dim::atom(Kind::broadcast, "", a, b));
          break;
        }
      }
    }
    sum = sum + value;
  }
  return sum;
}

std::optional<int64_t> Dim::eval(const Bindings& bindings) const {
  const Dim bound = bind(bindings);
  if (!bound.is_const()) return std::nullopt;
  return bound.value();
}

void Dim::symbols(std::vector<std::string>& into) const {
  if (is_const()) return;
  for (const auto& [key, term] : *poly_) {
    for (const auto& atom : term.atoms) {
      if (atom->kind == Kind::symbol) {
        if (std::find(into.begin(), into.end(), atom->name) == into.end())
          into.push_back(atom->name);
      } else {
        atom->a.symbols(into);
        atom->b.symbols(into);
      }
    }
  }
}

std::string Dim::text() const {
  if (is_const()) return std::to_string(constant_);
  std::string text;
  const auto append = [&text](const std::string& key, int64_t factor) {
    if (!text.empty() && factor >= 0) text += "+";
    if (key.empty()) {
      text += std::to_string(factor);
    } else if (factor == -1) {
      text += "-" + key;
    } else {
      text += (factor == 1 ? "" : std::to_string(factor) + "*") + key;
    }
  };
  for (const auto& [key, term] : *poly_) {
    if (!key.empty()) append(key, term.factor);
  }
  if (const auto at = poly_->find(""); at != poly_->end()) append("", at->second.factor);
  return text;
}

std::optional<std::pair<std::string, int64_t>> Dim::solve(int64_t value) const {
  if (is_const()) return std::nullopt;
  const Term* linear = nullptr;
  int64_t rest = value;
  for (const auto& [key, term] : *poly_) {
    if (key.empty()) {
      rest -= term.factor;
    } else if (linear != nullptr || term.atoms.size() != 1 || term.atoms[0]->kind != Kind::symbol) {
      return std::nullopt;
    } else {
      linear = &term;
    }
  }
  if (linear == nullptr || rest % linear->factor != 0) return std::nullopt;
  return std::pair{linear->atoms[0]->name, rest / linear->factor};
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i ? "," : "") + shape[i].text();
  return text + "]";
}

Shape shape_of(std::span<const int64_t> dims) { return {dims.begin(), dims.end()}; }

std::optional<std::vector<int64_t>> constant_dims(const Shape& shape) {
  std::vector<int64_t> dims;
  dims.reserve(shape.size());
  for (const Dim& dim : shape) {
    if (!dim.is_const()) return std::nullopt;
    dims.push_back(dim.value());
  }
  return dims;
}

Dim product(std::span<const Dim> dims) {
  Dim result = 1;
  for (const Dim& dim : dims) result = result * dim;
  return result;
}

}  // namespace sdx

template class std::vector<sdx::Dim>;
