// What sardonyx.dask needs of the engine: whether a model works row by row, its bytes whole, and
// rows out of files as `sardonyx score` reads them.
#include <pybind11/stl.h>

#include "api/floating.h"
#include "module.h"
#include "npy.h"
#include "rowwise/rowwise.h"
#include "score/merge.h"
#include "score/pace.h"
#include "score/row_model.h"

namespace sdx::python {
namespace {

namespace rows = cli::score;

py::dict row_wise(const Loaded& loaded, const py::dict& options) {
  const CompileOptions engine = options_from(options);
  const auto made = [&] {
    const py::gil_scoped_release unlocked;
    const DefaultFloating floating;
    return need(rows::row_ports(loaded.model, engine));
  }();
  py::list inputs, same, outputs;
  for (const rows::RowInput& input : made.inputs)
    inputs.append(py::make_tuple(readable(input.name), numpy_type(input.type), input.row));
  for (const std::string& name : made.same) same.append(readable(name));
  for (const rows::RowInput& output : made.outputs) {
    const bool written = cli::npy_header(Tensor::make(output.type, {0})).ok();
    outputs.append(py::make_tuple(readable(output.name), numpy_type(output.type), output.row,
                                  std::string(short_name(output.type)), written));
  }
  py::dict answer;
  answer["inputs"] = inputs;
  answer["same"] = same;
  answer["outputs"] = outputs;
  answer["most_rows"] = made.most_rows;
  return answer;
}

py::dict read_rows(const std::string& path,
                   const std::vector<std::tuple<std::string, py::dtype, Dims>>& inputs) {
  std::vector<rows::RowInput> wanted;
  for (const auto& [name, type, row] : inputs) wanted.push_back({name, dtype_of(type), row});
  const auto source = [&] {
    const py::gil_scoped_release unlocked;
    return need(rows::Source::open(path, wanted));
  }();
  py::dict tensors;
  for (size_t i = 0; i < wanted.size(); ++i)
    tensors[readable(wanted[i].name)] = from_value(Value(source->tensors[i]));
  py::dict answer;
  answer["rows"] = source->stamp.rows;
  answer["bytes"] = source->stamp.bytes;
  answer["changed"] = source->stamp.changed;
  answer["tensors"] = tensors;
  return answer;
}

}  // namespace

void bind_score(py::module_& m) {
  m.def("row_wise", &row_wise);
  py::class_<rows::Pace>(m, "Pace")
      .def(py::init([] { return rows::Pace(0); }))
      .def_property_readonly("rows", &rows::Pace::rows)
      .def("took", &rows::Pace::took);
  m.def("read_rows", &read_rows);
  m.def("files_of",
        [](const std::vector<std::string>& given) { return need(rows::files_of(given)); });
  m.def("merge", [](const std::vector<std::string>& folders) {
    const auto merged = [&] {
      const py::gil_scoped_release unlocked;
      return need(rows::merge(folders));
    }();
    if (!merged.wrong.empty()) throw Failure{merged.wrong[0]};
    return merged.lines;
  });
  m.def("whole_bytes", [](const Loaded& loaded, const std::string& path) {
    const std::string bytes = [&] {
      const py::gil_scoped_release unlocked;
      return need(rows::whole_bytes(path, *loaded.model));
    }();
    return py::bytes(bytes);
  });
}

}  // namespace sdx::python
