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
#define SDX_LAY_OUT "_ZN3sdx4plan7lay_outERKNS0_4PlanERKSt6vectorIbSaIbEE"
#define SDX_PLACE_WIRES "_ZN3sdx4plan11place_wiresERNS0_4PlanERKNS0_6LayoutE"
#define SDX_CHOOSE_STEPS \
  "_ZN3sdx4plan12choose_stepsENS_5typed5GraphERKNS0_7OptionsERNS_4PoolEPNS0_5PacksE"
#define SDX_FORGET_PACKED "_ZN3sdx4plan13forget_packedERNS0_4PlanE"

namespace sdx::plan {

Layout planted_lay_out(const Plan&, const std::vector<bool>&) __asm__("__wrap_" SDX_LAY_OUT);
Layout real_lay_out(const Plan&, const std::vector<bool>&) __asm__("__real_" SDX_LAY_OUT);
Layout planted_lay_out(const Plan& plan, const std::vector<bool>& growing) {
  const auto* bug = chosen();
  return bug != nullptr && bug->lay_out != nullptr ? bug->lay_out(plan, growing)
                                                   : real_lay_out(plan, growing);
}

void planted_place_wires(Plan&, const Layout&) __asm__("__wrap_" SDX_PLACE_WIRES);
void real_place_wires(Plan&, const Layout&) __asm__("__real_" SDX_PLACE_WIRES);
void planted_place_wires(Plan& plan, const Layout& layout) {
  const auto* bug = chosen();
  (bug != nullptr && bug->place_wires != nullptr ? bug->place_wires : real_place_wires)(plan,
                                                                                        layout);
}

Result<Plan> planted_choose_steps(typed::Graph, const Options&, Pool&,
                                  Packs*) __asm__("__wrap_" SDX_CHOOSE_STEPS);
Result<Plan> real_choose_steps(typed::Graph, const Options&, Pool&,
                               Packs*) __asm__("__real_" SDX_CHOOSE_STEPS);
Result<Plan> planted_choose_steps(typed::Graph graph, const Options& options, Pool& pool,
                                  Packs* packs) {
  const auto* bug = chosen();
  return (bug != nullptr && bug->choose_steps != nullptr ? bug->choose_steps : real_choose_steps)(
      std::move(graph), options, pool, packs);
}

void planted_forget_packed(Plan&) __asm__("__wrap_" SDX_FORGET_PACKED);
void real_forget_packed(Plan&) __asm__("__real_" SDX_FORGET_PACKED);
void planted_forget_packed(Plan& plan) {
  const auto* bug = chosen();
  (bug != nullptr && bug->forget_packed != nullptr ? bug->forget_packed : real_forget_packed)(plan);
}

}  // namespace sdx::plan

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
