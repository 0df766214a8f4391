// sardonyx check: what is wrong with a model. Exit code 0: nothing; 1: something; 2: it cannot be
// read.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "command.h"

namespace sdx::cli {
namespace {

struct Flags {
  std::string model, format = "text";
};

// Everything found wrong with a model that could be read.
std::vector<Error> violations(const std::shared_ptr<const model::Model>& model) {
  std::vector<Error> found;
  Result<typed::Graph> graph = type(model);
  if (!graph) found.push_back(std::move(graph).error());
  return found;
}

nlohmann::ordered_json json_of(const Error& error) {
  return {
      {"code", error.code}, {"message", error.what}, {"where", error.where}, {"help", error.help}};
}

int check(const Flags& flags) {
  const auto model = model::read_file(flags.model);
  std::vector<Error> found;
  if (model) {
    found = violations(*model);
  } else {
    found.push_back(model.error());
  }
  if (flags.format == "json") {
    auto list = nlohmann::ordered_json::array();
    for (const Error& error : found) list.push_back(json_of(error));
    const nlohmann::ordered_json report = {{"model", flags.model},
                                           {"readable", model.ok()},
                                           {"valid", found.empty()},
                                           {"diagnostics", std::move(list)}};
    std::printf("%s\n",
                report.dump(1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  } else if (found.empty()) {
    std::printf("%s: valid\n", flags.model.c_str());
  }
  if (flags.format == "text") {
    for (const Error& error : found) (void)report(error);
  }
  return !model ? kUnreadable : found.empty() ? kOk : kWrong;
}

}  // namespace

Command check_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand(
      "check", "what is wrong with a model; 0 valid, 1 violations, 2 unreadable");
  auto flags = std::make_shared<Flags>();
  app->add_option("model", flags->model, "an .onnx file")->required();
  app->add_option("--format", flags->format, "how to say it")
      ->check(CLI::IsMember({"text", "json"}))
      ->capture_default_str();
  return {app, [flags] { return check(*flags); }};
}

}  // namespace sdx::cli
