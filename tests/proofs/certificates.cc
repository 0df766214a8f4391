// plan_certificates FIRST COUNT: the certificates of COUNT random graphs' plans, one after another
// on standard output: optimised and not, in the usual order and in drawn ones. With --steps N, that
// of one long chain of N steps instead.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "api/engine.h"
#include "certificate/certificate.h"
#include "graphs.h"
#include "typed/text.h"

namespace sdx::proofs {
namespace {

CompileOptions options_for(uint64_t seed) {
  CompileOptions options;
  options.threads = 1;
  options.optimize = seed % 3 != 0;
  if (seed % 2 != 0) options.order = seed;
  return options;
}

Status print_plan(const typed::Graph& graph, const CompileOptions& options, std::string_view name) {
  SDX_ASSIGN(const auto compiled, compile(graph, options));
  SDX_ASSIGN(const auto plan, compiled->plan_under({}));
  const std::string text = certificate::of(*plan, name);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return ok();
}

// Relu and Softmax in turn, so that nothing is fused; every eighth result is also read much later.
Result<typed::Graph> chain(size_t steps) {
  std::string text = "graph \"chain\" {\n  %0 = input : f32[4,16]\n";
  size_t last = 0, kept = 0, next = 1;
  for (size_t i = 0; i < steps; ++i) {
    const size_t made = next++;
    if (i % 64 == 63) {
      text += fmt::format("  %{} = Add.14 (%{}, %{})\n", made, last, kept);
      kept = made;
    } else {
      text += fmt::format("  %{} = {} (%{})\n", made,
                          i % 2 == 0 ? "Softmax.13 {axis=-1}" : "Softmax.13 {axis=0}", last);
    }
    last = made;
  }
  text += fmt::format("  output \"y\" = %{}\n}}\n", last);
  return typed::parse(text);
}

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: plan_certificates FIRST COUNT | --steps N\n");
    return 2;
  }
  const uint64_t count = std::strtoull(argv[2], nullptr, 10);
  const auto failed = [](const Error& error, const std::string& what) {
    std::fprintf(stderr, "%s: %s\n", what.c_str(), error.text().c_str());
    return 1;
  };
  if (std::strcmp(argv[1], "--steps") == 0) {
    const auto graph = chain(count);
    if (!graph) return failed(graph.error(), "chain");
    const Status status = print_plan(*graph, options_for(0), "chain");
    return status ? 0 : failed(status.error(), "chain");
  }
  const uint64_t first = std::strtoull(argv[1], nullptr, 10);
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const std::string name = fmt::format("graph {}", seed);
    const auto graph = random_graph(seed);
    if (!graph) return failed(graph.error(), name);
    if (const Status status = print_plan(*graph, options_for(seed), name); !status)
      return failed(status.error(), name);
  }
  return 0;
}

}  // namespace
}  // namespace sdx::proofs

int main(int argc, char** argv) { return sdx::proofs::main(argc, argv); }
