// Element-wise operators: how inputs broadcast, bounds, masks, names of types.
#include <algorithm>
#include <limits>

#include "opsets/steps.h"

namespace sdx::opsets {
namespace {

// --- before version 7 the second input was a part of the first, at `axis`

std::vector<int64_t> counting(size_t from, size_t to) {
  std::vector<int64_t> list;
  for (size_t i = from; i < to; ++i) list.push_back(int64_t(i));
  return list;
}

// Axes of size one behind input 1.
Status widen_second(Use& use, size_t rank, size_t trail) {
  if (trail == 0) return ok();
  const std::string axes = use.make(list_of(counting(rank, rank + trail)), "trailing_axes");
  SDX_ASSIGN(std::string wide,
             use.make("Unsqueeze", {use.node.input[1], axes}, {}, "with_trailing_axes"));
  use.set_input(1, std::move(wide));
  return ok();
}

Status broadcast_up(Use& use) {
  const bool at_axis = use.integer("broadcast") != 0 && use.given("axis") != nullptr;
  if (at_axis) {
    const auto a = use.rank(0), b = use.rank(1);
    if (!a || !b)
      return use.refuse("its inputs' ranks are not known, and it broadcasts at an axis");
    int64_t axis = use.integer("axis");
    if (axis < 0) axis += int64_t(*a);
    // One element fits anywhere.
    const bool fits = axis >= 0 && size_t(axis) + *b <= *a;
    if (fits) SDX_TRY(widen_second(use, *b, *a - *b - size_t(axis)));
  }
  use.erase("broadcast");
  use.erase("axis");
  return ok();
}

bool commutes(std::string_view op) {
  constexpr std::string_view kThese[] = {"Add", "Mul", "And", "Or", "Xor", "Equal"};
  return std::find(std::begin(kThese), std::end(kThese), op) != std::end(kThese);
}

// The part of b that is not ones: [first, last), and whether it is a's at the same axes from the
// end.
struct Core {
  size_t first = 0, last = 0;
  bool fits = false;
};
Core core_of(const Shape& a, const Shape& b) {
  Core core;
  if (b.size() > a.size()) return core;
  core.last = b.size();
  while (core.first < core.last && b[core.first].is_const(1)) ++core.first;
  while (core.last > core.first && b[core.last - 1].is_const(1)) --core.last;
  core.fits = true;
  for (size_t i = core.first; i < core.last; ++i)
    core.fits = core.fits && b[i] == a[a.size() - b.size() + i];
  return core;
}

// Input 1 without the ones around its core.
Status narrow_second(Use& use, const Core& core, size_t rank) {
  std::vector<int64_t> gone = counting(0, core.first);
  for (const int64_t axis : counting(core.last, rank)) gone.push_back(axis);
  if (gone.empty()) return ok();
  const std::string axes = use.make(list_of(gone), "axes_of_one");
  SDX_ASSIGN(std::string narrow,
             use.make("Squeeze", {use.node.input[1], axes}, {}, "without_axes_of_one"));
  use.set_input(1, std::move(narrow));
  return ok();
}

Status broadcast_down(Use& use) {
  if (!use.rank(0) || !use.rank(1))
    return use.refuse("there it does not broadcast by itself, and its inputs' ranks are not known");
  if (*use.fact(0).shape == *use.fact(1).shape) return ok();
  if (!core_of(*use.fact(0).shape, *use.fact(1).shape).fits && commutes(use.node.op_type))
    std::swap(use.node.input[0], use.node.input[1]);
  const Shape a = *use.fact(0).shape, b = *use.fact(1).shape;
  const Core core = core_of(a, b);
  if (!core.fits)
    return use.refuse(
        "there the second input must be a part of the first; their shapes are {} and {}",
        to_string(a), to_string(b));
  use.set("broadcast", int64_t{1});
  if (core.last == b.size() || core.first == core.last)
    return ok();  // from the end, or one element
  SDX_TRY(narrow_second(use, core, b.size()));
  use.set("axis", int64_t(a.size() - b.size() + core.first));
  return ok();
}

// One slope per channel, axis 1, or one for all.
Status prelu_up(Use& use) {
  if (!use.rank(0) || !use.rank(1)) return use.refuse("its inputs' ranks are not known");
  const bool per_channel =
      *use.rank(1) == 1 && !use.fact(1).dim(0).is_const(1) && *use.rank(0) >= 2;
  return per_channel ? widen_second(use, 1, *use.rank(0) - 2) : ok();
}
Status prelu_down(Use& use) {
  if (!use.rank(0) || !use.rank(1)) return use.refuse("its inputs' ranks are not known");
  const Shape x = *use.fact(0).shape, slope = *use.fact(1).shape;
  const Core core = core_of(x, slope);
  const size_t axis = x.size() - std::min(x.size(), slope.size()) + core.first;
  const bool one = core.first == core.last;
  if (!core.fits || (!one && (axis != 1 || core.last != core.first + 1)))
    return use.refuse("there a slope is one number or one per channel, not {} for {}",
                      to_string(slope), to_string(x));
  return one ? ok() : narrow_second(use, core, slope.size());
}

Status equal_shapes(Use& use) {
  for (size_t i = 1; i < use.node.input.size(); ++i) {
    if (!use.rank(0) || !use.rank(i) || !(*use.fact(0).shape == *use.fact(i).shape))
      return use.refuse("there all inputs have one shape, and input {} is {} where the first is {}",
                        i, use.fact(i).text(), use.fact(0).text());
  }
  return ok();
}

// --- Clip: a bound that is left out is the type's own, and once it was f32's

Status clip_bounds(Use& use) {
  const DType type = use.fact(0).type;
  for (const char* name : {"min", "max"}) {
    const bool low = name[1] == 'i';
    if (use.given(name) != nullptr || type == DType::f32 || use.has(low ? 1 : 2)) continue;
    if (type != DType::f16)
      return use.refuse("there a bound that is left out is that of f32, and its input is {}",
                        use.fact(0).text());
    use.set(name, low ? -65504.f : 65504.f);
  }
  return ok();
}
Status clip_11_up(Use& use) {
  constexpr float kMost = std::numeric_limits<float>::max();
  const bool f32 = use.fact(0).type == DType::f32;
  for (const char* name : {"min", "max"}) {
    const float otherwise = name[1] == 'i' ? -kMost : kMost;
    const model::Attribute* a = use.given(name);
    if (f32 && a != nullptr && a->ref_attr_name.empty() && a->f == otherwise) use.erase(name);
    if (!f32 && a == nullptr) use.set(name, otherwise);
  }
  return ok();
}

// --- Dropout

Status dropout_7_up(Use& use) {
  if (use.integer("is_test") == 0)
    return use.refuse("it draws at random (is_test is 0), which versions 7 to 11 cannot");
  use.erase("is_test");
  return ok();
}
Status dropout_7_down(Use& use) {
  use.set("is_test", int64_t{1});
  return ok();
}
Status mask_up(Use& use) {
  if (!use.wants(1)) return ok();
  const DType type = use.fact(0).type;
  if (type == DType::undefined) return use.refuse("the type of its mask is not known");
  return use.finish(1, "Cast", {}, {{"to", int64_t(type)}});
}
Status mask_down(Use& use) {
  return use.wants(1) ? use.finish(1, "Cast", {}, {{"to", int64_t(DType::boolean)}}) : ok();
}
Status dropout_12_down(Use& use) {
  if (use.has(2)) {
    const Tensor* training = use.constant(2);
    if (training == nullptr || training->count() != 1 || *training->data<bool>())
      return use.refuse("there it cannot train, and its input training_mode may ask for that");
    use.drop_input(2);
  }
  use.erase("seed");
  // Without training nobody reads the ratio.
  if (use.constant(1) == nullptr) use.drop_input(1);
  return ok();
}

// --- names of types

Status cast_6_up(Use& use) {
  std::string name = use.text("to");
  for (char& c : name) c = c >= 'A' && c <= 'Z' ? char(c + 32) : c;
  const auto type = dtype_from_onnx(name);
  if (!type) return use.refuse("\"{}\" is no element type", use.text("to"));
  use.set("to", int64_t(*type));
  return ok();
}
Status cast_6_down(Use& use) {
  std::string name(onnx_name(DType(use.integer("to"))));
  for (char& c : name) c = c >= 'a' && c <= 'z' ? char(c - 32) : c;
  use.set("to", name);
  return ok();
}
// A type by example is a type by name where the example's is known.
Status cast_like_down(Use& use) {
  if (use.fact(1).type == DType::undefined)
    return use.refuse("the type that it casts to is not known");
  use.set("to", int64_t(use.fact(1).type));
  use.drop_input(1);
  return use.become("Cast", use.now->since);
}

constexpr Step kElementwiseSteps[] = {
    {"Add", 7, broadcast_up, broadcast_down},   {"And", 7, broadcast_up, broadcast_down},
    {"Cast", 6, cast_6_up, cast_6_down},        {"CastLike", 15, nullptr, cast_like_down},
    {"Clip", 6, clip_bounds, nullptr},          {"Clip", 11, clip_11_up, clip_bounds},
    {"Div", 7, broadcast_up, broadcast_down},   {"Dropout", 7, dropout_7_up, dropout_7_down},
    {"Dropout", 10, mask_up, mask_down},        {"Dropout", 12, nullptr, dropout_12_down},
    {"Equal", 7, broadcast_up, broadcast_down}, {"Greater", 7, broadcast_up, broadcast_down},
    {"Less", 7, broadcast_up, broadcast_down},  {"Max", 8, nullptr, equal_shapes},
    {"Mean", 8, nullptr, equal_shapes},         {"Min", 8, nullptr, equal_shapes},
    {"Mul", 7, broadcast_up, broadcast_down},   {"Or", 7, broadcast_up, broadcast_down},
    {"PRelu", 7, prelu_up, prelu_down},         {"Pow", 7, broadcast_up, broadcast_down},
    {"Sub", 7, broadcast_up, broadcast_down},   {"Sum", 8, nullptr, equal_shapes},
    {"Xor", 7, broadcast_up, broadcast_down},
};

}  // namespace

std::span<const Step> elementwise_steps() { return kElementwiseSteps; }

const Step* find_step(std::string_view op, int since) {
  for (const auto steps : {elementwise_steps(), tensor_steps(), layer_steps()}) {
    for (const Step& step : steps) {
      if (step.op == op && step.since == since) return &step;
    }
  }
  return nullptr;
}

}  // namespace sdx::opsets
