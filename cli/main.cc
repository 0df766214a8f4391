// The commands of the program, and what they share.
#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "attest/attest.h"
#include "base/deadline.h"
#include "base/stack.h"
#include "bounds.h"
#include "bytes/shortened.h"
#include "bytes/unfinished.h"
#include "command.h"
#include "describe.h"
#include "fix.h"
#include "program.h"
#include "progress.h"
#include "score/score.h"
#include "streaming.h"
#include "system.h"
#include "tools.h"
#include "words.h"

namespace sdx::cli {

void EngineFlags::add_to(CommandLine app) {
  app.option("--threads", threads, "threads to use; 0: all this process may use").not_negative();
  app.option("--isa", isa, "instruction set")
      .one_of({"portable", "avx2", "avx512", "neon", "native"});
  app.option("--optimize", optimize, "rewrites, which keep every bit").one_of({"on", "off"});
  app.option("--numerics", numerics, "strict: no rewrite that changes bits")
      .one_of({"standard", "strict"});
  app.option(
         "--accept", accept,
         "common: a model that deviates from ONNX's rules runs if it has one meaning all the same")
      .one_of({"strict", "common"})
      .show_default();
  app.option(
         "--arena-limit", arena_limit,
         "most bytes of working memory; K, M, G or T may follow; 0: as much as the machine has, "
         "and as the sizes of model and inputs warrant")
      .called("BYTES");
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
  if (arena_limit != "0") {
    SDX_ASSIGN(options.most_arena_bytes, byte_count("--arena-limit", arena_limit));
  }
  if (isa != "native") {
    if (!parse_isa(isa, options.isa) || !isa_available(options.isa))
      return fail("SDX-C0001", "this machine has no {}", isa);
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

namespace {

// Files that are half written do not stay behind.
void on_end(int signal) {
  remove_unfinished_files();
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

// What was printed must have arrived: a full disk or a closed pipe is no success.
int flushed(int code) {
  const bool whole = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (whole || code != kOk) return code;
  return report(
      fail("SDX-C0007", "standard output could not be written: {}", std::strerror(errno)));
}

// The files that the words of a command line name: those that are there may be read, and where
// options say that something is written, it may be.
Sandbox sandbox_for(std::span<char* const> words) {
  std::vector<std::string> read, written;
  static constexpr std::string_view kWriting[] = {"--output-dir", "--report",   "--pack-cache",
                                                  "--dump",       "--external", "--out",
                                                  "-o",           "--output"};
  const std::string_view command = words.size() > 1 ? words[1] : "";
  for (size_t i = 2; i < words.size(); ++i) {
    const std::string word = words[i];
    read.push_back(word);
    if (const size_t at = word.find('='); at != std::string::npos)
      read.push_back(word.substr(at + 1));
    const std::string_view before = words[i - 1];
    const bool option =
        std::find(std::begin(kWriting), std::end(kWriting), before) != std::end(kWriting) ||
        (command == "profile" && before == "--trace");
    const bool makes_file =
        command == "convert" || command == "fix" || command == "extract" || command == "simplify";
    if (option || (makes_file && !word.starts_with("-"))) written.push_back(word);
    if (word == "beside") written.push_back(words[2]);
  }
  return sandbox_of(read, written);
}

// A first word that is no command, answered as such: the parser would only say that one is missing.
std::optional<Error> no_such_command(std::span<const Command> commands,
                                     std::span<char* const> words) {
  if (words.size() < 2 || words[1][0] == '-') return std::nullopt;
  std::vector<std::string> names;
  for (const Command& command : commands) names.push_back(command.app.name());
  if (std::find(names.begin(), names.end(), words[1]) != names.end()) return std::nullopt;
  Error error = fail("SDX-C0008", "there is no command \"{}\"", words[1]);
  const std::string near = nearest(words[1], names);
  error.help =
      near.empty() ? "sardonyx -h lists the commands" : fmt::format("did you mean \"{}\"?", near);
  return error;
}

int bounded(const Bounds& bounds, const Command& command, std::span<char* const> words) {
  if (const Status status = bounds.apply(); !status) return report(status.error());
  // The server closes its own once it listens, and a worker has none.
  const std::string_view name = words.size() > 1 ? words[1] : "";
  if (name != "serve" && name != "worker") {
    if (const Status status = enter_sandbox(sandbox_for(words)); !status)
      return report(status.error());
  }
  const Deadline until(deadline(), nullptr);
  const int code = command.run();
  if (const Status status = no_file_lost(); !status) return report(status.error());
  return flushed(code);
}

// Memory that runs out anywhere, or whatever else is thrown, ends the command and not the process.
template <class Body>
int guarded(const Body& body) {
  try {
    return on_deep_stack(body);
  } catch (const TimeIsUp&) {
    say_time_is_up();
    return kUnreadable;
  } catch (const std::bad_alloc&) {
    std::fputs("error[SDX-A0102]: out of memory\n", stderr);
    return kUnreadable;
  } catch (const std::exception& error) {
    return report(fail("SDX-C0008", "{}", error.what()));
  }
}

}  // namespace

int program(int argc, char** argv, std::span<const MakeCommand> more) {
  CLI::App parser(
      "One model, one answer: an ONNX engine whose results have the same bits everywhere.",
      "sardonyx");
  parser.require_subcommand(1);
  parser.allow_windows_style_options(false);  // "/a/model.onnx" is a file there too
  for (const int signal : ending_signals()) {
    if (::signal(signal, on_end) == SIG_IGN) ::signal(signal, SIG_IGN);
  }
  open_streams();
  survive_shortened_files();
  stack::widen_threads();
  const CommandLine app(parser);
  std::vector<Command> commands = {
      info_command(app),    check_command(app),   fix_command(app),   show_command(app),
      run_command(app),     test_command(app),    bench_command(app), profile_command(app),
      compare_command(app), convert_command(app), ops_command(app),   completion_command(app),
      stream_command(app),  score_command(app),   manual_command(app)};
  for (const MakeCommand make : {extract_command, simplify_command, diff_command, inputs_command,
                                 view_command, version_command, attest_command, verify_command})
    commands.push_back(make(app));
  for (const MakeCommand make : more) commands.push_back(make(app));
  parser.set_version_flag("--version", version_line());
  if (const auto error = no_such_command(commands, {argv, size_t(argc)})) return report(*error);
  Bounds bounds;
  for (const Command& command : commands) bounds.add_to(command.app);
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
    if (command.app.chosen()) {
      return guarded([&] { return bounded(bounds, command, {argv, size_t(argc)}); });
    }
  }
  return kUnreadable;
}

}  // namespace sdx::cli
