// sardonyx simplify: the same model with fewer nodes and every bit of its answers. What is known
// before anything runs becomes an initializer; nodes that only pass a value on, repeat another node
// or are read by nobody go.
#include <cstdio>

#include "json.h"
#include "same_answers.h"
#include "simplifier.h"
#include "tools.h"
#include "typed_values.h"
#include "write_model.h"

namespace sdx::cli {
namespace {

struct SimplifyFlags {
  std::string in;
  Writing writing;
  InputFlags inputs;
  LimitFlags limits;
  bool json = false, unproved = false;
};

void say(const SimplifyFlags& flags, const Simplified& made, size_t before, bool proved) {
  const size_t after = made.model.graph->node.size();
  if (flags.json) {
    print_json({{"model", flags.in},
                {"written", flags.writing.out},
                {"nodes_before", before},
                {"nodes_after", after},
                {"folded", made.folded},
                {"passed_on", made.passed_on},
                {"repeated", made.repeated},
                {"dead", made.dead},
                {"weights_shared", made.shared},
                {"proved", proved}});
    return;
  }
  std::fprintf(flags.writing.out == "-" ? stderr : stdout,
               "%s: %zu nodes, before %zu: %zu folded, %zu passed a value on, %zu repeated, %zu "
               "dead; %zu weights shared%s\n",
               flags.writing.out.c_str(), after, before, made.folded, made.passed_on, made.repeated,
               made.dead, made.shared, proved ? "; equal digests" : "");
}

Status simplify(const SimplifyFlags& flags) {
  SDX_TRY(can_be_written(flags.writing.out));
  SDX_ASSIGN(const auto before, flags.limits.read(flags.in));
  if (!before->graph) return no_graph().in(flags.in);
  SDX_ASSIGN(const Bindings sizes, flags.inputs.bindings(*before));
  SDX_ASSIGN(Simplified made, simplified(before, sizes, flags.limits));
  if (!flags.unproved) {
    const auto after = std::make_shared<const model::Model>(made.model);
    SDX_ASSIGN(const Answers answers, answers_of(before, after, flags.inputs, flags.limits));
    if (!answers.equal())
      return fail("SDX-C0066", "the simplified model gives other answers; nothing is written");
  }
  Writing writing = flags.writing;
  writing.in = flags.in;
  SDX_TRY(write_model(made.model, writing));
  say(flags, made, before->graph->node.size(), !flags.unproved);
  return ok();
}

}  // namespace

Command simplify_command(CommandLine program) {
  CommandLine app = program.command(
      "simplify", "the same model with fewer nodes, and the proof that no answer changed");
  auto flags = std::make_shared<SimplifyFlags>();
  app.option("in", flags->in, "an .onnx file, or its text (.txt)").required();
  app.option("out", flags->writing.out, "the file to write, in the form that its name says")
      .required();
  app.flag("--embed", flags->writing.embed, "put external data into the file");
  app.flag("--no-proof", flags->unproved, "do not run both models to compare their answers");
  app.flag("--json", flags->json, "what was done as one JSON object");
  flags->inputs.add_to(app);
  flags->limits.add_to(app);
  return {app, [flags] {
            const Status status = simplify(*flags);
            return status ? kOk : report(status.error());
          }};
}

}  // namespace sdx::cli
