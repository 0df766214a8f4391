#include "kernel/program/program.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "kernel/elementwise/arrays.h"

namespace sdx {

Program::Program(size_t inputs, std::vector<Instruction> code)
    : inputs_(inputs), code_(std::move(code)) {
  join_steps();
  assign_registers();
}

// x * sigmoid(x) is swish with a factor of 1, to the bit: one pass instead of two.
void Program::join_steps() {
  steps_ = code_;
  for (size_t i = 0; i + 1 < steps_.size(); ++i) {
    const Instruction first = steps_[i], second = steps_[i + 1];
    const auto result = uint16_t(inputs_ + i);
    const auto reads = [&](const Instruction& step) {
      return (step.a == result ? 1 : 0) + (step.binary && step.b == result ? 1 : 0);
    };
    int readers = 0;
    for (const Instruction& step : steps_) readers += reads(step);
    if (first.binary || static_cast<UnaryOp>(first.op) != UnaryOp::sigmoid || readers != 1 ||
        !second.binary || static_cast<BinaryOp>(second.op) != BinaryOp::mul || reads(second) != 1 ||
        (second.a == result ? second.b : second.a) != first.a) {
      continue;
    }
    steps_[i] = {false, uint8_t(UnaryOp::swish), first.a, 0, 1.f, 0.f};
    steps_.erase(steps_.begin() + std::ptrdiff_t(i) + 1);
    for (Instruction& step : steps_) {
      if (step.a > result) --step.a;
      if (step.binary && step.b > result) --step.b;
    }
  }
}

// A tile of scratch per live result; a result's tile is free again after its last reader, who may
// write into it.
void Program::assign_registers() {
  std::vector<size_t> last_reader(steps_.size(), steps_.size());
  for (size_t i = 0; i < steps_.size(); ++i) {
    for (const uint16_t operand : {steps_[i].a, steps_[i].binary ? steps_[i].b : steps_[i].a}) {
      if (operand >= inputs_) last_reader[operand - inputs_] = i;
    }
  }
  std::vector<uint16_t> free;
  register_of_.assign(steps_.size(), 0);
  for (size_t i = 0; i < steps_.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (last_reader[j] == i) free.push_back(register_of_[j]);
    }
    if (free.empty()) free.push_back(uint16_t(registers_++));
    register_of_[i] = free.back();
    free.pop_back();
  }
}

Result<Program> Program::parse(size_t inputs, const std::vector<std::string>& lines) {
  if (inputs > kMostInputs || lines.empty() || lines.size() > kMostInstructions) {
    return fail("SDX-O0010", "a program has 1 to {} instructions on up to {} inputs",
                kMostInstructions, kMostInputs);
  }
  std::vector<Instruction> code;
  for (const std::string& line : lines) {
    constexpr std::string_view kSpace = " \t\n";
    std::string_view rest = line, word;
    const auto next_word = [&] {
      rest.remove_prefix(std::min(rest.find_first_not_of(kSpace), rest.size()));
      word = rest.substr(0, rest.find_first_of(kSpace));
      rest.remove_prefix(word.size());
      return !word.empty();
    };
    next_word();
    const std::string_view name = word;
    Instruction instruction{};
    int found = -1;
    for (int i = 0; i < kBinaryOps && found < 0; ++i) {
      if (name == op_name(static_cast<BinaryOp>(i))) found = i, instruction.binary = true;
    }
    for (int i = 0; i < kUnaryOps && found < 0; ++i) {
      if (name == op_name(static_cast<UnaryOp>(i))) found = i;
    }
    if (found < 0) return fail("SDX-O0010", "unknown instruction \"{}\"", line);
    instruction.op = uint8_t(found);
    const auto operand = [&](uint16_t& into) {
      if (!next_word()) return false;
      const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), into);
      return error == std::errc() && into < inputs + code.size();
    };
    if (!operand(instruction.a) || (instruction.binary && !operand(instruction.b))) {
      return fail("SDX-O0010", "instruction \"{}\" has no operand that exists", line);
    }
    for (float* parameter : {&instruction.p, &instruction.q}) {
      if (next_word()) std::from_chars(word.data(), word.data() + word.size(), *parameter);
    }
    code.push_back(instruction);
  }
  return Program(inputs, std::move(code));
}

std::vector<std::string> Program::text() const {
  std::vector<std::string> lines;
  for (const Instruction& i : code_) {
    if (i.binary) {
      lines.push_back(fmt::format("{} {} {}", op_name(static_cast<BinaryOp>(i.op)), i.a, i.b));
    } else {
      lines.push_back(
          fmt::format("{} {} {} {}", op_name(static_cast<UnaryOp>(i.op)), i.a, i.p, i.q));
    }
  }
  return lines;
}

void Program::run(const float* const* in, const uint8_t* stride, float* out, size_t n,
                  float* scratch, [[maybe_unused]] Isa isa) const {
  const auto unary = SDX_PICK(array_unary, isa);
  const auto binary = SDX_PICK(array_binary, isa);
  for (size_t at = 0; at < n; at += kChunk) {
    const size_t count = std::min(kChunk, n - at);
    const auto data = [&](uint16_t operand) -> const float* {
      return operand < inputs_ ? in[operand] + at * stride[operand]
                               : scratch + register_of_[operand - inputs_] * kChunk;
    };
    const auto step = [&](uint16_t operand) -> size_t {
      return operand < inputs_ ? stride[operand] : 1;
    };
    for (size_t i = 0; i < steps_.size(); ++i) {
      const Instruction& instruction = steps_[i];
      float* result = i + 1 == steps_.size() ? out + at : scratch + register_of_[i] * kChunk;
      if (instruction.binary) {
        binary(static_cast<BinaryOp>(instruction.op), data(instruction.a), step(instruction.a),
               data(instruction.b), step(instruction.b), result, count);
      } else if (step(instruction.a) == 1) {
        unary(static_cast<UnaryOp>(instruction.op), data(instruction.a), result, count,
              instruction.p, instruction.q);
      } else {
        std::fill_n(result, count,
                    scalar_unary(static_cast<UnaryOp>(instruction.op), *data(instruction.a),
                                 instruction.p, instruction.q));
      }
    }
  }
}

float Program::run_scalar(const float* in) const {
  std::array<float, kMostInputs + kMostInstructions> values;
  std::copy_n(in, inputs_, values.begin());
  for (size_t i = 0; i < code_.size(); ++i) {
    const Instruction& instruction = code_[i];
    values[inputs_ + i] = instruction.binary
                              ? scalar_binary(static_cast<BinaryOp>(instruction.op),
                                              values[instruction.a], values[instruction.b])
                              : scalar_unary(static_cast<UnaryOp>(instruction.op),
                                             values[instruction.a], instruction.p, instruction.q);
  }
  return values[inputs_ + code_.size() - 1];
}

}  // namespace sdx
