// Functions of functions of one byte are one function: its 256 answers are written down.
//
//   QuantisedElementwise[x * y](a, QuantisedElementwise[sigmoid](a))   ->   MapBytes{table}(a)
//
// Each answer is the one that the operators give, so every bit is kept. A function of one operator
// finds its answers itself, by a kernel.
#include <algorithm>

#include "ops/list.h"
#include "ops/quant/quantised_elementwise.h"
#include "rewrite/rules.h"

namespace sdx::rewrite {
namespace {

using typed::Node;
using typed::Outlet;
using Wires = std::optional<std::vector<Outlet>>;
using Table = std::array<uint8_t, 256>;

// A wire as a function of another one of its shape.
struct OfOne {
  Outlet x;
  Table answers;
  size_t nodes;  // operators that it takes
};

constexpr size_t kMostNodes = 64;

OfOne itself(Outlet x) {
  OfOne f{x, {}, 0};
  for (size_t i = 0; i < f.answers.size(); ++i) f.answers[i] = uint8_t(i);
  return f;
}

bool is_number(const Fact& fact) { return fact.value && fact.value->count() == 1; }

// Of an old wire that such an operator makes; nothing if it meets more than one wire.
std::optional<OfOne> function_of_one(const Rewriting& r, Outlet y, size_t room) {
  const Node& node = r.old.node(y.node);
  const Fact& made = r.old.fact(y);
  if (!node.is(ops::quantised_elementwise) || !made.has_rank() || room == 0) return std::nullopt;
  const auto& a = node.as<ops::QuantisedElementwise>();
  std::array<Table, Program::kMostInputs> inputs;
  OfOne f{{}, {}, 1};
  for (size_t k = 0; k < node.inputs.size(); ++k) {
    const Fact& fact = r.old.fact(node.inputs[k]);
    if (is_number(fact)) {
      inputs[k].fill(*static_cast<const uint8_t*>(fact.value->raw()));
      continue;
    }
    if (!fact.has_rank() || !(*fact.shape == *made.shape)) return std::nullopt;
    const OfOne of =
        function_of_one(r, node.inputs[k], room - f.nodes).value_or(itself(node.inputs[k]));
    if (f.x.present() && !(f.x == of.x)) return std::nullopt;
    f.x = of.x;
    f.nodes += of.nodes;
    if (f.nodes > room) return std::nullopt;
    inputs[k] = of.answers;
  }
  if (!f.x.present()) return std::nullopt;
  std::array<uint8_t, Program::kMostInputs> x{};
  for (size_t i = 0; i < f.answers.size(); ++i) {
    for (size_t k = 0; k < node.inputs.size(); ++k) x[k] = inputs[k][i];
    f.answers[i] = ops::quantised_answer(a, made.type, x.data());
  }
  return f;
}

Result<Wires> quantised_tables_at(Rewriting& r, uint32_t id) {
  const Outlet y{id, 0};
  const std::optional<OfOne> f = function_of_one(r, y, kMostNodes);
  if (!f || f->nodes < 2) return Wires();
  const std::vector<int64_t> table(f->answers.begin(), f->answers.end());
  const Node* stands_for[] = {&r.old.node(id)};
  SDX_ASSIGN(std::vector<Outlet> wires,
             r.add(ops::map_bytes, {{"table", table}}, {r.now(f->x)}, 1, stands_for));
  return Wires(std::move(wires));
}

}  // namespace

const Rule quantised_tables{"quantised_tables", quantised_tables_at};

}  // namespace sdx::rewrite
