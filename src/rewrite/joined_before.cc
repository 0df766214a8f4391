// A Concat that begins with all that another one joins goes on from there: layers that read all
// layers before them (DenseNet) join ever more of the same.
//
//   ab = Concat(a, b); Concat(a, b, c)   ->   Concat(ab, c)
//
// Where a Concat's parts are stretches of its result, each is then computed where the last one of
// the row has it, and none is copied.
#include <algorithm>

#include "ops/list.h"
#include "ops/tensor/concat.h"
#include "rewrite/rules.h"

namespace sdx::rewrite {
namespace {

using typed::Node;
using typed::Outlet;
using Wires = std::optional<std::vector<Outlet>>;

bool begins_with(const std::vector<Outlet>& wires, const std::vector<Outlet>& first) {
  return first.size() < wires.size() && std::equal(first.begin(), first.end(), wires.begin());
}

// The one that joins most of the first inputs of another, of the few that come right before it.
std::optional<uint32_t> longest_beginning(const Rewriting& r, uint32_t id) {
  constexpr int kTried = 64;  // a wire may have very many readers
  const Node& concat = r.old.node(id);
  const std::vector<uint32_t>& readers = r.readers(concat.inputs[0]);
  auto other = std::lower_bound(readers.begin(), readers.end(), id);
  std::optional<uint32_t> longest;
  for (int tried = 0; other != readers.begin() && tried < kTried; ++tried) {
    const Node& node = r.old.node(*--other);
    if (!node.is(ops::concat) || node.inputs.size() < 2 ||
        node.as<ops::Concat>().axis != concat.as<ops::Concat>().axis ||
        !begins_with(concat.inputs, node.inputs))
      continue;
    if (!longest || node.inputs.size() > r.old.node(*longest).inputs.size()) longest = *other;
  }
  return longest;
}

Result<Wires> joined_before_at(Rewriting& r, uint32_t id) {
  const Node& concat = r.old.node(id);
  if (!concat.is(ops::concat) || concat.inputs.size() < 3) return Wires();
  const std::optional<uint32_t> first = longest_beginning(r, id);
  if (!first) return Wires();
  std::vector<Outlet> inputs = {r.now({*first, 0})};
  for (size_t i = r.old.node(*first).inputs.size(); i < concat.inputs.size(); ++i)
    inputs.push_back(r.now(concat.inputs[i]));
  const Node* stands_for[] = {&concat};
  SDX_ASSIGN(std::vector<Outlet> y,
             r.add_like(concat, ops::concat, {}, std::move(inputs), stands_for));
  return Wires(std::move(y));
}

}  // namespace

const Rule joined_before{"joined_before", joined_before_at};

}  // namespace sdx::rewrite
