#include "infer/inline.h"

#include "check/inline.h"
#include "infer/facts_by_name.h"

namespace sdx::infer {

Result<model::Model> inline_functions(const model::Model& model, const InlineOptions& options) {
  check::InlineOptions inlining{.most_nodes = options.most_nodes};
  SDX_ASSIGN(check::Inlined plain, check::inline_functions(model, inlining));
  constexpr int kMostLevels = 16;  // of bodies in bodies
  for (int level = 0; options.operators && level < kMostLevels; ++level) {
    const FactsByName facts = facts_by_name(plain.model);
    const auto fact = [&](const std::string& name) {
      const auto at = facts.find(name);
      return at != facts.end() ? &at->second : nullptr;
    };
    inlining.body = [&](const model::Node& node, int64_t version) {
      return operator_body({node, version, fact});
    };
    SDX_ASSIGN(plain, check::inline_functions(plain.model, inlining));
    if (plain.bodies == 0) break;
  }
  return std::move(plain.model);
}

}  // namespace sdx::infer
