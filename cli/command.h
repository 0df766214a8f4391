// What the commands share: options that several take, models and inputs from files, errors for
// people.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "api/engine.h"
#include "command_line.h"

namespace sdx::cli {

// Exit codes: 0 done, 1 the model or a test is wrong, 2 something could not be read or was asked
// for wrongly.
inline constexpr int kOk = 0, kWrong = 1, kUnreadable = 2;

// --limit NAME=VALUE: what a model may ask for.
struct LimitFlags {
  std::vector<std::string> given;
  void add_to(CommandLine app);
  Result<model::Limits> reading() const;
  size_t most_nodes() const;  // after inlining
  Result<std::shared_ptr<const model::Model>> read(const std::string& path) const;
};

// --threads, --isa, --optimize, --numerics, --accept, --arena-limit, --plans, --pack-cache,
// --limit.
struct EngineFlags {
  int threads = 0;
  std::string arena_limit = "0";
  size_t plans = 8;
  std::optional<uint64_t> order;  // set by commands that have --order
  std::string isa = "native", optimize = "on", numerics = "standard", accept = "common", pack_cache;
  LimitFlags limits;
  void add_to(CommandLine app);
  Result<CompileOptions> options() const;
};

// Each command adds itself to the program and answers with its exit code when chosen.
struct Command {
  CommandLine app;
  std::function<int()> run;
};
Command info_command(CommandLine program);
Command check_command(CommandLine program);
Command show_command(CommandLine program);
Command run_command(CommandLine program);
Command test_command(CommandLine program);
Command bench_command(CommandLine program);
Command profile_command(CommandLine program);
Command compare_command(CommandLine program);
Command convert_command(CommandLine program);
Command ops_command(CommandLine program);

// Prints "error[...]: ..." to stderr.
int report(const Error& error, int code = kUnreadable);

}  // namespace sdx::cli
