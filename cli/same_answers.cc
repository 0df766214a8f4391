#include "same_answers.h"

#include "api/digest.h"
#include "bounds.h"

namespace sdx::cli {
namespace {

Result<std::vector<std::string>> digests(const std::shared_ptr<const model::Model>& model,
                                         const std::vector<Value>& inputs,
                                         const CompileOptions& options) {
  SDX_ASSIGN(const auto compiled, compile(model, options));
  run::Session session(compiled);
  run::RunOptions limits;
  limits.deadline = deadline();
  SDX_ASSIGN(const std::vector<Value> outputs, session.run(inputs, limits));
  std::vector<std::string> lines;
  for (const Value& output : outputs) {
    for (const DigestLine& line : digest("", output)) lines.push_back(line.text());
  }
  return lines;
}

}  // namespace

Result<Answers> answers_of(const std::shared_ptr<const model::Model>& before,
                           const std::shared_ptr<const model::Model>& after,
                           const InputFlags& inputs, const LimitFlags& limits) {
  CompileOptions options;
  options.most_nodes = limits.most_nodes();
  SDX_ASSIGN(options.set, inputs.bindings(*before));
  SDX_ASSIGN(const typed::Graph graph, type(before, options));
  InputFlags drawn = inputs;
  if (!drawn.seed && drawn.files.empty()) drawn.seed = 1;
  SDX_ASSIGN(const std::vector<Value> values, drawn.values(*before, graph));
  Answers answers;
  SDX_ASSIGN(answers.before, digests(before, values, options));
  SDX_ASSIGN(answers.after, digests(after, values, options));
  return answers;
}

}  // namespace sdx::cli
