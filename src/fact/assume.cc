#include "fact/assume.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace sdx {
namespace {

using Op = Expression::Op;
constexpr int64_t kNone = std::numeric_limits<int64_t>::min();  // no bound below
constexpr int64_t kAny = std::numeric_limits<int64_t>::max();   // none above

// The number of times a symbol fits into a multiple: H % 32 == 0 makes H 32 of these.
std::string part_of(const std::string& symbol) { return "#" + symbol; }

// The text of a Dim is always an expression.
Expression tree(const Dim& dim) {
  Result<Expression> e = parse_expression(dim.text());
  return e ? *std::move(e) : Expression{Op::symbol, 0, dim.text(), {}};
}

int64_t plus(int64_t a, int64_t b) {
  if (a == kNone || b == kNone) return kNone;
  if (a == kAny || b == kAny) return kAny;
  int64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return a < 0 ? kNone : kAny;
  return sum;
}
int64_t times(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  const bool negative = (a < 0) != (b < 0);
  if (a == kNone || a == kAny || b == kNone || b == kAny) return negative ? kNone : kAny;
  int64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return negative ? kNone : kAny;
  return product;
}
int64_t floor_bound(int64_t a, int64_t b) {
  if (a == kNone || a == kAny) return a;
  const int64_t q = a / b;
  return q - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

std::optional<std::string> lone_symbol(const Dim& dim) {
  std::vector<std::string> names;
  dim.symbols(names);
  if (names.size() != 1 || !(dim == Dim::symbol(names[0]))) return std::nullopt;
  return names[0];
}

}  // namespace

bool Assumptions::holds(Relation relation, int64_t left, int64_t right) {
  return relation == Relation::equal     ? left == right
         : relation == Relation::unequal ? left != right
                                         : left <= right;
}

Status Assumptions::assert_that(const std::string& text) {
  constexpr std::string_view kRelations[] = {"==", "!=", "<=", ">=", "<", ">", "="};
  for (const std::string_view relation : kRelations) {
    const size_t at = text.find(relation);
    if (at == std::string::npos) continue;
    SDX_ASSIGN(const Dim left, parse_dim(std::string_view(text).substr(0, at)));
    SDX_ASSIGN(const Dim right, parse_dim(std::string_view(text).substr(at + relation.size())));
    Claim claim{Relation::equal, left, right, text, "asserted"};
    if (relation == "!=") claim.relation = Relation::unequal;
    if (relation[0] == '<' || relation[0] == '>') {
      claim.relation = Relation::at_most;
      if (relation[0] == '>') std::swap(claim.left, claim.right);
      if (relation.size() == 1) claim.left = claim.left + 1;
    }
    if (claim.left.is_const() && claim.right.is_const() &&
        !holds(claim.relation, claim.left.value(), claim.right.value())) {
      return fail("SDX-F0002", "\"{}\" never holds", text);
    }
    learn(claim);
    claims_.push_back(std::move(claim));
    return ok();
  }
  Error error = fail("SDX-F0002", "\"{}\" is no assertion", text);
  error.help = "as in N<=512, H%32==0, past+1==total; the relations are == != <= < >= >";
  return error;
}

void Assumptions::require_equal(const Dim& a, const Dim& b, std::string why) {
  if (simplify(a) == simplify(b)) return;
  Claim claim{Relation::equal, a, b, fmt::format("{} == {}", a.text(), b.text()), std::move(why)};
  learn(claim);
  claims_.push_back(std::move(claim));
}

void Assumptions::learn(const Claim& claim) {
  if (claim.relation == Relation::at_most) {
    // Of one symbol: a bound. Others are used where a difference is to be proven.
    const Dim room = claim.right - claim.left;
    std::vector<std::string> names;
    room.symbols(names);
    if (names.size() != 1) return;
    const Dim symbol = Dim::symbol(names[0]), below = room - symbol, above = room + symbol;
    Range& range = ranges_.emplace(names[0], Range{0, kAny}).first->second;
    if (below.is_const()) range.low = std::max(range.low, -below.value());
    if (above.is_const()) range.high = std::min(range.high, above.value());
    return;
  }
  if (claim.relation != Relation::equal) return;
  // H - k*floor(H/k) == 0: a multiple.
  if (claim.right.is_const(0)) {
    std::vector<std::string> names;
    claim.left.symbols(names);
    if (names.size() == 1) {
      const Dim h = Dim::symbol(names[0]);
      const Expression e = tree(h - claim.left);  // k*floor(H/k)
      if (e.op == Op::product && e.args[0].op == Op::number && e.args[0].value > 1) {
        const int64_t k = e.args[0].value;
        if (h - claim.left == Dim(k) * floor_div(h, k)) {
          int64_t& known = multiples_.emplace(names[0], 1).first->second;
          known = std::lcm(known, k);
          return;
        }
      }
    }
  }
  // A symbol that is another expression, unless that leads back to it.
  const auto put = [&](const Dim& symbol, const Dim& other) {
    const auto name = lone_symbol(symbol);
    if (!name || is_.contains(*name)) return false;
    std::vector<std::string> names;
    rebuilt(tree(other)).symbols(names);
    if (std::find(names.begin(), names.end(), *name) != names.end()) return false;
    is_.emplace(*name, other);
    return true;
  };
  if (!put(claim.left, claim.right)) put(claim.right, claim.left);
}

Assumptions::Range Assumptions::range(const Expression& e) const {
  switch (e.op) {
    case Op::number:
      return {e.value, e.value};
    case Op::symbol: {
      if (const auto at = ranges_.find(e.name); at != ranges_.end()) return at->second;
      if (e.name.starts_with('#')) {
        const auto whole = ranges_.find(e.name.substr(1));
        const auto k = multiples_.find(e.name.substr(1));
        if (whole != ranges_.end() && k != multiples_.end()) {
          return {-floor_bound(-whole->second.low, k->second),
                  floor_bound(whole->second.high, k->second)};
        }
      }
      return {0, kAny};  // a size
    }
    default:
      break;
  }
  const Range a = range(e.args[0]), b = range(e.args[1]);
  switch (e.op) {
    case Op::sum:
      return {plus(a.low, b.low), plus(a.high, b.high)};
    case Op::product: {
      const int64_t all[] = {times(a.low, b.low), times(a.low, b.high), times(a.high, b.low),
                             times(a.high, b.high)};
      return {*std::min_element(all, all + 4), *std::max_element(all, all + 4)};
    }
    case Op::floor_div:
      if (b.low == b.high && b.low > 0)
        return {floor_bound(a.low, b.low), floor_bound(a.high, b.low)};
      return {kNone, kAny};
    case Op::min:
      return {std::min(a.low, b.low), std::min(a.high, b.high)};
    case Op::max:
      return {std::max(a.low, b.low), std::max(a.high, b.high)};
    default:
      return {std::min(a.low, b.low), std::max(a.high, b.high)};
  }
}

bool Assumptions::at_most(const Dim& a, const Dim& b) const {
  const Dim room = b - a;
  if (range(tree(room)).low >= 0) return true;
  for (const Claim& claim : claims_) {
    if (claim.relation == Relation::at_most &&
        range(tree(room - (claim.right - claim.left))).low >= 0) {
      return true;
    }
  }
  return false;
}

// The expression made again, with what is known put in its place.
Dim Assumptions::rebuilt(const Expression& e) const {
  if (e.op == Op::number) return e.value;
  if (e.op == Op::symbol) {
    if (const auto at = is_.find(e.name); at != is_.end()) return rebuilt(tree(at->second));
    const auto at = multiples_.find(e.name);
    return at == multiples_.end() ? Dim::symbol(e.name)
                                  : Dim(at->second) * Dim::symbol(part_of(e.name));
  }
  const Dim a = rebuilt(e.args[0]), b = rebuilt(e.args[1]);
  switch (e.op) {
    case Op::sum:
      return a + b;
    case Op::product:
      return a * b;
    case Op::floor_div: {
      const Dim quotient = floor_div(a, b);
      const Range r = range(tree(quotient));
      return r.low == r.high ? Dim(r.low) : quotient;
    }
    case Op::min:
      return at_most(a, b) ? a : at_most(b, a) ? b : min(a, b);
    case Op::max:
      return at_most(a, b) ? b : at_most(b, a) ? a : max(a, b);
    default:
      break;
  }
  // A size above 1 is the result: the other is equal to it or 1.
  if (range(tree(a)).low > 1) return a;
  if (range(tree(b)).low > 1) return b;
  const Result<Dim> both = broadcast(a, b);
  return both ? *both : dim_of(e);
}

// Parts back into their symbols: 16 of 32 parts of H are floor(H/2).
Dim Assumptions::restored(const Expression& e) const {
  if (e.op == Op::number) return e.value;
  const auto multiple = [&](int64_t count, const Expression& part) -> Dim {
    const std::string symbol = part.name.substr(1);
    const int64_t k = multiples_.find(symbol)->second, shared = std::gcd(count, k);
    return Dim(count / shared) * floor_div(Dim::symbol(symbol), k / shared);
  };
  const auto is_part = [&](const Expression& x) {
    return x.op == Op::symbol && x.name.starts_with('#') && multiples_.contains(x.name.substr(1));
  };
  if (is_part(e)) return multiple(1, e);
  if (e.op == Op::symbol) return Dim::symbol(e.name);
  if (e.op == Op::product) {
    // ((16*#H)*N)*...: the number stands first.
    const Expression& first = e.args[0];
    if (first.op == Op::number && is_part(e.args[1])) return multiple(first.value, e.args[1]);
  }
  const Result<Dim> both = apply(e.op, restored(e.args[0]), restored(e.args[1]));
  return both ? *both : dim_of(e);
}

Dim Assumptions::simplify(const Dim& dim) const {
  if (dim.is_const() || claims_.empty() || dim.is_unknown()) return dim;
  const Dim simple = rebuilt(tree(dim));
  return multiples_.empty() ? simple : restored(tree(simple));
}

void Assumptions::simplify(Fact& fact) const {
  for (size_t axis = 0; fact.shape && axis < fact.shape->size(); ++axis)
    (*fact.shape)[axis] = simplify((*fact.shape)[axis]);
  for (size_t i = 0; fact.symbolic && i < fact.symbolic->size(); ++i)
    (*fact.symbolic)[i] = simplify((*fact.symbolic)[i]);
}

Status Assumptions::check(const Bindings& bindings) const {
  for (const Claim& claim : claims_) {
    const auto left = claim.left.eval(bindings), right = claim.right.eval(bindings);
    if (!left || !right) continue;
    if (holds(claim.relation, *left, *right)) continue;
    std::vector<std::string> names;
    claim.left.symbols(names);
    claim.right.symbols(names);
    std::string sizes;
    for (const std::string& name : names) {
      sizes +=
          fmt::format("{}{} = {}", sizes.empty() ? "" : ", ", name, bindings.find(name)->second);
    }
    return fail("SDX-R0012", "\"{}\" does not hold: {} ({})", claim.text, sizes, claim.why);
  }
  return ok();
}

}  // namespace sdx
