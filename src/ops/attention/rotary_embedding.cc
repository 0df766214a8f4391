// RotaryEmbedding.
#include <algorithm>

#include "base/aligned.h"
#include "kernel/elementwise/halves.h"
#include "kernel/rows/rows.h"
#include "ops/attention/heads.h"
#include "ops/noise.h"

namespace sdx::ops {
namespace {

struct Rotary {
  int64_t heads;    // of an input with 3 dimensions
  int64_t rotated;  // 0: all of a head
  bool interleaved;
};

constexpr Version kHistory[] = {
    {23,
     "(X: T, cos_cache: T, sin_cache: T, position_ids?: M) -> (Y: T) {interleaved: int = 0, "
     "num_heads: int, rotary_embedding_dim: int = 0} T in bf16 f16 f32 M in i64"},
};

Result<Rotary> read(const Node& node, const Facts&) {
  return Rotary{node.i_or("num_heads", 0), node.i("rotary_embedding_dim"),
                node.i("interleaved") != 0};
}

Result<Facts> infer(const Rotary& a, const Facts& in) {
  SDX_TRY(head_dims(in[0], a.heads, "X"));
  const Fact &cos = in[1], &sin = in[2];
  if (cos.is_concrete() && sin.is_concrete() && cos.dims() != sin.dims()) {
    return fail("SDX-T0507", "cos_cache is {} and sin_cache is {}; they must have one shape",
                cos.text(), sin.text());
  }
  return Facts{like(in[0])};
}

// The first `rotated` elements of a head are pairs (x1, x2): elements (i, i + rotated / 2), or (2
// i, 2 i + 1) if interleaved. With c and s of the token's position: y1 = (c * x1) - (s * x2), y2 =
// (s * x1) + (c * x2). The rest is copied.
template <class T>
void rotate(const Rotary& a, const Heads& x, size_t rotated, const int64_t* positions,
            const Args& args) {
  const size_t half = rotated / 2;
  const T* in = args.in(0).data<T>();
  T* out = args.out().data<T>();
  args.pool->parallel(x.batch * x.length, 16, [&](size_t begin, size_t end, int) {
    for (size_t token = begin; token < end; ++token) {
      const size_t b = token / x.length, i = token % x.length;
      const size_t row = positions != nullptr ? size_t(positions[token]) : token;
      const T* cos = args.in(1).data<T>() + row * half;
      const T* sin = args.in(2).data<T>() + row * half;
      for (size_t h = 0; h < x.heads; ++h) {
        const size_t at = x.at(b, h, i);
        for (size_t j = 0; j < half; ++j) {
          const size_t one = at + (a.interleaved ? 2 * j : j),
                       two = a.interleaved ? one + 1 : one + half;
          const float c = load(cos[j]), s = load(sin[j]), x1 = load(in[one]), x2 = load(in[two]);
          out[one] = store<T>(c * x1 - s * x2);
          out[two] = store<T>(s * x1 + c * x2);
        }
        std::copy_n(in + at + rotated, x.size - rotated, out + at + rotated);
      }
    }
  });
}

// What is turned, and which rows of the caches turn it: a token's own, if there are no positions.
struct Turning {
  Heads x;
  size_t rotated;
  const int64_t* positions = nullptr;
};

Result<Turning> turning_of(const Rotary& a, const Args& args) {
  SDX_ASSIGN(const Heads x, heads_of(args.in(0).dims, a.heads, "X"));
  const size_t rotated = a.rotated > 0 ? size_t(a.rotated) : x.size;
  if (rotated > x.size || rotated % 2 != 0) {
    return fail("SDX-T0504", "{} elements of heads of size {} are to be rotated in pairs", rotated,
                x.size);
  }
  const auto half = int64_t(rotated / 2), batch = int64_t(x.batch), length = int64_t(x.length);
  const int64_t* positions = nullptr;
  for (const size_t i : {1, 2}) {
    const auto dims = args.in(i).dims;
    const bool fits =
        args.has(3) ? dims.size() == 2 && dims[1] == half
                    : dims.size() == 3 && dims[0] == batch && dims[1] == length && dims[2] == half;
    if (!fits) {
      return fail("SDX-T0505", "{} has shape {}; it must be {}", i == 1 ? "cos_cache" : "sin_cache",
                  to_string(dims),
                  args.has(3) ? fmt::format("[positions,{}]", half)
                              : fmt::format("[{},{},{}]", batch, length, half));
    }
  }
  if (args.has(3)) {
    const View& ids = args.in(3);
    if (ids.count != x.batch * x.length) {
      return fail("SDX-T0506", "position_ids has shape {}; it must be [{},{}]", to_string(ids.dims),
                  batch, length);
    }
    const int64_t rows = std::min(args.in(1).dims[0], args.in(2).dims[0]);
    for (const int64_t id : ids.values<int64_t>()) {
      if (id < 0 || id >= rows)
        return fail("SDX-R0501", "position {} is not in the caches of {} rows", id, rows);
    }
    positions = ids.data<int64_t>();
  }
  return Turning{x, rotated, positions};
}

Status reference(const Rotary& a, Args& args) {
  SDX_ASSIGN(const Turning t, turning_of(a, args));
  visit_floats(args.in(0).type,
               [&]<class T>() { rotate<T>(a, t.x, t.rotated, t.positions, args); });
  return ok();
}

constexpr size_t kWidest = 512;  // elements of a head, for which there is room on the stack

bool fits_halves(const Rotary& a, const Call& call) {
  const auto x = heads_of(call.in[0].dims(), a.heads, "X");
  return !a.interleaved && x && x->size <= kWidest;
}

// Halves of a head in vectors, with a token's angles beside each of them; 16-bit types as floats.
Status run_halves(const Rotary& a, Args& args) {
  SDX_ASSIGN(const Turning t, turning_of(a, args));
  const DType type = args.in(0).type;
  const bool wide = type == DType::f32;
  const auto widen = widening(type, args.isa);
  const auto narrow = narrowing(type, args.isa);
  const auto turn = SDX_PICK(rotate_halves, args.isa);
  const size_t half = t.rotated / 2, size = t.x.size, bytes = bytes_for(type, 1);
  args.pool->parallel(t.x.batch * t.x.length, 16, [&](size_t begin, size_t end, int) {
    alignas(kAlignment) float cos[kWidest], sin[kWidest], in[kWidest], out[kWidest];
    const auto twice = [&](size_t input, size_t row, float* to) {
      if (wide) {
        std::copy_n(args.in(input).data<float>() + row * half, half, to);
      } else {
        widen(args.in(input).data<uint16_t>() + row * half, to, half);
      }
      std::copy_n(to, half, to + half);
    };
    for (size_t token = begin; token < end; ++token) {
      const size_t row = t.positions != nullptr ? size_t(t.positions[token]) : token;
      twice(1, row, cos);
      twice(2, row, sin);
      for (size_t h = 0; h < t.x.heads; ++h) {
        const size_t at = t.x.at(token / t.x.length, h, token % t.x.length);
        const auto* x = args.in(0).data<std::byte>() + at * bytes;
        auto* y = args.out().data<std::byte>() + at * bytes;
        std::copy_n(x + t.rotated * bytes, (size - t.rotated) * bytes, y + t.rotated * bytes);
        if (wide) {
          turn(reinterpret_cast<const float*>(x), cos, sin, nullptr, reinterpret_cast<float*>(y),
               half);
        } else {
          widen(reinterpret_cast<const uint16_t*>(x), in, t.rotated);
          turn(in, cos, sin, nullptr, out, half);
          narrow(out, reinterpret_cast<uint16_t*>(y), t.rotated);
        }
      }
    }
  });
  return ok();
}

constexpr Kernel<Rotary> kKernels[] = {
    {.name = "halves", .fits = fits_halves, .run = run_halves},
};

std::vector<Case> cases() {
  const auto halves = [](std::string name, DType type, Dims dims, int64_t rotated) {
    const int64_t half = (rotated == 0 ? dims[3] : rotated) / 2;
    return Case{.name = std::move(name),
                .opset = 23,
                .attrs = {{"rotary_embedding_dim", rotated}},
                .inputs = {noise(type, dims), noise(type, {7, half}, 2), noise(type, {7, half}, 3),
                           Tensor::of<int64_t>({1, 3}, {6, 0, 2})}};
  };
  return {halves("halves_of_floats", DType::f32, {1, 2, 3, 40}, 0),
          halves("a_part_of_each_head", DType::f32, {1, 2, 3, 40}, 26),
          halves("halves_of_f16", DType::f16, {1, 2, 3, 40}, 38),
          halves("halves_of_bf16", DType::bf16, {1, 1, 3, 12}, 0),
          {.name = "a_quarter_turn",
           .opset = 23,
           .attrs = {{"interleaved", int64_t{1}}},
           .inputs = {Tensor::of<float>({1, 1, 1, 4}, {1, 2, 3, 4}),
                      Tensor::of<float>({1, 1, 2}, {0, 1}), Tensor::of<float>({1, 1, 2}, {1, 0})},
           .expected = {Tensor::of<float>({1, 1, 1, 4}, {-2, 1, 3, 4})}}};
}

constexpr OpOf<Rotary> kRotaryEmbedding{
    .name = "RotaryEmbedding",
    .doc = "Turns pairs of a head's elements by angles that grow with the token's position.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .kernels = kKernels,
    .cases = cases,
};

}  // namespace

extern const Op rotary_embedding = erase<kRotaryEmbedding>();

}  // namespace sdx::ops
