// What the commands share: options that several take, models and inputs from files, errors for
// people.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "api/engine.h"

namespace sdx::cli {

// Exit codes: 0 done, 1 the model or a test is wrong, 2 something could not be read or was asked
// for wrongly.
inline constexpr int kOk = 0, kWrong = 1, kUnreadable = 2;

// --limit NAME=VALUE: what a model may ask for.
struct LimitFlags {
  std::vector<std::string> given;
  void add_to(CLI::App& app);
  Result<model::Limits> reading() const;
  size_t most_nodes() const;  // after inlining
  Result<std::shared_ptr<const model::Model>> read(const std::string& path) const;
};

// --threads, --isa, --optimize, --numerics, --arena-limit, --plans, --pack-cache, --limit.
struct EngineFlags {
  int threads = 0;
  size_t arena_limit = 0, plans = 8;
  std::optional<uint64_t> order;  // set by commands that have --order
  std::string isa = "native", optimize = "on", numerics = "standard", pack_cache;
  LimitFlags limits;
  void add_to(CLI::App& app);
  Result<CompileOptions> options() const;
};

// Each command adds itself to the program and answers with its exit code when chosen.
struct Command {
  CLI::App* app;
  std::function<int()> run;
};
Command info_command(CLI::App& program);
Command check_command(CLI::App& program);
Command show_command(CLI::App& program);
Command run_command(CLI::App& program);
Command test_command(CLI::App& program);
Command bench_command(CLI::App& program);
Command profile_command(CLI::App& program);
Command compare_command(CLI::App& program);
Command convert_command(CLI::App& program);
Command ops_command(CLI::App& program);

// Prints "error[...]: ..." to stderr.
int report(const Error& error, int code = kUnreadable);

}  // namespace sdx::cli
