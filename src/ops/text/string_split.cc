// StringSplit.
#include <string_view>

#include "ops/common.h"
#include "ops/text/unicode.h"

namespace sdx::ops {
namespace {

struct StringSplit {
  std::string delimiter;  // empty: runs of white space
  size_t most;            // splits
};

constexpr Version kHistory[] = {
    {20,
     "(X: T1) -> (Y: T2, Z: T3) {delimiter: string, maxsplit: int} T1 in string T2 in string "
     "T3 in i64"}};

Result<StringSplit> read(const Node& node, const Facts&) {
  const int64_t most = node.i_or("maxsplit", -1);
  return StringSplit{node.has("delimiter") ? node.s("delimiter") : "",
                     most < 0 ? std::numeric_limits<size_t>::max() : size_t(most)};
}

Result<Facts> infer(const StringSplit&, const Facts& in) {
  if (!in[0].has_rank()) return Facts{Fact::tensor(DType::string), Fact::tensor(DType::i64)};
  Shape shape = *in[0].shape;
  shape.push_back(Dim::unknown());
  return Facts{Fact::tensor(DType::string, std::move(shape)), like(in[0], DType::i64)};
}

using Parts = std::vector<std::string_view>;

Parts split_at_spaces(std::string_view text, size_t most) {
  Parts parts;
  size_t at = 0;
  while (true) {
    for (size_t size = 0; at < text.size(); at += size) {
      if (!is_space(decode(text.substr(at), size))) break;
    }
    if (at == text.size()) return parts;
    if (parts.size() == most) {
      parts.push_back(text.substr(at));
      return parts;
    }
    const size_t start = at;
    for (size_t size = 0; at < text.size(); at += size) {
      if (is_space(decode(text.substr(at), size))) break;
    }
    parts.push_back(text.substr(start, at - start));
  }
}

Parts split_at_delimiter(std::string_view text, std::string_view delimiter, size_t most) {
  Parts parts;
  while (parts.size() < most) {
    const size_t at = text.find(delimiter);
    if (at == text.npos) break;
    parts.push_back(text.substr(0, at));
    text.remove_prefix(at + delimiter.size());
  }
  parts.push_back(text);
  return parts;
}

Status reference(const StringSplit& a, Args& args) {
  const View& x = args.in(0);
  std::vector<Parts> rows;
  size_t widest = 0;
  for (const std::string& text : x.values<std::string>()) {
    rows.push_back(a.delimiter.empty() ? split_at_spaces(text, a.most)
                                       : split_at_delimiter(text, a.delimiter, a.most));
    widest = std::max(widest, rows.back().size());
  }
  Dims dims(x.dims.begin(), x.dims.end());
  if (args.wants(1) || args.outs.size() > 1) {
    SDX_ASSIGN(const View counts, output(args, 1, dims));
    for (size_t i = 0; i < rows.size(); ++i) counts.data<int64_t>()[i] = int64_t(rows[i].size());
  }
  dims.push_back(int64_t(widest));
  SDX_ASSIGN(const View y, output(args, 0, std::move(dims)));
  for (size_t i = 0; i < rows.size(); ++i) {
    std::copy(rows[i].begin(), rows[i].end(), y.data<std::string>() + i * widest);
  }
  return ok();
}

std::vector<Case> cases() {
  return {
      {.name = "keeps_empty_strings_between_delimiters",
       .opset = 20,
       .attrs = {{"delimiter", std::string(",")}},
       .inputs = {Tensor::of<std::string>({2}, {"a,,b", ""})},
       .expected = {Tensor::of<std::string>({2, 3}, {"a", "", "b", "", "", ""}),
                    Tensor::of<int64_t>({2}, {3, 1})},
       .outputs = 2},
      {.name = "runs_of_white_space_count_once",
       .opset = 20,
       .attrs = {},
       .inputs = {Tensor::of<std::string>({2, 1}, {" a \t b\xe3\x80\x80"
                                                   "c\n",
                                                   "  "})},
       .expected = {Tensor::of<std::string>({2, 1, 3}, {"a", "b", "c", "", "", ""}),
                    Tensor::of<int64_t>({2, 1}, {3, 0})},
       .outputs = 2},
      {.name = "the_rest_stays_whole_after_maxsplit",
       .opset = 20,
       .attrs = {{"maxsplit", int64_t{1}}},
       .inputs = {Tensor::of<std::string>({1}, {" a  b  c "})},
       .expected = {Tensor::of<std::string>({1, 2}, {"a", "b  c "}), Tensor::of<int64_t>({1}, {2})},
       .outputs = 2},
      {.name = "of_no_strings",
       .opset = 20,
       .attrs = {},
       .inputs = {Tensor::of<std::string>({0}, {})},
       .expected = {Tensor::of<std::string>({0, 0}, {}), Tensor::of<int64_t>({0}, {})},
       .outputs = 2}};
}

constexpr OpOf<StringSplit> kStringSplit{
    .name = "StringSplit",
    .doc = "The parts of each string between delimiters, and how many there are.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .cases = cases,
};

}  // namespace

extern const Op string_split = erase<kStringSplit>();

}  // namespace sdx::ops
