#include "kernel/quant/sum.h"

namespace sdx {

std::optional<AddBytes> sum_of_bytes(const Program& program, std::span<const float> scale,
                                     std::span<const int64_t> zero, bool is_signed) {
  const auto& code = program.code();
  if (program.inputs() != 2 || code.empty() || code.size() > 2 || !code[0].binary ||
      code[0].op != int(BinaryOp::add) || code[0].a + code[0].b != 1) {
    return std::nullopt;
  }
  AddBytes sum{};
  sum.relu = code.size() == 2;
  if (sum.relu && (code[1].binary || code[1].op != int(UnaryOp::relu) || code[1].a != 2))
    return std::nullopt;
  sum.is_signed = is_signed;
  for (size_t i = 0; i < 3; ++i) {
    sum.scale[i] = scale[i];
    sum.zero[i] = is_signed ? int32_t(int8_t(zero[i])) : int32_t(uint8_t(zero[i]));
  }
  return adds_bytes(sum) ? std::optional(sum) : std::nullopt;
}

}  // namespace sdx
