// What stands beside the computation: quantization annotations, training, devices.
#include <algorithm>

#include "check/checker.h"

namespace sdx::check {

void Checker::annotations(const model::Graph& graph, const Scope& scope) {
  for (const model::TensorAnnotation& a : graph.quantization_annotation) {
    const Place place = scope.place->in("quantization_annotation", a.tensor_name);
    if (scope.find(a.tensor_name) == nullptr) {
      report(rule::annotation, place, "the graph has no value {}", quoted(a.tensor_name));
    }
    for (const model::StringEntry& parameter : a.quant_parameter_tensor_names) {
      if (scope.find(parameter.value) != nullptr) continue;
      report(rule::annotation, place, "{} is {}, but the graph has no such value", parameter.key,
             quoted(parameter.value));
    }
  }
}

void Checker::training() {
  const Place main{.kind = "graph", .name = model_.graph->name};
  // The initializers of the main graph are the state that training graphs see.
  Scope state{.place = &main, .nodes = &model_.graph->node, .opsets = &opsets_};
  std::set<std::string_view> variables;
  for (const model::TensorData& init : model_.graph->initializer) {
    variables.insert(init.name);
    state.defined.emplace(
        init.name, Definition{.kind = Definition::Kind::initializer, .fact = {}, .tensor = &init});
  }
  for (size_t i = 0; i < model_.training_info.size(); ++i) {
    const model::TrainingInfo& info = model_.training_info[i];
    const std::string number = fmt::to_string(i);
    const Place top{.kind = "training_info", .name = number};
    std::set<std::string_view> keys = variables;
    if (info.algorithm) {
      for (const model::TensorData& init : info.algorithm->initializer) keys.insert(init.name);
    }
    const auto part = [&](std::string_view kind, const std::optional<model::Graph>& body,
                          const model::StringEntries& bindings) {
      const Place place = top.in(kind, body ? body->name : std::string_view(""));
      if (body) graph(*body, &state, place, opsets_, nullptr, false, false);
      std::set<std::string_view> bound;
      for (const model::StringEntry& binding : bindings) {
        if (!keys.contains(binding.key)) {
          report(rule::binding_key, place, "a binding's key is {}, which is no initializer",
                 quoted(binding.key));
        }
        if (!bound.insert(binding.key).second) {
          report(rule::binding_key, place, "the key {} is bound twice", quoted(binding.key));
        }
        const bool made = body && std::any_of(body->output.begin(), body->output.end(),
                                              [&](const model::ValueInfo& output) {
                                                return output.name == binding.value;
                                              });
        if (!made) {
          report(rule::binding_value, place, "{} is bound to {}, which is no output of the graph",
                 quoted(binding.key), quoted(binding.value));
        }
      }
    };
    part("initialization", info.initialization, info.initialization_binding);
    part("algorithm", info.algorithm, info.update_binding);
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

void Checker::node_configurations(const model::Node& node, const Place& place) {
  const auto& all = model_.configuration;
  for (const model::NodeDeviceConfiguration& c : node.device_configurations) {
    const auto at = std::find_if(all.begin(), all.end(), [&](const model::DeviceConfiguration& d) {
      return d.name == c.configuration_id;
    });
    if (at == all.end()) {
      report(rule::node_configuration, place, "the model has no device configuration {}",
             quoted(c.configuration_id));
    }
    for (const model::ShardingSpec& spec : c.sharding_spec) {
      const auto among = [&](const std::vector<std::string>& names) {
        return std::find(names.begin(), names.end(), spec.tensor_name) != names.end();
      };
      if (spec.tensor_name.empty() || (!among(node.input) && !among(node.output))) {
        report(rule::sharding, place, "sharding is given for {}, no input or output of the node",
               quoted(spec.tensor_name));
      }
      for (const int64_t device : spec.device) {
        const bool group = std::any_of(
            spec.index_to_device_group_map.begin(), spec.index_to_device_group_map.end(),
            [&](const model::IntIntListEntry& entry) { return entry.key == device; });
        if (group || at == all.end() || (device >= 0 && device < at->num_devices)) continue;
        report(rule::sharding, place, "{} is on device {}; configuration {} has {}",
               quoted(spec.tensor_name), device, quoted(at->name), at->num_devices);
      }
      for (const model::ShardedDim& dim : spec.sharded_dim) {
        for (const model::SimpleShardedDim& simple : dim.simple_sharding) {
          if (simple.num_shards > 0) continue;
          report(rule::sharding, place, "axis {} of {} is cut into {} shards; expected 1 or more",
                 dim.axis, quoted(spec.tensor_name), simple.num_shards);
        }
      }
    }
  }
}

}  // namespace sdx::check
