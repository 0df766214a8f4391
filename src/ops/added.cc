#include "ops/added.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <shared_mutex>

#include "ops/list.h"

namespace sdx {
namespace {

struct Added {
  std::shared_mutex mutex;
  std::map<std::pair<std::string_view, std::string_view>, std::shared_ptr<const Op>> ops;
};
Added& added() {
  static auto* const kAdded = new Added;  // outlives every graph
  return *kAdded;
}

}  // namespace

Status add_op(std::shared_ptr<const Op> op) {
  const std::string full =
      op->domain.empty() ? std::string(op->name) : fmt::format("{}.{}", op->domain, op->name);
  if (op->name.empty()) return fail("SDX-O0002", "an operator without a name");
  if (op->history.empty()) return fail("SDX-O0002", "operator {} has no version", full);
  Result<std::vector<Signature>> versions = fold(op->history);
  if (!versions) return std::move(versions).error().in(fmt::format("operator {}", full));
  if (!std::is_sorted(versions->begin(), versions->end(),
                      [](const auto& a, const auto& b) { return a.since <= b.since; }) ||
      versions->front().since < 1) {
    return fail("SDX-O0002", "the versions of operator {} must be 1 or more and ascend", full);
  }
  if (find_op(op->domain, op->name) != nullptr) {
    return fail("SDX-O0003", "there is an operator {} already", full);
  }
  Added& all = added();
  const std::unique_lock lock(all.mutex);
  const std::pair key(op->domain, op->name);
  if (!all.ops.emplace(key, std::move(op)).second) {
    return fail("SDX-O0003", "there is an operator {} already", full);
  }
  return ok();
}

const Op* find_added_op(std::string_view domain, std::string_view name) {
  Added& all = added();
  const std::shared_lock lock(all.mutex);
  const auto at = all.ops.find({domain, name});
  return at == all.ops.end() ? nullptr : at->second.get();
}

int64_t added_domain(std::string_view domain) {
  Added& all = added();
  const std::shared_lock lock(all.mutex);
  int64_t newest = 0;
  for (const auto& [key, op] : all.ops) {
    if (key.first == domain) newest = std::max<int64_t>(newest, op->history.back().since);
  }
  return newest;
}

}  // namespace sdx
