#include "api/engine.h"

#include <unistd.h>

#include <algorithm>

#include "kernel/isa_scope.h"

namespace sdx {

size_t physical_memory() {
  const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? size_t(pages) * size_t(size) : SIZE_MAX;
}

Result<infer::Inferred> inferred(std::shared_ptr<const model::Model> model,
                                 const CompileOptions& options, bool thorough) {
  const std::string path = model->path;
  infer::Options wanted;
  wanted.set = options.set;
  wanted.overridden = options.overridden;
  wanted.assertions = options.assertions;
  wanted.most_nodes = options.most_nodes;
  wanted.thorough = thorough;
  wanted.journal = options.journal;
  if (thorough) wanted.bodies = std::make_shared<infer::BodyFacts>();
  const auto here = [&](Error error) {
    // "model.onnx: graph "main", node 7 ...": the outermost place in the model starts with the
    // file.
    const auto at =
        std::find_if(error.where.rbegin(), error.where.rend(),
                     [](const std::string& place) { return place.starts_with("graph"); });
    if (at == error.where.rend()) return std::move(error).in(path);
    if (!path.empty()) *at = fmt::format("{}: {}", path, *at);
    return error;
  };
  Result<infer::Inferred> known = infer::infer_model(std::move(model), wanted);
  if (!known) return here(std::move(known).error());
  return known;
}

Result<typed::Graph> type(std::shared_ptr<const model::Model> model,
                          const CompileOptions& options) {
  SDX_ASSIGN(infer::Inferred known, inferred(std::move(model), options));
  return std::move(known).typed();
}

namespace {

// `path`: of the model's file, "" if it has none.
Result<std::shared_ptr<const run::Compiled>> compiled_from(const typed::Graph& graph,
                                                           const std::string& path,
                                                           const CompileOptions& options) {
  const IsaScope isa(options.isa);
  auto pool = std::make_shared<Pool>(options.threads);
  run::Settings settings;
  settings.plan.isa = options.isa;
  settings.plan.threads = pool->threads();
  settings.plan.fuse = options.optimize;
  settings.plan.reference = options.reference;
  settings.plan.order = options.order;
  settings.plan.progress = options.progress;
  settings.rewrites.optimize = options.optimize;
  settings.rewrites.strict = options.strict;
  settings.most_plans = std::max<size_t>(options.most_plans, 1);
  settings.most_arena_bytes = options.most_arena_bytes;
  // With initializers as inputs there is less to pack; that form leaves the file as it is.
  if (!options.pack_cache.empty() && !options.reference && options.overridden.empty()) {
    const std::string file = plan::pack_cache_path(options.pack_cache, path, options.isa,
                                                   options.optimize, options.strict);
    if (file.empty()) {
      Error error =
          fail("SDX-A0007", "the model was not read from a file, so nothing lies beside it");
      error.help = "give the name of a folder for packed weights";
      return error;
    }
    settings.plan.cache = std::make_shared<plan::PackCache>(file, options.isa);
  }
  return run::Compiled::make(graph, settings, std::move(pool));
}

}  // namespace

Result<std::shared_ptr<const run::Compiled>> compile(std::shared_ptr<const model::Model> model,
                                                     const CompileOptions& options) {
  const std::string path = model->path;
  SDX_ASSIGN(const typed::Graph graph, type(std::move(model), options));
  return compiled_from(graph, path, options);
}

Result<std::shared_ptr<const run::Compiled>> compile(const typed::Graph& graph,
                                                     const CompileOptions& options) {
  return compiled_from(graph, "", options);
}

}  // namespace sdx
