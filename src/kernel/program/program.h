// Program: a chain or tree of element-wise operations that runs as one pass over cache-sized tiles.
//
// Each instruction is one operation of kernel/math/ops.h, so a program gives the bits of its
// operations run one by one; only the intermediate tensors never reach memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "kernel/isa.h"
#include "kernel/math/ops.h"

namespace sdx {

struct Scaling;

class Program {
 public:
  // Operands: 0 .. inputs - 1 are the inputs, inputs + i is the result of instruction i.
  struct Instruction {
    bool binary;
    uint8_t op;  // UnaryOp or BinaryOp
    uint16_t a, b = 0;
    float p = 0, q = 0;
  };
  static constexpr size_t kChunk = 512;  // elements; a few tiles of floats stay in the first cache
  static constexpr size_t kMostInputs = 8;
  static constexpr size_t kMostInstructions = 32;

  Program() = default;
  Program(size_t inputs, std::vector<Instruction> code);

  // One line per instruction: "add 0 1", "clip 2 0 6".
  static Result<Program> parse(size_t inputs, const std::vector<std::string>& lines);
  std::vector<std::string> text() const;

  size_t inputs() const { return inputs_; }
  const std::vector<Instruction>& code() const { return code_; }
  // The only operation of a program that has one, of one operand; else null.
  const Instruction* as_unary() const {
    return steps_.size() == 1 && steps_[0].kind == Step::Kind::unary ? &steps_[0] : nullptr;
  }
  // Floats of scratch that run() needs.
  size_t scratch() const { return registers_ * kChunk; }

  // out[i] = the program on in[k][i * stride[k]], strides 0 or 1, for i < n. `out` may be one of
  // the inputs of stride 1.
  void run(const float* const* in, const uint8_t* stride, float* out, size_t n, float* scratch,
           Isa isa) const;
  // The same for rows of n elements of `out` that lie one behind the other, inputs going on by
  // `row` floats: in one go, if takes_rows(), and without scratch.
  bool takes_rows() const { return steps_.size() == 1 && steps_[0].kind != Step::Kind::unary; }
  void run_rows(const float* const* in, const uint8_t* stride, const size_t* row, float* out,
                size_t rows, size_t n, Isa isa) const;
  float run_scalar(const float* in) const;

 private:
  // What runs in one pass: an instruction, or several.
  struct Step : Instruction {
    enum class Kind : uint8_t { unary, binary, scaling } kind = Kind::unary;
    // (a - shift) * factor + b, and relu: kNone for no shift.
    uint16_t shift = 0, factor = 0;
    bool relu = false;
  };
  static constexpr uint16_t kNone = 0xffff;
  static size_t operands(const Step& step, uint16_t (&into)[4]);
  template <class Data, class Stride>
  static Scaling scaling_of(const Step& step, Data data, Stride stride);
  void drop(size_t step);
  size_t readers(size_t step) const;
  void join_swish();
  void join_scaling();
  void assign_registers();

  size_t inputs_ = 0;
  std::vector<Instruction> code_;
  std::vector<Step> steps_;            // what runs: the code with some neighbours as one
  std::vector<uint16_t> register_of_;  // by step; the last writes to the output
  size_t registers_ = 0;
};

}  // namespace sdx
