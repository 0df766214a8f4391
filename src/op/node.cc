#include "op/node.h"

namespace sdx {

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
