// The rules, in the order in which they are tried; each is described in its file.
#pragma once

#include "rewrite/rewrite.h"

namespace sdx::rewrite {

extern const Rule replace_nan;
extern const Rule transposed_weights;
extern const Rule fuse_elementwise;

std::span<const Rule> rules();

}  // namespace sdx::rewrite
