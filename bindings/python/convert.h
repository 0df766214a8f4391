// Python objects as the engine's values and back. Contiguous arrays are shared, not copied.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include "fact/fact.h"

namespace sdx::python {

namespace py = pybind11;

// An engine's error on its way to Python, where it becomes sardonyx.Error.
struct Failure {
  Error error;
};

template <class T>
T need(Result<T> result) {
  if (!result) throw Failure{std::move(result).error()};
  return *std::move(result);
}
inline void need(Status status) {
  if (!status) throw Failure{std::move(status).error()};
}

// Text of a model as a str; bytes that are not UTF-8 become \xff.
py::str readable(std::string_view text);

// What wraps a Value as it is, for values that never become Python objects.
struct Held {
  Value value;
};

// Arrays of every kind, numbers, strings, lists, dictionaries, None and Held. `expected` decides
// where an object may mean several values: 1.5 is f16 for an input of f16.
Value to_value(py::handle object, const Fact& expected);
py::object from_value(const Value& value);

// The element type of a numpy dtype; undefined if there is none. The dtype of an element type.
DType dtype_of(const py::dtype& dtype);
py::dtype numpy_type(DType type);

}  // namespace sdx::python
