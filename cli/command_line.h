// CommandLine: what a command takes, said in words. The parser behind it is CLI11, which costs
// every file that includes it ten seconds to compile; so command_line.cc, describe.cc and main.cc
// alone do.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace sdx::cli {

// One option or argument, to say more of it.
class CommandOption {
 public:
  explicit CommandOption(CLI::Option* option) : option_(option) {}
  CommandOption required() const;
  CommandOption one_of(std::initializer_list<const char*> words) const;
  CommandOption positive() const;
  CommandOption not_negative() const;
  CommandOption existing_file() const;
  CommandOption existing_folder() const;
  CommandOption show_default() const;             // in the help
  CommandOption take_all() const;                 // may be given many times
  CommandOption separated_by(char sign) const;    // many values in one word
  CommandOption called(const char* value) const;  // the value's name in the help

 private:
  CLI::Option* option_;
};

// The program, or one of its commands. A handle: the program owns what it points to.
class CommandLine {
 public:
  explicit CommandLine(CLI::App& app) : app_(&app) {}
  CLI::App& parser() const { return *app_; }

  CommandLine command(const char* name, const char* help) const;
  bool chosen() const;
  std::string name() const;

  // `name` as "--runs" or, for an argument by position, "model". The value is written when parsed.
  CommandOption option(const char* name, std::string& value, const std::string& help) const;
  CommandOption option(const char* name, std::vector<std::string>& values,
                       const std::string& help) const;
  CommandOption option(const char* name, int& value, const std::string& help) const;
  CommandOption option(const char* name, int64_t& value, const std::string& help) const;
  CommandOption option(const char* name, size_t& value, const std::string& help) const;
  CommandOption option(const char* name, double& value, const std::string& help) const;
  CommandOption option(const char* name, std::optional<uint64_t>& value,
                       const std::string& help) const;
  void flag(const char* name, bool& value, const std::string& help) const;

 private:
  CLI::App* app_;
};

}  // namespace sdx::cli
