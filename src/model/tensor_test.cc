#include "model/tensor.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "model/fields.h"
#include "model/io.h"

namespace sdx::model {
namespace {

namespace fs = std::filesystem;

Payload bytes_of(std::string text) {
  auto held = std::make_shared<const std::string>(std::move(text));
  return {std::as_bytes(std::span(*held)), held};
}

Payload varints(std::initializer_list<int64_t> values) {
  std::string text;
  for (const int64_t value : values) {
    auto rest = static_cast<uint64_t>(value);
    for (; rest >= 0x80; rest >>= 7) text.push_back(static_cast<char>(rest | 0x80));
    text.push_back(static_cast<char>(rest));
  }
  return bytes_of(text);
}

TensorData shaped(DType type, std::vector<int64_t> dims) {
  TensorData t;
  t.name = "w";
  t.data_type = static_cast<int32_t>(type);
  t.dims = std::move(dims);
  return t;
}

TensorData int32_field(DType type, std::vector<int64_t> dims,
                       std::initializer_list<int64_t> values) {
  TensorData t = shaped(type, std::move(dims));
  t.int32_data = varints(values);
  return t;
}

TensorData raw(DType type, std::vector<int64_t> dims, std::string bytes) {
  TensorData t = shaped(type, std::move(dims));
  t.raw_data = bytes_of(std::move(bytes));
  return t;
}

std::string code(const TensorData& t) {
  const auto tensor = to_tensor(t);
  return tensor ? "" : tensor.error().code;
}

std::vector<uint64_t> elements(const TensorData& t) {
  const auto tensor = to_tensor(t);
  EXPECT_TRUE(tensor) << tensor.error().text();
  std::vector<uint64_t> out;
  for (size_t i = 0; i < tensor->count(); ++i)
    out.push_back(get_bits(tensor->type(), tensor->raw(), i));
  return out;
}

using Bits = std::vector<uint64_t>;

TEST(ToTensor, int32_data_holds_small_integers_and_encodings) {
  EXPECT_EQ(elements(int32_field(DType::i8, {3}, {-128, 127, -1})), (Bits{0x80, 0x7f, 0xff}));
  EXPECT_EQ(elements(int32_field(DType::u16, {2}, {65535, 1})), (Bits{65535, 1}));
  EXPECT_EQ(elements(int32_field(DType::f16, {2}, {0x3c00, 0xbc00})), (Bits{0x3c00, 0xbc00}));
  EXPECT_EQ(elements(int32_field(DType::f8e5m2, {1}, {0xff})), (Bits{0xff}));
  EXPECT_EQ(elements(int32_field(DType::i32, {2}, {-5, 1 << 30})), (Bits{0xfffffffb, 1 << 30}));
  EXPECT_EQ(elements(int32_field(DType::boolean, {2}, {0, 1})), (Bits{0, 1}));
}

TEST(ToTensor, int32_data_holds_narrow_types_packed_but_float6_one_by_one) {
  EXPECT_EQ(elements(int32_field(DType::u4, {3}, {0x21, 0x03})), (Bits{1, 2, 3}));
  EXPECT_EQ(elements(int32_field(DType::i2, {5}, {0xe4, 0x02})), (Bits{0, 1, 2, 3, 2}));
  EXPECT_EQ(elements(int32_field(DType::f6e2m3, {3}, {63, 1, 32})), (Bits{63, 1, 32}));
  EXPECT_EQ(elements(raw(DType::f6e3m2, {4}, "\x41\x10\x04")), (Bits{1, 1, 1, 1}));
}

TEST(ToTensor, other_typed_fields_are_read) {
  TensorData t = shaped(DType::i64, {2});
  t.int64_data = varints({-1, int64_t{1} << 40});
  EXPECT_EQ(elements(t), (Bits{~uint64_t{0}, uint64_t{1} << 40}));
  t = shaped(DType::u32, {1});
  t.uint64_data = varints({0xffffffff});
  EXPECT_EQ(elements(t), (Bits{0xffffffff}));
  t.uint64_data = varints({int64_t{1} << 32});
  EXPECT_EQ(code(t), "SDX-M0105");
  const float parts[] = {1, 2, 3, 4};
  t = shaped(DType::c64, {2});
  t.float_data = bytes_of({reinterpret_cast<const char*>(parts), sizeof parts});
  ASSERT_TRUE(to_tensor(t));
  EXPECT_EQ(to_tensor(t)->data<std::complex<float>>()[1], std::complex<float>(3, 4));
  t = shaped(DType::string, {2});
  t.string_data = {"a", ""};
  EXPECT_EQ(to_tensor(t)->data<std::string>()[0], "a");
}

TEST(ToTensor, aligned_bytes_are_shared_and_others_copied) {
  alignas(8) static const char memory[16] = {};
  TensorData t = shaped(DType::f32, {2});
  t.raw_data.bytes = std::as_bytes(std::span(memory + 4, 8));
  EXPECT_EQ(to_tensor(t)->raw(), memory + 4);
  t.raw_data.bytes = std::as_bytes(std::span(memory + 1, 8));
  EXPECT_NE(to_tensor(t)->raw(), memory + 1);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(to_tensor(t)->raw()) % 4, 0u);
}

TEST(ToTensor, entries_that_the_type_cannot_hold_are_refused) {
  EXPECT_EQ(code(int32_field(DType::i8, {1}, {128})), "SDX-M0105");
  EXPECT_EQ(code(int32_field(DType::u8, {1}, {-1})), "SDX-M0105");
  EXPECT_EQ(code(int32_field(DType::boolean, {1}, {2})), "SDX-M0105");
  EXPECT_EQ(code(int32_field(DType::f6e2m3, {1}, {64})), "SDX-M0105");
  EXPECT_EQ(code(raw(DType::boolean, {2}, "\x01\x02")), "SDX-M0105");
}

TEST(ToTensor, shapes_and_sizes_must_agree) {
  EXPECT_EQ(code(raw(DType::f32, {2}, "1234567")), "SDX-M0104");
  EXPECT_EQ(code(raw(DType::f32, {2}, "123456789")), "SDX-M0104");
  EXPECT_EQ(code(raw(DType::f32, {}, "1234")), "");
  EXPECT_EQ(code(shaped(DType::f32, {})), "SDX-M0104");
  EXPECT_EQ(code(shaped(DType::f32, {0, 5})), "");
  EXPECT_EQ(code(raw(DType::f32, {-1}, "1234")), "SDX-B0101");
  EXPECT_EQ(code(raw(DType::f32, {int64_t{1} << 32, int64_t{1} << 32}, "1234")), "SDX-B0102");
  EXPECT_EQ(code(int32_field(DType::u4, {3}, {1, 2, 3})), "SDX-M0104");
  EXPECT_EQ(code(int32_field(DType::i32, {int64_t{1} << 40}, {1})), "SDX-M0104");
  TensorData strings = shaped(DType::string, {3});
  strings.string_data = {"a"};
  EXPECT_EQ(code(strings), "SDX-M0104");
}

TEST(ToTensor, one_storage_field_of_the_right_kind_is_required) {
  TensorData t = raw(DType::i32, {1}, "1234");
  t.int32_data = varints({1});
  EXPECT_EQ(code(t), "SDX-M0103");
  EXPECT_EQ(code(int32_field(DType::i64, {1}, {1})), "SDX-M0103");
  EXPECT_EQ(code(int32_field(DType::f32, {1}, {1})), "SDX-M0103");
  EXPECT_EQ(code(raw(DType::string, {1}, "x")), "SDX-M0106");
  t = raw(DType::f32, {1}, "1234");
  t.data_type = 29;
  EXPECT_EQ(code(t), "SDX-M0102");
  t = raw(DType::f32, {1}, "1234");
  t.segment.emplace();
  EXPECT_EQ(code(t), "SDX-M0107");
}

TEST(ToTensor, an_error_names_the_tensor) {
  const auto tensor = to_tensor(raw(DType::f32, {2}, "1234"));
  ASSERT_FALSE(tensor);
  EXPECT_EQ(tensor.error().where.at(0), "tensor \"w\"");
}

SparseTensorData sparse(std::vector<int64_t> dims, std::vector<int64_t> indices,
                        std::vector<int64_t> index_dims) {
  SparseTensorData s;
  s.dims = std::move(dims);
  s.indices = from_tensor(Tensor::of<int64_t>(std::move(index_dims), indices));
  s.values = from_tensor(Tensor::of<float>({2}, {5, 7}), "s");
  return s;
}

TEST(ToDense, both_forms_of_indices_are_read) {
  const Tensor expected = Tensor::of<float>({2, 3}, {0, 5, 0, 0, 0, 7});
  const auto linear = to_dense(sparse({2, 3}, {1, 5}, {2}));
  const auto rows = to_dense(sparse({2, 3}, {0, 1, 1, 2}, {2, 2}));
  ASSERT_TRUE(linear && rows);
  EXPECT_TRUE(*linear == expected);
  EXPECT_TRUE(*rows == expected);
}

TEST(ToDense, bad_indices_are_refused) {
  const auto code = [](const SparseTensorData& s) {
    const auto dense = to_dense(s, 1 << 20);
    return dense ? "" : dense.error().code;
  };
  EXPECT_EQ(code(sparse({2, 3}, {1, 6}, {2})), "SDX-M0203");
  EXPECT_EQ(code(sparse({2, 3}, {-1, 2}, {2})), "SDX-M0203");
  EXPECT_EQ(code(sparse({2, 3}, {2, 2}, {2})), "SDX-M0203");
  EXPECT_EQ(code(sparse({2, 3}, {3, 1}, {2})), "SDX-M0203");
  EXPECT_EQ(code(sparse({2, 3}, {0, 3, 1, 0}, {2, 2})), "SDX-M0203");
  EXPECT_EQ(code(sparse({2, 3}, {0, 1, 2}, {3})), "SDX-M0201");
  EXPECT_EQ(code(sparse({2, 3}, {1, 5}, {1, 2})), "SDX-M0201");
  EXPECT_EQ(code(sparse({int64_t{1} << 40}, {1, 5}, {2})), "SDX-M0202");
  EXPECT_EQ(code(SparseTensorData()), "SDX-M0201");
}

class Folder : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "sdx_model.XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override { fs::remove_all(root_); }

  static TensorData external(std::vector<int64_t> dims,
                             std::initializer_list<std::pair<const char*, std::string>> keys) {
    TensorData t = shaped(DType::f32, std::move(dims));
    t.data_location = DataLocation::external;
    for (const auto& [key, value] : keys) {
      StringEntry& entry = t.external_data.emplace_back();
      entry.key = key;
      entry.value = value;
    }
    return t;
  }
  std::shared_ptr<const Model> saved(const Model& model) {
    const std::string path = (root_ / "model.onnx").string();
    EXPECT_TRUE(write_file(model, path));
    auto read = read_file(path);
    EXPECT_TRUE(read);
    return *read;
  }
  // Resident bytes of this process.
  static size_t resident() {
    size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages >> pages;
    return pages * static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  }

  fs::path root_;
};

TEST_F(Folder, external_tensors_resolve_wherever_they_stand_and_can_be_embedded) {
  std::ofstream(root_ / "w.bin") << std::string(8, '\0') << "abcdefgh";
  const TensorData t = external({2}, {{"location", "w.bin"}, {"offset", "8"}, {"length", "8"}});
  Model model;
  Node& node = model.graph.emplace().node.emplace_back();
  node.attribute.emplace_back().t = t;
  model.graph->initializer.push_back(t);
  node.attribute.emplace_back().g.emplace().initializer.push_back(t);
  const auto read = saved(model);
  const Graph& graph = *read->graph;
  for (const TensorData* place : {&graph.initializer[0], &*graph.node[0].attribute[0].t,
                                  &graph.node[0].attribute[1].g->initializer[0]}) {
    const auto data = data_of(*place);
    ASSERT_TRUE(data) << data.error().text();
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(data->bytes.data()), data->size()),
              "abcdefgh");
  }
  Model embedded = *read;
  ASSERT_TRUE(embed_external(embedded));
  fs::remove(root_ / "w.bin");
  const auto again = saved(embedded);
  EXPECT_EQ(code(again->graph->node[0].attribute[1].g->initializer[0]), "");
  EXPECT_TRUE(again->graph->initializer[0].external_data.empty());
}

TEST_F(Folder, hostile_external_data_is_refused) {
  std::ofstream(root_ / "w.bin") << "abcdefgh";
  fs::create_symlink(root_ / "w.bin", root_ / "link");
  Model model;
  auto& list = model.graph.emplace().initializer;
  list = {
      external({2}, {{"location", "../w.bin"}}),
      external({2}, {{"location", (root_ / "w.bin").string()}}),
      external({2}, {{"location", "link"}}),
      external({2}, {{"location", "w.bin"}, {"offset", "1"}}),
      external({2}, {{"location", "w.bin"}, {"offset", "18446744073709551615"}, {"length", "8"}}),
      external({2}, {{"location", "w.bin"}, {"length", "4"}}),
      external({int64_t{1} << 36}, {{"location", "w.bin"}}),
      external({2}, {{"location", "w.bin"}, {"size", "8"}}),
      external({2}, {})};
  const std::vector<std::string> codes = {"SDX-B0302", "SDX-B0302", "SDX-B0303",
                                          "SDX-B0305", "SDX-B0305", "SDX-B0305",
                                          "SDX-B0305", "SDX-B0301", "SDX-B0301"};
  const auto read = saved(model);
  for (size_t i = 0; i < codes.size(); ++i)
    EXPECT_EQ(code(read->graph->initializer[i]), codes[i]) << i;
  const std::string bytes = write(model);
  const auto nowhere = read_bytes(std::as_bytes(std::span(bytes)));
  ASSERT_TRUE(nowhere);
  EXPECT_EQ(code((*nowhere)->graph->initializer[0]), "SDX-M0108");
}

TEST_F(Folder, three_gigabytes_of_weights_load_in_bounded_memory) {
  constexpr int64_t kCount = int64_t{3} << 28;  // of 4 bytes
  { std::ofstream file(root_ / "w.bin"); }
  ASSERT_EQ(::truncate((root_ / "w.bin").c_str(), kCount * 4), 0);
  Model model;
  model.graph.emplace().initializer.push_back(external({kCount}, {{"location", "w.bin"}}));
  const size_t before = resident();
  const auto read = saved(model);
  const auto tensor = to_tensor(read->graph->initializer[0]);
  ASSERT_TRUE(tensor) << tensor.error().text();
  EXPECT_EQ(tensor->data<float>()[0], 0);
  EXPECT_EQ(tensor->data<float>()[kCount - 1], 0);
  EXPECT_LT(resident(), before + (size_t{16} << 20));
}

TEST_F(Folder, sequences_maps_and_optionals_come_back) {
  const std::string path = (root_ / "v.pb").string();
  Type tensor;
  tensor.value.emplace<TensorType>().elem_type = 1;
  Type map;
  map.value.emplace<MapType>().key_type = 8;
  std::get<MapType>(map.value).value_type = tensor;
  Type sequence;
  sequence.value.emplace<SequenceType>().elem_type = map;
  Type optional;
  optional.value.emplace<OptionalType>().elem_type = sequence;

  Map entries;
  entries[MapKey("a")] = Tensor::scalar<float>(1);
  entries[MapKey("b")] = Tensor::of<float>({2}, {2, 3});
  const Value value = Value::of(Sequence{Value::of(entries), Value::of(Map())});
  for (const auto& [type, item] :
       {std::pair(&sequence, value), std::pair(&optional, value), std::pair(&optional, Value()),
        std::pair(&map, Value::of(entries))}) {
    ASSERT_TRUE(write_value_file(item, *type, path, "v"));
    const auto back = read_value_file(path, *type);
    ASSERT_TRUE(back) << back.error().text();
    EXPECT_TRUE(equal(*back, item));
  }
  EXPECT_FALSE(write_value_file(Value::of(entries), tensor, path));
}

}  // namespace
}  // namespace sdx::model
