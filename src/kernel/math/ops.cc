#include "kernel/math/ops.h"

#include "kernel/math/ops_lanes.h"
#include "kernel/simd/scalar.h"

namespace sdx {

#define SDX_UNARY(name, value) \
  case UnaryOp::name:          \
    return lanes::Unary<UnaryOp::name>::apply(one::F32(x), one::F32(p), one::F32(q)).v;
float scalar_unary(UnaryOp op, float x, float p, float q) {
  switch (op) { SDX_UNARY_OPS(SDX_UNARY) }
  return x;
}
#undef SDX_UNARY

#define SDX_BINARY(name, value) \
  case BinaryOp::name:          \
    return lanes::Binary<BinaryOp::name>::apply(one::F32(a), one::F32(b)).v;
float scalar_binary(BinaryOp op, float a, float b) {
  switch (op) { SDX_BINARY_OPS(SDX_BINARY) }
  return a;
}
#undef SDX_BINARY

#define SDX_NAME(name, value) #name,
const char* op_name(UnaryOp op) {
  static constexpr const char* names[] = {SDX_UNARY_OPS(SDX_NAME)};
  return names[int(op)];
}
const char* op_name(BinaryOp op) {
  static constexpr const char* names[] = {SDX_BINARY_OPS(SDX_NAME)};
  return names[int(op)];
}
#undef SDX_NAME

}  // namespace sdx
