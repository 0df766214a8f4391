#include "work.h"

#include <algorithm>

namespace sdx::cli {
namespace {

uint64_t elements(const Fact& fact) {
  const auto count = fact.present() ? element_count(fact.dims()) : Result<size_t>(0);
  return count ? *count : 0;
}

// Each output element is a sum over what a filter W [M, C/group, ...] has per output channel.
uint64_t of_filter(const Fact& w, const Fact& y) {
  const Dims dims = w.dims();
  return dims.empty() || dims[0] == 0 ? 0 : elements(y) * (elements(w) / uint64_t(dims[0]));
}

// X [T, B, I] meets W [D, G H, I], and each state R [D, G H, H], once per step and sequence.
uint64_t of_recurrence(const Facts& in) {
  const Dims x = in[0].dims();
  return x.size() != 3 ? 0 : uint64_t(x[0]) * uint64_t(x[1]) * (elements(in[1]) + elements(in[2]));
}

// Each output element is a sum over the last axis of A.
uint64_t of_product(const Fact& a, const Fact& y) {
  const Dims dims = a.dims();
  return dims.empty() ? 0 : elements(y) * uint64_t(dims.back());
}

// Operators that leave Op::multiply_adds out, which also says that an output is a fresh sum: states
// pass through a recurrence, and integers have no NaN to speak of.
struct Counted {
  std::string_view name;
  uint64_t (*count)(const Facts& in, const Facts& out);
};
constexpr Counted kCounted[] = {
    {"ConvInteger", [](const Facts& in, const Facts& out) { return of_filter(in[1], out[0]); }},
    {"DeformConv", [](const Facts& in, const Facts& out) { return of_filter(in[1], out[0]); }},
    {"GRU", [](const Facts& in, const Facts&) { return of_recurrence(in); }},
    {"LSTM", [](const Facts& in, const Facts&) { return of_recurrence(in); }},
    {"QLinearConv", [](const Facts& in, const Facts& out) { return of_filter(in[3], out[0]); }},
    {"QLinearMatMul", [](const Facts& in, const Facts& out) { return of_product(in[0], out[0]); }},
    {"RNN", [](const Facts& in, const Facts&) { return of_recurrence(in); }},
};

const Counted* counted(const typed::Node& node) {
  if (node.kind != typed::Node::Kind::op || !node.op().domain.empty()) return nullptr;
  const auto* at = std::find_if(std::begin(kCounted), std::end(kCounted),
                                [&](const Counted& one) { return one.name == node.op().name; });
  return at == std::end(kCounted) ? nullptr : at;
}

}  // namespace

bool counts_multiply_adds(const typed::Node& node) {
  return node.kind == typed::Node::Kind::op &&
         (node.op().multiply_adds != nullptr || counted(node) != nullptr);
}

uint64_t multiply_adds(const typed::Node& node, const Facts& in) {
  if (const Counted* by_name = counted(node)) return by_name->count(in, node.outputs);
  return node.op().multiply_adds(node.resolved.get(), {in, node.outputs, Isa::portable, 1});
}

uint64_t multiply_adds(const typed::Graph& graph, size_t& open) {
  uint64_t total = 0;
  open = 0;
  for (const typed::Node& node : graph.nodes()) {
    if (!counts_multiply_adds(node)) continue;
    Facts in;
    for (const typed::Outlet input : node.inputs) in.push_back(graph.fact(input));
    const auto known = [](const Fact& fact) { return !fact.present() || fact.is_concrete(); };
    if (!std::all_of(in.begin(), in.end(), known) ||
        !std::all_of(node.outputs.begin(), node.outputs.end(), known)) {
      ++open;
      continue;
    }
    total += multiply_adds(node, in);
  }
  return total;
}

std::string grouped(uint64_t n) {
  std::string text = std::to_string(n);
  for (size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, 1, ',');
  return text;
}

}  // namespace sdx::cli
