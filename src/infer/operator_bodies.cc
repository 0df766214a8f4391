// Bodies of operators that ONNX defines as functions, in its text syntax. They keep to operators
// whose meaning, for what is used of them, is the same in every version from 18 on, and to any
// element type.
#include <map>
#include <memory>

#include "infer/inline.h"
#include "model/text.h"

namespace sdx::infer {
namespace {

constexpr std::string_view kBodies = R"(
<domain: "", opset_import: ["" : 18]>
LessOrEqual (A, B) => (C) {
  less = Less (A, B)
  equal = Equal (A, B)
  C = Or (less, equal)
}
<domain: "", opset_import: ["" : 18]>
GreaterOrEqual (A, B) => (C) {
  greater = Greater (A, B)
  equal = Equal (A, B)
  C = Or (greater, equal)
}
<domain: "", opset_import: ["" : 18]>
Elu <alpha: float = 1.0> (X) => (Y) {
  a = Constant <value_float: float = @alpha> ()
  alpha = CastLike (a, X)
  z = Constant <value_float = 0.0> ()
  zero = CastLike (z, X)
  o = Constant <value_float = 1.0> ()
  one = CastLike (o, X)
  negative = Less (X, zero)
  e = Exp (X)
  lower = Sub (e, one)
  scaled = Mul (alpha, lower)
  Y = Where (negative, scaled, X)
}
<domain: "", opset_import: ["" : 18]>
Selu <alpha: float = 1.67326319217681884765625, gamma: float = 1.05070102214813232421875> (X) => (Y) {
  a = Constant <value_float: float = @alpha> ()
  alpha = CastLike (a, X)
  g = Constant <value_float: float = @gamma> ()
  gamma = CastLike (g, X)
  z = Constant <value_float = 0.0> ()
  zero = CastLike (z, X)
  negative = Less (X, zero)
  e = Exp (X)
  scaled = Mul (alpha, e)
  lower = Sub (scaled, alpha)
  below = Mul (gamma, lower)
  above = Mul (gamma, X)
  Y = Where (negative, below, above)
}
<domain: "", opset_import: ["" : 18]>
Celu <alpha: float = 1.0> (X) => (Y) {
  a = Constant <value_float: float = @alpha> ()
  alpha = CastLike (a, X)
  z = Constant <value_float = 0.0> ()
  zero = CastLike (z, X)
  o = Constant <value_float = 1.0> ()
  one = CastLike (o, X)
  ratio = Div (X, alpha)
  e = Exp (ratio)
  lower = Sub (e, one)
  scaled = Mul (alpha, lower)
  below = Min (zero, scaled)
  above = Max (zero, X)
  Y = Add (above, below)
}
<domain: "", opset_import: ["" : 18]>
LeakyRelu <alpha: float = 0.01> (X) => (Y) {
  a = Constant <value_float: float = @alpha> ()
  alpha = CastLike (a, X)
  z = Constant <value_float = 0.0> ()
  zero = CastLike (z, X)
  negative = Less (X, zero)
  scaled = Mul (alpha, X)
  Y = Where (negative, scaled, X)
}
<domain: "", opset_import: ["" : 18]>
PRelu (X, slope) => (Y) {
  z = Constant <value_float = 0.0> ()
  zero = CastLike (z, X)
  negative = Less (X, zero)
  scaled = Mul (slope, X)
  Y = Where (negative, scaled, X)
}
<domain: "", opset_import: ["" : 18]>
ThresholdedRelu <alpha: float = 1.0> (X) => (Y) {
  a = Constant <value_float: float = @alpha> ()
  alpha = CastLike (a, X)
  z = Constant <value_float = 0.0> ()
  zero = CastLike (z, X)
  above = Less (alpha, X)
  Y = Where (above, X, zero)
}
<domain: "", opset_import: ["" : 18]>
HardSigmoid <alpha: float = 0.2, beta: float = 0.5> (X) => (Y) {
  a = Constant <value_float: float = @alpha> ()
  alpha = CastLike (a, X)
  b = Constant <value_float: float = @beta> ()
  beta = CastLike (b, X)
  z = Constant <value_float = 0.0> ()
  zero = CastLike (z, X)
  o = Constant <value_float = 1.0> ()
  one = CastLike (o, X)
  scaled = Mul (X, alpha)
  line = Add (scaled, beta)
  below_one = Min (line, one)
  Y = Max (below_one, zero)
}
<domain: "", opset_import: ["" : 18]>
HardSwish (X) => (Y) {
  s = Constant <value_float = 0.16666667> ()
  sixth = CastLike (s, X)
  h = Constant <value_float = 0.5> ()
  half = CastLike (h, X)
  z = Constant <value_float = 0.0> ()
  zero = CastLike (z, X)
  o = Constant <value_float = 1.0> ()
  one = CastLike (o, X)
  scaled = Mul (X, sixth)
  line = Add (scaled, half)
  below_one = Min (line, one)
  gate = Max (below_one, zero)
  Y = Mul (X, gate)
}
<domain: "", opset_import: ["" : 18]>
Softplus (X) => (Y) {
  o = Constant <value_float = 1.0> ()
  one = CastLike (o, X)
  e = Exp (X)
  sum = Add (e, one)
  Y = Log (sum)
}
<domain: "", opset_import: ["" : 18]>
Softsign (X) => (Y) {
  o = Constant <value_float = 1.0> ()
  one = CastLike (o, X)
  size = Abs (X)
  sum = Add (one, size)
  Y = Div (X, sum)
}
<domain: "", opset_import: ["" : 18]>
Mish (X) => (Y) {
  o = Constant <value_float = 1.0> ()
  one = CastLike (o, X)
  e = Exp (X)
  sum = Add (e, one)
  soft = Log (sum)
  gate = Tanh (soft)
  Y = Mul (X, gate)
}
<domain: "", opset_import: ["" : 18]>
Swish <alpha: float = 1.0> (X) => (Y) {
  a = Constant <value_float: float = @alpha> ()
  alpha = CastLike (a, X)
  scaled = Mul (alpha, X)
  gate = Sigmoid (scaled)
  Y = Mul (X, gate)
}
<domain: "", opset_import: ["" : 18]>
Shrink <lambd: float = 0.5, bias: float = 0.0> (input) => (output) {
  l = Constant <value_float: float = @lambd> ()
  lambd = CastLike (l, input)
  b = Constant <value_float: float = @bias> ()
  bias = CastLike (b, input)
  z = Constant <value_float = 0.0> ()
  zero = CastLike (z, input)
  least = Neg (lambd)
  below = Less (input, least)
  above = Less (lambd, input)
  raised = Add (input, bias)
  lowered = Sub (input, bias)
  upper = Where (above, lowered, zero)
  output = Where (below, raised, upper)
}
<domain: "", opset_import: ["" : 18]>
Softmax <axis: int = -1> (input) => (output) {
  axis = Constant <value_int: int = @axis> ()
  first = Constant <value_ints = [0]> ()
  axes = Unsqueeze (axis, first)
  largest = ReduceMax (input, axes)
  shifted = Sub (input, largest)
  e = Exp (shifted)
  sum = ReduceSum (e, axes)
  output = Div (e, sum)
}
<domain: "", opset_import: ["" : 18]>
LogSoftmax <axis: int = -1> (input) => (output) {
  axis = Constant <value_int: int = @axis> ()
  first = Constant <value_ints = [0]> ()
  axes = Unsqueeze (axis, first)
  largest = ReduceMax (input, axes)
  shifted = Sub (input, largest)
  e = Exp (shifted)
  sum = ReduceSum (e, axes)
  log = Log (sum)
  output = Sub (shifted, log)
}
<domain: "", opset_import: ["" : 18]>
MeanVarianceNormalization <axes: ints = [0, 2, 3]> (X) => (Y) {
  axes = Constant <value_ints: ints = @axes> ()
  t = Constant <value_float = 2.0> ()
  two = CastLike (t, X)
  s = Constant <value_float = 1e-9> ()
  small = CastLike (s, X)
  mean = ReduceMean (X, axes)
  mean_squared = Pow (mean, two)
  squares = Pow (X, two)
  mean_of_squares = ReduceMean (squares, axes)
  variance = Sub (mean_of_squares, mean_squared)
  deviation = Sqrt (variance)
  divisor = Add (deviation, small)
  centred = Sub (X, mean)
  Y = Div (centred, divisor)
}
<domain: "", opset_import: ["" : 18]>
ReduceSumSquare <keepdims: int = 1> (data, axes) => (reduced) {
  squares = Mul (data, data)
  reduced = ReduceSum <keepdims: int = @keepdims> (squares, axes)
}
<domain: "", opset_import: ["" : 18]>
ReduceL1 <keepdims: int = 1> (data, axes) => (reduced) {
  sizes = Abs (data)
  reduced = ReduceSum <keepdims: int = @keepdims> (sizes, axes)
}
<domain: "", opset_import: ["" : 18]>
ReduceL2 <keepdims: int = 1> (data, axes) => (reduced) {
  squares = Mul (data, data)
  sum = ReduceSum <keepdims: int = @keepdims> (squares, axes)
  root = Sqrt (sum)
  reduced = CastLike (root, data)
}
<domain: "", opset_import: ["" : 18]>
ReduceLogSum <keepdims: int = 1> (data, axes) => (reduced) {
  sum = ReduceSum <keepdims: int = @keepdims> (data, axes)
  reduced = Log (sum)
}
<domain: "", opset_import: ["" : 18]>
ReduceLogSumExp <keepdims: int = 1> (data, axes) => (reduced) {
  e = Exp (data)
  sum = ReduceSum <keepdims: int = @keepdims> (e, axes)
  reduced = Log (sum)
}
)";

const std::map<std::string, model::Function, std::less<>>& bodies() {
  static const auto* const kByName = [] {
    auto* made = new std::map<std::string, model::Function, std::less<>>;
    if (auto functions = model::parse_functions(kBodies)) {  // tested to parse
      for (model::Function& f : *functions) made->emplace(f.name, std::move(f));
    }
    return made;
  }();
  return *kByName;
}

}  // namespace

const model::Function* operator_body(const model::Node& node, int64_t opset) {
  if (opset < 18 || !(node.domain.empty() || node.domain == "ai.onnx")) return nullptr;
  const auto at = bodies().find(node.op_type);
  if (at == bodies().end()) return nullptr;
  for (const model::Attribute& given : node.attribute) {
    bool taken = false;
    for (const model::Attribute& known : at->second.attribute_proto) {
      taken = taken || known.name == given.name;
    }
    if (!taken) return nullptr;
  }
  return &at->second;
}

}  // namespace sdx::infer
