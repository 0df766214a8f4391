// sardonyx._sardonyx: the engine for Python. What people import is the package around it.
#include "module.h"

#include <pybind11/stl.h>

#include "program.h"
#include "sardonyx/sardonyx.h"

namespace sdx::python {
namespace {

// The exception that sardonyx._errors makes of code, message, places and help.
void raise(const Error& error) {
  const py::object made = py::module_::import("sardonyx._errors")
                              .attr("make")(error.code, error.what, error.where, error.help);
  PyErr_SetObject(py::type::of(made).ptr(), made.ptr());
}

// The command line, in this process: `python3 -m sardonyx` needs no other program.
int run_program(const std::vector<std::string>& words) {
  std::vector<std::string> copy = words;
  std::vector<char*> argv;
  for (std::string& word : copy) argv.push_back(word.data());
  argv.push_back(nullptr);
  const py::gil_scoped_release unlocked;
  const int code = cli::program(static_cast<int>(words.size()), argv.data());
  std::fflush(nullptr);
  return code;
}

}  // namespace
}  // namespace sdx::python

PYBIND11_MODULE(_sardonyx, m) {
  namespace py = pybind11;
  using namespace sdx::python;
  m.doc() = "The engine behind the package sardonyx.";
  m.attr("__version__") = SARDONYX_RELEASE;
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const Failure& failure) {
      raise(failure.error);
    } catch (const std::bad_alloc&) {
      raise({"SDX-A0102", "out of memory", {}, {}});
    } catch (const sardonyx::Error& error) {
      raise({error.code(), error.message(), error.where(), error.help()});
    }
  });
  bind_model(m);
  bind_operators(m);
  bind_ops(m);
  bind_session(m);
  bind_score(m);
  bind_stream(m);
  bind_builder(m);
  m.def("program", &run_program, "Runs the command line; returns its exit code.");
  m.def("dtype_number", [](const py::dtype& dtype) { return static_cast<int>(dtype_of(dtype)); });
}
