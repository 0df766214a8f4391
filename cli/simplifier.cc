#include "simplifier.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/sha256.h"
#include "check/accept/mends.h"
#include "model/fields.h"
#include "model/functions.h"
#include "model/io.h"
#include "model/names.h"
#include "model/tensor.h"
#include "ops/list.h"
#include "typed_values.h"

namespace sdx::cli {
namespace {

using model::Graph;
using model::Node;

// A folded value may be this many times larger than what it is computed from, or this large.
constexpr size_t kMostGrowth = 2, kMostBytes = size_t{1} << 16;

bool is_onnx(const Node& node) { return model::canonical(node.domain).empty(); }

template <size_t N>
bool one_of(const std::array<std::string_view, N>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

class Simplifier {
 public:
  Simplifier(model::Model& model, const TypedValues& types, Simplified& done)
      : model_(model), functions_(model), graph_(*model.graph), types_(types), done_(done) {
    for (const model::ValueInfo& output : graph_.output) outputs_.insert(output.name);
    for (const model::ValueInfo& input : graph_.input) inputs_.insert(input.name);
    version_ = model::opsets_of(model.opset_import)[""];
  }

  void run() {
    check::accept::sort_nodes(graph_.node);
    fold();
    share_weights();
    for (bool changed = true; changed;) {
      changed = pass_on();
      changed = merge_repeated() || changed;
    }
    remove_dead();
    tidy_declarations();
  }

 private:
  const Fact* fact(const std::string& name) const {
    const auto at = types_.facts.find(name);
    return at == types_.facts.end() ? nullptr : &at->second;
  }

  // --- constants

  bool worth_folding(const Node& node) const {
    size_t in = 0, out = 0;
    for (const std::string& name : node.input) {
      const Fact* f = fact(name);
      if (f != nullptr && f->value) in += bytes_for(f->type, f->value->count());
    }
    for (const std::string& name : node.output) {
      const Fact* f = name.empty() ? nullptr : fact(name);
      if (name.empty()) continue;
      if (f == nullptr || !f->value) return false;
      out += bytes_for(f->type, f->value->count());
    }
    return node.op_type == "Constant" || out <= kMostBytes || out <= kMostGrowth * in;
  }

  void fold() {
    std::vector<Node> kept;
    for (Node& node : graph_.node) {
      if (model_.training_info.empty() && worth_folding(node)) {
        for (const std::string& name : node.output) {
          if (!name.empty())
            graph_.initializer.push_back(model::from_tensor(*fact(name)->value, name));
        }
        ++done_.folded;
      } else {
        kept.push_back(std::move(node));
      }
    }
    graph_.node = std::move(kept);
    // Before version 4 of the format an initializer had to be an input too.
    if (done_.folded > 0 && model_.ir_version < 4) set(model_, &model::Model::ir_version, 4);
  }

  // --- one value for two names

  void replace(const std::string& gone, const std::string& by) { renamed_[gone] = by; }

  std::string now(std::string name) const {
    for (auto at = renamed_.find(name); at != renamed_.end(); at = renamed_.find(name))
      name = at->second;
    return name;
  }
  // A name within a subgraph is that of the graph around it unless it is defined inside.
  void rename_inputs(Node& node, const std::set<std::string>& inside = {}) const {
    if (renamed_.empty()) return;
    for (std::string& name : node.input) {
      if (!name.empty() && !inside.contains(name)) name = now(name);
    }
    model::each_subgraph(node, [&](Graph& inner) {
      std::set<std::string> defined = inside;
      for (const model::ValueInfo& input : inner.input) defined.insert(input.name);
      for (const model::TensorData& weight : inner.initializer) defined.insert(weight.name);
      for (const Node& deep : inner.node) defined.insert(deep.output.begin(), deep.output.end());
      for (Node& deep : inner.node) rename_inputs(deep, defined);
      // A body may give an outer value as its output.
      for (model::ValueInfo& output : inner.output) {
        if (renamed_.contains(output.name) && !defined.contains(output.name))
          set(output, &model::ValueInfo::name, now(output.name));
      }
    });
  }
  void apply_renames() {
    if (renamed_.empty()) return;
    for (Node& node : graph_.node) rename_inputs(node);
    renamed_.clear();
  }

  void share_weights() {
    std::map<std::string, std::string> first;
    std::erase_if(graph_.initializer, [&](const model::TensorData& weight) {
      if (inputs_.contains(weight.name) || outputs_.contains(weight.name)) return false;
      const auto data = model::data_of(weight);
      if (!data) return false;
      Sha256 hash;
      hash.add(data->bytes);
      std::string key =
          fmt::format("{} {} {}", weight.data_type, fmt::join(weight.dims, ","), hash.hex());
      const auto [at, fresh] = first.emplace(std::move(key), weight.name);
      if (fresh) return false;
      replace(weight.name, at->second);
      ++done_.shared;
      return true;
    });
    apply_renames();
  }

  // --- nodes that pass a value on

  bool same_shape(const Node& node) const {
    const Fact *in = fact(node.input[0]), *out = fact(node.output[0]);
    return in != nullptr && out != nullptr && in->is_tensor() && in->shape && out->shape &&
           *in->shape == *out->shape;
  }
  bool same_type(const Node& node) const {
    const Fact *in = fact(node.input[0]), *out = fact(node.output[0]);
    return in != nullptr && out != nullptr && in->is_tensor() && out->is_tensor() &&
           in->type == out->type && in->type != DType::undefined;
  }
  static bool in_order(const Node& node) {
    const model::Attribute* perm = node.find("perm");
    return perm != nullptr && std::is_sorted(perm->ints.begin(), perm->ints.end());
  }
  bool inference_dropout(const Node& node) const {
    const bool mask = node.output.size() > 1 && !node.output[1].empty();
    if (version_ < 7 || mask) return false;
    if (node.input.size() < 3 || node.input[2].empty()) return true;
    const Fact* training = fact(node.input[2]);
    return training != nullptr && training->value && training->value->count() == 1 &&
           !*training->value->data<bool>();
  }
  // Whether output 0 is input 0, element by element.
  bool passes_on(const Node& node) const {
    static constexpr std::array<std::string_view, 6> kReshaping = {
        "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Expand", "Tile"};
    static constexpr std::array<std::string_view, 5> kOfMany = {"Concat", "Sum", "Max", "Min",
                                                                "Mean"};
    if (!is_onnx(node) || node.input.empty() || node.output.empty() || node.input[0].empty())
      return false;
    const std::string& op = node.op_type;
    if (op == "Identity") return true;
    if (op == "Dropout") return inference_dropout(node);
    if (op == "Cast" || op == "CastLike") return same_type(node);
    if (op == "Transpose") return in_order(node);
    if (one_of(kReshaping, op)) return same_shape(node);
    return one_of(kOfMany, op) && node.input.size() == 1;
  }
  // An output of the graph keeps its name: its maker takes it over, if that is possible.
  bool hand_over(const Node& passing, std::vector<Node>& kept) {
    const std::string& from = passing.input[0];
    if (outputs_.contains(from) || inputs_.contains(from)) return false;
    for (Node& maker : kept) {
      const auto at = std::find(maker.output.begin(), maker.output.end(), from);
      if (at == maker.output.end()) continue;
      *at = passing.output[0];
      replace(from, passing.output[0]);
      return true;
    }
    return false;
  }
  bool pass_on() {
    const size_t before = done_.passed_on;
    std::vector<Node> kept;
    for (Node& node : graph_.node) {
      rename_inputs(node);
      bool goes = passes_on(node);
      if (goes && outputs_.contains(node.output[0])) {
        goes = hand_over(node, kept);
        if (goes) {
          for (Node& earlier : kept) rename_inputs(earlier);
        }
      } else if (goes) {
        replace(node.output[0], node.input[0]);
      }
      if (goes) {
        ++done_.passed_on;
      } else {
        kept.push_back(std::move(node));
      }
    }
    graph_.node = std::move(kept);
    apply_renames();
    return done_.passed_on != before;
  }

  // --- nodes that repeat another

  std::string meaning(const Node& node) const {
    const Op* op = find_op(node.domain, node.op_type);
    if (op == nullptr || !op->deterministic || functions_.find(node) != nullptr) return "";
    std::string key = fmt::format("{}|{}|{}|", node.domain, node.op_type, node.output.size());
    for (const std::string& name : node.input) key += fmt::format("{}:{}", name.size(), name);
    std::vector<std::string> attributes;
    for (const model::Attribute& attribute : node.attribute) {
      if (attribute.g || !attribute.graphs.empty()) return "";
      attributes.push_back(model::write(attribute));
    }
    std::sort(attributes.begin(), attributes.end());
    for (const std::string& text : attributes) key += fmt::format("|{}:{}", text.size(), text);
    for (const std::string& name : node.output) key += name.empty() ? '0' : '1';
    return key;
  }
  bool merge_repeated() {
    const size_t before = done_.repeated;
    std::map<std::string, const Node*> first;
    std::vector<Node> kept;
    kept.reserve(graph_.node.size());  // what `first` points to stays where it is
    for (Node& node : graph_.node) {
      rename_inputs(node);
      const std::string key = meaning(node);
      const bool given = std::any_of(node.output.begin(), node.output.end(),
                                     [&](const auto& name) { return outputs_.contains(name); });
      const auto at = key.empty() ? first.end() : first.find(key);
      if (at != first.end() && !given) {
        for (size_t i = 0; i < node.output.size(); ++i) {
          if (!node.output[i].empty()) replace(node.output[i], at->second->output[i]);
        }
        ++done_.repeated;
        continue;
      }
      kept.push_back(std::move(node));
      if (!key.empty()) first.emplace(key, &kept.back());
    }
    graph_.node = std::move(kept);
    apply_renames();
    return done_.repeated != before;
  }

  // --- what nobody reads

  void remove_dead() {
    if (!model_.training_info.empty()) return;  // training reads values that no output needs
    std::set<std::string, std::less<>> live(outputs_.begin(), outputs_.end());
    std::vector<Node> kept;
    for (size_t i = graph_.node.size(); i-- > 0;) {
      Node& node = graph_.node[i];
      const bool read = std::any_of(node.output.begin(), node.output.end(),
                                    [&](const auto& name) { return live.contains(name); });
      if (!read) {
        ++done_.dead;
        continue;
      }
      for (const std::string_view name : model::names_used(node)) live.emplace(name);
      kept.push_back(std::move(node));
    }
    std::reverse(kept.begin(), kept.end());
    graph_.node = std::move(kept);
    std::erase_if(graph_.initializer, [&](const model::TensorData& weight) {
      return !live.contains(weight.name) && !inputs_.contains(weight.name);
    });
  }
  void tidy_declarations() {
    std::set<std::string, std::less<>> made;
    for (const Node& node : graph_.node) made.insert(node.output.begin(), node.output.end());
    std::erase_if(graph_.value_info, [&](const model::ValueInfo& info) {
      return !made.contains(info.name) || outputs_.contains(info.name);
    });
    for (const model::TensorData& weight : graph_.initializer) made.insert(weight.name);
    made.insert(inputs_.begin(), inputs_.end());
    std::erase_if(graph_.quantization_annotation,
                  [&](const model::TensorAnnotation& a) { return !made.contains(a.tensor_name); });
  }

  model::Model& model_;
  model::Functions functions_;
  Graph& graph_;
  const TypedValues& types_;
  Simplified& done_;
  std::set<std::string, std::less<>> outputs_, inputs_;
  std::map<std::string, std::string> renamed_;
  int64_t version_ = 0;
};

// Symbols that have a size now become numbers wherever the main graph declares them.
void fix_sizes(Graph& graph, const Bindings& sizes) {
  for (auto* list : {&graph.input, &graph.output, &graph.value_info}) {
    for (model::ValueInfo& info : *list) {
      if (!info.type || info.type->tensor() == nullptr) continue;
      auto& tensor = std::get<model::TensorType>(info.type->value);
      if (!tensor.shape) continue;
      for (model::Dimension& dim : tensor.shape->dim) {
        const std::string* symbol = dim.param();
        const auto at = symbol == nullptr ? sizes.end() : sizes.find(*symbol);
        if (at != sizes.end()) dim.value = at->second;
      }
    }
  }
}

}  // namespace

Result<Simplified> simplified(const std::shared_ptr<const model::Model>& model,
                              const Bindings& sizes, const LimitFlags& limits) {
  Simplified done;
  SDX_ASSIGN(const TypedValues types, typed_values(model, limits, sizes));
  done.model = *model;
  fix_sizes(*done.model.graph, sizes);
  Simplifier(done.model, types, done).run();
  return done;
}

}  // namespace sdx::cli
