// The fast body of Attention in float: blocks of queries whose scores never leave the cache, as
// FusedAttention's.
#pragma once

#include "ops/attention/attention.h"

namespace sdx::ops {

bool fits_fast_attention(const Attention&, const Call&);
size_t fast_attention_scratch(const Attention&, const Call&);
Status run_fast_attention(const Attention&, Args&);

}  // namespace sdx::ops
