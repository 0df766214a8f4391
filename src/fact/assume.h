// Assumptions: what holds of the symbols in sizes, by the user's assertions ("N<=512", "H%32==0")
// and by equalities that operators require. Sizes are simplified under them, and they are checked
// when the symbols are bound.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fact/expression.h"
#include "fact/fact.h"

namespace sdx {

class Assumptions {
 public:
  // left REL right, where REL is one of == != <= < >= > ; expressions as in fact/expression.h.
  Status assert_that(const std::string& text);
  // Two sizes that an operator needs to be equal; `why` names it.
  void require_equal(const Dim& a, const Dim& b, std::string why);

  bool empty() const { return claims_.empty(); }
  // The same size, written more simply: proven minima and maxima chosen, divisions done.
  Dim simplify(const Dim& dim) const;
  void simplify(Fact& fact) const;
  // An error names the first claim that does not hold, and the sizes. Claims on symbols that are
  // not bound are left for later.
  Status check(const Bindings& bindings) const;

 private:
  enum class Relation { equal, unequal, at_most };
  struct Claim {
    Relation relation;
    Dim left, right;
    std::string text, why;
  };
  struct Range {
    int64_t low, high;
  };

  static bool holds(Relation relation, int64_t left, int64_t right);
  void learn(const Claim& claim);
  Dim rebuilt(const Expression& e) const;
  Dim restored(const Expression& e) const;
  Range range(const Expression& e) const;
  bool at_most(const Dim& a, const Dim& b) const;

  std::vector<Claim> claims_;
  std::map<std::string, Dim> is_;             // symbols that are something else
  std::map<std::string, int64_t> multiples_;  // symbols that are multiples of a number
  std::map<std::string, Range> ranges_;
};

}  // namespace sdx
