// If: one of two subgraphs runs.
#include "ops/control/bodies.h"
#include "ops/control/bodies_of.h"
#include "ops/control/unfit_branch.h"

namespace sdx::ops {
namespace {

struct If {
  BodyPtr then_branch, else_branch;
};

constexpr Version kHistory[] = {
    {1,
     "(cond: B) -> (outputs...~: V) {else_branch!: graph, then_branch!: graph} V in all B in bool"},
    {11, ""},
    {13, "V += seq(all)"},
    {16, "V += optional(all) optional(seq(all)) bf16 optional(bf16) optional(seq(bf16)) seq(bf16)"},
    {19, "V += f8 seq(f8) optional(f8)"},
    {21, "V += i4 optional(i4) optional(u4) seq(i4) seq(u4) u4"},
    {23, "V += f4e2m1 optional(f4e2m1) seq(f4e2m1)"},
    {24, "V += f8e8m0 optional(f8e8m0) seq(f8e8m0)"},
    {25, "V += i2 optional(i2) optional(u2) seq(i2) seq(u2) u2"},
};

const UnfitBranch* unfit(const BodyPtr& branch) {
  return dynamic_cast<const UnfitBranch*>(branch.get());
}

Result<If> read(const Node& node, const Facts& in) {
  const Facts outer = captured(node, in);
  const auto branch = [&](std::string_view name) -> Result<BodyPtr> {
    if (source(node, name).inputs() != 0)
      return fail("SDX-T0602", "{} has inputs; a branch has none", name);
    return source(node, name).type({}, outer);
  };
  // A branch that a known condition excludes need not fit the shapes that the other one is made
  // for.
  const auto known = in[0].constant_integers();
  If a;
  if (!known || known->empty() || (*known)[0] != 0) {
    SDX_ASSIGN(a.then_branch, branch("then_branch"));
  }
  if (!known || known->empty() || (*known)[0] == 0) {
    SDX_ASSIGN(a.else_branch, branch("else_branch"));
  }
  const BodyPtr& first = a.then_branch ? a.then_branch : a.else_branch;
  if (unfit(first) && (!a.then_branch || !a.else_branch || unfit(a.else_branch)))
    return unfit(first)->why();
  return a;
}

Result<Facts> infer(const If& a, const Facts& in) {
  if (in[0].is_concrete()) {
    SDX_ASSIGN(const size_t count, element_count(in[0].dims()));
    if (count != 1) return fail("SDX-T0602", "the condition has {} elements, expected 1", count);
  }
  if (!a.then_branch) return a.else_branch->outputs();
  if (!a.else_branch) return a.then_branch->outputs();
  const Facts &yes = a.then_branch->outputs(), &no = a.else_branch->outputs();
  if (yes.size() != no.size()) {
    return fail("SDX-T0603", "then_branch has {} outputs, else_branch {}", yes.size(), no.size());
  }
  Facts out;
  for (size_t i = 0; i < yes.size(); ++i) {
    const bool optional = yes[i].kind == Fact::Kind::optional || no[i].kind == Fact::Kind::optional;
    const bool tensors = yes[i].is_tensor() && no[i].is_tensor() && yes[i].type == no[i].type;
    if (!optional && !tensors && yes[i].onnx_type() != no[i].onnx_type()) {
      return fail("SDX-T0603", "output {} is {} in then_branch and {} in else_branch", i,
                  yes[i].onnx_type(), no[i].onnx_type());
    }
    out.push_back(unfit(a.then_branch)   ? no[i]
                  : unfit(a.else_branch) ? yes[i]
                                         : join(yes[i], no[i]));
  }
  return out;
}

Status reference(const If& a, Args& args) {
  if (args.in(0).count != 1)
    return fail("SDX-R0602", "the condition has {} elements, expected 1", args.in(0).count);
  const BodyPtr& branch = *args.in(0).data<bool>() ? a.then_branch : a.else_branch;
  NodeBodies& runner = bodies(args);
  SDX_ASSIGN(std::vector<Value> results, runner.run_body(*branch, runner.inputs().subspan(1)));
  for (size_t i = 0; i < results.size() && i < args.outs.size(); ++i)
    args.give(i, std::move(results[i]));
  return ok();
}

// Of a known condition only the branch that it chooses has been read.
BodyPtr taken(const If& a, const Facts& in) {
  const auto condition = in[0].constant_integers();
  if (!condition || condition->size() != 1) return nullptr;
  return (*condition)[0] != 0 ? a.then_branch : a.else_branch;
}

constexpr OpOf<If> kIf{
    .name = "If",
    .doc = "Runs then_branch if the condition is true, else_branch otherwise.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .whole_values = true,
    .taken = taken,
};

}  // namespace

extern const Op if_ = erase<kIf>();

NamedBodies bodies_of_if(const void* resolved) {
  NamedBodies bodies;
  const auto& a = *static_cast<const If*>(resolved);
  if (a.then_branch) bodies.emplace_back("then_branch", a.then_branch.get());
  if (a.else_branch) bodies.emplace_back("else_branch", a.else_branch.get());
  return bodies;
}

}  // namespace sdx::ops
