// Dropout: the identity at inference, and in training mode a mask from the engine's own generator.
#include "kernel/random/philox.h"
#include "ops/elementwise/broadcast.h"

namespace sdx::ops {
namespace {

struct Dropout {
  bool inputs = false;    // opset 12: ratio and training_mode are inputs 1 and 2
  bool training = false;  // before
  float ratio = .5f;
  uint64_t seed = 0;
  bool typed_mask = false;  // before opset 10 the mask has the data's type
};

constexpr Version kHistory[] = {
    {1,
     "(data: T) -> (output: T, mask?: T) {consumed_inputs: ints, is_test: int = 0, ratio: float = "
     "0.5} T in floats"},
    {6, "{-consumed_inputs}"},
    {7, "{-is_test}"},  // inference only
    {10, "-> (output: T, mask?: T1) T1 in bool"},
    {12,
     "(data: T, ratio?: T1, training_mode?: T2) -> (output: T, mask?: T2) {seed: int, -ratio} T1 "
     "in floats T2 in bool"},
    {13, "T += bf16"},
    {22, "T += f8 T1 += f8 bf16"},
};

Result<Dropout> read(const Node& node, const Facts&) {
  Dropout a;
  a.inputs = node.opset >= 12;
  a.typed_mask = node.opset < 10;
  a.training = node.has("is_test") && node.i("is_test") == 0;
  a.ratio = node.f_or("ratio", .5f);
  a.seed = uint64_t(node.i_or("seed", 0));
  return a;
}

Result<Facts> infer(const Dropout& a, const Facts& in) {
  for (size_t i = 1; i < in.size(); ++i) {
    if (!in[i].present() || !in[i].has_rank()) continue;
    const Dim count = product(*in[i].shape);
    if (count.is_const() && !count.is_const(1)) {
      return fail("SDX-T0208", "the {} must be one element, but its shape is {}",
                  i == 1 ? "ratio" : "training mode", to_string(*in[i].shape));
    }
  }
  return Facts{like(in[0]), like(in[0], a.typed_mask ? in[0].type : DType::boolean)};
}

// mask[i] = uniform(i) >= ratio; output = (data / (1 - ratio)) mask. Without training or with ratio
// 0: a copy.
Status reference(const Dropout& a, Args& args) {
  const View &x = args.in(0), &y = args.out();
  double ratio = double(a.ratio);
  bool training = a.training;
  if (a.inputs) {
    if (args.has(1) && args.in(1).count > 0) ratio = get_f64(args.in(1).type, args.in(1).raw, 0);
    training = args.has(2) && args.in(2).count > 0 && *args.in(2).data<uint8_t>() != 0;
  }
  if (training && !(ratio >= 0 && ratio < 1))
    return fail("SDX-R0201", "the ratio is {}, not in [0, 1)", ratio);
  const bool drops = training && ratio != 0;
  const double scale = 1 / (1 - ratio);
  const Philox random(a.seed);
  if (!drops && y.raw != x.raw) std::memcpy(y.raw, x.raw, x.bytes());
  for (size_t i = 0; (drops || args.wants(1)) && i < x.count; ++i) {
    const bool keep = !drops || random.uniform(i) >= ratio;
    if (drops) set_f64(y.type, y.raw, i, get_f64(x.type, x.raw, i) * scale * (keep ? 1 : 0));
    if (!args.wants(1)) continue;
    if (a.typed_mask) {
      set_f64(y.type, args.out(1).raw, i, keep ? 1 : 0);
    } else {
      args.out(1).data<uint8_t>()[i] = keep;
    }
  }
  return ok();
}

// At inference the output is the input.
std::optional<size_t> alias(const Dropout& a, const Call& call, size_t slot) {
  const bool never = a.inputs ? call.in.size() < 3 || !call.in[2].present() : !a.training;
  const auto mode = call.in.size() < 3 ? std::nullopt : call.in[2].constant_integers();
  if (slot != 0 || (!never && !(mode && mode->size() == 1 && mode->front() == 0)))
    return std::nullopt;
  return 0;
}

std::vector<Case> cases() {
  const Tensor x = Tensor::of<float>({4}, {1, -2, 3, 4});
  return {{.name = "opset7_is_the_identity",
           .opset = 7,
           .attrs = {},
           .inputs = {x},
           .expected = {x, Tensor::of<float>({4}, {1, 1, 1, 1})},
           .outputs = 2},
          {.name = "opset6_test_mode",
           .opset = 6,
           .attrs = {{"is_test", int64_t{1}}},
           .inputs = {x},
           .expected = {x}},
          {.name = "float8_at_inference",
           .opset = 22,
           .attrs = {},
           .inputs = {Tensor::of<F8E5M2>({2}, {F8E5M2{1}, F8E5M2{0xff}})},
           .expected = {Tensor::of<F8E5M2>({2}, {F8E5M2{1}, F8E5M2{0xff}}),
                        Tensor::of<bool>({2}, {true, true})},
           .outputs = 2},
          {.name = "training_drops_by_the_generator",
           .opset = 13,
           .attrs = {{"seed", int64_t{0}}},
           .inputs = {x, Tensor::scalar(.5f), Tensor::scalar(true)},
           .expected = {Tensor::of<float>({4}, {0, -4, 6, 8}),
                        Tensor::of<bool>({4}, {false, true, true, true})},
           .outputs = 2}};
}

constexpr OpOf<Dropout> kDropout{
    .name = "Dropout",
    .doc =
        "The input; in training mode a share `ratio` of it is zero and the rest is scaled by 1 / "
        "(1 - ratio).",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .cases = cases,
    .alias = alias,
};

}  // namespace

extern const Op dropout = erase<kDropout>();

}  // namespace sdx::ops
