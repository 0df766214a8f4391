// What is written more often than once, where later words replace earlier ones: imports, Constants
// and outputs. A field of a protobuf message that is not repeated is read so too, and onnxruntime
// reads these lists so.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "check/accept/mends.h"
#include "check/checker.h"
#include "model/names.h"

namespace sdx::check::accept {
namespace {

using model::Graph;
using model::Node;

// Of the imports of a domain the last, if none is newer; otherwise it is open which one was meant.
void keep_last(std::vector<model::OpsetId>& imports, const std::string& who, Journal& journal) {
  std::map<std::string, int64_t, std::less<>> last, newest;
  for (const model::OpsetId& import : imports) {
    const std::string domain(canonical(import.domain));
    last[domain] = import.version;
    newest[domain] = std::max(newest[domain], import.version);
  }
  std::set<std::string, std::less<>> kept;
  const auto superseded = [&](const model::OpsetId& import) {
    const std::string domain(canonical(import.domain));
    if (last[domain] != newest[domain]) return false;
    if (import.version == last[domain] && kept.insert(domain).second) return false;
    journal.push_back(fmt::format("{} no longer imports version {} of {}", who, import.version,
                                  in_quotes(shown(domain))));
    return true;
  };
  std::erase_if(imports, superseded);
}

bool is_constant(const Node& node) {
  return node.op_type == "Constant" && canonical(node.domain).empty() && node.output.size() == 1;
}

// The last Constant of a name takes the place of the first, so that whoever reads it comes behind.
void keep_last_of_nodes(std::vector<Node>& nodes, Journal& journal) {
  std::map<std::string, std::vector<size_t>, std::less<>> writers;
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const std::string& name : nodes[i].output) writers[name].push_back(i);
  }
  std::set<size_t> gone;
  for (const auto& [name, at] : writers) {
    const bool constants =
        std::all_of(at.begin(), at.end(), [&](size_t i) { return is_constant(nodes[i]); });
    if (name.empty() || at.size() < 2 || !constants) continue;
    std::swap(nodes[at.front()], nodes[at.back()]);
    gone.insert(at.begin() + 1, at.end());
    journal.push_back(
        fmt::format("{} is what the last of {} Constants says", in_quotes(name), at.size()));
  }
  size_t i = 0;
  std::erase_if(nodes, [&](const Node&) { return gone.contains(i++); });
}

void name_again(Graph& graph, FreshNames& fresh, Journal& journal) {
  std::set<std::string, std::less<>> seen;
  for (model::ValueInfo& output : graph.output) {
    if (output.name.empty() || seen.insert(output.name).second) continue;
    Node copy;
    set(copy, &Node::op_type, "Identity");
    copy.input = {output.name};
    output.name = fresh.name(output.name);
    output.type.reset();
    copy.output = {output.name};
    journal.push_back(fmt::format("{} is given a second time as {}", in_quotes(copy.input[0]),
                                  in_quotes(output.name)));
    graph.node.push_back(std::move(copy));
  }
}

}  // namespace

void keep_last_import(model::Model& model, const Report& found, Journal& journal) {
  drop_void_imports(model, found, journal);
  keep_last(model.opset_import, "the model", journal);
  for (model::Function& function : model.functions)
    keep_last(function.opset_import, fmt::format("function {}", in_quotes(function.name)), journal);
}

void keep_last_constants(model::Model& model, const Report&, Journal& journal) {
  each_graph(model, [&](Graph& graph) { keep_last_of_nodes(graph.node, journal); });
  for (model::Function& function : model.functions) keep_last_of_nodes(function.node, journal);
}

void give_outputs_twice(model::Model& model, const Report&, Journal& journal) {
  FreshNames fresh(model);
  each_graph(model, [&](Graph& graph) { name_again(graph, fresh, journal); });
}

}  // namespace sdx::check::accept
