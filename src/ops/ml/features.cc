// Operators that prepare features: Scaler, Normalizer, Binarizer, Imputer, FeatureVectorizer and
// ArrayFeatureExtractor.
#include <cmath>

#include "kernel/lanes.h"
#include "ops/ml/scores.h"
#include "ops/tensor/strided_copy.h"

namespace sdx::ops {
namespace {

// The features of a row lie along the last axis.
size_t features_of(const View& x) { return x.rank() == 0 ? 1 : size_t(x.dims.back()); }

// A list for each feature has one entry for all of them or one for each.
Status check_length(std::string_view name, size_t length, const Fact& x) {
  const auto width = row_width(x);
  if (length <= 1 || !width || int64_t(length) == *width) return ok();
  return fail("SDX-T0644", "{} has {} entries for {} features", name, length, *width);
}
Status check_length(std::string_view name, size_t length, const View& x) {
  if (length <= 1 || length == features_of(x) || x.count == 0) return ok();
  return fail("SDX-R0641", "{} has {} entries for {} features", name, length, features_of(x));
}
template <class T>
T pick(const std::vector<T>& list, size_t feature) {
  return list[list.size() == 1 ? 0 : feature];
}

// Scaler: y = (x - offset) * scale, in float for floats, else in double and rounded at the end.

struct Scaler {
  std::vector<float> offset, scale;
};

constexpr Version kScalerHistory[] = {
    {1, "(X: T) -> (Y: f32) {offset: floats, scale: floats} T in f32 f64 i32 i64"}};

Result<Scaler> read_scaler(const Node& node, const Facts& in) {
  Scaler a{floats(node, "offset"), floats(node, "scale")};
  if (a.offset.empty()) a.offset = {0};
  if (a.scale.empty()) a.scale = {1};
  SDX_TRY(check_length("offset", a.offset.size(), in[0]));
  SDX_TRY(check_length("scale", a.scale.size(), in[0]));
  return a;
}
template <class A>
Result<Facts> infer_floats(const A&, const Facts& in) {
  return Facts{like(in[0], DType::f32)};
}
Status run_scaler(const Scaler& a, Args& args) {
  const View& x = args.in(0);
  SDX_TRY(check_length("offset", a.offset.size(), x));
  SDX_TRY(check_length("scale", a.scale.size(), x));
  const size_t width = features_of(x);
  for (size_t i = 0; i < x.count; ++i) {
    const float offset = pick(a.offset, i % width), scale = pick(a.scale, i % width);
    args.out().data<float>()[i] =
        x.type == DType::f32
            ? store<float>((x.data<float>()[i] - offset) * scale)
            : store<float>(float((get_f64(x.type, x.raw, i) - double(offset)) * double(scale)));
  }
  return ok();
}
std::vector<Case> scaler_cases() {
  return {{.name = "each_feature_has_its_own_scale",
           .opset = 1,
           .attrs = {{"offset", std::vector<float>{1, 2}}, {"scale", std::vector<float>{2, .5f}}},
           .inputs = {Tensor::of<float>({2, 2}, {1, 2, 3, 4})},
           .expected = {Tensor::of<float>({2, 2}, {0, 0, 4, 1})}},
          {.name = "or_all_share_one",
           .opset = 1,
           .attrs = {{"offset", std::vector<float>{1}}, {"scale", std::vector<float>{3}}},
           .inputs = {Tensor::of<int64_t>({3}, {1, 2, 3})},
           .expected = {Tensor::of<float>({3}, {0, 3, 6})}}};
}

// Normalizer: rows divided by a norm; unchanged where that is zero.
//   MAX  x / max x      L1  x / sum |x|      L2  x / sqrt(sum x^2)
// Sums go by lanes, in double.

enum class Norm { max, l1, l2 };
struct Normalizer {
  Norm norm;
};

constexpr Version kNormalizerHistory[] = {
    {1, "(X: T) -> (Y: f32) {norm: string = \"MAX\"} T in f32 f64 i32 i64"}};

Result<Normalizer> read_normalizer(const Node& node, const Facts& in) {
  SDX_TRY(check_matrix(in[0]));
  const std::string& norm = node.s("norm");
  if (norm == "MAX") return Normalizer{Norm::max};
  if (norm == "L1") return Normalizer{Norm::l1};
  if (norm == "L2") return Normalizer{Norm::l2};
  return fail("SDX-T0645", "norm is \"{}\", expected MAX, L1 or L2", norm);
}
double norm_of(Norm norm, const Rows& rows, size_t row) {
  const auto x = [&](size_t i) { return rows.at(row, i); };
  switch (norm) {
    case Norm::l1:
      return lane_sum<double>(rows.width, [&](size_t i) { return std::fabs(x(i)); });
    case Norm::l2:
      return std::sqrt(lane_sum<double>(rows.width, [&](size_t i) { return x(i) * x(i); }));
    case Norm::max:
      break;
  }
  double most = -std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < rows.width; ++i) most = x(i) > most || x(i) != x(i) ? x(i) : most;
  return most;
}
Status run_normalizer(const Normalizer& a, Args& args) {
  const Rows rows(args.in(0));
  for (size_t row = 0; row < rows.count; ++row) {
    const double norm = norm_of(a.norm, rows, row);
    for (size_t i = 0; i < rows.width; ++i) {
      const double x = rows.at(row, i);
      args.out().data<float>()[row * rows.width + i] =
          store<float>(float(norm == 0 ? x : x / norm));
    }
  }
  return ok();
}
std::vector<Case> normalizer_cases() {
  const auto with = [](std::string norm, Tensor x, Tensor y) {
    return Case{
        .name = norm, .opset = 1, .attrs = {{"norm", norm}}, .inputs = {x}, .expected = {y}};
  };
  return {with("MAX", Tensor::of<float>({2, 2}, {-1, 2, 0, 0}),
               Tensor::of<float>({2, 2}, {-.5f, 1, 0, 0})),
          with("L1", Tensor::of<int32_t>({2}, {-1, 3}), Tensor::of<float>({2}, {-.25f, .75f})),
          with("L2", Tensor::of<double>({1, 2}, {-3, 4}), Tensor::of<float>({1, 2}, {-.6f, .8f}))};
}

// Binarizer.

struct Binarizer {
  float threshold;
};

constexpr Version kBinarizerHistory[] = {
    {1, "(X: T) -> (Y: T) {threshold: float = 0} T in f32 f64 i32 i64"}};

Result<Binarizer> read_binarizer(const Node& node, const Facts&) {
  return Binarizer{node.f("threshold")};
}
Result<Facts> infer_binarizer(const Binarizer&, const Facts& in) { return Facts{like(in[0])}; }
Status run_binarizer(const Binarizer& a, Args& args) {
  const View &x = args.in(0), &y = args.out();
  // An integer is above t exactly when it is above floor t, which leaves no rounding to doubt.
  const float floor = std::floor(a.threshold);
  const auto whole = to_integer<int64_t>(floor);
  for (size_t i = 0; i < x.count; ++i) {
    const bool above =
        is_integer(x.type)
            ? (get_i64(x.type, x.raw, i) > whole || floor < -0x1p63f) && a.threshold == a.threshold
            : get_f64(x.type, x.raw, i) > double(a.threshold);
    set_f64(y.type, y.raw, i, above ? 1 : 0);
  }
  return ok();
}
std::vector<Case> binarizer_cases() {
  return {{.name = "above_the_threshold",
           .opset = 1,
           .attrs = {{"threshold", 1.5f}},
           .inputs = {Tensor::of<float>({4}, {1, 1.5f, 1.6f, NAN})},
           .expected = {Tensor::of<float>({4}, {0, 0, 1, 0})}},
          {.name = "of_integers",
           .opset = 1,
           .attrs = {{"threshold", -1.5f}},
           .inputs = {Tensor::of<int64_t>({3}, {-2, -1, int64_t{1} << 62})},
           .expected = {Tensor::of<int64_t>({3}, {0, 1, 1})}}};
}

// Imputer.

struct Imputer {
  bool whole;  // integers
  std::vector<float> floats;
  std::vector<int64_t> ints;
  float replaced_float;
  int64_t replaced_int;
};

constexpr Version kImputerHistory[] = {
    {1,
     "(X: T) -> (Y: T) {imputed_value_floats: floats, imputed_value_int64s: ints, "
     "replaced_value_float: float = 0, replaced_value_int64: int = 0} T in f32 f64 i32 i64"}};

Result<Imputer> read_imputer(const Node& node, const Facts& in) {
  Imputer a{is_integer(in[0].type), floats(node, "imputed_value_floats"),
            node.ints_or_empty("imputed_value_int64s"), node.f("replaced_value_float"),
            node.i("replaced_value_int64")};
  const size_t count = a.whole ? a.ints.size() : a.floats.size();
  if (count == 0) {
    return fail("SDX-T0646", "there is no imputed value for elements of type {}",
                short_name(in[0].type));
  }
  SDX_TRY(check_length("the list of imputed values", count, in[0]));
  return a;
}
Result<Facts> infer_imputer(const Imputer&, const Facts& in) { return Facts{like(in[0])}; }
Status run_imputer(const Imputer& a, Args& args) {
  const View &x = args.in(0), &y = args.out();
  SDX_TRY(check_length("the list of imputed values", a.whole ? a.ints.size() : a.floats.size(), x));
  const size_t width = features_of(x);
  const bool nan = a.replaced_float != a.replaced_float;
  for (size_t i = 0; i < x.count; ++i) {
    if (a.whole) {
      const int64_t value = get_i64(x.type, x.raw, i);
      set_i64(y.type, y.raw, i, value == a.replaced_int ? pick(a.ints, i % width) : value);
    } else {
      const double value = get_f64(x.type, x.raw, i);
      const bool replaced = nan ? value != value : value == double(a.replaced_float);
      set_f64(y.type, y.raw, i, replaced ? double(pick(a.floats, i % width)) : value);
    }
  }
  return ok();
}
std::vector<Case> imputer_cases() {
  return {
      {.name = "nan_becomes_the_value_of_its_feature",
       .opset = 1,
       .attrs = {{"imputed_value_floats", std::vector<float>{7, 8}}, {"replaced_value_float", NAN}},
       .inputs = {Tensor::of<float>({2, 2}, {NAN, 1, 0, NAN})},
       .expected = {Tensor::of<float>({2, 2}, {7, 1, 0, 8})}},
      {.name = "of_integers",
       .opset = 1,
       .attrs = {{"imputed_value_int64s", std::vector<int64_t>{5}},
                 {"replaced_value_int64", int64_t{-1}}},
       .inputs = {Tensor::of<int32_t>({3}, {-1, 0, 2})},
       .expected = {Tensor::of<int32_t>({3}, {5, 0, 2})}}};
}

// FeatureVectorizer: columns side by side; each input cut or filled with zeros to its dimension.

struct FeatureVectorizer {
  std::vector<int64_t> widths;  // none: as the inputs are
};

constexpr Version kVectorizerHistory[] = {
    {1, "(X...: T1) -> (Y: f32) {inputdimensions: ints} T1 in f32 f64 i32 i64"}};

Result<FeatureVectorizer> read_vectorizer(const Node& node, const Facts& in) {
  FeatureVectorizer a{node.ints_or_empty("inputdimensions")};
  for (const Fact& fact : in) SDX_TRY(check_matrix(fact));
  if (!a.widths.empty() && a.widths.size() != in.size()) {
    return fail("SDX-T0647", "{} inputdimensions are given for {} inputs", a.widths.size(),
                in.size());
  }
  for (const int64_t width : a.widths) {
    if (width < 0) return fail("SDX-T0647", "inputdimensions holds {}", width);
  }
  return a;
}
Result<Facts> infer_vectorizer(const FeatureVectorizer& a, const Facts& in) {
  Dim width = 0;
  Dim rows = Dim::unknown();
  bool known = true;
  for (size_t i = 0; i < in.size(); ++i) {
    if (in[i].has_rank() && (rows.is_unknown() || row_count(in[i]).is_const())) {
      rows = row_count(in[i]);
    }
    if (!a.widths.empty()) {
      width = width + Dim(a.widths[i]);
    } else if (in[i].has_rank()) {
      width = width + in[i].shape->back();
    } else {
      known = false;
    }
  }
  return Facts{Fact::tensor(DType::f32, {rows, known ? width : Dim::unknown()})};
}
Status run_vectorizer(const FeatureVectorizer& a, Args& args) {
  const Rows first(args.in(0));
  Dims dims{int64_t(first.count), 0};
  for (size_t i = 0; i < args.ins.size(); ++i) {
    const Rows rows(args.in(i));
    if (rows.count != first.count) {
      return fail("SDX-R0642", "input {} has {} rows, input 0 has {}", i, rows.count, first.count);
    }
    const int64_t own = args.in(i).dims.back();
    dims[1] += a.widths.empty() ? own : a.widths[i];
  }
  SDX_TRY(element_count(dims));
  const auto width = size_t(dims[1]);
  SDX_ASSIGN(const View y, output(args, 0, dims));
  std::fill_n(y.data<float>(), y.count, 0.f);
  size_t start = 0;
  for (size_t i = 0; i < args.ins.size(); ++i) {
    const Rows rows(args.in(i));
    const size_t kept = a.widths.empty() ? size_t(args.in(i).dims.back()) : size_t(a.widths[i]);
    for (size_t row = 0; row < rows.count; ++row) {
      for (size_t k = 0; k < std::min(kept, rows.width); ++k) {
        y.data<float>()[row * width + start + k] = store<float>(float(rows.at(row, k)));
      }
    }
    start += kept;
  }
  return ok();
}
std::vector<Case> vectorizer_cases() {
  return {{.name = "cuts_and_fills",
           .opset = 1,
           .attrs = {{"inputdimensions", std::vector<int64_t>{1, 3}}},
           .inputs = {Tensor::of<int64_t>({2, 2}, {1, 2, 3, 4}),
                      Tensor::of<int64_t>({2, 2}, {5, 6, 7, 8})},
           .expected = {Tensor::of<float>({2, 4}, {1, 5, 6, 0, 3, 7, 8, 0})}},
          {.name = "vectors_are_rows",
           .opset = 1,
           .attrs = {},
           .inputs = {Tensor::of<double>({2}, {1, 2}), Tensor::of<double>({1, 1}, {3})},
           .expected = {Tensor::of<float>({1, 3}, {1, 2, 3})}}};
}

// ArrayFeatureExtractor: elements of the last axis by index. A vector gives a matrix of one row.

struct Extractor {};

constexpr Version kExtractorHistory[] = {
    {1, "(X: T, Y: i64) -> (Z: T) T in f32 f64 i32 i64 string"}};

Result<Extractor> read_extractor(const Node&, const Facts& in) {
  if (in[0].has_rank() && in[0].rank() == 0) {
    return fail("SDX-T0648", "a scalar has no features to extract");
  }
  return Extractor{};
}
Result<Facts> infer_extractor(const Extractor&, const Facts& in) {
  if (!in[0].has_rank()) return Facts{Fact::tensor(in[0].type)};
  Shape shape = *in[0].shape;
  shape.back() = in[1].has_rank() ? product(*in[1].shape) : Dim::unknown();
  if (shape.size() == 1) shape.insert(shape.begin(), Dim(1));
  return Facts{Fact::tensor(in[0].type, std::move(shape))};
}
Status run_extractor(const Extractor&, Args& args) {
  const View &x = args.in(0), &indices = args.in(1);
  const size_t width = features_of(x), count = indices.count;
  for (const int64_t index : indices.values<int64_t>()) {
    if (index < 0 || index >= int64_t(width)) {
      return fail("SDX-R0643", "index {} is outside the last axis of {}", index, width);
    }
  }
  Dims dims(x.dims.begin(), x.dims.end());
  dims.back() = int64_t(count);
  if (dims.size() == 1) dims.insert(dims.begin(), 1);
  SDX_ASSIGN(const View z, output(args, 0, std::move(dims)));
  for (size_t row = 0; count != 0 && row < z.count / count; ++row) {
    for (size_t i = 0; i < count; ++i) {
      copy_element(x.type, x.raw, row * width + size_t(indices.data<int64_t>()[i]), z.raw,
                   row * count + i);
    }
  }
  return ok();
}
std::vector<Case> extractor_cases() {
  return {
      {.name = "of_a_vector",
       .opset = 1,
       .attrs = {},
       .inputs = {Tensor::of<std::string>({3}, {"a", "b", "c"}), Tensor::of<int64_t>({2}, {2, 0})},
       .expected = {Tensor::of<std::string>({1, 2}, {"c", "a"})}},
      {.name = "of_a_cube",
       .opset = 1,
       .attrs = {},
       .inputs = {Tensor::of<int32_t>({2, 1, 2}, {1, 2, 3, 4}),
                  Tensor::of<int64_t>({1, 3}, {1, 1, 0})},
       .expected = {Tensor::of<int32_t>({2, 1, 3}, {2, 2, 1, 4, 4, 3})}}};
}

constexpr OpOf<Scaler> kScaler{
    .name = "Scaler",
    .doc = "Features moved by an offset and then multiplied by a scale.",
    .history = kScalerHistory,
    .read = read_scaler,
    .infer = infer_floats<Scaler>,
    .reference = run_scaler,
    .cases = scaler_cases,
    .domain = kMlDomain,
};
constexpr OpOf<Normalizer> kNormalizer{
    .name = "Normalizer",
    .doc = "Rows divided by their norm.",
    .history = kNormalizerHistory,
    .read = read_normalizer,
    .infer = infer_floats<Normalizer>,
    .reference = run_normalizer,
    .cases = normalizer_cases,
    .domain = kMlDomain,
};
constexpr OpOf<Binarizer> kBinarizer{
    .name = "Binarizer",
    .doc = "1 for elements above a threshold, 0 for others.",
    .history = kBinarizerHistory,
    .read = read_binarizer,
    .infer = infer_binarizer,
    .reference = run_binarizer,
    .cases = binarizer_cases,
    .domain = kMlDomain,
};
constexpr OpOf<Imputer> kImputer{
    .name = "Imputer",
    .doc = "One value, often NaN, replaced by others.",
    .history = kImputerHistory,
    .read = read_imputer,
    .infer = infer_imputer,
    .reference = run_imputer,
    .cases = imputer_cases,
    .domain = kMlDomain,
};
constexpr OpOf<FeatureVectorizer> kFeatureVectorizer{
    .name = "FeatureVectorizer",
    .doc = "The features of several inputs side by side, as floats.",
    .history = kVectorizerHistory,
    .read = read_vectorizer,
    .infer = infer_vectorizer,
    .reference = run_vectorizer,
    .cases = vectorizer_cases,
    .domain = kMlDomain,
};
constexpr OpOf<Extractor> kArrayFeatureExtractor{
    .name = "ArrayFeatureExtractor",
    .doc = "Elements of the last axis by their indices.",
    .history = kExtractorHistory,
    .read = read_extractor,
    .infer = infer_extractor,
    .reference = run_extractor,
    .cases = extractor_cases,
    .domain = kMlDomain,
};

}  // namespace

extern const Op scaler = erase<kScaler>();
extern const Op normalizer = erase<kNormalizer>();
extern const Op binarizer = erase<kBinarizer>();
extern const Op imputer = erase<kImputer>();
extern const Op feature_vectorizer = erase<kFeatureVectorizer>();
extern const Op array_feature_extractor = erase<kArrayFeatureExtractor>();

}  // namespace sdx::ops
