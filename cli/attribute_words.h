// What an attribute of a written node says, in a few words for people.
#pragma once

#include <functional>
#include <string>

#include "model/model.h"

namespace sdx::cli {

struct AttributeWording {
  size_t longest = 60;  // of a string or a list; what is longer ends in "..."
  // A tensor's form and as much of its value as the reader wants to see.
  std::function<std::string(const model::TensorData&)> tensor;
};

// Its value, without its name: 3, "NOTSET", [1, 1], @alpha for what a function's caller gives.
std::string attribute_words(const model::Attribute& attribute, const AttributeWording& wording);

}  // namespace sdx::cli
