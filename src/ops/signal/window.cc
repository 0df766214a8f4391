// HannWindow, HammingWindow and BlackmanWindow.
#include "ops/signal/fourier.h"
#include "ops/signal/scalar.h"

namespace sdx::ops {
namespace {

struct CosineWindow {
  double a0, a1, a2;  // w = (a0 - a1 cos(2 pi i / n)) + a2 cos(4 pi i / n)
  bool periodic;
  DType output;
};

constexpr Version kHistory[] = {
    {17,
     "(size: T1) -> (output: T2) {output_datatype: int = 1, periodic: int = 1} T1 in i32 i64 T2 in "
     "num bf16"},
};

Result<CosineWindow> read(const Node& node, CosineWindow a) {
  SDX_ASSIGN(a.output, output_datatype(node));
  a.periodic = node.i("periodic") != 0;
  return a;
}
Result<CosineWindow> read_hann(const Node& node, const Facts&) {
  return read(node, {0.5, 0.5, 0, false, {}});
}
Result<CosineWindow> read_hamming(const Node& node, const Facts&) {
  return read(node, {25.0 / 46.0, 1 - 25.0 / 46.0, 0, false, {}});
}
Result<CosineWindow> read_blackman(const Node& node, const Facts&) {
  return read(node, {0.42, 0.5, 0.08, false, {}});
}

Result<Facts> infer(const CosineWindow& a, const Facts& in) {
  return Facts{Fact::tensor(a.output, {integer_fact(in, 0).value_or(Dim::unknown())})};
}

// In double, rounded once; n = size if periodic, else size - 1. A symmetric window of one element
// is 1.
Status reference(const CosineWindow& a, Args& args) {
  SDX_ASSIGN(const int64_t size, integer_input(args, 0, "size"));
  if (size < 0) return fail("SDX-R0904", "size is {}; it must not be negative", size);
  const Dims dims{size};
  SDX_TRY(element_count(dims));
  SDX_ASSIGN(const View y, output(args, 0, dims));
  const size_t n = size_t(size) - (a.periodic || size == 0 ? 0 : 1);
  for (size_t i = 0; i < size_t(size); ++i) {
    double w = 1;
    if (n > 0) w = (a.a0 - a.a1 * turn(i, n).re) + a.a2 * turn(2 * i, n).re;
    put_f64(y, i, w);
  }
  return ok();
}

std::vector<Case> cases() {
  return {{.name = "the_symmetric_window_ends_where_it_begins",
           .opset = 17,
           .attrs = {{"periodic", int64_t{0}}},
           .inputs = {Tensor::scalar<int32_t>(5)},
           .expected = {Tensor::of<float>({5}, {0, .5f, 1, .5f, 0})}}};
}

constexpr OpOf<CosineWindow> kHannWindow{
    .name = "HannWindow",
    .doc = "A Hann window of a given length.",
    .history = kHistory,
    .read = read_hann,
    .infer = infer,
    .reference = reference,
    .cases = cases,
};
constexpr OpOf<CosineWindow> kHammingWindow{
    .name = "HammingWindow",
    .doc = "A Hamming window of a given length.",
    .history = kHistory,
    .read = read_hamming,
    .infer = infer,
    .reference = reference,
};
constexpr OpOf<CosineWindow> kBlackmanWindow{
    .name = "BlackmanWindow",
    .doc = "A Blackman window of a given length.",
    .history = kHistory,
    .read = read_blackman,
    .infer = infer,
    .reference = reference,
};

}  // namespace

extern const Op hann_window = erase<kHannWindow>();
extern const Op hamming_window = erase<kHammingWindow>();
extern const Op blackman_window = erase<kBlackmanWindow>();

}  // namespace sdx::ops
