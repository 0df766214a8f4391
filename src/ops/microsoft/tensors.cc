// Operators on tensors that ai.onnx has too, under other names or with other inputs.
#include "ops/microsoft/images.h"
#include "ops/noise.h"

namespace sdx::ops::microsoft {
namespace {

constexpr Version kTriluHistory[] = {
    {1, "(X: T, k?: i64) -> (Y: T) {upper: int = 1} T in floats bf16 uints ints bool"}};
constexpr Version kRangeHistory[] = {
    {1, "(start: T, limit: T, delta?: T) -> (Y: T) T in f32 f64 i16 i32 i64"}};
constexpr Version kPadHistory[] = {
    {1,
     "(data: T, pads: i64, value?: T) -> (output: T) {mode: string = \"constant\"} T in floats"}};
constexpr Version kGatherNdHistory[] = {
    {1, "(data: T, indices: Tind) -> (output: T) T in all Tind in i32 i64"}};
constexpr Version kUniqueHistory[] = {{1, "(x: T) -> (y: T, idx: i64, counts: i64) T in all"}};
constexpr Version kExpandDimsHistory[] = {{1, "(X: T, axis: i32) -> (Y: T) T in all"}};
constexpr Version kGridSampleHistory[] = {
    {1,
     "(X: T1, Grid: T1) -> (Y: T2) {align_corners: int = 0, mode: string = \"bilinear\", "
     "padding_mode: string = \"zeros\"} T1 in all T2 in floats"}};
constexpr Version kTorchEmbeddingHistory[] = {
    {1,
     "(weight: T, indices: i64, padding_idx?: i64, scale_grad_by_freq?: bool) -> (Y: T) T in "
     "floats bf16 uints ints"}};
constexpr Version kComplexMulHistory[] = {{1, "(A: T, B: T) -> (C: T) T in f32 f64 f16"}};
constexpr Version kCDistHistory[] = {
    {1, "(A: T, B: T) -> (C: T) {metric: string = \"sqeuclidean\"} T in f32 f64"}};
constexpr Version kUnfoldHistory[] = {
    {1,
     "(input: T) -> (output: T) {dim: int = -1, size!: int, step: int = 1} T in uints ints bf16 "
     "floats string bool c64 c128"}};

Wire vector_of(Composer& c, Wire x) { return c.fact(x).rank() == 1 ? x : c.reshape(x, {-1}); }
Wire scalar_of(Composer& c, Wire x) { return scalar(c, x, "a bound"); }

Result<Wires> compose_trilu(Composer& c) {
  return Wires{c.add(trilu, {c.in(0), scalar_of(c, c.in(1))}, {{"upper", c.node().i("upper")}})};
}

Result<Wires> compose_range(Composer& c) {
  const DType type = c.fact(c.in(0)).type;
  const Wire delta = c.has(2) ? scalar_of(c, c.in(2)) : c.number(type, 1);
  return Wires{c.add(range, {scalar_of(c, c.in(0)), scalar_of(c, c.in(1)), delta})};
}

Result<Wires> compose_pad(Composer& c) {
  return Wires{c.add(pad, {c.in(0), vector_of(c, c.in(1)), scalar_of(c, c.in(2))},
                     {{"mode", c.node().s("mode")}})};
}

Result<Wires> compose_gather_nd(Composer& c) {
  return Wires{c.add(gather_nd, {c.in(0), c.cast(c.in(1), DType::i64)})};
}

// The values in the order in which they first occur, each element's place among them, and how
// often each occurs.
Result<Wires> compose_unique(Composer& c) {
  c.require(c.fact(c.in(0)).rank() == 1, "SDX-T1056", "x is {}; it must be a vector",
            c.fact(c.in(0)).text());
  const Wires found = c.add(unique, {c.in(0)}, {{"sorted", int64_t{0}}}, 4);
  return Wires{found[0], found[2], found[3]};
}

Result<Wires> compose_expand_dims(Composer& c) {
  const Wire axis = c.cast(vector_of(c, c.in(1)), DType::i64);
  // Folding the cast makes the axis known where the input is.
  const auto known = c.fact(c.in(1)).constant_integers();
  return Wires{c.add(unsqueeze, {c.in(0), known ? c.ints(*known) : axis})};
}

// Around a place beyond the border, a cubic sample reads the edge for each pixel that is not there,
// where ai.onnx moves the place itself to the edge. With two pixels more of the edge at each side,
// both are the same; the grid of -1 to 1 then spans as much more.
struct Sampled {
  Wire x, grid;
};
Sampled with_edges(Composer& c, bool corners) {
  constexpr int64_t kMore = 2;
  c.require(c.fact(c.in(0)).rank() == 4, "SDX-T1056", "X is {}; it must have 4 dimensions",
            c.fact(c.in(0)).text());
  if (c.failed()) return {};
  const auto share = [&](size_t axis) {
    const auto pixels = double(c.size(c.in(0), axis, "X") - (corners ? 1 : 0));
    return float(pixels / (pixels + 2 * kMore));
  };
  const Wire shares = c.constant(Tensor::of<float>({2}, {share(3), share(2)}));
  const Wire pads = c.ints({0, 0, kMore, kMore, 0, 0, kMore, kMore});
  return {c.add(pad, {c.in(0), pads}, {{"mode", std::string("edge")}}),
          c.add(mul, {c.in(1), c.cast(shares, c.fact(c.in(1)).type)})};
}

Result<Wires> compose_grid_sample(Composer& c) {
  const std::string& mode = c.node().s("mode");
  const std::string name = mode == "bilinear" ? "linear" : mode == "bicubic" ? "cubic" : mode;
  Sampled from{c.in(0), c.in(1)};
  if (name == "cubic" && c.node().s("padding_mode") == "border")
    from = with_edges(c, c.node().i("align_corners") != 0);
  return Wires{c.add(grid_sample, {from.x, from.grid},
                     {{"align_corners", c.node().i("align_corners")},
                      {"mode", name},
                      {"padding_mode", c.node().s("padding_mode")}})};
}

Result<Wires> compose_torch_embedding(Composer& c) {
  return Wires{c.add(gather, {c.in(0), c.in(1)})};
}

// Pairs along the last axis are complex numbers: (a + bi)(c + di) = (ac - bd) + (ad + bc)i, each
// operation rounded; the conjugate of the second changes the sign of d.
template <bool kConjugate>
Result<Wires> compose_complex_mul(Composer& c) {
  const auto part = [&](size_t input, int64_t i) { return c.slice(c.in(input), -1, i, i + 1); };
  for (const size_t i : {0, 1}) {
    const Fact& f = c.fact(c.in(i));
    c.require(f.rank() > 0 && (!f.shape->back().is_const() || f.shape->back().is_const(2)),
              "SDX-T1087", "input {} is {}; its last size must be 2", i, f.text());
  }
  if (c.failed()) return Wires{};
  const Wire a = part(0, 0), b = part(0, 1), re = part(1, 0);
  Wire im = part(1, 1);
  if (kConjugate) im = c.add(neg, {im});
  const Wire real = c.add(sub, {c.add(mul, {a, re}), c.add(mul, {b, im})});
  const Wire imaginary = c.add(add, {c.add(mul, {a, im}), c.add(mul, {b, re})});
  return Wires{c.add(concat, {real, imaginary}, {{"axis", int64_t{-1}}})};
}

// d[i, j] = sum over k of (a[i, k] - b[j, k])^2, or its root.
Result<Wires> compose_cdist(Composer& c) {
  const std::string& metric = c.node().s("metric");
  c.require(metric == "sqeuclidean" || metric == "euclidean", "SDX-T1088",
            "metric \"{}\" is not euclidean or sqeuclidean", metric);
  for (const size_t i : {0, 1}) {
    c.require(c.fact(c.in(i)).rank() == 2, "SDX-T1056", "input {} is {}; it must be a matrix", i,
              c.fact(c.in(i)).text());
  }
  const Wire d = c.add(
      sub, {c.add(unsqueeze, {c.in(0), c.ints({1})}), c.add(unsqueeze, {c.in(1), c.ints({0})})});
  const Wire sum = c.add(reduce_sum, {c.add(mul, {d, d}), c.ints({2})}, {{"keepdims", int64_t{0}}});
  return Wires{metric == "euclidean" ? c.add(sqrt, {sum}) : sum};
}

// Windows of `size` elements along an axis, `step` apart, as a new last axis.
Result<Wires> compose_unfold(Composer& c) {
  const Fact& x = c.fact(c.in(0));
  const int64_t size = c.node().i("size"), step = c.node().i("step");
  if (x.rank() == 0) return fail("SDX-T1056", "the input is a scalar");
  SDX_ASSIGN(const size_t axis, resolve_axis(c.node().i("dim"), x.rank()));
  const int64_t length = c.size(c.in(0), axis, "the input");
  if (!c.require(size >= 1 && step >= 1 && size <= length, "SDX-T1089",
                 "windows of {} elements, {} apart, of {} elements", size, step, length)) {
    return Wires{};
  }
  std::vector<int64_t> places;
  const int64_t windows = (length - size) / step + 1;
  for (int64_t w = 0; w < windows; ++w) {
    for (int64_t i = 0; i < size; ++i) places.push_back(w * step + i);
  }
  const Wire index =
      c.constant(Tensor::of<int64_t>({windows, size}, std::span<const int64_t>(places)));
  const Wire y = c.add(gather, {c.in(0), index}, {{"axis", int64_t(axis)}});
  std::vector<int64_t> perm;
  for (size_t i = 0; i <= x.rank(); ++i) {
    if (i != axis + 1) perm.push_back(int64_t(i));
  }
  perm.push_back(int64_t(axis) + 1);
  return Wires{c.transpose(y, perm)};
}

std::vector<Case> cases_trilu() {
  return {{.name = "the_lower_part",
           .opset = 1,
           .attrs = {{"upper", int64_t{0}}},
           .inputs = {Tensor::of<int64_t>({2, 2}, {1, 2, 3, 4}), Tensor::scalar<int64_t>(-1)},
           .expected = {Tensor::of<int64_t>({2, 2}, {0, 0, 3, 0})}}};
}
std::vector<Case> cases_range() {
  return {{.name = "by_ones_unless_told",
           .opset = 1,
           .attrs = {},
           .inputs = {Tensor::scalar<int32_t>(2), Tensor::scalar<int32_t>(5)},
           .expected = {Tensor::of<int32_t>({3}, {2, 3, 4})}}};
}
std::vector<Case> cases_pad() {
  return {{.name = "with_a_value",
           .opset = 1,
           .attrs = {},
           .inputs = {Tensor::of<float>({2}, {1, 2}), Tensor::of<int64_t>({2}, {1, 0}),
                      Tensor::of<float>({1}, {9})},
           .expected = {Tensor::of<float>({3}, {9, 1, 2})}}};
}
std::vector<Case> cases_gather_nd() {
  return {{.name = "indices_of_32_bits",
           .opset = 1,
           .attrs = {},
           .inputs = {Tensor::of<float>({2, 2}, {1, 2, 3, 4}), Tensor::of<int32_t>({1, 2}, {1, 0})},
           .expected = {Tensor::of<float>({1}, {3})}}};
}
std::vector<Case> cases_unique() {
  return {{.name = "in_the_order_of_the_input",
           .opset = 1,
           .attrs = {},
           .inputs = {Tensor::of<float>({4}, {5, 1, 5, 2})},
           .expected = {Tensor::of<float>({3}, {5, 1, 2}), Tensor::of<int64_t>({4}, {0, 1, 0, 2}),
                        Tensor::of<int64_t>({3}, {2, 1, 1})},
           .outputs = 3}};
}
std::vector<Case> cases_expand_dims() {
  return {{.name = "from_the_end",
           .opset = 1,
           .attrs = {},
           .inputs = {Tensor::of<float>({2}, {1, 2}), Tensor::scalar<int32_t>(-1)},
           .expected = {Tensor::of<float>({2, 1}, {1, 2})}}};
}
std::vector<Case> cases_grid_sample() {
  return {
      {.name = "between_two_pixels",
       .opset = 1,
       .attrs = {{"align_corners", int64_t{1}}},
       .inputs = {Tensor::of<float>({1, 1, 1, 2}, {2, 4}), Tensor::of<float>({1, 1, 1, 2}, {0, 0})},
       .expected = {Tensor::of<float>({1, 1, 1, 1}, {3})}},
      {.name = "a_cubic_beyond_the_border_reads_the_edge_for_each_pixel",
       .opset = 1,
       .attrs = {{"align_corners", int64_t{1}},
                 {"mode", std::string("bicubic")},
                 {"padding_mode", std::string("border")}},
       // Half a pixel beyond the last: 1.09375 of it and -0.09375 of the one before.
       .inputs = {Tensor::of<float>({1, 1, 2, 5}, {0, 0, 0, 0, 16, 0, 0, 0, 0, 16}),
                  Tensor::of<float>({1, 1, 1, 2}, {1.25f, 0})},
       .expected = {Tensor::of<float>({1, 1, 1, 1}, {17.5f})}}};
}
std::vector<Case> cases_torch_embedding() {
  return {{.name = "rows_of_the_table",
           .opset = 1,
           .attrs = {},
           .inputs = {Tensor::of<float>({2, 2}, {1, 2, 3, 4}), Tensor::of<int64_t>({2}, {1, 0})},
           .expected = {Tensor::of<float>({2, 2}, {3, 4, 1, 2})}}};
}
std::vector<Case> cases_complex_mul() {
  return {{.name = "of_two_pairs",
           .opset = 1,
           .attrs = {},
           .inputs = {Tensor::of<float>({1, 2}, {1, 2}), Tensor::of<float>({1, 2}, {3, 4})},
           .expected = {Tensor::of<float>({1, 2}, {-5, 10})}}};
}
std::vector<Case> cases_complex_mul_conj() {
  return {{.name = "of_two_pairs",
           .opset = 1,
           .attrs = {},
           .inputs = {Tensor::of<float>({1, 2}, {1, 2}), Tensor::of<float>({1, 2}, {3, 4})},
           .expected = {Tensor::of<float>({1, 2}, {11, 2})}}};
}
std::vector<Case> cases_cdist() {
  return {{.name = "roots",
           .opset = 1,
           .attrs = {{"metric", std::string("euclidean")}},
           .inputs = {Tensor::of<float>({1, 2}, {0, 0}), Tensor::of<float>({2, 2}, {3, 4, 0, 1})},
           .expected = {Tensor::of<float>({1, 2}, {5, 1})}}};
}
std::vector<Case> cases_unfold() {
  return {{.name = "windows_that_overlap",
           .opset = 1,
           .attrs = {{"size", int64_t{2}}, {"dim", int64_t{0}}},
           .inputs = {Tensor::of<float>({3, 1}, {1, 2, 3})},
           .expected = {Tensor::of<float>({2, 1, 2}, {1, 2, 2, 3})}}};
}

constexpr OpOf<Composition> kTrilu = composed<compose_trilu>(
    kDomain, "Trilu", "The upper or lower triangle.", kTriluHistory, cases_trilu);
constexpr OpOf<Composition> kRange = composed<compose_range>(
    kDomain, "Range", "start, start + delta, ... up to, not including, limit.", kRangeHistory,
    cases_range);
constexpr OpOf<Composition> kPad = composed<compose_pad>(
    kDomain, "Pad", "The tensor with elements around it.", kPadHistory, cases_pad);
constexpr OpOf<Composition> kGatherNd =
    composed<compose_gather_nd>(kDomain, "GatherND", "Pieces at the places that indices name.",
                                kGatherNdHistory, cases_gather_nd);
constexpr OpOf<Composition> kUnique = composed<compose_unique>(
    kDomain, "Unique", "The values of a vector, once each, and where they occur.", kUniqueHistory,
    cases_unique);
constexpr OpOf<Composition> kExpandDims =
    composed<compose_expand_dims>(kDomain, "ExpandDims", "The tensor with one more axis of size 1.",
                                  kExpandDimsHistory, cases_expand_dims);
constexpr OpOf<Composition> kGridSample = composed<compose_grid_sample>(
    kDomain, "GridSample", "Pixels of a picture at the places that a grid names.",
    kGridSampleHistory, cases_grid_sample);
constexpr OpOf<Composition> kTorchEmbedding = composed<compose_torch_embedding>(
    kDomain, "TorchEmbedding", "Rows of a table.", kTorchEmbeddingHistory, cases_torch_embedding);
constexpr OpOf<Composition> kComplexMul =
    composed<compose_complex_mul<false>>(kDomain, "ComplexMul", "The product of complex numbers.",
                                         kComplexMulHistory, cases_complex_mul);
constexpr OpOf<Composition> kComplexMulConj = composed<compose_complex_mul<true>>(
    kDomain, "ComplexMulConj", "The product of complex numbers, the second conjugate.",
    kComplexMulHistory, cases_complex_mul_conj);
constexpr OpOf<Composition> kCDist = composed<compose_cdist>(
    kDomain, "CDist", "Distances between rows.", kCDistHistory, cases_cdist);
constexpr OpOf<Composition> kUnfold =
    composed<compose_unfold>(kDomain, "UnfoldTensor", "Windows along an axis, as a new last axis.",
                             kUnfoldHistory, cases_unfold);

}  // namespace

extern const Op ms_trilu = erase<kTrilu>();
extern const Op ms_range = erase<kRange>();
extern const Op ms_pad = erase<kPad>();
extern const Op ms_gather_nd = erase<kGatherNd>();
extern const Op ms_unique = erase<kUnique>();
extern const Op expand_dims = erase<kExpandDims>();
extern const Op ms_grid_sample = erase<kGridSample>();
extern const Op torch_embedding = erase<kTorchEmbedding>();
extern const Op complex_mul = erase<kComplexMul>();
extern const Op complex_mul_conj = erase<kComplexMulConj>();
extern const Op cdist = erase<kCDist>();
extern const Op unfold_tensor = erase<kUnfold>();

}  // namespace sdx::ops::microsoft
