// Slice.
#include "op/layout.h"
#include "op/streaming.h"
#include "ops/tensor/ints.h"
#include "ops/tensor/strided_copy.h"
#include "ops/tensor/track.h"

namespace sdx::ops {
namespace {

struct Slice {
  MaybeInts starts, ends, axes, steps;  // otherwise inputs 1 to 4
};

constexpr Version kHistory[] = {
    {1, "(data: T) -> (output: T) {axes: ints, ends!: ints, starts!: ints} T in all"},
    {10,
     "(data: T, starts: Tind, ends: Tind, axes?: Tind, steps?: Tind) {-axes, -ends, -starts} Tind "
     "in i32 i64"},
    {11, ""},  // axes may be negative
    {13, "T += bf16"},
};

Result<Slice> read(const Node& node, const Facts&) {
  return Slice{attr_ints(node, "starts"), attr_ints(node, "ends"), attr_ints(node, "axes"),
               std::nullopt};
}

// One axis: element i of the output is element start + i * step of the input.
struct Cut {
  int64_t start = 0, step = 1, size = 0;
};

// Negative positions count from the end; both are clamped into the axis, for a negative step to [0,
// n-1] and [-1, n-1].
Cut cut(int64_t start, int64_t end, int64_t step, int64_t n) {
  if (n == 0) return {0, 1, 0};
  const auto position = [n](int64_t i, int64_t least, int64_t most) {
    return std::clamp(i < 0 ? i + n : i, least, most);
  };
  if (step > 0) {
    start = position(start, 0, n);
    end = position(end, 0, n);
    // Written without end - start + step - 1, which overflows for huge steps.
    return {start, step, end <= start ? 0 : (end - start - 1) / step + 1};
  }
  start = position(start, 0, n - 1);
  end = position(end, -1, n - 1);
  if (end >= start) return {0, 1, 0};
  const int64_t stride =
      step == std::numeric_limits<int64_t>::min() ? std::numeric_limits<int64_t>::max() : -step;
  return {start, step, (start - end - 1) / stride + 1};
}

Status check_lists(size_t starts, size_t ends, size_t axes, size_t steps) {
  if (starts == ends && starts == axes && starts == steps) return ok();
  return fail("SDX-T0213", "starts, ends, axes and steps have {}, {}, {} and {} elements", starts,
              ends, axes, steps);
}

Status reference(const Slice& a, Args& args) {
  const View &x = args.in(0), &y = args.out();
  const SmallInts starts = run_ints(a.starts, args, 1), ends = run_ints(a.ends, args, 2);
  SmallInts axes = run_ints(a.axes, args, 3), steps = run_ints(a.steps, args, 4);
  if (!a.axes && !args.has(3)) {
    for (size_t i = 0; i < starts.size(); ++i) axes.push_back(int64_t(i));
  }
  if (!args.has(4)) steps = SmallInts(starts.size(), 1);
  SDX_TRY(check_lists(starts.size(), ends.size(), axes.size(), steps.size()));
  SDX_ASSIGN(axes, resolve_axes(axes, x.rank()));
  const SmallInts from = strides_of(x.dims), to = strides_of(y.dims);
  SmallInts begin(x.rank()), step(x.rank(), 1);
  for (size_t i = 0; i < axes.size(); ++i) {
    if (steps[i] == 0) return fail("SDX-T0213", "the step of axis {} is 0", axes[i]);
    const Cut piece = cut(starts[i], ends[i], steps[i], x.dims[size_t(axes[i])]);
    begin[size_t(axes[i])] = piece.start;
    step[size_t(axes[i])] = piece.size > 1 ? piece.step : 1;
  }
  Loops loops;
  int64_t start = 0;
  for (size_t i = 0; i < x.rank(); ++i) {
    start += begin[i] * from[i];
    loops.add(y.dims[i], step[i] * from[i], to[i]);
  }
  strided_copy(loops, x.type, x.raw, start, y.raw, 0, args.pool, args.isa);
  return ok();
}

// The size of a piece of a symbolic axis: exact, or none where a sign is not known.
std::optional<Dim> symbolic_size(const Dim& start, const Dim& end, int64_t step, const Dim& n) {
  constexpr int64_t kFar = int64_t{1}
                           << 31;  // exporters write "to the end" as a 32- or 64-bit limit
  const bool start_known = start.is_const() || surely_not_negative(start);
  const bool end_known = end.is_const() || surely_not_negative(end);
  if (!start_known || !end_known) return std::nullopt;
  const bool from_end = start.is_const() && start.value() < 0,
             to_end = end.is_const() && end.value() < 0;
  const bool to_all = end == n || (end.is_const() && end.value() >= kFar - 1);
  if (step > 0) {
    if (start.is_const() && start.value() >= kFar - 1) return Dim(0);
    Dim length;
    if (start.is_const(0)) {
      length = to_all ? n : to_end ? max(n + end, 0) : min(end, n);
    } else if (to_all) {
      length = from_end ? min(Dim(0) - start, n) : max(n - start, 0);
    } else if (!from_end) {
      length = max((to_end ? n + end : min(end, n)) - start, 0);
    } else {
      length = max((to_end ? max(n + end, 0) : min(end, n)) - max(n + start, 0), 0);
    }
    return ceil_div(length, step);
  }
  // Backwards, from the last element or further to before the first one.
  const bool from_last =
      start.is_const(-1) || (start.is_const() && start.value() >= kFar - 1) || start == n;
  const bool to_first = end.is_const() && end.value() <= -kFar;
  if (from_last && to_first) return ceil_div(n, -step);
  return std::nullopt;
}

Result<Facts> infer(const Slice& a, const Facts& in) {
  if (!in[0].has_rank()) return Facts{Fact::tensor(in[0].type)};
  const auto starts = known_dims(a.starts, in, 1), ends = known_dims(a.ends, in, 2);
  MaybeInts axes = known_ints(a.axes, in, 3), steps = known_ints(a.steps, in, 4);
  const bool has_axes = given(a.axes, in, 3), has_steps = given(a.steps, in, 4);
  if (has_axes && !axes) return Facts{unknown_like(in[0])};
  std::optional<size_t> count;
  if (axes) count = axes->size();
  if (starts) count = starts->size();
  if (ends) count = ends->size();
  if (!count && in[1].is_concrete() && in[1].rank() == 1) count = size_t(in[1].dim(0).value());
  if (!count) return Facts{unknown_like(in[0])};
  if (!axes) {
    axes.emplace();
    for (size_t i = 0; i < *count; ++i) axes->push_back(int64_t(i));
  }
  if (!has_steps) steps.emplace(*count, 1);
  SDX_TRY(check_lists(starts ? starts->size() : *count, ends ? ends->size() : *count, axes->size(),
                      steps ? steps->size() : *count));
  SDX_ASSIGN(const SmallInts at, resolve_axes(*axes, in[0].rank()));
  Facts out{like(in[0])};
  for (size_t i = 0; i < at.size(); ++i) {
    Dim& dim = (*out[0].shape)[size_t(at[i])];
    if (steps && (*steps)[i] == 0) return fail("SDX-T0213", "the step of axis {} is 0", at[i]);
    if (!starts || !ends || !steps) {
      dim = Dim::unknown();
    } else if (dim.is_const() && (*starts)[i].is_const() && (*ends)[i].is_const()) {
      dim = cut((*starts)[i].value(), (*ends)[i].value(), (*steps)[i], dim.value()).size;
    } else {
      dim = symbolic_size((*starts)[i], (*ends)[i], (*steps)[i], dim).value_or(Dim::unknown());
    }
  }
  track(a, reference, 1, in, out);
  return out;
}

// A step of 1 along the outermost axis that has more than one element, everything of the inner
// ones.
std::optional<size_t> alias(const Slice& a, const Call& call, size_t) {
  const Fact& x = call.in[0];
  if (is_packed(x.type) || x.type == DType::string) return std::nullopt;
  const Dims dims = x.dims(), cut_dims = call.out[0].dims();
  const MaybeInts starts = known_ints(a.starts, call.in, 1), ends = known_ints(a.ends, call.in, 2);
  MaybeInts axes = known_ints(a.axes, call.in, 3);
  const MaybeInts steps = known_ints(a.steps, call.in, 4);
  if (!starts || !ends || (given(a.axes, call.in, 3) && !axes) ||
      (given(a.steps, call.in, 4) && !steps))
    return std::nullopt;
  size_t offset = 0;
  const SmallInts strides = strides_of(dims);
  for (size_t i = 0; i < starts->size(); ++i) {
    const auto axis = resolve_axis(axes ? (*axes)[i] : int64_t(i), dims.size());
    if (!axis) return std::nullopt;
    const Cut piece = cut((*starts)[i], (*ends)[i], steps ? (*steps)[i] : 1, dims[*axis]);
    if (piece.size == 0 || (piece.step != 1 && piece.size > 1)) return std::nullopt;
    offset += size_t(piece.start * strides[*axis]);
  }
  // Contiguous: outside the first axis that is cut, the output has one element per axis.
  size_t outer = 1;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (cut_dims[i] != dims[i] && outer != 1) return std::nullopt;
    outer *= size_t(cut_dims[i]);
  }
  return offset * bits(x.type) / 8;
}

// An axis in blocks is cut between them.
std::optional<Relaid> layout(const Slice& a, const Relay& asked) {
  const Fact& x = asked.x();
  MaybeInts starts = known_ints(a.starts, asked.in, 1), ends = known_ints(a.ends, asked.in, 2),
            axes = known_ints(a.axes, asked.in, 3), steps = known_ints(a.steps, asked.in, 4);
  if (asked.from != 0 || !starts || !ends || (given(a.axes, asked.in, 3) && !axes) ||
      (given(a.steps, asked.in, 4) && !steps)) {
    return std::nullopt;
  }
  if (!steps) steps.emplace(starts->size(), 1);
  if (!axes) {
    axes.emplace();
    for (size_t i = 0; i < starts->size(); ++i) axes->push_back(int64_t(i));
  }
  for (size_t i = 0; i < axes->size(); ++i) {
    const auto axis = resolve_axis((*axes)[i], x.rank());
    if (!axis) return std::nullopt;
    (*axes)[i] = int64_t(asked.layout.at(*axis));
    if (asked.layout.blocked != *axis) continue;
    const int64_t size = x.dim(*axis).value();
    const Cut piece = cut((*starts)[i], (*ends)[i], (*steps)[i], size);
    const int64_t end = piece.start + piece.size;
    if (piece.step != 1 || piece.start % kLayoutLanes != 0 || piece.size == 0 ||
        (end % kLayoutLanes != 0 && end != size)) {
      return std::nullopt;
    }
    (*starts)[i] = piece.start / kLayoutLanes;
    (*ends)[i] = (end + kLayoutLanes - 1) / kLayoutLanes;
  }
  Relaid made = Relaid::newest(asked, *asked.use.op);
  for (const MaybeInts* list : {&starts, &ends, &axes, &steps})
    made.inputs.push_back(Operand::of(**list));
  return made;
}

std::vector<Case> cases() {
  const Tensor x = Tensor::of<int32_t>({2, 3}, {0, 1, 2, 3, 4, 5});
  return {
      {.name = "opset1_clamps_the_end",
       .opset = 1,
       .attrs = {{"starts", std::vector<int64_t>{1, -2}}, {"ends", std::vector<int64_t>{100, 3}}},
       .inputs = {x},
       .expected = {Tensor::of<int32_t>({1, 2}, {4, 5})}},
      {.name = "a_negative_step_reverses",
       .opset = 13,
       .attrs = {},
       .inputs = {x, Tensor::of<int64_t>({1}, {-1}),
                  Tensor::of<int64_t>({1}, {std::numeric_limits<int64_t>::min()}),
                  Tensor::of<int64_t>({1}, {-1}), Tensor::of<int64_t>({1}, {-2})},
       .expected = {Tensor::of<int32_t>({2, 2}, {2, 0, 5, 3})}}};
}

Streaming stream(const Slice& a, const Streamed& s) {
  if (!s.only_first()) return Streaming::refuse("where it cuts moves along the axis");
  const size_t along = *s.axes[0], rank = s.in[0].rank();
  const auto starts = known_dims(a.starts, s.in, 1), ends = known_dims(a.ends, s.in, 2);
  const MaybeInts axes = known_ints(a.axes, s.in, 3), steps = known_ints(a.steps, s.in, 4);
  if (!starts || !ends || (given(a.axes, s.in, 3) && !axes) || (given(a.steps, s.in, 4) && !steps))
    return Streaming::refuse("where it cuts is known at run time only");
  std::vector<int64_t> first, last, by, over;  // of the other axes
  Streaming::Slice cut;
  std::optional<int64_t> from_end;
  bool found = false;
  for (size_t i = 0; i < starts->size(); ++i) {
    const auto axis = resolve_axis(axes ? (*axes)[i] : int64_t(i), rank);
    if (!axis) return Streaming::refuse("its axes are not valid");
    const Dim &start = (*starts)[i], &end = (*ends)[i];
    const int64_t step = steps ? (*steps)[i] : 1;
    if (*axis != along) {
      if (!start.is_const() || !end.is_const())
        return Streaming::refuse("where it cuts another axis depends on the length");
      first.push_back(start.value());
      last.push_back(end.value());
      by.push_back(step);
      over.push_back(int64_t(*axis));
      continue;
    }
    if (step < 0) return Streaming::refuse("it runs backwards along the axis");
    if (!start.is_const()) return Streaming::refuse("where it starts depends on the length");
    found = true;
    cut = {start.value(), step};
    const Dim left = s.in[0].dim(along) - end;  // rows behind the end
    if (end.is_const() && end.value() >= 0) {
      cut.end = end.value();
    } else if (end.is_const()) {
      cut.trimmed = -end.value();
    } else if (left.is_const() && left.value() >= 0) {
      cut.trimmed = left.value();
    } else {
      return Streaming::refuse("where it ends depends on the length");
    }
    if (start.value() < 0) from_end = -start.value();
  }
  if (!found) return Streaming::ask();
  Streaming how = Streaming::of(from_end ? Streaming::Kind::tail : Streaming::Kind::slice);
  if (from_end) {
    if (cut.step != 1 || cut.trimmed != 0 || cut.end < (int64_t{1} << 31) - 1)
      return Streaming::refuse("it starts at the stream's end and stops before it");
    how.count = *from_end;
  }
  how.slices = {cut};
  how.other_axes = !over.empty();
  const auto ints = [](const std::vector<int64_t>& v) {
    return Tensor::of<int64_t>({int64_t(v.size())}, std::span<const int64_t>(v));
  };
  if (a.starts) {
    how.attrs = {{"starts", first}, {"ends", last}, {"axes", over}};
  } else {
    how.constants = {{1, ints(first)}, {2, ints(last)}, {3, ints(over)}, {4, ints(by)}};
  }
  return how;
}

constexpr OpOf<Slice> kSlice{
    .name = "Slice",
    .doc = "Every `step`-th element from `start` up to `end`, along some axes.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .cases = cases,
    .by_equality = true,
    .alias = alias,
    .layout = layout,
    .stream = stream,
};

}  // namespace

extern const Op slice = erase<kSlice>();

}  // namespace sdx::ops
