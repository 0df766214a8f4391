// Certificates: a plan written down so that others can check it without this program.
//
// A certificate is JSON (docs/certificate.md; schema in docs/certificate.schema.json): every wire
// with its type, sizes and place, every step with what it reads, writes and needs, views with the
// offset that the operator declares, the room of each memory, and the plans of subgraphs.
// proofs/ holds a checker that was extracted from a proof; `sardonyx show --at plan --format json`
// prints what it reads. Nothing else in the engine knows of this room.
#pragma once

#include <string>
#include <string_view>

#include "plan/compiled.h"

namespace sdx::certificate {

inline constexpr int kVersion = 1;

// Of a compiled model under bindings of its open sizes, subgraphs included.
Result<std::string> of(const plan::Compiled& compiled, const Bindings& bindings,
                       std::string_view model);
// Of one of its plans, subgraphs included.
Result<std::string> of(const plan::Compiled& compiled, const plan::Planned& planned,
                       std::string_view model);
// Of one plan; subgraphs are left out.
std::string of(const plan::Plan& plan, std::string_view model);

}  // namespace sdx::certificate
