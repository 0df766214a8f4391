#include "kernel/program/program.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "kernel/elementwise/arrays.h"

namespace sdx {

Program::Program(size_t inputs, std::vector<Instruction> code)
    : inputs_(inputs), code_(std::move(code)) {
  for (const Instruction& instruction : code_) {
    Step step{instruction};
    step.kind = instruction.binary ? Step::Kind::binary : Step::Kind::unary;
    steps_.push_back(step);
  }
  join_swish();
  join_scaling();
  assign_registers();
}

// What a step reads; returns how many.
size_t Program::operands(const Step& step, uint16_t (&into)[4]) {
  size_t count = 0;
  into[count++] = step.a;
  if (step.kind != Step::Kind::unary) into[count++] = step.b;
  if (step.kind != Step::Kind::scaling) return count;
  into[count++] = step.factor;
  if (step.shift != kNone) into[count++] = step.shift;
  return count;
}

size_t Program::readers(size_t step) const {
  size_t count = 0;
  uint16_t read[4];
  for (const Step& other : steps_) {
    for (size_t i = operands(other, read); i-- > 0;) count += read[i] == inputs_ + step ? 1 : 0;
  }
  return count;
}

// Step `step` has become part of the one before it, whose result is read in its place.
void Program::drop(size_t step) {
  steps_.erase(steps_.begin() + std::ptrdiff_t(step));
  for (Step& other : steps_) {
    for (uint16_t* operand : {&other.a, &other.b, &other.shift, &other.factor}) {
      if (*operand != kNone && *operand >= inputs_ + step) --*operand;
    }
  }
}

// x * sigmoid(x) is swish with a factor of 1, to the bit: one pass instead of two.
void Program::join_swish() {
  for (size_t i = 0; i + 1 < steps_.size(); ++i) {
    const Step first = steps_[i], second = steps_[i + 1];
    const size_t result = inputs_ + i;
    if (first.binary || static_cast<UnaryOp>(first.op) != UnaryOp::sigmoid || readers(i) != 1 ||
        !second.binary || static_cast<BinaryOp>(second.op) != BinaryOp::mul ||
        (second.a != result && second.b != result) ||
        (second.a == result ? second.b : second.a) != first.a) {
      continue;
    }
    steps_[i] = {{false, uint8_t(UnaryOp::swish), first.a, 0, 1.f, 0.f}};
    drop(i + 1);
  }
}

// (x - shift) * factor + term, as normalisations by known numbers end, and a relu behind it: one
// pass instead of three or four. A NaN is canonical at the end, whatever it was on the way.
void Program::join_scaling() {
  // The operand that a step joins with the only use of the result before it.
  const auto other_of = [&](size_t step, BinaryOp op) -> uint16_t {
    if (step == 0 || step >= steps_.size()) return kNone;
    const Step& s = steps_[step];
    const auto value = uint16_t(inputs_ + step - 1);
    if (s.kind != Step::Kind::binary || static_cast<BinaryOp>(s.op) != op || s.a == s.b ||
        (s.a != value && s.b != value) || readers(step - 1) != 1) {
      return kNone;
    }
    return s.a == value ? s.b : s.a;
  };
  for (size_t i = 0; i + 1 < steps_.size(); ++i) {
    const Step first = steps_[i];
    const bool shifted = first.kind == Step::Kind::binary &&
                         static_cast<BinaryOp>(first.op) == BinaryOp::sub && first.a != first.b &&
                         other_of(i + 1, BinaryOp::mul) != kNone &&
                         other_of(i + 2, BinaryOp::add) != kNone;
    const bool plain = first.kind == Step::Kind::binary &&
                       static_cast<BinaryOp>(first.op) == BinaryOp::mul && first.a != first.b &&
                       other_of(i + 1, BinaryOp::add) != kNone;
    if (!shifted && !plain) continue;
    Step joined = first;
    joined.kind = Step::Kind::scaling;
    joined.shift = shifted ? first.b : kNone;
    joined.factor = shifted ? other_of(i + 1, BinaryOp::mul) : first.b;
    joined.b = other_of(shifted ? i + 2 : i + 1, BinaryOp::add);
    const size_t parts = shifted ? 3 : 2;
    if (i + parts < steps_.size()) {
      const Step& next = steps_[i + parts];
      joined.relu = next.kind == Step::Kind::unary &&
                    static_cast<UnaryOp>(next.op) == UnaryOp::relu &&
                    next.a == inputs_ + i + parts - 1 && readers(i + parts - 1) == 1;
    }
    steps_[i] = joined;
    for (size_t gone = parts - 1 + (joined.relu ? 1 : 0); gone > 0; --gone) drop(i + 1);
  }
}

// A tile of scratch per live result; a result's tile is free again after its last reader, who may
// write into it.
void Program::assign_registers() {
  std::vector<size_t> last_reader(steps_.size(), steps_.size());
  for (size_t i = 0; i < steps_.size(); ++i) {
    uint16_t read[4];
    for (size_t k = operands(steps_[i], read); k-- > 0;) {
      if (read[k] >= inputs_) last_reader[read[k] - inputs_] = i;
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

template <class Data, class Stride>
Scaling Program::scaling_of(const Step& step, Data data, Stride stride) {
  Scaling s{};
  s.x = data(step.a);
  s.x_stride = uint8_t(stride(step.a));
  if (step.shift != kNone) {
    s.shift = data(step.shift);
    s.shift_stride = uint8_t(stride(step.shift));
  }
  s.factor = data(step.factor);
  s.factor_stride = uint8_t(stride(step.factor));
  s.term = data(step.b);
  s.term_stride = uint8_t(stride(step.b));
  s.relu = step.relu;
  return s;
}

void Program::run(const float* const* in, const uint8_t* stride, float* out, size_t n,
                  float* scratch, [[maybe_unused]] Isa isa) const {
  const auto unary = SDX_PICK(array_unary, isa);
  const auto binary = SDX_PICK(array_binary, isa);
  const auto scaled = SDX_PICK(array_scaled, isa);
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
      const Step& instruction = steps_[i];
      float* result = i + 1 == steps_.size() ? out + at : scratch + register_of_[i] * kChunk;
      if (instruction.kind == Step::Kind::scaling) {
        scaled(scaling_of(instruction, data, step), result, 1, count);
      } else if (instruction.binary) {
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

void Program::run_rows(const float* const* in, const uint8_t* stride, const size_t* row, float* out,
                       size_t rows, size_t n, [[maybe_unused]] Isa isa) const {
  const Step& step = steps_[0];
  if (step.kind == Step::Kind::binary) {
    SDX_PICK(array_binary_rows, isa)
    (static_cast<BinaryOp>(step.op), {in[step.a], stride[step.a], row[step.a]},
     {in[step.b], stride[step.b], row[step.b]}, out, rows, n);
    return;
  }
  Scaling s = scaling_of(
      step, [&](uint16_t operand) { return in[operand]; },
      [&](uint16_t operand) { return stride[operand]; });
  s.x_row = row[step.a];
  if (step.shift != kNone) s.shift_row = row[step.shift];
  s.factor_row = row[step.factor];
  s.term_row = row[step.b];
  SDX_PICK(array_scaled, isa)(s, out, rows, n);
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
