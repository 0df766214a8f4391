// Loop: a subgraph runs while its condition holds, at most M times.
#include <algorithm>

#include "ops/control/bodies.h"
#include "ops/control/bodies_of.h"

namespace sdx::ops {
namespace {

struct Loop {
  BodyPtr body;  // (iteration, condition, carried...) -> (condition, carried..., scanned...)
  size_t carried;
  size_t formal;  // inputs of the operator itself; captured wires follow
};

constexpr Version kHistory[] = {
    {1,
     "(M?: I, cond?: B, v_initial...~: V) -> (v_final_and_scan_outputs...~: V) {body!: graph} V in "
     "all I in i64 B in "
     "bool"},
    {11, "(M?: I, cond?: B, v_initial...0~: V)"},
    {13, "V += seq(all)"},
    {16, "V += optional(all) optional(seq(all)) bf16 optional(bf16) optional(seq(bf16)) seq(bf16)"},
    {19, "V += f8 seq(f8) optional(f8)"},
    {21, "V += i4 optional(i4) optional(u4) seq(i4) seq(u4) u4"},
    {23, "V += f4e2m1 optional(f4e2m1) seq(f4e2m1)"},
    {24, "V += f8e8m0 optional(f8e8m0) seq(f8e8m0)"},
    {25, "V += i2 optional(i2) optional(u2) seq(i2) seq(u2) u2"},
};

// What the names of sizes that change on the way round start with: nothing that a loop around this
// one uses.
std::string unused_prefix(const Facts& in) {
  std::vector<std::string> symbols;
  for (const Fact& fact : in) {
    for (const Dim& dim : fact.shape.value_or(Shape{})) dim.symbols(symbols);
  }
  std::string prefix = "?loop";
  while (std::any_of(symbols.begin(), symbols.end(),
                     [&](const std::string& symbol) { return symbol.starts_with(prefix + "."); })) {
    prefix += "'";
  }
  return prefix;
}

// Nothing is known of the wire's type yet.
bool is_open(const Fact& fact) { return fact.is_tensor() && fact.type == DType::undefined; }

// A carried value may be empty at first or later: an optional holds what the other one is.
bool may_follow(const Fact& before, const Fact& after) {
  if (is_open(before) || is_open(after)) return true;
  if (before.kind == Fact::Kind::optional || after.kind == Fact::Kind::optional) return true;
  return before.kind == after.kind && before.type == after.type;
}

Status expect_condition(const Fact& fact) {
  if (fact.present() && !is_open(fact) && (!fact.is_tensor() || fact.type != DType::boolean)) {
    return fail("SDX-T0609", "the body's condition is {}, expected tensor(bool)", fact.onnx_type());
  }
  return ok();
}

Result<Loop> read(const Node& node, const Facts& in) {
  Loop a;
  a.formal = node.formal_inputs;
  a.carried = a.formal > 2 ? a.formal - 2 : 0;
  const BodySource& body = source(node, "body");
  if (body.inputs() != a.carried + 2) {
    return fail("SDX-T0604",
                "the body has {} inputs, expected {}: iteration, condition and {} carried values",
                body.inputs(), a.carried + 2, a.carried);
  }
  if (body.outputs() < a.carried + 1) {
    return fail("SDX-T0604", "the body has {} outputs, expected at least {}", body.outputs(),
                a.carried + 1);
  }
  Facts formal = {Fact::tensor(DType::i64, Shape{}), Fact::tensor(DType::boolean, Shape{})};
  for (size_t i = 0; i < a.carried; ++i) formal.push_back(like(in[2 + i]));
  const std::string sizes = unused_prefix(in);
  // A carried value may change its shape on the way round: forget what does not hold, until the
  // rest does.
  while (true) {
    SDX_ASSIGN(a.body, body.type(formal, captured(node, in)));
    SDX_TRY(expect_condition(a.body->outputs()[0]));
    SDX_TRY(expect_tensors(*a.body, 1 + a.carried));
    bool stable = true;
    for (size_t i = 0; i < a.carried; ++i) {
      const Fact &before = formal[2 + i], &after = a.body->outputs()[1 + i];
      if (!may_follow(before, after)) {
        return fail("SDX-T0605", "carried value {} is {} before the body and {} after it", i,
                    before.onnx_type(), after.onnx_type());
      }
      Fact joined = join(before, after);
      for (size_t axis = 0; joined.shape && axis < joined.shape->size(); ++axis) {
        if ((*joined.shape)[axis].is_unknown()) {
          (*joined.shape)[axis] = Dim::symbol(fmt::format("{}.{}.{}", sizes, i, axis));
        }
      }
      if (joined.text() != before.text()) {
        stable = false;
        formal[2 + i] = std::move(joined);
      }
    }
    if (stable) return a;
  }
}

Result<Facts> infer(const Loop& a, const Facts&) {
  Facts out;
  const Facts& body = a.body->outputs();
  for (size_t i = 0; i < a.carried; ++i) {
    Fact fact = like(join(a.body->inputs()[2 + i], body[1 + i]));
    for (size_t axis = 0; fact.shape && axis < fact.shape->size(); ++axis) {
      if (!(*fact.shape)[axis].is_const()) (*fact.shape)[axis] = Dim::unknown();
    }
    out.push_back(std::move(fact));
  }
  for (size_t i = a.carried + 1; i < body.size(); ++i) {
    Fact fact = Fact::tensor(body[i].type);
    if (body[i].shape) {
      fact.shape = Shape{Dim::unknown()};
      for (const Dim& dim : *body[i].shape)
        fact.shape->push_back(dim.is_const() ? dim : Dim::unknown());
    }
    out.push_back(std::move(fact));
  }
  return out;
}

// for (i = 0; i < M && cond; ++i) { cond, carried, row = body(i, cond, carried); append row to
// scanned }
Status reference(const Loop& a, Args& args) {
  for (size_t i = 0; i < std::min<size_t>(a.formal, 2); ++i) {
    if (args.has(i) && args.in(i).count != 1) {
      return fail("SDX-R0603", "{} has {} elements, expected 1", i == 0 ? "M" : "cond",
                  args.in(i).count);
    }
  }
  const int64_t most = a.formal > 0 && args.has(0) ? *args.in(0).data<int64_t>() : INT64_MAX;
  bool go_on = a.formal > 1 && args.has(1) ? *args.in(1).data<bool>() : true;
  std::vector<Value> state(2);
  for (size_t i = std::min<size_t>(a.formal, 2); i < args.ins.size(); ++i)
    state.push_back(args.value(i));
  const size_t scanned = a.body->outputs().size() - 1 - a.carried;
  std::vector<std::vector<Tensor>> rows(scanned);
  const int64_t limit = bodies(args).most_iterations();
  int64_t i = 0;
  for (; i < most && go_on; ++i) {
    if (i == limit) {
      return fail(kTooManyIterations, "Loop is stopped after {} iterations, the limit", limit);
    }
    state[0] = Tensor::scalar<int64_t>(i);
    state[1] = Tensor::scalar<bool>(go_on);
    SDX_ASSIGN(std::vector<Value> results, bodies(args).run_body(*a.body, state));
    if (results[0].tensor().count() != 1)
      return fail("SDX-R0603", "the body's condition is not one element");
    go_on = *results[0].tensor().data<bool>();
    for (size_t k = 0; k < a.carried; ++k) state[2 + k] = std::move(results[1 + k]);
    for (size_t k = 0; k < scanned; ++k) {
      rows[k].push_back(results[1 + a.carried + k].tensor());
      SDX_TRY(bodies(args).hold(bytes_to_stack(rows[k].back())));
    }
  }
  for (size_t k = 0; k < a.carried && k < args.outs.size(); ++k)
    args.give(k, i == 0 ? owned(state[2 + k]) : std::move(state[2 + k]));
  for (size_t k = 0; k < scanned && a.carried + k < args.outs.size(); ++k) {
    const Fact& fact = a.body->outputs()[1 + a.carried + k];
    SDX_ASSIGN(Tensor whole, stack(rows[k], 0, fact.type, fact.shape));
    args.give(a.carried + k, std::move(whole));
  }
  return ok();
}

constexpr OpOf<Loop> kLoop{
    .name = "Loop",
    .doc =
        "Runs its body while a condition holds, carrying values from one iteration to the next and "
        "collecting others.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .whole_values = true,
};

}  // namespace

extern const Op loop = erase<kLoop>();

NamedBodies bodies_of_loop(const void* resolved) {
  return {{"body", static_cast<const Loop*>(resolved)->body.get()}};
}

}  // namespace sdx::ops
