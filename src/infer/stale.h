// Declared types of values (value_info, outputs) that are not what the model computes. Exporters
// leave such behind when they change a graph; the computation is right, the declaration is old.
#pragma once

#include "check/report.h"
#include "infer/typing.h"

namespace sdx::infer {

inline constexpr std::string_view kStaleType = "SDX-T0920";

std::vector<check::Diagnostic> stale_types(const model::Graph& graph, const typed::Graph& typed,
                                           const Wires& wires);

}  // namespace sdx::infer
