// Expression: a size as a tree, read from its text. The text of a Dim is one; people may also write
// /, %, ceil and parentheses. Names with other characters than letters, digits and _.?:@#$ stand in
// backticks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fact/dim.h"

namespace sdx {

struct Expression {
  enum class Op : uint8_t { number, symbol, sum, product, floor_div, min, max, broadcast };
  Op op = Op::number;
  int64_t value = 0;  // of a number
  std::string name;   // of a symbol
  std::vector<Expression> args;
};

Result<Expression> parse_expression(std::string_view text);
// Two sizes joined by an operation that takes two; an error if they cannot be broadcast.
Result<Dim> apply(Expression::Op op, const Dim& a, const Dim& b);
// The size that it means.
Dim dim_of(const Expression& expression);
// "floor((H+1)/2)" as a size; Dim::text() is understood whatever the symbols are called.
Result<Dim> parse_dim(std::string_view text);

}  // namespace sdx
