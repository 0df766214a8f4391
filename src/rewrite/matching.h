// What rules that look for a pattern share.
#pragma once

#include <cassert>

#include "rewrite/rewrite.h"
#include "typed/pattern.h"

namespace sdx::rewrite {

// A rule's own pattern; it parses, or the rule's test fails.
inline typed::Pattern pattern(std::string_view text) {
  Result<typed::Pattern> parsed = typed::Pattern::parse(text);
  assert(parsed.ok());
  return *std::move(parsed);
}

// The pattern with its output at an old node.
inline std::optional<typed::Match> matched(const typed::Pattern& pattern, const Rewriting& r,
                                           uint32_t id) {
  return pattern.at(r.old, id, [&](typed::Outlet outlet) { return r.uses(outlet); });
}

}  // namespace sdx::rewrite
