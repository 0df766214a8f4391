// Errors that every door of the engine gives for the same mistake, in the same words.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace sdx {

// `takes`, `gives`: the names that the model has, listed.
inline Error no_such_input(std::string_view name, const std::string& takes) {
  return fail("SDX-A0002", "the model has no input \"{}\"; it takes {}", name, takes);
}
inline Error no_value_for(std::string_view name, const std::string& takes) {
  return fail("SDX-A0003", "no value for input \"{}\"; the model takes {}", name, takes);
}
inline Error no_such_isa(std::string_view name) {
  return fail("SDX-A0004", "this machine has no {}", name);
}
inline Error no_such_output(std::string_view name, const std::string& gives) {
  return fail("SDX-A0005", "the model has no output \"{}\"; it gives {}", name, gives);
}

// "a", "b" for a list of names; none for an empty one.
template <class Names, class NameOf>
std::string listed(const Names& names, const NameOf& name_of) {
  std::string text;
  for (const auto& name : names)
    text += fmt::format("{}\"{}\"", text.empty() ? "" : ", ", name_of(name));
  return text.empty() ? "none" : text;
}

}  // namespace sdx
