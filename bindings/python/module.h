// The parts of the Python module, one file each.
#pragma once

#include "api/engine.h"
#include "convert.h"

namespace sdx::python {

// A model as it was read.
struct Loaded {
  std::shared_ptr<const model::Model> model;
};

CompileOptions options_from(const py::dict& given);

void bind_builder(py::module_& m);
void bind_model(py::module_& m);
void bind_operators(py::module_& m);
void bind_ops(py::module_& m);
void bind_score(py::module_& m);
void bind_session(py::module_& m);
void bind_stream(py::module_& m);

}  // namespace sdx::python
