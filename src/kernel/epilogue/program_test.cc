#include "kernel/epilogue/program.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "kernel/isa_testing.h"

namespace sdx {
namespace {

std::vector<float> wave(size_t n, float phase) {
  std::vector<float> x(n);
  for (size_t i = 0; i < n; ++i) x[i] = std::sin(float(i) + phase) * 3;
  return x;
}
View view_of(std::vector<float>& x) { return {DType::f32, {}, x.data(), x.size()}; }

// A product of 2 x 5 rows of 40 columns, and operands of each kind: one value, one per column, one
// per row of the last axis, one per element.
struct Operands {
  std::vector<float> product = wave(400, 0), one = {0.5f}, columns = wave(40, 1), rows = wave(5, 2),
                     whole = wave(400, 3);
  std::vector<View> views = {view_of(product), view_of(one), view_of(columns), view_of(rows),
                             view_of(whole)};
  std::vector<Dims> dims = {{2, 5, 40}, {}, {40}, {5, 1}, {2, 5, 40}};

  // Element i of operand k.
  float at(size_t k, size_t i) const {
    return k == 0   ? product[i]
           : k == 1 ? one[0]
           : k == 2 ? columns[i % 40]
           : k == 3 ? rows[i / 40 % 5]
                    : whole[i];
  }
};

EpilogueProgram made(const Operands& operands, const std::vector<std::string>& lines) {
  auto program = Program::parse(5, lines);
  EXPECT_TRUE(program);
  auto epilogue = EpilogueProgram::make(*std::move(program), 0, operands.dims, operands.dims[0], 2);
  EXPECT_TRUE(epilogue);
  return *std::move(epilogue);
}

void expect_program_bits(const Operands& operands, const EpilogueProgram& epilogue,
                         const std::vector<float>& got) {
  for (size_t i = 0; i < got.size(); ++i) {
    float element[5];
    for (size_t k = 0; k < 5; ++k) element[k] = operands.at(k, i);
    ASSERT_EQ(std::bit_cast<uint32_t>(epilogue.program().run_scalar(element)),
              std::bit_cast<uint32_t>(got[i]))
        << i;
  }
}

TEST(EpilogueProgram, gives_the_programs_bits_on_blocks_of_any_size) {
  Operands operands;
  const EpilogueProgram epilogue =
      made(operands, {"mul 0 1", "add 5 2", "sub 6 3", "tanh 7", "mul 8 4"});
  for (const Isa isa : available_isas()) {
    for (const size_t height : {1, 3, 10}) {
      for (const size_t width : {7, 16, 40}) {
        std::vector<float> got = operands.product;
        EpilogueCall call{&epilogue, operands.views, isa};
        const BlockEpilogue block = call.block();
        for (size_t row = 0; row < 10; row += height) {
          for (size_t col = 0; col < 40; col += width) {
            block.fn(block.ctx, got.data() + row * 40 + col, 40, row, col,
                     std::min(height, 10 - row), std::min(width, 40 - col));
          }
        }
        expect_program_bits(operands, epilogue, got);
      }
    }
  }
}

TEST(EpilogueProgram, leaves_its_opening_to_an_affine_epilogue) {
  Operands operands;
  const EpilogueProgram epilogue = made(operands, {"mul 0 1", "add 5 2", "add 6 4", "tanh 7"});
  EpilogueCall call{&epilogue, operands.views, native_isa()};
  AffineEpilogue affine;
  call.open_in(affine);
  EXPECT_EQ(affine.alpha, 0.5f);
  ASSERT_EQ(affine.bias, operands.columns.data());
  ASSERT_EQ(affine.other, operands.whole.data());
  std::vector<float> got(400);
  for (size_t i = 0; i < 400; ++i) {
    const float scaled = operands.product[i] * affine.alpha;
    const float biased = scaled + affine.bias[i % 40];
    got[i] = biased + affine.other[i / 40 * affine.other_row + i % 40];
  }
  const BlockEpilogue block = call.block();
  block.fn(block.ctx, got.data(), 40, 0, 0, 10, 40);
  expect_program_bits(operands, epilogue, got);
}

TEST(EpilogueProgram, is_a_clamp_if_it_only_adds_and_bounds) {
  Operands operands;
  const EpilogueProgram residual = made(operands, {"add 0 4", "relu 5"});
  const auto clamp = EpilogueCall{&residual, operands.views, native_isa()}.clamp();
  ASSERT_TRUE(clamp);
  EXPECT_EQ(clamp->other, operands.whole.data());
  EXPECT_TRUE(clamp->bounded);
  EXPECT_EQ(clamp->low, 0.0f);
  EXPECT_EQ(clamp->high, std::numeric_limits<float>::infinity());
  const EpilogueProgram more = made(operands, {"add 0 4", "tanh 5"});
  EXPECT_FALSE((EpilogueCall{&more, operands.views, native_isa()}.clamp()));
  const EpilogueProgram narrow = made(operands, {"add 0 2", "relu 5"});
  EXPECT_FALSE((EpilogueCall{&narrow, operands.views, native_isa()}.clamp()));
}

TEST(EpilogueProgram, is_none_where_an_operand_has_another_shape) {
  auto program = Program::parse(2, {"add 0 1"});
  const std::vector<Dims> dims = {{2, 5, 40}, {2, 1, 40}};
  EXPECT_FALSE(EpilogueProgram::make(*std::move(program), 0, dims, dims[0], 2));
}

}  // namespace
}  // namespace sdx
