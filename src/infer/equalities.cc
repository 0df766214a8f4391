#include "infer/equalities.h"

#include <algorithm>

#include "infer/ask.h"

namespace sdx::infer {
namespace {

// Sizes to ask with: one that is divisible by what models divide by, and a prime. Small, because a
// size may be a rank, and few dimensions of them must not be too large for a tensor.
constexpr int64_t kUsual = 240, kOther = 241;

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

// Whether a size of the inputs is one of those that are asked with.
static bool has_size(const Facts& in, std::initializer_list<int64_t> sizes) {
  return std::any_of(in.begin(), in.end(), [&](const Fact& fact) {
    return fact.shape && std::any_of(fact.shape->begin(), fact.shape->end(), [&](const Dim& dim) {
             return dim.is_const() &&
                    std::find(sizes.begin(), sizes.end(), dim.value()) != sizes.end();
           });
  });
}

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
  constexpr size_t kMostPairs = 64;
  std::vector<std::pair<std::string, std::string>> pairs;
  for (size_t i = 0; i < names.size(); ++i) {
    for (size_t k = i + 1; k < names.size(); ++k) {
      for (const std::string& a : names[i]) {
        for (const std::string& b : names[k]) {
          const std::pair<std::string, std::string> pair = std::minmax(a, b);
          if (a != b && std::find(pairs.begin(), pairs.end(), pair) == pairs.end())
            pairs.push_back(pair);
          if (pairs.size() > kMostPairs) return;
        }
      }
    }
  }
  if (pairs.empty() || has_size(in, {kUsual, kOther})) return;

  Bindings usual;
  for (const std::string& name : any) usual[name] = kUsual;
  // A refusal because something would be too large says nothing of what the operator needs.
  enum class Answer { yes, no, open };
  const auto ask = [&](std::initializer_list<std::pair<std::string, int64_t>> changed) {
    Bindings sizes = usual;
    for (const auto& [name, size] : changed) sizes[name] = size;
    const Result<Facts> made = forward(use, bound(in, sizes), "probe");
    return made ? Answer::yes : is_limit(made.error()) ? Answer::open : Answer::no;
  };
  const auto accepts = [&](auto... changed) { return ask({changed...}) == Answer::yes; };
  const auto refuses = [&](auto... changed) { return ask({changed...}) == Answer::no; };
  if (ask({}) != Answer::yes) return;
  using Size = std::pair<std::string, int64_t>;
  for (const auto& [a, b] : pairs) {
    const bool tied = refuses(Size(a, kOther)) && refuses(Size(b, kOther)) && refuses(Size(a, 1)) &&
                      refuses(Size(b, 1)) && accepts(Size(a, kOther), Size(b, kOther)) &&
                      // Not one below the other: nearer and farther sizes are refused as well.
                      refuses(Size(a, kUsual - 1)) && refuses(Size(b, kUsual - 1)) &&
                      refuses(Size(a, 2 * kUsual)) && refuses(Size(b, 2 * kUsual));
    if (!tied) continue;
    const std::string name = use.name.empty() ? "" : fmt::format(" \"{}\"", use.name);
    assumptions.require_equal(Dim::symbol(a), Dim::symbol(b),
                              fmt::format("required by node{} ({})", name, use.op->name));
  }
}

}  // namespace sdx::infer
