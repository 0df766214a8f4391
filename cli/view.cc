// sardonyx view: a model as a page to walk through, in one file.
#include <cstdio>

#include "bytes/file.h"
#include "tools.h"
#include "view/view_data.h"
#include "view/view_page.h"

namespace sdx::cli {
namespace {

struct ViewFlags {
  ViewRequest request;
  std::string out;
  bool json = false, written = false;
};

Status view(const ViewFlags& flags) {
  ViewRequest request = flags.request;
  request.optimized = !flags.written;
  SDX_ASSIGN(const Json data, view_data(request));
  const std::string text = flags.json
                               ? data.dump(1, ' ', false, Json::error_handler_t::replace) + "\n"
                               : view_page(data);
  if (flags.out == "-") {
    std::fwrite(text.data(), 1, text.size(), stdout);
    return ok();
  }
  SDX_ASSIGN(const auto file, FileWriter::create(flags.out));
  SDX_TRY(file->write(std::as_bytes(std::span(text))));
  SDX_TRY(file->commit());
  std::printf("%s: %zu bytes\n", flags.out.c_str(), text.size());
  return ok();
}

}  // namespace

Command view_command(CommandLine program) {
  CommandLine app = program.command("view", "a page that shows the model, in one file");
  auto flags = std::make_shared<ViewFlags>();
  app.option("model", flags->request.model, "an .onnx file, or its text (.txt)").required();
  app.option("-o,--output", flags->out, "the page to write; -: standard output").required();
  app.option("--diff", flags->request.other, "another model, shown beside this one");
  app.flag("--profile", flags->request.profile, "run the model and paint where the time goes");
  app.flag("--run", flags->request.run, "run the model and show the values of every wire");
  app.flag("--as-written", flags->written, "only the graph as written, not as it is optimised");
  app.flag("--json", flags->json, "what the page would show, as JSON");
  flags->request.inputs.seed = 0;
  flags->request.inputs.add_to(app);
  flags->request.engine.add_to(app);
  return {app, [flags] {
            const Status status = view(*flags);
            return status ? kOk : report(status.error());
          }};
}

}  // namespace sdx::cli
