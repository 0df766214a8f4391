#include "ops/tensor/reshape_layout.h"

#include <algorithm>

#include "op/op.h"

namespace sdx::ops {

extern const Op reshape;

namespace {

// Which axes become which: runs of both shapes with equal products.
struct Run {
  size_t from, from_end, to, to_end;
};
std::vector<Run> runs_of(const Shape& in, const Shape& out) {
  std::vector<Run> runs, tail;
  size_t i = 0, o = 0, in_end = in.size(), out_end = out.size();
  for (; i < in_end && o < out_end && in[i] == out[o]; ++i, ++o)
    runs.push_back({i, i + 1, o, o + 1});
  for (; i < in_end && o < out_end && in[in_end - 1] == out[out_end - 1]; --in_end, --out_end)
    tail.push_back({in_end - 1, in_end, out_end - 1, out_end});
  const auto known = [](const Dim& dim) { return dim.is_const() && dim.value() > 0; };
  const bool all_known = std::all_of(in.begin() + long(i), in.begin() + long(in_end), known) &&
                         std::all_of(out.begin() + long(o), out.begin() + long(out_end), known);
  while (all_known && (i < in_end || o < out_end)) {
    Run run{i, i, o, o};
    int64_t left = 1, right = 1;
    do {
      if (i < in_end && (left <= right || o == out_end)) {
        left *= in[i++].value();
      } else {
        right *= out[o++].value();
      }
    } while (left != right && (i < in_end || o < out_end));
    run.from_end = i;
    run.to_end = o;
    runs.push_back(run);
  }
  if (i < in_end || o < out_end) runs.push_back({i, in_end, o, out_end});
  runs.insert(runs.end(), tail.rbegin(), tail.rend());
  // Axes of size 1 that come from nowhere go with their neighbours, but for the first ones.
  for (size_t k = runs.size(); k-- > 1;) {
    if (runs[k].from != runs[k].from_end) continue;
    if (k + 1 < runs.size()) {
      runs[k + 1].to = runs[k].to;
    } else {
      runs[k - 1].to_end = runs[k].to_end;
    }
    runs.erase(runs.begin() + long(k));
  }
  return runs;
}

// What Reshape is told to make `after` of `before`; a size that is not known is copied or left
// over.
std::optional<std::vector<int64_t>> sizes_of(const Shape& before, const Shape& after) {
  std::vector<int64_t> dims;
  for (size_t i = 0; i < after.size(); ++i) {
    const bool open = !after[i].is_const();
    if (after[i].is_const(0)) return std::nullopt;
    if (open && std::find(dims.begin(), dims.end(), -1) == dims.end() &&
        !(i < before.size() && before[i] == after[i])) {
      dims.push_back(-1);
    } else if (open) {
      if (i >= before.size() || !(before[i] == after[i])) return std::nullopt;
      dims.push_back(0);
    } else {
      dims.push_back(after[i].value());
    }
  }
  return dims;
}

}  // namespace

std::optional<Relaid> reshape_layout(const Relay& asked) {
  const Fact &x = asked.x(), &y = asked.out[0];
  if (asked.from != 0 || !asked.moves_only() || !x.has_rank() || !y.has_rank()) return std::nullopt;
  const std::vector<Run> runs = runs_of(*x.shape, *y.shape);
  Relaid made = Relaid::newest(asked, reshape);
  made.out.order.clear();
  const std::vector<size_t>& order = asked.layout.order;
  size_t done = 0;
  if (!runs.empty() && runs[0].from == runs[0].from_end) {
    for (size_t axis = 0; axis < runs[0].to_end; ++axis) made.out.order.push_back(axis);
    ++done;
  }
  for (size_t i = 0; i < order.size();) {
    const auto run = std::find_if(runs.begin(), runs.end(), [&](const Run& r) {
      return r.from == order[i] && r.from_end > r.from;
    });
    if (run == runs.end()) return std::nullopt;
    for (size_t axis = run->from; axis < run->from_end; ++axis, ++i) {
      if (i == order.size() || order[i] != axis) return std::nullopt;
    }
    for (size_t axis = run->to; axis < run->to_end; ++axis) made.out.order.push_back(axis);
    ++done;
  }
  if (done != runs.size() || made.out.rank() != y.rank()) return std::nullopt;
  const Shape before = *asked.layout.stored(*x.shape), after = *made.out.stored(*y.shape);
  const auto dims = sizes_of(before, after);
  if (!dims) return std::nullopt;
  made.inputs.push_back(Operand::of(*dims));
  return made;
}

}  // namespace sdx::ops
