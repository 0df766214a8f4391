#include "rowwise/rules.h"

#include <algorithm>
#include <map>

namespace sdx::rowwise {

bool Asked::counts(const Dim& dim) const {
  std::vector<std::string> symbols;
  dim.symbols(symbols);
  return std::find(symbols.begin(), symbols.end(), symbol) != symbols.end();
}

bool Asked::same_from(size_t first, size_t except) const {
  for (size_t i = first; i < rows.size(); ++i) {
    if (i != except && given(i) && rows[i].kind != Rows::Kind::same) {
      refuse(fmt::format("its input {} differs from row to row, or with their number", i));
      return false;
    }
  }
  return true;
}

std::optional<size_t> counting_axis(const Asked& asked, const Shape& shape) {
  std::optional<size_t> found;
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    if (!asked.counts(shape[axis])) continue;
    if (found) return std::nullopt;
    found = axis;
  }
  return found;
}

namespace {

constexpr const char* kAcross = "it works across rows";

std::vector<Rows> everywhere(const Asked& asked, size_t axis) {
  return std::vector<Rows>(asked.node.outputs.size(), Rows::at(axis));
}

// Element by element, shapes broadcast as numpy does.
Answer elements(const Asked& asked) {
  const size_t rank = asked.out().rank();
  std::optional<size_t> at;
  for (size_t i = 0; i < asked.rows.size(); ++i) {
    if (!asked.given(i)) continue;
    if (asked.rows[i].kind == Rows::Kind::size)
      return asked.refuse("it computes with the number of rows");
    if (!asked.has(i)) continue;
    const size_t here = rank - asked.in[i].rank() + asked.rows[i].axis;
    if (at && *at != here) return asked.refuse("its inputs have their rows along different axes");
    at = here;
  }
  for (size_t i = 0; i < asked.rows.size(); ++i) {
    if (!asked.given(i) || asked.has(i)) continue;
    const size_t missing = rank - asked.in[i].rank();
    if (*at >= missing && !asked.in[i].dim(*at - missing).is_const(1)) return asked.refuse(kAcross);
  }
  return everywhere(asked, *at);
}

// Rows of the first input go to the same axis of the outputs; the others are parameters.
Answer first(const Asked& asked) {
  if (!asked.has(0) || !asked.same_from(1))
    return asked.refuse("a parameter differs from row to row");
  return everywhere(asked, asked.rows[0].axis);
}

// Images: [batch, channels, ...]; weights and parameters the same for all.
Answer images(const Asked& asked) {
  if (!asked.has(0) || !asked.same_from(1))
    return asked.refuse("a parameter differs from row to row");
  if (asked.rows[0].axis != 0) return asked.refuse(kAcross);
  return everywhere(asked, 0);
}

size_t axis_of(int64_t axis, size_t rank) { return size_t(axis < 0 ? axis + int64_t(rank) : axis); }

// Statistics of the whole batch are training's.
Answer batch_normalization(const Asked& asked) {
  const bool training = asked.use().i_or("training_mode", 0) != 0;
  const bool old = asked.use().opset < 7 && asked.use().i_or("is_test", 0) == 0;
  if (training || old) return asked.refuse("it takes the mean over all rows");
  return images(asked);
}

// Indices of maxima count through all images.
Answer max_pool(const Asked& asked) {
  if (asked.node.outputs.size() > 1 && asked.out(1).present())
    return asked.refuse("its indices count through all rows");
  return images(asked);
}

// Along one axis, which is not that of the rows.
Answer along(const Asked& asked) {
  const auto answer = first(asked);
  if (!answer) return answer;
  if (axis_of(asked.use().i_or("axis", -1), asked.in[0].rank()) == asked.rows[0].axis)
    return asked.refuse(kAcross);
  return answer;
}

// Over all axes from one on.
Answer from_axis(const Asked& asked) {
  const auto answer = first(asked);
  if (!answer) return answer;
  if (axis_of(asked.use().i_or("axis", -1), asked.in[0].rank()) <= asked.rows[0].axis)
    return asked.refuse(kAcross);
  return answer;
}

// Softmax and its kin took all axes from `axis` on before opset 13.
Answer softmax(const Asked& asked) {
  return asked.use().opset < 13 ? from_axis(asked) : along(asked);
}

Answer last_axes(const Asked& asked) {  // Trilu: the last two
  const auto answer = first(asked);
  if (answer && asked.rows[0].axis + 2 >= asked.in[0].rank()) return asked.refuse(kAcross);
  return answer;
}

// The axis of the rows in a tensor without some axes.
std::vector<Rows> without(const Asked& asked, const std::vector<size_t>& axes, bool kept) {
  size_t axis = asked.rows[0].axis;
  const auto before =
      std::count_if(axes.begin(), axes.end(), [&](size_t other) { return other < axis; });
  if (!kept) axis -= size_t(before);
  return everywhere(asked, axis);
}

Answer reduce(const Asked& asked) {
  if (!asked.has(0) || !asked.same_from(1)) return asked.refuse("its axes differ");
  std::vector<int64_t> listed = asked.use().ints_or_empty("axes");
  if (asked.given(1)) {
    const auto integers = asked.in[1].constant_integers();
    if (!integers) return asked.refuse("its axes are not known");
    listed = *integers;
  }
  if (listed.empty()) {
    if (asked.use().i_or("noop_with_empty_axes", 0) != 0) return first(asked);
    return asked.refuse("it reduces over all rows");
  }
  std::vector<size_t> axes;
  for (const int64_t axis : listed) axes.push_back(axis_of(axis, asked.in[0].rank()));
  if (std::find(axes.begin(), axes.end(), asked.rows[0].axis) != axes.end())
    return asked.refuse("it reduces over the rows");
  return without(asked, axes, asked.use().i_or("keepdims", 1) != 0);
}

Answer arg(const Asked& asked) {
  if (!asked.has(0) || !asked.same_from(1)) return asked.refuse(kAcross);
  const size_t axis = axis_of(asked.use().i_or("axis", 0), asked.in[0].rank());
  if (axis == asked.rows[0].axis) return asked.refuse("it reduces over the rows");
  return without(asked, {axis}, asked.use().i_or("keepdims", 1) != 0);
}

// a x b, the last two axes multiplied and the others broadcast.
Answer product(const Asked& asked, size_t a, size_t b) {
  for (size_t i = 0; i < asked.rows.size(); ++i) {
    if (i == a || i == b || !asked.given(i)) continue;
    if (asked.rows[i].kind != Rows::Kind::same)
      return asked.refuse("a parameter differs from row to row");
  }
  if (asked.rows[a].kind == Rows::Kind::size || asked.rows[b].kind == Rows::Kind::size)
    return asked.refuse("it computes with the number of rows");
  const size_t left = asked.in[a].rank(), right = asked.in[b].rank(), rank = asked.out().rank();
  // From the right, as broadcasting counts; 1 and 2 are the axes that are multiplied.
  const auto back = [&](size_t input, size_t axes) { return axes - asked.rows[input].axis; };
  const auto plain = [&](size_t input, size_t axes, size_t from_right) {
    return axes < from_right || asked.in[input].dim(axes - from_right).is_const(1);
  };
  if (asked.has(a) && asked.has(b)) {
    if (back(a, left) != back(b, right) || back(a, left) < 3) return asked.refuse(kAcross);
    return everywhere(asked, rank - back(a, left));
  }
  if (asked.has(a)) {
    if (back(a, left) == 1) return asked.refuse("it sums over the rows");
    if (right == 1) return everywhere(asked, asked.rows[a].axis);
    if (back(a, left) > 2 && !plain(b, right, back(a, left))) return asked.refuse(kAcross);
    return everywhere(asked, rank - back(a, left));
  }
  if (right < 2 || back(b, right) == 2) return asked.refuse("it sums over the rows");
  if (left == 1) return asked.refuse(kAcross);
  if (back(b, right) > 2 && !plain(a, left, back(b, right))) return asked.refuse(kAcross);
  return everywhere(asked, rank - back(b, right));
}
Answer matmul(const Asked& asked) { return product(asked, 0, 1); }
Answer qlinear_matmul(const Asked& asked) { return product(asked, 0, 3); }

// A product with weights in a form of their own: rows of the first input, which are not summed
// over.
Answer first_product(const Asked& asked) {
  const auto answer = first(asked);
  if (answer && asked.rows[0].axis + 1 == asked.in[0].rank())
    return asked.refuse("it sums over the rows");
  return answer;
}

Answer gemm(const Asked& asked) {
  if (!asked.has(0) || asked.has(1) || asked.rows[1].kind == Rows::Kind::size)
    return asked.refuse(kAcross);
  const size_t rows_axis = asked.use().i_or("transA", 0) != 0 ? 1 : 0;
  if (asked.rows[0].axis != rows_axis) return asked.refuse("it sums over the rows");
  if (asked.given(2)) {
    const Fact& c = asked.in[2];
    if (asked.rows[2].kind == Rows::Kind::size)
      return asked.refuse("it computes with the number of rows");
    if (asked.has(2) && (c.rank() != 2 || asked.rows[2].axis != 0)) return asked.refuse(kAcross);
    if (!asked.has(2) && c.rank() == 2 && !c.dim(0).is_const(1)) return asked.refuse(kAcross);
  }
  return everywhere(asked, 0);
}

Answer transpose(const Asked& asked) {
  const size_t rank = asked.in[0].rank();
  std::vector<int64_t> perm = asked.use().ints_or_empty("perm");
  for (size_t i = 0; perm.size() < rank; ++i) perm.push_back(int64_t(rank - 1 - i));
  const auto at = std::find(perm.begin(), perm.end(), int64_t(asked.rows[0].axis));
  return everywhere(asked, size_t(at - perm.begin()));
}

// The same elements in the same order under another shape: rows stay whole where as much lies
// before their axis as did.
Answer regroup(const Asked& asked) {
  if (!asked.has(0)) return asked.refuse(kAcross);
  const Shape &from = *asked.in[0].shape, &to = *asked.out().shape;
  const auto axis = counting_axis(asked, to);
  if (!axis) return asked.refuse("its output does not keep the rows apart");
  const Dim before = product(std::span(from).first(asked.rows[0].axis));
  if (!(sdx::product(std::span(to).first(*axis)) == before))
    return asked.refuse("it mixes rows with what lies before them");
  return everywhere(asked, *axis);
}

Answer expand(const Asked& asked) {
  const size_t rank = asked.out().rank();
  if (asked.has(0)) return everywhere(asked, rank - asked.in[0].rank() + asked.rows[0].axis);
  if (asked.rows[0].kind == Rows::Kind::size)
    return asked.refuse("it computes with the number of rows");
  const auto axis = counting_axis(asked, *asked.out().shape);
  if (!axis) return asked.refuse("its output does not keep the rows apart");
  const size_t missing = rank - asked.in[0].rank();
  if (*axis >= missing && !asked.in[0].dim(*axis - missing).is_const(1))
    return asked.refuse(kAcross);
  return everywhere(asked, *axis);
}

Answer constant_of_shape(const Asked& asked) {
  const auto axis = counting_axis(asked, *asked.out().shape);
  if (!axis) return asked.refuse("its output does not keep the rows apart");
  return everywhere(asked, *axis);
}

Answer slice(const Asked& asked) {
  const auto answer = first(asked);
  if (!answer) return answer;
  std::vector<int64_t> axes = asked.use().ints_or_empty("axes"), steps;
  size_t count = asked.use().ints_or_empty("starts").size();
  if (asked.given(1)) {
    const auto starts = asked.in[1].shape;
    if (!starts || starts->size() != 1 || !(*starts)[0].is_const())
      return asked.refuse("its axes are not known");
    count = size_t((*starts)[0].value());
  }
  if (asked.given(3)) {
    const auto integers = asked.in[3].constant_integers();
    if (!integers) return asked.refuse("its axes are not known");
    axes = *integers;
  }
  if (axes.empty()) {
    for (size_t i = 0; i < count; ++i) axes.push_back(int64_t(i));
  }
  const size_t row = asked.rows[0].axis;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axis_of(axes[i], asked.in[0].rank()) != row) continue;
    // All rows in their order is no slice at all.
    const auto integers =
        asked.given(4) ? asked.in[4].constant_integers() : std::vector<int64_t>(axes.size(), 1);
    const bool all = integers && i < integers->size() && (*integers)[i] == 1 &&
                     asked.out().dim(row) == asked.in[0].dim(row);
    if (!all) return asked.refuse("it cuts rows out");
  }
  return answer;
}

Answer concat(const Asked& asked) {
  for (size_t i = 0; i < asked.rows.size(); ++i) {
    if (!asked.has(i) || asked.rows[i].axis != asked.rows[0].axis)
      return asked.refuse("its inputs have their rows along different axes");
  }
  if (axis_of(asked.use().i_or("axis", 1), asked.in[0].rank()) == asked.rows[0].axis)
    return asked.refuse("it joins rows");
  return everywhere(asked, asked.rows[0].axis);
}

Answer gather(const Asked& asked) {
  const size_t axis = axis_of(asked.use().i_or("axis", 0), asked.in[0].rank());
  if (asked.rows[0].kind == Rows::Kind::size || asked.rows[1].kind == Rows::Kind::size)
    return asked.refuse("it computes with the number of rows");
  if (asked.has(0) && asked.has(1)) return asked.refuse(kAcross);
  if (asked.has(1)) return everywhere(asked, axis + asked.rows[1].axis);
  if (asked.rows[0].axis == axis) return asked.refuse("it picks rows");
  return everywhere(asked, asked.rows[0].axis < axis ? asked.rows[0].axis
                                                     : asked.rows[0].axis + asked.in[1].rank() - 1);
}

Answer gather_elements(const Asked& asked) {
  if (!asked.has(0) || !asked.has(1) || asked.rows[0].axis != asked.rows[1].axis)
    return asked.refuse(kAcross);
  if (axis_of(asked.use().i_or("axis", 0), asked.in[0].rank()) == asked.rows[0].axis)
    return asked.refuse("it picks rows");
  return everywhere(asked, asked.rows[0].axis);
}

// Tuples of indices pick slices: output = indices' axes but the last, then those of a slice.
Answer gather_nd(const Asked& asked) {
  if (asked.rows[0].kind == Rows::Kind::size || asked.rows[1].kind == Rows::Kind::size)
    return asked.refuse("it computes with the number of rows");
  const size_t tuples = asked.in[1].rank() - 1, batch = size_t(asked.use().i_or("batch_dims", 0));
  const Dim& depth = asked.in[1].dim(tuples);
  if (!depth.is_const()) return asked.refuse("how many numbers an index has is not known");
  if (!asked.has(0)) {
    const size_t axis = asked.rows[1].axis;
    if (axis < batch || axis == tuples) return asked.refuse(kAcross);
    return everywhere(asked, axis);
  }
  const size_t axis = asked.rows[0].axis, slice = batch + size_t(depth.value());
  if (asked.has(1)) {
    if (axis != asked.rows[1].axis || axis >= batch) return asked.refuse(kAcross);
    return everywhere(asked, axis);
  }
  if (axis < batch) return asked.refuse(kAcross);
  if (axis < slice) return asked.refuse("it picks rows");
  return everywhere(asked, tuples + axis - slice);
}

Answer tile(const Asked& asked) {
  const auto answer = first(asked);
  if (!answer) return answer;
  const auto repeats = asked.in[1].constant_integers();
  if (!repeats || asked.rows[0].axis >= repeats->size() || (*repeats)[asked.rows[0].axis] != 1)
    return asked.refuse("it repeats rows");
  return answer;
}

Answer pad(const Asked& asked) {
  const auto answer = first(asked);
  if (!answer) return answer;
  std::vector<int64_t> pads = asked.use().ints_or_empty("pads");
  if (asked.given(1)) {
    const auto integers = asked.in[1].constant_integers();
    if (!integers || asked.given(3)) return asked.refuse("its padding is not known");
    pads = *integers;
  }
  const size_t rank = asked.in[0].rank(), row = asked.rows[0].axis;
  if (pads.size() != 2 * rank || pads[row] != 0 || pads[row + rank] != 0)
    return asked.refuse("it adds rows");
  return answer;
}

// The output's sizes may name the rows' number, as long as it stays what it is.
Answer resize(const Asked& asked) {
  for (size_t i = 1; i < asked.rows.size(); ++i) {
    if (asked.has(i)) return asked.refuse("a parameter differs from row to row");
  }
  if (!asked.has(0) || asked.rows[0].axis != 0 || !(asked.out().dim(0) == asked.in[0].dim(0)) ||
      asked.use().has("axes")) {
    return asked.refuse("it resizes along the rows");
  }
  const bool region = asked.use().op->name == "Resize" && asked.given(1) && asked.in[1].shape &&
                      asked.use().opset > 10;
  if (region && !asked.in[1].dim(0).is_const(0)) return asked.refuse("it crops");
  return everywhere(asked, 0);
}

Answer cumulative(const Asked& asked) {  // CumSum, CumProd: the axis is an input
  const auto answer = first(asked);
  if (!answer) return answer;
  const auto axis = asked.in[1].constant_integers();
  if (!axis || axis->size() != 1 || axis_of((*axis)[0], asked.in[0].rank()) == asked.rows[0].axis)
    return asked.refuse(kAcross);
  return answer;
}

// RNN, GRU, LSTM: X [steps, rows, size] or, with layout 1, rows first.
Answer recurrent(const Asked& asked) {
  const size_t axis = asked.use().i_or("layout", 0) == 0 ? 1 : 0;
  for (size_t i = 0; i < asked.rows.size(); ++i) {
    if (!asked.given(i)) continue;
    const bool weights = (i >= 1 && i <= 3) || i == 7;
    if (weights && asked.rows[i].kind != Rows::Kind::same)
      return asked.refuse("its weights differ from row to row");
    const size_t expected = i == 4 ? 0 : axis;  // 4: the lengths
    if (!weights && (!asked.has(i) || asked.rows[i].axis != expected)) return asked.refuse(kAcross);
  }
  std::vector<Rows> rows = everywhere(asked, axis);
  rows[0] = Rows::at(axis == 1 ? 2 : 0);
  return rows;
}

// Attention: queries, keys, values and what is kept of them, rows first.
Answer attention(const Asked& asked) {
  for (size_t i = 0; i < asked.rows.size(); ++i) {
    if (!asked.given(i)) continue;
    const bool mask = i == 3;
    if (mask && asked.rows[i].kind == Rows::Kind::same) {
      if (asked.in[i].rank() >= 4 && !asked.in[i].dim(asked.in[i].rank() - 4).is_const(1))
        return asked.refuse(kAcross);
      continue;
    }
    if (!asked.has(i) || asked.rows[i].axis != 0 || (mask && asked.in[i].rank() != 4))
      return asked.refuse(kAcross);
  }
  return everywhere(asked, 0);
}

Answer einsum(const Asked& asked) {
  std::string equation = asked.use().s("equation");
  std::erase(equation, ' ');
  const size_t arrow = equation.find("->");
  if (arrow == std::string::npos || equation.find('.') != std::string::npos)
    return asked.refuse("its equation is not explicit");
  const std::string out = equation.substr(arrow + 2);
  std::vector<std::string> terms(1);
  for (const char c : equation.substr(0, arrow)) {
    if (c == ',') {
      terms.emplace_back();
    } else {
      terms.back() += c;
    }
  }
  char row = 0;
  for (size_t i = 0; i < asked.rows.size() && i < terms.size(); ++i) {
    if (asked.rows[i].kind == Rows::Kind::size)
      return asked.refuse("it computes with the number of rows");
    if (!asked.has(i)) continue;
    const char label = terms[i][asked.rows[i].axis];
    if (row != 0 && row != label)
      return asked.refuse("its inputs have their rows along different axes");
    row = label;
  }
  for (size_t i = 0; i < terms.size(); ++i) {
    if (!asked.has(i) && terms[i].find(row) != std::string::npos) return asked.refuse(kAcross);
    if (std::count(terms[i].begin(), terms[i].end(), row) > 1) return asked.refuse(kAcross);
  }
  const size_t at = out.find(row);
  if (at == std::string::npos) return asked.refuse("it sums over the rows");
  return everywhere(asked, at);
}

struct Family {
  Rule rule;
  std::vector<std::string_view> members;
};

const std::map<std::string_view, Rule>& rules() {
  static const std::map<std::string_view, Rule> all = [] {
    const Family families[] = {
        {elements,
         {"Abs",
          "Acos",
          "Acosh",
          "Add",
          "And",
          "Asin",
          "Asinh",
          "Atan",
          "Atanh",
          "BitShift",
          "BitwiseAnd",
          "BitwiseNot",
          "BitwiseOr",
          "BitwiseXor",
          "Ceil",
          "Celu",
          "Cos",
          "Cosh",
          "Div",
          "Elu",
          "Equal",
          "Erf",
          "Exp",
          "Floor",
          "Gelu",
          "Greater",
          "GreaterOrEqual",
          "HardSigmoid",
          "HardSwish",
          "Identity",
          "IsInf",
          "IsNaN",
          "LeakyRelu",
          "Less",
          "LessOrEqual",
          "Log",
          "Max",
          "Mean",
          "Min",
          "Mish",
          "Mod",
          "Mul",
          "Neg",
          "Not",
          "Or",
          "PRelu",
          "Pow",
          "Reciprocal",
          "Relu",
          "Round",
          "Selu",
          "Shrink",
          "Sigmoid",
          "Sign",
          "Sin",
          "Sinh",
          "Softplus",
          "Softsign",
          "Sqrt",
          "Sub",
          "Sum",
          "Swish",
          "Tan",
          "Tanh",
          "ThresholdedRelu",
          "Where",
          "Xor",
          "StringConcat"}},
        {first,
         {"Cast", "Clip", "QuantizeLinear", "DequantizeLinear", "Dropout", "Binarizer",
          "RegexFullMatch"}},
        {images,
         {"Conv", "ConvTranspose", "ConvInteger", "QLinearConv", "DeformConv", "AveragePool",
          "LpPool", "GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool", "InstanceNormalization",
          "GroupNormalization", "LRN", "DepthToSpace", "SpaceToDepth", "Col2Im"}},
        {batch_normalization, {"BatchNormalization"}},
        {max_pool, {"MaxPool"}},
        {along, {"LpNormalization", "TopK", "Split"}},
        {softmax, {"Softmax", "LogSoftmax", "Hardmax"}},
        {from_axis, {"LayerNormalization", "RMSNormalization"}},
        {last_axes, {"Trilu"}},
        {reduce,
         {"ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean",
          "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare"}},
        {arg, {"ArgMax", "ArgMin"}},
        {matmul, {"MatMul", "MatMulInteger"}},
        {qlinear_matmul, {"QLinearMatMul"}},
        {gemm, {"Gemm"}},
        {transpose, {"Transpose"}},
        {regroup, {"Reshape", "Flatten", "Squeeze", "Unsqueeze"}},
        {expand, {"Expand"}},
        {constant_of_shape, {"ConstantOfShape"}},
        {slice, {"Slice"}},
        {concat, {"Concat"}},
        {gather, {"Gather"}},
        {gather_elements, {"GatherElements"}},
        {gather_nd, {"GatherND"}},
        {tile, {"Tile"}},
        {pad, {"Pad"}},
        {resize, {"Resize", "Upsample"}},
        {cumulative, {"CumSum", "CumProd"}},
        {recurrent, {"RNN", "GRU", "LSTM"}},
        {attention, {"Attention"}},
        {einsum, {"Einsum"}},
    };
    std::map<std::string_view, Rule> table;
    for (const Family& family : families) {
      for (const std::string_view member : family.members) table[member] = family.rule;
    }
    return table;
  }();
  return all;
}

}  // namespace

Rule rule_of(std::string_view domain, std::string_view op) {
  if (domain == "com.microsoft" && op == "MatMulNBits") return first_product;
  if (!domain.empty()) return nullptr;
  const auto at = rules().find(op);
  return at == rules().end() ? nullptr : at->second;
}

}  // namespace sdx::rowwise
