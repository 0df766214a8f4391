// Einsum.
#include <algorithm>
#include <cmath>
#include <map>

#include "kernel/lanes.h"
#include "ops/common.h"
#include "ops/list.h"

namespace sdx::ops {
namespace {

// Labels are numbered: those of the output first, in its order, then the summed ones, in order of
// first occurrence. An ellipsis has become labels of its own.
struct Einsum {
  size_t labels = 0, outputs = 0;
  std::vector<std::vector<size_t>> terms;  // per input, the label of each axis
};

constexpr Version kHistory[] = {
    {12, "(Inputs...: T) -> (Output: T) {equation!: string} T in num"},
    {28, "T += bf16"},
};

// The letters of one term; an ellipsis stands for `ellipsis` axes, written as the negative numbers
// -ellipsis .. -1.
Result<std::vector<int>> parse_term(std::string_view text, std::string_view equation,
                                    size_t ellipsis) {
  std::vector<int> labels;
  bool seen = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) {
      labels.push_back(c);
    } else if (text.substr(i, 3) == "..." && !seen) {
      for (size_t k = 0; k < ellipsis; ++k) labels.push_back(int(k) - int(ellipsis));
      seen = true;
      i += 2;
    } else {
      return fail("SDX-T0315", "equation \"{}\": unexpected '{}' in \"{}\"", equation, c, text);
    }
  }
  return labels;
}

Result<Einsum> read(const Node& node, const Facts& in) {
  std::string equation;
  for (const char c : node.s("equation")) {
    if (c != ' ' && c != '\t' && c != '\n') equation += c;
  }
  const size_t arrow = equation.find("->");
  const std::string_view all = equation, left = all.substr(0, std::min(arrow, all.size()));
  std::vector<std::string_view> texts;
  for (size_t begin = 0; begin <= left.size();) {
    const size_t comma = std::min(left.find(',', begin), left.size());
    texts.push_back(left.substr(begin, comma - begin));
    begin = comma + 1;
  }
  if (texts.size() != in.size()) {
    return fail("SDX-T0316", "equation \"{}\" has {} terms for {} inputs", equation, texts.size(),
                in.size());
  }
  // An ellipsis stands for as many axes as the longest one; shorter ones broadcast from the right.
  std::vector<size_t> dots(in.size(), 0);
  size_t most = 0;
  for (size_t i = 0; i < in.size(); ++i) {
    if (!in[i].has_rank()) return fail("SDX-T0111", "the rank of input {} must be known", i);
    const bool has = texts[i].find("...") != std::string_view::npos;
    const size_t letters = texts[i].size() - (has ? 3 : 0);
    if (has ? in[i].rank() < letters : in[i].rank() != letters) {
      return fail("SDX-T0316", "equation \"{}\": \"{}\" names {} axes, input {} has rank {}",
                  equation, texts[i], letters, i, in[i].rank());
    }
    if (has) dots[i] = in[i].rank() - letters;
    most = std::max(most, dots[i]);
  }
  std::vector<std::vector<int>> terms;
  std::map<int, size_t> uses;
  for (size_t i = 0; i < in.size(); ++i) {
    SDX_ASSIGN(std::vector<int> term, parse_term(texts[i], equation, dots[i]));
    for (const int label : term) ++uses[label];
    terms.push_back(std::move(term));
  }
  std::vector<int> out;
  if (arrow != std::string::npos) {
    SDX_ASSIGN(out, parse_term(all.substr(arrow + 2), equation, most));
  } else {
    // The ellipsis, then every letter that occurs once, in alphabetical order: capitals come first.
    for (const auto& [label, count] : uses) {
      if (label < 0 || count == 1) out.push_back(label);
    }
  }
  Einsum a;
  std::map<int, size_t> number;
  for (const int label : out) {
    if (!number.emplace(label, number.size()).second) {
      return fail("SDX-T0315", "equation \"{}\": label '{}' occurs twice in the output", equation,
                  char(label));
    }
    if (label >= 0 && !uses.contains(label)) {
      return fail("SDX-T0315", "equation \"{}\": label '{}' of the output is in no input", equation,
                  char(label));
    }
  }
  a.outputs = number.size();
  for (const std::vector<int>& term : terms) {
    std::vector<size_t>& to = a.terms.emplace_back();
    for (const int label : term) to.push_back(number.emplace(label, number.size()).first->second);
  }
  a.labels = number.size();
  return a;
}

Result<Facts> infer(const Einsum& a, const Facts& in) {
  Shape size(a.labels, Dim(1));
  for (size_t t = 0; t < in.size(); ++t) {
    for (size_t i = 0; i < a.terms[t].size(); ++i) {
      SDX_ASSIGN(size[a.terms[t][i]], broadcast(size[a.terms[t][i]], in[t].dim(i)));
    }
  }
  size.resize(a.outputs);
  return Facts{Fact::tensor(in[0].type, std::move(size))};
}

// Sizes of the labels, and for each operand its step per label (0 where it broadcasts or does not
// have the label).
struct Plan {
  std::vector<size_t> size;
  std::vector<std::vector<size_t>> steps;
  size_t outputs = 1, count = 1;

  size_t offset(size_t operand, size_t first, size_t last, size_t flat) const {
    size_t at = 0;
    for (size_t l = last; l-- > first;) {
      at += flat % size[l] * steps[operand][l];
      flat /= size[l];
    }
    return at;
  }
};
Plan plan_of(const Einsum& a, std::span<const View> in) {
  Plan p;
  p.size.assign(a.labels, 1);
  for (size_t t = 0; t < in.size(); ++t) {
    std::vector<size_t> steps(a.labels, 0);
    size_t step = 1;
    for (size_t i = in[t].rank(); i-- > 0;) {
      const auto size = size_t(in[t].dims[i]);
      const size_t label = a.terms[t][i];
      if (size != 1) {
        p.size[label] = size;
        steps[label] += step;  // a label that occurs twice walks the diagonal
      }
      step *= size;
    }
    p.steps.push_back(std::move(steps));
  }
  for (size_t l = 0; l < a.labels; ++l) (l < a.outputs ? p.outputs : p.count) *= p.size[l];
  return p;
}

// Over the summed labels in row-major order, from +0: two operands acc = fma(a, b, acc); more: p =
// a * b * ..., rounded from left to right, and acc = fma(p, last, acc); one: the sum by lanes.
// Integers wrap.
template <class T>
void contract(const Einsum& a, Args& args) {
  const Plan p = plan_of(a, args.ins);
  const size_t operands = args.ins.size();
  for (size_t o = 0; o < p.outputs; ++o) {
    std::vector<const T*> base(operands);
    for (size_t t = 0; t < operands; ++t)
      base[t] = args.in(t).data<T>() + p.offset(t, 0, a.outputs, o);
    const auto element = [&](size_t t, size_t i) {
      return base[t][p.offset(t, a.outputs, a.labels, i)];
    };
    T& to = args.out().data<T>()[o];
    if constexpr (std::is_integral_v<T>) {
      uint64_t acc = 0;
      for (size_t i = 0; i < p.count; ++i) {
        uint64_t all = 1;
        for (size_t t = 0; t < operands; ++t) all *= uint64_t(element(t, i));
        acc += all;
      }
      to = T(acc);
    } else {
      using C = Compute<T>;
      if (operands == 1) {
        to = store<T>(lane_sum<C>(p.count, [&](size_t i) { return load(element(0, i)); }));
        continue;
      }
      C acc = 0;
      for (size_t i = 0; i < p.count; ++i) {
        C all = load(element(0, i));
        for (size_t t = 1; t + 1 < operands; ++t) all = all * load(element(t, i));
        acc = std::fma(all, load(element(operands - 1, i)), acc);
      }
      to = store<T>(acc);
    }
  }
}

Status reference(const Einsum& a, Args& args) {
  const auto run = [&]<class T>() { contract<T>(a, args); };
  if (visit_floats(args.in(0).type, run) || visit_integers(args.in(0).type, run)) return ok();
  return unsupported_type("Einsum", args.in(0).type);
}

std::vector<Case> cases() {
  const Tensor m = Tensor::of<float>({2, 2}, {1, 2, 3, 4});
  const auto equation = [](const char* text) { return AttrMap{{"equation", std::string(text)}}; };
  return {{.name = "without_an_arrow_letters_are_sorted",
           .opset = 12,
           .attrs = equation("ba"),
           .inputs = {m},
           .expected = {Tensor::of<float>({2, 2}, {1, 3, 2, 4})}},
          {.name = "a_repeated_letter_is_the_diagonal",
           .opset = 12,
           .attrs = equation("ii->i"),
           .inputs = {m},
           .expected = {Tensor::of<float>({2}, {1, 4})}},
          {.name = "an_ellipsis_broadcasts",
           .opset = 12,
           .attrs = equation("...ij, ...jk -> ...ik"),
           .inputs = {Tensor::of<float>({2, 1, 2}, {1, 2, 3, 4}), m},
           .expected = {Tensor::of<float>({2, 1, 2}, {7, 10, 15, 22})}},
          {.name = "three_operands_of_integers",
           .opset = 12,
           .attrs = equation("i,i,i->"),
           .inputs = {Tensor::of<int32_t>({2}, {1, 2}), Tensor::of<int32_t>({2}, {3, 4}),
                      Tensor::of<int32_t>({2}, {5, 6})},
           .expected = {Tensor::of<int32_t>({}, {63})}}};
}

constexpr OpOf<Einsum> kEinsum{
    .name = "Einsum",
    .doc = "Products of tensors summed over labels, in Einstein's notation.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .cases = cases,
};

}  // namespace

const Op einsum = erase<kEinsum>();

}  // namespace sdx::ops
