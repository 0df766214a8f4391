// Settings in YAML, read into the same values as JSON: block mappings and sequences by indentation,
// flow ones ([..] and {..}, over several lines too), plain and quoted scalars, | and > texts,
// comments, one document. Anchors, tags, several documents and complex keys are refused, never
// guessed at. Of plain scalars null, true, false and numbers of JSON are what they say (those of
// YAML 1.2's core schema); "yes" and "no" are strings.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "serve/failure.h"

namespace sardonyx::serve {

Outcome<nlohmann::json> read_yaml(std::string_view text);

// The file's text as JSON or, if its name ends in .yaml or .yml, as YAML.
Outcome<nlohmann::json> read_settings_text(std::string_view text, std::string_view file_name);

}  // namespace sardonyx::serve
