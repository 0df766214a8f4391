// Whether one use of an operator keeps to its signature: arity, attributes, types. Used wherever a
// node is made.
#pragma once

#include "op/op.h"

namespace sdx {

// The given attributes, checked against the declared names and types, with defaults filled in.
Result<AttrMap> complete(const Signature&, AttrMap given);

// Counts of inputs and outputs, required ones present, and every type variable bound to one allowed
// type. Inputs after the first `formal` are captures of subgraphs and are not judged.
Status conforms(const Signature&, const Facts& in, size_t formal, size_t outputs);

// The type that the signature gives output i when its variable is bound by the inputs, as
// "tensor(float)"; "" if open.
std::string output_type(const Signature&, const Facts& in, size_t output);

AttrType type_of(const AttrValue&);

}  // namespace sdx
