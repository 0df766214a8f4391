// The operators: one line each here and in list.cc. Nothing registers itself.
#pragma once

#include <span>
#include <string_view>

#include "op/op.h"

namespace sdx {

std::span<const Op* const> all_ops();
// `domain` is "" or "ai.onnx" for the default one; null if there is no such operator here.
const Op* find_op(std::string_view domain, std::string_view name);

namespace ops {
extern const Op log_softmax;
extern const Op softmax;
}  // namespace ops

}  // namespace sdx
