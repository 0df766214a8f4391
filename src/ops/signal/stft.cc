// STFT.
#include "op/streaming.h"
#include "ops/signal/fourier.h"
#include "ops/signal/scalar.h"

namespace sdx::ops {
namespace {

struct Stft {
  bool onesided;
};

constexpr Version kHistory[] = {
    {17,
     "(signal: T1, frame_step: T2, window?: T1, frame_length?: T2) -> (output: T1) {onesided: int "
     "= 1} T1 in "
     "floats bf16 T2 in i32 i64"},
};

Result<Stft> read(const Node& node, const Facts&) { return Stft{node.i("onesided") != 0}; }

Result<Facts> infer(const Stft& a, const Facts& in) {
  Shape shape(4, Dim::unknown());
  shape[3] = 2;
  const auto has = [&](size_t i) { return i < in.size() && in[i].present(); };
  if (in[0].has_rank() && in[0].rank() != 3) {
    return fail("SDX-T0905", "the signal has rank {}; it must be [batch, length, 1 or 2]",
                in[0].rank());
  }
  std::optional<Dim> length = integer_fact(in, 3);
  if (!has(3)) {
    if (has(2)) {
      if (in[2].has_rank() && in[2].rank() == 1) length = in[2].dim(0);
    } else if (in[0].has_rank()) {
      length = in[0].dim(1);
    }
  }
  const std::optional<Dim> step = integer_fact(in, 1);
  if (in[0].has_rank()) shape[0] = in[0].dim(0);
  if (in[0].has_rank() && length && step && !(step->is_const() && step->value() <= 0)) {
    shape[1] = floor_div(in[0].dim(1) - *length, *step) + Dim(1);
  }
  if (length) shape[2] = a.onesided ? floor_div(*length, Dim(2)) + Dim(1) : *length;
  return Facts{Fact::tensor(in[0].type, std::move(shape))};
}

// Frame f is the transform (fourier.h, in float or double) of signal[f * step + i] * window[i], i <
// frame length; a window shorter than the frame is 0 behind its end.
template <class R>
void frames_of(const Args& args, size_t n, int64_t step, const View& y) {
  const View& x = args.in(0);
  const auto parts = size_t(x.dims[2]);
  Fourier<R> fourier(n, false);
  std::vector<Complex<R>> line(n), result(n);
  size_t to = 0;
  for (size_t batch = 0; batch < size_t(x.dims[0]); ++batch) {
    for (int64_t frame = 0; frame < y.dims[1]; ++frame) {
      for (size_t i = 0; i < n; ++i) {
        const size_t from = (batch * size_t(x.dims[1]) + size_t(frame * step) + i) * parts;
        R weight = 1;
        if (args.has(2))
          weight = i < args.in(2).count ? R(get_f64(args.in(2).type, args.in(2).raw, i)) : R(0);
        line[i] = {R(get_f64(x.type, x.raw, from)) * weight,
                   parts == 2 ? R(get_f64(x.type, x.raw, from + 1)) * weight : R(0)};
      }
      if (parts == 1) fourier.run_real(line.data(), result.data());
      if (parts == 2) fourier.run(line.data(), result.data());
      for (size_t i = 0; i < size_t(y.dims[2]); ++i) {
        put_f64(y, to++, result[i].re);
        put_f64(y, to++, result[i].im);
      }
    }
  }
}

Status reference(const Stft& a, Args& args) {
  const View& x = args.in(0);
  if (x.rank() != 3 || (x.dims[2] != 1 && x.dims[2] != 2)) {
    return fail("SDX-T0905", "the signal has shape {}; it must be [batch, length, 1 or 2]",
                to_string(x.dims));
  }
  SDX_ASSIGN(const int64_t step, integer_input(args, 1, "frame_step"));
  int64_t length = args.has(2) ? int64_t(args.in(2).count) : x.dims[1];
  if (args.has(3)) {
    SDX_ASSIGN(length, integer_input(args, 3, "frame_length"));
  }
  if (step < 1) return fail("SDX-R0902", "frame_step is {}; it must be positive", step);
  if (length < 1 || length > x.dims[1]) {
    return fail("SDX-R0903", "frame_length is {}; it must be in [1, {}], the signal's length",
                length, x.dims[1]);
  }
  const auto n = size_t(length);
  const int64_t frames = (x.dims[1] - length) / step + 1,
                bins = a.onesided ? length / 2 + 1 : length;
  SDX_ASSIGN(const View y, output(args, 0, {x.dims[0], frames, bins, 2}));
  x.type == DType::f64 ? frames_of<double>(args, n, step, y) : frames_of<float>(args, n, step, y);
  return ok();
}

Streaming stream(const Stft&, const Streamed& s) {
  if (!s.only_first() || *s.axes[0] == 0) return Streaming::ask();
  const auto step = integer_fact(s.in, 1);
  std::optional<Dim> length = integer_fact(s.in, 3);
  if (!length && s.in.size() > 2 && s.in[2].present()) length = s.in[2].dim(0);
  if (*s.axes[0] != 1 || !step || !step->is_const() || !length || !length->is_const())
    return Streaming::refuse("the length of its frames is not fixed");
  Streaming how = Streaming::of(Streaming::Kind::window);
  how.reach = {step->value(), 1, 0, length->value() - 1};
  return how;
}

constexpr OpOf<Stft> kStft{
    .name = "STFT",
    .doc = "Discrete Fourier transforms of windows that step along a signal.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .stream = stream,
};

}  // namespace

extern const Op stft = erase<kStft>();

}  // namespace sdx::ops
