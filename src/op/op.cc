#include "op/op.h"

#include <map>
#include <mutex>

namespace sdx {

View view_of(const Tensor& tensor) {
  return {tensor.type(), tensor.dims(), const_cast<void*>(tensor.raw()), tensor.count()};
}

Result<std::shared_ptr<const void>> detail::owned(const void* attributes,
                                                  void (*destroy)(const void*)) {
  return std::shared_ptr<const void>(attributes, destroy);
}

const std::vector<Signature>& Op::signatures() const {
  static std::mutex mutex;
  static std::map<const Op*, std::vector<Signature>> folded;
  const std::lock_guard lock(mutex);
  const auto at = folded.find(this);
  if (at != folded.end()) return at->second;
  Result<std::vector<Signature>> versions = fold(history);
  // A history that does not parse is a mistake of ours, which the tests of ops/ find: no version
  // exists then.
  return folded.emplace(this, versions ? *std::move(versions) : std::vector<Signature>{})
      .first->second;
}

const Signature* Op::at(int opset) const {
  const Signature* found = nullptr;
  for (const Signature& signature : signatures()) {
    if (signature.since <= opset) found = &signature;
  }
  return found;
}

}  // namespace sdx

template class std::vector<sdx::Case>;
