// DFT.
#include "ops/signal/fourier.h"
#include "ops/signal/scalar.h"

namespace sdx::ops {
namespace {

struct Dft {
  std::optional<int64_t> axis;  // none: input 2 says it
  bool inverse, onesided;
};

constexpr Version kHistory[] = {
    {17,
     "(input: T1, dft_length?: T2) -> (output: T1) {axis: int = 1, inverse: int = 0, onesided: int "
     "= 0} T1 "
     "in floats bf16 T2 in i32 i64"},
    {20, "(input: T1, dft_length?: T2, axis?: i64) {-axis}"},
};

Result<Dft> read(const Node& node, const Facts& in) {
  Dft a{{}, node.i("inverse") != 0, node.i("onesided") != 0};
  if (node.opset < 20) {
    a.axis = node.i("axis");
  } else if (in.size() < 3 || !in[2].present()) {
    a.axis = -2;
  } else if (const auto axis = in[2].constant_integers(); axis && axis->size() == 1) {
    a.axis = axis->front();
  }
  return a;
}

Result<size_t> signal_axis(int64_t axis, size_t rank) {
  SDX_ASSIGN(const size_t at, resolve_axis(axis, rank));
  if (at + 1 == rank) return fail("SDX-T0902", "axis {} is that of real and imaginary parts", axis);
  return at;
}

Result<Facts> infer(const Dft& a, const Facts& in) {
  if (!in[0].has_rank()) return Facts{Fact::tensor(in[0].type)};
  const size_t rank = in[0].rank();
  if (rank < 2)
    return fail("SDX-T0903", "the input has rank {}; it must have at least 2 dimensions", rank);
  if (a.onesided && !a.inverse && in[0].dim(rank - 1).is_const(2))
    return fail("SDX-T0907", "a one-sided transform is of real values; the input {} is complex",
                in[0].text());
  Shape shape(rank, Dim::unknown());
  shape[rank - 1] = a.inverse && a.onesided ? 1 : 2;
  if (!a.axis) return Facts{Fact::tensor(in[0].type, std::move(shape))};
  SDX_ASSIGN(const size_t axis, signal_axis(*a.axis, rank));
  for (size_t i = 0; i + 1 < rank; ++i) {
    if (i != axis) shape[i] = in[0].dim(i);
  }
  const bool given = in.size() > 1 && in[1].present();
  const Dim usual = a.inverse && a.onesided ? Dim(2) * (in[0].dim(axis) - Dim(1)) : in[0].dim(axis);
  const Dim length = given ? integer_fact(in, 1).value_or(Dim::unknown()) : usual;
  shape[axis] = length;
  if (a.onesided && !a.inverse && !length.is_unknown())
    shape[axis] = floor_div(length, Dim(2)) + Dim(1);
  return Facts{Fact::tensor(in[0].type, std::move(shape))};
}

struct Line {
  size_t axis, n;
  bool inverse, real_out;
};

// Along the axis, in float or double (fourier.h): the signal cut or padded with zeros to n values
// and transformed; an inverse is divided by n. A one-sided forward transform gives the first n / 2
// + 1 values. A one-sided inverse takes them, completes them by X[n - k] = conj X[k] with X[0] and
// X[n / 2] real, and gives the real part.
template <class R>
void transform(const Line& a, const View& x, const View& y) {
  const size_t n = a.n, parts = size_t(x.dims.back()), out_parts = size_t(y.dims.back());
  AxisSplit at = split_at(x.dims, a.axis);
  at.inner /= parts;  // of complex numbers
  const size_t out_size = size_t(y.dims[a.axis]);
  Fourier<R> fourier(n, a.inverse);
  std::vector<Complex<R>> line(n), result(n);
  for (size_t outer = 0; outer < at.outer; ++outer) {
    for (size_t inner = 0; inner < at.inner; ++inner) {
      const auto value = [&](size_t i) -> Complex<R> {
        if (i >= at.size) return {};
        const size_t from = ((outer * at.size + i) * at.inner + inner) * parts;
        return {R(get_f64(x.type, x.raw, from)),
                parts == 2 ? R(get_f64(x.type, x.raw, from + 1)) : R(0)};
      };
      for (size_t i = 0; i < n; ++i) {
        if (!a.real_out || i <= n / 2) {
          line[i] = value(i);
          if (a.real_out && (i == 0 || 2 * i == n)) line[i].im = 0;
        } else {
          line[i] = {line[n - i].re, -line[n - i].im};
        }
      }
      if (parts == 1) fourier.run_real(line.data(), result.data());
      if (parts == 2) fourier.run(line.data(), result.data());
      for (size_t i = 0; i < out_size; ++i) {
        if (a.inverse) result[i] = {result[i].re / R(n), result[i].im / R(n)};
        const size_t to = ((outer * out_size + i) * at.inner + inner) * out_parts;
        put_f64(y, to, result[i].re);
        if (out_parts == 2) put_f64(y, to + 1, result[i].im);
      }
    }
  }
}

Status reference(const Dft& a, Args& args) {
  const View& x = args.in(0);
  const size_t rank = x.rank();
  int64_t given_axis = a.axis.value_or(0);
  if (!a.axis) {
    SDX_ASSIGN(given_axis, integer_input(args, 2, "axis"));
  }
  SDX_ASSIGN(const size_t axis, signal_axis(given_axis, rank));
  const size_t parts = size_t(x.dims[rank - 1]);
  if (parts != 1 && parts != 2)
    return fail("SDX-T0904", "the last dimension is {}; it must be 1 or 2", parts);
  int64_t length = a.inverse && a.onesided ? 2 * (x.dims[axis] - 1) : x.dims[axis];
  if (args.has(1)) {
    SDX_ASSIGN(length, integer_input(args, 1, "dft_length"));
  }
  if (length < 1) return fail("SDX-R0901", "dft_length is {}; it must be positive", length);
  const auto n = size_t(length);
  const bool real_out = a.inverse && a.onesided;
  Dims dims(x.dims.begin(), x.dims.end());
  dims[axis] = a.onesided && !a.inverse ? length / 2 + 1 : length;
  dims[rank - 1] = real_out ? 1 : 2;
  SDX_TRY(element_count(dims));
  SDX_ASSIGN(const View y, output(args, 0, dims));

  const Line line{axis, n, a.inverse, real_out};
  x.type == DType::f64 ? transform<double>(line, x, y) : transform<float>(line, x, y);
  return ok();
}

std::vector<Case> cases() {
  return {{.name = "a_signal_of_odd_length_on_one_side",
           .opset = 20,
           .attrs = {{"onesided", int64_t{1}}},
           .inputs = {Tensor::of<float>({1, 3, 1}, {1, 2, 4})},
           .expected = {Tensor::of<float>({1, 2, 2}, {7, 0, -2, 1.7320508f})},
           .rtol = 1e-6},
          {.name = "opset17_pads_to_the_length_and_back",
           .opset = 17,
           .attrs = {{"inverse", int64_t{1}}},
           .inputs = {Tensor::of<double>({1, 1, 2}, {4, 0}), Tensor::scalar<int64_t>(4)},
           .expected = {Tensor::of<double>({1, 4, 2}, {1, 0, 1, 0, 1, 0, 1, 0})}}};
}

constexpr OpOf<Dft> kDft{
    .name = "DFT",
    .doc = "The discrete Fourier transform along an axis, or its inverse.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .cases = cases,
};

}  // namespace

extern const Op dft = erase<kDft>();

}  // namespace sdx::ops
