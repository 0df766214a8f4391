// The commands of the program, and what they share.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>

#include "command.h"
#include "describe.h"
#include "fix.h"
#include "program.h"
#include "progress.h"
#include "streaming.h"

namespace sdx::cli {

void EngineFlags::add_to(CommandLine app) {
  app.option("--threads", threads, "threads to use; 0: all this process may use").not_negative();
  app.option("--isa", isa, "instruction set").one_of({"portable", "avx2", "avx512", "native"});
  app.option("--optimize", optimize, "rewrites, which keep every bit").one_of({"on", "off"});
  app.option("--numerics", numerics, "strict: no rewrite that changes bits")
      .one_of({"standard", "strict"});
  app.option(
         "--accept", accept,
         "common: a model that deviates from ONNX's rules runs if it has one meaning all the same")
      .one_of({"strict", "common"})
      .show_default();
  app.option("--arena-limit", arena_limit,
             "most bytes of working memory; 0: as much as the machine has");
  app.option("--plans", plans, "plans to keep for different shapes").positive().show_default();
  app.option("--pack-cache", pack_cache,
             "keep packed weights in this folder, or \"beside\" the model, for the next load")
      .called("DIR|beside");
  limits.add_to(app);
}

Result<CompileOptions> EngineFlags::options() const {
  CompileOptions options;
  options.threads = threads;
  options.optimize = optimize == "on";
  options.strict = numerics == "strict";
  options.accept = accept == "strict" ? check::Accept::strict : check::Accept::common;
  options.most_plans = plans;
  options.order = order;
  options.pack_cache = pack_cache;
  options.most_nodes = limits.most_nodes();
  if (arena_limit != 0) options.most_arena_bytes = arena_limit;
  if (isa != "native") {
    options.isa = isa == "avx512" ? Isa::avx512 : isa == "avx2" ? Isa::avx2 : Isa::portable;
    if (!isa_available(options.isa)) return fail("SDX-C0001", "this machine has no {}", isa);
  }
  return options;
}

int report(const Error& error, int code) {
  std::string text = error.text();
  if (const size_t end = text.find(':'); colours() && end != std::string::npos) {
    text = fmt::format("\033[1;31m{}\033[0m{}", text.substr(0, end), text.substr(end));
  }
  std::fprintf(stderr, "%s\n", text.c_str());
  return code;
}

int program(int argc, char** argv, std::span<const MakeCommand> more) {
  CLI::App parser(
      "One model, one answer: an ONNX engine whose results have the same bits everywhere.",
      "sardonyx");
  parser.require_subcommand(1);
  const CommandLine app(parser);
  std::vector<Command> commands = {
      info_command(app),    check_command(app),   fix_command(app),   show_command(app),
      run_command(app),     test_command(app),    bench_command(app), profile_command(app),
      compare_command(app), convert_command(app), ops_command(app),   completion_command(app),
      stream_command(app),  manual_command(app)};
  for (const MakeCommand make : more) commands.push_back(make(app));
  try {
    parser.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (parser.exit(error) == 0) return kOk;
    if (const std::string hint = meant(parser, argc, argv); !hint.empty()) {
      std::fprintf(stderr, "   = help: %s\n", hint.c_str());
    }
    return kUnreadable;
  }
  for (const Command& command : commands) {
    if (command.app.chosen()) return command.run();
  }
  return kUnreadable;
}

}  // namespace sdx::cli
