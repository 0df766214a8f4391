// sardonyx diff: what differs between two models as they are written. Nodes are matched by what
// they give: by their outputs' names, then by their own, then by operator and inputs.
#include <algorithm>
#include <cstdio>

#include "base/printable.h"
#include "json.h"
#include "model_diff.h"
#include "tools.h"

namespace sdx::cli {
namespace {

struct DiffFlags {
  std::string a, b;
  bool json = false;
  LimitFlags limits;
};

const char* sign_of(Difference::Kind kind) {
  return kind == Difference::Kind::gone ? "-" : kind == Difference::Kind::came ? "+" : "~";
}
const char* name_of(Difference::Kind kind) {
  return kind == Difference::Kind::gone   ? "gone"
         : kind == Difference::Kind::came ? "came"
                                          : "changed";
}

void print_text(const std::vector<Difference>& all) {
  std::string part;
  for (const Difference& d : all) {
    if (d.part != part) std::printf("%s\n", (part = d.part).c_str());
    std::printf("  %s %s\n", sign_of(d.kind), printable(d.name).c_str());
    for (const std::string& line : d.lines) std::printf("      %s\n", printable(line).c_str());
  }
}

Json differences_json(const DiffFlags& flags, const std::vector<Difference>& all) {
  Json list = Json::array();
  for (const Difference& d : all) {
    list.push_back(
        {{"part", d.part}, {"kind", name_of(d.kind)}, {"name", d.name}, {"details", d.lines}});
  }
  return {{"a", flags.a}, {"b", flags.b}, {"equal", all.empty()}, {"differences", std::move(list)}};
}

Result<bool> diff(const DiffFlags& flags) {
  SDX_ASSIGN(const auto a, flags.limits.read(flags.a));
  SDX_ASSIGN(const auto b, flags.limits.read(flags.b));
  const std::vector<Difference> all = differences(*a, *b);
  if (flags.json) {
    print_json(differences_json(flags, all));
    return all.empty();
  }
  print_text(all);
  const auto count = [&](Difference::Kind kind) {
    return std::count_if(all.begin(), all.end(), [&](const auto& d) { return d.kind == kind; });
  };
  if (all.empty()) {
    std::printf("the models are equal\n");
  } else {
    std::printf("%zu differences: %ld gone, %ld came, %ld changed\n", all.size(),
                long(count(Difference::Kind::gone)), long(count(Difference::Kind::came)),
                long(count(Difference::Kind::changed)));
  }
  return all.empty();
}

}  // namespace

Command diff_command(CommandLine program) {
  CommandLine app = program.command("diff", "what differs between two models; 0: nothing, 1: this");
  auto flags = std::make_shared<DiffFlags>();
  app.option("a", flags->a, "an .onnx file, or its text (.txt)").required();
  app.option("b", flags->b, "another").required();
  app.flag("--json", flags->json, "as one JSON object");
  flags->limits.add_to(app);
  return {app, [flags] {
            const Result<bool> same = diff(*flags);
            if (!same) return report(same.error());
            return *same ? kOk : kWrong;
          }};
}

}  // namespace sdx::cli
