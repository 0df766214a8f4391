// EyeLike and Trilu.
#include <cstring>

#include "ops/tensor/ints.h"
#include "ops/tensor/pick.h"
#include "ops/tensor/track.h"

namespace sdx::ops {
namespace {

// Elements from `begin` to `end` become zero, false or the empty string.
void clear_row(DType type, void* data, size_t begin, size_t end) {
  if (type == DType::string) {
    std::fill(static_cast<std::string*>(data) + begin, static_cast<std::string*>(data) + end,
              std::string());
  } else {
    const size_t bytes = bits(type) / 8;
    std::memset(static_cast<std::byte*>(data) + begin * bytes, 0, (end - begin) * bytes);
  }
}

struct EyeLike {
  DType type;
  int64_t k;
};

constexpr Version kEyeHistory[] = {
    {9, "(input: T1) -> (output: T2) {dtype: int, k: int = 0} T1 in num bool T2 in num bool"},
    {22, "T1 += bf16 T2 += bf16"},
};

Result<EyeLike> read_eye(const Node& node, const Facts& in) {
  if (!node.has("dtype")) return EyeLike{in[0].type, node.i("k")};
  if (!valid(node.i("dtype")))
    return fail("SDX-T0217", "dtype is {}, which is no element type", node.i("dtype"));
  const DType type = static_cast<DType>(node.i("dtype"));
  if (type == DType::string || is_complex(type)) return unsupported_type("EyeLike", type);
  return EyeLike{type, node.i("k")};
}

Result<Facts> infer_eye(const EyeLike& a, const Facts& in) {
  if (!in[0].has_rank()) return Facts{Fact::tensor(a.type, {Dim::unknown(), Dim::unknown()})};
  if (in[0].rank() != 2)
    return fail("SDX-T0227", "the input must be a matrix, not {}", in[0].text());
  return Facts{like(in[0], a.type)};
}

Status reference_eye(const EyeLike& a, Args& args) {
  const View& y = args.out();
  clear_row(y.type, y.raw, 0, y.count);
  for (int64_t row = 0; row < y.dims[0]; ++row) {
    // Compared without row + k, which may overflow.
    if (a.k < -row || a.k >= y.dims[1] - row) continue;
    set_f64(y.type, y.raw, size_t(row * y.dims[1] + row + a.k), 1);
  }
  return ok();
}

std::vector<Case> cases_eye() {
  return {{.name = "fills_a_lower_diagonal",
           .opset = 9,
           .attrs = {{"k", int64_t{-1}}, {"dtype", int64_t{3}}},
           .inputs = {Tensor::of<float>({3, 2}, {9, 9, 9, 9, 9, 9})},
           .expected = {Tensor::of<int8_t>({3, 2}, {0, 0, 1, 0, 0, 1})}}};
}

constexpr OpOf<EyeLike> kEyeLike{
    .name = "EyeLike",
    .doc = "A matrix of the input's shape with ones on a diagonal.",
    .history = kEyeHistory,
    .read = read_eye,
    .infer = infer_eye,
    .reference = reference_eye,
    .cases = cases_eye,
};

struct Trilu {
  bool upper;
};

constexpr Version kTriluHistory[] = {
    {14, "(input: T, k?: i64) -> (output: T) {upper: int = 1} T in all bf16"},
};

Result<Trilu> read_trilu(const Node& node, const Facts&) { return Trilu{node.i("upper") != 0}; }

Status reference_trilu(const Trilu& a, Args& args) {
  const View &x = args.in(0), &y = args.out();
  const int64_t width = y.dims[y.rank() - 1], height = y.dims[y.rank() - 2];
  const int64_t k = args.has(1) && args.in(1).count > 0 ? *args.in(1).data<int64_t>() : 0;
  const size_t rows = width == 0 ? 0 : y.count / size_t(width);
  share_rows(args.pool, rows, size_t(width), y.type, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      // The first column on the diagonal (upper) or just beyond it (lower).
      const int64_t row = int64_t(i) % height + (a.upper ? 0 : 1);
      const size_t cut =
          size_t(std::clamp<int64_t>(row + std::clamp(k, -height - 1, width), 0, width));
      const size_t start = i * size_t(width);
      const size_t from = a.upper ? cut : 0, to = a.upper ? size_t(width) : cut;
      copy_row(x.type, x.raw, start + from, y.raw, start + from, to - from);
      clear_row(y.type, y.raw, start + (a.upper ? 0 : cut),
                start + (a.upper ? cut : size_t(width)));
    }
  });
  return ok();
}

Result<Facts> infer_trilu(const Trilu& a, const Facts& in) {
  if (in[0].has_rank() && in[0].rank() < 2) {
    return fail("SDX-T0227", "the input must be a matrix or a batch of matrices, not {}",
                in[0].text());
  }
  Facts out{like(in[0])};
  track(a, reference_trilu, 1, in, out);
  return out;
}

std::vector<Case> cases_trilu() {
  return {{.name = "lower_with_a_huge_k_keeps_everything",
           .opset = 14,
           .attrs = {{"upper", int64_t{0}}},
           .inputs = {Tensor::of<bool>({1, 2}, {true, true}),
                      Tensor::scalar<int64_t>(std::numeric_limits<int64_t>::max())},
           .expected = {Tensor::of<bool>({1, 2}, {true, true})}},
          {.name = "upper_clears_below_the_diagonal",
           .opset = 14,
           .attrs = {},
           .inputs = {Tensor::of<std::string>({2, 2}, {"a", "b", "c", "d"})},
           .expected = {Tensor::of<std::string>({2, 2}, {"a", "b", "", "d"})}}};
}

constexpr OpOf<Trilu> kTrilu{
    .name = "Trilu",
    .doc = "The upper or lower triangle of matrices; the rest is zero.",
    .history = kTriluHistory,
    .read = read_trilu,
    .infer = infer_trilu,
    .reference = reference_trilu,
    .cases = cases_trilu,
};

}  // namespace

extern const Op eye_like = erase<kEyeLike>();
extern const Op trilu = erase<kTrilu>();

}  // namespace sdx::ops
