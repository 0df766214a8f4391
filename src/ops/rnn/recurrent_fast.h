// The fast body of LSTM, GRU and RNN in float with the usual activations: one product x W^T for all
// steps, then h R^T and a vector cell per step. Constant weights are packed once, others in each
// run.
#pragma once

#include "ops/rnn/recurrent.h"

namespace sdx::ops {

bool fits_fast(const Recurrent&, const Call&);
bool fits_unpacked(const Recurrent&, const Call&);
size_t fast_scratch(const Recurrent&, const Call&);
size_t unpacked_scratch(const Recurrent&, const Call&);
std::shared_ptr<const void> fast_pack(const Recurrent&, const Call&, Pool&);
Status run_fast(const Recurrent&, Args&);

inline constexpr Kernel<Recurrent> kRecurrentKernels[] = {
    {.name = "recurrent_f32_packed",
     .fits = fits_fast,
     .run = run_fast,
     .scratch = fast_scratch,
     .pack = fast_pack,
     .packs = 1u << 1 | 1u << 2 | 1u << 3},
    {.name = "recurrent_f32", .fits = fits_unpacked, .run = run_fast, .scratch = unpacked_scratch}};

}  // namespace sdx::ops
