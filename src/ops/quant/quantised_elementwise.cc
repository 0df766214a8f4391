// QuantisedElementwise: a program of element-wise operations on dequantised bytes, quantised again,
// in one pass; made by a rewrite.
#include "ops/quant/quantised_elementwise.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "kernel/quant/map.h"
#include "op/layout.h"
#include "ops/common.h"
#include "ops/elementwise/elementwise.h"
#include "ops/noise.h"
#include "ops/quant/saturate.h"

namespace sdx::ops {
namespace {

constexpr Version kHistory[] = {
    {1, "(x...: T) -> (y: T) {code!: strings, scales!: floats, zeros!: ints} T in u8 i8"}};

Result<QuantisedElementwise> read(const Node& node, const Facts& in) {
  QuantisedElementwise a;
  SDX_ASSIGN(a.program, Program::parse(in.size(), node.get<std::vector<std::string>>("code")));
  a.scale = node.get<std::vector<float>>("scales");
  const auto& zeros = node.get<std::vector<int64_t>>("zeros");
  for (const int64_t zero : zeros) a.zero.push_back(uint8_t(zero));
  if (a.scale.size() != in.size() + 1 || a.zero.size() != in.size() + 1) {
    return fail("SDX-O0011", "{} scales and {} zero points, expected {} of each", a.scale.size(),
                a.zero.size(), in.size() + 1);
  }
  a.sum = sum_of_bytes(a.program, a.scale, zeros, in[0].type == DType::i8);
  return a;
}

Result<Facts> infer(const QuantisedElementwise&, const Facts& in) {
  Shape shape;
  for (const Fact& fact : in) {
    if (!fact.has_rank()) return Facts{Fact::tensor(in[0].type)};
    SDX_ASSIGN(shape, broadcast(shape, *fact.shape));
  }
  return Facts{Fact::tensor(in[0].type, std::move(shape))};
}

// The element of x that element i of the output reads.
size_t broadcast_at(const View& x, std::span<const int64_t> out, size_t i) {
  size_t at = 0, step = 1;
  for (size_t back = 0; back < x.rank(); ++back) {
    const auto size = size_t(out[out.size() - 1 - back]);
    const auto own = size_t(x.dims[x.rank() - 1 - back]);
    if (own != 1) at += i % size * step;
    i /= size;
    step *= own;
  }
  return at;
}

// y = saturate(nearest(program(..., (x_k - zero_k) * scale_k, ...) / scale_y) + zero_y), the inputs
// broadcast as numpy does.
Status reference(const QuantisedElementwise& a, Args& args) {
  const View& y = args.out();
  std::array<uint8_t, Program::kMostInputs> x;
  for (size_t i = 0; i < y.count; ++i) {
    for (size_t k = 0; k < args.ins.size(); ++k)
      x[k] = args.in(k).data<uint8_t>()[broadcast_at(args.in(k), y.dims, i)];
    y.data<uint8_t>()[i] = quantised_answer(a, y.type, x.data());
  }
  return ok();
}

// Per thread: the program's registers, a tile of floats per input, one for the result, and a tile
// of bytes per input.
size_t scratch_floats(const QuantisedElementwise& a) {
  const size_t bytes = a.program.inputs() * Program::kChunk;
  return a.program.scratch() + (a.program.inputs() + 1) * Program::kChunk + bytes / sizeof(float);
}
size_t scratch(const QuantisedElementwise& a, const Call& call) {
  return size_t(call.threads) * scratch_floats(a) * sizeof(float);
}

// The program on up to a chunk of elements, input k at x[k] with a stride of 0 or 1.
class Tile {
 public:
  Tile(const QuantisedElementwise& a, const Args& args, float* memory)
      : a_(a), isa_(args.isa), is_signed_(args.out().type == DType::i8), memory_(memory) {
    for (size_t k = 0; k <= a.program.inputs(); ++k)
      wide_[k] = memory + a.program.scratch() + k * Program::kChunk;
  }
  void run(const uint8_t* const* x, const uint8_t* stride, uint8_t* y, size_t n) const {
    const size_t inputs = a_.program.inputs();
    for (size_t k = 0; k < inputs; ++k) {
      SDX_PICK(dequantize_8_f32, isa_)
      (x[k], wide_[k], stride[k] != 0 ? n : 1, &a_.scale[k], &a_.zero[k], 0, is_signed_);
    }
    float* result = wide_[inputs];
    a_.program.run(wide_.data(), stride, result, n, memory_, isa_);
    SDX_PICK(quantize_f32_8, isa_)
    (result, y, n, &a_.scale.back(), &a_.zero.back(), 0, is_signed_);
  }

 private:
  const QuantisedElementwise& a_;
  Isa isa_;
  bool is_signed_;
  float* memory_;
  std::array<float*, Program::kMostInputs + 1> wide_{};
};

float* memory_of(const QuantisedElementwise& a, const Args& args, int thread) {
  return reinterpret_cast<float*>(args.scratch.data()) + size_t(thread) * scratch_floats(a);
}

// Rows so short that a tile has several of them are put together first: a program costs as much for
// few elements as for many.
constexpr size_t kShortRow = Program::kChunk / 2;

void run_short_rows(const QuantisedElementwise& a, const Args& args, const Walk& walk) {
  const size_t inputs = args.ins.size(), run = walk.run(), at_once = Program::kChunk / run;
  const size_t rows = walk.rows(), tiles = (rows + at_once - 1) / at_once;
  constexpr size_t kGrain = 32768 / Program::kChunk;
  args.pool->parallel(tiles, kGrain, [&](size_t begin, size_t end, int thread) {
    float* memory = memory_of(a, args, thread);
    auto* bytes = reinterpret_cast<uint8_t*>(memory + scratch_floats(a)) - inputs * Program::kChunk;
    const Tile tile(a, args, memory);
    std::array<const uint8_t*, Program::kMostInputs> x{};
    std::array<uint8_t, Program::kMostInputs> stride{};
    for (size_t k = 0; k < inputs; ++k) {
      stride[k] = 1;
      x[k] = bytes + k * Program::kChunk;
    }
    Row place(walk, begin * at_once, inputs);
    for (size_t i = begin; i < end; ++i) {
      const size_t first = i * at_once, count = std::min(at_once, rows - first);
      for (size_t row = 0; row < count; ++row) {
        for (size_t k = 0; k < inputs; ++k) {
          const uint8_t* from = args.in(k).data<uint8_t>() + place.offset(k);
          uint8_t* to = bytes + k * Program::kChunk + row * run;
          if (walk.strides[walk.rank - 1][k] != 0) {
            std::memcpy(to, from, run);
          } else {
            std::memset(to, *from, run);
          }
        }
        if (first + row + 1 < rows) place.next();
      }
      tile.run(x.data(), stride.data(), args.out().data<uint8_t>() + first * run, count * run);
    }
  });
}

Status run(const QuantisedElementwise& a, Args& args) {
  const View& y = args.out();
  Walk walk;
  if (!make_walk(y.dims, args.ins, walk)) return reference(a, args);
  if (y.count == 0) return ok();
  if (walk.run() <= kShortRow && walk.rows() > 1) {
    run_short_rows(a, args, walk);
    return ok();
  }
  const size_t inputs = args.ins.size(), run = walk.run(),
               pieces = (run + Program::kChunk - 1) / Program::kChunk,
               grain = std::max<size_t>(1, 32768 / std::min(run, Program::kChunk));
  std::array<uint8_t, Program::kMostInputs> stride{};
  for (size_t k = 0; k < inputs; ++k) stride[k] = uint8_t(walk.strides[walk.rank - 1][k]);
  args.pool->parallel(walk.rows() * pieces, grain, [&](size_t begin, size_t end, int thread) {
    const Tile tile(a, args, memory_of(a, args, thread));
    std::array<const uint8_t*, Program::kMostInputs> x{};
    size_t row = begin / pieces, first = begin % pieces * Program::kChunk;
    Row place(walk, row, inputs);
    for (size_t piece = begin; piece < end; ++piece, first += Program::kChunk) {
      if (first >= run) {
        first = 0;
        ++row;
        place.next();
      }
      for (size_t k = 0; k < inputs; ++k)
        x[k] = args.in(k).data<uint8_t>() + place.offset(k) + first * stride[k];
      tile.run(x.data(), stride.data(), y.data<uint8_t>() + row * run + first,
               std::min(Program::kChunk, run - first));
    }
  });
  return ok();
}

size_t count_of(const Dims& dims) {
  const auto count = element_count(dims);
  return count ? *count : 0;
}

bool is_single(const Fact& fact) { return count_of(fact.dims()) == 1; }

// One input that counts, and numbers: every byte has one answer.
std::optional<size_t> only_input(const Call& call) {
  std::optional<size_t> only;
  for (size_t k = 0; k < call.in.size(); ++k) {
    if (is_single(call.in[k])) continue;
    if (only) return std::nullopt;
    only = k;
  }
  return only;
}

bool fits_table(const QuantisedElementwise&, const Call& call) {
  constexpr size_t kLeast = 1024;  // below, the table's 256 answers cost more than they save
  return count_of(call.out[0].dims()) >= kLeast && only_input(call).has_value();
}

Status run_table(const QuantisedElementwise& a, Args& args) {
  constexpr size_t kBytes = 256;
  static_assert(kBytes <= Program::kChunk);
  alignas(64) uint8_t every[kBytes], table[kBytes];
  for (size_t i = 0; i < kBytes; ++i) every[i] = uint8_t(i);
  std::array<const uint8_t*, Program::kMostInputs> x{};
  std::array<uint8_t, Program::kMostInputs> stride{};
  const uint8_t* from = nullptr;
  for (size_t k = 0; k < args.ins.size(); ++k) {
    stride[k] = args.in(k).count == 1 ? 0 : 1;
    x[k] = stride[k] == 0 ? args.in(k).data<uint8_t>() : every;
    if (stride[k] != 0) from = args.in(k).data<uint8_t>();
  }
  Tile(a, args, memory_of(a, args, 0)).run(x.data(), stride.data(), table, kBytes);
  const auto map = SDX_PICK(map_bytes, args.isa);
  constexpr size_t kGrain = 1 << 16;
  args.pool->parallel(args.out().count, kGrain, [&](size_t begin, size_t end, int) {
    map(from + begin, args.out().data<uint8_t>() + begin, end - begin, table);
  });
  return ok();
}

// Whether the input is the output's last axes, repeated along the others.
bool is_tail(const Fact& input, const Fact& out) {
  const Dims x = input.dims(), y = out.dims();
  size_t ones = 0;
  while (ones < x.size() && x[ones] == 1) ++ones;
  return std::equal(x.begin() + std::ptrdiff_t(ones), x.end(),
                    y.end() - std::ptrdiff_t(x.size() - ones));
}

// A row that is short is written out several times, so that more than one can be taken at once.
struct WrittenOut {
  static constexpr size_t kShort = 512;
  size_t bytes;

  explicit WrittenOut(size_t row) : bytes(row > 0 && row < kShort ? 2 * kShort / row * row : 0) {}
};

size_t shorter_of(const Call& call) {
  return std::min(count_of(call.in[0].dims()), count_of(call.in[1].dims()));
}

size_t scratch_of_sum(const QuantisedElementwise&, const Call& call) {
  return WrittenOut(shorter_of(call)).bytes;
}

bool fits_sum(const QuantisedElementwise& a, const Call& call) {
  return a.sum.has_value() && is_tail(call.in[0], call.out[0]) && is_tail(call.in[1], call.out[0]);
}

Status run_sum(const QuantisedElementwise& a, Args& args) {
  const auto add = SDX_PICK(add_bytes, args.isa);
  constexpr size_t kGrain = 1 << 15;
  const size_t count = args.out().count;
  if (count == 0) return ok();
  const bool first_repeats = args.in(0).count < args.in(1).count;
  const uint8_t* whole = args.in(first_repeats ? 1 : 0).data<uint8_t>();
  const uint8_t* row = args.in(first_repeats ? 0 : 1).data<uint8_t>();
  size_t length = args.in(first_repeats ? 0 : 1).count;
  if (const WrittenOut out(length); length < count && out.bytes > 0) {
    auto* to = reinterpret_cast<uint8_t*>(args.scratch.data());
    for (size_t i = 0; i < out.bytes; i += length) std::copy_n(row, length, to + i);
    row = to;
    length = out.bytes;
  }
  args.pool->parallel(count, kGrain, [&](size_t begin, size_t end, int) {
    for (size_t at = begin, n = 0; at < end; at += n) {
      const size_t in_row = at % length;
      n = std::min(length - in_row, end - at);
      const uint8_t *x = whole + at, *r = row + in_row;
      add(*a.sum, first_repeats ? r : x, first_repeats ? x : r, args.out().data<uint8_t>() + at, n);
    }
  });
  return ok();
}

constexpr Kernel<QuantisedElementwise> kKernels[] = {
    {.name = "table_of_bytes", .fits = fits_table, .run = run_table, .scratch = scratch},
    {.name = "add_bytes", .fits = fits_sum, .run = run_sum, .scratch = scratch_of_sum},
    {.name = "program_on_bytes",
     .fits = [](const QuantisedElementwise&, const Call&) { return true; },
     .run = run,
     .scratch = scratch},
};

std::vector<Case> cases() {
  const std::vector<std::string> sum = {"add 0 1", "relu 2 0 0"};
  return {
      {.name = "a_sum_saturates",
       .opset = 1,
       .attrs = {{"code", sum},
                 {"scales", std::vector<float>{1, .5f, 1}},
                 {"zeros", std::vector<int64_t>{0, 10, 3}}},
       .inputs = {Tensor::of<uint8_t>({4}, {0, 1, 255, 2}),
                  Tensor::of<uint8_t>({4}, {10, 13, 255, 0})},
       .expected = {Tensor::of<uint8_t>({4}, {3, 5, 255, 3})}},
      {.name = "three_terms",
       .opset = 1,
       .attrs = {{"code", std::vector<std::string>{"add 0 1", "add 3 2"}},
                 {"scales", std::vector<float>{.013f, .021f, .02f, .03f}},
                 {"zeros", std::vector<int64_t>{3, 7, 0, 128}}},
       .inputs = {noise(DType::u8, {3, 700}, 1, 0, 256), noise(DType::u8, {3, 700}, 2, 0, 256),
                  noise(DType::u8, {3, 700}, 3, 0, 256)}},
      {.name = "a_scale_out_of_all_proportion",
       .opset = 1,
       .attrs = {{"code", sum},
                 {"scales", std::vector<float>{1e30f, 1, 1e-30f}},
                 {"zeros", std::vector<int64_t>{3, 7, 128}}},
       .inputs = {noise(DType::u8, {100}, 1, 0, 256), noise(DType::u8, {100}, 2, 0, 256)}},
      {.name = "long_signed_tensors",
       .opset = 1,
       .attrs = {{"code", sum},
                 {"scales", std::vector<float>{.013f, .021f, .03f}},
                 {"zeros", std::vector<int64_t>{-3, 7, -128}}},
       .inputs = {noise(DType::i8, {3, 700}, 1, -128, 128),
                  noise(DType::i8, {3, 700}, 2, -128, 128)}},
      {.name = "a_function_of_one_byte",
       .opset = 1,
       .attrs = {{"code", std::vector<std::string>{"gelu 0 0 0", "mul 2 1"}},
                 {"scales", std::vector<float>{.03f, .7f, .02f}},
                 {"zeros", std::vector<int64_t>{120, 0, 8}}},
       .inputs = {noise(DType::u8, {5, 701}, 1, 0, 256), Tensor::of<uint8_t>({1, 1}, {1})}},
      {.name = "a_function_of_one_signed_byte",
       .opset = 1,
       .attrs = {{"code", std::vector<std::string>{"sigmoid 0 0 0"}},
                 {"scales", std::vector<float>{.06f, 1.f / 255}},
                 {"zeros", std::vector<int64_t>{-3, -128}}},
       .inputs = {noise(DType::i8, {3, 1000}, 1, -128, 128)}},
      {.name = "a_short_row_is_added_to_each",
       .opset = 1,
       .attrs = {{"code", sum},
                 {"scales", std::vector<float>{.013f, .021f, .03f}},
                 {"zeros", std::vector<int64_t>{3, 7, 128}}},
       .inputs = {noise(DType::u8, {1, 37}, 1, 0, 256), noise(DType::u8, {2, 100, 37}, 2, 0, 256)}},
      {.name = "a_long_row_is_added_to_each",
       .opset = 1,
       .attrs = {{"code", std::vector<std::string>{"add 0 1"}},
                 {"scales", std::vector<float>{.013f, .021f, .03f}},
                 {"zeros", std::vector<int64_t>{3, 7, 128}}},
       .inputs = {noise(DType::u8, {3, 5, 700}, 1, 0, 256), noise(DType::u8, {700}, 2, 0, 256)}},
      {.name = "a_number_per_channel",
       .opset = 1,
       .attrs = {{"code", std::vector<std::string>{"mul 0 1"}},
                 {"scales", std::vector<float>{.013f, .021f, .03f}},
                 {"zeros", std::vector<int64_t>{3, 7, 128}}},
       .inputs = {noise(DType::u8, {2, 5, 13, 7}, 1, 0, 256),
                  noise(DType::u8, {2, 5, 1, 1}, 2, 0, 256)}},
      {.name = "short_rows_that_fill_several_tiles",
       .opset = 1,
       .attrs = {{"code", std::vector<std::string>{"mul 0 1", "add 3 2"}},
                 {"scales", std::vector<float>{.013f, .021f, .017f, .03f}},
                 {"zeros", std::vector<int64_t>{3, 7, 128, 120}}},
       .inputs = {noise(DType::u8, {3, 67, 31}, 1, 0, 256), noise(DType::u8, {3, 1, 31}, 2, 0, 256),
                  noise(DType::u8, {67, 1}, 3, 0, 256)}},
      {.name = "both_repeat",
       .opset = 1,
       .attrs = {{"code", std::vector<std::string>{"add 0 1"}},
                 {"scales", std::vector<float>{.013f, .021f, .03f}},
                 {"zeros", std::vector<int64_t>{3, 7, 128}}},
       .inputs = {noise(DType::u8, {9, 1}, 1, 0, 256), noise(DType::u8, {1, 11}, 2, 0, 256)}},
      {.name = "nothing",
       .opset = 1,
       .attrs = {{"code", std::vector<std::string>{"add 0 1"}},
                 {"scales", std::vector<float>{.013f, .021f, .03f}},
                 {"zeros", std::vector<int64_t>{3, 7, 128}}},
       .inputs = {Tensor::make(DType::u8, {0, 11}), noise(DType::u8, {1, 11}, 2, 0, 256)}}};
}

constexpr OpOf<QuantisedElementwise> kQuantisedElementwise{
    .name = "QuantisedElementwise",
    .doc = "A program of element-wise operations on dequantised bytes, quantised again.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .kernels = kKernels,
    .cases = cases,
    .domain = "sardonyx",
    .layout = each_element<QuantisedElementwise>,
};

}  // namespace

uint8_t quantised_answer(const QuantisedElementwise& a, DType type, const uint8_t* x) {
  const auto number = [&](uint8_t byte) { return type == DType::i8 ? int(int8_t(byte)) : byte; };
  std::array<float, Program::kMostInputs> element;
  for (size_t k = 0; k < a.program.inputs(); ++k)
    element[k] = float(number(x[k]) - number(a.zero[k])) * a.scale[k];
  const float scaled = a.program.run_scalar(element.data()) / a.scale.back();
  return uint8_t(saturate_to(type, to_nearest(scaled) + number(a.zero.back())));
}

extern const Op quantised_elementwise = erase<kQuantisedElementwise>();

}  // namespace sdx::ops
