// StringNormalizer.
#include <set>

#include "ops/common.h"
#include "ops/text/unicode.h"

namespace sdx::ops {
namespace {

enum class Change { none, lower, upper };

struct StringNormalizer {
  Change change;
  bool fold;  // stop words match whatever their case
  std::set<std::string> stop_words;
};

constexpr Version kHistory[] = {
    {10,
     "(X: string) -> (Y: string) {case_change_action: string = \"NONE\", is_case_sensitive: int = "
     "0, locale: string, stopwords: strings}"}};

std::string changed(const std::string& text, Change change) {
  return change == Change::lower ? lower(text) : change == Change::upper ? upper(text) : text;
}

// What stop words and strings are compared as: case folding through upper to lower case.
std::string key(const StringNormalizer& a, const std::string& text) {
  return a.fold ? lower(upper(text)) : text;
}

Result<StringNormalizer> read(const Node& node, const Facts& in) {
  if (in[0].has_rank() && in[0].rank() != 1 && in[0].rank() != 2) {
    return fail("SDX-T0630", "the input has rank {}, expected [C] or [1,C]", in[0].rank());
  }
  StringNormalizer a;
  const std::string& action = node.s("case_change_action");
  if (action != "NONE" && action != "LOWER" && action != "UPPER") {
    return fail("SDX-T0631", "case_change_action is \"{}\", expected NONE, LOWER or UPPER", action);
  }
  a.change = action == "LOWER" ? Change::lower : action == "UPPER" ? Change::upper : Change::none;
  a.fold = node.i("is_case_sensitive") == 0;
  if (node.has("stopwords")) {
    for (const std::string& word : node.get<std::vector<std::string>>("stopwords")) {
      a.stop_words.insert(key(a, word));
    }
  }
  return a;
}

Result<Facts> infer(const StringNormalizer& a, const Facts& in) {
  if (!in[0].has_rank()) return Facts{Fact::tensor(DType::string)};
  Shape shape = *in[0].shape;
  if (shape.size() == 2) {
    if (shape[0].is_const() && shape[0].value() != 1) {
      return fail("SDX-T0630", "the input is {}, expected [C] or [1,C]", in[0].text());
    }
    shape[0] = 1;
  }
  // Without stop words only an empty input changes its length, to 1.
  if (!a.stop_words.empty() || !shape.back().is_const()) {
    shape.back() = Dim::unknown();
  } else if (shape.back().value() == 0) {
    shape.back() = 1;
  }
  return Facts{Fact::tensor(DType::string, std::move(shape))};
}

Status reference(const StringNormalizer& a, Args& args) {
  std::vector<std::string> kept;
  for (const std::string& text : args.in(0).values<std::string>()) {
    if (a.stop_words.empty() || !a.stop_words.contains(key(a, text))) {
      kept.push_back(changed(text, a.change));
    }
  }
  if (kept.empty()) kept.emplace_back();
  Dims dims(args.in(0).rank(), 1);
  dims.back() = int64_t(kept.size());
  SDX_ASSIGN(const View y, output(args, 0, std::move(dims)));
  std::move(kept.begin(), kept.end(), y.data<std::string>());
  return ok();
}

std::vector<Case> cases() {
  const auto words = [](std::vector<std::string> list) { return list; };
  return {{.name = "stop_words_of_any_case_go_and_the_rest_is_upper_case",
           .opset = 10,
           .attrs = {{"case_change_action", std::string("UPPER")},
                     {"stopwords", words({"MONDAY", "\u00c9t\u00e9"})}},
           .inputs = {Tensor::of<std::string>({1, 4}, {"monday", "\u00e9t\u00c9", "\u0436", "a"})},
           .expected = {Tensor::of<std::string>({1, 2}, {"\u0416", "A"})}},
          {.name = "case_may_matter",
           .opset = 10,
           .attrs = {{"is_case_sensitive", int64_t{1}},
                     {"case_change_action", std::string("LOWER")},
                     {"stopwords", words({"monday"})}},
           .inputs = {Tensor::of<std::string>({3}, {"monday", "Monday", ""})},
           .expected = {Tensor::of<std::string>({2}, {"monday", ""})}},
          {.name = "nothing_left_is_one_empty_string",
           .opset = 10,
           .attrs = {{"stopwords", words({"a"})}},
           .inputs = {Tensor::of<std::string>({1, 2}, {"a", "A"})},
           .expected = {Tensor::of<std::string>({1, 1}, {""})}}};
}

constexpr OpOf<StringNormalizer> kStringNormalizer{
    .name = "StringNormalizer",
    .doc = "Strings without stop words, in lower or upper case.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .cases = cases,
};

}  // namespace

extern const Op string_normalizer = erase<kStringNormalizer>();

}  // namespace sdx::ops
