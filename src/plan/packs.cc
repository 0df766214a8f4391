#include "plan/packs.h"

#include <algorithm>

namespace sdx::plan {
namespace {

bool same(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Tensor& x, const Tensor& y) {
    return x.raw() == y.raw() && x.type() == y.type() && x.dims() == y.dims();
  });
}

const void* first_of(const Call& call) {
  for (const Fact& fact : call.in) {
    if (fact.value) return fact.value->raw();
  }
  return nullptr;
}

}  // namespace

std::shared_ptr<const void> Packs::get(const Op::AnyKernel& kernel, const Node& use,
                                       const void* attrs, const Call& call, Pool& pool,
                                       bool& made) {
  made = true;
  if (kernel.packs == 0) return kernel.pack(attrs, call, pool);  // tables for these shapes
  std::vector<Tensor> constants;
  for (const Fact& fact : call.in) constants.push_back(fact.value ? *fact.value : Tensor());
  const void* first = first_of(call);
  const std::lock_guard lock(mutex_);
  const auto [begin, end] = entries_.equal_range(first);
  for (auto at = begin; at != end; ++at) {
    const Entry& entry = at->second;
    if (entry.kernel == &kernel && same(entry.constants, constants) &&
        same_attributes(entry.use, use)) {
      made = false;
      return entry.packed;
    }
  }
  auto packed =
      cache_ ? cache_->get(kernel, use, attrs, call, pool) : kernel.pack(attrs, call, pool);
  // What stays as it is for one node may be packed for another.
  if (packed != nullptr) entries_.emplace(first, Entry{&kernel, use, std::move(constants), packed});
  return packed;
}

void Packs::forget(const Call& call) {
  const std::lock_guard lock(mutex_);
  entries_.erase(first_of(call));
}

void Packs::drop_unused() {
  const std::lock_guard lock(mutex_);
  std::erase_if(entries_, [](const auto& item) { return item.second.packed.use_count() == 1; });
}

size_t Packs::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

}  // namespace sdx::plan
