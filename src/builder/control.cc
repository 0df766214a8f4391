// The operators with subgraphs, and Split.
#include "sardonyx/control.h"

#include "builder/making.h"
#include "builder/state.h"
#include "ops/list.h"

namespace sardonyx {

Wire operator+(const Operand& a, const Operand& b) {
  return detail::Making("", "Add").in(a.wire).in(b.wire).one(a.place);
}
Wire operator-(const Operand& a, const Operand& b) {
  return detail::Making("", "Sub").in(a.wire).in(b.wire).one(a.place);
}
Wire operator*(const Operand& a, const Operand& b) {
  return detail::Making("", "Mul").in(a.wire).in(b.wire).one(a.place);
}
Wire operator/(const Operand& a, const Operand& b) {
  return detail::Making("", "Div").in(a.wire).in(b.wire).one(a.place);
}
Wire operator-(const Operand& a) { return detail::Making("", "Neg").in(a.wire).one(a.place); }

namespace ops {
namespace {

using detail::Making;

Wires joined(std::initializer_list<Wires> lists) {
  Wires all;
  for (const Wires& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

Wires some(const Wires& wires, size_t first, size_t count) {
  return {wires.begin() + std::ptrdiff_t(first), wires.begin() + std::ptrdiff_t(first + count)};
}

void expect_carried(const Wires& initial, const Step& step, Place place) {
  if (step.carried.size() == initial.size()) return;
  detail::refuse(sdx::fail("SDX-W0011", "the body gives {} carried values, expected {}",
                           step.carried.size(), initial.size()),
                 place);
}

}  // namespace

Wires if_(const Wire& cond, const std::function<Wires()>& then_branch,
          const std::function<Wires()>& else_branch, Place place) {
  return Making("", "If")
      .in(cond)
      .set_body("then_branch", [&](const Wires&) { return then_branch(); })
      .set_body("else_branch", [&](const Wires&) { return else_branch(); })
      .outputs(0, place);
}

Wires loop(const Trips& trips, const Wire& cond, const Wires& initial,
           const std::function<Step(const Wire&, const Wires&)>& body, Place place) {
  // The wires of the body: iteration, condition, carried values.
  const auto turn = [&](const Wires& in) {
    const Step step = body(in[0], some(in, 2, initial.size()));
    expect_carried(initial, step, place);
    return joined({step.go_on.present() ? step.go_on : in[1], step.carried, step.scanned});
  };
  return Making("", "Loop")
      .in(trips.wire)
      .in(cond)
      .in(initial)
      .set_body("body", turn)
      .outputs(0, place);
}

Wires scan(const Wires& initial, const Wires& inputs,
           const std::function<Step(const Wires&, const Wires&)>& body, const ScanOptions& options,
           Place place) {
  const auto turn = [&](const Wires& in) {
    const Step step = body(some(in, 0, initial.size()), some(in, initial.size(), inputs.size()));
    expect_carried(initial, step, place);
    return joined({step.carried, step.scanned});
  };
  return Making("", "Scan")
      .in(initial)
      .in(inputs)
      .set("num_scan_inputs", inputs.size())
      .set("scan_input_axes", options.scan_input_axes)
      .set("scan_input_directions", options.scan_input_directions)
      .set("scan_output_axes", options.scan_output_axes)
      .set("scan_output_directions", options.scan_output_directions)
      .set_body("body", turn)
      .outputs(0, place);
}

Wires sequence_map(const Wire& sequence, const Wires& additional, const Body& body, Place place) {
  return Making("", "SequenceMap")
      .in(sequence)
      .in(additional)
      .set_body("body", body)
      .outputs(0, place);
}

Wires split(const Wire& input, size_t parts, const SplitOptions& options, Place place) {
  Making making("", "Split");
  making.in(input).in(options.split).set("axis", options.axis);
  if (!options.split.present()) making.set("num_outputs", parts);
  return making.outputs(parts, place);
}

}  // namespace ops
}  // namespace sardonyx
