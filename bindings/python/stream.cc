// Stream: a model over an endless axis, as Python feeds it.
#include <pybind11/stl.h>

#include "api/errors.h"
#include "api/floating.h"
#include "api/streaming.h"
#include "module.h"

namespace sdx::python {
namespace {

class Stream {
 public:
  explicit Stream(stream::Stream made) : stream_(std::move(made)) {}

  static Stream open(const Loaded& loaded, const std::string& axis, const py::dict& options) {
    const CompileOptions engine = options_from(options);
    const py::gil_scoped_release unlocked;
    const DefaultFloating floating;
    auto source = need(stream_source(loaded.model, axis, engine));
    // Whether it can be streamed is said now, for sizes of 1 where they are open.
    Bindings others;
    for (const std::string& name : source->others()) others[name] = 1;
    need(source->at(others));
    return Stream(stream::Stream(std::move(source)));
  }

  py::list push(const py::dict& feed, std::optional<double> time_limit) {
    const std::vector<Tensor> inputs = taken(feed);
    return given([&] { return stream_.push(inputs, within(time_limit)); });
  }
  py::list finish(std::optional<double> time_limit) {
    return given([&] { return stream_.finish(within(time_limit)); });
  }
  void reset() { stream_.reset(); }
  Stream fork() const { return Stream(stream_.fork()); }
  py::bytes save() const { return stream_.save(); }
  void restore(const py::bytes& saved) { need(stream_.restore(std::string(saved))); }
  int64_t rows() const { return stream_.rows(); }
  size_t state_bytes() const { return stream_.state_bytes(); }
  std::vector<std::string> inputs() const {
    std::vector<std::string> names;
    const typed::Graph& graph = stream_.source()->graph();
    for (const typed::Outlet input : graph.inputs())
      names.push_back(graph.node(input.node).use.name);
    return names;
  }
  std::vector<std::string> outputs() const {
    std::vector<std::string> names;
    for (const typed::Output& output : stream_.source()->graph().outputs())
      names.push_back(output.name);
    return names;
  }

  static py::list push_all(const std::vector<Stream*>& streams, const std::vector<py::dict>& feeds,
                           std::optional<double> time_limit) {
    if (streams.size() != feeds.size()) throw Failure{wrong_streams(streams.size(), feeds.size())};
    std::vector<stream::Stream*> engines;
    std::vector<std::vector<Tensor>> inputs;
    for (size_t i = 0; i < streams.size(); ++i) {
      engines.push_back(&streams[i]->stream_);
      inputs.push_back(streams[i]->taken(feeds[i]));
    }
    const std::vector<std::span<const Tensor>> chunks(inputs.begin(), inputs.end());
    std::vector<std::span<const Tensor>> rows(streams.size());
    {
      const py::gil_scoped_release unlocked;
      const DefaultFloating floating;
      need(stream::push_all(engines, chunks, rows, within(time_limit)));
    }
    py::list all;
    for (const auto& results : rows) all.append(listed(results));
    return all;
  }

 private:
  // Seconds from now on.
  static run::RunOptions within(std::optional<double> time_limit) {
    using Clock = run::RunOptions::Clock;
    run::RunOptions options;
    if (time_limit)
      options.deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                            std::chrono::duration<double>(*time_limit));
    return options;
  }
  static std::string listed_names(const std::vector<std::string>& names) {
    return sdx::listed(names, [](const std::string& name) { return name; });
  }
  std::vector<Tensor> taken(const py::dict& feed) const {
    const typed::Graph& graph = stream_.source()->graph();
    std::vector<Tensor> tensors(graph.inputs().size());
    const std::vector<std::string> names = inputs();
    for (const auto& [key, object] : feed) {
      const auto name = std::string(py::str(key));
      const auto at = size_t(std::find(names.begin(), names.end(), name) - names.begin());
      if (at == names.size()) throw Failure{no_such_input(name, listed_names(names))};
      const Value value = to_value(object, graph.fact(graph.inputs()[at]));
      if (!value.is_tensor()) throw Failure{no_stream_of(name)};
      tensors[at] = value.tensor();
    }
    return tensors;
  }
  // Arrays of their own: the stream uses its memory again. None: known at the end only.
  static py::list listed(std::span<const Tensor> results) {
    py::list list;
    for (const Tensor& tensor : results)
      list.append(tensor.empty() ? py::object(py::none()) : from_value(Value(tensor.copy())));
    return list;
  }
  template <class Call>
  py::list given(const Call& call) {
    std::optional<Result<std::span<const Tensor>>> results;
    {
      const py::gil_scoped_release unlocked;
      const DefaultFloating floating;
      results.emplace(call());
    }
    return listed(need(*std::move(results)));
  }

  stream::Stream stream_;
};

}  // namespace

void bind_stream(py::module_& m) {
  py::class_<Stream>(m, "Stream")
      .def(py::init(&Stream::open), py::arg("model"), py::arg("axis"), py::arg("options"))
      .def("push", &Stream::push)
      .def("finish", &Stream::finish)
      .def("reset", &Stream::reset)
      .def("fork", &Stream::fork)
      .def("save", &Stream::save)
      .def("restore", &Stream::restore)
      .def_static("push_all", &Stream::push_all)
      .def_property_readonly("rows", &Stream::rows)
      .def_property_readonly("state_bytes", &Stream::state_bytes)
      .def_property_readonly("inputs", &Stream::inputs)
      .def_property_readonly("outputs", &Stream::outputs);
}

}  // namespace sdx::python
