// The builder: graphs made in Python, typed as each operator is made.
#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include <set>

#include "api/bridge.h"
#include "builder/state.h"
#include "module.h"
#include "sardonyx/control.h"

namespace sdx::python {
namespace {

using sardonyx::Attribute;
using sardonyx::Bridge;
using sardonyx::Graph;
using sardonyx::Place;
using sardonyx::Wire;
using sardonyx::Wires;

// The line of the Python program, (file, line); names of files are kept for good.
Place place_of(const std::pair<std::string, int>& at) {
  static auto* const files = new std::set<std::string>;
  return {files->insert(at.first).first->c_str(), at.second};
}
using At = std::pair<std::string, int>;

sardonyx::Tensor tensor_from(const py::object& object, int type) {
  const Value value = to_value(object, Fact::tensor(static_cast<DType>(type)));
  if (!value.is_tensor()) throw Failure{fail("SDX-P0020", "a constant is a tensor")};
  // Owned: the caller may write into its array afterwards.
  return Bridge::out(value.tensor().copy());
}

// A value under the type that the operator declares for it.
Attribute attribute_from(const std::string& type, const py::object& value) {
  if (type == "int") return py::cast<int64_t>(value);
  if (type == "float") return py::cast<float>(value);
  if (type == "string") return py::cast<std::string>(value);
  if (type == "ints") return py::cast<std::vector<int64_t>>(value);
  if (type == "floats") return py::cast<std::vector<float>>(value);
  if (type == "strings") return py::cast<std::vector<std::string>>(value);
  if (type == "tensor" || type == "sparse_tensor") return tensor_from(value, 0);
  throw Failure{fail("SDX-P0021", "an attribute of type {} cannot be given here", type)};
}

std::vector<sardonyx::Dim> dims_from(const py::sequence& sizes) {
  std::vector<sardonyx::Dim> dims;
  for (const py::handle size : sizes) {
    if (size.is_none()) {
      dims.emplace_back();
    } else if (py::isinstance<py::str>(size)) {
      dims.emplace_back(py::cast<std::string>(size));
    } else {
      dims.emplace_back(py::cast<int64_t>(size));
    }
  }
  return dims;
}

py::object shape_of(const Wire& wire) {
  const sardonyx::Fact fact = wire.fact();
  if (!fact.dims) return py::none();
  py::list sizes;
  for (const sardonyx::Dim& dim : *fact.dims) {
    if (dim.number) {
      sizes.append(*dim.number);
    } else if (dim.name.empty()) {
      sizes.append(py::none());
    } else {
      sizes.append(dim.name);
    }
  }
  return sizes;
}

Wires node(Graph& graph, const std::string& op, const std::vector<Wire>& inputs,
           const std::vector<std::tuple<std::string, std::string, py::object>>& given,
           size_t outputs, const At& at) {
  sardonyx::Attributes attributes;
  for (const auto& [name, type, value] : given) {
    attributes.emplace_back(name, attribute_from(type, value));
  }
  return graph.node(op, Wires(inputs.begin(), inputs.end()), attributes, outputs, place_of(at));
}

using List = std::vector<Wire>;
Wires wires_of(const List& list) { return {list.begin(), list.end()}; }

void bind_control(py::module_& m) {
  m.def("if_",
        [](const Wire& cond, const std::function<List()>& then_branch,
           const std::function<List()>& else_branch, const At& at) -> List {
          return sardonyx::ops::if_(
              cond, [&] { return wires_of(then_branch()); },
              [&] { return wires_of(else_branch()); }, place_of(at));
        });
  using Turn = std::tuple<List, List, Wire>;
  m.def("loop",
        [](const Wire& trips, const Wire& cond, const List& initial,
           const std::function<Turn(Wire, List)>& body, const At& at) -> List {
          return sardonyx::ops::loop(
              trips, cond, wires_of(initial),
              [&](const Wire& i, const Wires& carried) -> sardonyx::ops::Step {
                auto [next, scanned, go_on] = body(i, carried);
                return {wires_of(next), wires_of(scanned), go_on};
              },
              place_of(at));
        });
}

}  // namespace

void bind_builder(py::module_& m) {
  py::class_<Wire>(m, "Wire", "A value in a graph that is being built.")
      .def(py::init<>())
      .def(py::init(
          [](const py::object& value, int type) { return Wire(tensor_from(value, type)); }))
      .def_property_readonly("name", &Wire::name)
      .def_property_readonly("text", &Wire::text)
      .def_property_readonly("type", [](const Wire& wire) { return static_cast<int>(wire.type()); })
      .def_property_readonly("shape", &shape_of)
      .def_property_readonly("present", &Wire::present)
      .def("named", [](const Wire& wire, const std::string& name,
                       const At& at) { return wire.named(name, place_of(at)); })
      .def("__repr__", &Wire::text);
  py::class_<Graph>(m, "Graph", "A graph that is being built.")
      .def(py::init<std::string>())
      .def("parameter",
           [](Graph& graph, const std::string& name, int type, const py::sequence& dims,
              const At& at) {
             return graph.parameter(name, static_cast<sardonyx::Type>(type), dims_from(dims),
                                    place_of(at));
           })
      .def(
          "constant",
          [](Graph& graph, const std::string& name, const py::object& value, int type,
             const At& at) { return graph.constant(name, tensor_from(value, type), place_of(at)); })
      .def("node",
           [](Graph& graph, const std::string& op, const List& inputs,
              const std::vector<std::tuple<std::string, std::string, py::object>>& attributes,
              size_t outputs,
              const At& at) -> List { return node(graph, op, inputs, attributes, outputs, at); })
      .def("result", [](Graph& graph, const std::string& name, const Wire& wire,
                        const At& at) { graph.result(name, wire, place_of(at)); })
      .def("text", &Graph::text)
      .def("save", &Graph::save);
  m.def("snake_case", &sardonyx::detail::snake_case);
  bind_control(m);
}

}  // namespace sdx::python
