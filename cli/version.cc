// sardonyx version: which program this is, and what it knows.
#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "ops/list.h"
#include "tools.h"

namespace sdx::cli {
namespace {

using Json = nlohmann::ordered_json;

// The newest version of each operator set that has an operator here.
std::map<std::string, int> operator_sets() {
  std::map<std::string, int> newest;
  for (const Op* op : all_ops()) {
    if (op->domain == "sardonyx") continue;  // made by rewrites
    const std::string domain = op->domain.empty() ? "ai.onnx" : std::string(op->domain);
    for (const Signature& version : op->signatures())
      newest[domain] = std::max(newest[domain], version.since);
  }
  return newest;
}

Json version_json() {
  return {{"name", "sardonyx"},
          {"version", release()},
          {"compiler", SDX_COMPILER},
          {"isa", isa_name(native_isa())},
          {"operator_sets", operator_sets()}};
}

}  // namespace

std::string_view release() { return SDX_RELEASE; }
std::string_view compiler() { return SDX_COMPILER; }
std::string version_line() { return fmt::format("sardonyx {}", release()); }

Command version_command(CommandLine program) {
  CommandLine app = program.command("version", "which program this is, and what it knows");
  auto json = std::make_shared<bool>(false);
  app.flag("--json", *json, "as one JSON object");
  return {app, [json] {
            if (*json) {
              std::printf("%s\n", version_json().dump(1).c_str());
              return kOk;
            }
            std::printf("%s\n", version_line().c_str());
            std::printf("%-14s%s\n", "compiler", SDX_COMPILER);
            std::printf("%-14s%s\n", "this machine", std::string(isa_name(native_isa())).c_str());
            for (const auto& [domain, version] : operator_sets())
              std::printf("%-14s%s up to version %d\n", "operators", domain.c_str(), version);
            return kOk;
          }};
}

}  // namespace sdx::cli
