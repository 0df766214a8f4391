// Session: a compiled model as Python runs it. Sessions of the engine are for one thread at a time,
// so each run borrows one; the interpreter's lock guards the list of idle ones.
#include <pybind11/stl.h>

#include <atomic>
#include <chrono>
#include <optional>

#include "api/engine.h"
#include "api/errors.h"
#include "api/floating.h"
#include "module.h"

namespace sdx::python {
namespace {

using Clock = std::chrono::steady_clock;

int64_t microseconds(Clock::duration d) {
  return std::chrono::duration_cast<std::chrono::microseconds>(d).count();
}

// What a profile holds of one step.
struct Event {
  std::string name, op;
  int64_t start_us, duration_us;
};

class Profile : public run::Observer {
 public:
  explicit Profile(Clock::time_point zero) : zero_(zero) {}
  void before(uint32_t, const typed::Node&) override { begun_ = Clock::now(); }
  void after(uint32_t, const typed::Node& node, std::span<const View>) override {
    events.push_back({node.use.name, std::string(node.op().name), microseconds(begun_ - zero_),
                      microseconds(Clock::now() - begun_)});
  }
  std::vector<Event> events;

 private:
  Clock::time_point zero_, begun_;
};

// What another thread sets to end a run.
struct Stop {
  std::atomic<bool> asked{false};
};

class Session {
 public:
  explicit Session(std::shared_ptr<const plan::Compiled> compiled)
      : compiled_(std::move(compiled)) {
    const typed::Graph& graph = compiled_->graph();
    for (const typed::Outlet source : graph.inputs()) {
      inputs_.push_back(interned(graph.node(source.node).use.name));
    }
    for (const typed::Output& output : graph.outputs()) outputs_.push_back(interned(output.name));
  }

  // `options`: a sardonyx.RunOptions, or None.
  py::list run(const py::object& names, const py::dict& feed, const py::object& options) {
    return list_of(names, feed, options, [](const Value& value) { return from_value(value); });
  }
  // The same with results that stay the engine's values.
  py::list run_values(const py::object& names, const py::dict& feed, const py::object& options) {
    return list_of(names, feed, options, [](const Value& value) { return py::cast(Held{value}); });
  }

  // Events since the last call, as (name, operator, start, duration) in microseconds.
  std::vector<std::tuple<std::string, std::string, int64_t, int64_t>> take_events() {
    std::vector<std::tuple<std::string, std::string, int64_t, int64_t>> out;
    for (Event& e : events_) out.emplace_back(e.name, e.op, e.start_us, e.duration_us);
    events_.clear();
    return out;
  }

  bool profiling = false;
  int threads() const { return compiled_->pool().threads(); }
  size_t arena_bytes() const { return arena_bytes_; }
  std::vector<std::string> notes() const { return compiled_->notes(); }

 private:
  static py::str interned(const std::string& name) {
    PyObject* text = readable(name).release().ptr();
    if (text == nullptr) throw py::error_already_set();
    PyUnicode_InternInPlace(&text);
    return py::reinterpret_steal<py::str>(text);
  }

  static size_t position(const std::vector<py::str>& names, PyObject* name) {
    for (size_t i = 0; i < names.size(); ++i) {
      if (names[i].ptr() == name) return i;
    }
    for (size_t i = 0; i < names.size(); ++i) {
      if (PyUnicode_Check(name) != 0 && PyUnicode_Compare(names[i].ptr(), name) == 0) return i;
    }
    return names.size();
  }

  static std::string listed(const std::vector<py::str>& names) {
    return sdx::listed(names, [](const py::str& name) { return std::string(name); });
  }

  void take(const py::dict& feed, std::vector<Value>& arguments) const {
    const typed::Graph& graph = compiled_->graph();
    std::vector<bool> filled(inputs_.size());
    PyObject *key = nullptr, *object = nullptr;
    for (Py_ssize_t at = 0; PyDict_Next(feed.ptr(), &at, &key, &object) != 0;) {
      const size_t i = position(inputs_, key);
      if (i == inputs_.size()) {
        throw Failure{no_such_input(std::string(py::str(py::handle(key))), listed(inputs_))};
      }
      try {
        arguments[i] = to_value(object, graph.fact(graph.inputs()[i]));
      } catch (Failure& failure) {
        failure.error.where.push_back(fmt::format("input \"{}\"", std::string(inputs_[i])));
        throw;
      }
      filled[i] = true;
    }
    for (size_t i = 0; i < filled.size(); ++i) {
      if (filled[i] || graph.fact(graph.inputs()[i]).kind == Fact::Kind::optional) continue;
      throw Failure{no_value_for(std::string(inputs_[i]), listed(inputs_))};
    }
  }

  template <class Give>
  py::list list_of(const py::object& names, const py::dict& feed, const py::object& options,
                   Give&& give) {
    std::vector<size_t> wanted;
    if (!names.is_none()) {
      for (const py::handle name : names) {
        wanted.push_back(position(outputs_, name.ptr()));
        if (wanted.back() == outputs_.size()) {
          throw Failure{no_such_output(std::string(py::str(name)), listed(outputs_))};
        }
      }
    }
    run::RunOptions run_options;
    std::vector<bool> chosen(outputs_.size(), false);
    for (const size_t i : wanted) chosen[i] = true;
    if (!names.is_none()) run_options.wanted = &chosen;
    py::object stop;
    if (!options.is_none()) {
      stop = options.attr("_stop");
      run_options.stop = &py::cast<const Stop&>(stop).asked;
      if (const auto seconds = py::cast<std::optional<double>>(options.attr("time_limit"))) {
        // What no clock reaches is no limit.
        constexpr double kMost = 1e9;
        if (!(*seconds >= 0)) {
          throw Failure{fail("SDX-P0025", "a time limit of {} seconds", *seconds)};
        }
        if (*seconds < kMost) {
          run_options.deadline =
              run::RunOptions::Clock::now() +
              std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(*seconds));
        }
      }
      if (const auto limit = py::cast<std::optional<int64_t>>(options.attr("loop_limit")))
        run_options.most_iterations = *limit;
    }
    std::vector<Value> arguments(inputs_.size());
    take(feed, arguments);
    std::unique_ptr<run::Session> session;
    if (idle_.empty()) {
      session = std::make_unique<run::Session>(compiled_);
    } else {
      session = std::move(idle_.back());
      idle_.pop_back();
    }
    Profile profile(started_);
    if (profiling) run_options.observer = &profile;
    Result<std::vector<Value>> values = [&] {
      const py::gil_scoped_release unlocked;
      const DefaultFloating floating;
      return session->run(arguments, run_options);
    }();
    arena_bytes_ = session->arena_bytes();
    idle_.push_back(std::move(session));
    std::move(profile.events.begin(), profile.events.end(), std::back_inserter(events_));
    if (!values) throw Failure{std::move(values).error()};
    const size_t count = names.is_none() ? outputs_.size() : wanted.size();
    py::list list(count);
    for (size_t i = 0; i < count; ++i) {
      list[i] = give((*values)[names.is_none() ? i : wanted[i]]);
    }
    return list;
  }

  std::shared_ptr<const plan::Compiled> compiled_;
  std::vector<py::str> inputs_, outputs_;
  std::vector<std::unique_ptr<run::Session>> idle_;
  std::vector<Event> events_;
  Clock::time_point started_ = Clock::now();
  size_t arena_bytes_ = 0;
};

}  // namespace

CompileOptions options_from(const py::dict& given) {
  CompileOptions options;
  if (given.contains("threads")) options.threads = py::cast<int>(given["threads"]);
  if (given.contains("optimize")) options.optimize = py::cast<bool>(given["optimize"]);
  if (given.contains("strict")) options.strict = py::cast<bool>(given["strict"]);
  if (given.contains("accept")) {
    const auto word = py::cast<std::string>(given["accept"]);
    if (word != "strict" && word != "common") {
      throw Failure{fail("SDX-P0040", "accept is \"{}\"; expected \"strict\" or \"common\"", word)};
    }
    options.accept = word == "strict" ? check::Accept::strict : check::Accept::common;
  }
  if (given.contains("pack_cache")) options.pack_cache = py::cast<std::string>(given["pack_cache"]);
  if (given.contains("set")) {
    for (const auto& [name, size] : py::cast<std::map<std::string, int64_t>>(given["set"])) {
      options.set[name] = size;
    }
  }
  if (given.contains("isa")) {
    const auto name = py::cast<std::string>(given["isa"]);
    if (name != "native") {
      if (!parse_isa(name, options.isa) || !isa_available(options.isa))
        throw Failure{no_such_isa(name)};
    }
  }
  return options;
}

void bind_session(py::module_& m) {
  py::class_<Held>(m, "Value", "A value in the engine's memory.")
      .def(py::init([](const py::object& object) { return Held{to_value(object, {})}; }))
      .def("python", [](const Held& held) { return from_value(held.value); })
      .def("kind",
           [](const Held& held) {
             return held.value.is_none()       ? "none"
                    : held.value.is_tensor()   ? "tensor"
                    : held.value.is_sequence() ? "sequence"
                                               : "map";
           })
      .def("onnx_type", [](const Held& held) { return fact_of(held.value).onnx_type(); })
      .def("element_type",
           [](const Held& held) {
             return held.value.is_tensor() ? static_cast<int>(held.value.tensor().type()) : 0;
           })
      .def("shape",
           [](const Held& held) {
             return held.value.is_tensor() ? held.value.tensor().dims() : Dims{};
           })
      .def("data_ptr",
           [](const Held& held) {
             return held.value.is_tensor() ? reinterpret_cast<uintptr_t>(held.value.tensor().raw())
                                           : 0;
           })
      .def("bytes", [](const Held& held) {
        return held.value.is_tensor() ? held.value.tensor().bytes() : 0;
      });

  py::class_<Stop>(m, "Stop", "Ends a run when asked to.")
      .def(py::init<>())
      .def_property(
          "asked", [](const Stop& stop) { return stop.asked.load(); },
          [](Stop& stop, bool asked) { stop.asked = asked; });

  py::class_<Session>(m, "Session", "A compiled model.")
      .def(py::init([](const Loaded& loaded, const py::dict& given) {
        const CompileOptions options = options_from(given);
        auto compiled = [&] {
          const py::gil_scoped_release unlocked;
          const DefaultFloating floating;
          return compile(loaded.model, options);
        }();
        return std::make_unique<Session>(need(std::move(compiled)));
      }))
      .def("run", &Session::run)
      .def("run_values", &Session::run_values)
      .def("take_events", &Session::take_events)
      .def_readwrite("profiling", &Session::profiling)
      .def_property_readonly("threads", &Session::threads)
      .def_property_readonly("notes", &Session::notes)
      .def_property_readonly("arena_bytes", &Session::arena_bytes);
}

}  // namespace sdx::python
