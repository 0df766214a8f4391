// Einsum.
#include "ops/matmul/einsum.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/deadline.h"
#include "kernel/lanes.h"
#include "ops/common.h"
#include "ops/matmul/einsum_product.h"
#include "ops/noise.h"
#include "ops/widened.h"

namespace sdx::ops {
namespace {

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
    if (!in[i].has_rank()) return Einsum{};  // read again when it is known
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
  if (a.terms.size() != in.size()) return Facts{Fact::tensor(in[0].type)};
  Shape size(a.labels, Dim(1));
  for (size_t t = 0; t < in.size(); ++t) {
    for (size_t i = 0; i < a.terms[t].size(); ++i) {
      SDX_ASSIGN(size[a.terms[t][i]], broadcast(size[a.terms[t][i]], in[t].dim(i)));
    }
  }
  // As many terms are summed as a tensor of all labels would have elements.
  Dims all;
  for (const Dim& dim : size) all.push_back(dim.is_const() ? dim.value() : 1);
  if (!element_count(all)) {
    return fail("SDX-T0318", "labels of sizes {} are more terms than can be summed",
                to_string(all));
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
        Deadline::step();
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
        Deadline::step();
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

bool fits(const Einsum& a, const Call& call) {
  if (call.in.size() != 2 || call.in[0].type != DType::f32) return false;
  const Dims x = call.in[0].dims(), y = call.in[1].dims();
  return product_of(a, x, y).has_value();
}
size_t scratch(const Einsum& a, const Call& call) {
  const Dims x = call.in[0].dims(), y = call.in[1].dims();
  const auto p = product_of(a, x, y);
  const Layout l(*p);
  return (l.a_floats + l.b_floats + l.y_floats) * sizeof(float) +
         gemm_scratch_bytes(l.gemm_args(*p), call.threads);
}

Status run(const Einsum& e, Args& args) {
  const Product p = *product_of(e, args.in(0).dims, args.in(1).dims);
  const Layout l(p);
  auto* room = reinterpret_cast<float*>(args.scratch.data());
  float *a = room, *b = a + l.a_floats, *y = b + l.b_floats;
  const auto move = [&](const Loops& loops, const void* from, void* to) {
    strided_copy(loops, DType::f32, from, 0, to, 0, args.pool, args.isa);
  };
  if (!l.a_at) move(l.a.loops(p.m, p.k, false), args.in(0).raw, a);
  if (!l.b_at) move(l.b.loops(p.k, p.n, false), args.in(1).raw, b);
  GemmArgs g = l.gemm_args(p);
  g.a = l.a_at ? args.in(0).raw : a;
  g.b = l.b_at ? args.in(1).raw : b;
  g.c = l.y_at ? args.out().raw : y;
  g.scratch = y + l.y_floats;
  sdx::gemm(g, *args.pool, args.isa);
  if (!l.y_at) move(l.y.loops(p.m, p.n, true), y, args.out().raw);
  return ok();
}
constexpr Kernel<Einsum> kPlain = {
    .name = "einsum_gemm_f32", .fits = fits, .run = run, .scratch = scratch};
constexpr Kernel<Einsum> kKernels[] = {kPlain, widened<kPlain>("einsum_gemm_f16")};

uint64_t multiply_adds(const Einsum& a, const Call& call) {
  std::vector<uint64_t> size(a.labels, 1);
  for (size_t t = 0; t < call.in.size(); ++t) {
    const Dims dims = call.in[t].dims();
    for (size_t i = 0; i < dims.size(); ++i) {
      if (dims[i] != 1) size[a.terms[t][i]] = uint64_t(dims[i]);
    }
  }
  uint64_t all = call.in.size() - 1;
  for (const uint64_t s : size) all *= s;  // no more than infer lets pass
  return all;
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
           .expected = {Tensor::of<int32_t>({}, {63})}},
          {.name = "attention_scores",
           .opset = 12,
           .attrs = equation("bqhd,bkhd->bhqk"),
           .inputs = {noise({2, 5, 3, 7}), noise({2, 6, 3, 7}, 2)}},
          {.name = "products_of_rows",
           .opset = 12,
           .attrs = equation("bij,bkj->bik"),
           .inputs = {noise({3, 5, 20}), noise({3, 6, 20}, 2)}},
          {.name = "products_of_columns",
           .opset = 12,
           .attrs = equation("bji,bjk->bik"),
           .inputs = {noise({3, 20, 5}), noise({3, 20, 6}, 2)}},
          {.name = "a_vector_for_each_matrix",
           .opset = 12,
           .attrs = equation("bnd,bd->bn"),
           .inputs = {noise({3, 7, 20}), noise({3, 20}, 2)}},
          {.name = "the_result_turned",
           .opset = 12,
           .attrs = equation("ij,jk->ki"),
           .inputs = {noise({5, 20}), noise({20, 6}, 2)}},
          {.name = "outer_products",
           .opset = 12,
           .attrs = equation("bi,bj->bij"),
           .inputs = {noise({3, 7}), noise({3, 18}, 2)}},
          {.name = "products_of_elements",
           .opset = 12,
           .attrs = equation("ij,ij->i"),
           .inputs = {noise({6, 33}), noise({6, 33}, 2)}},
          {.name = "columns_of_two_labels",
           .opset = 12,
           .attrs = equation("bhwc,hkc->bhwk"),
           .inputs = {noise({2, 3, 4, 9}), noise({3, 5, 9}, 2)}},
          {.name = "sums_of_two_labels",
           .opset = 12,
           .attrs = equation("bchw,bkhw->bck"),
           .inputs = {noise({2, 5, 3, 7}), noise({2, 4, 3, 7}, 2)}},
          {.name = "outer_sums_in_another_order",
           .opset = 12,
           .attrs = equation("abcd,dbe->eac"),
           .inputs = {noise({2, 3, 4, 5}), noise({5, 3, 6}, 2)}}};
}

constexpr OpOf<Einsum> kEinsum{
    .name = "Einsum",
    .doc = "Products of tensors summed over labels, in Einstein's notation.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .kernels = kKernels,
    .cases = cases,
    .multiply_adds = multiply_adds,
};

}  // namespace

extern const Op einsum = erase<kEinsum>();

}  // namespace sdx::ops
