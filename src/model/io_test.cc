#include "model/io.h"

#include <gtest/gtest.h>

#include <random>

#include "model/fields.h"
#include "model/filler.h"
#include "model/tensor.h"
#include "model/walk.h"

namespace sdx::model {
namespace {

std::span<const std::byte> view(const std::string& text) { return std::as_bytes(std::span(text)); }

// Field by field, apart from what the writer says.
template <class T>
bool same(const T& a, const T& b) {
  if constexpr (std::is_base_of_v<Message, T>) {
    bool equal = a.unknown == b.unknown;
    each_field<T>([&](const auto& field) {
      using F = std::remove_cvref_t<decltype(field)>;
      if constexpr (kIsOneOf<F>) {
        const auto* x = std::get_if<typename F::Alternative>(&(a.*field.member));
        const auto* y = std::get_if<typename F::Alternative>(&(b.*field.member));
        equal = equal && (x == nullptr) == (y == nullptr) && (x == nullptr || same(*x, *y));
      } else {
        equal = equal && same(a.*field.member, b.*field.member);
      }
    });
    return equal;
  } else if constexpr (std::is_same_v<T, Payload>) {
    return std::equal(a.bytes.begin(), a.bytes.end(), b.bytes.begin(), b.bytes.end());
  } else if constexpr (requires { a.has_value(); }) {
    return a.has_value() == b.has_value() && (!a.has_value() || same(*a, *b));
  } else if constexpr (requires { a.front(); } && !std::is_same_v<T, std::string>) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const auto& x, const auto& y) { return same(x, y); });
  } else {
    return a == b;
  }
}

Model full_model(int depth) {
  Model model;
  Filler().fill(model, depth);
  return model;
}

TEST(ReadWrite, a_model_with_every_field_set_comes_back_whole) {
  const Model model = full_model(9);
  const std::string bytes = write(model);
  EXPECT_GT(bytes.size(), 20000u);
  const auto back = read_bytes(view(bytes));
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_TRUE(same(model, **back));
  EXPECT_EQ(write(**back), bytes);
  Model copy = **back;
  copy.graph->node[1].attribute[1].name += "x";
  EXPECT_FALSE(same(model, copy));
}

TEST(ReadWrite, other_documents_with_every_field_set_come_back_whole) {
  const auto check = [](auto message) {
    Filler().fill(message, 5);
    const auto back = read_message<decltype(message)>(view(write(message)));
    ASSERT_TRUE(back) << back.error().text();
    EXPECT_TRUE(same(message, *back));
  };
  check(OperatorSet());
  check(SequenceData());
  check(MapData());
  check(OptionalData());
  check(SparseTensorData());
  check(Type());
}

TEST(ReadWrite, a_default_value_that_stands_in_the_file_is_known_and_kept) {
  const std::string bytes("\x0a\x00\x18\x00", 4);  // name: "", i: 0
  const auto attribute = read_message<Attribute>(view(bytes));
  ASSERT_TRUE(attribute);
  EXPECT_TRUE(has(*attribute, &Attribute::name));
  EXPECT_TRUE(has(*attribute, &Attribute::i));
  EXPECT_FALSE(has(*attribute, &Attribute::f));
  EXPECT_EQ(write(*attribute), bytes);
  Attribute made;
  EXPECT_EQ(write(made), "");
  set(made, &Attribute::f, 0.0F);
  EXPECT_EQ(write(made), std::string("\x15\0\0\0\0", 5));
}

TEST(Read, packed_and_single_elements_are_the_same) {
  const auto packed = read_message<Attribute>(view("\x42\x03\x01\x96\x01"));
  const auto single = read_message<Attribute>(view("\x40\x01\x40\x96\x01"));
  ASSERT_TRUE(packed && single);
  EXPECT_EQ(packed->ints, (std::vector<int64_t>{1, 150}));
  EXPECT_EQ(single->ints, packed->ints);

  // int32_data in pieces: one alone, a packed pair, one alone.
  const auto tensor =
      read_message<TensorData>(view("\x08\x04\x10\x06\x28\x01\x2a\x03\x02\x96\x01\x28\x03"));
  ASSERT_TRUE(tensor);
  const auto made = to_tensor(*tensor);
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_TRUE(*made == Tensor::of<int32_t>({4}, {1, 2, 150, 3}));
}

TEST(Read, a_singular_field_that_stands_twice_is_merged_or_replaced) {
  // graph { name: "a" } graph { doc_string: "d" }, ir_version 1 then 2
  const std::string bytes =
      "\x3a\x03\x12\x01"
      "a"
      "\x3a\x03\x52\x01"
      "d"
      "\x08\x01\x08\x02";
  const auto model = read_bytes(view(bytes));
  ASSERT_TRUE(model);
  EXPECT_EQ((*model)->graph->name, "a");
  EXPECT_EQ((*model)->graph->doc_string, "d");
  EXPECT_EQ((*model)->ir_version, 2);
}

TEST(Read, the_last_alternative_of_a_one_of_wins) {
  const auto type = read_message<Type>(view(std::string("\x0a\x02\x08\x01\x22\x02\x0a\x00", 8)));
  ASSERT_TRUE(type);
  EXPECT_EQ(type->tensor(), nullptr);
  EXPECT_NE(type->sequence(), nullptr);
}

TEST(Read, errors_say_the_offset_the_path_and_the_reason) {
  // graph { node { op_type: 4 bytes of which one is there } }
  const auto model =
      read_bytes(view("\x08\x07\x3a\x05\x0a\x03\x22\x04"
                      "A"));
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, "SDX-B0201");
  EXPECT_NE(model.error().what.find("byte 7"), std::string::npos) << model.error().what;
  EXPECT_EQ(model.error().where.at(0), "ModelProto.graph.node[0].op_type");
  const auto wrong = read_bytes(view("\x0a\x01x"));  // ir_version as a string
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, "SDX-B0203");
  EXPECT_FALSE(read_bytes({}));
  EXPECT_FALSE(read_file("/nonexistent/model.onnx"));
  EXPECT_FALSE(read_file("/"));
}

std::string nested_type(int levels) {
  Type type;
  type.value.emplace<TensorType>();
  for (int i = 0; i < levels; ++i) {
    Type outer;
    outer.value.emplace<SequenceType>().elem_type = std::move(type);
    type = std::move(outer);
  }
  return write(type);
}

TEST(Read, limits_are_kept) {
  const auto code = [](const auto& result) { return result ? "" : result.error().code; };
  Limits limits;
  limits.depth = 20;
  EXPECT_TRUE(read_message<Type>(view(nested_type(9)), limits));
  EXPECT_EQ(code(read_message<Type>(view(nested_type(10)), limits)), "SDX-B0204");
  EXPECT_EQ(code(read_message<Type>(view(nested_type(300)))), "SDX-B0204");

  Graph graph;
  graph.node.resize(3);
  graph.node[0].input = {"abcdef", "b"};
  const std::string bytes = write(graph);
  EXPECT_TRUE(read_message<Graph>(view(bytes)));
  for (size_t Limits::*limit : {&Limits::nodes, &Limits::messages, &Limits::elements,
                                &Limits::name_bytes, &Limits::file_bytes}) {
    Limits small;
    small.*limit = 1;
    EXPECT_FALSE(read_message<Graph>(view(bytes), small));
  }
}

// Whatever the bytes, reading ends in an error or in a model that can be used, written and read
// again.
void use(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  const auto model = read_bytes(bytes);
  if (!model) {
    ASSERT_FALSE(model.error().code.empty());
    return;
  }
  (void)each_tensor(**model, [](const TensorData& tensor) -> Status {
    (void)to_tensor(tensor);
    return ok();
  });
  if ((*model)->graph) {
    for (const auto& sparse : (*model)->graph->sparse_initializer) (void)to_dense(sparse, 1 << 16);
  }
  const std::string written = write(**model);
  const auto again = read_bytes(view(written));
  if (written.empty()) return;
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(write(**again), written);
}

// Small but with each kind of field: tensors of several storages, a sparse one, a subgraph, a
// function.
std::string small_model() {
  Model model;
  model.ir_version = 10;
  model.opset_import.emplace_back().version = 21;
  Graph& graph = model.graph.emplace();
  graph.name = "main";
  graph.initializer.push_back(from_tensor(Tensor::of<float>({2, 2}, {1, 2, 3, 4}), "w"));
  TensorData& typed = graph.initializer.emplace_back();
  typed.dims = {3};
  typed.data_type = 7;
  static const std::string varints = "\x01\x96\x01\x05";
  typed.int64_data.bytes = view(varints);
  SparseTensorData& sparse = graph.sparse_initializer.emplace_back();
  sparse.dims = {4};
  sparse.values = from_tensor(Tensor::of<float>({1}, {1}), "s");
  sparse.indices = from_tensor(Tensor::of<int64_t>({1}, {2}));
  Node& node = graph.node.emplace_back();
  node.op_type = "If";
  node.input = {"c"};
  node.output = {"y"};
  Attribute& branch = node.attribute.emplace_back();
  branch.name = "then_branch";
  branch.type = AttributeType::g;
  branch.g.emplace().node.emplace_back().op_type = "Neg";
  Attribute& list = node.attribute.emplace_back();
  list.ints = {1, -1};
  list.floats = {0.5F};
  ValueInfo& input = graph.input.emplace_back();
  input.name = "c";
  Shape& shape = input.type.emplace().value.emplace<TensorType>().shape.emplace();
  shape.dim.emplace_back().value = int64_t{3};
  shape.dim.emplace_back().value = std::string("N");
  model.functions.emplace_back().name = "f";
  return write(model);
}

TEST(Read, a_model_cut_at_any_byte_is_an_error_or_a_model) {
  const std::string small = small_model();
  for (size_t size = 0; size <= small.size(); ++size) use(std::string_view(small).substr(0, size));
  const std::string full = write(full_model(5));
  for (size_t size = 0; size <= full.size(); ++size) use(std::string_view(full).substr(0, size));
}

TEST(Read, a_model_with_changed_bytes_is_an_error_or_a_model) {
  std::mt19937 random(1);
  for (const std::string& original : {small_model(), write(full_model(5))}) {
    for (int round = 0; round < 20000; ++round) {
      std::string changed = original;
      for (uint32_t i = random() % 4 + 1; i > 0; --i) {
        const size_t at = random() % changed.size();
        switch (random() % 4) {
          case 0:
            changed[at] = static_cast<char>(random());
            break;
          case 1:
            changed[at] = static_cast<char>(changed[at] ^ 1 << random() % 8);
            break;
          case 2:
            changed.insert(at, 1, static_cast<char>(random()));
            break;
          default:
            changed.erase(at, 1);
        }
      }
      use(changed);
    }
  }
}

TEST(Read, random_bytes_are_an_error_or_a_model) {
  std::mt19937 random(2);
  for (int round = 0; round < 20000; ++round) {
    std::string text(random() % 64, '\0');
    for (char& c : text) c = static_cast<char>(random() % 3 == 0 ? random() % 0x80 : random() % 16);
    use(text);
  }
}

}  // namespace
}  // namespace sdx::model
