// The sardonyx program.
#include <cstdio>

#include "command.h"

namespace sdx::cli {

void EngineFlags::add_to(CLI::App& app) {
  app.add_option("--threads", threads, "threads to use; 0: all this process may use")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--isa", isa, "instruction set")
      ->check(CLI::IsMember({"portable", "avx2", "avx512", "native"}));
  app.add_option("--optimize", optimize, "rewrites, which keep every bit")
      ->check(CLI::IsMember({"on", "off"}));
  app.add_option("--numerics", numerics, "strict: no rewrite that changes bits")
      ->check(CLI::IsMember({"standard", "strict"}));
}

Result<CompileOptions> EngineFlags::options() const {
  CompileOptions options;
  options.threads = threads;
  options.optimize = optimize == "on";
  options.strict = numerics == "strict";
  if (isa != "native") {
    options.isa = isa == "avx512" ? Isa::avx512 : isa == "avx2" ? Isa::avx2 : Isa::portable;
    if (!isa_available(options.isa)) return fail("SDX-C0001", "this machine has no {}", isa);
  }
  return options;
}

int report(const Error& error, int code) {
  std::fprintf(stderr, "%s\n", error.text().c_str());
  return code;
}

}  // namespace sdx::cli

int main(int argc, char** argv) {
  using namespace sdx::cli;
  CLI::App program(
      "One model, one answer: an ONNX engine whose results have the same bits everywhere.",
      "sardonyx");
  program.require_subcommand(1);
  const Command commands[] = {info_command(program),    check_command(program),
                              show_command(program),    run_command(program),
                              test_command(program),    bench_command(program),
                              profile_command(program), compare_command(program),
                              convert_command(program), ops_command(program)};
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return program.exit(error) == 0 ? kOk : kUnreadable;
  }
  for (const Command& command : commands) {
    if (command.app->parsed()) return command.run();
  }
  return kUnreadable;
}
