#include "kernel/attention/values.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

#include "kernel/isa_testing.h"

namespace sdx {
namespace {

TEST(AttentionValues, are_one_chain_that_may_stop_and_go_on) {
  const size_t keys = 23;
  for (const size_t size : {1, 16, 20, 64, 100, 128, 150}) {
    const size_t ldv = size + 5;
    std::vector<float> p(keys), v(keys * ldv), want(size);
    for (size_t j = 0; j < keys; ++j) p[j] = std::sin(float(j)) * 2;
    for (size_t i = 0; i < v.size(); ++i) v[i] = std::cos(float(i));
    for (size_t d = 0; d < size; ++d) {
      for (size_t j = 3; j < 20; ++j) want[d] = std::fma(p[j], v[j * ldv + d], want[d]);
    }
    for (const Isa isa : available_isas()) {
      for (const size_t cut : {3, 7, 20}) {
        std::vector<float> got(size, 5.f);
        SDX_PICK(attention_values, isa)
        (p.data(), 3, cut, v.data(), ldv, size, false, got.data());
        SDX_PICK(attention_values, isa)
        (p.data(), cut, 20, v.data(), ldv, size, true, got.data());
        for (size_t d = 0; d < size; ++d)
          ASSERT_EQ(std::bit_cast<uint32_t>(want[d]), std::bit_cast<uint32_t>(got[d]))
              << isa_name(isa) << " size " << size << " cut at " << cut << " column " << d;
      }
    }
  }
}

}  // namespace
}  // namespace sdx
