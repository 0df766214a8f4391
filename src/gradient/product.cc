// Derivatives of products of matrices.
#include <algorithm>

#include "gradient/rule.h"

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
  const Outlet left = s.use.i("transA") != 0 ? swap_last(b, s.in[0]) : s.in[0];
  const Outlet right = s.use.i("transB") != 0 ? swap_last(b, s.in[1]) : s.in[1];
  Outlet y = b.mul(b.op("MatMul", {left, right}), s.f("alpha"));
  if (s.has(2)) y = b.add(y, b.mul(s.in[2], s.f("beta")));
  return s.through({y});
}

// "ij,jk->ik": the derivative by one operand is the product of the others and what arrives; labels
// that only this operand has were summed, so the result is repeated along them.
Outlets einsum(const Step& s) {
  Builder& b = s.b;
  std::string text = s.use.s("equation");
  std::erase(text, ' ');
  const size_t arrow = text.find("->");
  std::vector<std::string> labels(1);
  for (const char c : text.substr(0, arrow)) {
    if (c == ',') labels.emplace_back();
    if (c != ',') labels.back() += c;
  }
  std::string result;
  if (arrow != std::string::npos) {
    result = text.substr(arrow + 2);
  } else {
    std::string all = text;
    std::erase(all, ',');
    std::sort(all.begin(), all.end());
    for (const char c : all) {
      if (std::count(all.begin(), all.end(), c) == 1) result += c;
    }
  }
  const auto repeats = [](std::string_view word) {
    return std::any_of(word.begin(), word.end(),
                       [&](char c) { return std::count(word.begin(), word.end(), c) > 1; });
  };
  Outlets grads;
  for (size_t i = 0; i < s.in.size(); ++i) {
    if (repeats(labels[i]) || text.find('.') != std::string::npos) {
      b.refuse(fail("SDX-D0001", "operator Einsum with \"{}\" has no derivative rule",
                    s.use.s("equation")));
      return {};
    }
    Outlets operands{s.g()};
    std::string equation = result, known = result;
    for (size_t j = 0; j < s.in.size(); ++j) {
      if (j == i) continue;
      operands.push_back(s.in[j]);
      equation += "," + labels[j];
      known += labels[j];
    }
    std::string wanted;
    std::vector<int64_t> missing;
    for (size_t axis = 0; axis < labels[i].size(); ++axis) {
      if (known.find(labels[i][axis]) != std::string::npos) wanted += labels[i][axis];
      if (known.find(labels[i][axis]) == std::string::npos) missing.push_back(int64_t(axis));
    }
    Outlet grad = b.op("Einsum", operands, {{"equation", equation + "->" + wanted}});
    if (!missing.empty()) {
      grad = b.op("Expand", {b.op("Unsqueeze", {grad, b.ints(missing)}), b.shape(s.in[i])});
    }
    grads.push_back(grad);
  }
  return grads;
}

constexpr Entry kRules[] = {
    {"MatMul", matmul},
    {"Gemm", gemm},
    {"Einsum", einsum},
};

}  // namespace

std::span<const Entry> product_rules() { return kRules; }

}  // namespace sdx::gradient
