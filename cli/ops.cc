// sardonyx ops: every operator that runs here, its versions, types and kernels.
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "command.h"
#include "ops/list.h"
#include "opset.h"
#include "words.h"

namespace sdx::cli {
namespace {

using Json = nlohmann::ordered_json;

struct OpsFlags {
  std::string name;
  bool json = false, markdown = false;
};

std::string full_name(const Op& op) {
  return op.domain.empty() ? std::string(op.name) : fmt::format("{}.{}", op.domain, op.name);
}

std::string_view option_name(Formal::Option option) {
  return option == Formal::Option::single     ? "single"
         : option == Formal::Option::optional ? "optional"
                                              : "variadic";
}

// Defaults are numbers, strings or lists of them.
Json attribute_json(const AttrValue& value) {
  return std::visit(
      [](const auto& v) -> Json {
        if constexpr (std::is_constructible_v<Json, decltype(v)>) return v;
        return nullptr;
      },
      value);
}

Json formals_json(const std::vector<Formal>& formals) {
  Json list = Json::array();
  for (const Formal& formal : formals) {
    list.push_back({{"name", formal.name},
                    {"type", formal.type},
                    {"option", option_name(formal.option)},
                    {"homogeneous", formal.homogeneous}});
  }
  return list;
}

Json op_json(const Op& op) {
  Json versions = Json::array();
  for (const Signature& signature : op.signatures()) {
    Json attributes = Json::array();
    for (const AttrDecl& decl : signature.attributes) {
      Json attribute = {
          {"name", decl.name}, {"type", attr_type_name(decl.type)}, {"required", decl.required}};
      if (decl.fallback) attribute["default"] = attribute_json(*decl.fallback);
      attributes.push_back(std::move(attribute));
    }
    Json types = Json::object();
    for (const auto& [variable, list] : signature.types) types[variable] = list;
    versions.push_back({{"since", signature.since},
                        {"deprecated", signature.deprecated},
                        {"inputs", formals_json(signature.inputs)},
                        {"outputs", formals_json(signature.outputs)},
                        {"attributes", std::move(attributes)},
                        {"types", std::move(types)}});
  }
  Json kernels = Json::array();
  for (const Op::AnyKernel& kernel : op.kernels) kernels.push_back(kernel.name);
  return {{"domain", op.domain.empty() ? "ai.onnx" : op.domain},
          {"name", op.name},
          {"doc", op.doc},
          {"deterministic", op.deterministic},
          {"versions", std::move(versions)},
          {"kernels", std::move(kernels)}};
}

std::string formals_text(const std::vector<Formal>& formals) {
  std::string text;
  for (const Formal& formal : formals) {
    const char* mark = formal.option == Formal::Option::optional   ? "?"
                       : formal.option == Formal::Option::variadic ? "..."
                                                                   : "";
    text += fmt::format("{}{}{}: {}", text.empty() ? "" : ", ", formal.name, mark, formal.type);
  }
  return text;
}

void print_one(const Op& op) {
  std::printf("%s: %s\n", full_name(op).c_str(), std::string(op.doc).c_str());
  for (const Signature& signature : op.signatures()) {
    std::printf("\nversion %d%s\n  (%s) -> (%s)\n", signature.since,
                signature.deprecated ? " (deprecated)" : "", formals_text(signature.inputs).c_str(),
                formals_text(signature.outputs).c_str());
    for (const AttrDecl& decl : signature.attributes) {
      std::string fallback = decl.required ? "required" : "";
      if (decl.fallback) fallback = "= " + attribute_json(*decl.fallback).dump();
      std::printf("  %s: %s %s\n", decl.name.c_str(),
                  std::string(attr_type_name(decl.type)).c_str(), fallback.c_str());
    }
    for (const auto& [variable, types] : signature.types) {
      std::printf("  %s in %s\n", variable.c_str(),
                  fmt::format("{}", fmt::join(types, " ")).c_str());
    }
  }
  std::vector<std::string_view> kernels;
  for (const Op::AnyKernel& kernel : op.kernels) kernels.push_back(kernel.name);
  std::printf("\nkernels: %s\n", kernels.empty()
                                     ? "the reference"
                                     : fmt::format("{}", fmt::join(kernels, ", ")).c_str());
  if (!op.deterministic) std::printf("not deterministic\n");
}

void print_line(const Op& op) {
  std::vector<int> versions;
  for (const Signature& signature : op.signatures()) versions.push_back(signature.since);
  std::vector<std::string_view> kernels;
  for (const Op::AnyKernel& kernel : op.kernels) kernels.push_back(kernel.name);
  std::printf("%-40s %-28s %s\n", full_name(op).c_str(),
              fmt::format("{}", fmt::join(versions, " ")).c_str(),
              fmt::format("{}", fmt::join(kernels, ", ")).c_str());
}

// "float float16 int64" of a variable's "tensor(float)", "tensor(float16)" ...; other kinds of
// values in full.
std::string types_text(const std::vector<std::string>& types) {
  std::string text;
  for (const std::string& type : types) {
    const bool tensor = type.starts_with("tensor(");
    text += (text.empty() ? "" : " ") + (tensor ? type.substr(7, type.size() - 8) : type);
  }
  return text;
}

// docs/operators.md.
void print_markdown(const std::vector<const Op*>& list) {
  size_t versions = 0;
  for (const Op* op : list) versions += op->signatures().size();
  std::printf(
      "# Operators\n\n%zu operators in %zu versions, each with every element type that its schema "
      "allows: the types below are those of the\nnewest version. `sardonyx ops NAME` shows all "
      "versions with their attributes. Beside the reference, which every operator\nhas, the "
      "kernels "
      "are fast bodies with the same bits. This page is printed by `sardonyx ops --markdown`.\n",
      list.size(), versions);
  std::string_view domain = "none";
  for (const Op* op : list) {
    if (op->domain != domain) {
      domain = op->domain;
      std::printf(
          "\n## %s\n\n| operator | since | what it does | types | kernels "
          "|\n|---|---|---|---|---|\n",
          domain.empty() ? "ai.onnx" : std::string(domain).c_str());
    }
    std::vector<std::string> since, types, kernels;
    for (const Signature& signature : op->signatures())
      since.push_back(
          fmt::format("{}{}", signature.since, signature.deprecated ? " (deprecated)" : ""));
    for (const auto& [variable, list_of] : op->signatures().back().types)
      types.push_back(variable + ": " + types_text(list_of));
    for (const Op::AnyKernel& kernel : op->kernels) kernels.push_back(std::string(kernel.name));
    std::printf("| %s | %s | %s | %s | %s |\n", std::string(op->name).c_str(),
                fmt::format("{}", fmt::join(since, ", ")).c_str(), std::string(op->doc).c_str(),
                fmt::format("{}", fmt::join(types, "; ")).c_str(),
                fmt::format("{}", fmt::join(kernels, ", ")).c_str());
  }
}

int ops(const OpsFlags& flags) {
  if (is_operator_set(flags.name)) {
    const Status status = print_operator_set(flags.name);
    return status ? kOk : report(status.error());
  }
  std::vector<const Op*> list(all_ops().begin(), all_ops().end());
  std::sort(list.begin(), list.end(),
            [](const Op* a, const Op* b) { return full_name(*a) < full_name(*b); });
  if (!flags.name.empty()) {
    std::vector<std::string> names;
    names.reserve(list.size());
    for (const Op* op : list) names.push_back(full_name(*op));
    std::erase_if(
        list, [&](const Op* op) { return op->name != flags.name && full_name(*op) != flags.name; });
    if (list.empty())
      return report(not_among("SDX-C0050", "there is no operator", flags.name, names));
  }
  if (flags.json) {
    Json all = Json::array();
    for (const Op* op : list) all.push_back(op_json(*op));
    std::printf("%s\n", all.dump(1).c_str());
    return kOk;
  }
  if (flags.markdown) {
    std::erase_if(list, [](const Op* op) { return op->domain == "sardonyx"; });  // made by rewrites
    std::stable_sort(list.begin(), list.end(),
                     [](const Op* a, const Op* b) { return a->domain < b->domain; });
    print_markdown(list);
    return kOk;
  }
  if (flags.name.empty()) {
    std::printf("%-40s %-28s %s\n", "operator", "versions", "kernels");
    for (const Op* op : list) print_line(*op);
    std::printf("%zu operators\n", list.size());
    return kOk;
  }
  for (const Op* op : list) print_one(*op);
  return kOk;
}

}  // namespace

Command ops_command(CommandLine program) {
  CommandLine app = program.command("ops", "every operator, version and type that runs here");
  auto flags = std::make_shared<OpsFlags>();
  app.option("operator", flags->name,
             "one operator, as Conv or ai.onnx.ml.Scaler; or a file of an operator set");
  app.flag("--json", flags->json, "for programs");
  app.flag("--markdown", flags->markdown, "the page docs/operators.md");
  return {app, [flags] { return ops(*flags); }};
}

}  // namespace sdx::cli
