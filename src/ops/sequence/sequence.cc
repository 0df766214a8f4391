// Sequences made, changed and taken apart.
#include "ops/control/bodies.h"

namespace sdx::ops {
namespace {

struct None {};

Result<None> read(const Node&, const Facts&) { return None{}; }

// The one integer that input i holds, counted from the back if negative, in [0, end).
Result<size_t> position(Args& args, size_t i, size_t length, size_t end) {
  const Tensor& tensor = args.value(i).tensor();
  if (tensor.count() != 1) {
    return fail("SDX-R0620", "the position has {} elements, expected 1", tensor.count());
  }
  const int64_t given = get_i64(tensor.type(), tensor.raw(), 0);
  const int64_t at = given < 0 ? given + int64_t(length) : given;
  if (at < 0 || at >= int64_t(end)) {
    return fail("SDX-R0621", "position {} is outside [{}, {}] of a sequence of {} elements", given,
                -int64_t(length), int64_t(end) - 1, length);
  }
  return size_t(at);
}

// A facts' list of one sequence. Elements of an empty sequence seen at run time have no type yet.
Facts sequence_of(Fact element) { return {Fact::sequence(std::move(element))}; }

struct Empty {
  DType type;
};

constexpr Version kEmptyHistory[] = {{11, "() -> (output: S) {dtype: int} S in seq(all)"}};

Result<Empty> read_empty(const Node& node, const Facts&) {
  const int64_t type = node.i_or("dtype", int64_t(DType::f32));
  if (!valid(type)) return fail("SDX-T0620", "dtype {} is no element type", type);
  return Empty{DType(type)};
}
Result<Facts> infer_empty(const Empty& a, const Facts&) {
  return sequence_of(Fact::tensor(a.type));
}
Status run_empty(const Empty&, Args& args) {
  args.give(0, Value::of(Sequence{}));
  return ok();
}
std::vector<Case> empty_cases() {
  return {{.name = "of_integers",
           .opset = 11,
           .attrs = {{"dtype", int64_t(DType::i64)}},
           .inputs = {},
           .expected = {Value::of(Sequence{})}}};
}

constexpr Version kConstructHistory[] = {
    {11, "(inputs...: T) -> (output_sequence: S) T in all S in seq(all)"}};

Result<Facts> infer_construct(const None&, const Facts& in) {
  Fact element = like(in[0]);
  for (const Fact& fact : in) element = join(element, fact);
  return sequence_of(std::move(element));
}
Status run_construct(const None&, Args& args) {
  Sequence items;
  for (size_t i = 0; i < args.ins.size(); ++i) items.push_back(args.value(i));
  args.give(0, Value::of(std::move(items)));
  return ok();
}

Value abc() {
  return Value::of(Sequence{Tensor::of<float>({1}, {1}), Tensor::of<float>({2}, {2, 3}),
                            Tensor::of<float>({0}, {})});
}
std::vector<Case> construct_cases() {
  return {{.name = "of_different_shapes",
           .opset = 11,
           .attrs = {},
           .inputs = {abc().sequence()[0], abc().sequence()[1], abc().sequence()[2]},
           .expected = {abc()}}};
}

constexpr Version kInsertHistory[] = {
    {11,
     "(input_sequence: S, tensor: T, position?: I) -> (output_sequence: S) T in all S in seq(all) "
     "I in i32 i64"}};

Result<Facts> infer_insert(const None&, const Facts& in) {
  const Fact& element = element_of(in[0]);
  if (element.type != DType::undefined && element.type != in[1].type) {
    return fail("SDX-T0621", "a tensor of {} cannot go into a sequence of {}",
                short_name(in[1].type), short_name(element.type));
  }
  return sequence_of(join(element, in[1]));
}
Status run_insert(const None&, Args& args) {
  Sequence items = args.value(0).sequence();
  size_t at = items.size();
  if (args.has(2)) {
    SDX_ASSIGN(at, position(args, 2, items.size(), items.size() + 1));
  }
  items.insert(items.begin() + std::ptrdiff_t(at), args.value(1));
  args.give(0, Value::of(std::move(items)));
  return ok();
}
std::vector<Case> insert_cases() {
  const Value x = Tensor::of<float>({1}, {9});
  const Sequence items = abc().sequence();
  const auto at = [&](std::string name, Value where, Sequence result) {
    return Case{.name = std::move(name),
                .opset = 11,
                .attrs = {},
                .inputs = {abc(), x, std::move(where)},
                .expected = {Value::of(std::move(result))}};
  };
  return {
      at("at_the_back", Value(), {items[0], items[1], items[2], x}),
      at("at_the_end_by_number", Tensor::scalar<int64_t>(3), {items[0], items[1], items[2], x}),
      at("counted_from_the_back", Tensor::scalar<int32_t>(-1), {items[0], items[1], x, items[2]})};
}

constexpr Version kEraseHistory[] = {
    {11, "(input_sequence: S, position?: I) -> (output_sequence: S) S in seq(all) I in i32 i64"}};

Result<Facts> infer_erase(const None&, const Facts& in) { return sequence_of(element_of(in[0])); }
Status run_erase(const None&, Args& args) {
  Sequence items = args.value(0).sequence();
  if (items.empty()) return fail("SDX-R0622", "an empty sequence has no element to erase");
  size_t at = items.size() - 1;
  if (args.has(1)) {
    SDX_ASSIGN(at, position(args, 1, items.size(), items.size()));
  }
  items.erase(items.begin() + std::ptrdiff_t(at));
  args.give(0, Value::of(std::move(items)));
  return ok();
}
std::vector<Case> erase_cases() {
  const Sequence items = abc().sequence();
  return {{.name = "the_last_by_default",
           .opset = 11,
           .attrs = {},
           .inputs = {abc()},
           .expected = {Value::of(Sequence{items[0], items[1]})}},
          {.name = "counted_from_the_back",
           .opset = 11,
           .attrs = {},
           .inputs = {abc(), Tensor::scalar<int64_t>(-3)},
           .expected = {Value::of(Sequence{items[1], items[2]})}}};
}

constexpr Version kAtHistory[] = {
    {11, "(input_sequence: S, position: I) -> (tensor: T) S in seq(all) T in all I in i32 i64"}};

Result<Facts> infer_at(const None&, const Facts& in) { return Facts{like(element_of(in[0]))}; }
Status run_at(const None&, Args& args) {
  const Sequence& items = args.value(0).sequence();
  SDX_ASSIGN(const size_t at, position(args, 1, items.size(), items.size()));
  args.give(0, items[at]);
  return ok();
}
std::vector<Case> at_cases() {
  return {{.name = "counted_from_the_back",
           .opset = 11,
           .attrs = {},
           .inputs = {abc(), Tensor::scalar<int32_t>(-2)},
           .expected = {abc().sequence()[1]}}};
}

constexpr Version kLengthHistory[] = {
    {11, "(input_sequence: S) -> (length: I) S in seq(all) I in i64"}};

Result<Facts> infer_length(const None&, const Facts&) {
  return Facts{Fact::tensor(DType::i64, Shape{})};
}
Status run_length(const None&, Args& args) {
  args.give(0, Tensor::scalar(int64_t(args.value(0).sequence().size())));
  return ok();
}
std::vector<Case> length_cases() {
  return {{.name = "of_three",
           .opset = 11,
           .attrs = {},
           .inputs = {abc()},
           .expected = {Tensor::scalar<int64_t>(3)}}};
}

constexpr OpOf<Empty> kSequenceEmpty{
    .name = "SequenceEmpty",
    .doc = "A sequence without elements.",
    .history = kEmptyHistory,
    .read = read_empty,
    .infer = infer_empty,
    .reference = run_empty,
    .cases = empty_cases,
    .whole_values = true,
};
constexpr OpOf<None> kSequenceConstruct{
    .name = "SequenceConstruct",
    .doc = "The inputs as a sequence.",
    .history = kConstructHistory,
    .read = read,
    .infer = infer_construct,
    .reference = run_construct,
    .cases = construct_cases,
    .whole_values = true,
};
constexpr OpOf<None> kSequenceInsert{
    .name = "SequenceInsert",
    .doc = "A sequence with one more element.",
    .history = kInsertHistory,
    .read = read,
    .infer = infer_insert,
    .reference = run_insert,
    .cases = insert_cases,
    .whole_values = true,
};
constexpr OpOf<None> kSequenceErase{
    .name = "SequenceErase",
    .doc = "A sequence with one element less.",
    .history = kEraseHistory,
    .read = read,
    .infer = infer_erase,
    .reference = run_erase,
    .cases = erase_cases,
    .whole_values = true,
};
constexpr OpOf<None> kSequenceAt{
    .name = "SequenceAt",
    .doc = "One element of a sequence.",
    .history = kAtHistory,
    .read = read,
    .infer = infer_at,
    .reference = run_at,
    .cases = at_cases,
    .whole_values = true,
};
constexpr OpOf<None> kSequenceLength{
    .name = "SequenceLength",
    .doc = "The number of elements of a sequence.",
    .history = kLengthHistory,
    .read = read,
    .infer = infer_length,
    .reference = run_length,
    .cases = length_cases,
    .whole_values = true,
};

}  // namespace

extern const Op sequence_empty = erase<kSequenceEmpty>();
extern const Op sequence_construct = erase<kSequenceConstruct>();
extern const Op sequence_insert = erase<kSequenceInsert>();
extern const Op sequence_erase = erase<kSequenceErase>();
extern const Op sequence_at = erase<kSequenceAt>();
extern const Op sequence_length_ = erase<kSequenceLength>();

}  // namespace sdx::ops
