#include "typed/folding.h"

#include <algorithm>
#include <array>

namespace sdx::typed {
namespace {

thread_local FoldingAttempt* current = nullptr;

constexpr uint64_t kEndless = uint64_t{1} << 62;

uint64_t times(uint64_t a, uint64_t b) { return b != 0 && a > kEndless / b ? kEndless : a * b; }
uint64_t plus(uint64_t a, uint64_t b) { return std::min(kEndless, a + b); }

// Numbers in attributes that may multiply the work: sizes of windows, samples per bin.
uint64_t attribute_factor(const sdx::Node& use) {
  constexpr int64_t kSmall = 64;
  uint64_t factor = 1;
  for (const auto& [name, value] : use.attrs) {
    if (const auto* number = std::get_if<int64_t>(&value); number != nullptr && *number > kSmall) {
      factor = times(factor, uint64_t(*number));
    } else if (const auto* list = std::get_if<std::vector<int64_t>>(&value)) {
      for (const int64_t one : *list) factor = times(factor, one > 1 ? uint64_t(one) : 1);
    }
  }
  return factor;
}

struct Size {
  uint64_t elements = 0, bytes = 0;
};

Size size_of(const Facts& facts) {
  Size size;
  for (const Fact& fact : facts) {
    if (fact.value) {
      size.elements += fact.value->count();
      size.bytes += bytes_held(*fact.value);
    } else if (fact.is_concrete()) {
      const auto count = element_count(fact.dims());
      size.elements = plus(size.elements, count ? *count : kEndless);
      size.bytes =
          plus(size.bytes,
               count && fact.type != DType::undefined ? bytes_for(fact.type, *count) : kEndless);
    }
  }
  return size;
}

// Strings are joined and repeated: how long they become is known only from what goes in.
uint64_t string_bytes(const Facts& in, const Facts& out) {
  const auto is_string = [](const Fact& fact) { return fact.type == DType::string; };
  if (std::none_of(out.begin(), out.end(), is_string)) return 0;
  uint64_t held = 0;
  for (const Fact& fact : in) {
    if (fact.value && is_string(fact)) held += bytes_held(*fact.value);
  }
  return times(held, std::max<uint64_t>(1, size_of(out).elements));
}

}  // namespace

// Besides what is element-wise or a view: operators whose work is in proportion to what they read
// and write, and that models have on large constants.
bool is_linear(const Op& op) {
  static constexpr auto kNames = std::to_array<std::string_view>({"ArgMax",
                                                                  "ArgMin",
                                                                  "BatchNormalization",
                                                                  "Cast",
                                                                  "CastLike",
                                                                  "Compress",
                                                                  "Concat",
                                                                  "Constant",
                                                                  "ConstantOfShape",
                                                                  "CumSum",
                                                                  "DepthToSpace",
                                                                  "DequantizeLinear",
                                                                  "Equal",
                                                                  "Expand",
                                                                  "EyeLike",
                                                                  "Flatten",
                                                                  "Gather",
                                                                  "GatherElements",
                                                                  "GatherND",
                                                                  "Greater",
                                                                  "GreaterOrEqual",
                                                                  "GroupNormalization",
                                                                  "Hardmax",
                                                                  "Identity",
                                                                  "InstanceNormalization",
                                                                  "LayerNormalization",
                                                                  "Less",
                                                                  "LessOrEqual",
                                                                  "LogSoftmax",
                                                                  "LpNormalization",
                                                                  "MeanVarianceNormalization",
                                                                  "NonZero",
                                                                  "Not",
                                                                  "OneHot",
                                                                  "Pad",
                                                                  "QuantizeLinear",
                                                                  "RMSNormalization",
                                                                  "Range",
                                                                  "ReduceL1",
                                                                  "ReduceL2",
                                                                  "ReduceLogSum",
                                                                  "ReduceMax",
                                                                  "ReduceMean",
                                                                  "ReduceMin",
                                                                  "ReduceProd",
                                                                  "ReduceSum",
                                                                  "ReduceSumSquare",
                                                                  "Reshape",
                                                                  "ScatterElements",
                                                                  "ScatterND",
                                                                  "Shape",
                                                                  "Size",
                                                                  "Slice",
                                                                  "Softmax",
                                                                  "SpaceToDepth",
                                                                  "Split",
                                                                  "Squeeze",
                                                                  "Tile",
                                                                  "Transpose",
                                                                  "Trilu",
                                                                  "Unsqueeze",
                                                                  "Where"});
  return op.inplace || op.alias != nullptr || op.joins != nullptr || op.pointwise != nullptr ||
         op.program != nullptr || std::find(kNames.begin(), kNames.end(), op.name) != kNames.end();
}

size_t bytes_held(const Tensor& tensor) {
  size_t bytes = tensor.bytes();
  if (tensor.type() != DType::string) return bytes;
  const auto* strings = tensor.data<std::string>();
  for (size_t i = 0; i < tensor.count(); ++i) bytes += strings[i].size();
  return bytes;
}

uint64_t work_of(const Op& op, const sdx::Node& use, const void* attrs, const Facts& in,
                 const Facts& out) {
  constexpr uint64_t kOfAnyNode = 256;
  const Size read = size_of(in), made = size_of(out);
  const uint64_t moved = plus(plus(read.bytes, made.bytes), string_bytes(in, out)) / 8;
  if (is_linear(op)) return plus(kOfAnyNode, moved);
  const bool known = std::all_of(out.begin(), out.end(), [](const Fact& fact) {
    return !fact.present() || fact.is_concrete();
  });
  if (op.multiply_adds != nullptr && known) {
    return plus(plus(kOfAnyNode, moved),
                times(2, op.multiply_adds(attrs, {in, out, Isa::portable, 1})));
  }
  const uint64_t factor = attribute_factor(use);
  const uint64_t elements = plus(read.elements, made.elements);
  return plus(plus(kOfAnyNode, moved), times(times(elements, elements), times(factor, factor)));
}

bool worth_folding(const Op& op, const sdx::Node& use, const void* attrs, const Facts& in,
                   const Facts& out) {
  constexpr size_t kTiny = 256;  // shape arithmetic, which typing depends on
  const uint64_t work = work_of(op, use, attrs, in, out);
  if (work > kMostFoldingWork) return false;
  Budget* budget = Budget::open();
  if (budget != nullptr && work > budget->work_left()) return false;
  size_t stored = 0, made = 0;
  for (const Fact& fact : in) stored += fact.value ? bytes_held(*fact.value) : 0;
  for (const Fact& fact : out) {
    if (!fact.present()) continue;
    if (!fact.is_concrete()) return stored <= kMostFolded;
    const auto count = element_count(fact.dims());
    if (!count) return false;
    made += bytes_for(fact.type, *count);
  }
  made += size_t(std::min<uint64_t>(string_bytes(in, out), kEndless));
  // Dequantised weights are several times as large; rewrites and kernels read the narrow ones.
  if (made > stored && !in.empty() && in[0].present() && bits(in[0].type) <= 8 &&
      is_integer(in[0].type) && is_float(out[0].type)) {
    return false;
  }
  if (made > kMostFolded && (made > stored || made > kMostMoved)) return false;
  return made <= kTiny || budget == nullptr || budget->take_bytes(made);
}

std::optional<std::vector<Value>> seen_through(const Op& op, const void* attrs, const Facts& in,
                                               const Facts& out) {
  constexpr size_t kSmall = 4096;
  constexpr size_t kWide = 1024;  // each output may look at those before it
  if (op.alias == nullptr || in.empty() || !in[0].value || in[0].type == DType::string ||
      is_packed(in[0].type) || out.size() > kWide) {
    return std::nullopt;
  }
  const Call call{in, out, Isa::portable, 1};
  std::vector<Value> seen(out.size());
  size_t bytes = 0;
  for (size_t slot = 0; slot < seen.size(); ++slot) {
    if (!out[slot].present()) continue;
    if (!out[slot].is_concrete()) return std::nullopt;
    const std::optional<size_t> offset = op.alias(attrs, call, slot);
    if (!offset) return std::nullopt;
    seen[slot] = in[0].value->part(*offset, out[slot].type, out[slot].dims());
    bytes += seen[slot].tensor().bytes();
  }
  if (bytes < kSmall) return std::nullopt;
  return seen;
}

FoldingAccount::FoldingAccount(const Graph& graph) {
  if (!scope_.opened()) return;
  Budget& budget = *Budget::open();
  budget.grant_nodes(
      uint64_t{1} << 32);  // subgraphs are typed again as often as passes look at them
  for (const Node& node : graph.nodes()) {
    if (node.kind != Node::Kind::constant || !node.outputs[0].value) continue;
    const Tensor& value = *node.outputs[0].value;
    budget.grant_bytes(value.bytes());
    // Weights of few bits may be read as floats.
    if ((is_integer(value.type()) && bits(value.type()) <= 8) ||
        (is_float(value.type()) && bits(value.type()) <= 16)) {
      budget.grant_bytes(value.count() * sizeof(float));
    }
  }
}

FoldingAttempt::FoldingAttempt()
    : steps_(kMostFoldingWork), left_(kMostFoldingWork), outer_(current) {
  current = this;
}

FoldingAttempt::~FoldingAttempt() { current = outer_; }

bool FoldingAttempt::active() { return current != nullptr; }

Status FoldingAttempt::spend(uint64_t units) {
  if (current == nullptr) return ok();
  Budget* budget = Budget::open();
  const bool enough = units <= current->left_ && (budget == nullptr || budget->take_work(units));
  if (!enough) return fail(kTooMuchWork, "too much work to be done before the model runs");
  current->left_ -= units;
  return ok();
}

}  // namespace sdx::typed
