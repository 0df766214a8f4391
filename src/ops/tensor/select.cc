// NonZero and Compress: how much comes out, only the data tell.
#include "ops/tensor/ints.h"
#include "ops/tensor/pick.h"

namespace sdx::ops {
namespace {

struct NonZero {};

constexpr Version kNonZeroHistory[] = {
    {9, "(X: T) -> (Y: i64) T in all"},
    {13, "T += bf16"},
};

Result<NonZero> read_non_zero(const Node&, const Facts&) { return NonZero{}; }

Result<Facts> infer_non_zero(const NonZero&, const Facts& in) {
  const Dim rank = in[0].has_rank() ? Dim(int64_t(in[0].rank())) : Dim::unknown();
  return Facts{Fact::tensor(DType::i64, {rank, Dim::unknown()})};
}

// A NaN is not zero; a string is zero if empty.
bool non_zero(const View& x, size_t i) {
  switch (x.type) {
    case DType::string:
      return !x.data<std::string>()[i].empty();
    case DType::c64:
      return x.data<std::complex<float>>()[i] != std::complex<float>(0);
    case DType::c128:
      return x.data<std::complex<double>>()[i] != std::complex<double>(0);
    default:
      return is_float(x.type) ? get_f64(x.type, x.raw, i) != 0 : get_bits(x.type, x.raw, i) != 0;
  }
}

// f(holds), where holds(i) is non_zero(x, i) without a question for the type.
template <class F>
void visit_non_zero(const View& x, F&& f) {
  const auto plain = [&]<class T>() {
    const T* from = x.data<T>();
    f([from](size_t i) { return from[i] != 0; });
  };
  if (x.type == DType::f32) return plain.template operator()<float>();
  if (x.type == DType::f64) return plain.template operator()<double>();
  if (x.type == DType::boolean) return plain.template operator()<uint8_t>();
  if (x.type == DType::f16 || x.type == DType::bf16) {
    const auto* from = x.data<uint16_t>();
    return f([from](size_t i) { return (from[i] & 0x7fff) != 0; });
  }
  if (!visit_integers(x.type, plain)) f([&](size_t i) { return non_zero(x, i); });
}

// The positions of a row's elements that are not zero, from the `next`-th column of y on; gives the
// column behind them.
template <class Holds>
size_t put_row(const View& x, const View& y, size_t row, size_t width, size_t count, size_t next,
               Holds holds) {
  constexpr size_t kPiece = 256;
  const size_t last = x.rank() - 1;
  auto* to = y.data<int64_t>();
  const size_t before = next;
  for (size_t first = 0; first < width; first += kPiece) {
    // Kept without a branch, which elements in no order would mislead half of the time.
    int64_t kept[kPiece];
    size_t some = 0;
    for (size_t j = first; j < std::min(width, first + kPiece); ++j) {
      kept[some] = int64_t(j);
      some += holds(row * width + j) ? 1 : 0;
    }
    std::copy_n(kept, some, to + last * count + next);
    next += some;
  }
  for (size_t axis = last; axis-- > 0; row /= size_t(x.dims[axis])) {
    std::fill(to + axis * count + before, to + axis * count + next,
              int64_t(row % size_t(x.dims[axis])));
  }
  return next;
}

Status reference_non_zero(const NonZero&, Args& args) {
  const View& x = args.in(0);
  size_t count = 0;
  visit_non_zero(x, [&](auto holds) {
    for (size_t i = 0; i < x.count; ++i) count += holds(i) ? 1 : 0;
  });
  SDX_ASSIGN(const View y, output(args, 0, {int64_t(x.rank()), int64_t(count)}));
  if (x.rank() == 0 || count == 0) return ok();
  const size_t width = size_t(x.dims.back());
  visit_non_zero(x, [&](auto holds) {
    size_t next = 0;
    for (size_t row = 0; row < x.count / width; ++row)
      next = put_row(x, y, row, width, count, next, holds);
  });
  return ok();
}

std::vector<Case> cases_non_zero() {
  return {{.name = "of_a_scalar_has_no_rows",
           .opset = 9,
           .attrs = {},
           .inputs = {Tensor::scalar<float>(1)},
           .expected = {Tensor::of<int64_t>({0, 1}, {})}},
          {.name = "takes_nan_and_not_minus_zero",
           .opset = 9,
           .attrs = {},
           .inputs = {Tensor::of<float>({3}, {-0.0f, std::numeric_limits<float>::quiet_NaN(), 0})},
           .expected = {Tensor::of<int64_t>({1, 1}, {1})}},
          {.name = "counts_along_every_axis",
           .opset = 13,
           .attrs = {},
           .inputs = {Tensor::of<bool>({2, 2, 2},
                                       {true, false, false, true, false, false, true, true})},
           .expected = {Tensor::of<int64_t>({3, 4}, {0, 0, 1, 1, 0, 1, 1, 1, 0, 1, 0, 1})}},
          {.name = "of_halves_takes_no_zero_of_either_sign",
           .opset = 13,
           .attrs = {},
           .inputs = {Tensor::of<F16>(
               {4}, {F16::from(-0.0f), F16::from(0), F16::from(-2), F16::from(NAN)})},
           .expected = {Tensor::of<int64_t>({1, 2}, {2, 3})}}};
}

constexpr OpOf<NonZero> kNonZero{
    .name = "NonZero",
    .doc = "The positions of the elements that are not zero, one per column, in row-major order.",
    .history = kNonZeroHistory,
    .read = read_non_zero,
    .infer = infer_non_zero,
    .reference = reference_non_zero,
    .cases = cases_non_zero,
};

struct Compress {
  std::optional<int64_t> axis;  // absent: the input is flattened
};

constexpr Version kCompressHistory[] = {
    {9, "(input: T, condition: T1) -> (output: T) {axis: int} T in all T1 in bool"},
    {11, ""},  // axis may be negative
    {28, "T += bf16"},
};

Result<Compress> read_compress(const Node& node, const Facts&) {
  Compress a;
  if (node.has("axis")) a.axis = node.i("axis");
  return a;
}

Result<Facts> infer_compress(const Compress& a, const Facts& in) {
  if (!a.axis) return Facts{Fact::tensor(in[0].type, {Dim::unknown()})};
  if (!in[0].has_rank()) return Facts{Fact::tensor(in[0].type)};
  SDX_ASSIGN(const size_t axis, resolve_axis(*a.axis, in[0].rank()));
  Fact out = like(in[0]);
  (*out.shape)[axis] = Dim::unknown();
  return Facts{std::move(out)};
}

Status reference_compress(const Compress& a, Args& args) {
  const View &x = args.in(0), &condition = args.in(1);
  AxisSplit at{1, x.count, 1};
  Dims dims{0};
  int64_t& length = dims[0];
  int64_t* size = &length;
  if (a.axis) {
    SDX_ASSIGN(const size_t axis, resolve_axis(*a.axis, x.rank()));
    at = split_at(x.dims, axis);
    dims.assign(x.dims.begin(), x.dims.end());
    size = &dims[axis];
  }
  const size_t n = std::min(at.size, condition.count);
  *size = 0;
  for (size_t i = 0; i < condition.count; ++i) {
    if (!condition.data<bool>()[i]) continue;
    if (i >= n)
      return index_out_of_range(int64_t(i), a.axis ? size_t(size - dims.data()) : 0,
                                int64_t(at.size));
    ++*size;
  }
  SDX_ASSIGN(const View y, output(args, 0, std::move(dims)));
  std::vector<size_t> kept;
  kept.reserve(n);
  for (size_t i = 0; i < n; ++i) {
    if (condition.data<bool>()[i]) kept.push_back(i);
  }
  const RowCopy copy(x.type);
  size_t next = 0;
  for (size_t outer = 0; outer < at.outer; ++outer) {
    for (const size_t i : kept) {
      copy(x.raw, (outer * at.size + i) * at.inner, y.raw, next, at.inner);
      next += at.inner;
    }
  }
  return ok();
}

std::vector<Case> cases_compress() {
  return {{.name = "a_short_condition_drops_the_rest",
           .opset = 9,
           .attrs = {},
           .inputs = {Tensor::of<int32_t>({2, 2}, {1, 2, 3, 4}),
                      Tensor::of<bool>({3}, {false, true, true})},
           .expected = {Tensor::of<int32_t>({2}, {2, 3})}}};
}

constexpr OpOf<Compress> kCompress{
    .name = "Compress",
    .doc = "The slices along an axis for which the condition holds.",
    .history = kCompressHistory,
    .read = read_compress,
    .infer = infer_compress,
    .reference = reference_compress,
    .cases = cases_compress,
};

}  // namespace

extern const Op compress = erase<kCompress>();
extern const Op non_zero = erase<kNonZero>();

}  // namespace sdx::ops
