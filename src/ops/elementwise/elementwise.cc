// Elementwise: a program of element-wise operations on broadcast inputs, made by the rewrite that
// fuses chains.
#include "ops/elementwise/elementwise.h"

#include <algorithm>
#include <cstring>

#include "kernel/elementwise/halves.h"
#include "op/layout.h"
#include "ops/common.h"
#include "ops/noise.h"

namespace sdx::ops {

size_t Walk::rows() const {
  size_t rows = 1;
  for (size_t d = 0; d + 1 < rank; ++d) rows *= dims[d];
  return rows;
}

void Walk::offsets(size_t r, size_t inputs, std::array<size_t, Program::kMostInputs>& into) const {
  into.fill(0);
  for (size_t d = rank - 1; d-- > 0;) {
    const size_t at = r % dims[d];
    r /= dims[d];
    for (size_t k = 0; k < inputs; ++k) into[k] += at * strides[d][k];
  }
}

Row::Row(const Walk& walk, size_t row, size_t inputs) : walk_(walk), inputs_(inputs) {
  walk.offsets(row, inputs, offsets_);
  for (size_t d = walk.rank - 1; d-- > 0; row /= walk.dims[d]) at_[d] = row % walk.dims[d];
}

void Row::next() {
  for (size_t d = walk_.rank - 1; d-- > 0;) {
    const auto& stride = walk_.strides[d];
    for (size_t k = 0; k < inputs_; ++k) offsets_[k] += stride[k];
    if (++at_[d] < walk_.dims[d]) return;
    for (size_t k = 0; k < inputs_; ++k) offsets_[k] -= stride[k] * walk_.dims[d];
    at_[d] = 0;
  }
}

bool make_walk(std::span<const int64_t> out, std::span<const View> inputs, Walk& walk) {
  walk = {};
  std::array<size_t, Program::kMostInputs> step;
  step.fill(1);
  // From the last dimension outwards; a dimension joins the one inside it if every input continues
  // or repeats there.
  std::array<size_t, Walk::kMostDims> dims{};
  std::array<std::array<size_t, Program::kMostInputs>, Walk::kMostDims> strides{};
  size_t rank = 0;
  for (size_t back = 0; back < out.size(); ++back) {
    const auto size = size_t(out[out.size() - 1 - back]);
    std::array<size_t, Program::kMostInputs> stride{};
    for (size_t k = 0; k < inputs.size(); ++k) {
      const View& x = inputs[k];
      const size_t mine = back < x.rank() ? size_t(x.dims[x.rank() - 1 - back]) : 1;
      stride[k] = mine == 1 ? 0 : step[k];
      step[k] *= mine;
    }
    if (size == 1) continue;
    bool joins = rank > 0;
    for (size_t k = 0; joins && k < inputs.size(); ++k)
      joins = stride[k] == strides[rank - 1][k] * dims[rank - 1];
    if (joins) {
      dims[rank - 1] *= size;
      continue;
    }
    if (rank == Walk::kMostDims) return false;
    dims[rank] = size;
    strides[rank++] = stride;
  }
  if (rank == 0) dims[rank++] = 1;
  walk.rank = rank;
  for (size_t d = 0; d < rank; ++d) {
    walk.dims[d] = dims[rank - 1 - d];
    walk.strides[d] = strides[rank - 1 - d];
  }
  return true;
}

namespace {

constexpr Version kHistory[] = {{1, "(x...0: T) -> (y: T) {code!: strings} T in f32 f16 bf16"}};

Result<Elementwise> read(const Node& node, const Facts& in) {
  SDX_ASSIGN(Program program,
             Program::parse(in.size(), node.get<std::vector<std::string>>("code")));
  return Elementwise{std::move(program)};
}

Result<Facts> infer(const Elementwise&, const Facts& in) {
  Shape shape;
  for (const Fact& fact : in) {
    if (!fact.has_rank()) return Facts{Fact::tensor(in[0].type)};
    SDX_ASSIGN(shape, broadcast(shape, *fact.shape));
  }
  return Facts{Fact::tensor(in[0].type, std::move(shape))};
}

template <class T>
void scalar(const Elementwise& a, Args& args, const Walk& walk) {
  std::array<size_t, Program::kMostInputs> at;
  const size_t run = walk.run(), inputs = args.ins.size();
  std::array<float, Program::kMostInputs> element;
  for (size_t r = 0; r < walk.rows(); ++r) {
    walk.offsets(r, inputs, at);
    for (size_t i = 0; i < run; ++i) {
      for (size_t k = 0; k < inputs; ++k) {
        element[k] = load(args.in(k).data<T>()[at[k] + i * walk.strides[walk.rank - 1][k]]);
      }
      args.out().data<T>()[r * run + i] = store<T>(a.program.run_scalar(element.data()));
    }
  }
}

Status reference(const Elementwise& a, Args& args) {
  Walk walk;
  if (!make_walk(args.out().dims, args.ins, walk))
    return fail("SDX-R0023", "shapes of too many dimensions");
  if (args.out().count == 0) return ok();
  switch (args.out().type) {
    case DType::f32:
      scalar<float>(a, args, walk);
      break;
    case DType::f16:
      scalar<F16>(a, args, walk);
      break;
    default:
      scalar<BF16>(a, args, walk);
      break;
  }
  return ok();
}

// Inputs that are the same in every row of a few elements (a number per channel of a block), or one
// number in each: written out for many rows, they let these be taken at once.
struct Repeats {
  static constexpr size_t kLongest = 64;                   // elements in a row
  static constexpr size_t kWritten = 2 * Program::kChunk;  // elements that are written out
  size_t period = 0;                                       // 0: rows are long, or differ otherwise
  std::array<bool, Program::kMostInputs> is{};             // the same row
  std::array<bool, Program::kMostInputs> numbers{};        // one number in each row
  std::array<size_t, Program::kMostInputs> along{};        // from one to the next of them
};

// The last two dimensions become one where nothing but such inputs is in the way. A program that
// takes rows as they are needs none written out for their numbers.
Repeats join_rows(Walk& walk, const Program& program) {
  Repeats repeats;
  if (walk.rank < 2 || walk.run() > Repeats::kLongest) return {};
  const size_t outer = walk.rank - 2, inner = walk.rank - 1;
  for (size_t k = 0; k < program.inputs(); ++k) {
    const size_t step = walk.strides[inner][k], along = walk.strides[outer][k];
    repeats.is[k] = step == 1 && along == 0;
    repeats.numbers[k] = step == 0 && along != 0 && !program.takes_rows();
    repeats.along[k] = along;
    if (!repeats.is[k] && !repeats.numbers[k] && along != step * walk.run()) return {};
  }
  repeats.period = walk.run();
  walk.dims[outer] *= walk.run();
  walk.strides[outer] = walk.strides[inner];
  for (size_t k = 0; k < program.inputs(); ++k) {
    if (repeats.numbers[k]) walk.strides[outer][k] = 1;
  }
  --walk.rank;
  return repeats;
}

void write_out(const float* row, size_t period, float* to, size_t count) {
  for (size_t i = 0; i < count; i += period) std::copy_n(row, std::min(period, count - i), to + i);
}

// Each number `period` times; in whole cache lines but for the last, which the next number ends.
void write_numbers(const float* numbers, size_t along, size_t period, float* to, size_t count) {
  constexpr size_t kLine = 16;
  size_t i = 0;
  for (; i + period + kLine <= count; i += period, numbers += along) {
    std::array<float, kLine> line;
    line.fill(*numbers);
    for (size_t j = 0; j < period; j += kLine) std::memcpy(to + i + j, line.data(), sizeof line);
  }
  for (; i < count; i += period, numbers += along)
    std::fill_n(to + i, std::min(period, count - i), *numbers);
}

// Per thread: the program's registers, a tile of floats per input, and one for an output of 16
// bits.
size_t scratch_floats(const Elementwise& a, DType type) {
  return a.program.scratch() + a.program.inputs() * Repeats::kWritten +
         (type == DType::f32 ? 0 : Program::kChunk);
}

size_t scratch(const Elementwise& a, const Call& call) {
  return size_t(call.threads) * scratch_floats(a, call.out[0].type) * sizeof(float);
}

using Offsets = std::array<size_t, Program::kMostInputs>;
using Inputs = std::array<const float*, Program::kMostInputs>;

// A piece of one row of floats of 16 bits, a tile at a time.
void run_halves(const Elementwise& a, Args& args, const Offsets& at, const uint8_t* stride,
                size_t to, size_t count, float* memory) {
  const View& out = args.out();
  const auto widen = widening(out.type, args.isa);
  const auto narrow = narrowing(out.type, args.isa);
  const size_t inputs = args.ins.size();
  float *tiles = memory + a.program.scratch(), *result = tiles + inputs * Program::kChunk;
  Inputs in;
  for (size_t i = 0; i < count; i += Program::kChunk) {
    const size_t n = std::min(Program::kChunk, count - i);
    for (size_t k = 0; k < inputs; ++k) {
      float* tile = tiles + k * Program::kChunk;
      widen(args.in(k).data<uint16_t>() + at[k] + i * stride[k], tile, stride[k] ? n : 1);
      in[k] = tile;
    }
    a.program.run(in.data(), stride, result, n, memory, args.isa);
    narrow(result, out.data<uint16_t>() + to + i, n);
  }
}

// Rows of a few elements, as many in one go as go on alike.
void run_rows(const Elementwise& a, Args& args, const Walk& walk, const uint8_t* stride) {
  const size_t inputs = args.ins.size();
  each_rows_alike(walk, inputs, *args.pool, [&](const Offsets& at, size_t row, size_t rows) {
    Inputs in;
    for (size_t k = 0; k < inputs; ++k) in[k] = args.in(k).data<float>() + at[k];
    a.program.run_rows(in.data(), stride, walk.strides[walk.rank - 2].data(),
                       args.out().data<float>() + row * walk.run(), rows, walk.run(), args.isa);
  });
}

Status run(const Elementwise& a, Args& args) {
  Walk walk;
  if (!make_walk(args.out().dims, args.ins, walk)) return reference(a, args);
  const View& out = args.out();
  if (out.count == 0) return ok();
  const size_t inputs = args.ins.size();
  const Repeats repeats = out.type == DType::f32 ? join_rows(walk, a.program) : Repeats{};
  const size_t run = walk.run();
  // Long pieces of one row each; threads take pieces.
  const size_t longest = repeats.period == 0 ? 16 * Program::kChunk
                                             : Repeats::kWritten / repeats.period * repeats.period;
  const size_t pieces = (run + longest - 1) / longest;
  const size_t grain = std::max<size_t>(1, 32768 / std::min(run, longest));
  std::array<uint8_t, Program::kMostInputs> stride{};
  for (size_t k = 0; k < inputs; ++k) stride[k] = uint8_t(walk.strides[walk.rank - 1][k]);
  if (out.type == DType::f32 && repeats.period == 0 && walk.rank >= 2 && pieces == 1 &&
      a.program.takes_rows()) {
    run_rows(a, args, walk, stride.data());
    return ok();
  }
  args.pool->parallel(walk.rows() * pieces, grain, [&](size_t begin, size_t end, int thread) {
    float* memory = reinterpret_cast<float*>(args.scratch.data()) +
                    size_t(thread) * scratch_floats(a, out.type);
    Offsets at;
    Inputs in;
    size_t row = begin / pieces, first = begin % pieces * longest;
    Row place(walk, row, inputs);
    for (size_t piece = begin; piece < end; ++piece, first += longest) {
      if (first >= run) {
        first = 0;
        ++row;
        place.next();
      }
      const size_t count = std::min(longest, run - first);
      for (size_t k = 0; k < inputs; ++k) {
        at[k] = place.offset(k) + (repeats.is[k]        ? 0
                                   : repeats.numbers[k] ? first / repeats.period * repeats.along[k]
                                                        : first * stride[k]);
      }
      if (out.type != DType::f32) {
        run_halves(a, args, at, stride.data(), row * run + first, count, memory);
        continue;
      }
      for (size_t k = 0; k < inputs; ++k) {
        in[k] = args.in(k).data<float>() + at[k];
        if (!repeats.is[k] && !repeats.numbers[k]) continue;
        float* tile = memory + a.program.scratch() + k * Repeats::kWritten;
        if (repeats.numbers[k]) {
          write_numbers(in[k], repeats.along[k], repeats.period, tile, count);
        } else if (first == 0 || piece == begin) {
          write_out(in[k], repeats.period, tile, std::min(longest, run));
        }
        in[k] = tile;
      }
      a.program.run(in.data(), stride.data(), out.data<float>() + row * run + first, count, memory,
                    args.isa);
    }
  });
  return ok();
}

constexpr Kernel<Elementwise> kKernels[] = {
    {.name = "program",
     .fits = [](const Elementwise&, const Call&) { return true; },
     .run = run,
     .scratch = scratch},
};

std::vector<Case> cases() {
  using Code = std::vector<std::string>;
  const Code normalise = {"sub 0 1", "mul 4 2", "add 5 3", "relu 6 0 0"};
  const auto images = [&](std::string name, Dims x, Dims vector, DType type = DType::f32) {
    Case made{.name = std::move(name), .opset = 1, .attrs = {{"code", normalise}}, .inputs = {}};
    made.inputs.emplace_back(noise(type, x, 1, -2, 2));
    for (uint32_t seed : {2, 3, 4}) made.inputs.emplace_back(noise(type, vector, seed, -2, 2));
    return made;
  };
  return {images("a_number_per_plane", {2, 3, 5, 7}, {3, 1, 1}),
          images("a_number_per_plane_of_many", {2, 300, 7, 7}, {300, 1, 1}),
          images("a_number_per_image_and_plane", {3, 20, 11, 2}, {3, 20, 1, 1}),
          {.name = "a_factor_per_plane",
           .opset = 1,
           .attrs = {{"code", Code{"mul 0 1"}}},
           .inputs = {noise({2, 40, 5, 5}), noise({40, 1, 1}, 2)}},
          images("a_number_per_channel_of_blocks", {2, 3, 15, 17, 16}, {1, 3, 1, 1, 16}),
          images("a_number_per_channel_and_image", {2, 3, 5, 7, 16}, {2, 3, 1, 1, 16}),
          images("a_number_per_channel_behind_the_others", {1, 60, 17, 24}, {24}),
          images("a_number_per_position_of_blocks", {1, 2, 3, 4, 16}, {1, 2, 3, 4, 1}),
          images("halves_in_blocks", {1, 2, 5, 7, 16}, {1, 2, 1, 1, 16}, DType::f16),
          {.name = "rows_times_columns_in_steps",
           .opset = 1,
           .attrs = {{"code", Code{"mul 0 1", "exp 3 0 0", "neg 2 0 0", "add 4 5"}}},
           .inputs = {noise({7, 1, 5}), noise({2, 7, 700, 1}, 2), noise({700, 1}, 3)}},
          {.name = "functions_of_what_is_repeated",
           .opset = 1,
           .attrs = {{"code", Code{"exp 0 0 0", "tanh 1 0 0", "mul 2 3"}}},
           .inputs = {noise({3, 1, 40}), noise({3, 300, 1}, 2)}}};
}

constexpr OpOf<Elementwise> kElementwise{
    .name = "Elementwise",
    .doc = "A program of element-wise operations in one pass; what a chain of them is fused into.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .kernels = kKernels,
    .cases = cases,
    .domain = "sardonyx",
    .inplace = true,
    .by_equality = true,
    .program = [](const Elementwise& a) { return &a.program; },
    .layout = each_element<Elementwise>,
};

}  // namespace

extern const Op elementwise = erase<kElementwise>();

}  // namespace sdx::ops
