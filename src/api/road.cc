// The road, driven: every stage of a model by name, in order, each made from the one before.
#include "api/road.h"

namespace sdx {

Result<std::vector<Value>> answer(const std::string& file, std::span<const Value> inputs,
                                  const CompileOptions& options) {
  SDX_ASSIGN(const std::shared_ptr<const model::Model> model, model::read_file(file));
  SDX_ASSIGN(const std::shared_ptr<const plan::Compiled> compiled, compile(model, options));
  return run::Session(compiled).run(inputs);
}

Result<std::shared_ptr<const plan::Compiled>> compile(std::shared_ptr<const model::Model> model,
                                                      const CompileOptions& options) {
  const std::string file = model->path;
  SDX_ASSIGN(const check::Checked checked, road::check(std::move(model), options));
  SDX_ASSIGN(infer::Inferred inferred, road::infer(checked, options));
  const typed::Graph typed = road::type(std::move(inferred));
  SDX_ASSIGN(rewrite::Rewritten rewritten, road::rewrite(typed, options));
  return road::plan(std::move(rewritten), file, options, checked.notes());
}

// Shorter drives, for those who stop at a stage or start behind one.

Result<infer::Inferred> inferred(std::shared_ptr<const model::Model> model,
                                 const CompileOptions& options, bool thorough) {
  SDX_ASSIGN(const check::Checked checked, road::check(std::move(model), options));
  return road::infer(checked, options, thorough);
}

Result<typed::Graph> type(std::shared_ptr<const model::Model> model,
                          const CompileOptions& options) {
  SDX_ASSIGN(infer::Inferred known, inferred(std::move(model), options));
  return road::type(std::move(known));
}

Result<std::shared_ptr<const plan::Compiled>> compile(const typed::Graph& graph,
                                                      const CompileOptions& options) {
  SDX_ASSIGN(rewrite::Rewritten rewritten, road::rewrite(graph, options));
  return road::plan(std::move(rewritten), "", options);
}

}  // namespace sdx
