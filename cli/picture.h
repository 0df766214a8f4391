// A graph drawn as SVG: layers from the inputs down, nodes in the colour of what was found there.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sdx::cli {

struct Box {
  enum class Look { node, input, output, note, warning, error };
  std::string title, subtitle, tip;  // two lines in the box, and what pointing at it shows
  Look look = Look::node;
  std::vector<size_t> inputs;  // boxes whose values it reads; smaller numbers than its own
};

// Text of any origin, safe in HTML and SVG.
std::string escaped(std::string_view text);

// `boxes` in an order in which each comes after those it reads.
std::string draw(const std::vector<Box>& boxes);

}  // namespace sdx::cli
