// BitwiseAnd, BitwiseOr, BitwiseXor, BitwiseNot and BitShift.
#include "ops/elementwise/binary.h"
#include "ops/elementwise/unary.h"
#include "ops/list.h"

namespace sdx::ops {
namespace {

constexpr Version kHistory[] = {
    {18, "(A: T, B: T) -> (C: T) T in ints uints"},
};
constexpr Version kNotHistory[] = {
    {18, "(X: T) -> (Y: T) T in ints uints"},
};
constexpr Version kShiftHistory[] = {
    {11, "(X: T, Y: T) -> (Z: T) {direction!: string} T in uints"},
    {28, "T += ints"},
};

struct BitwiseAnd {
  static constexpr std::string_view name = "BitwiseAnd", doc = "The bits that are set in both.";
  static constexpr std::span<const Version> history = kHistory;
  template <Integer C>
  static C apply(C a, C b, const Binary&) {
    return C(a & b);
  }
};
struct BitwiseOr {
  static constexpr std::string_view name = "BitwiseOr",
                                    doc = "The bits that are set in one or both.";
  static constexpr std::span<const Version> history = kHistory;
  template <Integer C>
  static C apply(C a, C b, const Binary&) {
    return C(a | b);
  }
};
struct BitwiseXor {
  static constexpr std::string_view name = "BitwiseXor",
                                    doc = "The bits that are set in exactly one.";
  static constexpr std::span<const Version> history = kHistory;
  template <Integer C>
  static C apply(C a, C b, const Binary&) {
    return C(a ^ b);
  }
};
struct BitwiseNot {
  static constexpr std::string_view name = "BitwiseNot", doc = "The bits that are not set.";
  static constexpr std::span<const Version> history = kNotHistory;
  template <Integer C>
  static C apply(C x, const Unary&) {
    return C(~x);
  }
};

struct BitShift {
  static constexpr std::string_view name = "BitShift";
  static constexpr std::string_view doc =
      "The bits of x moved by y places; a y that is negative or not less than the width moves all "
      "of them out.";
  static constexpr std::span<const Version> history = kShiftHistory;
  static Status read(const Node& node, const Facts&, Binary& a) {
    const std::string& direction = node.s("direction");
    if (direction != "LEFT" && direction != "RIGHT") {
      return fail("SDX-T0203", "direction is \"{}\", neither LEFT nor RIGHT", direction);
    }
    a.flag = direction == "LEFT";
    return ok();
  }
  static AttrMap sample_attrs() { return {{"direction", std::string("RIGHT")}}; }
  static std::vector<Case> cases() {
    return {{.name = "left_wraps_and_moves_out",
             .opset = 28,
             .attrs = {{"direction", std::string("LEFT")}},
             .inputs = {Tensor::of<int8_t>({4}, {-8, 65, 1, -1}),
                        Tensor::of<int8_t>({4}, {1, 1, 8, -1})},
             .expected = {Tensor::of<int8_t>({4}, {-16, -126, 0, 0})}}};
  }
  // A right shift of a signed number fills with its sign.
  template <Integer C>
  static C apply(C x, C y, const Binary& a) {
    constexpr uint64_t kBits = sizeof(C) * 8;
    if (uint64_t(y) >= kBits) return !a.flag && x < 0 ? C(-1) : C(0);
    return a.flag ? C(uint64_t(x) << uint64_t(y)) : C(x >> y);
  }
};

}  // namespace

const Op bit_shift = binary<BitShift>();
const Op bitwise_and = binary<BitwiseAnd>();
const Op bitwise_not = unary<BitwiseNot>();
const Op bitwise_or = binary<BitwiseOr>();
const Op bitwise_xor = binary<BitwiseXor>();

}  // namespace sdx::ops
