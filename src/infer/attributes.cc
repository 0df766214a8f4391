#include "infer/attributes.h"

#include "infer/typing.h"
#include "model/tensor.h"

namespace sdx::infer {

Result<std::optional<AttrValue>> attribute_value(const model::Attribute& a,
                                                 const AttrMap* arguments) {
  using Kind = model::AttributeType;
  if (!a.ref_attr_name.empty()) {
    if (arguments == nullptr) {
      return fail("SDX-G0011", "attribute \"{}\" refers to \"{}\" outside of a function", a.name,
                  a.ref_attr_name);
    }
    const auto at = arguments->find(a.ref_attr_name);
    if (at == arguments->end()) return std::optional<AttrValue>();
    return std::optional<AttrValue>(at->second);
  }
  Kind kind = a.type;
  if (kind == Kind::undefined) {  // files of IR version 1 have no type field
    kind = a.t                     ? Kind::t
           : !a.ints.empty()       ? Kind::ints
           : !a.floats.empty()     ? Kind::floats
           : !a.strings.empty()    ? Kind::strings
           : !a.s.empty()          ? Kind::s
           : (a.present >> 2) & 1u ? Kind::f
                                   : Kind::i;
  }
  const auto some = [](auto value) {
    return std::optional<AttrValue>(AttrValue(std::move(value)));
  };
  switch (kind) {
    case Kind::f:
      return some(a.f);
    case Kind::i:
      return some(a.i);
    case Kind::s:
      return some(a.s);
    case Kind::floats:
      return some(a.floats);
    case Kind::ints:
      return some(a.ints);
    case Kind::strings:
      return some(a.strings);
    case Kind::t: {
      if (!a.t) return fail("SDX-G0012", "attribute \"{}\" has type tensor but no tensor", a.name);
      SDX_ASSIGN(Tensor tensor, model::to_tensor(*a.t));
      return some(std::move(tensor));
    }
    case Kind::tensors: {
      std::vector<Tensor> tensors;
      for (const model::TensorData& data : a.tensors) {
        SDX_ASSIGN(Tensor tensor, model::to_tensor(data));
        tensors.push_back(std::move(tensor));
      }
      return some(std::move(tensors));
    }
    case Kind::sparse_tensor: {
      if (!a.sparse_tensor)
        return fail("SDX-G0012", "attribute \"{}\" has type sparse_tensor but no value", a.name);
      SDX_ASSIGN(Tensor tensor, model::to_dense(*a.sparse_tensor));
      return some(std::move(tensor));
    }
    case Kind::type:
      return some(a.tp ? check::fact_of(*a.tp, a.name) : Fact{});
    default:
      return fail("SDX-G0013", "attribute \"{}\" is of a kind that no operator takes ({})", a.name,
                  int(kind));
  }
}

}  // namespace sdx::infer
