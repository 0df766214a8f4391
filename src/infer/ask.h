// What one node says of its wires. Forwards it is the operator's own rule. Backwards it is the same
// rule, asked: an input's rank or size is known when every other one is refused, or gives an output
// that is known to be different. So every operator that is typed forwards is typed backwards too,
// and the two can never disagree.
#pragma once

#include <optional>

#include "op/op.h"

namespace sdx::infer {

// Facts of the outputs, symbols of sizes that only running tells starting with "?tag."; an error if
// the operator refuses the inputs. Constants are folded.
Result<Facts> forward(const sdx::Node& use, const Facts& in, const std::string& tag);

// Types that the signature fixes for open inputs and outputs, because another wire shares the type
// variable or only one type is allowed. `in` and `out` are completed in place.
void bind_types(const sdx::Node& use, Facts& in, Facts& out);

// The one rank of input i that fits; nothing if several or none do. With `assume`, a choice is made
// where a constant operand of rank 3 or more stands beside the input.
struct Rank {
  size_t rank;
  bool assumed;
};
std::optional<Rank> rank_of(const sdx::Node& use, const Facts& in, size_t i, const Facts& out,
                            bool assume);

// The one size of axis `axis` of input i that fits.
std::optional<Dim> size_of(const sdx::Node& use, const Facts& in, size_t i, size_t axis,
                           const Facts& out);

// Whether an error says that something is too large, not that it is wrong.
bool is_limit(const Error& error);

}  // namespace sdx::infer
