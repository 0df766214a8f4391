// Gradient: derivatives of a wire by others. It speaks of the names of the graph around it, so it
// is replaced by the nodes that compute them when a model is typed (gradient/gradient.h).
#include "ops/common.h"

namespace sdx::ops {
namespace {

struct Gradient {};

constexpr Version kHistory[] = {
    {1,
     "(Inputs...~: T1) -> (Outputs...~: T2) {xs!: strings, y!: string, zs: strings} T1 in all T2 "
     "in floats"},
};

Result<Gradient> read(const Node&, const Facts&) {
  return fail("SDX-T0950", "Gradient means the names of a model's graph and cannot stand alone");
}

constexpr OpOf<Gradient> kGradient{
    .name = "Gradient",
    .doc = "Derivatives of the wire y by the wires xs, at the given values of xs and zs.",
    .history = kHistory,
    .read = read,
    .infer = [](const Gradient&, const Facts&) -> Result<Facts> { return Facts{}; },
    .reference = [](const Gradient&, Args&) { return ok(); },
    .domain = "ai.onnx.preview.training",
};

}  // namespace

extern const Op gradient = erase<kGradient>();

}  // namespace sdx::ops
