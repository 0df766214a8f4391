// One node run by itself, outside of a plan: while constants are folded, where only the run tells
// sizes, and in the tests of the operators' cases. A session does the same with memory and views
// that its plan laid out beforehand.
#pragma once

#include <span>
#include <vector>

#include "op/op.h"

namespace sdx {

// Outputs that only the run sizes, and values that are no tensors: they go into a list of values.
class LateValues : public LateOutputs {
 public:
  LateValues(std::span<const Value> inputs, std::vector<Value>& outputs, const Facts& facts)
      : inputs_(inputs), outputs_(outputs), facts_(facts) {}

  Result<View> make(size_t output, Dims dims) override;
  const Value& value(size_t input) const override { return inputs_[input]; }
  void give(size_t output, Value value) override { outputs_[output] = std::move(value); }

 protected:
  // Whether there may be a tensor of this size.
  virtual Status allows(const Dims& dims, DType) const;

 private:
  std::span<const Value> inputs_;
  std::vector<Value>& outputs_;
  const Facts& facts_;
};

// One view for each value; that of a value that is no tensor is absent.
std::vector<View> views_of(std::span<const Value> values);

struct OneNode {
  const Op& op;
  const void* attrs;            // what the operator's read() made
  const Op::AnyKernel* kernel;  // null: the reference
  const Call& call;             // what the kernel is asked about
  std::span<const View> ins, outs;
  Pool& pool;
  LateOutputs& late;
  const void* packed = nullptr;  // of the kernel's constant inputs; null: packed for this run alone
};

// Gives the body the scratch memory and packed inputs that it wants, and runs it.
Status run_one(const OneNode& node);

// A node's kernel, or its reference if there is none.
inline Status call_body(const Op& op, const Op::AnyKernel* kernel, const void* attrs, Args& args) {
  return kernel != nullptr ? kernel->run(attrs, args) : op.reference(attrs, args);
}

}  // namespace sdx
