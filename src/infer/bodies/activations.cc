// Bodies of activations.
#include "infer/bodies/bodies.h"

namespace sdx::infer {

const std::string_view kActivationBodies = R"(
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
Relu (X) => (Y) {
  z = Constant <value_int = 0> ()
  zero = CastLike (z, X)
  Y = Max (X, zero)
}
<domain: "", opset_import: ["" : 18]>
SwiGLU <alpha: float = 1.0> (A, B) => (Y) {
  gated = Swish <alpha: float = @alpha> (A)
  Y = Mul (gated, B)
}
)";

}  // namespace sdx::infer
