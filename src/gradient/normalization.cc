// Derivatives of softmax and of normalisations; the latter by their definition in simpler
// operators.
#include "gradient/rule.h"
#include "ops/normalization/batch_normalization.h"
#include "ops/normalization/group_normalization.h"
#include "ops/normalization/layer_normalization.h"
#include "ops/normalization/lp_normalization.h"
#include "ops/normalization/mean_variance_normalization.h"
#include "ops/normalization/softmax.h"

namespace sdx::gradient {
namespace {

std::vector<int64_t> axes_from(int64_t first, size_t rank) {
  std::vector<int64_t> axes;
  for (int64_t i = first; i < int64_t(rank); ++i) axes.push_back(i);
  return axes;
}

// The axes that one sum of a softmax runs over.
std::vector<int64_t> softmax_axes(const Step& s) {
  const auto& a = s.as<ops::Softmax>();
  return axes_from(int64_t(a.first), a.first + a.count);
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
  const auto& a = s.as<ops::BatchNorm>();
  Outlet normal;
  if (a.training) {
    std::vector<int64_t> axes = axes_from(2, b.rank(x));
    axes.insert(axes.begin(), 0);
    normal = standardized(b, x, axes, a.epsilon);
  } else {
    const Outlet d = b.sub(x, channel(s.in[3]));
    normal = b.mul(d, inverse_root(b, channel(s.in[4]), a.epsilon));
  }
  return s.through({affine(s, normal, channel(s.in[1]), channel(s.in[2]))});
}

Outlets instance_normalization(const Step& s) {
  Builder& b = s.b;
  const Outlet normal =
      standardized(b, s.x(), axes_from(2, b.rank(s.x())), s.as<ops::GroupNorm>().epsilon);
  return s.through(
      {affine(s, normal, per_channel(b, s.in[1], s.x()), per_channel(b, s.in[2], s.x()))});
}

Outlets layer_normalization(const Step& s) {
  Builder& b = s.b;
  const auto& a = s.as<ops::LayerNorm>();
  const Outlet normal =
      standardized(b, s.x(), axes_from(int64_t(a.axis), b.rank(s.x())), a.epsilon);
  return s.through({affine(s, normal, s.in[1], s.has(2) ? s.in[2] : Outlet{})});
}

Outlets rms_normalization(const Step& s) {
  Builder& b = s.b;
  const auto& a = s.as<ops::LayerNorm>();
  const Outlet square = b.mean(b.square(s.x()), axes_from(int64_t(a.axis), b.rank(s.x())));
  const Outlet normal = b.mul(s.x(), inverse_root(b, square, a.epsilon));
  return s.through({b.mul(normal, s.in[1])});
}

// Groups of channels side by side: [N, groups, everything else].
Outlets group_normalization(const Step& s) {
  Builder& b = s.b;
  const auto& [groups, epsilon, per_group] = s.as<ops::GroupNorm>();
  const Outlet grouped = b.op("Reshape", {s.x(), b.ints({0, groups, -1})});
  const Outlet normal = standardized(b, grouped, {2}, epsilon);
  if (per_group) {
    const Outlet each = b.ints({1, groups, 1});
    const auto lined_up = [&](Outlet v) { return b.op("Reshape", {v, each}); };
    return s.through({b.reshape(affine(s, normal, lined_up(s.in[1]), lined_up(s.in[2])), s.x())});
  }
  return s.through({affine(s, b.reshape(normal, s.x()), per_channel(b, s.in[1], s.x()),
                           per_channel(b, s.in[2], s.x()))});
}

Outlets lp_normalization(const Step& s) {
  Builder& b = s.b;
  const auto& [axis, euclid] = s.as<ops::LpNorm>();
  const Outlet norm = b.op(euclid ? "ReduceL2" : "ReduceL1", {s.x(), b.ints({int64_t(axis)})});
  return s.through({b.div(s.x(), norm)});
}

Outlets mean_variance_normalization(const Step& s) {
  Builder& b = s.b;
  const std::vector<bool>& reduced = s.as<ops::MeanVariance>().reduced;
  std::vector<int64_t> axes;
  for (size_t i = 0; i < reduced.size(); ++i) {
    if (reduced[i]) axes.push_back(int64_t(i));
  }
  const Outlet d = b.sub(s.x(), b.mean(s.x(), axes));
  const Outlet deviation = b.op("Sqrt", {b.mean(b.square(d), axes)});
  return s.through({b.div(d, b.plus(deviation, 1e-9))});
}

constexpr Entry kNormalizationRules[] = {
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

std::span<const Entry> normalization_rules() { return kNormalizationRules; }

}  // namespace sdx::gradient
