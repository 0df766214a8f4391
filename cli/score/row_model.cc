#include "score/row_model.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include "base/sha256.h"
#include "model/io.h"
#include "model/names.h"
#include "model/tensor.h"
#include "npy.h"
#include "rowwise/rowwise.h"
#include "words.h"

namespace sdx::cli::score {
namespace {

bool is_external(const model::TensorData& tensor) {
  return tensor.data_location == model::DataLocation::external;
}

bool has_external(const model::Graph& graph) {
  bool found = std::any_of(graph.initializer.begin(), graph.initializer.end(), is_external);
  for (const model::Node& node : graph.node) {
    for (const model::Attribute& attribute : node.attribute)
      found = found || (attribute.t && is_external(*attribute.t));
    model::each_subgraph(node,
                         [&](const model::Graph& body) { found = found || has_external(body); });
  }
  return found;
}

Result<std::vector<Value>> same_values(const std::vector<std::string>& given,
                                       const RowPorts& ports) {
  std::map<std::string, Value> values;
  for (const std::string& text : given) {
    const size_t at = text.find('=');
    if (at == std::string::npos || !text.ends_with(".npy"))
      return fail("SDX-C0130", "--same {}: not of the form NAME=FILE.npy", text);
    const std::string name = text.substr(0, at);
    if (std::find(ports.same.begin(), ports.same.end(), name) == ports.same.end())
      return not_among("SDX-C0131", "the model has no input without rows", name, ports.same);
    SDX_ASSIGN(Tensor tensor, read_npy(text.substr(at + 1)));
    values[name] = Value(std::move(tensor));
  }
  for (const std::string& name : ports.same) {
    if (!values.contains(name))
      return fail("SDX-C0132", "input \"{}\" has no rows: give its value as --same {}=FILE.npy",
                  name, name);
  }
  std::vector<Value> in_order;
  for (const std::string& name : ports.names) in_order.push_back(values[name]);
  return in_order;
}

// Whether every wire at the model's ends has a first size of one.
bool one_row_a_run(const typed::Graph& graph) {
  const auto one = [&](typed::Outlet outlet) {
    const Fact& fact = graph.fact(outlet);
    return fact.is_tensor() && fact.has_rank() && fact.rank() > 0 && fact.dim(0).is_const(1);
  };
  return std::all_of(graph.inputs().begin(), graph.inputs().end(), one) &&
         std::all_of(graph.outputs().begin(), graph.outputs().end(),
                     [&](const typed::Output& output) { return one(output.outlet); });
}

RowInput row_input(const std::string& name, const Fact& fact) {
  RowInput input{name, fact.type, {}};
  for (size_t axis = 1; axis < fact.rank(); ++axis)
    input.row.push_back(fact.dim(axis).is_const() ? fact.dim(axis).value() : -1);
  return input;
}

Status choose_outputs(RowModel& made, const std::vector<std::string>& wanted) {
  std::vector<std::string> names;
  for (const RowInput& output : made.ports.outputs) names.push_back(output.name);
  for (const std::string& name : wanted.empty() ? names : wanted) {
    const auto at = std::find(names.begin(), names.end(), name);
    if (at == names.end()) return not_among("SDX-C0133", "the model has no output", name, names);
    const auto place = size_t(at - names.begin());
    // What numpy has no place for is said before anything runs.
    const DType type = made.ports.outputs[place].type;
    if (!npy_header(Tensor::make(type, {0})))
      return fail("SDX-C0134",
                  "output \"{}\" is {}, which no .npy file holds; choose others with --outputs",
                  name, onnx_name(type));
    made.outputs.push_back(place);
    made.names.push_back(name);
    made.types.push_back(type);
  }
  made.wanted.assign(names.size(), false);
  for (const size_t i : made.outputs) made.wanted[i] = true;
  return ok();
}

}  // namespace

Result<RowPorts> row_ports(const std::shared_ptr<const model::Model>& model,
                           const CompileOptions& options) {
  SDX_ASSIGN(const typed::Graph graph, type(model, options));
  rowwise::RowWise rows = rowwise::analyse(graph);
  RowPorts ports;
  if (!rows.proved && one_row_a_run(graph)) {
    ports.most_rows = 1;
    rows.inputs.assign(graph.inputs().size(), true);
  } else if (!rows.proved) {
    return fail("SDX-C0135", "the model is not proved to work row by row: {}", rows.reason);
  }
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    const std::string& name = graph.node(graph.inputs()[i].node).use.name;
    ports.names.push_back(name);
    if (rows.inputs[i]) {
      ports.inputs.push_back(row_input(name, graph.fact(graph.inputs()[i])));
      ports.input_at.push_back(i);
    } else {
      ports.same.push_back(name);
    }
  }
  if (ports.inputs.empty()) return fail("SDX-C0136", "no input of the model has rows");
  for (const typed::Output& output : graph.outputs())
    ports.outputs.push_back(row_input(output.name, graph.fact(output.outlet)));
  return ports;
}

Result<std::string> whole_bytes(const std::string& path, const model::Model& model) {
  if (model.graph && has_external(*model.graph)) {
    model::Model embedded = model;
    SDX_TRY(model::embed_external(embedded));
    return model::write(embedded);
  }
  return read_text(path);
}

Result<std::string> identity(const std::string& path, const model::Model& model) {
  SDX_ASSIGN(const std::string bytes, whole_bytes(path, model));
  Sha256 hash;
  hash.add(bytes.data(), bytes.size());
  return hash.hex();
}

Result<RowModel> RowModel::load(const std::string& path, const EngineFlags& engine,
                                const std::vector<std::string>& same,
                                const std::vector<std::string>& outputs) {
  SDX_ASSIGN(const CompileOptions options, engine.options());
  SDX_ASSIGN(const auto model, engine.limits.read(path));
  RowModel made;
  SDX_ASSIGN(made.sha256, identity(path, *model));
  const auto analysed = [&]() -> Status {
    SDX_ASSIGN(made.ports, row_ports(model, options));
    SDX_ASSIGN(made.values, same_values(same, made.ports));
    return choose_outputs(made, outputs);
  };
  if (Status status = analysed(); !status) return std::move(status).error().in(path);
  SDX_ASSIGN(made.compiled, compile(model, options));
  for (const std::string& note : made.compiled->notes())
    std::fprintf(stderr, "note: %s\n", note.c_str());
  return made;
}

}  // namespace sdx::cli::score
