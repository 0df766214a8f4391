#include "opset.h"

#include <fmt/ranges.h>

#include <cstdio>
#include <fstream>

#include "base/printable.h"
#include "check/check.h"
#include "model/io.h"
#include "ops/list.h"

namespace sdx::cli {

bool is_operator_set(const std::string& path) {
  // Field 1 of the message, nine bytes long.
  constexpr std::string_view kStart = "\x0a\x09ONNXOPSET";
  char start[kStart.size()] = {};
  std::ifstream file(path, std::ios::binary);
  return file.read(start, sizeof start) && std::string_view(start, sizeof start) == kStart;
}

Status print_operator_set(const std::string& path) {
  SDX_ASSIGN(const auto set, model::read_message_file<model::OperatorSet>(path));
  const auto first_line = [](const std::string& text) { return text.substr(0, text.find('\n')); };
  const auto line = [](const char* label, const std::string& text) {
    if (!text.empty()) std::printf("%-14s%s\n", label, printable(text).c_str());
  };
  line("operator set",
       fmt::format("{} {}", set.domain.empty() ? "ai.onnx" : set.domain, set.opset_version));
  line("IR version",
       check::version_text(set.ir_version) +
           (set.ir_version_prerelease.empty() ? "" : "-" + set.ir_version_prerelease) +
           (set.ir_build_metadata.empty() ? "" : "+" + set.ir_build_metadata));
  line("doc", first_line(set.doc_string));
  size_t here = 0;
  for (const model::OperatorInfo& op : set.operators) {
    const Op* found = find_op(set.domain, op.op_type);
    const bool runs = found != nullptr && found->at(static_cast<int>(op.since_version)) != nullptr;
    here += runs ? 1 : 0;
    std::printf("%-30s since %-4lld %-13s %s%s\n", printable(op.op_type).c_str(),
                static_cast<long long>(op.since_version),
                op.status == 1 ? "stable" : "experimental",
                runs ? "runs here" : "does not run here",
                op.doc_string.empty() ? "" : ("  " + first_line(op.doc_string)).c_str());
  }
  for (const model::Function& f : set.functions) {
    std::printf("%-30s function (%s) -> (%s)\n", printable(f.name).c_str(),
                fmt::format("{}", fmt::join(f.input, ", ")).c_str(),
                fmt::format("{}", fmt::join(f.output, ", ")).c_str());
  }
  std::printf("%zu operators, %zu of them run here; %zu functions\n", set.operators.size(), here,
              set.functions.size());
  return ok();
}

}  // namespace sdx::cli
