#include "ops/elementwise/binary.h"

#include <algorithm>

#include "kernel/elementwise/halves.h"
#include "ops/elementwise/elementwise.h"

namespace sdx::ops {

Result<size_t> read_legacy_broadcast(const Node& node, const Facts& in) {
  if (!in[0].has_rank() || !in[1].has_rank()) return size_t{0};  // read again when they are known
  const Shape &a = *in[0].shape, &b = *in[1].shape;
  if (node.i("broadcast") == 0) {
    bool equal = a.size() == b.size();
    for (size_t i = 0; equal && i < a.size(); ++i) {
      equal = !a[i].is_const() || !b[i].is_const() || a[i] == b[i];
    }
    if (equal) return size_t{0};
    Error error = fail("SDX-T0201", "shapes {} and {} differ and the attribute broadcast is 0",
                       to_string(a), to_string(b));
    error.help = "before opset 7, broadcasting happens only with broadcast = 1";
    return error;
  }
  if (b.size() > a.size()) {
    return fail("SDX-T0202", "the second input has rank {}, more than the first input's {}",
                b.size(), a.size());
  }
  if (!node.has("axis")) return size_t{0};
  int64_t axis = node.i("axis");
  if (axis < 0) axis += int64_t(a.size());
  if (axis < 0 || size_t(axis) + b.size() > a.size()) {
    // One element fits anywhere.
    if (product(b).is_const(1)) return size_t{0};
    return fail("SDX-T0110", "axis {} does not leave room for the {} axes of {} in {}",
                node.i("axis"), b.size(), to_string(b), to_string(a));
  }
  return a.size() - b.size() - size_t(axis);
}

namespace {

// run(a, step_a, b, step_b, y, length) for each run of the output.
template <class Run>
void each_run(size_t trail, Args& args, bool threads, Run&& run) {
  const size_t in_bytes = bytes_for(args.in(0).type, 1), out_bytes = bytes_for(args.out().type, 1);
  const auto *first = args.in(0).data<std::byte>(), *second = args.in(1).data<std::byte>();
  const Broadcast<2> walk(args.out().dims, {args.in(0).dims, args.in(1).dims}, {0, trail});
  const auto range = [&](size_t begin, size_t end, int) {
    walk.pieces(begin, end, [&](size_t at, const auto& from, size_t length) {
      run(first + from[0] * in_bytes, walk.step(0), second + from[1] * in_bytes, walk.step(1),
          args.out().data<std::byte>() + at * out_bytes, length);
    });
  };
  if (threads) {
    args.pool->parallel(args.out().count, kElementGrain, range);
  } else {
    range(0, args.out().count, 0);
  }
}

}  // namespace

Status binary_runs(std::string_view name, BinaryRun run, const Binary& a, Args& args,
                   bool threads) {
  if (run == nullptr) return unsupported_type(name, args.in(0).type);
  each_run(a.trail, args, threads, [&](auto... pieces) { run(a, pieces...); });
  return ok();
}

namespace {

// Bools of 16-bit floats, which widen to floats in pieces.
bool compared_halves(Numbers numbers, size_t trail, Args& args) {
  if (args.out().type != DType::boolean) return false;
  const PairLoop loop = pair_loop(numbers.op, DType::f32, args.isa);
  const auto widen = widening(args.in(0).type, args.isa);
  each_run(trail, args, true,
           [&](const std::byte* a, size_t step_a, const std::byte* b, size_t step_b, std::byte* y,
               size_t length) {
             alignas(kAlignment) float wide_a[kChunk], wide_b[kChunk];
             const auto piece = [&](const std::byte* from, size_t step, size_t i, size_t n,
                                    float* to) {
               widen(reinterpret_cast<const uint16_t*>(from) + i * step, to, step == 0 ? 1 : n);
             };
             for (size_t i = 0; i < length; i += kChunk) {
               const size_t n = std::min(kChunk, length - i);
               piece(a, step_a, i, n, wide_a);
               piece(b, step_b, i, n, wide_b);
               numbers.swapped ? loop(wide_b, step_b, wide_a, step_a, y + i, n)
                               : loop(wide_a, step_a, wide_b, step_b, y + i, n);
             }
           });
  return true;
}

}  // namespace

bool binary_numbers(Numbers numbers, size_t trail, Args& args) {
  const DType type = args.in(0).type;
  if (type == DType::f16 || type == DType::bf16) return compared_halves(numbers, trail, args);
  const PairLoop loop = pair_loop(numbers.op, type, args.isa);
  if (loop == nullptr) return false;
  each_run(trail, args, true,
           [&](const void* a, size_t step_a, const void* b, size_t step_b, void* y, size_t length) {
             numbers.swapped ? loop(b, step_b, a, step_a, y, length)
                             : loop(a, step_a, b, step_b, y, length);
           });
  return true;
}

namespace {

// One operand is [outer, 1, inner] where the other and the output are [outer, many, inner], with an
// inner run too short to be worth a call: a tile of repetitions takes its place.
struct Repeated {
  size_t outer = 1, many = 1, inner = 1;
};
std::optional<Repeated> repeated(std::span<const int64_t> whole, std::span<const int64_t> part) {
  constexpr int64_t kLongest = 64;
  if (whole.size() != part.size() || whole.empty() || whole.back() > kLongest) return std::nullopt;
  Repeated r;
  size_t axis = whole.size() - 1;
  if (whole[axis] != part[axis]) return std::nullopt;
  r.inner = size_t(whole[axis]);
  while (axis > 0 && part[axis - 1] == 1) r.many *= size_t(whole[--axis]);
  while (axis > 0) {
    --axis;
    if (whole[axis] != part[axis]) return std::nullopt;
    r.outer *= size_t(whole[axis]);
  }
  return r.many > 1 ? std::optional(r) : std::nullopt;
}

void repeated_tiles(BinaryOp code, const Repeated& r, bool second, Args& args) {
  const auto tile = SDX_PICK(array_binary, args.isa);
  const float* part = args.in(second ? 1 : 0).data<float>();
  const float* whole = args.in(second ? 0 : 1).data<float>();
  const size_t row = r.many * r.inner, most = kChunk / r.inner * r.inner;
  const size_t grain = (kElementGrain + row - 1) / row;
  args.pool->parallel(r.outer, grain, [&](size_t begin, size_t end, int) {
    alignas(kAlignment) float tiled[kChunk];
    for (size_t o = begin; o < end; ++o) {
      for (size_t i = 0; i < std::min(most, row); i += r.inner)
        std::copy_n(part + o * r.inner, r.inner, tiled + i);
      for (size_t i = 0; i < row; i += most) {
        const float* from = whole + o * row + i;
        tile(code, second ? from : tiled, 1, second ? tiled : from, 1,
             args.out().data<float>() + o * row + i, std::min(most, row - i));
      }
    }
  });
}

// Rows in each of which one operand stays, or starts anew: as many in one go as go on alike.
bool rows_alike(BinaryOp code, Args& args) {
  Walk walk;
  if (!make_walk(args.out().dims, args.ins, walk) || walk.rank < 2 || walk.run() > 4 * kChunk) {
    return false;
  }
  const auto binary = SDX_PICK(array_binary_rows, args.isa);
  const size_t outer = walk.rank - 2, inner = walk.rank - 1, run = walk.run();
  each_rows_alike(walk, 2, *args.pool, [&](const auto& at, size_t row, size_t rows) {
    const auto operand = [&](size_t k) {
      return BinaryOperand{args.in(k).data<float>() + at[k], walk.strides[inner][k],
                           walk.strides[outer][k]};
    };
    binary(code, operand(0), operand(1), args.out().data<float>() + row * run, rows, run);
  });
  return true;
}

}  // namespace

// Through vector registers; 16-bit floats widen, compute and round in cache-sized pieces.
void binary_tiles(BinaryOp code, size_t trail, Args& args) {
  if (trail == 0 && args.out().type == DType::f32 && args.out().count != 0) {
    for (const bool second : {true, false}) {
      const View &whole = args.in(second ? 0 : 1), &part = args.in(second ? 1 : 0);
      if (!std::ranges::equal(whole.dims, args.out().dims)) continue;
      if (const auto r = repeated(whole.dims, part.dims))
        return repeated_tiles(code, *r, second, args);
    }
    if (rows_alike(code, args)) return;
  }
  const auto tile = SDX_PICK(array_binary, args.isa);
  const Broadcast<2> walk(args.out().dims, {args.in(0).dims, args.in(1).dims}, {0, trail});
  const DType type = args.out().type;
  args.pool->parallel(walk.count(), kElementGrain, [&](size_t begin, size_t end, int) {
    if (type == DType::f32) {
      const float *a = args.in(0).data<float>(), *b = args.in(1).data<float>();
      float* y = args.out().data<float>();
      walk.pieces(begin, end, [&](size_t at, const auto& from, size_t length) {
        tile(code, a + from[0], walk.step(0), b + from[1], walk.step(1), y + at, length);
      });
      return;
    }
    const auto widen = widening(type, args.isa);
    const auto narrow = narrowing(type, args.isa);
    const uint16_t *a = args.in(0).data<uint16_t>(), *b = args.in(1).data<uint16_t>();
    uint16_t* y = args.out().data<uint16_t>();
    alignas(kAlignment) float wide_a[kChunk], wide_b[kChunk];
    walk.pieces(begin, end, [&](size_t at, const auto& from, size_t length) {
      for (size_t i = 0; i < length; i += kChunk) {
        const size_t n = std::min(kChunk, length - i);
        widen(a + from[0] + i * walk.step(0), wide_a, walk.step(0) == 0 ? 1 : n);
        widen(b + from[1] + i * walk.step(1), wide_b, walk.step(1) == 0 ? 1 : n);
        // A single value is overwritten only after it has been read: the result goes over the
        // operand that moves.
        float* result = walk.step(0) == 0 ? wide_b : wide_a;
        tile(code, wide_a, walk.step(0), wide_b, walk.step(1), result, n);
        narrow(result, y + at + i, n);
      }
    });
  });
}

// Runs shorter than a register are better off in the plain loop.
bool binary_tiles_fit(size_t trail, const Call& call) {
  const DType type = call.out[0].type;
  if (!is_array_type(type) || call.in[0].type != type || call.in[1].type != type) return false;
  const Dims out = call.out[0].dims(), first = call.in[0].dims(), second = call.in[1].dims();
  return Broadcast<2>(out, {first, second}, {0, trail}).run() >= 8;
}

}  // namespace sdx::ops
