// SplitToSequence and ConcatFromSequence: a tensor as a sequence of parts, and back.
#include "ops/control/bodies.h"
#include "ops/tensor/ints.h"
#include "ops/tensor/strided_copy.h"

namespace sdx::ops {
namespace {

struct Split {
  int64_t axis;
  bool keep_axis;  // parts of size one keep their axis
};

constexpr Version kSplitHistory[] = {
    {11,
     "(input: T, split?: I) -> (output_sequence: S) {axis: int = 0, keepdims: int = 1} T in all "
     "I in i32 i64 S in seq(all)"},
    {24, "T += bf16 S += seq(bf16)"},
};

Result<Split> read_split(const Node& node, const Facts& in) {
  const bool sized = in.size() > 1 && in[1].present();
  return Split{node.i("axis"), sized || node.i("keepdims") != 0};
}

Result<Facts> infer_split(const Split& a, const Facts& in) {
  if (!in[0].has_rank()) return Facts{Fact::sequence(Fact::tensor(in[0].type))};
  SDX_ASSIGN(const size_t axis, resolve_axis(a.axis, in[0].rank()));
  Fact element = like(in[0]);
  Dim& size = (*element.shape)[axis];
  if (in.size() < 2 || !in[1].present()) {
    size = 1;
    if (!a.keep_axis) element.shape->erase(element.shape->begin() + std::ptrdiff_t(axis));
    return Facts{Fact::sequence(std::move(element))};
  }
  // Parts of equal size have a known one.
  const auto sizes = in[1].constant_integers();
  const bool list = in[1].has_rank() && in[1].rank() == 1;
  const bool equal = sizes && !sizes->empty() &&
                     std::all_of(sizes->begin(), sizes->end(),
                                 [&](int64_t other) { return other == sizes->front(); });
  const bool even =
      equal && sizes->front() > 0 && size.is_const() && size.value() % sizes->front() == 0;
  size = equal && (list || even) ? Dim(sizes->front()) : Dim::unknown();
  return Facts{Fact::sequence(std::move(element))};
}

Result<std::vector<int64_t>> part_sizes(Args& args, int64_t whole) {
  if (!args.has(1)) return std::vector<int64_t>(size_t(whole), 1);
  const View& split = args.in(1);
  std::vector<int64_t> sizes;
  if (split.rank() == 0) {
    const int64_t size = get_i64(split.type, split.raw, 0);
    if (size <= 0) return fail("SDX-R0623", "parts of size {} cannot be cut", size);
    for (int64_t done = 0; done < whole; done += sizes.back()) {
      sizes.push_back(std::min(size, whole - done));
    }
    return sizes;
  }
  if (split.rank() != 1) {
    return fail("SDX-R0623", "split has rank {}, expected 0 or 1", split.rank());
  }
  int64_t left = whole;
  for (size_t i = 0; i < split.count; ++i) {
    sizes.push_back(get_i64(split.type, split.raw, i));
    if (sizes.back() < 0 || sizes.back() > left) {
      return fail("SDX-R0623", "a part of {} does not fit where {} of {} are left", sizes.back(),
                  left, whole);
    }
    left -= sizes.back();
  }
  if (left != 0) {
    return fail("SDX-R0623", "the parts add up to {}, the axis has {}", whole - left, whole);
  }
  return sizes;
}

Status run_split(const Split& a, Args& args) {
  const View& x = args.in(0);
  SDX_ASSIGN(const size_t axis, resolve_axis(a.axis, x.rank()));
  SDX_ASSIGN(const std::vector<int64_t> sizes, part_sizes(args, x.dims[axis]));
  constexpr size_t kOfAnyPart = 256;  // beside its elements
  if (auto* const counts = dynamic_cast<BodyRunner*>(args.late)) {
    SDX_TRY(counts->hold(sizes.size() * kOfAnyPart));
  }
  const AxisSplit at = split_at(x.dims, axis);
  Sequence parts;
  int64_t start = 0;
  for (const int64_t size : sizes) {
    Dims dims(x.dims.begin(), x.dims.end());
    dims[axis] = size;
    if (!a.keep_axis) dims.erase(dims.begin() + std::ptrdiff_t(axis));
    Tensor part = Tensor::make(x.type, std::move(dims));
    const int64_t row = size * int64_t(at.inner);
    Loops loops;
    loops.add(int64_t(at.outer), int64_t(at.size * at.inner), row);
    loops.add(row, 1, 1);
    strided_copy(loops, x.type, x.raw, start, part.raw(), 0, args.pool, args.isa);
    parts.emplace_back(std::move(part));
    start += row;
  }
  args.give(0, Value::of(std::move(parts)));
  return ok();
}

std::vector<Case> split_cases() {
  const Tensor x = Tensor::of<int32_t>({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto columns = [](std::initializer_list<int32_t> values) {
    return Value(Tensor::of<int32_t>({2, int64_t(values.size()) / 2}, values));
  };
  return {{.name = "single_columns_without_their_axis",
           .opset = 11,
           .attrs = {{"axis", int64_t{1}}, {"keepdims", int64_t{0}}},
           .inputs = {x},
           .expected = {Value::of(Sequence{Tensor::of<int32_t>({2}, {1, 4}),
                                           Tensor::of<int32_t>({2}, {2, 5}),
                                           Tensor::of<int32_t>({2}, {3, 6})})}},
          {.name = "the_last_chunk_is_smaller_and_keepdims_ignored",
           .opset = 11,
           .attrs = {{"axis", int64_t{-1}}, {"keepdims", int64_t{0}}},
           .inputs = {x, Tensor::scalar<int64_t>(2)},
           .expected = {Value::of(Sequence{columns({1, 2, 4, 5}), columns({3, 6})})}},
          {.name = "into_given_sizes",
           .opset = 24,
           .attrs = {{"axis", int64_t{1}}},
           .inputs = {x, Tensor::of<int32_t>({3}, {1, 0, 2})},
           .expected = {Value::of(Sequence{columns({1, 4}), columns({}), columns({2, 3, 5, 6})})}}};
}

struct Concat {
  int64_t axis;
  bool new_axis;
};

constexpr Version kConcatHistory[] = {
    {11,
     "(input_sequence: S) -> (concat_result: T) {axis!: int, new_axis: int = 0} S in seq(all) "
     "T in all"},
};

Result<Concat> read_concat(const Node& node, const Facts&) {
  if (node.i("new_axis") != 0 && node.i("new_axis") != 1) {
    return fail("SDX-T0622", "new_axis is {}, expected 0 or 1", node.i("new_axis"));
  }
  return Concat{node.i("axis"), node.i("new_axis") == 1};
}

Result<Facts> infer_concat(const Concat& a, const Facts& in) {
  const Fact& element = element_of(in[0]);
  if (!element.has_rank()) return Facts{Fact::tensor(element.type)};
  Shape shape = *element.shape;
  SDX_ASSIGN(const size_t axis, resolve_axis(a.axis, shape.size() + (a.new_axis ? 1 : 0)));
  if (a.new_axis) {
    shape.insert(shape.begin() + std::ptrdiff_t(axis), Dim::unknown());
  } else {
    shape[axis] = Dim::unknown();
  }
  return Facts{Fact::tensor(element.type, std::move(shape))};
}

Status run_concat(const Concat& a, Args& args) {
  const Sequence& items = args.value(0).sequence();
  if (items.empty()) return fail("SDX-R0624", "an empty sequence has no shape to join");
  const Tensor& first = items[0].tensor();
  SDX_ASSIGN(const size_t axis, resolve_axis(a.axis, first.rank() + (a.new_axis ? 1 : 0)));
  Dims dims = first.dims();
  if (a.new_axis) dims.insert(dims.begin() + std::ptrdiff_t(axis), 1);
  int64_t total = 0;
  for (const Value& item : items) {
    Dims other = item.tensor().dims();
    const int64_t size = a.new_axis || axis >= other.size() ? 1 : other[axis];
    if (a.new_axis ? other == first.dims()
                   : other.size() == dims.size() && (other[axis] = dims[axis], other == dims)) {
      total += size;
      continue;
    }
    return fail("SDX-R0624", "elements of shapes {} and {} cannot be joined along axis {}",
                to_string(first.dims()), to_string(item.tensor().dims()), axis);
  }
  dims[axis] = total;
  SDX_ASSIGN(const View y, output(args, 0, dims));
  const AxisSplit at = split_at(dims, axis);
  int64_t start = 0;
  for (const Value& item : items) {
    const Tensor& x = item.tensor();
    const int64_t row = int64_t(a.new_axis ? 1 : x.dims()[axis]) * int64_t(at.inner);
    Loops loops;
    loops.add(int64_t(at.outer), row, int64_t(at.size * at.inner));
    loops.add(row, 1, 1);
    strided_copy(loops, x.type(), x.raw(), 0, y.raw, start, args.pool, args.isa);
    start += row;
  }
  return ok();
}

std::vector<Case> concat_cases() {
  const Value x = Tensor::of<float>({2}, {1, 2}), y = Tensor::of<float>({2}, {3, 4});
  return {{.name = "end_to_end",
           .opset = 11,
           .attrs = {{"axis", int64_t{0}}},
           .inputs = {Value::of(Sequence{x, Tensor::of<float>({1}, {5}), y})},
           .expected = {Tensor::of<float>({5}, {1, 2, 5, 3, 4})}},
          {.name = "stacked_along_a_last_axis",
           .opset = 11,
           .attrs = {{"axis", int64_t{-1}}, {"new_axis", int64_t{1}}},
           .inputs = {Value::of(Sequence{x, y})},
           .expected = {Tensor::of<float>({2, 2}, {1, 3, 2, 4})}},
          {.name = "of_strings",
           .opset = 11,
           .attrs = {{"axis", int64_t{0}}},
           .inputs = {Value::of(Sequence{Tensor::of<std::string>({1}, {"a"}),
                                         Tensor::of<std::string>({2}, {"b", "c"})})},
           .expected = {Tensor::of<std::string>({3}, {"a", "b", "c"})}}};
}

constexpr OpOf<Split> kSplitToSequence{
    .name = "SplitToSequence",
    .doc = "The parts of a tensor along an axis, as a sequence.",
    .history = kSplitHistory,
    .read = read_split,
    .infer = infer_split,
    .reference = run_split,
    .cases = split_cases,
    .whole_values = true,
};
constexpr OpOf<Concat> kConcatFromSequence{
    .name = "ConcatFromSequence",
    .doc = "The tensors of a sequence, joined along an axis or stacked along a new one.",
    .history = kConcatHistory,
    .read = read_concat,
    .infer = infer_concat,
    .reference = run_concat,
    .cases = concat_cases,
    .whole_values = true,
};

}  // namespace

extern const Op split_to_sequence = erase<kSplitToSequence>();
extern const Op concat_from_sequence = erase<kConcatFromSequence>();

}  // namespace sdx::ops
