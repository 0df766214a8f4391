// Clip: bounds are attributes before opset 11 and optional inputs since.
#include "ops/elementwise/clip.h"

#include "op/layout.h"
#include "ops/elementwise/unary.h"

namespace sdx::ops {
namespace {

constexpr Version kHistory[] = {
    {1, "(input: T) -> (output: T) {consumed_inputs: ints, max: float, min: float} T in floats"},
    {6, "{max: float = 3.4028235e+38, min: float = -3.4028235e+38, -consumed_inputs}"},
    {11, "(input: T, min?: T, max?: T) {-max, -min}"},
    {12, "T += ints uints"},
    {13, "T += bf16"},
};

Result<Clip> read(const Node& node, const Facts&) {
  Clip a;
  if (node.has("min")) a.low = node.f("min");
  if (node.has("max")) a.high = node.f("max");
  return a;
}

Result<Facts> infer(const Clip&, const Facts& in) {
  for (size_t i = 1; i < in.size(); ++i) {
    if (!in[i].present() || !in[i].has_rank()) continue;
    const Dim count = product(*in[i].shape);
    if (count.is_const() && !count.is_const(1)) {
      return fail("SDX-T0207", "the {} must be one element, but its shape is {}",
                  i == 1 ? "minimum" : "maximum", to_string(*in[i].shape));
    }
  }
  return Facts{like(in[0])};
}

// The bound of this run: the attribute, the input, or the type's own limit.
template <class T>
auto bound(const std::optional<float>& attribute, const Args& args, size_t input, bool is_low) {
  using E = Element<T>;
  using C = typename E::Compute;
  if (attribute) return C(*attribute);
  if (args.has(input) && args.in(input).count > 0) return E::get(*args.in(input).data<T>());
  if constexpr (std::is_same_v<T, F16>) return is_low ? -65504.f : 65504.f;
  if constexpr (std::is_same_v<T, BF16>) return is_low ? -0x1.fep127f : 0x1.fep127f;
  return is_low ? std::numeric_limits<C>::lowest() : std::numeric_limits<C>::max();
}

// y = min(max(x, low), high).
Status over_types(const Clip& a, Args& args, auto&& spread) {
  const auto run = [&]<class T>() {
    const auto low = bound<T>(a.low, args, 1, true), high = bound<T>(a.high, args, 2, false);
    spread([&](size_t begin, size_t end, int) {
      const T* x = args.in(0).data<T>();
      T* y = args.out().data<T>();
      for (size_t i = begin; i < end; ++i)
        y[i] = Element<T>::put(min_of(max_of(Element<T>::get(x[i]), low), high));
    });
  };
  if (visit_floats(args.in(0).type, run) || visit_integers(args.in(0).type, run)) return ok();
  return unsupported_type("Clip", args.in(0).type);
}

Status reference(const Clip& a, Args& args) {
  return over_types(a, args, [&](auto&& body) { body(0, args.out().count, 0); });
}

Status tiles(const Clip& a, Args& args) {
  visit_floats(args.in(0).type, [&]<class T>() {
    unary_tiles(UnaryOp::clip, float(bound<T>(a.low, args, 1, true)),
                float(bound<T>(a.high, args, 2, false)), args);
  });
  return ok();
}

// Numbers that have a loop of their own.
Status numbers(const Clip& a, Args& args) {
  const DType type = args.in(0).type;
  const ClipLoop loop = clip_loop(type, args.isa);
  const size_t bytes = bytes_for(type, 1);
  const auto run = [&]<class T>() {
    const T low = T(bound<T>(a.low, args, 1, true)), high = T(bound<T>(a.high, args, 2, false));
    const auto* x = args.in(0).data<std::byte>();
    auto* y = args.out().data<std::byte>();
    args.pool->parallel(args.out().count, kElementGrain, [&](size_t begin, size_t end, int) {
      loop(x + begin * bytes, &low, &high, y + begin * bytes, end - begin);
    });
  };
  if (type == DType::f64) {
    run.operator()<double>();
  } else {
    visit_integers(type, run);
  }
  return ok();
}

constexpr Kernel<Clip> kKernels[] = {
    {"tiles", [](const Clip&, const Call& call) { return is_array_type(call.in[0].type); }, tiles},
    {"numbers",
     [](const Clip&, const Call& call) { return clip_loop(call.in[0].type, call.isa) != nullptr; },
     numbers},
    {"threads", [](const Clip&, const Call&) { return true; },
     [](const Clip& a, Args& args) {
       return over_types(a, args, [&](auto&& body) {
         args.pool->parallel(args.out().count, kElementGrain, body);
       });
     }},
};

// An instruction if the bounds are known now.
std::optional<Pointwise> pointwise(const Clip& a, const Facts& in) {
  if (!is_array_type(in[0].type)) return std::nullopt;
  std::array<View, 3> views{View{}};
  for (size_t i = 1; i < in.size(); ++i) {
    if (!in[i].present()) continue;
    if (!in[i].value) return std::nullopt;
    views[i] = view_of(*in[i].value);
  }
  Args args;
  args.ins = views;
  Pointwise clip{Pointwise::Kind::unary, int(UnaryOp::clip)};
  visit_floats(in[0].type, [&]<class T>() {
    clip.p0 = float(bound<T>(a.low, args, 1, true));
    clip.p1 = float(bound<T>(a.high, args, 2, false));
  });
  return clip;
}

std::vector<Case> cases() {
  return {{.name = "opset1_without_bounds",
           .opset = 1,
           .attrs = {},
           .inputs = {Tensor::of<float>({2}, {-5, 5})},
           .expected = {Tensor::of<float>({2}, {-5, 5})}},
          {.name = "opset6_takes_attributes",
           .opset = 6,
           .attrs = {{"min", -1.f}, {"max", 1.f}},
           .inputs = {Tensor::of<float>({4}, {-5, 5, .5f, NAN})},
           .expected = {Tensor::of<float>({4}, {-1, 1, .5f, NAN})}},
          {.name = "maximum_wins",
           .opset = 13,
           .attrs = {},
           .inputs = {Tensor::of<uint8_t>({3}, {1, 5, 9}), Tensor::of<uint8_t>({}, {7}),
                      Tensor::of<uint8_t>({}, {3})},
           .expected = {Tensor::of<uint8_t>({3}, {3, 3, 3})}},
          {.name = "only_a_maximum_of_float16",
           .opset = 11,
           .attrs = {},
           .inputs = {Tensor::of<F16>({2}, {F16::from(-3), F16::from(3)}), std::monostate(),
                      Tensor::of<F16>({}, {F16::from(2)})},
           .expected = {Tensor::of<F16>({2}, {F16::from(-3), F16::from(2)})}}};
}

constexpr OpOf<Clip> kClip{
    .name = "Clip",
    .doc =
        "The element kept within [min, max]; bounds that are left out are the type's finite "
        "limits.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .kernels = kKernels,
    .cases = [] { return with_samples(kHistory, cases()); },
    .inplace = true,
    .pointwise = pointwise,
    .layout = each_element_of_first<Clip>,
};

}  // namespace

extern const Op clip = erase<kClip>();

}  // namespace sdx::ops
