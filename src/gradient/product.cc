// Derivatives of products of matrices.
#include <set>

#include "gradient/rule.h"
#include "ops/matmul/einsum.h"
#include "ops/matmul/gemm.h"

namespace sdx::gradient {
namespace {

Outlet swap_last(Builder& b, Outlet x) {
  std::vector<int64_t> perm(b.rank(x));
  for (size_t i = 0; i < perm.size(); ++i) perm[i] = int64_t(i);
  if (perm.size() >= 2) std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  return b.transpose(x, perm);
}

Outlets matmul(const Step& s) {
  Builder& b = s.b;
  // Vectors become a row and a column; the product gets the axes that they lack.
  const bool row = b.rank(s.in[0]) == 1, column = b.rank(s.in[1]) == 1;
  const Outlet x = row ? b.op("Unsqueeze", {s.in[0], b.ints({0})}) : s.in[0];
  const Outlet w = column ? b.op("Unsqueeze", {s.in[1], b.ints({1})}) : s.in[1];
  Outlet g = s.g();
  if (row && column) {
    g = b.op("Reshape", {g, b.ints({1, 1})});
  } else if (row || column) {
    g = b.op("Unsqueeze", {g, b.ints({row ? -2 : -1})});
  }
  const Outlet to_x = b.unbroadcast(b.op("MatMul", {g, swap_last(b, w)}), x);
  const Outlet to_w = b.unbroadcast(b.op("MatMul", {swap_last(b, x), g}), w);
  return {row ? b.reshape(to_x, s.in[0]) : to_x, column ? b.reshape(to_w, s.in[1]) : to_w};
}

Outlets gemm(const Step& s) {
  Builder& b = s.b;
  const auto& a = s.as<ops::Gemm>();
  const Outlet left = a.trans_a ? swap_last(b, s.in[0]) : s.in[0];
  const Outlet right = a.trans_b ? swap_last(b, s.in[1]) : s.in[1];
  Outlet y = b.mul(b.op("MatMul", {left, right}), s.number(a.alpha));
  if (s.has(2)) y = b.add(y, b.mul(s.in[2], s.number(a.beta)));
  return s.through({y});
}

// "ij,jk->ik": the derivative by one operand is the product of the others and what arrives; labels
// that only this operand has were summed, so the result is repeated along them.
Outlets einsum(const Step& s) {
  Builder& b = s.b;
  const auto& a = s.as<ops::Einsum>();
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  if (a.labels > kLetters.size()) {
    b.refuse(fail("SDX-D0007", "Einsum of {} labels has no derivative rule; {} have", a.labels,
                  kLetters.size()));
    return {};
  }
  std::vector<std::string> terms;  // as an equation writes them
  for (const std::vector<size_t>& term : a.terms) {
    std::string& text = terms.emplace_back();
    for (const size_t label : term) text += kLetters[label];
  }
  const std::string result(kLetters.substr(0, a.outputs));
  const auto repeats = [](const std::string& term) {
    return std::set<char>(term.begin(), term.end()).size() != term.size();
  };
  Outlets grads;
  for (size_t i = 0; i < s.in.size(); ++i) {
    if (repeats(terms[i])) {
      b.refuse(fail("SDX-D0001",
                    "operator Einsum with a diagonal of an input has no derivative "
                    "rule: input {}",
                    i));
      return {};
    }
    Outlets operands{s.g()};
    std::string equation = result, known = result;
    for (size_t j = 0; j < s.in.size(); ++j) {
      if (j == i) continue;
      operands.push_back(s.in[j]);
      equation += "," + terms[j];
      known += terms[j];
    }
    std::string wanted;
    std::vector<int64_t> missing;
    for (size_t axis = 0; axis < terms[i].size(); ++axis) {
      if (known.find(terms[i][axis]) != std::string::npos) {
        wanted += terms[i][axis];
      } else {
        missing.push_back(int64_t(axis));
      }
    }
    Outlet grad = b.op("Einsum", operands, {{"equation", equation + "->" + wanted}});
    if (!missing.empty()) {
      grad = b.op("Expand", {b.op("Unsqueeze", {grad, b.ints(missing)}), b.shape(s.in[i])});
    }
    grads.push_back(b.unbroadcast(grad, s.in[i]));
  }
  return grads;
}

constexpr Entry kProductRules[] = {
    {"MatMul", matmul},
    {"Gemm", gemm},
    {"Einsum", einsum},
};

}  // namespace

std::span<const Entry> product_rules() { return kProductRules; }

}  // namespace sdx::gradient
