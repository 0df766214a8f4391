// What stands beside the computation: quantization annotations, training, devices.
#include <fmt/format.h>

#include <algorithm>

#include "check/checker.h"

namespace sdx::check {

void Checker::annotations(const model::Graph& graph, const Scope& scope) {
  std::set<std::string_view> annotated;
  for (const model::TensorAnnotation& a : graph.quantization_annotation) {
    const Place place = scope.place->in("quantization_annotation", a.tensor_name);
    if (scope.find(a.tensor_name) == nullptr) {
      report(rule::annotation, place, "the graph has no value {}", in_quotes(a.tensor_name));
    } else if (!annotated.insert(a.tensor_name).second) {
      report(rule::annotation, place, "{} is annotated twice", in_quotes(a.tensor_name));
    }
    std::set<std::string_view> keys;
    for (const model::StringEntry& parameter : a.quant_parameter_tensor_names) {
      if (parameter.key != "SCALE_TENSOR" && parameter.key != "ZERO_POINT_TENSOR") {
        report(rule::annotation, place, "the key {} is none of SCALE_TENSOR, ZERO_POINT_TENSOR",
               in_quotes(parameter.key));
      }
      if (!keys.insert(parameter.key).second) {
        report(rule::annotation, place, "the key {} stands twice", in_quotes(parameter.key));
      }
      if (scope.find(parameter.value) != nullptr) continue;
      report(rule::annotation, place, "{} is {}, but the graph has no such value", parameter.key,
             in_quotes(parameter.value));
    }
  }
}

namespace {

// The names of a graph, without judging them: it has been checked by itself.
void define(const model::Graph& graph, bool initializers_only, Scope& scope) {
  using Kind = Definition::Kind;
  const auto stored = [](DType type, const std::vector<int64_t>& dims) {
    Fact fact = Fact::tensor(type);
    fact.shape.emplace(dims.begin(), dims.end());
    return fact;
  };
  for (const model::TensorData& init : graph.initializer) {
    scope.defined.emplace(init.name,
                          Definition{Kind::initializer, 0, stored(init.dtype(), init.dims), &init});
  }
  for (const model::SparseTensorData& init : graph.sparse_initializer) {
    if (!init.values) continue;
    scope.defined.emplace(init.values->name, Definition{Kind::initializer, 0,
                                                        stored(init.values->dtype(), init.dims)});
  }
  if (initializers_only) return;
  for (const model::ValueInfo& input : graph.input) {
    Definition definition{Kind::input};
    if (input.type) definition.fact = fact_of(*input.type);
    scope.defined.emplace(input.name, std::move(definition));
  }
  for (size_t i = 0; i < graph.node.size(); ++i) {
    for (const std::string& output : graph.node[i].output) {
      if (!output.empty()) scope.defined.emplace(output, Definition{Kind::node, i});
    }
  }
  for (const auto* list : {&graph.output, &graph.value_info}) {
    for (const model::ValueInfo& info : *list) {
      const auto at = scope.defined.find(info.name);
      if (at == scope.defined.end() || at->second.fact.present() || !info.type) continue;
      at->second.fact = fact_of(*info.type);
    }
  }
}

}  // namespace

// A training step is the main graph and then the algorithm's, as one; the initialization sees the
// variables alone.
void Checker::training() {
  const Place main{.kind = "graph", .name = model_.graph->name};
  Scope whole{.place = &main, .nodes = &model_.graph->node, .opsets = &opsets_};
  Scope state = whole;
  define(*model_.graph, false, whole);
  define(*model_.graph, true, state);
  whole.position = model_.graph->node.size();
  std::set<std::string_view> updated;
  for (size_t i = 0; i < model_.training_info.size(); ++i) {
    const model::TrainingInfo& info = model_.training_info[i];
    const std::string number = fmt::to_string(i);
    const Place top{.kind = "training_info", .name = number};
    Scope variables = state;
    if (info.algorithm) define(*info.algorithm, true, variables);
    std::map<std::string_view, Fact> keys;
    variables.defined.each_in_order([&](std::string_view name, const Definition& definition) {
      keys.emplace(name, definition.fact);
    });

    const auto part = [&](std::string_view kind, const std::optional<model::Graph>& body) {
      return top.in(kind, body ? body->name : std::string_view(""));
    };
    const Place initialization = part("initialization", info.initialization);
    if (info.initialization) {
      graph(*info.initialization, &variables, initialization, opsets_, nullptr,
            Role::initialization);
      if (!info.initialization->input.empty()) {
        report(rule::initialization_inputs, initialization, "the graph has {} inputs",
               info.initialization->input.size());
      }
    }
    std::set<std::string_view> initialized;
    bindings(info.initialization_binding, info.initialization ? &*info.initialization : nullptr,
             keys, false, initialized, initialization);
    const Place algorithm = part("algorithm", info.algorithm);
    if (info.algorithm) {
      graph(*info.algorithm, &whole, algorithm, opsets_, nullptr, Role::algorithm);
    }
    bindings(info.update_binding, info.algorithm ? &*info.algorithm : nullptr, keys, true, updated,
             algorithm);
  }
}

void Checker::bindings(const model::StringEntries& bindings, const model::Graph* body,
                       const std::map<std::string_view, Fact>& variables, bool update,
                       std::set<std::string_view>& bound, const Place& place) {
  const auto output = [&](const model::Graph* from, std::string_view name) {
    const model::ValueInfo* found = nullptr;
    if (from == nullptr) return found;
    for (const model::ValueInfo& info : from->output) {
      if (info.name == name) found = &info;
    }
    return found;
  };
  for (const model::StringEntry& binding : bindings) {
    const auto key = variables.find(binding.key);
    if (key == variables.end()) {
      report(rule::binding_key, place, "a binding's key is {}, which is no initializer",
             in_quotes(binding.key));
    }
    if (!bound.insert(binding.key).second) {
      report(rule::binding_key, place, "the key {} is bound twice", in_quotes(binding.key));
    }
    const model::ValueInfo* value = output(body, binding.value);
    if (value == nullptr && update) value = output(&*model_.graph, binding.value);
    if (value == nullptr) {
      report(rule::binding_value, place, "{} is bound to {}, which is no output of the graph",
             in_quotes(binding.key), in_quotes(binding.value));
    } else if (key != variables.end() && value->type &&
               !agree(key->second, fact_of(*value->type))) {
      report(rule::binding_value, place, "{} is {}, but {}, which is assigned to it, is {}",
             in_quotes(binding.key), type_text(key->second), in_quotes(binding.value),
             type_text(fact_of(*value->type)));
    }
  }
}

void Checker::configurations() {
  std::set<std::string_view> names;
  for (const model::DeviceConfiguration& c : model_.configuration) {
    const Place place{.kind = "configuration", .name = c.name};
    if (c.name.empty() || !names.insert(c.name).second) {
      report(rule::device_configuration, place, "{}",
             c.name.empty() ? "the configuration has no name"
                            : "two configurations have the same name");
    }
    if (c.num_devices < 1) {
      report(rule::device_configuration, place, "num_devices is {}; expected 1 or more",
             c.num_devices);
    }
    if (!c.device.empty() && static_cast<int64_t>(c.device.size()) != c.num_devices) {
      report(rule::device_configuration, place, "{} devices are named; num_devices is {}",
             c.device.size(), c.num_devices);
    }
  }
}

void Checker::node_configurations(const model::Node& node, const Scope& scope, const Place& place) {
  const auto& all = model_.configuration;
  for (const model::NodeDeviceConfiguration& c : node.device_configurations) {
    const auto at = std::find_if(all.begin(), all.end(), [&](const model::DeviceConfiguration& d) {
      return d.name == c.configuration_id;
    });
    if (at == all.end()) {
      report(rule::node_configuration, place, "the model has no device configuration {}",
             in_quotes(c.configuration_id));
    }
    for (const model::ShardingSpec& spec : c.sharding_spec) {
      const auto among = [&](const std::vector<std::string>& names) {
        return std::find(names.begin(), names.end(), spec.tensor_name) != names.end();
      };
      if (spec.tensor_name.empty() || (!among(node.input) && !among(node.output))) {
        report(rule::sharding, place, "sharding is given for {}, no input or output of the node",
               in_quotes(spec.tensor_name));
      }
      for (const int64_t device : spec.device) {
        const bool group = std::any_of(
            spec.index_to_device_group_map.begin(), spec.index_to_device_group_map.end(),
            [&](const model::IntIntListEntry& entry) { return entry.key == device; });
        if (group || at == all.end() || (device >= 0 && device < at->num_devices)) continue;
        report(rule::sharding, place, "{} is on device {}; configuration {} has {}",
               in_quotes(spec.tensor_name), device, in_quotes(at->name), at->num_devices);
      }
      std::set<int64_t> groups;
      for (const model::IntIntListEntry& entry : spec.index_to_device_group_map) {
        if (!groups.insert(entry.key).second) {
          report(rule::sharding, place, "device group {} of {} is given twice", entry.key,
                 in_quotes(spec.tensor_name));
        }
        for (const int64_t device : entry.value) {
          if (at == all.end() || (device >= 0 && device < at->num_devices)) continue;
          report(rule::sharding, place, "group {} of {} has device {}; configuration {} has {}",
                 entry.key, in_quotes(spec.tensor_name), device, in_quotes(at->name),
                 at->num_devices);
        }
      }
      const Fact fact = scope.fact(spec.tensor_name);
      std::set<int64_t> axes;
      for (const model::ShardedDim& dim : spec.sharded_dim) {
        const auto rank = static_cast<int64_t>(fact.has_rank() ? fact.rank() : 0);
        if (fact.has_rank() && (dim.axis < -rank || dim.axis >= rank)) {
          report(rule::sharding, place, "axis {} of {} is sharded, which has rank {}", dim.axis,
                 in_quotes(spec.tensor_name), rank);
        } else if (!axes.insert(dim.axis < 0 ? dim.axis + rank : dim.axis).second) {
          report(rule::sharding, place, "axis {} of {} is sharded twice", dim.axis,
                 in_quotes(spec.tensor_name));
        }
        for (const model::SimpleShardedDim& simple : dim.simple_sharding) {
          if (simple.num_shards > 0) continue;
          report(rule::sharding, place, "axis {} of {} is cut into {} shards; expected 1 or more",
                 dim.axis, in_quotes(spec.tensor_name), simple.num_shards);
        }
      }
    }
  }
}

}  // namespace sdx::check
