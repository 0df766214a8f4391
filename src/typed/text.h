// The typed graph as text that prints and parses back, so that a rewrite is tested as text in, text
// out.
//
//   graph "digits" {
//     %x = input : f32[N,1,8,8]
//     %1 = i64[2] {1, -1}                                  a small constant
//     %2 = <f32[64,3,7,7] #0>                              a large one: entry 0 of a table
//     %3 = Conv.22 {strides=[2,2]} (%x, %2, _) : f32[N,64,4,4] "conv1"
//     %4, _ = sardonyx::Fused.1 {body=<graph #0>} (%3; %x) : f32[N,64], _
//     output "y" = %4
//   }
//
// An operator is followed by the version of its set; attributes that have their default are left
// out; wires that subgraphs capture stand after ';'; '_' is an input left out or an output nobody
// wants. The type after ':' and the node's name may be left out; a type that is given must be the
// one inferred (sizes that only running tells excepted).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "typed/graph.h"

namespace sdx::typed {

// What does not fit into a line: large constants, and subgraphs before they are typed.
struct TextTable {
  std::vector<Tensor> tensors;
  std::vector<std::shared_ptr<const BodySource>> bodies;
};

// Constants of more elements than this go into the table.
inline constexpr size_t kMostInline = 16;

std::string print(const Graph& graph, TextTable* table = nullptr);
// The node's line, and nothing else, for messages.
std::string print_node(const Graph& graph, uint32_t id);

// Errors carry "line 3, column 7". `table` is what print() filled.
Result<Graph> parse(std::string_view text, const TextTable& table = {});

}  // namespace sdx::typed
