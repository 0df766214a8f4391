#include "infer/inline.h"

#include "check/inline.h"
#include "infer/inferred.h"

namespace sdx::infer {
namespace {

using FactsByName = std::map<std::string, Fact, std::less<>>;

// What is known of the values of a model without functions; nothing if it cannot be typed.
FactsByName facts_of(const model::Model& model) {
  Options options;
  options.bodies = std::make_shared<BodyFacts>();
  FactsByName facts;
  const auto checked =
      check::checked(std::make_shared<const model::Model>(model), {.open_types = true});
  if (!checked) return facts;
  const auto known = infer(*checked, options);
  if (!known) return facts;
  for (const auto& [graph, inner] : options.bodies->graphs)
    facts.insert(inner.begin(), inner.end());
  for (const auto& [name, outlet] : known->wires())
    facts.insert_or_assign(name, known->graph().fact(outlet));
  return facts;
}

}  // namespace

Result<model::Model> inline_functions(const model::Model& model, const InlineOptions& options) {
  check::InlineOptions inlining{.most_nodes = options.most_nodes};
  SDX_ASSIGN(check::Inlined plain, check::inline_functions(model, inlining));
  constexpr int kMostLevels = 16;  // of bodies in bodies
  for (int level = 0; options.operators && level < kMostLevels; ++level) {
    const FactsByName facts = facts_of(plain.model);
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
