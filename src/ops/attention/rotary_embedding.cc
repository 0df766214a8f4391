// RotaryEmbedding.
#include <algorithm>

#include "ops/attention/heads.h"

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

Status reference(const Rotary& a, Args& args) {
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
  visit_floats(args.in(0).type, [&]<class T>() { rotate<T>(a, x, rotated, positions, args); });
  return ok();
}

std::vector<Case> cases() {
  return {{.name = "a_quarter_turn",
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
    .cases = cases,
};

}  // namespace

extern const Op rotary_embedding = erase<kRotaryEmbedding>();

}  // namespace sdx::ops
