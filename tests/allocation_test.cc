// A run on static shapes allocates nothing after the first: every way to get memory is counted.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "sardonyx/stream.h"

namespace {
std::atomic<bool> counting = false;
std::atomic<size_t> allocations = 0;
void count() {
  if (counting) ++allocations;
}
}  // namespace

// The linker turns calls of malloc into __wrap_malloc, and so on.
extern "C" {
void* __real_malloc(size_t);
void* __real_calloc(size_t, size_t);
void* __real_realloc(void*, size_t);
void* __real_aligned_alloc(size_t, size_t);
int __real_posix_memalign(void**, size_t, size_t);
void* __wrap_malloc(size_t size) { return count(), __real_malloc(size); }
void* __wrap_calloc(size_t n, size_t size) { return count(), __real_calloc(n, size); }
void* __wrap_realloc(void* old, size_t size) { return count(), __real_realloc(old, size); }
void* __wrap_aligned_alloc(size_t alignment, size_t size) {
  return count(), __real_aligned_alloc(alignment, size);
}
int __wrap_posix_memalign(void** out, size_t alignment, size_t size) {
  return count(), __real_posix_memalign(out, alignment, size);
}
}
[[gnu::noinline]] void* operator new(size_t size) {
  count();
  if (void* memory = __real_malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(size_t size, std::align_val_t alignment) {
  count();
  const size_t a = static_cast<size_t>(alignment);
  if (void* memory = __real_aligned_alloc(a, (size + a - 1) / a * a)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace {

using sardonyx::Tensor;
using sardonyx::Type;

// Allocations of `runs` runs after the first, with inputs of any values.
size_t allocations_of(const std::string& path, const sardonyx::Options& options) {
  sardonyx::Session session = sardonyx::Model::load(path).compile(options);
  const auto tensors = [](const std::vector<sardonyx::Port>& ports) {
    std::vector<Tensor> made;
    for (const sardonyx::Port& port : ports) {
      sardonyx::Dims dims;
      for (const sardonyx::Size& size : *port.dims) dims.push_back(*size.number);
      made.emplace_back(port.type, dims);
    }
    return made;
  };
  const std::vector<Tensor> inputs = tensors(session.inputs());
  std::vector<Tensor> outputs = tensors(session.outputs());
  session.run_into(inputs, outputs);
  allocations = 0;
  counting = true;
  for (int i = 0; i < 3; ++i) session.run_into(inputs, outputs);
  counting = false;
  return allocations;
}

TEST(Allocation, the_counters_count) {
  allocations = 0;
  counting = true;
  const auto made = std::make_unique<std::string>(100, 'x');
  counting = false;
  EXPECT_EQ(allocations, 2U) << made->size();
}

TEST(Allocation, runs_on_static_shapes_allocate_nothing) {
  for (const bool optimize : {false, true}) {
    for (const int threads : {1, 3}) {
      EXPECT_EQ(
          allocations_of(TEST_DATA "/static.onnx", {.threads = threads, .optimize = optimize}), 0U)
          << threads << " threads, optimize " << optimize;
      EXPECT_EQ(allocations_of(EXAMPLES "/digits/digits.onnx",
                               {.threads = threads, .optimize = optimize, .set = {{"N", 10}}}),
                0U)
          << threads << " threads, optimize " << optimize;
    }
  }
}

TEST(Allocation, a_hundred_thousand_pushes_allocate_nothing) {
  auto stream =
      sardonyx::Stream::open(sardonyx::Model::load(TEST_DATA "/smooth.txt"), "T", {.threads = 1});
  const Tensor chunk({1, 2, 1}, {0.25f, -0.5f});
  const auto push = [&] { stream.push_tensors(std::span(&chunk, 1)); };
  for (int i = 0; i < 100; ++i) push();
  const size_t bytes = stream.state_bytes();
  allocations = 0;
  counting = true;
  for (int i = 0; i < 100'000; ++i) push();
  counting = false;
  EXPECT_EQ(allocations, 0U);
  EXPECT_EQ(stream.state_bytes(), bytes);
  EXPECT_EQ(stream.rows(), 100'100);
}

}  // namespace
