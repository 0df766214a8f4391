// JSON for programs that read what a command prints. docs/cli.schema.json says what each object
// has; tests/json.py holds the commands to it.
#pragma once

#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "fact/fact.h"

namespace sdx::cli {

using Json = nlohmann::ordered_json;

inline void print_json(const Json& json) {
  std::printf("%s\n", json.dump(1, ' ', false, Json::error_handler_t::replace).c_str());
}

// {"type": "f32", "shape": ["N", 3]}; the shape is null if not even the rank is known, and a value
// that is no tensor has its type in words and no shape.
inline Json json_of(const Fact& fact) {
  if (!fact.is_tensor()) return {{"type", fact.text()}, {"shape", nullptr}};
  Json shape = nullptr;
  if (fact.shape) {
    shape = Json::array();
    for (const Dim& dim : *fact.shape)
      shape.push_back(dim.is_const() ? Json(dim.value()) : Json(dim.text()));
  }
  return {{"type", short_name(fact.type)}, {"shape", std::move(shape)}};
}

}  // namespace sdx::cli
