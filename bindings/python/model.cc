// Models: what they declare, what is wrong with them, what every wire carries, and how they look.
#include <pybind11/stl.h>

#include <algorithm>
#include <set>

#include "base/sha256.h"
#include "bytes/file.h"
#include "check/check.h"
#include "check/typable.h"
#include "draw.h"
#include "listing.h"
#include "model/text.h"
#include "module.h"
#include "typed/text.h"

namespace sdx::python {
namespace {

// (name, ONNX's type, shape): sizes are numbers, names, or None.
py::tuple port(const std::string& name, const Fact& fact) {
  const Fact* tensor = &fact;
  while (!tensor->is_tensor() && tensor->element) tensor = tensor->element.get();
  py::object shape = py::list();
  if (tensor->is_tensor() && tensor->shape) {
    py::list sizes;
    for (const Dim& dim : *tensor->shape) {
      const std::string text = dim.text();
      if (dim.is_const()) {
        sizes.append(dim.value());
      } else if (text.find('?') != std::string::npos) {
        sizes.append(py::none());  // nobody named it
      } else {
        sizes.append(readable(text));
      }
    }
    shape = sizes;
  } else if (tensor->is_tensor()) {
    shape = py::none();
  }
  return py::make_tuple(readable(name), fact.onnx_type(), shape);
}

Fact declared(const model::ValueInfo& info) { return check::declared_fact(info); }

std::set<std::string, std::less<>> initialized(const model::Graph& graph) {
  std::set<std::string, std::less<>> names;
  for (const model::TensorData& init : graph.initializer) names.insert(init.name);
  for (const model::SparseTensorData& init : graph.sparse_initializer) {
    if (init.values) names.insert(init.values->name);
  }
  return names;
}

py::list ports(const Loaded& loaded, const std::string& which) {
  py::list list;
  if (!loaded.model->graph) return list;
  const model::Graph& graph = *loaded.model->graph;
  const auto held = initialized(graph);
  // Before version 4 of the format every initializer had to be listed as an input.
  const bool overridable = loaded.model->ir_version >= 4;
  for (const model::ValueInfo& info : which == "outputs" ? graph.output : graph.input) {
    if (which == "inputs" && held.contains(info.name)) continue;
    if (which == "overridable" && (!overridable || !held.contains(info.name))) continue;
    list.append(port(info.name, declared(info)));
  }
  return list;
}

py::dict meta(const Loaded& loaded) {
  const model::Model& m = *loaded.model;
  py::dict custom, opsets;
  for (const model::StringEntry& entry : m.metadata_props)
    custom[readable(entry.key)] = readable(entry.value);
  for (const model::OpsetId& opset : m.opset_import) {
    opsets[readable(opset.domain.empty() ? "ai.onnx" : opset.domain)] = opset.version;
  }
  py::dict out;
  out["custom_metadata_map"] = custom;
  out["description"] = readable(m.doc_string);
  out["domain"] = readable(m.domain);
  out["graph_description"] = readable(m.graph ? m.graph->doc_string : "");
  out["graph_name"] = readable(m.graph ? m.graph->name : "");
  out["producer_name"] = readable(m.producer_name);
  out["producer_version"] = readable(m.producer_version);
  out["version"] = m.model_version;
  out["ir_version"] = m.ir_version;
  out["opsets"] = opsets;
  return out;
}

py::dict finding(const check::Diagnostic& d) {
  py::dict out;
  out["code"] = d.code;
  out["severity"] = std::string(check::name_of(d.severity));
  out["sonnx"] = d.sonnx;
  out["message"] = d.message;
  out["place"] = d.place;
  out["inputs"] = d.inputs;
  out["notes"] = d.notes;
  out["help"] = d.help;
  return out;
}

// The rules first; types only where the rules hold, since typing takes them for granted.
py::list check_model(const Loaded& loaded, const std::string& profile) {
  check::Options options;
  if (profile == "sonnx") options.profile = check::Profile::sonnx;
  if (profile == "sonnx-full") options.profile = check::Profile::sonnx_full;
  check::Report report;
  std::optional<Error> typing;
  {
    const py::gil_scoped_release unlocked;
    report = check::check(*loaded.model, options);
    if (check::can_be_typed(report)) {
      if (Result<typed::Graph> graph = type(loaded.model); !graph)
        typing = std::move(graph).error();
    }
  }
  py::list list;
  for (const check::Diagnostic& d : report.diagnostics) list.append(finding(d));
  if (typing) {
    check::Diagnostic d;
    d.code = typing->code;
    d.message = typing->what;
    d.help = typing->help;
    for (auto place = typing->where.rbegin(); place != typing->where.rend(); ++place) {
      d.place += (d.place.empty() ? "" : ", ") + *place;
    }
    list.append(finding(d));
  }
  return list;
}

struct Typed {
  typed::Graph graph;
  infer::Wires wires;
};

Typed typed_model(const Loaded& loaded, const py::dict& options) {
  const CompileOptions compile = options_from(options);
  Result<infer::Inferred> known = [&] {
    const py::gil_scoped_release unlocked;
    return inferred(loaded.model, compile);
  }();
  infer::Inferred all = need(std::move(known));
  return {all.graph(), all.wires()};
}

// Every wire of the main graph: (name, ONNX's type, shape, text, value if it is a known constant).
py::list infer_model(const Loaded& loaded, const py::dict& options) {
  const Typed typed = typed_model(loaded, options);
  py::list list;
  for (const auto& [name, outlet] : typed.wires) {
    const Fact& fact = typed.graph.fact(outlet);
    const py::tuple head = port(name, fact);
    const py::object value = fact.value ? from_value(*fact.value) : py::object(py::none());
    list.append(py::make_tuple(head[0], head[1], head[2], fact.text(), value));
  }
  return list;
}

// Who makes a wire, from what: (fact, node's name, operator, [(input wire, fact)]).
py::tuple explain_wire(const Loaded& loaded, const std::string& wire, const py::dict& options) {
  const Typed typed = typed_model(loaded, options);
  const auto at = typed.wires.find(wire);
  if (at == typed.wires.end()) {
    throw Failure{fail("SDX-P0005", "the model's main graph has no wire \"{}\"", wire)};
  }
  const auto named = [&](typed::Outlet outlet) {
    for (const auto& [name, other] : typed.wires) {
      if (other == outlet) return name;
    }
    return std::string();
  };
  const typed::Node& node = typed.graph.node(at->second.node);
  const char* kind = node.kind == typed::Node::Kind::source     ? "input"
                     : node.kind == typed::Node::Kind::constant ? "constant"
                                                                : "operator";
  py::list inputs;
  for (const typed::Outlet input : node.inputs) {
    inputs.append(py::make_tuple(named(input), typed.graph.fact(input).text()));
  }
  return py::make_tuple(typed.graph.fact(at->second).text(), kind, readable(node.use.name),
                        node.kind == typed::Node::Kind::op ? std::string(node.op().name) : "",
                        inputs, typed::print_node(typed.graph, at->second.node));
}

std::string text_at(const Loaded& loaded, const std::string& stage, const py::dict& options) {
  if (stage == "model") return cli::listing(*loaded.model);
  Typed typed = typed_model(loaded, options);
  if (stage == "typed") return typed::print(typed.graph.without_dead());
  if (stage == "inferred") {
    cli::Types types;
    for (const auto& [name, outlet] : typed.wires) types.emplace(name, typed.graph.fact(outlet));
    return cli::listing(*loaded.model, types);
  }
  if (stage == "dot") return cli::to_dot(typed.graph.without_dead());
  if (stage == "svg") return cli::to_svg(typed.graph.without_dead());
  const auto compiled = need(compile(typed.graph, options_from(options)));
  if (stage == "optimized") return typed::print(compiled->graph());
  if (stage == "plan") return plan::to_text(*need(compiled->plan_under({})));
  throw Failure{fail("SDX-P0006", "no stage \"{}\"", stage)};
}

// The model with some initializers left out, so that these inputs are given at each run.
Loaded with_inputs(const Loaded& loaded, const std::set<std::string>& names) {
  auto copy = std::make_shared<model::Model>(*loaded.model);
  const auto given = [&](const auto& init) { return names.contains(init.name); };
  std::erase_if(copy->graph->initializer, given);
  std::erase_if(copy->graph->sparse_initializer, [&](const model::SparseTensorData& init) {
    return init.values && names.contains(init.values->name);
  });
  return {std::move(copy)};
}

}  // namespace

void bind_model(py::module_& m) {
  py::class_<Loaded>(m, "Model", "A model as it was read.")
      .def_static("load",
                  [](const std::string& path) {
                    auto model = [&] {
                      const py::gil_scoped_release unlocked;
                      return model::read_file(path);
                    }();
                    return Loaded{need(std::move(model))};
                  })
      .def_static("parse",
                  [](const py::bytes& bytes, const std::string& folder) {
                    const std::string_view view = bytes;
                    auto model = [&] {
                      const py::gil_scoped_release unlocked;
                      return model::read_bytes(std::as_bytes(std::span(view)), {}, folder);
                    }();
                    return Loaded{need(std::move(model))};
                  })
      .def_static(
          "from_text",
          [](const std::string& text) {
            return Loaded{std::make_shared<const model::Model>(need(model::parse_text(text)))};
          })
      .def("ports", &ports)
      .def("meta", &meta)
      .def("check", &check_model)
      .def("infer", &infer_model)
      .def("explain", &explain_wire)
      .def("text", &text_at)
      .def("with_inputs", &with_inputs)
      .def("serialized",
           [](const Loaded& loaded) { return py::bytes(model::write(*loaded.model)); })
      .def_property_readonly("path", [](const Loaded& loaded) { return loaded.model->path; });
  m.def("sha256_of_file", [](const std::string& path) {
    const auto file = need(MappedFile::open(path, size_t{64} << 30));
    Sha256 hash;
    hash.add(file->bytes());
    return hash.hex();
  });
  m.def("rule", [](const std::string& code) -> py::object {
    const check::Rule* rule = check::find_rule(code);
    if (rule == nullptr) return py::none();
    py::dict out;
    out["code"] = std::string(rule->code);
    out["severity"] = std::string(check::name_of(rule->severity));
    out["text"] = std::string(rule->text);
    out["origin"] = std::string(rule->origin);
    out["sonnx"] = std::string(rule->sonnx);
    return out;
  });
}

}  // namespace sdx::python
