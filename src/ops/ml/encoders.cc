// Operators that look elements up in lists: LabelEncoder, CategoryMapper and OneHotEncoder.
#include <cmath>
#include <map>

#include "ops/ml/scores.h"
#include "ops/tensor/strided_copy.h"

namespace sdx::ops {
namespace {

// Where an element stands in a list of keys: of a repeated one, the last. Equal numbers are equal
// keys, and so are all NaNs.
class Index {
 public:
  void add(const Tensor& keys) {
    for (size_t i = 0; i < keys.count(); ++i) {
      if (keys.type() == DType::string) {
        strings_[keys.data<std::string>()[i]] = i;
      } else {
        numbers_[bits_of(keys.type(), keys.raw(), i)] = i;
      }
    }
  }
  std::optional<size_t> find(DType type, const void* data, size_t i) const {
    if (type == DType::string) {
      const auto at = strings_.find(static_cast<const std::string*>(data)[i]);
      return at == strings_.end() ? std::nullopt : std::optional(at->second);
    }
    return find(bits_of(type, data, i));
  }
  std::optional<size_t> find(int64_t bits) const {
    const auto at = numbers_.find(bits);
    return at == numbers_.end() ? std::nullopt : std::optional(at->second);
  }

 private:
  static int64_t bits_of(DType type, const void* data, size_t i) {
    if (is_integer(type)) return get_i64(type, data, i);
    const double x = get_f64(type, data, i);
    return std::bit_cast<int64_t>(x != x ? double(NAN) : x == 0 ? 0.0 : x);
  }
  std::map<std::string, size_t, std::less<>> strings_;
  std::map<int64_t, size_t> numbers_;
};

struct Encoder {
  Index keys;
  Tensor values, fallback;  // one value for each key; one for all others
};

constexpr Version kLabelEncoderHistory[] = {
    {1,
     "(X: T1) -> (Y: T2) {classes_strings: strings, default_int64: int = -1, default_string: "
     "string = \"_Unused\"} T1 in i64 string T2 in i64 string"},
    {2,
     "{default_float: float = -0, keys_floats: floats, keys_int64s: ints, keys_strings: strings, "
     "values_floats: floats, values_int64s: ints, values_strings: strings, -classes_strings} T1 "
     "+= f32 T2 += f32"},
    {4,
     "{default_tensor: tensor, keys_tensor: tensor, values_tensor: tensor} T1 += f64 i16 i32 T2 "
     "+= f64 i16 i32"},
};
constexpr Version kCategoryMapperHistory[] = {
    {1,
     "(X: T1) -> (Y: T2) {cats_int64s: ints, cats_strings: strings, default_int64: int = -1, "
     "default_string: string = \"_Unused\"} T1 in i64 string T2 in i64 string"},
};

template <class T>
Tensor list(const std::vector<T>& values) {
  return Tensor::of<T>({int64_t(values.size())}, std::span<const T>(values));
}

Result<Encoder> encoder(const Facts& in, const Tensor& keys, Tensor values, Tensor fallback) {
  if (keys.type() != in[0].type && in[0].type != DType::undefined) {
    return fail("SDX-T0650", "the keys are {}, the input is {}", short_name(keys.type()),
                short_name(in[0].type));
  }
  if (keys.count() != values.count()) {
    return fail("SDX-T0650", "there are {} keys and {} values", keys.count(), values.count());
  }
  if (fallback.type() != values.type() || fallback.count() != 1) {
    return fail("SDX-T0650", "the default is {}{}, expected one element of type {}",
                short_name(fallback.type()), to_string(fallback.dims()), short_name(values.type()));
  }
  Encoder a{{}, std::move(values), std::move(fallback)};
  a.keys.add(keys);
  return a;
}

// Strings become their numbers and numbers their strings.
Result<Encoder> between(const Node& node, const Facts& in, const std::vector<int64_t>& numbers,
                        const std::vector<std::string>& names) {
  if (in[0].type == DType::string) {
    return encoder(in, list(names), list(numbers), Tensor::scalar(node.i("default_int64")));
  }
  return encoder(in, list(numbers), list(names), Tensor::scalar(node.s("default_string")));
}

// The one list that is given under `prefix`, as a tensor.
Result<Tensor> one_list(const Node& node, const std::string& prefix) {
  std::vector<Tensor> found;
  if (node.has(prefix + "_tensor")) found.push_back(node.get<Tensor>(prefix + "_tensor"));
  if (const auto x = floats(node, prefix + "_floats"); !x.empty()) found.push_back(list(x));
  if (const auto x = strings(node, prefix + "_strings"); !x.empty()) found.push_back(list(x));
  if (const auto x = node.ints_or_empty(prefix + "_int64s"); !x.empty()) found.push_back(list(x));
  if (found.size() == 1) return found[0];
  return fail("SDX-T0651", "{} lists of {} are given, expected one", found.size(), prefix);
}

Tensor fallback_of(const Node& node, DType type) {
  if (node.has("default_tensor")) return node.get<Tensor>("default_tensor");
  const bool typed = !node.has("values_tensor");  // the default that stands with the list's type
  if (type == DType::string) {
    return Tensor::scalar(typed ? node.s("default_string") : std::string("_Unused"));
  }
  Tensor number = Tensor::make(type, {});
  if (is_integer(type)) {
    set_i64(type, number.raw(), 0, typed ? node.i("default_int64") : -1);
  } else {
    set_f64(type, number.raw(), 0, typed ? double(node.f("default_float")) : -0.0);
  }
  return number;
}

Result<Encoder> read_label_encoder(const Node& node, const Facts& in) {
  if (node.opset < 2) {
    const std::vector<std::string> names = strings(node, "classes_strings");
    std::vector<int64_t> numbers(names.size());
    for (size_t i = 0; i < names.size(); ++i) numbers[i] = int64_t(i);
    return between(node, in, numbers, names);
  }
  SDX_ASSIGN(const Tensor keys, one_list(node, "keys"));
  SDX_ASSIGN(const Tensor values, one_list(node, "values"));
  return encoder(in, keys, values, fallback_of(node, values.type()));
}
Result<Encoder> read_category_mapper(const Node& node, const Facts& in) {
  return between(node, in, node.ints_or_empty("cats_int64s"), strings(node, "cats_strings"));
}

Result<Facts> infer_encoder(const Encoder& a, const Facts& in) {
  return Facts{like(in[0], a.values.type())};
}
Status run_encoder(const Encoder& a, Args& args) {
  const View &x = args.in(0), &y = args.out();
  for (size_t i = 0; i < x.count; ++i) {
    const auto at = a.keys.find(x.type, x.raw, i);
    const Tensor& from = at ? a.values : a.fallback;
    copy_element(y.type, from.raw(), at.value_or(0), y.raw, i);
  }
  return ok();
}

std::vector<Case> label_encoder_cases() {
  const auto names = std::vector<std::string>{"a", "b"};
  return {{.name = "opset1_numbers_its_classes",
           .opset = 1,
           .attrs = {{"classes_strings", names}},
           .inputs = {Tensor::of<std::string>({3}, {"b", "x", "a"})},
           .expected = {Tensor::of<int64_t>({3}, {1, -1, 0})}},
          {.name = "opset1_names_its_classes",
           .opset = 1,
           .attrs = {{"classes_strings", names}},
           .inputs = {Tensor::of<int64_t>({2}, {1, 2})},
           .expected = {Tensor::of<std::string>({2}, {"b", "_Unused"})}},
          {.name = "nan_is_a_key_and_the_last_of_equal_keys_wins",
           .opset = 2,
           .attrs = {{"keys_floats", std::vector<float>{NAN, 0, -0.f}},
                     {"values_int64s", std::vector<int64_t>{1, 2, 3}}},
           .inputs = {Tensor::of<float>({2, 2}, {-NAN, 0, -0.f, 7})},
           .expected = {Tensor::of<int64_t>({2, 2}, {1, 3, 3, -1})}},
          {.name = "opset4_takes_tensors",
           .opset = 4,
           .attrs = {{"keys_tensor", Tensor::of<int16_t>({2}, {5, 6})},
                     {"values_tensor", Tensor::of<double>({2}, {.5, .6})}},
           .inputs = {Tensor::of<int16_t>({3}, {6, 5, 4})},
           .expected = {Tensor::of<double>({3}, {.6, .5, -0.0})}}};
}
std::vector<Case> category_mapper_cases() {
  const AttrMap attrs{{"cats_int64s", std::vector<int64_t>{10, 20}},
                      {"cats_strings", std::vector<std::string>{"ten", "twenty"}},
                      {"default_int64", int64_t{-7}}};
  return {{.name = "to_integers",
           .opset = 1,
           .attrs = attrs,
           .inputs = {Tensor::of<std::string>({1, 2}, {"twenty", "six"})},
           .expected = {Tensor::of<int64_t>({1, 2}, {20, -7})}},
          {.name = "to_strings",
           .opset = 1,
           .attrs = attrs,
           .inputs = {Tensor::of<int64_t>({2}, {10, 6})},
           .expected = {Tensor::of<std::string>({2}, {"ten", "_Unused"})}}};
}

struct OneHot {
  Index categories;
  size_t count;
  bool zeros;  // for an element of no category
};

constexpr Version kOneHotHistory[] = {
    {1,
     "(X: T) -> (Y: f32) {cats_int64s: ints, cats_strings: strings, zeros: int = 1} T in f32 f64 "
     "i32 i64 string"},
};

Result<OneHot> read_one_hot(const Node& node, const Facts& in) {
  const bool text = in[0].type == DType::string;
  const std::vector<int64_t> numbers = node.ints_or_empty("cats_int64s");
  const std::vector<std::string> names = strings(node, "cats_strings");
  OneHot a{{}, text ? names.size() : numbers.size(), node.i("zeros") != 0};
  if (a.count == 0) {
    return fail("SDX-T0652", "there are no categories for elements of type {}",
                short_name(in[0].type));
  }
  a.categories.add(text ? list(names) : list(numbers));
  return a;
}
Result<Facts> infer_one_hot(const OneHot& a, const Facts& in) {
  if (!in[0].has_rank()) return Facts{Fact::tensor(DType::f32)};
  Shape shape = *in[0].shape;
  shape.push_back(Dim(int64_t(a.count)));
  return Facts{Fact::tensor(DType::f32, std::move(shape))};
}
Status run_one_hot(const OneHot& a, Args& args) {
  const View &x = args.in(0), &y = args.out();
  std::fill_n(y.data<float>(), y.count, 0.f);
  for (size_t i = 0; i < x.count; ++i) {
    const auto at = is_float(x.type)
                        ? a.categories.find(to_integer<int64_t>(get_f64(x.type, x.raw, i)))
                        : a.categories.find(x.type, x.raw, i);
    if (at) {
      y.data<float>()[i * a.count + *at] = 1;
    } else if (!a.zeros) {
      return fail("SDX-R0644", "element {} is none of the {} categories", i, a.count);
    }
  }
  return ok();
}
std::vector<Case> one_hot_cases() {
  return {
      {.name = "floats_are_truncated",
       .opset = 1,
       .attrs = {{"cats_int64s", std::vector<int64_t>{3, 4}}},
       .inputs = {Tensor::of<float>({1, 3}, {4.9f, 3, 5})},
       .expected = {Tensor::of<float>({1, 3, 2}, {0, 1, 1, 0, 0, 0})}},
      {.name = "of_strings",
       .opset = 1,
       .attrs = {{"cats_strings", std::vector<std::string>{"a", "b", "c"}}, {"zeros", int64_t{0}}},
       .inputs = {Tensor::of<std::string>({2}, {"c", "a"})},
       .expected = {Tensor::of<float>({2, 3}, {0, 0, 1, 1, 0, 0})}}};
}

constexpr OpOf<Encoder> kLabelEncoder{
    .name = "LabelEncoder",
    .doc = "Each element replaced by the value that stands with its key.",
    .history = kLabelEncoderHistory,
    .read = read_label_encoder,
    .infer = infer_encoder,
    .reference = run_encoder,
    .cases = label_encoder_cases,
    .domain = kMlDomain,
};
constexpr OpOf<Encoder> kCategoryMapper{
    .name = "CategoryMapper",
    .doc = "Strings as integers, or integers as strings, by a table.",
    .history = kCategoryMapperHistory,
    .read = read_category_mapper,
    .infer = infer_encoder,
    .reference = run_encoder,
    .cases = category_mapper_cases,
    .domain = kMlDomain,
};
constexpr OpOf<OneHot> kOneHotEncoder{
    .name = "OneHotEncoder",
    .doc = "A 1 in the place of each element's category, zeros elsewhere.",
    .history = kOneHotHistory,
    .read = read_one_hot,
    .infer = infer_one_hot,
    .reference = run_one_hot,
    .cases = one_hot_cases,
    .domain = kMlDomain,
};

}  // namespace

extern const Op label_encoder = erase<kLabelEncoder>();
extern const Op category_mapper = erase<kCategoryMapper>();
extern const Op one_hot_encoder = erase<kOneHotEncoder>();

}  // namespace sdx::ops
