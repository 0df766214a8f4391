#include "load.h"

#include <chrono>
#include <cstdio>
#include <memory>

#include "progress.h"
#include "words.h"

namespace sdx::cli {

double now_ms() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Error asking_for_sizes(Error error, const std::vector<std::string>& assumed) {
  if (assumed.empty()) return error;
  std::string sizes;
  for (const std::string& symbol : assumed) sizes += fmt::format(" --set {}=V", symbol);
  error.help =
      fmt::format("nobody gave the size{} {}, taken as 1, with which this does not run; give{}",
                  assumed.size() == 1 ? " of" : "s of", listed(assumed), sizes);
  return error;
}

Result<Loaded> load(const std::string& path, const EngineFlags& engine, const InputFlags& inputs) {
  Loaded loaded;
  SDX_ASSIGN(loaded.options, engine.options());
  const auto progress = std::make_shared<Progress>("loading", "operators");
  loaded.options.progress = [progress](size_t done, size_t total) { progress->at(done, total); };
  double start = now_ms();
  SDX_ASSIGN(loaded.model, engine.limits.read(path));
  SDX_TRY(inputs.complete(*loaded.model, loaded.options));
  SDX_ASSIGN(loaded.compiled, compile(loaded.model, loaded.options));
  loaded.load_ms = now_ms() - start;

  SDX_ASSIGN(loaded.inputs,
             inputs.values(*loaded.model, loaded.compiled->graph(), &loaded.assumed));
  for (const std::string& symbol : loaded.assumed) {
    std::fprintf(stderr, "note: %s = 1; --set %s=V gives another size\n", symbol.c_str(),
                 symbol.c_str());
  }
  start = now_ms();
  Result<std::shared_ptr<const plan::Plan>> plan = loaded.compiled->plan_for(loaded.inputs);
  if (!plan) return asking_for_sizes(std::move(plan).error().in(path), loaded.assumed);
  loaded.plan = *std::move(plan);
  loaded.load_ms += now_ms() - start;
  for (const std::string& note : loaded.compiled->notes())
    std::fprintf(stderr, "note: %s\n", note.c_str());
  progress->finish();  // plans for other shapes come later, in the middle of other work
  return loaded;
}

}  // namespace sdx::cli
