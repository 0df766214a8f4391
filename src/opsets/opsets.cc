#include "opsets/opsets.h"

#include <algorithm>

#include "check/inline.h"
#include "infer/inferred.h"
#include "infer/inline.h"
#include "model/fields.h"
#include "model/functions.h"
#include "model/io.h"
#include "model/names.h"
#include "ops/list.h"
#include "opsets/steps.h"

namespace sdx::opsets {
namespace {

constexpr int64_t kIrWithImports = 3;

std::string place(const model::Node& node) {
  return fmt::format("\"{}\" ({})",
                     !node.name.empty()    ? node.name
                     : node.output.empty() ? ""
                                           : node.output[0],
                     node.op_type);
}

class Writer {
 public:
  Writer(const model::Functions& functions, Journey& journey, int64_t from, Written& written)
      : functions_(functions), journey_(journey), from_(from), written_(written) {}

  Status nodes(std::vector<model::Node>& list) {
    std::vector<model::Node> made;
    for (model::Node& node : list) {
      Status inner = ok();
      model::each_subgraph(node, [&](model::Graph& graph) {
        if (inner) inner = nodes(graph.node);
      });
      SDX_TRY(std::move(inner));
      SDX_TRY(one(std::move(node), made));
    }
    list = std::move(made);
    return ok();
  }

 private:
  Status one(model::Node node, std::vector<model::Node>& made) {
    if (model::canonical(node.domain) != journey_.domain || functions_.find(node) != nullptr) {
      made.push_back(std::move(node));
      return ok();
    }
    const Op* op = find_op(node.domain, node.op_type);
    const Signature* now = op != nullptr ? op->at(int(from_)) : nullptr;
    if (now == nullptr)
      return fail("SDX-C0172", "node {}: there is no such operator in {} {}", place(node),
                  model::shown(journey_.domain), from_);
    const std::string before = model::write(node);
    Use use(journey_, node, *op, *now);
    Status way = walk(use);
    if (!way && as_constants(node, made)) return ok();
    SDX_TRY(std::move(way));
    written_.changed += model::write(use.node) != before ? 1 : 0;
    written_.added += use.before.size() + use.after.size();
    std::move(use.before.begin(), use.before.end(), std::back_inserter(made));
    made.push_back(std::move(use.node));
    std::move(use.after.begin(), use.after.end(), std::back_inserter(made));
    return ok();
  }

  // What is known before anything runs needs no operator.
  bool as_constants(const model::Node& node, std::vector<model::Node>& made) {
    constexpr size_t kMostBytes = size_t{1} << 20;
    if (!journey_.domain.empty() || node.op_type == "Constant") return false;
    std::vector<model::Node> constants;
    for (const std::string& output : node.output) {
      if (output.empty()) continue;
      const auto at = journey_.facts.find(output);
      const Tensor* value = at != journey_.facts.end() ? at->second.value.get() : nullptr;
      if (value == nullptr || value->bytes() > kMostBytes) return false;
      model::Node& constant = constants.emplace_back();
      model::set(constant, &model::Node::op_type, "Constant");
      constant.output = {output};
      constant.attribute.push_back(attribute_of("value", *value));
    }
    journey_.released.insert(node.input.begin(), node.input.end());
    ++written_.changed;
    written_.added += constants.size() - 1;
    std::move(constants.begin(), constants.end(), std::back_inserter(made));
    return true;
  }

  const model::Functions& functions_;
  Journey& journey_;
  int64_t from_;
  Written& written_;
};

void take_names(const std::vector<model::Node>& nodes, Journey& journey) {
  model::each_node(nodes, [&](const model::Node& node) {
    journey.names.insert(node.input.begin(), node.input.end());
    journey.names.insert(node.output.begin(), node.output.end());
    model::each_subgraph(node, [&](const model::Graph& graph) {
      for (const auto& info : graph.input) journey.names.insert(info.name);
      for (const auto& weight : graph.initializer) journey.names.insert(weight.name);
    });
  });
}

// Constants that became attributes and that nobody reads any more.
class Sweeper {
 public:
  Sweeper(const Journey& journey, int64_t ir_version) : journey_(journey), ir_(ir_version) {}

  void sweep(model::Graph& graph) {
    look(graph);
    drop(graph);
  }

 private:
  void look(const model::Graph& graph) {
    for (const auto& output : graph.output) used_.insert(output.name);
    for (const model::Node& node : graph.node) {
      used_.insert(node.input.begin(), node.input.end());
      model::each_subgraph(node, [&](const model::Graph& inner) { look(inner); });
    }
  }
  bool idle(const std::string& name) const {
    return journey_.released.contains(name) && !used_.contains(name);
  }
  void drop(model::Graph& graph) {
    std::set<std::string> gone;
    std::erase_if(graph.initializer, [&](const model::TensorData& weight) {
      return idle(weight.name) && gone.insert(weight.name).second;
    });
    // Before version 4 of the format an initializer was an input too.
    if (ir_ < 4)
      std::erase_if(graph.input, [&](const auto& input) { return gone.contains(input.name); });
    std::erase_if(graph.node, [&](const model::Node& node) {
      return node.op_type == "Constant" && node.output.size() == 1 && idle(node.output[0]);
    });
    std::erase_if(graph.value_info, [&](const auto& info) { return idle(info.name); });
    for (model::Node& node : graph.node)
      model::each_subgraph(node, [&](model::Graph& inner) { drop(inner); });
  }

  const Journey& journey_;
  int64_t ir_;
  std::set<std::string, std::less<>> used_;
};

void set_version(std::vector<model::OpsetId>& imports, const Wanted& wanted) {
  for (model::OpsetId& import : imports) {
    if (model::canonical(import.domain) == wanted.domain)
      model::set(import, &model::OpsetId::version, wanted.version);
  }
}

// Operators that the wanted version does not have and no step can say otherwise, as the functions
// that ONNX gives for them.
Status expand(model::Model& model, const Wanted& wanted, Written& written) {
  const auto missing = [&](const model::Node& node, const model::Functions& functions) {
    if (!model::canonical(node.domain).empty() || functions.find(node) != nullptr) return false;
    const Op* op = find_op("", node.op_type);
    if (op == nullptr || op->at(int(wanted.version)) != nullptr) return false;
    const Step* birth = find_step(op->name, op->signatures().front().since);
    return birth == nullptr || birth->down == nullptr || birth->up != nullptr;
  };
  constexpr int kMostLevels = 16;  // of bodies in bodies
  for (int level = 0; level < kMostLevels; ++level) {
    const model::Functions functions(model);
    bool any = false;
    model::each_node(model,
                     [&](const model::Node& node) { any = any || missing(node, functions); });
    if (!any) return ok();
    const infer::FactsByName facts = infer::facts_by_name(model);
    const auto fact = [&](const std::string& name) {
      const auto at = facts.find(name);
      return at != facts.end() ? &at->second : nullptr;
    };
    check::InlineOptions options;
    options.body = [&](const model::Node& node, int64_t version) -> std::optional<model::Function> {
      if (!missing(node, functions)) return std::nullopt;
      auto body = infer::operator_body({node, version, fact});
      if (body && level == 0) written.expanded.push_back(place(node));
      return body;
    };
    SDX_ASSIGN(check::Inlined made, check::inline_functions(model, options));
    if (made.bodies == 0) return ok();
    model = std::move(made.model);
  }
  return ok();
}

// Types that an older version does not take are found here.
Status stands(const model::Model& model, const Wanted& wanted) {
  const auto judge = [&]() -> Status {
    SDX_ASSIGN(const auto checked,
               check::checked(std::make_shared<const model::Model>(model),
                              {.open_types = true, .accept = check::Accept::common}));
    SDX_ASSIGN(const auto known, infer::infer(checked));
    static_cast<void>(known);
    return ok();
  };
  Status status = judge();
  if (status) return ok();
  Error error = std::move(status).error();
  error.what = fmt::format("in {} {}: {}", model::shown(wanted.domain), wanted.version, error.what);
  return error;
}

}  // namespace

int64_t newest_version(std::string_view domain) {
  int64_t newest = 0;
  for (const Op* op : all_ops()) {
    if (model::canonical(op->domain) != domain) continue;
    for (const Version& version : op->history) newest = std::max<int64_t>(newest, version.since);
  }
  return newest;
}

Result<Written> in_opset(const model::Model& model, const Wanted& wanted) {
  const int64_t newest = newest_version(wanted.domain);
  if (wanted.version < 1 || wanted.version > newest)
    return fail("SDX-C0173", "{} has the versions 1 to {} here, not {}",
                model::shown(wanted.domain), newest, wanted.version);
  Written written;
  written.model = model;
  const auto imports = model::opsets_of(model.opset_import);
  const auto import = imports.find(wanted.domain);
  if (import == imports.end() && !(wanted.domain.empty() && model.ir_version < kIrWithImports))
    return fail("SDX-C0173", "the model does not import {}", model::shown(wanted.domain));
  const int64_t from = import == imports.end() ? 1 : import->second;
  if (wanted.version < from && wanted.domain.empty())
    SDX_TRY(expand(written.model, wanted, written));

  model::Model& made = written.model;
  const infer::FactsByName facts = infer::facts_by_name(made);
  const model::Model before = made;  // functions are looked up while nodes move
  const model::Functions functions(before);
  Journey journey{wanted.domain, int(wanted.version), facts, {}, {}};
  if (made.graph) {
    take_names(made.graph->node, journey);
    for (const auto& info : made.graph->input) journey.names.insert(info.name);
    for (const auto& weight : made.graph->initializer) journey.names.insert(weight.name);
    SDX_TRY(Writer(functions, journey, from, written).nodes(made.graph->node));
    Sweeper(journey, made.ir_version).sweep(*made.graph);
  }
  for (model::Function& function : made.functions) {
    const auto own = model::opsets_of(function.opset_import);
    const auto version = own.find(wanted.domain);
    if (version == own.end()) continue;
    Journey inner{wanted.domain, int(wanted.version), {}, {}, {}};
    take_names(function.node, inner);
    inner.names.insert(function.input.begin(), function.input.end());
    Status status = Writer(functions, inner, version->second, written).nodes(function.node);
    if (!status) {
      Error error = std::move(status).error().in("function " + model::name_of(function));
      error.help = "--inline puts functions in the place of their calls, where more is known";
      return error;
    }
    set_version(function.opset_import, wanted);
  }
  for (model::TrainingInfo& training : made.training_info) {
    for (auto* graph : {&training.initialization, &training.algorithm}) {
      if (*graph) SDX_TRY(Writer(functions, journey, from, written).nodes((*graph)->node));
    }
  }
  if (import == imports.end()) made.opset_import.emplace_back();
  if (made.ir_version < kIrWithImports) model::set(made, &model::Model::ir_version, kIrWithImports);
  set_version(made.opset_import, wanted);
  if (!facts.empty()) SDX_TRY(stands(made, wanted));
  return written;
}

}  // namespace sdx::opsets
