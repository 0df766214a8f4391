// Scan: a subgraph runs once per slice of its scan inputs.
#include <algorithm>

#include "op/streaming.h"
#include "ops/control/bodies.h"
#include "ops/control/bodies_of.h"

namespace sdx::ops {
namespace {

struct Scan {
  BodyPtr body;  // (states..., slices...) -> (states..., rows...)
  size_t states, scans;
  bool batched;  // version 8: a batch axis in front, and lengths per batch entry
  std::vector<size_t> in_axes, out_axes;
  std::vector<bool> in_reversed, out_reversed;
};

constexpr Version kHistory[] = {
    {8,
     "(sequence_lens?: I, initial_state_and_scan_inputs...~: V) -> "
     "(final_state_and_scan_outputs...~: V) {body!: graph, "
     "directions: ints, num_scan_inputs!: int} I in i64 V in all"},
    {9,
     "(initial_state_and_scan_inputs...~: V) {scan_input_axes: ints, scan_input_directions: ints, "
     "scan_output_axes: "
     "ints, scan_output_directions: ints, -directions} -I"},
    {11, ""},
    {16, "V += bf16"},
    {19, "V += f8"},
    {21, "V += i4 u4"},
    {23, "V += f4e2m1"},
    {24, "V += f8e8m0"},
    {25, "V += i2 u2"},
};

Result<Scan> read(const Node& node, const Facts& in) {
  Scan a;
  a.batched = node.opset < 9;
  const size_t first = a.batched ? 1 : 0;
  const int64_t scans = node.i("num_scan_inputs");
  if (scans < 1 || size_t(scans) + first > node.formal_inputs) {
    return fail("SDX-T0606", "num_scan_inputs is {}, {} inputs are given", scans,
                node.formal_inputs - first);
  }
  a.scans = size_t(scans);
  a.states = node.formal_inputs - first - a.scans;
  const BodySource& body = source(node, "body");
  if (body.inputs() != a.states + a.scans || body.outputs() < a.states) {
    return fail("SDX-T0606", "the body has {} inputs and {} outputs, expected {} and at least {}",
                body.inputs(), body.outputs(), a.states + a.scans, a.states);
  }
  const size_t rows = body.outputs() - a.states;
  const auto flags = [&](std::string_view name, size_t count, std::vector<bool>& into) -> Status {
    const auto given = node.ints_or_empty(name);
    if (!given.empty() && given.size() != count)
      return fail("SDX-T0606", "{} has {} entries, expected {}", name, given.size(), count);
    into.assign(count, false);
    for (size_t i = 0; i < given.size(); ++i) {
      if (given[i] != 0 && given[i] != 1)
        return fail("SDX-T0606", "{} has the entry {}, expected 0 or 1", name, given[i]);
      into[i] = given[i] == 1;
    }
    return ok();
  };
  SDX_TRY(flags(a.batched ? "directions" : "scan_input_directions", a.scans, a.in_reversed));
  SDX_TRY(flags("scan_output_directions", rows, a.out_reversed));
  a.in_axes.assign(a.scans, 0);
  a.out_axes.assign(rows, 0);
  const auto in_axes = node.ints_or_empty("scan_input_axes");
  for (size_t i = 0; i < in_axes.size() && i < a.scans; ++i) {
    const Fact& x = in[first + a.states + i];
    if (x.has_rank()) {
      SDX_ASSIGN(a.in_axes[i], resolve_axis(in_axes[i], x.rank(), "scan input axis"));
    } else if (in_axes[i] >= 0) {
      a.in_axes[i] = size_t(in_axes[i]);
    }  // a place from the end is read again when the rank is known
  }
  Facts formal;
  for (size_t i = 0; i < a.states + a.scans; ++i) {
    Fact fact = like(in[first + i]);
    if (!fact.shape) {
      formal.push_back(std::move(fact));
      continue;
    }
    if (a.batched) fact.shape->erase(fact.shape->begin());
    if (i >= a.states) {
      const size_t axis = a.in_axes[i - a.states];
      if (axis >= fact.shape->size())
        return fail("SDX-T0606", "scan input {} has no axis {}", i - a.states, axis);
      fact.shape->erase(fact.shape->begin() + std::ptrdiff_t(axis));
    }
    formal.push_back(std::move(fact));
  }
  SDX_ASSIGN(a.body, body.type(formal, captured(node, in)));
  SDX_TRY(expect_tensors(*a.body, 0));
  const auto out_axes = node.ints_or_empty("scan_output_axes");
  for (size_t i = 0; i < out_axes.size() && i < rows; ++i) {
    const Fact& row = a.body->outputs()[a.states + i];
    if (!row.has_rank()) return fail("SDX-T0111", "the rank of scan output {} must be known", i);
    SDX_ASSIGN(a.out_axes[i], resolve_axis(out_axes[i], row.rank() + 1, "scan output axis"));
  }
  return a;
}

Result<Facts> infer(const Scan& a, const Facts& in) {
  const size_t first = a.batched ? 1 : 0;
  const Fact& scanned = in[first + a.states];
  const bool known = scanned.has_rank() && a.in_axes[0] + first < scanned.rank();
  const Dim length = known ? scanned.dim(a.in_axes[0] + first) : Dim::unknown();
  Facts out;
  for (size_t i = 0; i < a.body->outputs().size(); ++i) {
    Fact fact = like(a.body->outputs()[i]);
    if (fact.shape && i >= a.states) {
      fact.shape->insert(fact.shape->begin() + std::ptrdiff_t(a.out_axes[i - a.states]), length);
    }
    if (fact.shape && a.batched)
      fact.shape->insert(fact.shape->begin(), known ? scanned.dim(0) : Dim::unknown());
    out.push_back(std::move(fact));
  }
  return out;
}

// One scan over `length` slices; `state` goes in and comes out, `slices(i, k)` is slice k of scan
// input i.
template <class Slices>
Status scan(const Scan& a, Args& args, size_t length, std::vector<Value>& state,
            const std::vector<Value>& outer, const Slices& slices,
            std::vector<std::vector<Tensor>>& rows) {
  std::vector<Value> inputs;
  for (size_t k = 0; k < length; ++k) {
    inputs = state;
    for (size_t i = 0; i < a.scans; ++i)
      inputs.push_back(slices(i, a.in_reversed[i] ? length - 1 - k : k));
    inputs.insert(inputs.end(), outer.begin(), outer.end());
    SDX_ASSIGN(std::vector<Value> results, bodies(args).run_body(*a.body, inputs));
    for (size_t i = 0; i < a.states; ++i) state[i] = std::move(results[i]);
    for (size_t i = 0; i < rows.size(); ++i) {
      rows[i].push_back(results[a.states + i].tensor());
      SDX_TRY(bodies(args).hold(bytes_to_stack(rows[i].back())));
    }
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    if (a.out_reversed[i]) std::reverse(rows[i].begin(), rows[i].end());
  }
  return ok();
}

Status reference(const Scan& a, Args& args) {
  const size_t first = a.batched ? 1 : 0;
  const size_t row_count = a.body->outputs().size() - a.states;
  std::vector<Value> outer;
  for (size_t i = first + a.states + a.scans; i < args.ins.size(); ++i)
    outer.push_back(args.value(i));
  const auto input = [&](size_t i) -> const Tensor& { return args.value(first + i).tensor(); };
  for (size_t i = 0; i < a.states + a.scans; ++i) {
    const size_t axis = i < a.states ? 0 : a.in_axes[i - a.states];
    if (input(i).rank() < first + (i < a.states ? 0 : axis + 1)) {
      return fail("SDX-R0604", "input {} has rank {} and no axis {}", first + i, input(i).rank(),
                  axis + first);
    }
  }
  const auto length = size_t(input(a.states).dims()[a.in_axes[0] + first]);
  for (size_t i = 0; i < a.scans; ++i) {
    const int64_t size = input(a.states + i).dims()[a.in_axes[i] + first];
    if (size != int64_t(length))
      return fail("SDX-R0604", "scan inputs have lengths {} and {}", length, size);
  }
  const auto row_fact = [&](size_t i) -> const Fact& { return a.body->outputs()[a.states + i]; };
  if (!a.batched) {
    std::vector<Value> state;
    for (size_t i = 0; i < a.states; ++i) state.emplace_back(input(i));
    std::vector<std::vector<Tensor>> rows(row_count);
    SDX_TRY(scan(
        a, args, length, state, outer,
        [&](size_t i, size_t k) { return piece(input(a.states + i), a.in_axes[i], k); }, rows));
    for (size_t i = 0; i < a.states && i < args.outs.size(); ++i)
      args.give(i, length == 0 ? owned(state[i]) : std::move(state[i]));
    for (size_t i = 0; i < row_count && a.states + i < args.outs.size(); ++i) {
      SDX_ASSIGN(Tensor whole, stack(rows[i], a.out_axes[i], row_fact(i).type, row_fact(i).shape));
      args.give(a.states + i, std::move(whole));
    }
    return ok();
  }
  // Version 8: every batch entry scans by itself, up to its own length; rows beyond it are zero.
  const auto batch = size_t(input(a.states).dims()[0]);
  std::vector<std::vector<Tensor>> results(a.states + row_count);
  for (size_t b = 0; b < batch; ++b) {
    const int64_t own = args.has(0) ? args.in(0).data<int64_t>()[b] : int64_t(length);
    if (own < 0 || own > int64_t(length))
      return fail("SDX-R0605", "sequence_lens[{}] is {}, the length {}", b, own, length);
    std::vector<Value> state;
    for (size_t i = 0; i < a.states; ++i) state.emplace_back(piece(input(i), 0, b));
    std::vector<std::vector<Tensor>> rows(row_count);
    SDX_TRY(scan(
        a, args, size_t(own), state, outer,
        [&](size_t i, size_t k) { return piece(piece(input(a.states + i), 0, b), 0, k); }, rows));
    for (size_t i = 0; i < a.states; ++i) results[i].push_back(state[i].tensor());
    for (size_t i = 0; i < row_count; ++i) {
      while (rows[i].size() < length && !rows[i].empty())
        rows[i].push_back(Tensor::make(rows[i][0].type(), rows[i][0].dims()));
      SDX_ASSIGN(Tensor whole, stack(rows[i], 0, row_fact(i).type, row_fact(i).shape));
      results[a.states + i].push_back(std::move(whole));
    }
  }
  for (size_t i = 0; i < results.size() && i < args.outs.size(); ++i) {
    SDX_ASSIGN(Tensor whole, stack(results[i], 0, a.body->outputs()[i].type, std::nullopt));
    args.give(i, std::move(whole));
  }
  return ok();
}

Streaming stream(const Scan& a, const Streamed& s) {
  if (a.batched) return Streaming::refuse("Scan of opset 8 has lengths of its own");
  for (size_t i = 0; i < s.in.size(); ++i) {
    const bool scanned = i >= a.states && i < a.states + a.scans;
    if (!scanned && s.flows(i)) return Streaming::refuse("its body sees the whole stream at once");
    if (!scanned) continue;
    const size_t k = i - a.states;
    if (!s.flows(i) || *s.axes[i] != a.in_axes[k])
      return Streaming::refuse("it scans along another axis");
    if (a.in_reversed[k]) return Streaming::refuse("it scans from the stream's end");
  }
  for (const bool reversed : a.out_reversed) {
    if (reversed) return Streaming::refuse("it writes its rows from the stream's end");
  }
  Streaming how = Streaming::of(Streaming::Kind::carry);
  for (size_t i = 0; i < a.states; ++i) how.pairs.emplace_back(i, i);
  return how;
}

constexpr OpOf<Scan> kScan{
    .name = "Scan",
    .doc = "Runs its body over the slices of its scan inputs, carrying states and collecting rows.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .whole_values = true,
    .stream = stream,
};

}  // namespace

extern const Op scan = erase<kScan>();

NamedBodies bodies_of_scan(const void* resolved) {
  return {{"body", static_cast<const Scan*>(resolved)->body.get()}};
}

}  // namespace sdx::ops
