// EpilogueProgram: an element-wise program that runs on the blocks of a product (MatMul, Gemm,
// Conv) while they are in cache.
//
// The product is seen as a matrix of rows and columns; every other operand of the program is one
// value for all, one per row or column, or one per element. The planner makes it; a kernel that can
// (Kernel::epilogue) calls it with the operands of the run. Blocks are floats; operands of 16 bits
// are widened.
#pragma once

#include <optional>
#include <span>

#include "base/tensor.h"
#include "base/view.h"
#include "kernel/epilogue/epilogue.h"
#include "kernel/program/program.h"

namespace sdx {

class EpilogueProgram {
 public:
  // `product`: which input of the program is the product's result. `row_rank`: how many of its axes
  // form the rows. Nothing if the operands' shapes are of another kind.
  static std::optional<EpilogueProgram> make(Program program, size_t product,
                                             std::span<const Dims> inputs, const Dims& out,
                                             size_t row_rank);

  const Program& program() const { return program_; }
  size_t product() const { return product_; }

 private:
  friend struct EpilogueCall;
  enum class Lead : uint8_t { none, last_axis, all };  // which of the row axes an operand has
  struct Operand {
    Lead lead = Lead::none;
    bool columns = false;  // has the column axes
  };
  void find_opening(size_t inputs);

  Program program_;
  // What the first instructions do to the product, and what follows them: one value that it is
  // multiplied by, then the operands that are added, one after another.
  std::optional<size_t> factor_;
  std::vector<size_t> opening_;
  std::optional<Program> rest_;
  size_t product_ = 0;
  size_t last_axis_ = 1, columns_ = 1;  // sizes: of the last row axis, and of a row
  std::array<Operand, Program::kMostInputs> operands_;
};

// One run: the program with its operands' memory. Lives on the stack of the kernel that runs the
// product.
struct EpilogueCall {
  const EpilogueProgram* whole;  // null: nothing follows
  std::span<const View> inputs;  // of the program; the product's own is not read
  Isa isa;
  size_t first_row = 0;  // of the blocks to come, when a product is made in several calls
  bool opened = false;   // open_in() took the instructions that open the program

  // The program in registers, for kernels that can do without a pass of their own over the block;
  // none if it is more than that.
  std::optional<ClampEpilogue> clamp() const;
  // Leaves the product and the sums that open the program to `affine`, if it has room for them;
  // block() is then for what remains.
  void open_in(AffineEpilogue& affine);
  // To give to gemm and conv; none if there is nothing left to do.
  BlockEpilogue block() {
    if (whole == nullptr || program() == nullptr) return {};
    return {&EpilogueCall::run, this, program()->as_unary() != nullptr};
  }

 private:
  const Program* program() const {
    return !opened ? &whole->program_ : whole->rest_ ? &*whole->rest_ : nullptr;
  }
  static void run(void* self, float* c, size_t ldc, size_t row, size_t col, size_t rows,
                  size_t cols);
  // n elements of operand k from here on: where they lie, or as floats in `room`.
  const float* operand(size_t k, size_t row, size_t col, size_t n, float* room) const;
};

// Relu and Clip as an epilogue in registers, unless a bound is NaN or a zero of the wrong sign.
std::optional<ClampEpilogue> clamp_of(const Program::Instruction&);

}  // namespace sdx
