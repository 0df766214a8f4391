#include "infer/equalities.h"

#include <algorithm>

#include "infer/ask.h"

namespace sdx::infer {
namespace {

constexpr int64_t kUsual = 720720;   // divisible by what models divide by
constexpr int64_t kOther = 1000003;  // a prime

// Symbols that declarations name, of one input's sizes and elements; all symbols into `any`.
std::vector<std::string> named(const Fact& fact, std::vector<std::string>& any) {
  std::vector<std::string> names;
  for (const Dim& dim : fact.shape.value_or(Shape{})) dim.symbols(names);
  for (const Dim& dim : fact.symbolic.value_or(std::vector<Dim>{})) dim.symbols(names);
  for (const std::string& name : names) {
    if (std::find(any.begin(), any.end(), name) == any.end()) any.push_back(name);
  }
  std::erase_if(names, [](const std::string& name) { return name.starts_with('?'); });
  return names;
}

Facts bound(Facts facts, const Bindings& bindings) {
  for (Fact& fact : facts) {
    for (size_t i = 0; fact.shape && i < fact.shape->size(); ++i)
      (*fact.shape)[i] = (*fact.shape)[i].bind(bindings);
    for (size_t i = 0; fact.symbolic && i < fact.symbolic->size(); ++i)
      (*fact.symbolic)[i] = (*fact.symbolic)[i].bind(bindings);
  }
  return facts;
}

}  // namespace

bool has_symbols(const Fact& fact) {
  const auto symbolic = [](const Dim& dim) { return !dim.is_const(); };
  return (fact.shape && std::any_of(fact.shape->begin(), fact.shape->end(), symbolic)) ||
         fact.symbolic;
}

void learn_equalities(const sdx::Node& use, const Facts& in, Assumptions& assumptions) {
  const bool has_bodies = std::any_of(use.attrs.begin(), use.attrs.end(), [](const auto& attr) {
    return std::holds_alternative<std::shared_ptr<const BodySource>>(attr.second);
  });
  if (has_bodies) return;  // subgraphs are typed, not asked
  std::vector<std::string> any;
  std::vector<std::vector<std::string>> names;
  for (const Fact& fact : in) names.push_back(named(fact, any));
  std::vector<std::pair<std::string, std::string>> pairs;
  for (size_t i = 0; i < names.size(); ++i) {
    for (size_t k = i + 1; k < names.size(); ++k) {
      for (const std::string& a : names[i]) {
        for (const std::string& b : names[k]) {
          const std::pair<std::string, std::string> pair = std::minmax(a, b);
          if (a != b && std::find(pairs.begin(), pairs.end(), pair) == pairs.end())
            pairs.push_back(pair);
        }
      }
    }
  }
  constexpr size_t kMostPairs = 64;
  if (pairs.empty() || pairs.size() > kMostPairs) return;

  Bindings usual;
  for (const std::string& name : any) usual[name] = kUsual;
  const auto accepts = [&](std::initializer_list<std::pair<std::string, int64_t>> changed) {
    Bindings sizes = usual;
    for (const auto& [name, size] : changed) sizes[name] = size;
    return forward(use, bound(in, sizes), "probe").ok();
  };
  if (!accepts({})) return;
  for (const auto& [a, b] : pairs) {
    const bool tied = !accepts({{a, kOther}}) && !accepts({{b, kOther}}) && !accepts({{a, 1}}) &&
                      !accepts({{b, 1}}) && accepts({{a, kOther}, {b, kOther}});
    if (!tied) continue;
    const std::string name = use.name.empty() ? "" : fmt::format(" \"{}\"", use.name);
    assumptions.require_equal(Dim::symbol(a), Dim::symbol(b),
                              fmt::format("required by node{} ({})", name, use.op->name));
  }
}

}  // namespace sdx::infer
