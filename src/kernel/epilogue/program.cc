#include "kernel/epilogue/program.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernel/elementwise/halves.h"

namespace sdx {
namespace {

constexpr size_t kMostRegisters = 8;
// From this width on a row is worth a pass of its own; narrower blocks are gathered into one tile.
constexpr size_t kWide = 128;

}  // namespace

std::optional<EpilogueProgram> EpilogueProgram::make(Program program, size_t product,
                                                     std::span<const Dims> inputs, const Dims& dims,
                                                     size_t row_rank) {
  if (program.scratch() > kMostRegisters * Program::kChunk || dims.size() < row_rank ||
      row_rank == 0)
    return std::nullopt;
  EpilogueProgram made;
  made.product_ = product;
  made.last_axis_ = size_t(dims[row_rank - 1]);
  for (size_t i = row_rank; i < dims.size(); ++i) made.columns_ *= size_t(dims[i]);
  for (size_t k = 0; k < inputs.size(); ++k) {
    if (k == product) continue;
    Dims own = inputs[k];
    if (own.size() > dims.size()) return std::nullopt;
    own.insert(own.begin(), dims.size() - own.size(), 1);
    const auto equal = [&](size_t from, size_t to) {
      return std::equal(own.begin() + std::ptrdiff_t(from), own.begin() + std::ptrdiff_t(to),
                        dims.begin() + std::ptrdiff_t(from));
    };
    const auto ones = [&](size_t from, size_t to) {
      return std::all_of(own.begin() + std::ptrdiff_t(from), own.begin() + std::ptrdiff_t(to),
                         [](int64_t size) { return size == 1; });
    };
    Operand& operand = made.operands_[k];
    if (ones(row_rank, dims.size())) {
      operand.columns = false;
    } else if (equal(row_rank, dims.size())) {
      operand.columns = true;
    } else {
      return std::nullopt;
    }
    if (ones(0, row_rank)) {
      operand.lead = Lead::none;
    } else if (equal(0, row_rank)) {
      operand.lead = Lead::all;
    } else if (ones(0, row_rank - 1) && equal(row_rank - 1, row_rank)) {
      operand.lead = Lead::last_axis;
    } else {
      return std::nullopt;
    }
  }
  made.program_ = std::move(program);
  made.find_opening(inputs.size());
  return made;
}

// After one value for all as a factor, one value per column may come first, as a bias; one per
// column or per element may be the other.
void EpilogueProgram::find_opening(size_t inputs) {
  const std::vector<Program::Instruction>& code = program_.code();
  size_t value = product_, gone = 0;
  // The operand that instruction `gone` joins with the value so far.
  const auto other_of = [&](BinaryOp op) -> std::optional<size_t> {
    if (gone == code.size()) return std::nullopt;
    const Program::Instruction& step = code[gone];
    if (!step.binary || static_cast<BinaryOp>(step.op) != op || step.a == step.b ||
        (step.a != value && step.b != value)) {
      return std::nullopt;
    }
    const size_t other = step.a == value ? step.b : step.a;
    if (other >= inputs || other == product_) return std::nullopt;
    return other;
  };
  const auto factor = other_of(BinaryOp::mul);
  if (factor && operands_[*factor].lead == Lead::none && !operands_[*factor].columns) {
    factor_ = factor;
    value = inputs + gone++;
  }
  while (opening_.size() < 2) {
    const auto other = other_of(BinaryOp::add);
    if (!other || !operands_[*other].columns) break;
    const Lead lead = operands_[*other].lead;
    if (lead == Lead::last_axis || (lead == Lead::all && opening_.empty())) break;
    opening_.push_back(*other);
    value = inputs + gone++;
  }
  if (gone == 0 || gone == code.size()) return;
  // What follows sees the sum where the product was, and nothing of the steps before.
  std::vector<Program::Instruction> rest(code.begin() + std::ptrdiff_t(gone), code.end());
  for (Program::Instruction& step : rest) {
    for (uint16_t* operand : {&step.a, &step.b}) {
      if (operand == &step.b && !step.binary) continue;
      if (*operand == product_ || (*operand >= inputs && *operand < value)) {
        factor_.reset();
        return opening_.clear();
      }
      if (*operand == value) {
        *operand = uint16_t(product_);
      } else if (*operand > value) {
        *operand = uint16_t(*operand - gone);
      }
    }
  }
  rest_ = Program(inputs, std::move(rest));
}

void EpilogueCall::open_in(AffineEpilogue& affine) {
  if (whole == nullptr || (!whole->factor_ && whole->opening_.empty()) || affine.alpha != 1 ||
      affine.bias != nullptr || affine.other != nullptr)
    return;
  for (const size_t operand : whole->opening_) {
    if (inputs[operand].type != DType::f32) return;
  }
  if (whole->factor_) {
    if (inputs[*whole->factor_].type != DType::f32) return;
    affine.alpha = *inputs[*whole->factor_].data<float>();
  }
  opened = true;
  if (whole->opening_.empty()) return;
  affine.bias = inputs[whole->opening_[0]].data<float>();
  affine.bias_row = 0;
  affine.bias_col = 1;
  affine.beta = 1;
  if (whole->opening_.size() > 1) {
    const size_t other = whole->opening_[1];
    affine.other_row =
        whole->operands_[other].lead == EpilogueProgram::Lead::all ? whole->columns_ : 0;
    affine.other = inputs[other].data<float>() + first_row * affine.other_row;
  }
}

const float* EpilogueCall::operand(size_t k, size_t row, size_t col, size_t n, float* room) const {
  const EpilogueProgram::Operand& o = whole->operands_[k];
  const size_t lead = o.lead == EpilogueProgram::Lead::none  ? 0
                      : o.lead == EpilogueProgram::Lead::all ? row
                                                             : row % whole->last_axis_;
  const size_t at = o.columns ? lead * whole->columns_ + col : lead;
  const View& view = inputs[k];
  if (view.type == DType::f32) return view.data<float>() + at;
  widening(view.type, isa)(view.data<uint16_t>() + at, room, o.columns ? n : 1);
  return room;
}

std::optional<ClampEpilogue> clamp_of(const Program::Instruction& step) {
  if (step.binary) return std::nullopt;
  ClampEpilogue clamp;
  clamp.bounded = true;
  if (static_cast<UnaryOp>(step.op) == UnaryOp::relu) {
    clamp.high = std::numeric_limits<float>::infinity();
    return clamp;
  }
  if (static_cast<UnaryOp>(step.op) != UnaryOp::clip) return std::nullopt;
  clamp.low = step.p;
  clamp.high = step.q;
  const bool low_fits = clamp.low == clamp.low && !(clamp.low == 0 && std::signbit(clamp.low));
  if (!low_fits || clamp.high != clamp.high || clamp.high == 0) return std::nullopt;
  return clamp;
}

std::optional<ClampEpilogue> EpilogueCall::clamp() const {
  if (whole == nullptr) return ClampEpilogue{};
  const std::vector<Program::Instruction>& code = whole->program_.code();
  ClampEpilogue clamp;
  size_t value = whole->product_, next = 0;  // the operand that holds the value so far
  if (code[0].binary) {
    if (static_cast<BinaryOp>(code[0].op) != BinaryOp::add) return std::nullopt;
    const size_t other = code[0].a == value ? code[0].b : code[0].a;
    if ((code[0].a != value && code[0].b != value) || other == value || other >= inputs.size())
      return std::nullopt;
    const EpilogueProgram::Operand& operand = whole->operands_[other];
    if (operand.lead != EpilogueProgram::Lead::all || !operand.columns) return std::nullopt;
    clamp.other = inputs[other].data<float>();
    value = inputs.size();
    next = 1;
  }
  if (next == code.size()) return clamp;
  const Program::Instruction& last = code[next];
  if (next + 1 != code.size() || last.binary || last.a != value) return std::nullopt;
  std::optional<ClampEpilogue> bounds = clamp_of(last);
  if (bounds) bounds->other = clamp.other;
  return bounds;
}

void EpilogueCall::run(void* self, float* c, size_t ldc, size_t row, size_t col, size_t rows,
                       size_t cols) {
  const EpilogueCall& call = *static_cast<const EpilogueCall*>(self);
  const EpilogueProgram& whole = *call.whole;
  const Program& program = *call.program();
  if (const auto unary = program.as_unary()) {
    return SDX_PICK(array_unary_rows, call.isa)(static_cast<UnaryOp>(unary->op), c, c, rows, cols,
                                                ldc, unary->p, unary->q);
  }
  row += call.first_row;
  const size_t inputs = call.inputs.size();
  alignas(64) float memory[(kMostRegisters + Program::kMostInputs + 1) * Program::kChunk];
  float* tiles = memory + kMostRegisters * Program::kChunk;
  std::array<const float*, Program::kMostInputs> in{};
  std::array<uint8_t, Program::kMostInputs> stride{};
  // Whole rows that lie behind each other, in all operands, are one long row.
  bool joined = ldc == cols;
  for (size_t k = 0; k < inputs && joined; ++k) {
    const EpilogueProgram::Operand& o = whole.operands_[k];
    const bool one_value = o.lead == EpilogueProgram::Lead::none && !o.columns;
    const bool whole_rows =
        o.lead == EpilogueProgram::Lead::all && o.columns && cols == whole.columns_;
    joined = k == whole.product_ || one_value || whole_rows;
  }
  if (joined) {
    cols *= rows;
    rows = 1;
  }
  if (cols >= kWide || rows == 1) {
    for (size_t r = 0; r < rows; ++r) {
      for (size_t first = 0; first < cols; first += Program::kChunk) {
        const size_t n = std::min(Program::kChunk, cols - first);
        float* at = c + r * ldc + first;
        for (size_t k = 0; k < inputs; ++k) {
          const bool is_product = k == whole.product_;
          in[k] = is_product
                      ? at
                      : call.operand(k, row + r, col + first, n, tiles + k * Program::kChunk);
          stride[k] = is_product || whole.operands_[k].columns ? 1 : 0;
        }
        program.run(in.data(), stride.data(), at, n, memory, call.isa);
      }
    }
    return;
  }
  const size_t at_once = std::max<size_t>(1, Program::kChunk / cols);
  for (size_t first = 0; first < rows; first += at_once) {
    const size_t count = std::min(at_once, rows - first);
    for (size_t k = 0; k < inputs; ++k) {
      float* tile = tiles + k * Program::kChunk;
      in[k] = tile;
      stride[k] = 1;
      const bool is_product = k == whole.product_;
      if (!is_product && whole.operands_[k].lead == EpilogueProgram::Lead::none &&
          !whole.operands_[k].columns) {
        in[k] = call.operand(k, row, col, 1, tile);
        stride[k] = 0;
        continue;
      }
      for (size_t r = 0; r < count; ++r) {
        float* to = tile + r * cols;
        const float* from =
            is_product ? c + (first + r) * ldc : call.operand(k, row + first + r, col, cols, to);
        if (!is_product && !whole.operands_[k].columns) {
          std::fill_n(to, cols, *from);
        } else if (from != to) {
          std::memcpy(to, from, cols * sizeof(float));
        }
      }
    }
    float* result = tiles + Program::kMostInputs * Program::kChunk;
    program.run(in.data(), stride.data(), result, count * cols, memory, call.isa);
    for (size_t r = 0; r < count; ++r)
      std::memcpy(c + (first + r) * ldc, result + r * cols, cols * sizeof(float));
  }
}

}  // namespace sdx
