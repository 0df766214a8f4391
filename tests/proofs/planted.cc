// sardonyx_planted: the program `sardonyx`, with the planted bug that SARDONYX_PLANTED names.
//   sardonyx_planted bugs                the bugs' names
//   sardonyx_planted plans FIRST COUNT   certificates of random graphs' plans, as plan_certificates
//   sardonyx_planted test ...            the other tests, to see what they notice
#include "planted.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "api/engine.h"
#include "certificate/certificate.h"
#include "graphs.h"
#include "program.h"

namespace sdx::proofs {
namespace {

const Bug* chosen() {
  static const Bug* const kChosen = [] {
    const char* name = std::getenv("SARDONYX_PLANTED");
    for (const Bug& bug : bugs()) {
      if (name != nullptr && bug.name == name) return &bug;
    }
    return static_cast<const Bug*>(nullptr);
  }();
  return kChosen;
}

// Small ones, of which each bug shows in some: the first that fails to be planned is passed over.
int print_plans(uint64_t first, uint64_t count) {
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const auto graph = random_graph(seed);
    if (!graph) return 2;
    CompileOptions options;
    options.threads = 1;
    options.optimize = seed % 4 != 0;
    const auto compiled = compile(*graph, options);
    if (!compiled) continue;
    const auto plan = (*compiled)->plan_under({});
    if (!plan) continue;
    const std::string text = certificate::of(**plan, fmt::format("graph {}", seed));
    std::fwrite(text.data(), 1, text.size(), stdout);
  }
  return 0;
}

}  // namespace
}  // namespace sdx::proofs

using sdx::proofs::chosen;

// The linker sends the planner's calls here (--wrap).
extern "C" {
void planted_place_wires(sdx::plan::Plan& plan) __asm__(
    "__wrap__ZN3sdx4plan11place_wiresERNS0_4PlanE");
void real_place_wires(sdx::plan::Plan& plan) __asm__(
    "__real__ZN3sdx4plan11place_wiresERNS0_4PlanE");

void planted_place_wires(sdx::plan::Plan& plan) {
  if (chosen() != nullptr && chosen()->place_wires != nullptr) return chosen()->place_wires(plan);
  real_place_wires(plan);
}
}

sdx::Result<sdx::plan::Plan>
planted_make_plan(sdx::typed::Graph graph, const sdx::plan::Options& options, sdx::Pool& pool, sdx::plan::Packs* packs) __asm__(
    "__wrap__ZN3sdx4plan9make_planENS_5typed5GraphERKNS0_7OptionsERNS_4PoolEPNS0_5PacksE");
sdx::Result<sdx::plan::Plan>
real_make_plan(sdx::typed::Graph graph, const sdx::plan::Options& options, sdx::Pool& pool, sdx::plan::Packs* packs) __asm__(
    "__real__ZN3sdx4plan9make_planENS_5typed5GraphERKNS0_7OptionsERNS_4PoolEPNS0_5PacksE");

sdx::Result<sdx::plan::Plan> planted_make_plan(sdx::typed::Graph graph,
                                               const sdx::plan::Options& options, sdx::Pool& pool,
                                               sdx::plan::Packs* packs) {
  if (chosen() != nullptr && chosen()->make_plan != nullptr)
    return chosen()->make_plan(std::move(graph), options, pool, packs);
  return real_make_plan(std::move(graph), options, pool, packs);
}

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "bugs") == 0) {
    for (const sdx::proofs::Bug& bug : sdx::proofs::bugs()) std::printf("%s\n", bug.name.data());
    return 0;
  }
  if (argc == 4 && std::strcmp(argv[1], "plans") == 0) {
    return sdx::proofs::print_plans(std::strtoull(argv[2], nullptr, 10),
                                    std::strtoull(argv[3], nullptr, 10));
  }
  return sdx::cli::program(argc, argv);
}
