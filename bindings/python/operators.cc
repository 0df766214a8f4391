// Operators written in Python: what sardonyx.operator registers (sardonyx/_operators.py).
#include "sardonyx/operators.h"

#include <pybind11/stl.h>

#include <cstring>

#include "api/bridge.h"
#include "module.h"
#include "ops/list.h"

namespace sdx::python {
namespace {

using sardonyx::Bridge;
using sardonyx::Call;

// A function that is called until the process ends, and never let go: by then there may be no
// Python left to do that.
struct Callback {
  PyObject* function;
  explicit Callback(const py::object& given) : function(given.inc_ref().ptr()) {}
  py::object operator()(const py::object& first, const py::object& second) const {
    return py::reinterpret_borrow<py::object>(function)(first, second);
  }
};

// What Python raises becomes the error of the run. The exception is let go while Python is held.
template <class F>
void in_python(F&& run) {
  const py::gil_scoped_acquire held;
  std::string raised;
  try {
    run();
    return;
  } catch (const py::error_already_set& error) {
    raised = error.what();
  } catch (const Failure& failure) {
    throw Bridge::error(failure.error);
  }
  throw std::runtime_error(raised);
}

py::object attribute_of(const Call& call, const AttrDecl& declared) {
  const std::string& name = declared.name;
  switch (declared.type) {
    case AttrType::int_:
      return py::cast(call.integer(name));
    case AttrType::float_:
      return py::cast(call.real(name));
    case AttrType::string:
      return readable(call.text(name));
    case AttrType::ints:
      return py::cast(call.integers(name));
    case AttrType::floats:
      return py::cast(call.reals(name));
    case AttrType::strings:
      return py::cast(call.texts(name));
    case AttrType::tensor:
      return from_value(Value(Bridge::in(call.tensor(name))));
    default:
      return py::none();
  }
}

py::dict attributes_of(const Call& call, const Op& op) {
  py::dict attributes;
  for (const AttrDecl& declared : op.at(call.version())->attributes) {
    attributes[py::str(declared.name)] =
        call.has(declared.name) ? attribute_of(call, declared) : py::none();
  }
  return attributes;
}

// (type, sizes, value): None for what is not there or not known.
py::tuple described(const sardonyx::Port& port, const std::optional<sardonyx::Tensor>& value) {
  if (port.type == sardonyx::Type::undefined)
    return py::make_tuple(py::none(), py::none(), py::none());
  py::object sizes = py::none();
  if (port.dims) {
    py::list list;
    for (const sardonyx::Size& size : *port.dims) {
      if (size.number) {
        list.append(*size.number);
      } else if (size.name.empty()) {
        list.append(py::none());
      } else {
        list.append(size.name);
      }
    }
    sizes = py::tuple(list);
  }
  return py::make_tuple(std::string(short_name(static_cast<DType>(port.type))), sizes,
                        value ? from_value(Value(Bridge::in(*value).copy())) : py::none());
}

sardonyx::Port port_from(const py::handle& given) {
  const auto pair = py::cast<py::tuple>(given);
  sardonyx::Port port;
  const auto type = dtype_from_short(py::cast<std::string>(pair[0]));
  if (!type) {
    throw Failure{fail("SDX-P0060", "\"{}\" is no element type; expected one as \"f32\" or \"i64\"",
                       py::cast<std::string>(pair[0]))};
  }
  port.type = static_cast<sardonyx::Type>(*type);
  if (pair[1].is_none()) return port;
  port.dims.emplace();
  for (const py::handle size : py::cast<py::sequence>(pair[1])) {
    sardonyx::Size made;
    if (py::isinstance<py::str>(size)) {
      made.name = py::cast<std::string>(size);
    } else if (!size.is_none()) {
      made.number = py::cast<int64_t>(size);
    }
    port.dims->push_back(std::move(made));
  }
  return port;
}

// The array that the code gave, in the place that the plan has for it.
void fill(const py::handle& given, size_t i, sardonyx::Tensor& output) {
  const DType type = static_cast<DType>(output.type());
  const Fact expected = type == DType::undefined ? Fact{} : Fact::tensor(type);
  const Value value = to_value(given, expected);
  if (!value.is_tensor()) throw Failure{fail("SDX-P0061", "output {} is no array", i)};
  const Tensor& made = value.tensor();
  if (type == DType::undefined) {  // of a size that only running tells
    output = Bridge::out(made);
    return;
  }
  if (made.type() != type || made.dims() != output.dims()) {
    throw Failure{fail("SDX-P0061", "output {} is {}; {} {} was inferred", i, fact_of(value).text(),
                       short_name(type), to_string(output.dims()))};
  }
  if (type == DType::string) {
    std::copy_n(made.data<std::string>(), made.count(), static_cast<std::string*>(output.data()));
  } else if (made.bytes() > 0) {
    std::memcpy(output.data(), made.raw(), made.bytes());
  }
}

void compute(const Callback& code, const Op& op, const Call& call,
             std::span<const sardonyx::Tensor> inputs, std::span<sardonyx::Tensor> outputs) {
  in_python([&] {
    py::list arrays;
    for (const sardonyx::Tensor& input : inputs) {
      // A copy: the code may keep it longer than the run lasts.
      arrays.append(input.type() == sardonyx::Type::undefined
                        ? py::none()
                        : from_value(Value(Bridge::in(input).copy())));
    }
    const py::object given = code(arrays, attributes_of(call, op));
    const bool several = py::isinstance<py::tuple>(given) || py::isinstance<py::list>(given);
    const py::tuple all = several ? py::tuple(given) : py::make_tuple(given);
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!call.wants(i)) continue;
      if (i >= all.size())
        throw Failure{
            fail("SDX-P0061", "the code gives {} of {} outputs", all.size(), call.outputs())};
      fill(all[i], i, outputs[i]);
    }
  });
}

std::vector<sardonyx::Port> infer(const Callback& code, const Op& op, const Call& call,
                                  std::span<const sardonyx::Port> inputs) {
  std::vector<sardonyx::Port> ports;
  in_python([&] {
    py::list known;
    for (size_t i = 0; i < inputs.size(); ++i) known.append(described(inputs[i], call.constant(i)));
    for (const py::handle port : py::cast<py::list>(code(known, attributes_of(call, op))))
      ports.push_back(port_from(port));
  });
  return ports;
}

void register_operator(const std::string& domain, const std::string& name, const std::string& doc,
                       const std::vector<std::pair<int, std::string>>& history,
                       const py::object& infers, const py::object& computes, bool deterministic) {
  sardonyx::Operator made;
  made.domain = domain;
  made.name = name;
  made.doc = doc;
  made.deterministic = deterministic;
  for (const auto& [since, signature] : history) made.history.push_back({since, signature});
  const auto op = [domain, name]() -> const Op& { return *find_op(domain, name); };
  made.compute = [op, code = Callback(computes)](const Call& call,
                                                 std::span<const sardonyx::Tensor> inputs,
                                                 std::span<sardonyx::Tensor> outputs) {
    compute(code, op(), call, inputs, outputs);
  };
  if (!infers.is_none()) {
    made.infer = [op, code = Callback(infers)](const Call& call,
                                               std::span<const sardonyx::Port> inputs) {
      return infer(code, op(), call, inputs);
    };
  }
  sardonyx::register_operator(std::move(made));
}

}  // namespace

void bind_operators(py::module_& m) {
  m.def("register_operator", &register_operator);
  m.def("register_functions", [](const std::string& text) { sardonyx::register_functions(text); });
}

}  // namespace sdx::python
