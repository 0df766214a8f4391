#include "check/versions.h"

#include <algorithm>

#include "ops/list.h"

namespace sdx::check {
namespace {

// Whether two versions of an operator differ in element types at most. Before version 13 of ai.onnx
// some changed their meaning with the signature kept.
bool only_widened(const Signature& a, const Signature& b) {
  const auto formals = [](const std::vector<Formal>& x, const std::vector<Formal>& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), [](const Formal& m, const Formal& n) {
      return m.name == n.name && m.option == n.option && m.homogeneous == n.homogeneous;
    });
  };
  const auto fallback = [](const std::optional<AttrValue>& x, const std::optional<AttrValue>& y) {
    if (!x || !y) return !x && !y;
    return std::visit(
        [&]<class T>(const T& value) {
          if constexpr (std::is_same_v<T, Fact> || std::is_same_v<T, std::vector<Tensor>>) {
            return false;
          } else {
            const T* other = std::get_if<T>(&*y);
            return other != nullptr && *other == value;
          }
        },
        *x);
  };
  return formals(a.inputs, b.inputs) && formals(a.outputs, b.outputs) &&
         a.deprecated == b.deprecated &&
         std::equal(a.attributes.begin(), a.attributes.end(), b.attributes.begin(),
                    b.attributes.end(), [&](const AttrDecl& m, const AttrDecl& n) {
                      return m.name == n.name && m.type == n.type && m.required == n.required &&
                             fallback(m.fallback, n.fallback);
                    });
}

}  // namespace

bool same_meaning(const model::Node& node, int64_t a, int64_t b) {
  const Op* op = find_op(node.domain, node.op_type);
  if (op == nullptr || std::max(a, b) > INT32_MAX) return false;
  const Signature* first = op->at(static_cast<int>(a));
  const Signature* second = op->at(static_cast<int>(b));
  if (first == nullptr || second == nullptr) return false;
  return first->since == second->since || (std::min(a, b) >= 13 && only_widened(*first, *second));
}

}  // namespace sdx::check
