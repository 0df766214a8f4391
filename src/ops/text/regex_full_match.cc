// RegexFullMatch. Patterns are RE2's, whose matching takes time linear in the text. A build without
// RE2 (SDX_RE2=OFF) knows the operator and refuses its patterns.
#ifdef SDX_WITH_RE2
#include <re2/re2.h>
#endif

#include "ops/common.h"

namespace sdx::ops {
namespace {

#ifdef SDX_WITH_RE2
using Pattern = re2::RE2;
#else
struct Pattern {
  static bool FullMatch(const std::string&, const Pattern&) { return false; }  // there is none
};
#endif

struct RegexFullMatch {
  std::shared_ptr<const Pattern> pattern;
};

constexpr Version kHistory[] = {
    {20, "(X: T1) -> (Y: T2) {pattern: string} T1 in string T2 in bool"}};

Result<RegexFullMatch> read(const Node& node, const Facts&) {
#ifndef SDX_WITH_RE2
  return fail("SDX-T0633", "\"{}\": this build has no regular expressions (SDX_RE2)",
              node.has("pattern") ? node.s("pattern") : "");
#else
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_never_capture(true);
  const std::string text = node.has("pattern") ? node.s("pattern") : "";
  auto pattern = std::make_shared<const re2::RE2>(text, options);
  if (!pattern->ok()) {
    return fail("SDX-T0632", "the pattern \"{}\" is not valid: {}", text, pattern->error());
  }
  return RegexFullMatch{std::move(pattern)};
#endif
}

Result<Facts> infer(const RegexFullMatch&, const Facts& in) {
  return Facts{like(in[0], DType::boolean)};
}

Status reference(const RegexFullMatch& a, Args& args) {
  const auto* x = args.in(0).data<std::string>();
  for (bool& y : args.out().values<bool>()) y = Pattern::FullMatch(*x++, *a.pattern);
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
