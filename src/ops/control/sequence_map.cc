// SequenceMap: a subgraph runs on every element of a sequence.
#include "ops/control/bodies.h"
#include "ops/control/bodies_of.h"

namespace sdx::ops {
namespace {

struct SequenceMap {
  BodyPtr body;
  size_t inputs;  // formal ones
};

constexpr Version kHistory[] = {
    {17,
     "(input_sequence: S, additional_inputs...0~: V) -> (out_sequence...~: S) {body!: graph} S in "
     "seq(all) V in all "
     "seq(all)"},
};

Result<SequenceMap> read(const Node& node, const Facts& in) {
  Facts formal;
  for (size_t i = 0; i < node.formal_inputs; ++i) {
    formal.push_back(in[i].kind == Fact::Kind::sequence ? like(element_of(in[i])) : like(in[i]));
  }
  const BodySource& body = source(node, "body");
  if (body.inputs() != formal.size()) {
    return fail("SDX-T0607", "the body has {} inputs, expected {}", body.inputs(), formal.size());
  }
  SDX_ASSIGN(BodyPtr typed, body.type(formal, captured(node, in)));
  return SequenceMap{std::move(typed), node.formal_inputs};
}

Result<Facts> infer(const SequenceMap& a, const Facts&) {
  Facts out;
  for (const Fact& fact : a.body->outputs()) out.push_back(Fact::sequence(like(fact)));
  return out;
}

Status reference(const SequenceMap& a, Args& args) {
  const size_t length = args.value(0).sequence().size();
  std::vector<Sequence> results(args.outs.size());
  for (size_t k = 0; k < length; ++k) {
    std::vector<Value> inputs;
    for (size_t i = 0; i < args.ins.size(); ++i) {
      const Value& value = args.value(i);
      if (i >= a.inputs || !value.is_sequence()) {
        inputs.push_back(value);
      } else if (value.sequence().size() != length) {
        return fail("SDX-R0606", "input {} has {} elements, input 0 has {}", i,
                    value.sequence().size(), length);
      } else {
        inputs.push_back(value.sequence()[k]);
      }
    }
    SDX_ASSIGN(std::vector<Value> made, bodies(args).run_body(*a.body, inputs));
    for (size_t i = 0; i < results.size() && i < made.size(); ++i) {
      SDX_TRY(bodies(args).hold(made[i].is_tensor() ? bytes_to_stack(made[i].tensor()) : 0));
      results[i].push_back(std::move(made[i]));
    }
  }
  for (size_t i = 0; i < results.size(); ++i) args.give(i, Value::of(std::move(results[i])));
  return ok();
}

constexpr OpOf<SequenceMap> kSequenceMap{
    .name = "SequenceMap",
    .doc = "Runs its body on every element of a sequence.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .whole_values = true,
};

}  // namespace

extern const Op sequence_map = erase<kSequenceMap>();

NamedBodies bodies_of_sequence_map(const void* resolved) {
  return {{"body", static_cast<const SequenceMap*>(resolved)->body.get()}};
}

}  // namespace sdx::ops
