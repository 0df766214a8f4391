// Constant and ConstantOfShape.
#include "ops/tensor/ints.h"
#include "ops/tensor/strided_copy.h"

namespace sdx::ops {
namespace {

struct Constant {
  Tensor value;  // for ConstantOfShape: one element
};

constexpr Version kConstantHistory[] = {
    {1, "() -> (output: T) {value!: tensor} T in floats"},
    {9, "T += ints uints bool c128 c64 string"},
    {11, "{sparse_value: sparse_tensor, value: tensor}"},
    {12,
     "{value_float: float, value_floats: floats, value_int: int, value_ints: ints, value_string: "
     "string, "
     "value_strings: strings}"},
    {13, "T += bf16"},
    {19, "T += f8"},
    {21, "T += i4 u4"},
    {23, "T += f4e2m1"},
    {24, "T += f8e8m0"},
    {25, "T += i2 u2"},
};

template <class T>
Tensor list_of(const std::vector<T>& values) {
  return Tensor::of<T>({int64_t(values.size())}, values);
}

Result<Constant> read_constant(const Node& node, const Facts&) {
  size_t given = 0;
  Tensor value;
  for (const auto& [name, attr] : node.attrs) {
    ++given;
    if (name == "value" || name == "sparse_value") value = std::get<Tensor>(attr);
    if (name == "value_int") value = Tensor::scalar(std::get<int64_t>(attr));
    if (name == "value_float") value = Tensor::scalar(std::get<float>(attr));
    if (name == "value_string") value = Tensor::scalar(std::get<std::string>(attr));
    if (name == "value_ints") value = list_of(std::get<std::vector<int64_t>>(attr));
    if (name == "value_floats") value = list_of(std::get<std::vector<float>>(attr));
    if (name == "value_strings") value = list_of(std::get<std::vector<std::string>>(attr));
  }
  if (given != 1)
    return fail("SDX-T0204", "exactly one value attribute must be given, not {}", given);
  return Constant{std::move(value)};
}

Result<Facts> infer_constant(const Constant& a, const Facts&) {
  return Facts{Fact::constant(a.value)};
}

Status reference_constant(const Constant& a, Args& args) {
  flat_copy(a.value.type(), a.value.raw(), 0, args.out().raw, 0, a.value.count(), args.pool,
            args.isa);
  return ok();
}

std::vector<Case> cases_constant() {
  return {{.name = "takes_a_list_of_integers",
           .opset = 12,
           .attrs = {{"value_ints", std::vector<int64_t>{3, -1}}},
           .inputs = {},
           .expected = {Tensor::of<int64_t>({2}, {3, -1})}}};
}

constexpr OpOf<Constant> kConstant{
    .name = "Constant",
    .doc = "A value that stands in the model.",
    .history = kConstantHistory,
    .read = read_constant,
    .infer = infer_constant,
    .reference = reference_constant,
    .cases = cases_constant,
};

constexpr Version kOfShapeHistory[] = {
    {9, "(input: T1) -> (output: T2) {value: tensor} T1 in i64 T2 in num bool"},
    {20, "T2 += f8 bf16"},
    {21, "T2 += i4 u4"},
    {23, "T2 += f4e2m1"},
    {24, "T2 += f8e8m0"},
    {25, "T2 += i2 u2"},
};

Result<Constant> read_of_shape(const Node& node, const Facts&) {
  if (!node.has("value")) return Constant{Tensor::of<float>({1}, {0})};
  const Tensor& value = node.get<Tensor>("value");
  if (value.count() != 1)
    return fail("SDX-T0205", "value must have one element, not {}", value.count());
  return Constant{value};
}

Result<Facts> infer_of_shape(const Constant& a, const Facts& in) {
  const auto dims = in[0].integers();
  if (!dims) return Facts{unknown_dims(a.value.type(), in[0])};
  SDX_TRY(no_negative(*dims));
  Fact out = Fact::tensor(a.value.type(), *dims);
  if (out.is_concrete() && is_integer(out.type)) {
    const auto count = element_count(out.dims());
    if (count && *count <= kMostTracked) {
      out.symbolic.emplace(*count, get_i64(a.value.type(), a.value.raw(), 0));
    }
  }
  return Facts{std::move(out)};
}

Status reference_of_shape(const Constant& a, Args& args) {
  const View& y = args.out();
  clear_tail(y.type, y.raw, y.count);
  fill(y.type, a.value.raw(), y.raw, y.count, args.pool, args.isa);
  return ok();
}

std::vector<Case> cases_of_shape() {
  return {{.name = "is_zero_of_f32_by_default",
           .opset = 9,
           .attrs = {},
           .inputs = {Tensor::of<int64_t>({2}, {1, 2})},
           .expected = {Tensor::of<float>({1, 2}, {0, 0})}},
          {.name = "of_an_empty_shape_is_a_scalar",
           .opset = 9,
           .attrs = {{"value", Tensor::of<int16_t>({1}, {-5})}},
           .inputs = {Tensor::of<int64_t>({0}, {})},
           .expected = {Tensor::scalar<int16_t>(-5)}}};
}

constexpr OpOf<Constant> kConstantOfShape{
    .name = "ConstantOfShape",
    .doc = "A tensor of the given shape, every element the same.",
    .history = kOfShapeHistory,
    .read = read_of_shape,
    .infer = infer_of_shape,
    .reference = reference_of_shape,
    .cases = cases_of_shape,
    .by_equality = true,
};

}  // namespace

extern const Op constant = erase<kConstant>();
extern const Op constant_of_shape = erase<kConstantOfShape>();

}  // namespace sdx::ops
