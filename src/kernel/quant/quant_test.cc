#include "kernel/quant/quant.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "kernel/random/philox.h"

namespace sdx {
namespace {

uint8_t divided(float x, float scale, uint8_t zero) {
  const float q = x / scale;
  if (!(q == q)) return zero;
  const float far = std::fmin(std::fmax(q, -1000.0f), 1000.0f);
  return uint8_t(std::fmin(std::fmax(std::nearbyint(far) + float(zero), 0.0f), 255.0f));
}

// Quotients at and next to half way between two integers are where an inexact quotient would show.
TEST(QuantizeF32To8, gives_the_quotient_s_nearest_integer) {
  const Philox random(5);
  std::vector<float> x;
  std::vector<uint8_t> y;
  for (size_t s = 0; s < 400; ++s) {
    const float scale = s < 390 ? std::exp2(float(random.uniform(s) * 20 - 12))
                                : std::ldexp(1.1f, int(s - 395) * 30);
    x.clear();
    for (int k = -300; k <= 300; ++k) {
      float at = (float(k) + 0.5f) * scale;
      for (int step = 0; step < 3; ++step) at = std::nextafterf(at, -INFINITY);
      for (int step = 0; step < 7; ++step, at = std::nextafterf(at, INFINITY)) x.push_back(at);
    }
    for (const float special : {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1e30f, -1e30f, 1e-40f})
      x.push_back(special);
    y.resize(x.size());
    for (const Isa isa : {Isa::portable, Isa::avx2, Isa::avx512}) {
      if (!isa_available(isa)) continue;
      const uint8_t zero = 117;
      SDX_PICK(quantize_f32_8, isa)(x.data(), y.data(), x.size(), &scale, &zero, 0, false);
      for (size_t i = 0; i < x.size(); ++i)
        ASSERT_EQ(y[i], divided(x[i], scale, zero)) << x[i] << " / " << scale;
    }
  }
}

}  // namespace
}  // namespace sdx
