// Operators as their declarations state them.
#include <pybind11/stl.h>

#include "module.h"
#include "ops/list.h"

namespace sdx::python {
namespace {

py::list formals(const std::vector<Formal>& list) {
  py::list out;
  for (const Formal& formal : list) {
    const char* option = formal.option == Formal::Option::single     ? "single"
                         : formal.option == Formal::Option::optional ? "optional"
                                                                     : "variadic";
    out.append(py::make_tuple(formal.name, formal.type, option));
  }
  return out;
}

py::object fallback(const AttrDecl& attribute) {
  if (!attribute.fallback) return py::none();
  return std::visit(
      [](const auto& value) -> py::object {
        using T = std::remove_cvref_t<decltype(value)>;
        if constexpr (std::is_same_v<T, Tensor> || std::is_same_v<T, std::vector<Tensor>> ||
                      std::is_same_v<T, Fact> ||
                      std::is_same_v<T, std::shared_ptr<const BodySource>>) {
          return py::none();
        } else {
          return py::cast(value);
        }
      },
      *attribute.fallback);
}

// The newest version of every operator.
py::list operators() {
  py::list out;
  for (const Op* op : all_ops()) {
    const Signature& signature = op->signatures().back();
    py::list attributes;
    for (const AttrDecl& attribute : signature.attributes) {
      attributes.append(py::make_tuple(attribute.name, std::string(attr_type_name(attribute.type)),
                                       attribute.required, fallback(attribute)));
    }
    py::dict entry;
    entry["domain"] = std::string(op->domain);
    entry["name"] = std::string(op->name);
    entry["doc"] = std::string(op->doc);
    entry["since"] = signature.since;
    entry["deprecated"] = signature.deprecated;
    entry["inputs"] = formals(signature.inputs);
    entry["outputs"] = formals(signature.outputs);
    entry["attributes"] = attributes;
    entry["types"] = signature.types;
    out.append(entry);
  }
  return out;
}

}  // namespace

void bind_ops(py::module_& m) { m.def("operators", &operators); }

}  // namespace sdx::python
