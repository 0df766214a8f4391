#include "command_line.h"

#include <CLI/CLI.hpp>

namespace sdx::cli {

CommandOption CommandOption::required() const { return CommandOption(option_->required()); }
CommandOption CommandOption::one_of(std::initializer_list<const char*> words) const {
  return CommandOption(
      option_->check(CLI::IsMember(std::vector<std::string>(words.begin(), words.end()))));
}
CommandOption CommandOption::positive() const {
  return CommandOption(option_->check(CLI::PositiveNumber));
}
CommandOption CommandOption::not_negative() const {
  return CommandOption(option_->check(CLI::NonNegativeNumber));
}
CommandOption CommandOption::existing_file() const {
  return CommandOption(option_->check(CLI::ExistingFile));
}
CommandOption CommandOption::existing_folder() const {
  return CommandOption(option_->check(CLI::ExistingDirectory));
}
CommandOption CommandOption::show_default() const {
  return CommandOption(option_->capture_default_str());
}
CommandOption CommandOption::take_all() const { return CommandOption(option_->take_all()); }
CommandOption CommandOption::separated_by(char sign) const {
  return CommandOption(option_->delimiter(sign));
}
CommandOption CommandOption::called(const char* value) const {
  return CommandOption(option_->type_name(value));
}

CommandLine CommandLine::command(const char* name, const char* help) const {
  return CommandLine(*app_->add_subcommand(name, help));
}
bool CommandLine::chosen() const { return app_->parsed(); }
std::string CommandLine::name() const { return app_->get_name(); }

CommandOption CommandLine::option(const char* name, std::string& value,
                                  const std::string& help) const {
  return CommandOption(app_->add_option(name, value, help));
}
CommandOption CommandLine::option(const char* name, std::vector<std::string>& values,
                                  const std::string& help) const {
  return CommandOption(app_->add_option(name, values, help));
}
CommandOption CommandLine::option(const char* name, int& value, const std::string& help) const {
  return CommandOption(app_->add_option(name, value, help));
}
CommandOption CommandLine::option(const char* name, int64_t& value, const std::string& help) const {
  return CommandOption(app_->add_option(name, value, help));
}
CommandOption CommandLine::option(const char* name, size_t& value, const std::string& help) const {
  return CommandOption(app_->add_option(name, value, help));
}
CommandOption CommandLine::option(const char* name, double& value, const std::string& help) const {
  return CommandOption(app_->add_option(name, value, help));
}
CommandOption CommandLine::option(const char* name, std::optional<uint64_t>& value,
                                  const std::string& help) const {
  return CommandOption(app_->add_option(name, value, help));
}
void CommandLine::flag(const char* name, bool& value, const std::string& help) const {
  app_->add_flag(name, value, help);
}

}  // namespace sdx::cli
