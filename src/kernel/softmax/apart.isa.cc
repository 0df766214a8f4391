#include "kernel/softmax/row.h"
#include "kernel/softmax/sixteen_rows.h"
#include "kernel/softmax/softmax.h"

namespace sdx::SDX_ISA {

// Each of the three looks at a row ends with a long chain (the greatest, the sum, the inverse): a
// few rows take each look together, so that one's chain is made while the next one's vectors are.
void softmax_apart(const float* x, float* y, size_t rows, size_t n) {
  if (n == 0) return;
  constexpr size_t kMost = 16, kElements = 2048;  // which stay in the first cache
  const Length row(n);
  const size_t some = n * kMost <= kElements ? kMost : n >= kElements ? 1 : kElements / n;
#if !defined(SDX_SOFT_FMA)
  SixteenRows sixteen(n);
  const bool by_sixteen = go_by_sixteen(n);
#endif
  for (size_t now; rows != 0; x += now * n, y += now * n, rows -= now) {
#if !defined(SDX_SOFT_FMA)
    now = 16;
    if (by_sixteen && rows >= now && sixteen.run(x, y)) continue;
#endif
    now = rows < some ? rows : some;
    float most[kMost];
    bool near[kMost];
    Powers powers[kMost];
    for (size_t r = 0; r < now; ++r) {
      F32x16 high(kMinusInfinity), low(-kMinusInfinity);
      look_at(x + r * n, row, high, low);
      most[r] = greatest(high);
      near[r] = are_near(low, F32x16(most[r]));
    }
    for (size_t r = 0; r < now; ++r) {
      const F32x16 m(most[r]);
      powers[r] = near[r] ? powers_of<true>(x + r * n, y + r * n, row, m)
                          : powers_of<false>(x + r * n, y + r * n, row, m);
    }
    for (size_t r = 0; r < now; ++r)
      divide_row(y + r * n, row, Divisor(sum(powers[r].total), powers[r].small));
  }
}

}  // namespace sdx::SDX_ISA
