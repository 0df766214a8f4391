// Operations that exporters spell out with others become what they are.
//
//   Pow(x, 2)                                                 ->   Mul(x, x)
//   (0.5 x) * (1 + Tanh(sqrt(2/pi) (x + 0.044715 Pow(x, 3))))   ->   Gelu[tanh](x)
//
// Pow(x, 2) is x * x to the bit, and Gelu performs these very operations
// (kernel/math/activation.h).
#include "ops/list.h"
#include "rewrite/matching.h"
#include "rewrite/rules.h"

namespace sdx::rewrite {
namespace {

using typed::Outlet;
using Wires = std::optional<std::vector<Outlet>>;

std::function<bool(const Fact&)> is(float value) {
  return [value](const Fact& fact) {
    return fact.type == DType::f32 && fact.value->count() == 1 && fact.rank() <= 1 &&
           *fact.value->data<float>() == value;
  };
}

const typed::Pattern& square() {
  static const typed::Pattern kPattern =
      pattern(R"(%x = input : f32
                 %two = constant
                 %y = Pow (%x, %two)
                 output %y)")
          .where("x", [](const Fact& x) { return x.has_rank() && x.rank() >= 1; })
          .where("two", is(2));
  return kPattern;
}

const typed::Pattern& gelu() {
  static const typed::Pattern kPattern =
      pattern(R"(%x = input : f32
                 %half = constant
                 %three = constant
                 %k = constant
                 %c = constant
                 %one = constant
                 %h = Mul (%x, %half) once
                 %p = Pow (%x, %three) once
                 %q = Mul (%p, %k) once
                 %s = Add (%x, %q) once
                 %d = Mul (%s, %c) once
                 %t = Tanh (%d) once
                 %e = Add (%t, %one) once
                 %y = Mul (%h, %e)
                 output %y)")
          .where("x", [](const Fact& x) { return x.has_rank() && x.rank() >= 1; })
          .where("half", is(0.5f))
          .where("three", is(3))
          .where("k", is(0.044715f))
          .where("c", is(0x1.988454p-1f))
          .where("one", is(1));
  return kPattern;
}

Result<Wires> square_at(Rewriting& r, uint32_t id) {
  const auto match = matched(square(), r, id);
  if (!match) return Wires();
  const Outlet x = r.now((*match)["x"]);
  const typed::Node* stands_for[] = {&r.old.node(id)};
  SDX_ASSIGN(std::vector<Outlet> wires, r.add(ops::mul, {}, {x, x}, 1, stands_for));
  return Wires(std::move(wires));
}

Result<Wires> gelu_at(Rewriting& r, uint32_t id) {
  const auto match = matched(gelu(), r, id);
  if (!match) return Wires();
  std::vector<const typed::Node*> stands_for;
  for (const uint32_t node : match->nodes) stands_for.push_back(&r.old.node(node));
  SDX_ASSIGN(std::vector<Outlet> wires, r.add(ops::gelu, {{"approximate", std::string("tanh")}},
                                              {r.now((*match)["x"])}, 1, stands_for));
  return Wires(std::move(wires));
}

}  // namespace

const Rule spelled_square{"spelled_square", square_at};
const Rule spelled_gelu{"spelled_gelu", gelu_at};

}  // namespace sdx::rewrite
