// What declarations of a model say of values.
#pragma once

#include <string_view>

#include "fact/fact.h"
#include "model/model.h"

namespace sdx::check {

// What a declared type says; absent if it says nothing. Sizes without a name or number are unknown
// or, with a `scope`, symbols that start with it.
Fact fact_of(const model::Type& type, std::string_view scope = {});
// Of an input, an output or an inner value: a tensor of which nothing is known if it has no type.
// Its sizes without a name get symbols that start with its own.
Fact declared_fact(const model::ValueInfo& info);

}  // namespace sdx::check
