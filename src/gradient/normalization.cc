// Derivatives of softmax and of normalisations; the latter by their definition in simpler
// operators.
#include "gradient/rule.h"

namespace sdx::gradient {
namespace {

std::vector<int64_t> axes_from(int64_t first, size_t rank) {
  std::vector<int64_t> axes;
  for (int64_t i = first; i < int64_t(rank); ++i) axes.push_back(i);
  return axes;
}
int64_t axis_of(const Step& s) {
  const int64_t axis = s.use.i("axis");
  return axis < 0 ? axis + int64_t(s.b.rank(s.x())) : axis;
}

// The axes that one sum of a softmax runs over; from an axis on before version 13.
std::vector<int64_t> softmax_axes(const Step& s) {
  const size_t rank = s.b.rank(s.x());
  if (s.use.opset < 13) return axes_from(axis_of(s), rank);
  return rank == 0 ? std::vector<int64_t>{} : std::vector<int64_t>{axis_of(s)};
}

Outlets softmax(const Step& s) {
  Builder& b = s.b;
  const Outlet weighted = b.mul(s.g(), s.y());
  return {b.sub(weighted, b.mul(s.y(), b.sum(weighted, softmax_axes(s))))};
}
Outlets log_softmax(const Step& s) {
  Builder& b = s.b;
  return {b.sub(s.g(), b.mul(b.op("Exp", {s.y()}), b.sum(s.g(), softmax_axes(s))))};
}

Outlet inverse_root(Builder& b, Outlet variance, double epsilon) {
  return b.op("Reciprocal", {b.op("Sqrt", {b.plus(variance, epsilon)})});
}
// (x - mean) / sqrt(variance + epsilon) over some axes.
Outlet standardized(Builder& b, Outlet x, const std::vector<int64_t>& axes, double epsilon) {
  const Outlet d = b.sub(x, b.mean(x, axes));
  return b.mul(d, inverse_root(b, b.mean(b.square(d), axes), epsilon));
}
// A vector of one number per channel, lined up with axis 1 of x.
Outlet per_channel(Builder& b, Outlet v, Outlet x) {
  const size_t rank = b.rank(x);
  std::vector<int64_t> shape(rank > 1 ? rank - 1 : 1, 1);
  shape[0] = -1;
  return b.op("Reshape", {v, b.ints(shape)});
}
Outlet affine(const Step& s, Outlet normal, Outlet scale, Outlet bias) {
  Outlet y = s.b.mul(normal, scale);
  return bias.present() ? s.b.add(y, bias) : y;
}

Outlets batch_normalization(const Step& s) {
  Builder& b = s.b;
  const Outlet x = s.x();
  const DType type = b.type(x);
  const auto channel = [&](Outlet v) { return per_channel(b, b.cast(v, type), x); };
  const bool training = s.use.opset >= 14  ? s.use.i("training_mode") != 0
                        : s.use.opset >= 7 ? s.out.size() > 1 && s.out[1].present()
                                           : s.use.i("is_test") == 0;
  Outlet normal;
  if (training) {
    std::vector<int64_t> axes = axes_from(2, b.rank(x));
    axes.insert(axes.begin(), 0);
    normal = standardized(b, x, axes, s.use.f("epsilon"));
  } else {
    const Outlet d = b.sub(x, channel(s.in[3]));
    normal = b.mul(d, inverse_root(b, channel(s.in[4]), s.use.f("epsilon")));
  }
  return s.through({affine(s, normal, channel(s.in[1]), channel(s.in[2]))});
}

Outlets instance_normalization(const Step& s) {
  Builder& b = s.b;
  const Outlet normal = standardized(b, s.x(), axes_from(2, b.rank(s.x())), s.use.f("epsilon"));
  return s.through(
      {affine(s, normal, per_channel(b, s.in[1], s.x()), per_channel(b, s.in[2], s.x()))});
}

Outlets layer_normalization(const Step& s) {
  Builder& b = s.b;
  const Outlet normal =
      standardized(b, s.x(), axes_from(axis_of(s), b.rank(s.x())), s.use.f("epsilon"));
  return s.through({affine(s, normal, s.in[1], s.has(2) ? s.in[2] : Outlet{})});
}

Outlets rms_normalization(const Step& s) {
  Builder& b = s.b;
  const Outlet square = b.mean(b.square(s.x()), axes_from(axis_of(s), b.rank(s.x())));
  const Outlet normal = b.mul(s.x(), inverse_root(b, square, s.use.f("epsilon")));
  return s.through({b.mul(normal, s.in[1])});
}

// Groups of channels side by side: [N, groups, everything else].
Outlets group_normalization(const Step& s) {
  Builder& b = s.b;
  const int64_t groups = s.use.i("num_groups");
  const Outlet grouped = b.op("Reshape", {s.x(), b.ints({0, groups, -1})});
  const Outlet normal = standardized(b, grouped, {2}, s.use.f("epsilon"));
  // Before version 21 there was one scale per group.
  if (s.use.opset < 21) {
    const auto lined_up = [&](Outlet v) { return b.op("Reshape", {v, b.ints({1, groups, 1})}); };
    return s.through({b.reshape(affine(s, normal, lined_up(s.in[1]), lined_up(s.in[2])), s.x())});
  }
  return s.through({affine(s, b.reshape(normal, s.x()), per_channel(b, s.in[1], s.x()),
                           per_channel(b, s.in[2], s.x()))});
}

Outlets lp_normalization(const Step& s) {
  Builder& b = s.b;
  const Outlet norm =
      b.op(s.use.i("p") == 1 ? "ReduceL1" : "ReduceL2", {s.x(), b.ints({axis_of(s)})});
  return s.through({b.div(s.x(), norm)});
}

Outlets mean_variance_normalization(const Step& s) {
  Builder& b = s.b;
  const std::vector<int64_t> axes = s.use.ints("axes");
  const Outlet d = b.sub(s.x(), b.mean(s.x(), axes));
  const Outlet deviation = b.op("Sqrt", {b.mean(b.square(d), axes)});
  return s.through({b.div(d, b.plus(deviation, 1e-9))});
}

constexpr Entry kRules[] = {
    {"Softmax", softmax},
    {"LogSoftmax", log_softmax},
    {"BatchNormalization", batch_normalization},
    {"InstanceNormalization", instance_normalization},
    {"LayerNormalization", layer_normalization},
    {"RMSNormalization", rms_normalization},
    {"GroupNormalization", group_normalization},
    {"LpNormalization", lp_normalization},
    {"MeanVarianceNormalization", mean_variance_normalization},
};

}  // namespace

std::span<const Entry> normalization_rules() { return kRules; }

}  // namespace sdx::gradient
