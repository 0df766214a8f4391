#include "ops/tensor/strided_copy.h"

#include <gtest/gtest.h>

#include <random>

#include "base/tensor.h"
#include "ops/tensor/small_ints.h"

namespace sdx {
namespace {

Tensor counted(DType type, Dims dims) {
  Tensor tensor = Tensor::make(type, std::move(dims));
  for (size_t i = 0; i < tensor.count(); ++i) {
    if (type == DType::string) {
      tensor.data<std::string>()[i] = std::to_string(i);
    } else if (type == DType::c128) {
      tensor.data<std::complex<double>>()[i] = {double(i), -double(i)};
    } else {
      set_bits(type, tensor.raw(), i, i * 7 + 1);
    }
  }
  return tensor;
}

bool same_element(const Tensor& a, size_t i, const Tensor& b, size_t j) {
  if (a.type() == DType::string) return a.data<std::string>()[i] == b.data<std::string>()[j];
  if (a.type() == DType::c128)
    return a.data<std::complex<double>>()[i] == b.data<std::complex<double>>()[j];
  return get_bits(a.type(), a.raw(), i) == get_bits(b.type(), b.raw(), j);
}

// A transposition of random axes and sizes, compared element by element.
void check_transposition(DType type, std::mt19937& random, Pool& pool) {
  const size_t rank = 1 + random() % 5;
  Dims dims(rank), turned(rank);
  std::vector<size_t> perm(rank);
  for (size_t i = 0; i < rank; ++i) {
    dims[i] = 1 + int64_t(random() % (rank < 3 ? 70 : 9));
    perm[i] = i;
  }
  std::shuffle(perm.begin(), perm.end(), random);
  for (size_t i = 0; i < rank; ++i) turned[i] = dims[perm[i]];
  const Tensor x = counted(type, dims);
  Tensor y = Tensor::make(type, turned);
  const SmallInts from = strides_of(dims), to = strides_of(turned);
  Loops loops;
  for (size_t i = 0; i < rank; ++i) loops.add(turned[i], from[perm[i]], to[i]);
  strided_copy(loops, type, x.raw(), 0, y.raw(), 0, &pool, native_isa());
  for (size_t i = 0; i < y.count(); ++i) {
    size_t source = 0;
    for (size_t axis = 0; axis < rank; ++axis) {
      source += i / size_t(to[axis]) % size_t(turned[axis]) * size_t(from[perm[axis]]);
    }
    ASSERT_TRUE(same_element(y, i, x, source))
        << short_name(type) << " " << to_string(dims) << " element " << i;
  }
}

TEST(StridedCopy, transposes_every_element_size) {
  std::mt19937 random(1);
  Pool pool(2);
  for (const DType type : {DType::u8, DType::f16, DType::f32, DType::i64, DType::c128,
                           DType::string, DType::u4, DType::i2, DType::f6e2m3}) {
    for (int i = 0; i < 40; ++i) check_transposition(type, random, pool);
  }
}

TEST(StridedCopy, repeats_runs_of_every_length) {
  Pool pool(2);
  for (const DType type : {DType::u8, DType::f32, DType::c128}) {
    for (const int64_t images : {1, 3}) {
      for (const int64_t times : {2, 4, 5, 7000}) {
        for (const int64_t run : {2, 3, 48, 300}) {
          const Tensor x = counted(type, {images, run});
          Tensor y = Tensor::make(type, {images, times, run});
          Loops loops;
          loops.add(images, run, times * run);
          loops.add(times, 0, run);
          loops.add(run, 1, 1);
          strided_copy(loops, type, x.raw(), 0, y.raw(), 0, &pool, native_isa());
          for (size_t i = 0; i < y.count(); ++i) {
            const size_t image = i / size_t(times * run), at = i % size_t(run);
            ASSERT_TRUE(same_element(y, i, x, image * size_t(run) + at))
                << short_name(type) << " " << to_string(y.dims()) << " element " << i;
          }
        }
      }
    }
  }
}

TEST(StridedCopy, a_large_transposition_is_shared_by_threads) {
  Pool pool(3);
  for (const DType type : {DType::f32, DType::u8}) {
    const Tensor x = counted(type, {3, 301, 257});
    Tensor y = Tensor::make(type, {3, 257, 301});
    Loops loops;
    loops.add(3, 301 * 257, 301 * 257);
    loops.add(257, 1, 301);
    loops.add(301, 257, 1);
    strided_copy(loops, type, x.raw(), 0, y.raw(), 0, &pool, native_isa());
    for (size_t b = 0; b < 3; ++b) {
      for (size_t i = 0; i < 257; ++i) {
        for (size_t j = 0; j < 301; ++j) {
          ASSERT_TRUE(same_element(y, (b * 257 + i) * 301 + j, x, (b * 301 + j) * 257 + i));
        }
      }
    }
  }
}

TEST(StridedCopy, planes_become_channels) {
  Pool pool(2);
  for (const size_t planes : {2, 3, 4, 5}) {
    const size_t pixels = 40009;
    const auto n = int64_t(planes), m = int64_t(pixels);
    const Tensor x = counted(DType::u8, {2, n, m});
    Tensor y = Tensor::make(DType::u8, {2, m, n});
    for (const int64_t batch : {1, 2}) {
      Loops loops;
      loops.add(batch, n * m, n * m);
      loops.add(m, 1, n);
      loops.add(n, m, 1);
      strided_copy(loops, DType::u8, x.raw(), 0, y.raw(), 0, &pool, native_isa());
      for (size_t b = 0; b < size_t(batch); ++b) {
        for (size_t i = 0; i < pixels; ++i) {
          for (size_t c = 0; c < planes; ++c)
            ASSERT_TRUE(
                same_element(y, (b * pixels + i) * planes + c, x, (b * planes + c) * pixels + i));
        }
      }
    }
  }
}

TEST(StridedCopy, walks_backwards_and_repeats) {
  const Tensor x = counted(DType::i16, {4});
  Tensor y = Tensor::make(DType::i16, {2, 4});
  Loops loops;
  loops.add(2, 0, 4);
  loops.add(4, -1, 1);
  strided_copy(loops, DType::i16, x.raw(), 3, y.raw(), 0, nullptr, native_isa());
  for (size_t i = 0; i < 8; ++i) EXPECT_TRUE(same_element(y, i, x, 3 - i % 4));
}

TEST(Loops, neighbours_that_walk_alike_become_one) {
  Loops loops;
  loops.add(2, 12, 12);
  loops.add(1, 99, 7);
  loops.add(3, 4, 4);
  loops.add(4, 1, 1);
  ASSERT_EQ(loops.loops().size(), 1u);
  EXPECT_EQ(loops.loops()[0].n, 24u);
}

TEST(Loops, a_loop_without_iterations_empties_the_nest) {
  Loops loops;
  loops.add(2, 1, 1);
  loops.add(0, 1, 1);
  EXPECT_TRUE(loops.empty());
}

}  // namespace
}  // namespace sdx
