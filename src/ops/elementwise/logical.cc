// And, Or, Xor and Not.
#include "ops/elementwise/binary.h"
#include "ops/elementwise/unary.h"
#include "ops/list.h"

namespace sdx::ops {
namespace {

constexpr Version kHistory[] = {
    {1, "(A: T, B: T) -> (C: T1) {axis: int, broadcast: int = 0} T in bool T1 in bool"},
    {7, "{-axis, -broadcast}"},
};
constexpr Version kNotHistory[] = {
    {1, "(X: T) -> (Y: T) T in bool"},
};

struct And {
  static constexpr std::string_view name = "And", doc = "Whether both are true.";
  static constexpr std::span<const Version> history = kHistory;
  static bool apply(std::same_as<bool> auto a, bool b, const Binary&) { return a && b; }
  static std::optional<Dim> dim(const Dim& a, const Dim& b) { return a * b; }
};
struct Or {
  static constexpr std::string_view name = "Or", doc = "Whether one or both are true.";
  static constexpr std::span<const Version> history = kHistory;
  static bool apply(std::same_as<bool> auto a, bool b, const Binary&) { return a || b; }
  static std::optional<Dim> dim(const Dim& a, const Dim& b) { return a + b - a * b; }
};
struct Xor {
  static constexpr std::string_view name = "Xor", doc = "Whether exactly one is true.";
  static constexpr std::span<const Version> history = kHistory;
  static bool apply(std::same_as<bool> auto a, bool b, const Binary&) { return a != b; }
  static std::optional<Dim> dim(const Dim& a, const Dim& b) { return a + b - a * b * 2; }
};
struct Not {
  static constexpr std::string_view name = "Not", doc = "Whether it is false.";
  static constexpr std::span<const Version> history = kNotHistory;
  static bool apply(std::same_as<bool> auto x, const Unary&) { return !x; }
  static std::optional<Dim> dim(const Dim& x) { return Dim(1) - x; }
};

}  // namespace

const Op and_ = binary<And>();
const Op not_ = unary<Not>();
const Op or_ = binary<Or>();
const Op xor_ = binary<Xor>();

}  // namespace sdx::ops
