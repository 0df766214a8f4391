// Exporters guard softmax against rows without any key by Where(IsNaN(x), c, x): one instruction
// instead of a mask.
//
//   Where(IsNaN(x), c, x)   ->   Elementwise[replace_nan 0 c](x)        c a constant scalar
#include "ops/list.h"
#include "rewrite/matching.h"
#include "rewrite/rules.h"

namespace sdx::rewrite {
namespace {

using typed::Outlet;

const typed::Pattern& guard() {
  static const typed::Pattern kPattern =
      pattern(R"(%x = input
                 %c = constant
                 %n = IsNaN (%x) once
                 %y = Where (%n, %c, %x)
                 output %y)")
          .where("x", [](const Fact& x) { return runs_in_float(x.type) && x.has_rank(); })
          .where("c", [](const Fact& c) { return c.value->count() == 1; });
  return kPattern;
}

Result<std::optional<std::vector<Outlet>>> replace_nan_at(Rewriting& r, uint32_t id) {
  const auto match = matched(guard(), r, id);
  if (!match) return std::optional<std::vector<Outlet>>();
  const Fact &x = r.old.fact((*match)["x"]), &fallback = r.old.fact((*match)["c"]);
  // The constant must not broadcast the result to a higher rank.
  if (fallback.rank() > x.rank()) return std::optional<std::vector<Outlet>>();
  const auto* bits = static_cast<const uint16_t*>(fallback.value->raw());
  const float value = x.type == DType::f32   ? *fallback.value->data<float>()
                      : x.type == DType::f16 ? f16_to_f32(*bits)
                                             : bf16_to_f32(*bits);
  const std::string code = fmt::format("replace_nan 0 {} 0", value);
  const typed::Node* stands_for[] = {&r.old.node((*match)["n"].node), &r.old.node(id)};
  SDX_ASSIGN(std::vector<Outlet> wires,
             r.add(ops::elementwise, {{"code", std::vector<std::string>{code}}},
                   {r.now((*match)["x"])}, 1, stands_for));
  return std::optional(std::move(wires));
}

}  // namespace

const Rule replace_nan{"replace_nan", replace_nan_at};

}  // namespace sdx::rewrite
