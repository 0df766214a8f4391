// How much a typed graph computes.
#pragma once

#include "typed/graph.h"

namespace sdx::cli {

// Whether the node's operator is one whose multiply-adds are counted, and how many they are once
// all shapes are known.
bool counts_multiply_adds(const typed::Node& node);
uint64_t multiply_adds(const typed::Node& node, const Facts& in);

// Multiply-adds of all nodes whose operator counts them; `open`: nodes whose shapes are not known.
uint64_t multiply_adds(const typed::Graph& graph, size_t& open);

// 1234567 -> "1,234,567".
std::string grouped(uint64_t n);

}  // namespace sdx::cli
