#include "op/conform.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace sdx {

AttrType type_of(const AttrValue& value) {
  constexpr AttrType kByIndex[] = {
      AttrType::int_,    AttrType::float_, AttrType::string,  AttrType::ints, AttrType::floats,
      AttrType::strings, AttrType::tensor, AttrType::tensors, AttrType::type, AttrType::graph};
  return kByIndex[value.index()];
}

namespace {

// An empty list carries no type of its own, and a sparse tensor arrives dense.
bool fits(AttrType declared, AttrValue& value) {
  const AttrType found = type_of(value);
  if (found == declared) return true;
  if (declared == AttrType::sparse_tensor && found == AttrType::tensor) return true;
  const bool empty_list = std::visit(
      [](const auto& v) {
        if constexpr (requires {
                        v.empty();
                        v.begin();
                      })
          return v.empty();
        return false;
      },
      value);
  if (!empty_list || found == AttrType::string) return false;
  if (declared == AttrType::ints) return value = std::vector<int64_t>{}, true;
  if (declared == AttrType::floats) return value = std::vector<float>{}, true;
  if (declared == AttrType::strings) return value = std::vector<std::string>{}, true;
  return false;
}

}  // namespace

Result<AttrMap> complete(const Signature& signature, AttrMap given) {
  for (auto& [name, value] : given) {
    const AttrDecl* decl = signature.attribute(name);
    if (decl == nullptr) {
      std::vector<std::string> names;
      for (const AttrDecl& a : signature.attributes) names.push_back(a.name);
      Error error =
          fail("SDX-T0003", "attribute \"{}\" is not one of version {}", name, signature.since);
      error.help = names.empty() ? "this version has no attributes"
                                 : fmt::format("it has: {}", fmt::join(names, ", "));
      return error;
    }
    if (!fits(decl->type, value)) {
      return fail("SDX-T0004", "attribute \"{}\" is of type {}, not {}", name,
                  attr_type_name(type_of(value)), attr_type_name(decl->type));
    }
  }
  for (const AttrDecl& decl : signature.attributes) {
    if (given.contains(decl.name)) continue;
    if (decl.required) return fail("SDX-T0005", "required attribute \"{}\" is missing", decl.name);
    if (decl.fallback) given.emplace(decl.name, *decl.fallback);
  }
  return given;
}

namespace {

struct Bound {
  std::string_view variable;
  std::string type;
  size_t input;  // the first that has it
};

// Binds type variables, of which there are few, from the inputs; reports the first conflict.
Result<std::vector<Bound>> bind_types(const Signature& signature, const Facts& in, size_t formal) {
  std::vector<Bound> bound;
  for (size_t i = 0; i < formal; ++i) {
    if (!in[i].present()) continue;
    const Formal& f = *signature.input(i);
    if (in[i].is_tensor() && in[i].type == DType::undefined) continue;
    std::string type = in[i].onnx_type();
    if (type.find("undefined") != type.npos) continue;  // an element type still open
    const auto allowed = signature.types.find(f.type);
    if (allowed == signature.types.end()) {
      if (type != f.type)
        return fail("SDX-T0101", "input {} ({}) is {}, not {}", i, f.name, type, f.type);
      continue;
    }
    const auto allows = [&](const std::string& t) {
      return std::binary_search(allowed->second.begin(), allowed->second.end(), t);
    };
    // While running, an optional that holds a value looks like that value.
    bool fits = allows(type);
    if (!fits && allows("optional(" + type + ")")) {
      type = "optional(" + type + ")";
      fits = true;
    }
    if (!fits) {
      Error error = fail("SDX-T0101", "input {} ({}) is {}, which {} does not allow", i, f.name,
                         type, f.type);
      error.help = fmt::format("{} in version {}: {}", f.type, signature.since,
                               fmt::join(allowed->second, ", "));
      return error;
    }
    if (!f.homogeneous) continue;
    const auto at = std::find_if(bound.begin(), bound.end(),
                                 [&](const Bound& one) { return one.variable == f.type; });
    if (at == bound.end()) {
      bound.push_back({f.type, std::move(type), i});
    } else if (at->type != type) {
      return fail("SDX-T0101", "inputs {} ({}) and {} ({}) share the type {} but are {} and {}",
                  at->input, signature.input(at->input)->name, i, f.name, f.type, at->type, type);
    }
  }
  return bound;
}

}  // namespace

Status conforms(const Signature& signature, const Facts& in, size_t formal, size_t outputs) {
  if (formal < signature.min_inputs || formal > signature.max_inputs) {
    const std::string most =
        signature.max_inputs == kUnbounded ? "" : fmt::format(" to {}", signature.max_inputs);
    return fail("SDX-T0001", "{} inputs given; version {} takes {}{}", formal, signature.since,
                signature.min_inputs,
                signature.max_inputs == signature.min_inputs ? ""
                : most.empty()                               ? " or more"
                                                             : most);
  }
  if (outputs < signature.min_outputs || outputs > signature.max_outputs) {
    return fail("SDX-T0002", "{} outputs named; version {} gives {} to {}", outputs,
                signature.since, signature.min_outputs, signature.max_outputs);
  }
  for (size_t i = 0; i < formal; ++i) {
    if (!in[i].present() && signature.input(i)->option != Formal::Option::optional) {
      return fail("SDX-T0006", "input {} ({}) is required but left out", i,
                  signature.input(i)->name);
    }
  }
  SDX_TRY(bind_types(signature, in, formal));
  return ok();
}

std::string output_type(const Signature& signature, const Facts& in, size_t output) {
  const Formal* f = signature.output(output);
  if (f == nullptr) return "";
  if (!signature.types.contains(f->type)) return f->type;
  const auto bound = bind_types(signature, in, std::min(in.size(), signature.max_inputs));
  if (!bound || !f->homogeneous) return "";
  const auto at = std::find_if(bound->begin(), bound->end(),
                               [&](const Bound& one) { return one.variable == f->type; });
  return at == bound->end() ? "" : at->type;
}

}  // namespace sdx
