#include "api/engine.h"

#include <algorithm>

#include "rewrite/rewrite.h"

namespace sdx {

Result<typed::Graph> type(std::shared_ptr<const model::Model> model, const CompileOptions& options,
                          std::map<std::string, typed::Outlet>* wires) {
  const std::string path = model->path;
  infer::Options typing;
  typing.set = options.set;
  typing.wires = wires;
  Result<typed::Graph> graph = infer::type_model(std::move(model), typing);
  if (graph) return graph;
  Error error = std::move(graph).error();
  // "model.onnx: graph "main", node 7 ...": the outermost place in the model starts with the file.
  const auto at = std::find_if(error.where.rbegin(), error.where.rend(),
                               [](const std::string& place) { return place.starts_with("graph"); });
  if (at == error.where.rend()) return std::move(error).in(path);
  if (!path.empty()) *at = fmt::format("{}: {}", path, *at);
  return error;
}

Result<std::shared_ptr<const run::Compiled>> compile(std::shared_ptr<const model::Model> model,
                                                     const CompileOptions& options) {
  SDX_ASSIGN(const typed::Graph graph, type(std::move(model), options));
  return compile(graph, options);
}

Result<std::shared_ptr<const run::Compiled>> compile(const typed::Graph& graph,
                                                     const CompileOptions& options) {
  force_isa(options.isa);
  auto pool = std::make_shared<Pool>(options.threads);
  const plan::Options planning{.isa = options.isa,
                               .threads = pool->threads(),
                               .fuse = options.optimize,
                               .reference = options.reference};
  typed::Graph ready = graph.without_dead();
  if (!options.strict) {
    SDX_ASSIGN(ready, rewrite::to_standard_numerics(ready));
  }
  if (options.optimize) {
    SDX_ASSIGN(ready, rewrite::optimize(ready));
  }
  auto compiled = std::make_shared<run::Compiled>(std::move(ready), planning, std::move(pool));
  SDX_TRY(compiled->prepare());
  return std::shared_ptr<const run::Compiled>(std::move(compiled));
}

}  // namespace sdx
