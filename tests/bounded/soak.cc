// soak N: loads, compiles, runs and releases N models of mixed kinds in one process, on threads,
// and prints its memory on the way. Fails if an answer changes, or if memory grows after the first
// fifth.
#include <sardonyx/sardonyx.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace {

// Static and open shapes, branches, loops, strings, integers, weights that kernels pack, and models
// that are refused.
const char* const kModels[] = {
    R"(<ir_version: 9, opset_import: ["" : 17]>
g (float[2,3] x) => (float[2,4] y) <float[3,4] w = {1,2,3,4,5,6,7,8,9,10,11,12}, float[4] b = {1,2,3,4}>
{ t = MatMul(x, w) u = Add(t, b) y = Relu(u) })",
    R"(<ir_version: 9, opset_import: ["" : 17]>
g (float[N,3] x) => (float[N,3] y) { y = Softmax <axis = -1> (x) })",
    R"(<ir_version: 9, opset_import: ["" : 17]>
g (float[1,1,4,4] x) => (float[1,2,2,2] y) <float[2,1,3,3] w = {1,2,3,4,5,6,7,8,9,9,8,7,6,5,4,3,2,1}>
{ y = Conv (x, w) })",
    R"(<ir_version: 9, opset_import: ["" : 17]>
g (float[2] x, bool c) => (float[2] y)
{ y = If (c) <then_branch = a () => (float[2] p) { p = Relu(x) }, else_branch = b () => (float[2] q) { q = Neg(x) }> })",
    R"(<ir_version: 9, opset_import: ["" : 17]>
g (float[2] x) => (float[2] y) <int64 m = {3}, bool go = {1}>
{ y = Loop (m, go, x) <body = l (int64 i, bool k, float[2] v) => (bool d, float[2] w) { d = Identity(k) w = Add(v, v) }> })",
    R"(<ir_version: 10, opset_import: ["" : 20]>
g (string[2] x) => (string[2] y) { y = StringConcat(x, x) })",
    R"(<ir_version: 9, opset_import: ["" : 17]>
g (float[2] x) => (float[3] y) { y = Relu(x) })",
    R"(<ir_version: 9, opset_import: ["" : 17]>
g (float[2] x) => (float[2] y) { y = NoSuchOperator(x) })",
};

sardonyx::Value value_for(const sardonyx::Port& port) {
  std::vector<int64_t> dims;
  for (const sardonyx::Size& size : port.dims.value_or(std::vector<sardonyx::Size>{}))
    dims.push_back(size.number.value_or(2));
  sardonyx::Tensor tensor(port.type, dims);
  if (port.type == sardonyx::Type::f32) {
    for (size_t i = 0; i < tensor.values<float>().size(); ++i)
      tensor.values<float>()[i] = float(i) - 1;
  }
  return tensor;
}

// The outputs' digests, or the error's code.
std::string once(const char* text, int threads) {
  auto model = sardonyx::Model::try_from_text(text);
  if (!model) return model.error().code();
  auto session = model->try_compile({.threads = threads});
  if (!session) return session.error().code();
  std::vector<sardonyx::NamedValue> inputs;
  for (const sardonyx::Port& port : session->inputs())
    inputs.emplace_back(port.name, value_for(port));
  auto outputs = session->try_run(inputs);
  if (!outputs) return outputs.error().code();
  std::string digests;
  for (size_t i = 0; i < outputs->size(); ++i) digests += (*outputs)[i].digest() + " ";
  return digests;
}

size_t resident_kilobytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    size_t kilobytes = 0;
    if (word == "VmRSS:" && status >> kilobytes) return kilobytes;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const size_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 2000;
  constexpr size_t kThreads = 4, kPoints = 20;
  std::vector<std::string> expected;
  for (const char* text : kModels) expected.push_back(once(text, 1));
  std::atomic<size_t> next{0}, wrong{0};
  std::vector<size_t> memory;
  std::mutex mutex;
  const auto work = [&] {
    for (size_t i; (i = next++) < count;) {
      const size_t kind = i % std::size(kModels);
      if (once(kModels[kind], 1 + int(i / std::size(kModels)) % 2) != expected[kind]) ++wrong;
      if ((i + 1) % (count / kPoints + 1) != 0) continue;
      const std::lock_guard lock(mutex);
      memory.push_back(resident_kilobytes());
      std::printf("%9zu models  %7zu KB\n", i + 1, memory.back());
      std::fflush(stdout);
    }
  };
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kThreads; ++i) threads.emplace_back(work);
  for (std::thread& thread : threads) thread.join();
  const size_t early = memory.empty() ? 0 : memory[memory.size() / 5];
  const size_t late = memory.empty() ? 0 : memory.back();
  const bool flat = late <= early + early / 10 + 4096;
  std::printf(
      "%zu models: %zu answers differ, memory %zu KB after a fifth, %zu KB at the end: %s\n", count,
      wrong.load(), early, late, flat ? "flat" : "NOT FLAT");
  return wrong == 0 && flat ? 0 : 1;
}
