// Operators between maps and tensors: CastMap, DictVectorizer and ZipMap.
#include "ops/element_of.h"
#include "ops/ml/scores.h"
#include "ops/tensor/strided_copy.h"
#include "ops/tensor/text_number.h"

namespace sdx::ops {
namespace {

struct CastMap {
  DType type;
  int64_t length;  // -1: as many as the map has; else each value stands where its key says
};

constexpr Version kCastMapHistory[] = {
    {1,
     "(X: T1) -> (Y: T2) {cast_to: string = \"TO_FLOAT\", map_form: string = \"DENSE\", max_map: "
     "int = 1} T1 in map(i64,f32) map(i64,string) T2 in f32 i64 string"}};

Result<CastMap> read_cast_map(const Node& node, const Facts&) {
  CastMap a{DType::f32, -1};
  const std::string &to = node.s("cast_to"), &form = node.s("map_form");
  if (to == "TO_STRING") {
    a.type = DType::string;
  } else if (to == "TO_INT64") {
    a.type = DType::i64;
  } else if (to != "TO_FLOAT") {
    return fail("SDX-T0653", "cast_to is \"{}\", expected TO_FLOAT, TO_STRING or TO_INT64", to);
  }
  if (form == "SPARSE") {
    a.length = node.i("max_map");
    if (a.length < 0 || a.length > int64_t{1} << 40) {
      return fail("SDX-T0653", "max_map is {}", a.length);
    }
  } else if (form != "DENSE") {
    return fail("SDX-T0653", "map_form is \"{}\", expected DENSE or SPARSE", form);
  }
  return a;
}
Result<Facts> infer_cast_map(const CastMap& a, const Facts&) {
  return Facts{Fact::tensor(a.type, {a.length < 0 ? Dim::unknown() : Dim(a.length)})};
}

// One value as an element of y. Texts are written and read as by Cast.
Status cast_into(const View& y, size_t i, const Tensor& value) {
  if (value.type() == y.type) {
    copy_element(y.type, value.raw(), 0, y.raw, i);
  } else if (value.type() != DType::string) {
    const float x = value.data<float>()[0];
    if (y.type == DType::string) {
      y.data<std::string>()[i] = number_text(x);
    } else {
      y.data<int64_t>()[i] = to_integer<int64_t>(x);
    }
  } else if (y.type == DType::f32) {
    SDX_ASSIGN(y.data<float>()[i], parse_f32(value.data<std::string>()[0]));
  } else {
    SDX_ASSIGN(y.data<int64_t>()[i], parse_i64(value.data<std::string>()[0]));
  }
  return ok();
}

Status run_cast_map(const CastMap& a, Args& args) {
  const Map& map = args.value(0).map();
  const int64_t length = a.length < 0 ? int64_t(map.size()) : a.length;
  SDX_ASSIGN(const View y, output(args, 0, {length}));
  if (a.type != DType::string) std::memset(y.raw, 0, y.bytes());
  size_t next = 0;
  for (const auto& [key, value] : map) {
    if (!std::holds_alternative<int64_t>(key)) return fail("SDX-R0645", "a key is a string");
    const int64_t at = a.length < 0 ? int64_t(next++) : std::get<int64_t>(key);
    if (at < 0 || at >= length) {
      return fail("SDX-R0645", "key {} is outside [0, {})", at, length);
    }
    SDX_TRY(cast_into(y, size_t(at), value.tensor()));
  }
  return ok();
}

template <class T>
Value entries(std::vector<std::pair<MapKey, T>> items) {
  Map map;
  for (auto& [key, value] : items) map.emplace(key, Tensor::scalar(value));
  return Value::of(std::move(map));
}

std::vector<Case> cast_map_cases() {
  const Value numbers = entries<float>({{int64_t{3}, 1.5f}, {int64_t{1}, -2}});
  const Value texts = entries<std::string>({{int64_t{0}, "7"}, {int64_t{2}, "8.5"}});
  return {{.name = "dense_in_the_order_of_keys",
           .opset = 1,
           .attrs = {},
           .inputs = {numbers},
           .expected = {Tensor::of<float>({2}, {-2, 1.5f})}},
          {.name = "sparse_at_the_keys",
           .opset = 1,
           .attrs = {{"map_form", std::string("SPARSE")},
                     {"max_map", int64_t{5}},
                     {"cast_to", std::string("TO_INT64")}},
           .inputs = {numbers},
           .expected = {Tensor::of<int64_t>({5}, {0, -2, 0, 1, 0})}},
          {.name = "from_text",
           .opset = 1,
           .attrs = {},
           .inputs = {texts},
           .expected = {Tensor::of<float>({2}, {7, 8.5f})}},
          {.name = "to_text",
           .opset = 1,
           .attrs = {{"cast_to", std::string("TO_STRING")}},
           .inputs = {numbers},
           .expected = {Tensor::of<std::string>({2}, {"-2.0", "1.5"})}}};
}

struct Dict {
  std::map<MapKey, size_t> places;
  size_t length;
};

constexpr Version kDictHistory[] = {
    {1,
     "(X: T1) -> (Y: T2) {int64_vocabulary: ints, string_vocabulary: strings} T1 in map(i64,f32) "
     "map(i64,f64) map(i64,string) map(string,f32) map(string,f64) map(string,i64) T2 in f32 f64 "
     "i64 string"}};

Result<Dict> read_dict(const Node& node, const Facts& in) {
  const std::vector<int64_t> numbers = node.ints_or_empty("int64_vocabulary");
  const std::vector<std::string> names = strings(node, "string_vocabulary");
  if (numbers.empty() == names.empty()) {
    return fail("SDX-T0654", "one of int64_vocabulary and string_vocabulary must be given");
  }
  if (in[0].kind == Fact::Kind::map && (in[0].type == DType::string) != numbers.empty()) {
    return fail("SDX-T0654", "the vocabulary does not hold keys of type {}",
                short_name(in[0].type));
  }
  Dict a{{}, std::max(numbers.size(), names.size())};
  for (size_t i = 0; i < numbers.size(); ++i) a.places[numbers[i]] = i;
  for (size_t i = 0; i < names.size(); ++i) a.places[names[i]] = i;
  return a;
}
Result<Facts> infer_dict(const Dict& a, const Facts& in) {
  return Facts{Fact::tensor(element_of(in[0]).type, {Dim(1), Dim(int64_t(a.length))})};
}
Status run_dict(const Dict& a, Args& args) {
  const Map& map = args.value(0).map();
  const DType type = map.empty() ? args.out().type : map.begin()->second.tensor().type();
  Tensor y = Tensor::make(type == DType::undefined ? DType::f32 : type, {1, int64_t(a.length)});
  for (const auto& [key, value] : map) {
    // Keys outside the vocabulary have no place.
    const auto at = a.places.find(key);
    if (at != a.places.end()) copy_element(type, value.tensor().raw(), 0, y.raw(), at->second);
  }
  args.give(0, std::move(y));
  return ok();
}
std::vector<Case> dict_cases() {
  return {{.name = "absent_keys_are_zero",
           .opset = 1,
           .attrs = {{"string_vocabulary", std::vector<std::string>{"a", "c", "b", "z"}}},
           .inputs = {entries<int64_t>({{"a", 4}, {"c", 8}})},
           .expected = {Tensor::of<int64_t>({1, 4}, {4, 8, 0, 0})}},
          {.name = "of_integers_to_strings",
           .opset = 1,
           .attrs = {{"int64_vocabulary", std::vector<int64_t>{2, 1}}},
           .inputs = {entries<std::string>({{int64_t{1}, "one"}})},
           .expected = {Tensor::of<std::string>({1, 2}, {"", "one"})}}};
}

struct ZipMap {
  Labels labels;
};

constexpr Version kZipMapHistory[] = {
    {1,
     "(X: f32) -> (Z: T) {classlabels_int64s: ints, classlabels_strings: strings} T in "
     "seq(map(i64,f32)) seq(map(string,f32))"}};

Result<ZipMap> read_zip_map(const Node& node, const Facts& in) {
  SDX_TRY(check_matrix(in[0]));
  ZipMap a;
  SDX_ASSIGN(a.labels, read_labels(node, "classlabels_int64s", "classlabels_strings"));
  if (const auto width = row_width(in[0]); width && *width != int64_t(a.labels.count())) {
    return fail("SDX-T0655", "there are {} labels for {} columns", a.labels.count(), *width);
  }
  return a;
}
Result<Facts> infer_zip_map(const ZipMap& a, const Facts&) {
  return Facts{Fact::sequence(Fact::map(a.labels.type(), Fact::tensor(DType::f32, Shape{})))};
}
Status run_zip_map(const ZipMap& a, Args& args) {
  const Rows rows(args.in(0));
  if (rows.width != a.labels.count() && rows.count != 0) {
    return fail("SDX-R0646", "there are {} labels for {} columns", a.labels.count(), rows.width);
  }
  Sequence maps;
  for (size_t row = 0; row < rows.count; ++row) {
    Map map;
    for (size_t i = 0; i < rows.width; ++i) {
      const MapKey key =
          a.labels.type() == DType::string ? MapKey(a.labels.strings[i]) : MapKey(a.labels.ints[i]);
      map[key] = Tensor::scalar(rows.x.data<float>()[row * rows.width + i]);
    }
    maps.push_back(Value::of(std::move(map)));
  }
  args.give(0, Value::of(std::move(maps)));
  return ok();
}
std::vector<Case> zip_map_cases() {
  return {{.name = "a_map_for_each_row",
           .opset = 1,
           .attrs = {{"classlabels_strings", std::vector<std::string>{"b", "a"}}},
           .inputs = {Tensor::of<float>({2, 2}, {1, 2, 3, 4})},
           .expected = {Value::of(Sequence{entries<float>({{"b", 1}, {"a", 2}}),
                                           entries<float>({{"b", 3}, {"a", 4}})})}},
          {.name = "a_vector_is_one_row",
           .opset = 1,
           .attrs = {{"classlabels_int64s", std::vector<int64_t>{5}}},
           .inputs = {Tensor::of<float>({1}, {.5f})},
           .expected = {Value::of(Sequence{entries<float>({{int64_t{5}, .5f}})})}}};
}

constexpr OpOf<CastMap> kCastMap{
    .name = "CastMap",
    .doc = "The values of a map with integer keys, in the order of the keys.",
    .history = kCastMapHistory,
    .read = read_cast_map,
    .infer = infer_cast_map,
    .reference = run_cast_map,
    .cases = cast_map_cases,
    .domain = kMlDomain,
    .whole_values = true,
};
constexpr OpOf<Dict> kDictVectorizer{
    .name = "DictVectorizer",
    .doc = "The values of a map in the order of a vocabulary of keys.",
    .history = kDictHistory,
    .read = read_dict,
    .infer = infer_dict,
    .reference = run_dict,
    .cases = dict_cases,
    .domain = kMlDomain,
    .whole_values = true,
};
constexpr OpOf<ZipMap> kZipMap{
    .name = "ZipMap",
    .doc = "Each row as a map from labels to its elements.",
    .history = kZipMapHistory,
    .read = read_zip_map,
    .infer = infer_zip_map,
    .reference = run_zip_map,
    .cases = zip_map_cases,
    .domain = kMlDomain,
    .whole_values = true,
};

}  // namespace

extern const Op cast_map = erase<kCastMap>();
extern const Op dict_vectorizer = erase<kDictVectorizer>();
extern const Op zip_map = erase<kZipMap>();

}  // namespace sdx::ops
