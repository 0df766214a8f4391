#include "opsets/use.h"

#include <algorithm>

#include "model/fields.h"
#include "model/names.h"
#include "model/tensor.h"
#include "ops/list.h"

namespace sdx::opsets {

namespace {

const Fact kNothing = Fact::tensor(DType::undefined);

}  // namespace

std::string Journey::fresh(std::string_view hint) {
  std::string name(hint);
  for (size_t i = 1; !names.insert(name).second; ++i) name = fmt::format("{}_{}", hint, i);
  return name;
}

const Fact& Use::fact(size_t input) const {
  if (!has(input)) return kNothing;
  const auto at = journey_.facts.find(node.input[input]);
  return at == journey_.facts.end() ? kNothing : at->second;
}

const Fact& Use::output_fact(size_t output) const {
  if (!wants(output)) return kNothing;
  const auto at = journey_.facts.find(node.output[output]);
  return at == journey_.facts.end() ? kNothing : at->second;
}

std::optional<size_t> Use::rank(size_t input) const {
  const Fact& known = fact(input);
  return known.is_tensor() && known.has_rank() ? std::optional(known.rank()) : std::nullopt;
}

const Tensor* Use::constant(size_t input) const { return fact(input).value.get(); }

std::optional<std::vector<int64_t>> Use::integers(size_t input) const {
  const Tensor* value = constant(input);
  if (value == nullptr || (value->type() != DType::i64 && value->type() != DType::i32))
    return std::nullopt;
  return fact(input).constant_integers();
}

void Use::set_input(size_t input, std::string name) {
  if (node.input.size() <= input) node.input.resize(input + 1);
  node.input[input] = std::move(name);
}

void Use::drop_input(size_t input) {
  if (!has(input)) return;
  journey_.released.insert(node.input[input]);
  node.input[input].clear();
  while (!node.input.empty() && node.input.back().empty()) node.input.pop_back();
}

int64_t Use::integer(std::string_view name, int64_t otherwise) const {
  if (const model::Attribute* a = given(name)) return a->i;
  const AttrDecl* declared = now->attribute(name);
  if (declared == nullptr || !declared->fallback) return otherwise;
  const auto* value = std::get_if<int64_t>(&*declared->fallback);
  return value != nullptr ? *value : otherwise;
}

std::string Use::text(std::string_view name) const {
  if (const model::Attribute* a = given(name)) return a->s;
  const AttrDecl* declared = now->attribute(name);
  if (declared == nullptr || !declared->fallback) return "";
  const auto* value = std::get_if<std::string>(&*declared->fallback);
  return value != nullptr ? *value : "";
}

void Use::set(std::string_view name, AttrValue value) {
  erase(name);
  node.attribute.push_back(attribute_of(name, value));
}

void Use::erase(std::string_view name) {
  std::erase_if(node.attribute, [&](const model::Attribute& a) { return a.name == name; });
}

std::string Use::make(Tensor value, std::string_view hint) {
  model::Node made;
  const std::string base = !node.name.empty()    ? node.name
                           : node.output.empty() ? node.op_type
                                                 : node.output[0];
  std::string name = fresh(fmt::format("{}_{}", base, hint));
  model::set(made, &model::Node::op_type, "Constant");
  made.output = {name};
  made.attribute.push_back(attribute_of("value", value));
  journey_.facts.insert_or_assign(name, Fact::constant(std::move(value)));
  before.push_back(std::move(made));
  return name;
}

namespace {

Result<Use> helper(Journey& journey, std::string_view name, std::vector<std::string> inputs,
                   const AttrMap& attributes, std::string output) {
  const Op* op = find_op("", name);
  model::Node made;
  model::set(made, &model::Node::op_type, std::string(name));
  made.input = std::move(inputs);
  made.output = {std::move(output)};
  for (const auto& [key, value] : attributes) made.attribute.push_back(attribute_of(key, value));
  Use use(journey, std::move(made), *op, op->signatures().back());
  SDX_TRY(walk(use));
  return use;
}

void append(std::vector<model::Node>& all, Use use) {
  std::move(use.before.begin(), use.before.end(), std::back_inserter(all));
  all.push_back(std::move(use.node));
  std::move(use.after.begin(), use.after.end(), std::back_inserter(all));
}

}  // namespace

Result<std::string> Use::make(std::string_view name, std::vector<std::string> inputs,
                              AttrMap attributes, std::string_view hint) {
  const std::string base = !node.name.empty()    ? node.name
                           : node.output.empty() ? node.op_type
                                                 : node.output[0];
  std::string output = fresh(fmt::format("{}_{}", base, hint));
  Result<Use> made = helper(journey_, name, std::move(inputs), attributes, output);
  if (!made) return refuse("it would need a helping node: {}", made.error().what);
  append(before, *std::move(made));
  return output;
}

Status Use::finish(size_t output, std::string_view name, std::vector<std::string> rest,
                   AttrMap attributes) {
  const std::string known = node.output[output];
  const std::string raw = fresh(known + "_before");
  node.output[output] = raw;
  rest.insert(rest.begin(), raw);
  Result<Use> made = helper(journey_, name, std::move(rest), attributes, known);
  if (!made) return refuse("it would need a helping node: {}", made.error().what);
  append(after, *std::move(made));
  return ok();
}

Status Use::become(std::string_view name, int version) {
  op = find_op(journey_.domain, name);
  now = op->at(version);
  model::set(node, &model::Node::op_type, std::string(name));
  return ok();
}

Error Use::refused(const std::string& why) const {
  const std::string set(model::shown(journey_.domain));
  Error error = fail("SDX-C0171", "{}{} ({}, {} {}) cannot be written in {} {}: {}",
                     node.name.empty() ? "node of output " : "node ",
                     fmt::format("\"{}\"", !node.name.empty()     ? node.name
                                           : !node.output.empty() ? node.output[0]
                                                                  : ""),
                     node.op_type, set, now->since, set, journey_.target, why);
  return error;
}

Tensor list_of(const std::vector<int64_t>& values) {
  return Tensor::of<int64_t>({int64_t(values.size())}, std::span<const int64_t>(values));
}

model::Attribute attribute_of(std::string_view name, const AttrValue& value) {
  using Kind = model::AttributeType;
  model::Attribute a;
  model::set(a, &model::Attribute::name, std::string(name));
  const auto kind = [&](Kind type) { model::set(a, &model::Attribute::type, type); };
  if (const auto* i = std::get_if<int64_t>(&value)) {
    kind(Kind::i);
    model::set(a, &model::Attribute::i, *i);
  } else if (const auto* f = std::get_if<float>(&value)) {
    kind(Kind::f);
    model::set(a, &model::Attribute::f, *f);
  } else if (const auto* s = std::get_if<std::string>(&value)) {
    kind(Kind::s);
    model::set(a, &model::Attribute::s, *s);
  } else if (const auto* ints = std::get_if<std::vector<int64_t>>(&value)) {
    kind(Kind::ints);
    a.ints = *ints;
  } else if (const auto* floats = std::get_if<std::vector<float>>(&value)) {
    kind(Kind::floats);
    a.floats = *floats;
  } else if (const auto* strings = std::get_if<std::vector<std::string>>(&value)) {
    kind(Kind::strings);
    a.strings = *strings;
  } else if (const auto* tensor = std::get_if<Tensor>(&value)) {
    kind(Kind::t);
    a.t = model::from_tensor(*tensor);
  }
  return a;
}

bool says(const model::Attribute& a, const AttrValue& value) {
  using Kind = model::AttributeType;
  if (const auto* i = std::get_if<int64_t>(&value)) return a.type == Kind::i && a.i == *i;
  if (const auto* f = std::get_if<float>(&value)) return a.type == Kind::f && a.f == *f;
  if (const auto* s = std::get_if<std::string>(&value)) return a.type == Kind::s && a.s == *s;
  if (const auto* ints = std::get_if<std::vector<int64_t>>(&value))
    return a.type == Kind::ints && a.ints == *ints;
  if (const auto* floats = std::get_if<std::vector<float>>(&value))
    return a.type == Kind::floats && a.floats == *floats;
  if (const auto* strings = std::get_if<std::vector<std::string>>(&value))
    return a.type == Kind::strings && a.strings == *strings;
  return false;
}

}  // namespace sdx::opsets
