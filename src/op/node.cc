#include "op/node.h"

#include <algorithm>

#include "op/op.h"

namespace sdx {
namespace {

bool same(const AttrValue& a, const AttrValue& b) {
  const auto equal = [&]<class T>(const T& x) {
    if constexpr (requires { x == x; }) {
      return x == std::get<T>(b);
    }
    return false;
  };
  return a.index() == b.index() && std::visit(equal, a);
}

}  // namespace

Node use_of(const Op& op, AttrMap attrs, size_t outputs) {
  Node use;
  use.op = &op;
  use.opset = op.signatures().back().since;
  use.attrs = std::move(attrs);
  use.wanted.assign(outputs, true);
  return use;
}

AttrMap attributes_for(const Op& op, const Node& node) {
  AttrMap shared;
  const Signature& signature = op.signatures().back();
  for (const auto& [name, value] : node.attrs) {
    if (signature.attribute(name) != nullptr) shared.emplace(name, value);
  }
  return shared;
}

bool same_attributes(const Node& a, const Node& b) {
  return std::equal(
      a.attrs.begin(), a.attrs.end(), b.attrs.begin(), b.attrs.end(),
      [](const auto& x, const auto& y) { return x.first == y.first && same(x.second, y.second); });
}

bool has_bodies(const Node& node) {
  return std::any_of(node.attrs.begin(), node.attrs.end(), [](const auto& attr) {
    return std::holds_alternative<std::shared_ptr<const BodySource>>(attr.second);
  });
}

Node::Node() = default;
Node::Node(const Node&) = default;
Node::Node(Node&&) noexcept = default;
Node& Node::operator=(const Node&) = default;
Node& Node::operator=(Node&&) noexcept = default;
Node::~Node() = default;

bool Node::has(std::string_view attr) const { return attrs.contains(attr); }
const AttrValue& Node::value(std::string_view attr) const { return attrs.find(attr)->second; }
int64_t Node::i(std::string_view attr) const { return get<int64_t>(attr); }
int64_t Node::i_or(std::string_view attr, int64_t fallback) const {
  return has(attr) ? i(attr) : fallback;
}
float Node::f(std::string_view attr) const { return get<float>(attr); }
float Node::f_or(std::string_view attr, float fallback) const {
  return has(attr) ? f(attr) : fallback;
}
const std::string& Node::s(std::string_view attr) const { return get<std::string>(attr); }
const std::vector<int64_t>& Node::ints(std::string_view attr) const {
  return get<std::vector<int64_t>>(attr);
}
std::vector<int64_t> Node::ints_or_empty(std::string_view attr) const {
  return has(attr) ? ints(attr) : std::vector<int64_t>{};
}

Result<size_t> resolve_axis(int64_t axis, size_t rank, std::string_view what) {
  const auto r = static_cast<int64_t>(rank);
  if (axis < -r || axis >= r) {
    return fail("SDX-T0110", "{} {} is out of range for rank {}", what, axis, rank);
  }
  return static_cast<size_t>(axis < 0 ? axis + r : axis);
}

}  // namespace sdx
