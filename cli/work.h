// How much a typed graph computes.
#pragma once

#include "typed/graph.h"

namespace sdx::cli {

// Multiply-adds of all nodes whose operator counts them; `open`: nodes whose shapes are not known.
uint64_t multiply_adds(const typed::Graph& graph, size_t& open);

// 1234567 -> "1,234,567".
std::string grouped(uint64_t n);

}  // namespace sdx::cli
