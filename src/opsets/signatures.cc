// What two versions' signatures tell of the way between them.
#include <algorithm>

#include "opsets/steps.h"

namespace sdx::opsets {
namespace {

bool same_name(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

std::optional<size_t> find(const std::vector<Formal>& formals, std::string_view name) {
  for (size_t i = 0; i < formals.size(); ++i) {
    if (same_name(formals[i].name, name)) return i;
  }
  return std::nullopt;
}
const AttrDecl* find(const Signature& signature, std::string_view name) {
  for (const AttrDecl& a : signature.attributes) {
    if (same_name(a.name, name)) return &a;
  }
  return nullptr;
}

// What the first versions used to say of memory.
bool is_void(std::string_view attribute) { return attribute == "consumed_inputs"; }

// Dilations of one are none, and exporters write them out.
bool are_none(const model::Attribute& a) {
  return a.name == "dilations" && a.ref_attr_name.empty() &&
         std::all_of(a.ints.begin(), a.ints.end(), [](int64_t d) { return d == 1; });
}

// Where input i of `to` comes from: the formal of that name, or the one at that place if its own
// name is gone from inputs and attributes.
std::optional<size_t> origin(const Signature& from, const Signature& to, size_t i) {
  if (const auto named = find(from.inputs, to.inputs[i].name)) return named;
  if (i >= from.inputs.size()) return std::nullopt;
  const std::string& old = from.inputs[i].name;
  if (find(to.inputs, old) || find(to, old) != nullptr) return std::nullopt;
  return find(from, to.inputs[i].name) == nullptr ? std::optional(i) : std::nullopt;
}

bool same_default(const AttrDecl& a, const AttrDecl& b) {
  if (!a.fallback || !b.fallback) return !a.fallback && !b.fallback;
  return says(attribute_of("", *a.fallback), *b.fallback);
}

// An attribute as the tensor that became its input; numbers of the data's type where the input has
// that.
Result<Tensor> as_tensor(const Use& use, const model::Attribute& a, const Formal& formal) {
  using Kind = model::AttributeType;
  if (!a.ref_attr_name.empty())
    return use.refuse("attribute \"{}\" is the function's \"{}\"; --inline puts its value there",
                      a.name, a.ref_attr_name);
  if (a.type == Kind::ints)
    return Tensor::of<int64_t>({int64_t(a.ints.size())}, std::span<const int64_t>(a.ints));
  if (a.type == Kind::i) return Tensor::of<int64_t>({1}, {a.i});
  if (a.type == Kind::floats)
    return Tensor::of<float>({int64_t(a.floats.size())}, std::span<const float>(a.floats));
  if (a.type == Kind::f) {
    DType type = DType::f32;
    if (formal.type == use.now->inputs[0].type) type = use.fact(0).type;
    if (type == DType::undefined)
      return use.refuse("the type of \"{}\" is not known", use.node.input[0]);
    Tensor value = Tensor::make(type, {});
    set_f64(type, value.raw(), 0, double(a.f));
    return value;
  }
  return use.refuse("attribute \"{}\" would have to become an input", a.name);
}

// A constant input as the attribute that it was.
Result<AttrValue> as_attribute(const Use& use, size_t input, const AttrDecl& declared) {
  const Tensor* value = use.constant(input);
  if (value == nullptr)
    return use.refuse("there \"{}\" is an attribute, and \"{}\" is only known when it runs",
                      declared.name, use.node.input[input]);
  if (declared.type == AttrType::ints || declared.type == AttrType::int_) {
    const auto list = use.integers(input);
    if (!list || (declared.type == AttrType::int_ && list->size() != 1))
      return use.refuse("there \"{}\" is an attribute of integers", declared.name);
    if (declared.type == AttrType::int_) return AttrValue((*list)[0]);
    return AttrValue(*list);
  }
  if (declared.type != AttrType::float_ && declared.type != AttrType::floats)
    return use.refuse("there \"{}\" is an attribute", declared.name);
  std::vector<float> list;
  for (size_t i = 0; i < value->count(); ++i) {
    const double x = get_f64(value->type(), value->raw(), i);
    if (double(float(x)) != x && x == x)
      return use.refuse("there \"{}\" is an attribute, a float, which {} is not", declared.name, x);
    list.push_back(float(x));
  }
  if (declared.type == AttrType::floats) return AttrValue(list);
  if (list.size() != 1) return use.refuse("there \"{}\" is one number", declared.name);
  return AttrValue(list[0]);
}

Status attributes(Use& use, const Signature& to, std::vector<std::pair<size_t, Tensor>>& became) {
  const Signature& from = *use.now;
  const std::vector<model::Attribute> given = use.node.attribute;
  for (const model::Attribute& a : given) {
    const AttrDecl *old = from.attribute(a.name), *next = to.attribute(a.name);
    if (next != nullptr &&
        (int(next->type) == int(a.type) || a.type == model::AttributeType::undefined))
      continue;
    if (next != nullptr)
      return use.refuse("there attribute \"{}\" is of type {}", a.name, attr_type_name(next->type));
    if (const auto input = find(to.inputs, a.name); input && !find(from.inputs, a.name)) {
      SDX_ASSIGN(Tensor value, as_tensor(use, a, to.inputs[*input]));
      became.emplace_back(*input, std::move(value));
      use.erase(a.name);
      continue;
    }
    const bool idle = old != nullptr && old->fallback && says(a, *old->fallback);
    if (!idle && !is_void(a.name) && !are_none(a))
      return use.refuse(
          "there is no attribute \"{}\", and without it the node would mean something else",
          a.name);
    use.erase(a.name);
  }
  for (const AttrDecl& old : from.attributes) {
    const AttrDecl* next = to.attribute(old.name);
    if (use.given(old.name) != nullptr || next == nullptr || !old.fallback) continue;
    if (!same_default(old, *next)) use.set(old.name, *old.fallback);
  }
  for (const AttrDecl& next : to.attributes) {
    const bool input = find(from.inputs, next.name).has_value();
    if (next.required && use.given(next.name) == nullptr && !input)
      return use.refuse("there attribute \"{}\" must be given", next.name);
  }
  return ok();
}

Status inputs(Use& use, const Signature& to, std::vector<std::pair<size_t, Tensor>> became) {
  const Signature& from = *use.now;
  const std::vector<std::string> given = use.node.input;
  std::vector<bool> taken(given.size());
  std::vector<std::string> made;
  for (size_t i = 0; i < to.inputs.size(); ++i) {
    const auto at = origin(from, to, i);
    const bool variadic = to.inputs[i].option == Formal::Option::variadic;
    for (size_t k = at.value_or(given.size()); k < given.size(); ++k) {
      made.resize(std::max(made.size(), i));
      made.push_back(given[k]);
      taken[k] = true;
      if (!variadic) break;
    }
  }
  for (auto& [input, value] : became) {
    if (made.size() <= input) made.resize(input + 1);
    made[input] = use.make(std::move(value), to.inputs[input].name);
  }
  for (size_t k = 0; k < given.size(); ++k) {
    if (taken[k] || given[k].empty()) continue;
    const Formal* formal = from.input(k);
    if (formal == nullptr && k < to.inputs.size()) {  // a step put it where it will be
      made.resize(std::max(made.size(), k + 1));
      made[k] = given[k];
      continue;
    }
    const AttrDecl* attribute = formal != nullptr ? find(to, formal->name) : nullptr;
    if (attribute == nullptr)
      return use.refuse("there is no input \"{}\"", formal != nullptr ? formal->name : "");
    SDX_ASSIGN(AttrValue value, as_attribute(use, k, *attribute));
    use.drop_input(k);
    use.set(attribute->name, std::move(value));
  }
  while (!made.empty() && made.back().empty()) made.pop_back();
  for (size_t i = 0; i < to.inputs.size(); ++i) {
    const bool there = i < made.size() && !made[i].empty();
    if (to.inputs[i].option == Formal::Option::single && !there)
      return use.refuse("there input \"{}\" must be given", to.inputs[i].name);
  }
  use.node.input = std::move(made);
  return ok();
}

// Before version 11 axes were counted from the front.
Status axes_from_the_front(Use& use) {
  for (const char* name : {"axis", "axes"}) {
    const model::Attribute* a = use.given(name);
    if (a == nullptr || !a->ref_attr_name.empty() || use.node.op_type == "OneHot") continue;
    std::vector<int64_t> axes = a->ints;
    const bool list = a->type == model::AttributeType::ints;
    if (!list) axes = {a->i};
    if (std::none_of(axes.begin(), axes.end(), [](int64_t x) { return x < 0; })) continue;
    const auto rank = use.rank(0);
    if (!rank)
      return use.refuse("there axes are counted from the front, and the rank is not known");
    const int64_t all =
        int64_t(*rank) + (use.node.op_type == "Unsqueeze" ? int64_t(axes.size()) : 0);
    for (int64_t& axis : axes) axis += axis < 0 ? all : 0;
    if (list) {
      use.set(name, axes);
    } else {
      use.set(name, axes[0]);
    }
  }
  return ok();
}

}  // namespace

Status by_signatures(Use& use, const Signature& to) {
  if (to.deprecated && to.since > use.now->since)
    return use.refuse("the operator is deprecated since version {}", to.since);
  std::vector<std::pair<size_t, Tensor>> became;
  SDX_TRY(attributes(use, to, became));
  SDX_TRY(inputs(use, to, std::move(became)));
  while (!use.node.output.empty() && use.node.output.back().empty()) use.node.output.pop_back();
  if (use.node.output.size() > to.max_outputs)
    return use.refuse("there it has at most {} outputs", to.max_outputs);
  use.now = &to;
  return ok();
}

std::vector<std::string> unexplained(const Signature& from, const Signature& to) {
  std::vector<std::string> found;
  for (const AttrDecl& a : from.attributes) {
    const AttrDecl* next = to.attribute(a.name);
    const bool input = find(to.inputs, a.name) && !find(from.inputs, a.name);
    if (next == nullptr && !input && !is_void(a.name))
      found.push_back("attribute " + a.name + " is gone");
    if (next != nullptr && next->type != a.type) found.push_back("type of attribute " + a.name);
  }
  for (size_t i = 0; i < from.inputs.size(); ++i) {
    bool kept = find(to, from.inputs[i].name) != nullptr;
    for (size_t k = 0; k < to.inputs.size(); ++k) kept = kept || origin(from, to, k) == i;
    if (!kept) found.push_back("input " + from.inputs[i].name + " is gone");
  }
  for (size_t i = 0; i < to.inputs.size(); ++i) {
    const bool made = origin(from, to, i) || find(from, to.inputs[i].name) != nullptr;
    if (!made && to.inputs[i].option == Formal::Option::single)
      found.push_back("input " + to.inputs[i].name + " is new");
  }
  if (to.deprecated && to.since > from.since) found.emplace_back("deprecated");
  return found;
}

Status walk(Use& use) {
  for (;;) {
    const Signature* wanted = use.op->at(use.target());
    if (wanted == use.now) return ok();
    const std::vector<Signature>& all = use.op->signatures();
    const size_t at = size_t(use.now - all.data());
    const bool up = use.now->since < use.target();
    if (!up && at == 0) {  // no older version: another operator may say it
      const Step* birth = find_step(use.op->name, use.now->since);
      if (birth == nullptr || birth->down == nullptr)
        return use.refuse("the operator came with version {}", use.now->since);
      SDX_TRY(birth->down(use));
      continue;
    }
    const Signature& next = all[up ? at + 1 : at - 1];
    const Op* before = use.op;
    const Step* step = find_step(use.op->name, up ? next.since : use.now->since);
    if (step != nullptr && (up ? step->up : step->down) != nullptr)
      SDX_TRY((up ? step->up : step->down)(use));
    if (use.op != before) continue;
    const bool to_the_front = !up && use.now->since >= 11 && next.since < 11;
    SDX_TRY(by_signatures(use, next));
    if (to_the_front) SDX_TRY(axes_from_the_front(use));
  }
}

}  // namespace sdx::opsets
