#include "attribute_words.h"

#include <fmt/format.h>

namespace sdx::cli {
namespace {

std::string quoted_up_to(const std::string& text, size_t longest) {
  if (text.size() <= longest) return fmt::format("\"{}\"", text);
  return fmt::format("\"{}...\"", text.substr(0, longest));
}

template <class List>
std::string bracketed(const List& list, size_t longest) {
  std::string text = "[";
  for (size_t i = 0; i < list.size(); ++i) {
    if (text.size() >= longest) return text + ", ...]";
    text += fmt::format("{}{}", i > 0 ? ", " : "", list[i]);
  }
  return text + "]";
}

}  // namespace

std::string attribute_words(const model::Attribute& a, const AttributeWording& wording) {
  using T = model::AttributeType;
  if (!a.ref_attr_name.empty()) return "@" + a.ref_attr_name;
  switch (a.type) {
    case T::f:
      return fmt::format("{}", a.f);
    case T::i:
      return fmt::format("{}", a.i);
    case T::s:
      return quoted_up_to(a.s, wording.longest);
    case T::floats:
      return bracketed(a.floats, wording.longest);
    case T::ints:
      return bracketed(a.ints, wording.longest);
    case T::strings:
      return bracketed(a.strings, wording.longest);
    case T::t:
      return a.t ? wording.tensor(*a.t) : "no tensor";
    case T::g:
      return a.g ? fmt::format("graph of {} nodes", a.g->node.size()) : "no graph";
    case T::graphs:
      return fmt::format("{} graphs", a.graphs.size());
    default:
      return "a value";
  }
}

}  // namespace sdx::cli
