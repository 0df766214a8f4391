#include "api/engine.h"

#include <algorithm>

#include "api/road.h"
#include "kernel/cpus.h"
#include "typed/folding.h"

namespace sdx {
namespace {

// "model.onnx: graph "main", node 7 ...": the outermost place in the model starts with the file.
Error in_file(Error error, const std::string& path) {
  const auto at = std::find_if(error.where.rbegin(), error.where.rend(),
                               [](const std::string& place) { return place.starts_with("graph"); });
  if (at == error.where.rend()) return std::move(error).in(path);
  if (!path.empty()) *at = fmt::format("{}: {}", path, *at);
  return error;
}

Result<std::shared_ptr<plan::PackCache>> pack_cache(const std::string& file,
                                                    const CompileOptions& options) {
  const std::string path = plan::pack_cache_path(options.pack_cache, file, options.isa,
                                                 options.optimize, options.strict);
  if (!path.empty()) return std::make_shared<plan::PackCache>(path, options.isa);
  Error error = fail("SDX-A0007", "the model was not read from a file, so nothing lies beside it");
  error.help = "give the name of a folder for packed weights";
  return error;
}

}  // namespace

size_t physical_memory() {
  static const size_t kBytes = allowed_memory();
  return kBytes;
}

Result<check::Checked> road::check(std::shared_ptr<const model::Model> model,
                                   const CompileOptions& options) {
  const std::string path = model->path;
  Result<check::Checked> checked =
      check::checked(std::move(model), {.open_types = true, .accept = options.accept});
  if (!checked) return in_file(std::move(checked).error(), path);
  return checked;
}

Result<infer::Inferred> road::infer(const check::Checked& checked, const CompileOptions& options,
                                    bool thorough) {
  infer::Options wanted;
  wanted.set = options.set;
  wanted.overridden = options.overridden;
  wanted.assertions = options.assertions;
  wanted.most_nodes = options.most_nodes;
  wanted.thorough = thorough;
  wanted.journal = options.journal;
  if (thorough) wanted.bodies = std::make_shared<infer::BodyFacts>();
  Result<infer::Inferred> known = infer::infer(checked, wanted);
  if (!known) return in_file(std::move(known).error(), checked.model().path);
  return known;
}

typed::Graph road::type(infer::Inferred inferred) { return std::move(inferred).typed(); }

Result<rewrite::Rewritten> road::rewrite(const typed::Graph& graph, const CompileOptions& options) {
  const typed::FoldingAccount account(graph);
  return rewrite::rewritten(
      graph, {.optimize = options.optimize, .strict = options.strict, .isa = options.isa});
}

Result<std::shared_ptr<const plan::Compiled>> road::plan(rewrite::Rewritten rewritten,
                                                         const std::string& file,
                                                         const CompileOptions& options,
                                                         std::vector<std::string> notes) {
  constexpr int kMostThreads = 1024;
  if (options.threads < 0 || options.threads > kMostThreads) {
    return fail("SDX-A0015", "{} threads are asked for; expected 0 to {}", options.threads,
                kMostThreads);
  }
  auto pool = std::make_shared<Pool>(options.threads);
  plan::Settings settings;
  settings.plan.isa = options.isa;
  settings.plan.threads = pool->threads();
  settings.plan.fuse = options.optimize;
  settings.plan.reference = options.reference;
  settings.plan.order = options.order;
  settings.plan.progress = options.progress;
  settings.most_plans = std::max<size_t>(options.most_plans, 1);
  settings.most_arena_bytes = options.most_arena_bytes;
  settings.notes = std::move(notes);
  // With initializers as inputs there is less to pack; that form leaves the file as it is.
  if (!options.pack_cache.empty() && !options.reference && options.overridden.empty()) {
    SDX_ASSIGN(settings.plan.cache, pack_cache(file, options));
  }
  return plan::Compiled::make(std::move(rewritten), settings, std::move(pool));
}

}  // namespace sdx
