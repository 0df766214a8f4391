#include "load.h"

#include <chrono>
#include <cstdio>

namespace sdx::cli {

double now_ms() {
  return std::chrono::duration<double, std::milli>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Result<Loaded> load(const std::string& path, const EngineFlags& engine, const InputFlags& inputs) {
  Loaded loaded;
  SDX_ASSIGN(loaded.options, engine.options());
  double start = now_ms();
  SDX_ASSIGN(loaded.model, engine.limits.read(path));
  SDX_TRY(inputs.complete(*loaded.model, loaded.options));
  SDX_ASSIGN(loaded.compiled, compile(loaded.model, loaded.options));
  loaded.load_ms = now_ms() - start;

  std::vector<std::string> assumed;
  SDX_ASSIGN(loaded.inputs, inputs.values(*loaded.model, loaded.compiled->graph(), &assumed));
  for (const std::string& symbol : assumed) {
    std::fprintf(stderr, "note: %s = 1; --set %s=V gives another size\n", symbol.c_str(),
                 symbol.c_str());
  }
  start = now_ms();
  Result<std::shared_ptr<const plan::Plan>> plan = loaded.compiled->plan_for(loaded.inputs);
  if (!plan) return std::move(plan).error().in(path);
  loaded.plan = *std::move(plan);
  loaded.load_ms += now_ms() - start;
  return loaded;
}

}  // namespace sdx::cli
