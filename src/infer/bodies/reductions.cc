// Bodies of comparisons, reductions and what is made of them.
#include "infer/bodies/bodies.h"

namespace sdx::infer {

const std::string_view kReductionBodies = R"(
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
<domain: "", opset_import: ["" : 18]>
DynamicQuantizeLinear (x) => (y, y_scale, y_zero_point) {
  zero = Constant <value_float = 0.0> ()
  top = Constant <value_float = 255.0> ()
  least = ReduceMin <keepdims = 0> (x)
  low = Min (least, zero)
  most = ReduceMax <keepdims = 0> (x)
  high = Max (most, zero)
  width = Sub (high, low)
  y_scale = Div (width, top)
  steps = Div (low, y_scale)
  offset = Sub (zero, steps)
  inside = Clip (offset, zero, top)
  rounded = Round (inside)
  y_zero_point = Cast <to = 2> (rounded)
  y = QuantizeLinear (x, y_scale, y_zero_point)
}
<domain: "", opset_import: ["" : 18]>
SoftmaxCrossEntropyLoss <ignore_index, reduction: string = "mean"> (scores, labels, weights) => (output, log_prob) {
  log_prob = LogSoftmax <axis = 1> (scores)
  output = NegativeLogLikelihoodLoss <reduction: string = @reduction, ignore_index: int = @ignore_index> (log_prob, labels, weights)
}
)";

}  // namespace sdx::infer
