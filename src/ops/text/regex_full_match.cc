// RegexFullMatch. Patterns are RE2's, whose matching takes time linear in the text.
#include <re2/re2.h>

#include "ops/common.h"

namespace sdx::ops {
namespace {

struct RegexFullMatch {
  std::shared_ptr<const re2::RE2> pattern;
};

constexpr Version kHistory[] = {
    {20, "(X: T1) -> (Y: T2) {pattern: string} T1 in string T2 in bool"}};

Result<RegexFullMatch> read(const Node& node, const Facts&) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_never_capture(true);
  const std::string text = node.has("pattern") ? node.s("pattern") : "";
  auto pattern = std::make_shared<const re2::RE2>(text, options);
  if (!pattern->ok()) {
    return fail("SDX-T0632", "the pattern \"{}\" is not valid: {}", text, pattern->error());
  }
  return RegexFullMatch{std::move(pattern)};
}

Result<Facts> infer(const RegexFullMatch&, const Facts& in) {
  return Facts{like(in[0], DType::boolean)};
}

Status reference(const RegexFullMatch& a, Args& args) {
  const auto* x = args.in(0).data<std::string>();
  for (bool& y : args.out().values<bool>()) y = re2::RE2::FullMatch(*x++, *a.pattern);
  return ok();
}

std::vector<Case> cases() {
  return {{.name = "whole_strings_only",
           .opset = 20,
           .attrs = {{"pattern", std::string("a+\xc3\xa9.?")}},
           .inputs = {Tensor::of<std::string>(
               {2, 2}, {"aa\xc3\xa9", "aa\xc3\xa9\xc3\xa9", "xa\xc3\xa9", "a\xc3\xa9xy"})},
           .expected = {Tensor::of<bool>({2, 2}, {true, true, false, false})}},
          {.name = "an_empty_pattern_matches_empty_strings",
           .opset = 20,
           .attrs = {},
           .inputs = {Tensor::of<std::string>({2}, {"", "a"})},
           .expected = {Tensor::of<bool>({2}, {true, false})}}};
}

constexpr OpOf<RegexFullMatch> kRegexFullMatch{
    .name = "RegexFullMatch",
    .doc = "Whether each whole string matches a regular expression.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .cases = cases,
};

}  // namespace

extern const Op regex_full_match = erase<kRegexFullMatch>();

}  // namespace sdx::ops
