#include "model/library.h"

#include <map>
#include <mutex>
#include <shared_mutex>
#include <tuple>

namespace sdx::model {
namespace {

using Key = std::tuple<std::string, std::string, std::string>;  // domain, name, overload

struct Library {
  std::shared_mutex mutex;
  std::map<Key, Function> functions;
};
Library& library() {
  static auto* const kLibrary = new Library;  // outlives every graph
  return *kLibrary;
}

}  // namespace

Status add_function(Function function) {
  if (function.name.empty() || function.domain.empty() || function.domain == "ai.onnx") {
    return fail("SDX-M0110",
                "function \"{}\" of domain \"{}\": both must be given, and the domain "
                "not be ONNX's",
                function.name, function.domain);
  }
  Library& all = library();
  const std::unique_lock lock(all.mutex);
  Key key(function.domain, function.name, function.overload);
  const std::string name = fmt::format("{}.{}", function.domain, function.name);
  if (!all.functions.emplace(std::move(key), std::move(function)).second) {
    return fail("SDX-M0110", "there is a function {} already", name);
  }
  return ok();
}

const Function* find_added_function(const Node& node) {
  Library& all = library();
  const std::shared_lock lock(all.mutex);
  if (all.functions.empty()) return nullptr;
  const auto at = all.functions.find({node.domain, node.op_type, node.overload});
  return at == all.functions.end() ? nullptr : &at->second;
}

bool has_added_functions(std::string_view domain) {
  Library& all = library();
  const std::shared_lock lock(all.mutex);
  const auto at = all.functions.lower_bound({std::string(domain), "", ""});
  return at != all.functions.end() && std::get<0>(at->first) == domain;
}

}  // namespace sdx::model
