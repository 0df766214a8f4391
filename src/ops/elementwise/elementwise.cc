// Elementwise: a program of element-wise operations on broadcast inputs, made by the rewrite that
// fuses chains.
#include "ops/elementwise/elementwise.h"

#include <algorithm>

#include "kernel/elementwise/halves.h"
#include "ops/common.h"

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

// Per thread: the program's registers, and for 16-bit types a tile of floats per input and for the
// output.
size_t scratch_floats(const Elementwise& a, DType type) {
  return a.program.scratch() +
         (type == DType::f32 ? 0 : (a.program.inputs() + 1) * Program::kChunk);
}

size_t scratch(const Elementwise& a, const Call& call) {
  return size_t(call.threads) * scratch_floats(a, call.out[0].type) * sizeof(float);
}

Status run(const Elementwise& a, Args& args) {
  Walk walk;
  if (!make_walk(args.out().dims, args.ins, walk)) return reference(a, args);
  const View& out = args.out();
  if (out.count == 0) return ok();
  const size_t run = walk.run(), inputs = args.ins.size();
  // Long tiles of one row each; threads take tiles.
  constexpr size_t kPiece = 16 * Program::kChunk;
  const size_t pieces = (run + kPiece - 1) / kPiece;
  const size_t grain = std::max<size_t>(1, 32768 / std::min(run, kPiece));
  std::array<uint8_t, Program::kMostInputs> stride{};
  for (size_t k = 0; k < inputs; ++k) stride[k] = uint8_t(walk.strides[walk.rank - 1][k]);
  const auto widen = widening(out.type, args.isa);
  const auto narrow = narrowing(out.type, args.isa);
  args.pool->parallel(walk.rows() * pieces, grain, [&](size_t begin, size_t end, int thread) {
    float* memory = reinterpret_cast<float*>(args.scratch.data()) +
                    size_t(thread) * scratch_floats(a, out.type);
    std::array<size_t, Program::kMostInputs> at;
    std::array<const float*, Program::kMostInputs> in;
    for (size_t piece = begin; piece < end; ++piece) {
      const size_t row = piece / pieces, first = piece % pieces * kPiece;
      const size_t count = std::min(kPiece, run - first);
      walk.offsets(row, inputs, at);
      if (out.type == DType::f32) {
        for (size_t k = 0; k < inputs; ++k)
          in[k] = args.in(k).data<float>() + at[k] + first * stride[k];
        a.program.run(in.data(), stride.data(), out.data<float>() + row * run + first, count,
                      memory, args.isa);
        continue;
      }
      for (size_t i = 0; i < count; i += Program::kChunk) {
        const size_t n = std::min(Program::kChunk, count - i);
        float* tiles = memory + a.program.scratch();
        for (size_t k = 0; k < inputs; ++k) {
          float* tile = tiles + k * Program::kChunk;
          widen(args.in(k).data<uint16_t>() + at[k] + (first + i) * stride[k], tile,
                stride[k] ? n : 1);
          in[k] = tile;
        }
        float* result = tiles + inputs * Program::kChunk;
        a.program.run(in.data(), stride.data(), result, n, memory, args.isa);
        narrow(result, out.data<uint16_t>() + row * run + first + i, n);
      }
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

constexpr OpOf<Elementwise> kElementwise{
    .name = "Elementwise",
    .doc = "A program of element-wise operations in one pass; what a chain of them is fused into.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .kernels = kKernels,
    .domain = "sardonyx",
    .inplace = true,
    .program = [](const Elementwise& a) { return &a.program; },
};

}  // namespace

extern const Op elementwise = erase<kElementwise>();

}  // namespace sdx::ops
