#include "op/one_node.h"

namespace sdx {

Status LateValues::allows(const Dims& dims, DType) const {
  SDX_TRY(element_count(dims));
  return ok();
}

Result<View> LateValues::make(size_t output, Dims dims) {
  SDX_TRY(allows(dims, facts_[output].type));
  outputs_[output] = Tensor::make(facts_[output].type, std::move(dims));
  return view_of(outputs_[output].tensor());
}

std::vector<View> views_of(std::span<const Value> values) {
  std::vector<View> views;
  views.reserve(values.size());
  for (const Value& value : values)
    views.push_back(value.is_tensor() ? view_of(value.tensor()) : View{});
  return views;
}

Status run_one(const OneNode& node) {
  Args args;
  args.ins = node.ins;
  args.outs = node.outs;
  args.pool = &node.pool;
  args.isa = node.call.isa;
  args.late = &node.late;
  args.packed = node.packed;
  std::shared_ptr<void> scratch;
  std::shared_ptr<const void> packed;
  if (node.kernel != nullptr) {
    const size_t bytes = node.kernel->scratch(node.attrs, node.call);
    scratch = allocate_aligned(bytes);
    args.scratch = {static_cast<std::byte*>(scratch.get()), bytes};
    if (node.kernel->pack != nullptr && args.packed == nullptr) {
      packed = node.kernel->pack(node.attrs, node.call, node.pool);
      args.packed = packed.get();
    }
  }
  return call_body(node.op, node.kernel, node.attrs, args);
}

}  // namespace sdx
