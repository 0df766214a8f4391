// Args: what a kernel gets when it runs: views of its inputs and outputs, scratch memory and
// threads.
#ifndef SDX_OP_ARGS_H_
#define SDX_OP_ARGS_H_

#include <cstddef>
#include <span>

#include "base/tensor.h"
#include "base/view.h"
#include "kernel/isa.h"
#include "kernel/pool.h"

namespace sdx {

View view_of(const Tensor&);

// Outputs whose size only the run tells, and values that are not tensors. Implemented by run/.
class LateOutputs {
 public:
  virtual ~LateOutputs() = default;
  virtual Result<View> make(size_t output, Dims dims) = 0;
  virtual const Value& value(size_t input) const = 0;
  virtual void give(size_t output, Value value) = 0;
};

class EpilogueProgram;  // kernel/epilogue/program.h

struct Args {
  std::span<const View> ins;
  std::span<const View> outs;
  std::span<std::byte> scratch;  // as many bytes as the kernel asked for, aligned to kAlignment
  Pool* pool = nullptr;
  Isa isa = Isa::portable;
  const void* packed = nullptr;  // what the kernel's pack() made
  LateOutputs* late = nullptr;
  // A program to run on the product's blocks, and its inputs; the output is the program's.
  const EpilogueProgram* epilogue = nullptr;
  std::span<const View> epilogue_inputs;

  const View& in(size_t i) const { return ins[i]; }
  bool has(size_t i) const { return i < ins.size() && ins[i].present(); }
  const View& out(size_t i = 0) const { return outs[i]; }
  bool wants(size_t i) const { return i < outs.size() && outs[i].present(); }
  // For an output whose inferred shape has unknown dimensions: memory of this shape, found out by
  // the kernel.
  Result<View> make(size_t output, Dims dims) { return late->make(output, std::move(dims)); }
  // An input or output as a whole value: sequences, maps, optionals (tensors too).
  const Value& value(size_t input) const { return late->value(input); }
  void give(size_t output, Value value) { late->give(output, std::move(value)); }
};

}  // namespace sdx

#endif  // SDX_OP_ARGS_H_
