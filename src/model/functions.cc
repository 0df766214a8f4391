#include "model/functions.h"

#include <set>
#include <tuple>

#include "model/library.h"

namespace sdx::model {

Functions::Functions(const Model& model) {
  std::set<std::tuple<std::string_view, std::string_view, std::string_view>> seen;
  for (const Function& function : model.functions) {
    // Of two that cannot be told apart, the first is meant.
    const std::tuple<std::string_view, std::string_view, std::string_view> key(
        function.name, function.domain, function.overload);
    if (seen.insert(key).second) {
      by_name_.emplace(function.name, &function);
    }
  }
}

const Function* Functions::find(const Node& node) const {
  const auto [first, last] = by_name_.equal_range(node.op_type);
  for (auto at = first; at != last; ++at) {
    if (at->second->domain == node.domain && at->second->overload == node.overload)
      return at->second;
  }
  return find_added_function(node);
}

}  // namespace sdx::model
