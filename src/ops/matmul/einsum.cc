// Einsum.
#include "ops/matmul/einsum.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "base/aligned.h"
#include "base/deadline.h"
#include "kernel/gemm/gemm.h"
#include "kernel/lanes.h"
#include "ops/common.h"
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

// Two operands as a batch of matrix products: every label is in the batch (both operands and the
// output), a row (first operand and output), a column (second and output) or summed (both
// operands). Labels keep their numbers' order within each group, so the chain over the summed ones
// is the reference's.
struct Product {
  static constexpr size_t kMostLabels = 16;
  struct Axis {
    size_t size = 1, a = 0, b = 0, y = 0;  // and its steps in the operands and the output
  };
  std::array<Axis, kMostLabels> batch{}, row{}, col{}, sum{};
  size_t batches = 0, rows = 0, cols = 0, sums = 0;  // axes
  size_t count = 1, m = 1, n = 1, k = 1;             // sizes

  size_t a_floats() const { return aligned_floats(count * m * k); }
  size_t b_floats() const { return aligned_floats(count * k * n); }
  size_t y_floats() const { return aligned_floats(count * m * n); }
  GemmArgs gemm_args() const {
    GemmArgs g;
    g.m = m;
    g.n = n;
    g.k = k;
    g.lda = k;
    g.ldb = g.ldc = n;
    g.batch = count;
    g.a_batch = m * k;
    g.b_batch = k * n;
    g.c_batch = m * n;
    return g;
  }
};

std::optional<Product> product_of(const Einsum& a, std::span<const int64_t> x,
                                  std::span<const int64_t> y) {
  if (a.terms.size() != 2 || a.labels > Product::kMostLabels) return std::nullopt;
  std::array<Product::Axis, Product::kMostLabels> axes{};
  std::array<bool, Product::kMostLabels> in_a{}, in_b{};
  const auto walk = [&](const std::vector<size_t>& term, std::span<const int64_t> dims, auto& seen,
                        size_t Product::Axis::*step) {
    size_t at = 1;
    for (size_t i = dims.size(); i-- > 0;) {
      const size_t label = term[i], size = size_t(dims[i]);
      if (seen[label] || size == 0 || (axes[label].size != 1 && axes[label].size != size))
        return false;
      seen[label] = true;
      axes[label].size = size;
      axes[label].*step = at;
      at *= size;
    }
    return true;
  };
  if (!walk(a.terms[0], x, in_a, &Product::Axis::a) ||
      !walk(a.terms[1], y, in_b, &Product::Axis::b))
    return std::nullopt;
  // A size of 1 against a larger one broadcasts: left to the reference.
  for (size_t t = 0; t < 2; ++t) {
    for (size_t i = 0; i < a.terms[t].size(); ++i) {
      if (size_t((t == 0 ? x : y)[i]) != axes[a.terms[t][i]].size) return std::nullopt;
    }
  }
  size_t step = 1;
  for (size_t l = a.outputs; l-- > 0;) {
    axes[l].y = step;
    step *= axes[l].size;
  }
  Product p;
  for (size_t l = 0; l < a.labels; ++l) {
    const bool out = l < a.outputs;
    if (in_a[l] && in_b[l]) {
      (out ? p.batch[p.batches++] : p.sum[p.sums++]) = axes[l];
      (out ? p.count : p.k) *= axes[l].size;
    } else if (out && in_a[l]) {
      p.row[p.rows++] = axes[l];
      p.m *= axes[l].size;
    } else if (out && in_b[l]) {
      p.col[p.cols++] = axes[l];
      p.n *= axes[l].size;
    } else {
      return std::nullopt;
    }
  }
  return p;
}

bool fits(const Einsum& a, const Call& call) {
  if (call.in.size() != 2 || call.in[0].type != DType::f32) return false;
  const Dims x = call.in[0].dims(), y = call.in[1].dims();
  return product_of(a, x, y).has_value();
}
size_t scratch(const Einsum& a, const Call& call) {
  const Dims x = call.in[0].dims(), y = call.in[1].dims();
  const auto p = product_of(a, x, y);
  return (p->a_floats() + p->b_floats() + p->y_floats()) * sizeof(float) +
         gemm_scratch_bytes(p->gemm_args(), call.threads);
}

// The offset, by one of the three steps, of position `flat` of a group of labels.
size_t offset_of(const std::array<Product::Axis, Product::kMostLabels>& axes, size_t n, size_t flat,
                 size_t Product::Axis::*step) {
  size_t at = 0;
  for (size_t i = n; i-- > 0;) {
    at += flat % axes[i].size * (axes[i].*step);
    flat /= axes[i].size;
  }
  return at;
}

Status run(const Einsum& e, Args& args) {
  using Axis = Product::Axis;
  const Product p = *product_of(e, args.in(0).dims, args.in(1).dims);
  auto* a = reinterpret_cast<float*>(args.scratch.data());
  float *b = a + p.a_floats(), *c = b + p.b_floats();
  // Operands in the order of the product, one row of it at a time.
  args.pool->parallel(p.count * p.m, 1 + 4096 / (p.k + 1), [&](size_t begin, size_t end, int) {
    for (size_t i = begin; i < end; ++i) {
      const float* from = args.in(0).data<float>() +
                          offset_of(p.batch, p.batches, i / p.m, &Axis::a) +
                          offset_of(p.row, p.rows, i % p.m, &Axis::a);
      for (size_t k = 0; k < p.k; ++k) a[i * p.k + k] = from[offset_of(p.sum, p.sums, k, &Axis::a)];
    }
  });
  args.pool->parallel(p.count * p.k, 1 + 4096 / (p.n + 1), [&](size_t begin, size_t end, int) {
    for (size_t i = begin; i < end; ++i) {
      const float* from = args.in(1).data<float>() +
                          offset_of(p.batch, p.batches, i / p.k, &Axis::b) +
                          offset_of(p.sum, p.sums, i % p.k, &Axis::b);
      for (size_t j = 0; j < p.n; ++j) b[i * p.n + j] = from[offset_of(p.col, p.cols, j, &Axis::b)];
    }
  });
  GemmArgs g = p.gemm_args();
  g.a = a;
  g.b = b;
  g.c = c;
  g.scratch = c + p.y_floats();
  sdx::gemm(g, *args.pool, args.isa);
  args.pool->parallel(p.count * p.m, 1 + 4096 / (p.n + 1), [&](size_t begin, size_t end, int) {
    for (size_t i = begin; i < end; ++i) {
      float* to = args.out().data<float>() + offset_of(p.batch, p.batches, i / p.m, &Axis::y) +
                  offset_of(p.row, p.rows, i % p.m, &Axis::y);
      for (size_t j = 0; j < p.n; ++j) to[offset_of(p.col, p.cols, j, &Axis::y)] = c[i * p.n + j];
    }
  });
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
  uint64_t all = call.in.size() < 2 ? 0 : 1;
  for (const uint64_t s : size) all *= s;
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
