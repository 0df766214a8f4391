// UnfitBranch: a branch of an If that does not fit the sizes at hand, though it fits others. It is
// an error only where the condition takes it.
#pragma once

#include "op/node.h"

namespace sdx::ops {

class UnfitBranch final : public Body {
 public:
  // `outputs`: their types, whatever the sizes.
  UnfitBranch(Error why, Facts inputs, Facts outputs)
      : why_(std::move(why)), inputs_(std::move(inputs)), outputs_(std::move(outputs)) {}
  const Error& why() const { return why_; }
  const Facts& inputs() const override { return inputs_; }
  const Facts& outputs() const override { return outputs_; }
  Result<std::vector<Value>> run(std::span<const Value>, Pool&, Isa) const override { return why_; }

 private:
  Error why_;
  Facts inputs_, outputs_;
};

}  // namespace sdx::ops
