// Packs: weights as kernels packed them, once, for all plans of one model.
//
// What pack() makes of constant inputs (Kernel::packs) depends on them and on the attributes, never
// on the shapes of the other inputs, so plans for other sizes share it.
#pragma once

#include <mutex>
#include <unordered_map>

#include "plan/pack_cache.h"
#include "typed/eval.h"

namespace sdx::plan {

class Packs final : public typed::Packer {
 public:
  // With a cache, what it holds is not packed again.
  explicit Packs(std::shared_ptr<PackCache> cache = nullptr) : cache_(std::move(cache)) {}

  // What `kernel` packs for the node; made if no plan has it. `made` says which.
  std::shared_ptr<const void> get(const Op::AnyKernel& kernel, const Node& use, const void* attrs,
                                  const Call& call, Pool& pool, bool& made);
  std::shared_ptr<const void> pack(const Op::AnyKernel& kernel, const Node& use, const void* attrs,
                                   const Call& call, Pool& pool) override {
    bool made = false;
    return get(kernel, use, attrs, call, pool, made);
  }
  // Forgets what was packed from the constants of a call.
  void forget(const Call& call);
  // Forgets what no plan uses any more.
  void drop_unused();
  size_t size() const;

 private:
  struct Entry {
    const Op::AnyKernel* kernel;
    Node use;
    std::vector<Tensor> constants;  // kept, so that their addresses stay theirs
    std::shared_ptr<const void> packed;
  };

  const std::shared_ptr<PackCache> cache_;
  mutable std::mutex mutex_;
  std::unordered_multimap<const void*, Entry> entries_;  // by the address of the first constant
};

}  // namespace sdx::plan
