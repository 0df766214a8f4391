// Optionals: a value, or nothing.
#include "ops/common.h"
#include "ops/element_of.h"

namespace sdx::ops {
namespace {

constexpr Version kOptionalHistory[] = {
    {15,
     "(input?: V) -> (output: O) {type: type} V in all seq(all) O in optional(all) "
     "optional(seq(all))"},
    {28,
     "V += f8 seq(f8) bf16 f4e2m1 f6e2m3 f6e3m2 f8e8m0 i2 i4 seq(bf16) seq(f4e2m1) seq(f6e2m3) "
     "seq(f6e3m2) seq(f8e8m0) seq(i2) seq(i4) seq(u2) seq(u4) u2 u4 O += optional(f8) "
     "optional(seq(f8)) optional(bf16) optional(f4e2m1) optional(f6e2m3) optional(f6e3m2) "
     "optional(f8e8m0) optional(i2) optional(i4) optional(seq(bf16)) optional(seq(f4e2m1)) "
     "optional(seq(f6e2m3)) optional(seq(f6e3m2)) optional(seq(f8e8m0)) optional(seq(i2)) "
     "optional(seq(i4)) optional(seq(u2)) optional(seq(u4)) optional(u2) optional(u4)"},
};
constexpr Version kHasElementHistory[] = {
    {15, "(input: O) -> (output: B) O in optional(all) optional(seq(all)) B in bool"},
    {18, "(input?: O) O += all seq(all)"},
    {28,
     "O += f8 seq(f8) optional(f8) optional(seq(f8)) bf16 f4e2m1 f6e2m3 f6e3m2 f8e8m0 i2 i4 "
     "optional(bf16) optional(f4e2m1) optional(f6e2m3) optional(f6e3m2) optional(f8e8m0) "
     "optional(i2) optional(i4) optional(seq(bf16)) optional(seq(f4e2m1)) optional(seq(f6e2m3)) "
     "optional(seq(f6e3m2)) optional(seq(f8e8m0)) optional(seq(i2)) optional(seq(i4)) "
     "optional(seq(u2)) optional(seq(u4)) optional(u2) optional(u4) seq(bf16) seq(f4e2m1) "
     "seq(f6e2m3) seq(f6e3m2) seq(f8e8m0) seq(i2) seq(i4) seq(u2) seq(u4) u2 u4"},
};
constexpr Version kGetElementHistory[] = {
    {15, "(input: O) -> (output: V) O in optional(all) optional(seq(all)) V in all seq(all)"},
    {18, "O += all seq(all)"},
    {28,
     "O += f8 seq(f8) optional(f8) optional(seq(f8)) bf16 f4e2m1 f6e2m3 f6e3m2 f8e8m0 i2 i4 "
     "optional(bf16) optional(f4e2m1) optional(f6e2m3) optional(f6e3m2) optional(f8e8m0) "
     "optional(i2) optional(i4) optional(seq(bf16)) optional(seq(f4e2m1)) optional(seq(f6e2m3)) "
     "optional(seq(f6e3m2)) optional(seq(f8e8m0)) optional(seq(i2)) optional(seq(i4)) "
     "optional(seq(u2)) optional(seq(u4)) optional(u2) optional(u4) seq(bf16) seq(f4e2m1) "
     "seq(f6e2m3) seq(f6e3m2) seq(f8e8m0) seq(i2) seq(i4) seq(u2) seq(u4) u2 u4 V += f8 seq(f8) "
     "bf16 f4e2m1 f6e2m3 f6e3m2 f8e8m0 i2 i4 seq(bf16) seq(f4e2m1) seq(f6e2m3) seq(f6e3m2) "
     "seq(f8e8m0) seq(i2) seq(i4) seq(u2) seq(u4) u2 u4"},
};

struct Optional {
  Fact element;
};
struct None {};

bool given(const Facts& in) { return !in.empty() && in[0].present(); }

Result<Optional> read_optional(const Node& node, const Facts& in) {
  if (given(in)) return Optional{like(in[0])};
  if (node.has("type")) return Optional{node.get<Fact>("type")};
  return fail("SDX-T0623", "neither an element nor its type is given");
}
Result<Facts> infer_optional(const Optional& a, const Facts&) {
  return Facts{Fact::optional_of(a.element)};
}
Status run_optional(const Optional&, Args& args) {
  args.give(0, args.ins.empty() ? Value() : args.value(0));
  return ok();
}

Result<None> read(const Node&, const Facts&) { return None{}; }

Result<Facts> infer_has_element(const None&, const Facts&) {
  return Facts{Fact::tensor(DType::boolean, Shape{})};
}
Status run_has_element(const None&, Args& args) {
  args.give(0, Tensor::scalar(!args.ins.empty() && !args.value(0).is_none()));
  return ok();
}

Result<Facts> infer_get_element(const None&, const Facts& in) {
  // At run time an empty optional arrives as an input that is left out.
  if (!given(in)) return fail("SDX-R0625", "the optional has no element");
  return Facts{in[0].kind == Fact::Kind::optional ? like(element_of(in[0])) : like(in[0])};
}
Status run_get_element(const None&, Args& args) {
  if (args.value(0).is_none()) return fail("SDX-R0625", "the optional has no element");
  args.give(0, args.value(0));
  return ok();
}

Value one() { return Tensor::of<float>({1}, {1}); }
Value ones() { return Value::of(Sequence{one(), one()}); }

std::vector<Case> optional_cases() {
  return {{.name = "of_a_tensor", .opset = 15, .attrs = {}, .inputs = {one()}, .expected = {one()}},
          {.name = "of_nothing",
           .opset = 15,
           .attrs = {{"type", Fact::tensor(DType::i64)}},
           .inputs = {},
           .expected = {Value()}}};
}
std::vector<Case> has_element_cases() {
  const Tensor yes = Tensor::of<bool>({}, {true}), no = Tensor::of<bool>({}, {false});
  return {{.name = "a_tensor", .opset = 18, .attrs = {}, .inputs = {one()}, .expected = {yes}},
          {.name = "a_sequence", .opset = 18, .attrs = {}, .inputs = {ones()}, .expected = {yes}},
          {.name = "left_out", .opset = 18, .attrs = {}, .inputs = {Value()}, .expected = {no}},
          {.name = "no_input_at_all", .opset = 18, .attrs = {}, .inputs = {}, .expected = {no}}};
}
std::vector<Case> get_element_cases() {
  return {
      {.name = "a_tensor", .opset = 18, .attrs = {}, .inputs = {one()}, .expected = {one()}},
      {.name = "a_sequence", .opset = 28, .attrs = {}, .inputs = {ones()}, .expected = {ones()}}};
}

constexpr OpOf<Optional> kOptional{
    .name = "Optional",
    .doc = "The input as an optional; without one, an optional that holds nothing.",
    .history = kOptionalHistory,
    .read = read_optional,
    .infer = infer_optional,
    .reference = run_optional,
    .cases = optional_cases,
    .whole_values = true,
};
constexpr OpOf<None> kOptionalHasElement{
    .name = "OptionalHasElement",
    .doc = "Whether an optional holds something.",
    .history = kHasElementHistory,
    .read = read,
    .infer = infer_has_element,
    .reference = run_has_element,
    .cases = has_element_cases,
    .whole_values = true,
};
constexpr OpOf<None> kOptionalGetElement{
    .name = "OptionalGetElement",
    .doc = "What an optional holds; an error if that is nothing.",
    .history = kGetElementHistory,
    .read = read,
    .infer = infer_get_element,
    .reference = run_get_element,
    .cases = get_element_cases,
    .whole_values = true,
};

}  // namespace

extern const Op optional_ = erase<kOptional>();
extern const Op optional_has_element = erase<kOptionalHasElement>();
extern const Op optional_get_element = erase<kOptionalGetElement>();

}  // namespace sdx::ops
