#include "kernel/program/program.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "kernel/isa_testing.h"

namespace sdx {

TEST(Program, gives_the_bits_of_its_instructions_one_by_one) {
  // x * sigmoid(x) + bias, clipped.
  const auto program = Program::parse(2, {"sigmoid 0", "mul 0 2", "add 3 1", "clip 4 -0.5 3"});
  ASSERT_TRUE(program.ok());
  std::vector<float> x(1300), y(1300), scratch(program->scratch());
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(float(i)) * 5;
  const float bias = 0.25f;
  const float* in[] = {x.data(), &bias};
  const uint8_t stride[] = {1, 0};
  program->run(in, stride, y.data(), x.size(), scratch.data(), native_isa());
  for (size_t i = 0; i < x.size(); ++i) {
    const float element[] = {x[i], bias};
    ASSERT_EQ(std::bit_cast<uint32_t>(y[i]), std::bit_cast<uint32_t>(program->run_scalar(element)))
        << i;
  }
}

TEST(Program, reuses_registers_of_results_that_nobody_reads_any_more) {
  std::vector<std::string> lines = {"neg 0"};
  for (int i = 1; i < 20; ++i) lines.push_back(fmt::format("neg {}", i));
  const auto program = Program::parse(1, lines);
  ASSERT_TRUE(program.ok());
  EXPECT_EQ(program->scratch(), Program::kChunk);
}

TEST(Program, a_sigmoid_times_its_operand_is_one_pass_with_the_same_bits) {
  const std::vector<std::string> lines = {"neg 0", "sigmoid 1 0 0", "mul 2 1", "add 3 0"};
  const auto program = Program::parse(1, lines);
  ASSERT_TRUE(program.ok());
  EXPECT_EQ(program->text().size(), 4u);
  const std::vector<float> x = {-100, -1.5f, -0.f, 0,        1e-40f,   0.75f,
                                3,    200,   NAN,  INFINITY, -INFINITY};
  std::vector<float> y(x.size()), scratch(program->scratch());
  const float* in[] = {x.data()};
  const uint8_t stride[] = {1};
  program->run(in, stride, y.data(), x.size(), scratch.data(), native_isa());
  for (size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(std::bit_cast<uint32_t>(y[i]), std::bit_cast<uint32_t>(program->run_scalar(&x[i])))
        << x[i];
  }
}

TEST(Program, shifts_factors_and_terms_in_one_pass_have_the_bits_of_one_by_one) {
  const std::vector<std::vector<std::string>> programs = {
      {"sub 0 1", "mul 4 2", "add 5 3"},
      {"sub 0 1", "mul 2 4", "add 3 5", "relu 6 0 0"},
      {"mul 0 2", "add 4 3", "relu 5 0 0", "mul 6 0"},
      {"mul 2 0", "add 3 4"},
      {"sub 0 1", "mul 4 2", "add 5 3", "mul 6 4"},             // what is read again stays
      {"mul 0 1", "add 4 2", "sub 5 3", "mul 6 1", "add 7 0"},  // two behind each other
      {"abs 0", "sub 4 1", "mul 5 4", "add 6 0", "relu 7 0 0", "neg 8"},
      {"sub 0 0", "mul 4 1", "add 5 5"}};
  std::vector<float> x[4];
  for (size_t k = 0; k < 4; ++k) {
    for (size_t i = 0; i < 700; ++i) x[k].push_back(std::sin(float(i * (k + 2) + k)) * 3);
    const float specials[] = {NAN, -0.f, 0.f, INFINITY, -INFINITY, 1e-40f, -NAN};
    for (size_t i = 0; i < 49; ++i) x[k][5 + i] = specials[k % 2 == 0 ? i % 7 : i / 7];
  }
  for (const auto& lines : programs) {
    const auto program = Program::parse(4, lines);
    ASSERT_TRUE(program.ok());
    for (size_t strides = 0; strides < 16; ++strides) {
      const float* in[4];
      uint8_t stride[4];
      for (size_t k = 0; k < 4; ++k) stride[k] = strides >> k & 1, in[k] = x[k].data();
      for (const Isa isa : available_isas()) {
        std::vector<float> y(700), scratch(program->scratch());
        program->run(in, stride, y.data(), y.size(), scratch.data(), isa);
        for (size_t i = 0; i < y.size(); ++i) {
          float element[4];
          for (size_t k = 0; k < 4; ++k) element[k] = x[k][i * stride[k]];
          ASSERT_EQ(std::bit_cast<uint32_t>(y[i]),
                    std::bit_cast<uint32_t>(program->run_scalar(element)))
              << lines[0] << " " << strides << " at " << i << ", " << isa_name(isa);
        }
      }
    }
  }
}

TEST(Program, text_parses_back) {
  const auto program = Program::parse(2, {"add 0 1", "leaky_relu 2 0.01 0"});
  ASSERT_TRUE(program.ok());
  const auto again = Program::parse(2, program->text());
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->text(), program->text());
}

TEST(Program, refuses_what_it_cannot_run) {
  EXPECT_FALSE(Program::parse(1, {"frobnicate 0"}).ok());
  EXPECT_FALSE(Program::parse(1, {"add 0 1"}).ok());  // operand 1 is its own result
  EXPECT_FALSE(Program::parse(1, {}).ok());
}

}  // namespace sdx
