// Memory runs out once, at every place where the engine asks for some: the answer is an error that
// names the stage, nothing leaks, and the next attempt works.
//
// By default about 150 places per model, evenly spread; with SARDONYX_EVERY_ALLOCATION=1 all of
// them.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "sardonyx/sardonyx.h"

namespace {

std::atomic<bool> armed = false;
std::atomic<size_t> asked = 0;           // since armed
std::atomic<size_t> refused = SIZE_MAX;  // the one that fails
std::atomic<std::ptrdiff_t> live = 0;    // blocks

bool refuse() {
  if (!armed.load(std::memory_order_relaxed)) return false;
  if (asked.fetch_add(1, std::memory_order_relaxed) != refused.load(std::memory_order_relaxed))
    return false;
  errno = ENOMEM;
  return true;
}

void* counted(void* memory) {
  if (memory != nullptr) live.fetch_add(1, std::memory_order_relaxed);
  return memory;
}

}  // namespace

// Every allocation of the process, those inside the C and C++ libraries too, comes through here.
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
void __libc_free(void*);

void* malloc(size_t size) { return refuse() ? nullptr : counted(__libc_malloc(size)); }
void* calloc(size_t n, size_t size) { return refuse() ? nullptr : counted(__libc_calloc(n, size)); }
void* realloc(void* old, size_t size) {
  if (old == nullptr) return malloc(size);
  return refuse() ? nullptr : __libc_realloc(old, size);
}
void* memalign(size_t alignment, size_t size) {
  return refuse() ? nullptr : counted(__libc_memalign(alignment, size));
}
void* aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }
int posix_memalign(void** out, size_t alignment, size_t size) {
  void* memory = memalign(alignment, size);
  if (memory == nullptr) return ENOMEM;
  *out = memory;
  return 0;
}
void free(void* memory) {
  if (memory != nullptr) live.fetch_sub(1, std::memory_order_relaxed);
  __libc_free(memory);
}
}

namespace {

using sardonyx::Error;
using sardonyx::Expected;
using sardonyx::Model;
using sardonyx::NamedValue;
using sardonyx::Session;
using sardonyx::Tensor;

struct Case {
  std::string name;
  std::string file;  // or
  std::string text;
  int threads = 1;
  std::vector<NamedValue> inputs;
};

// From `place` on this is the allocation that fails; it is over when something was answered.
class Armed {
 public:
  explicit Armed(size_t place) {
    asked = 0;
    refused = place;
    armed = true;
  }
  ~Armed() { armed = false; }
};

struct Seen {
  size_t places = 0, errors = 0, tolerated = 0, leaks = 0;
};

std::string bytes_of(const sardonyx::Outputs& outputs) {
  std::string bytes;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Tensor& tensor = outputs[i];
    if (tensor.type() == sardonyx::Type::string) {
      for (const std::string& element : tensor.values<std::string>()) bytes += element + '\0';
    } else {
      bytes.append(static_cast<const char*>(tensor.data()), tensor.bytes());
    }
  }
  return bytes;
}

void expect_out_of_memory(const Error& error, std::string_view stage, const std::string& where) {
  EXPECT_EQ(error.code(), "SDX-A0102") << where << ": " << error.what();
  EXPECT_EQ(error.message(), "out of memory while " + std::string(stage)) << where;
}

// One stage: with an allocation refused, and once more without if that was answered by an error.
template <class T, class Stage>
std::optional<T> twice(std::string_view name, const std::string& where, bool& failed,
                       const Stage& stage) {
  Expected<T> made = stage();
  if (!made) {
    armed = false;
    failed = true;
    expect_out_of_memory(made.error(), name, where);
    made = stage();
  }
  if (!made) {
    ADD_FAILURE() << where << ": not usable afterwards: " << made.error().what();
    return std::nullopt;
  }
  return std::optional<T>(std::move(made).value());
}

// Loads, checks, compiles and runs; the result's bytes.
std::string road(const Case& model, size_t place, bool& failed) {
  const std::string where = model.name + ", allocation " + std::to_string(place);
  sardonyx::Options options;
  options.threads = model.threads;
  std::string result;
  const Armed now(place);
  auto loaded = twice<Model>(
      model.file.empty() ? "parsing the model" : "loading the model", where, failed, [&] {
        return model.file.empty() ? Model::try_from_text(model.text) : Model::try_load(model.file);
      });
  if (!loaded) return "";
  std::vector<Error> found = loaded->check();
  if (!found.empty()) {
    armed = false;
    failed = true;
    expect_out_of_memory(found[0], "checking the model", where);
    found = loaded->check();
    EXPECT_TRUE(found.empty()) << where;
  }
  auto session = twice<Session>("compiling the model", where, failed,
                                [&] { return loaded->try_compile(options); });
  if (!session) return "";
  // Twice: the second run reuses what the first laid out.
  for (int run = 0; run < 2; ++run) {
    auto outputs = twice<sardonyx::Outputs>("running the model", where, failed,
                                            [&] { return session->try_run(model.inputs); });
    armed = false;
    if (!outputs) return "";
    result = bytes_of(*outputs);
    armed = !failed;
  }
  return result;
}

Seen every_place(const Case& model) {
  bool failed = false;
  const std::string expected = road(model, SIZE_MAX, failed);
  EXPECT_FALSE(failed || expected.empty()) << model.name;
  (void)road(model, SIZE_MAX, failed);  // what is made once is there by now
  const size_t all = asked;
  const bool every = std::getenv("SARDONYX_EVERY_ALLOCATION") != nullptr;
  const size_t stride = every ? 1 : std::max<size_t>(1, all / 150) | 1;
  const auto before = live.load();
  Seen seen;
  for (size_t place = 0; place < all; place += stride) {
    failed = false;
    const bool same = road(model, place, failed) == expected;
    EXPECT_TRUE(same) << model.name << ", allocation " << place;
    ++seen.places;
    ++(failed ? seen.errors : seen.tolerated);
    // A pool's threads may leave memory to the C library, which hands it to the next ones.
    const auto left = live.load() - before;
    if (left > (model.threads > 1 ? 8 : 0)) {
      ++seen.leaks;
      ADD_FAILURE() << model.name << ", allocation " << place << ": " << left << " blocks leaked";
      if (seen.leaks > 3) break;
    }
    if (testing::Test::HasFatalFailure()) break;
  }
  std::printf(
      "%s: %zu of %zu allocations refused, %zu answered by an error, %zu done without, "
      "%zu leaked\n",
      model.name.c_str(), seen.places, all, seen.errors, seen.tolerated, seen.leaks);
  EXPECT_GT(seen.errors, seen.places / 2) << model.name;
  return seen;
}

size_t open_files() {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    count += entry.path().empty() ? 0 : 1;
  return count;
}

bool mapped(const std::string& file) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.ends_with(file)) return true;
  }
  return false;
}

std::vector<float> numbers(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = float(i % 17) / 8 - 1;
  return values;
}

TEST(OutOfMemory, a_convolution_net) {
  const size_t files = open_files();
  every_place({"digits",
               EXAMPLES "/digits/digits.onnx",
               "",
               1,
               {{"picture", Tensor({2, 1, 8, 8}, numbers(128))}}});
  EXPECT_EQ(open_files(), files);
  EXPECT_FALSE(mapped("digits.onnx"));
}

TEST(OutOfMemory, a_convolution_net_on_two_threads) {
  every_place({"digits on two threads",
               EXAMPLES "/digits/digits.onnx",
               "",
               2,
               {{"picture", Tensor({2, 1, 8, 8}, numbers(128))}}});
}

TEST(OutOfMemory, branches_and_loops) {
  every_place({"If and Loop",
               "",
               R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[N] x, bool c) => (float[N] y, float[K,N] steps) <int64 n = {3}, bool yes = {1}> {
    t = If <then_branch = a () => (float[N] p) { p = Neg(x) },
            else_branch = b () => (float[N] q) { q = Abs(x) }> (c)
    y, steps = Loop <body = l (int64 i, bool go, float[N] s) => (bool on, float[N] r, float[N] v) {
      on = Identity(go)
      r = Add(s, t)
      v = Mul(r, x)
    }> (n, yes, x)
  })",
               1,
               {{"x", Tensor({5}, numbers(5))}, {"c", Tensor({}, std::array<bool, 1>{true})}}});
}

TEST(OutOfMemory, strings) {
  const std::vector<std::string> words = {"one", "a word that is longer than any short string",
                                          "x"};
  every_place({"strings",
               "",
               R"(<ir_version: 8, opset_import: ["" : 17]>
  g (string[3] a, float[3] f) => (string[9] y) {
    u = StringNormalizer <case_change_action = "UPPER"> (a)
    n = Cast <to = 8> (f)
    y = Concat <axis = 0> (a, u, n)
  })",
               1,
               {{"a", Tensor({3}, words)}, {"f", Tensor({3}, numbers(3))}}});
}

TEST(OutOfMemory, a_quantised_product) {
  every_place({"quantised",
               "",
               R"(<ir_version: 8, opset_import: ["" : 17]>
  g (float[1,2,4,4] x) => (float[1,2,4,4] y)
  <float s = {0.1}, uint8 z = {128}, int8[2,2,1,1] w = {1, -2, 3, 4}, int8 wz = {0},
   float[2] b = {0.5, 1}> {
    q = QuantizeLinear(x, s, z)
    d = DequantizeLinear(q, s, z)
    k = DequantizeLinear(w, s, wz)
    c = Conv(d, k, b)
    e = QuantizeLinear(c, s, z)
    y = DequantizeLinear(e, s, z)
  })",
               1,
               {{"x", Tensor({1, 2, 4, 4}, numbers(32))}}});
}

}  // namespace
