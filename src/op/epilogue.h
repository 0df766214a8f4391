// FusedProgram: an element-wise program that runs on the blocks of a product (MatMul, Gemm, Conv)
// while they are in cache.
//
// The product is seen as a matrix of rows and columns; every other operand of the program is one
// value for all, one per row or column, or one per element. The planner makes it; a kernel that can
// (Kernel::epilogue) calls it through Args. Blocks are floats; operands of 16 bits are widened.
#pragma once

#include <memory>
#include <optional>

#include "fact/fact.h"
#include "kernel/gemm/ending.h"
#include "kernel/gemm/finish.h"
#include "kernel/program/program.h"
#include "op/args.h"

namespace sdx {

class FusedProgram {
 public:
  // `product`: which input of the program is the product's result. `row_rank`: how many of its axes
  // form the rows. Nothing if the operands' shapes are of another kind.
  static std::optional<FusedProgram> make(Program program, size_t product, const Facts& inputs,
                                          const Fact& out, size_t row_rank);

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
  const FusedProgram* fused;
  std::span<const View> inputs;  // of the program; the product's own is not read
  Isa isa;
  size_t first_row = 0;          // of the blocks to come, when a product is made in several calls
  bool opened = false;           // open_in() took the instructions that open the program

  // The program as an ending, for kernels that can do without a pass of their own over the block;
  // none if it is not one.
  std::optional<Ending> ending() const;
  // Leaves the product and the sums that open the program to `finish`, if it has room for them;
  // epilogue() is then for what remains.
  void open_in(Finish& finish);
  // To give to gemm and conv; none if there is nothing left to do.
  Epilogue epilogue() {
    if (fused == nullptr || program() == nullptr) return {};
    return {&EpilogueCall::block, this, program()->as_unary() != nullptr};
  }

 private:
  const Program* program() const {
    return !opened ? &fused->program_ : fused->rest_ ? &*fused->rest_ : nullptr;
  }
  static void block(void* self, float* c, size_t ldc, size_t row, size_t col, size_t rows,
                    size_t cols);
  // n elements of operand k from here on: where they lie, or as floats in `room`.
  const float* operand(size_t k, size_t row, size_t col, size_t n, float* room) const;
};

}  // namespace sdx
