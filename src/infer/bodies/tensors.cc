// Bodies of operators that make, move and convert elements.
#include <numbers>

#include "infer/bodies/bodies.h"

namespace sdx::infer {

std::optional<model::Function> cast_like_body(const OperatorUse& use) {
  const DType to = use.type(1);
  if (to == DType::undefined) return std::nullopt;
  std::string more;
  for (const std::string_view name : {"saturate", "round_mode"}) {
    const model::Attribute* given = use.node.find(name);
    if (given == nullptr) continue;
    more += given->s.empty() ? fmt::format(", {} = {}", name, given->i)
                             : fmt::format(", {} = \"{}\"", name, given->s);
  }
  BodyText body(use, "input, target_type", "output");
  body.line("output = Cast <to = {}{}> (input)", int(to), more);
  return body.function();
}

std::optional<model::Function> clip_body(const OperatorUse& use) {
  BodyText body(use, "input, min, max", "output");
  const bool low = use.has(1), high = use.has(2);
  if (low) body.line("{} = Max (input, min)", high ? "raised" : "output");
  if (high) body.line("output = Min ({}, max)", low ? "raised" : "input");
  if (!low && !high) body.line("output = Identity (input)");
  return body.function();
}

std::optional<model::Function> gelu_body(const OperatorUse& use) {
  const bool by_tanh = use.text("approximate", "none") == "tanh";
  BodyText body(use, "X", "Y");
  body.number("half", 0.5, "X");
  body.number("one", 1, "X");
  if (by_tanh) {
    body.number("cubic", 0.044715, "X");
    body.number("width", std::sqrt(2 / std::numbers::pi), "X");
    body.line("square = Mul (X, X)");
    body.line("cube = Mul (square, X)");
    body.line("bend = Mul (cubic, cube)");
    body.line("bent = Add (X, bend)");
    body.line("inside = Mul (width, bent)");
    body.line("gate = Tanh (inside)");
  } else {
    body.number("width", std::numbers::sqrt2, "X");
    body.line("inside = Div (X, width)");
    body.line("gate = Erf (inside)");
  }
  body.line("open = Add (one, gate)");
  body.line("halved = Mul (half, open)");
  body.line("Y = Mul (X, halved)");
  return body.function();
}

std::optional<model::Function> bernoulli_body(const OperatorUse& use) {
  BodyText body(use, "input", "output");
  const model::Attribute* seed = use.node.find("seed");
  body.line("draw = RandomUniformLike <low = 0.0, high = 1.0{}> (input)",
            seed != nullptr ? fmt::format(", seed = {:.9e}", seed->f) : "");
  body.line("happens = Less (draw, input)");
  if (use.has("dtype")) {
    body.line("output = Cast <to = {}> (happens)", use.integer("dtype", 1));
  } else {
    body.line("output = CastLike (happens, input)");
  }
  return body.function();
}

// start + i * delta for i below ceil((limit - start) / delta), i being a running sum of ones.
std::optional<model::Function> range_body(const OperatorUse& use) {
  const DType type = use.type(0);
  if (type == DType::undefined) return std::nullopt;
  const bool narrow = type == DType::f16 || type == DType::bf16;
  const int64_t stash = narrow ? use.integer("stash_type", 1) : int64_t(type);
  BodyText body(use, "start, limit, delta", "output");
  for (const std::string_view name : {"start", "limit", "delta"})
    body.line("{}_in_double = Cast <to = 11> ({})", name, name);
  body.line("distance = Sub (limit_in_double, start_in_double)");
  body.line("steps = Div (distance, delta_in_double)");
  body.line("whole = Ceil (steps)");
  body.line("none = Constant <value = double {0}> ()");
  body.line("bounded = Max (whole, none)");
  body.line("number = Cast <to = 7> (bounded)");
  body.list("one", {1});
  body.list("axis", {0});
  body.line("count = Reshape (number, one)");
  body.line("ones = Expand (one, count)");
  body.line("index = CumSum <exclusive = 1> (ones, axis)");
  for (const std::string_view name : {"start", "delta", "index"})
    body.line("{}_here = Cast <to = {}> ({})", name, stash, name);
  body.line("offset = Mul (index_here, delta_here)");
  body.line("sum = Add (start_here, offset)");
  body.line("output = CastLike (sum, start)");
  return body.function();
}

// (a0 - a1 cos(2 pi i / n)) + a2 cos(4 pi i / n) in double.
std::optional<model::Function> window_body(const OperatorUse& use) {
  const std::string& name = use.node.op_type;
  const bool blackman = name == "BlackmanWindow";
  const double a0 = blackman ? 0.42 : name == "HannWindow" ? 0.5 : 25.0 / 46;
  BodyText body(use, "size", "output");
  body.line("whole = Cast <to = 7> (size)");
  body.list("empty", {});
  body.line("length = Reshape (whole, empty)");
  body.line("zero = Constant <value_int = 0> ()");
  body.line("one = Constant <value_int = 1> ()");
  body.line("index = Range (zero, length, one)");
  body.line("i = Cast <to = 11> (index)");
  body.line(use.integer("periodic", 1) != 0 ? "period = Identity (length)"
                                            : "period = Sub (length, one)");
  body.line("period_or_one = Max (period, one)");
  body.line("n = Cast <to = 11> (period_or_one)");
  body.number("turn", 2 * std::numbers::pi, "n");
  body.number("a0", a0, "n");
  body.number("a1", blackman ? 0.5 : 1 - a0, "n");
  body.number("a2", blackman ? 0.08 : 0, "n");
  body.number("two", 2, "n");
  body.line("turns = Div (i, n)");
  body.line("angle = Mul (turns, turn)");
  body.line("cosine = Cos (angle)");
  body.line("wave = Mul (a1, cosine)");
  body.line("double_angle = Mul (two, angle)");
  body.line("double_cosine = Cos (double_angle)");
  body.line("double_wave = Mul (a2, double_cosine)");
  body.line("lowered = Sub (a0, wave)");
  body.line("window = Add (lowered, double_wave)");
  body.line("output = Cast <to = {}> (window)", use.integer("output_datatype", 1));
  return body.function();
}

// What is too much is cut off, half of it before; what is missing is padded in the same way.
std::optional<model::Function> center_crop_pad_body(const OperatorUse& use) {
  BodyText body(use, "input_data, shape", "output_data");
  const model::Attribute* axes = use.node.find("axes");
  body.line("wanted = Cast <to = 7> (shape)");
  if (axes != nullptr) {
    body.list("axes", axes->ints);
    body.line("all_sizes = Shape (input_data)");
    body.line("sizes = Gather (all_sizes, axes)");
  } else {
    body.line("sizes = Shape (input_data)");
  }
  body.line("zero = Constant <value_int = 0> ()");
  body.line("two = Constant <value_int = 2> ()");
  body.line("above = Sub (sizes, wanted)");
  body.line("too_much = Max (above, zero)");
  body.line("starts = Div (too_much, two)");
  body.line("kept = Min (sizes, wanted)");
  body.line("ends = Add (starts, kept)");
  body.line("below = Sub (wanted, sizes)");
  body.line("missing = Max (below, zero)");
  body.line("before = Div (missing, two)");
  body.line("after = Sub (missing, before)");
  body.line("pads = Concat <axis = 0> (before, after)");
  const std::string_view last = axes != nullptr ? ", axes" : "";
  body.line("cropped = Slice (input_data, starts, ends{})", last);
  body.line("output_data = Pad (cropped, pads{}{})", axes != nullptr ? ", \"\"" : "", last);
  return body.function();
}

// theta times (x, y[, z], 1) at each pixel; x, y, z run from -1 to 1.
std::optional<model::Function> affine_grid_body(const OperatorUse& use) {
  const auto length = use.size(1, 0);
  if (!length || (*length != 4 && *length != 5)) return std::nullopt;
  const int64_t axes = *length - 2;
  const bool aligned = use.integer("align_corners", 0) != 0;
  BodyText body(use, "theta, size", "grid");
  body.number("one", 1, "theta");
  body.number("two", 2, "theta");
  body.line("zero = Constant <value_int = 0> ()");
  body.line("step = Constant <value_int = 1> ()");
  body.list("first", {0});
  body.list("after_channels", {2});
  body.list("end", {5});
  body.line("pixels = Slice (size, after_channels, end)");
  std::string coordinates;
  for (int64_t k = 0; k < axes; ++k) {  // x runs along the last axis
    body.line("axis{} = Constant <value_int = {}> ()", k, axes - 1 - k);
    body.line("n{} = Gather (pixels, axis{})", k, k);
    body.line("index{} = Range (zero, n{}, step)", k, k);
    body.line("i{} = CastLike (index{}, theta)", k, k);
    body.line("doubled{} = Mul (two, i{})", k, k);
    if (aligned) {
      body.line("spaces{} = Sub (n{}, step)", k, k);
      body.line("steps{} = Max (spaces{}, step)", k, k);  // one pixel stands at -1
      body.line("width{} = CastLike (steps{}, theta)", k, k);
      body.line("part{} = Div (doubled{}, width{})", k, k, k);
    } else {
      body.line("odd{} = Add (doubled{}, one)", k, k);
      body.line("width{} = CastLike (n{}, theta)", k, k);
      body.line("part{} = Div (odd{}, width{})", k, k, k);
    }
    body.line("line{} = Sub (part{}, one)", k, k);
    std::vector<int64_t> others;  // k axes stand behind this one; one more holds the coordinates
    for (int64_t after = 0; after <= k; ++after) others.push_back(-1 - after);
    body.list(fmt::format("others{}", k), others);
    body.line("row{} = Unsqueeze (line{}, others{})", k, k, k);
    coordinates += fmt::format("full{}, ", k);
  }
  body.list("single", {1});
  body.line("plane = Concat <axis = 0> (pixels, single)");
  for (int64_t k = 0; k < axes; ++k) body.line("full{} = Expand (row{}, plane)", k, k);
  body.line("ones = Expand (one, plane)");
  body.line("points = Concat <axis = -1> ({}ones)", coordinates);
  body.list("as_rows", {-1, axes + 1});
  body.line("rows = Reshape (points, as_rows)");
  body.line("transposed = Transpose <perm = [0, 2, 1]> (theta)");
  body.line("placed = MatMul (rows, transposed)");
  body.list("second", {1});
  body.list("result_axes", {axes});
  body.line("batch = Slice (size, first, second)");
  body.line("grid_shape = Concat <axis = 0> (batch, pixels, result_axes)");
  body.line("grid = Reshape (placed, grid_shape)");
  return body.function();
}

}  // namespace sdx::infer
