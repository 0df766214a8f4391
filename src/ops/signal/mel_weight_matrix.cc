// MelWeightMatrix.
#include <cmath>

#include "kernel/math/math.h"
#include "ops/signal/scalar.h"

namespace sdx::ops {
namespace {

struct MelWeightMatrix {
  DType output;
};

constexpr Version kHistory[] = {
    {17,
     "(num_mel_bins: T1, dft_length: T1, sample_rate: T1, lower_edge_hertz: T2, upper_edge_hertz: "
     "T2) -> "
     "(output: T3) {output_datatype: int = 1} T1 in i32 i64 T2 in floats bf16 T3 in num bf16"},
};

Result<MelWeightMatrix> read(const Node& node, const Facts&) {
  SDX_ASSIGN(const DType type, output_datatype(node));
  return MelWeightMatrix{type};
}

Result<Facts> infer(const MelWeightMatrix& a, const Facts& in) {
  const auto bins = integer_fact(in, 0), length = integer_fact(in, 1);
  return Facts{
      Fact::tensor(a.output, {length ? floor_div(*length, Dim(2)) + Dim(1) : Dim::unknown(),
                              bins.value_or(Dim::unknown())})};
}

// In double: mel(f) = 2595 log10(1 + f / 700); edge i of bins + 2 lies at mel(low) + i * (mel(high)
// - mel(low)) / (bins + 2), on spectrum line floor((length + 1) * hertz / rate). Column b rises
// from 0 on edge b to 1 on edge b + 1 and falls to 0 on edge b + 2. Rounded once.
Status reference(const MelWeightMatrix&, Args& args) {
  SDX_ASSIGN(const int64_t bins, integer_input(args, 0, "num_mel_bins"));
  SDX_ASSIGN(const int64_t length, integer_input(args, 1, "dft_length"));
  SDX_ASSIGN(const int64_t rate, integer_input(args, 2, "sample_rate"));
  if (bins < 0 || length < 0 || rate < 1) {
    return fail(
        "SDX-R0905",
        "num_mel_bins {}, dft_length {}, sample_rate {}: none may be negative, nor the rate 0",
        bins, length, rate);
  }
  constexpr double kLn10 = 2.302585092994046;
  const auto mel = [&](size_t i) {
    return 2595 * (math::log(1 + get_f64(args.in(i).type, args.in(i).raw, 0) / 700) / kLn10);
  };
  const double low = mel(3), step = (mel(4) - low) / double(bins + 2);
  const int64_t lines = length / 2 + 1;
  const Dims dims{lines, bins};
  SDX_TRY(element_count(dims));
  SDX_ASSIGN(const View y, output(args, 0, dims));
  for (size_t i = 0; i < y.count; ++i) put_f64(y, i, 0);
  const auto line_of = [&](int64_t edge) {
    const double hertz = 700 * (math::exp((low + double(edge) * step) / 2595 * kLn10) - 1);
    return to_integer<int64_t>(std::floor(double(length + 1) * hertz / double(rate)));
  };
  for (int64_t b = 0; b < bins; ++b) {
    const int64_t left = line_of(b), centre = line_of(b + 1), right = line_of(b + 2);
    if (left < 0 || centre < left || right < centre || centre >= lines || right > lines) {
      return fail("SDX-R0906", "mel bin {} spans lines {} to {}; the spectrum has {}", b, left,
                  right, lines);
    }
    const auto put = [&](int64_t line, double x) { put_f64(y, size_t(line * bins + b), x); };
    if (left == centre) put(centre, 1);
    for (int64_t j = left; left < centre && j <= centre; ++j)
      put(j, double(j - left) / double(centre - left));
    for (int64_t j = centre; j < right; ++j) put(j, double(right - j) / double(right - centre));
  }
  return ok();
}

constexpr OpOf<MelWeightMatrix> kMelWeightMatrix{
    .name = "MelWeightMatrix",
    .doc =
        "Triangular weights that sum a spectrum's lines into bands equally spaced on the mel "
        "scale.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
};

}  // namespace

extern const Op mel_weight_matrix = erase<kMelWeightMatrix>();

}  // namespace sdx::ops
