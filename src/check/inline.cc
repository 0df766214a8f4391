#include "check/inline.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/stack.h"
#include "check/versions.h"
#include "model/fields.h"
#include "model/functions.h"
#include "model/names.h"

namespace sdx::check {

Status fits_function(const model::Function& function, const model::Node& call) {
  const size_t inputs = function.input.size(), outputs = function.output.size();
  if (call.input.size() <= inputs && call.output.size() <= outputs) return ok();
  return fail("SDX-G0005", "function {} takes {} inputs and gives {} outputs; {} and {} are named",
              model::name_of(function), inputs, outputs, call.input.size(), call.output.size());
}

Error calls_itself(const std::string& chain) {
  return fail("SDX-G0004", "functions call themselves: {}", chain);
}

Error too_many_nodes(size_t most) {
  Error error = fail("SDX-G0010", "more than {} nodes after inlining functions", most);
  error.help = "--limit inlined-nodes=N sets another limit";
  return error;
}

Error too_deep() {
  return fail("SDX-G0016", "functions and subgraphs stand in each other more than {} deep",
              kDeepestCalls);
}

namespace {

// A model whose functions are called a few hundred times each is usual; one that grows from a few
// kilobytes to millions of nodes is an attack.
constexpr size_t kFewNodes = size_t{1} << 16, kMostGrowth = 64;
// What nodes hold beside what any node does is made again for each call.
constexpr size_t kFewBytes = size_t{64} << 20, kMostByteGrowth = 8;

// Nodes and the bytes of what they hold; as large as a number can be where that is not enough.
struct Amount {
  static size_t plus(size_t a, size_t b) { return b > SIZE_MAX - a ? SIZE_MAX : a + b; }
  void operator+=(const Amount& more) {
    nodes = plus(nodes, more.nodes);
    bytes = plus(bytes, more.bytes);
  }
  size_t nodes = 0, bytes = 0;
};

size_t bytes_of(const std::vector<std::string>& strings) {
  size_t bytes = 0;
  for (const std::string& text : strings) bytes += sizeof(std::string) + text.size();
  return bytes;
}

size_t bytes_of(const model::TensorData& tensor) {
  size_t bytes = sizeof tensor + tensor.name.size() + bytes_of(tensor.string_data);
  for (const model::Payload* list : {&tensor.float_data, &tensor.int32_data, &tensor.int64_data,
                                     &tensor.double_data, &tensor.uint64_data}) {
    bytes += list->size();
  }
  return bytes;
}

// What the node itself holds; the nodes of its subgraphs count for themselves.
Amount amount_of(const model::Node& node) {
  constexpr size_t kOfAnyNode = 1024;
  size_t bytes = node.name.size() + node.doc_string.size() + node.op_type.size() +
                 bytes_of(node.input) + bytes_of(node.output);
  for (const model::Attribute& attribute : node.attribute) {
    bytes += sizeof attribute + attribute.name.size() + attribute.doc_string.size() +
             attribute.s.size() + bytes_of(attribute.strings) +
             attribute.floats.size() * sizeof(float) + attribute.ints.size() * sizeof(int64_t);
    if (attribute.t) bytes += bytes_of(*attribute.t);
    for (const model::TensorData& tensor : attribute.tensors) bytes += bytes_of(tensor);
  }
  model::each_subgraph(node, [&](const model::Graph& graph) {
    for (const model::TensorData& init : graph.initializer) bytes += bytes_of(init);
    for (const auto* list : {&graph.input, &graph.output, &graph.value_info}) {
      for (const model::ValueInfo& info : *list) bytes += sizeof info + info.name.size();
    }
  });
  return {1, bytes > kOfAnyNode ? bytes - kOfAnyNode : 0};
}

// Adds up the nodes of functions, each once, however they call each other.
class Count {
 public:
  explicit Count(const model::Model& model) : functions_(model) {}

  // With all that is called. Without recursion: a chain of calls may be as long as the file.
  Result<Amount> of(const std::vector<model::Node>& nodes) {
    std::vector<Frame> frames;
    frames.push_back(frame(nullptr, nodes));
    while (true) {
      Frame& top = frames.back();
      if (top.next < top.calls.size()) {
        const model::Function* called = top.calls[top.next];
        const auto [at, fresh] = counts_.emplace(called, std::nullopt);
        if (fresh) {
          frames.push_back(frame(called, called->node));
          continue;
        }
        if (!at->second) return circle(frames, called);
        top.count += *at->second;
        ++top.next;
        continue;
      }
      if (frames.size() == 1) return top.count;
      counts_[top.function] = top.count;
      frames.pop_back();
    }
  }

 private:
  struct Frame {
    const model::Function* function;
    std::vector<const model::Function*> calls;
    size_t next = 0;
    Amount count = {};
  };

  Frame frame(const model::Function* function, const std::vector<model::Node>& nodes) {
    Frame made{function, {}};
    model::each_node(nodes, [&](const model::Node& node) {
      if (const model::Function* called = functions_.find(node)) {
        made.calls.push_back(called);
      } else {
        made.count += amount_of(node);
      }
    });
    return made;
  }
  static Error circle(const std::vector<Frame>& frames, const model::Function* called) {
    std::string chain;
    bool inside = false;
    for (const Frame& frame : frames) {
      inside = inside || frame.function == called;
      if (inside) chain += model::name_of(*frame.function) + " -> ";
    }
    return calls_itself(chain + model::name_of(*called));
  }

  model::Functions functions_;
  std::map<const model::Function*, std::optional<Amount>> counts_;  // none yet: being counted
};

}  // namespace

Result<size_t> inlined_nodes(const model::Model& model, size_t most) {
  Amount written, all;
  model::each_node(model, [&](const model::Node& node) { written += amount_of(node); });
  Count count(model);
  const auto add = [&](const std::vector<model::Node>& nodes) -> Status {
    SDX_ASSIGN(const Amount more, count.of(nodes));
    all += more;
    return ok();
  };
  if (model.graph) SDX_TRY(add(model.graph->node));
  for (const model::TrainingInfo& info : model.training_info) {
    if (info.initialization) SDX_TRY(add(info.initialization->node));
    if (info.algorithm) SDX_TRY(add(info.algorithm->node));
  }
  // Who gives a limit means it.
  if (most == InlineOptions{}.most_nodes)
    most = std::min(most, std::max(kFewNodes, kMostGrowth * written.nodes));
  if (all.nodes > most) return too_many_nodes(most);
  const size_t most_bytes = std::max(kFewBytes, kMostByteGrowth * written.bytes);
  if (all.bytes > most_bytes) {
    return fail("SDX-G0018", "the nodes of inlined functions hold {} bytes, the limit is {}",
                all.bytes, most_bytes);
  }
  return all.nodes;
}

namespace {

using model::Attribute;
using model::canonical;
using model::Function;
using model::Graph;
using model::name_of;
using model::Node;
using Names = std::map<std::string, std::string, std::less<>>;

class Inliner {
 public:
  Inliner(const model::Model& model, const InlineOptions& options)
      : model_(model),
        options_(options),
        functions_(model),
        out_(model),
        opsets_(model::opsets_of(model.opset_import)) {}

  Result<Inlined> all() {
    if (out_.graph) collect(*out_.graph);
    for (model::TrainingInfo& info : out_.training_info) {
      if (info.initialization) collect(*info.initialization);
      if (info.algorithm) collect(*info.algorithm);
    }
    // A model without imports, as IR versions 1 and 2 have them, means version 1.
    if (model_.opset_import.empty()) opsets_[""] = opsets_["ai.onnx"] = 1;
    const model::Opsets outer = opsets_;
    if (out_.graph) SDX_TRY(graph(*out_.graph, outer, {}));
    for (model::TrainingInfo& info : out_.training_info) {
      if (info.initialization) SDX_TRY(graph(*info.initialization, outer, {}));
      if (info.algorithm) SDX_TRY(graph(*info.algorithm, outer, {}));
    }
    out_.functions.clear();
    std::erase_if(out_.opset_import, [&](const model::OpsetId& import) {
      const bool local = std::any_of(
          model_.functions.begin(), model_.functions.end(),
          [&](const Function& f) { return canonical(f.domain) == canonical(import.domain); });
      return local && !used_domains_.contains(canonical(import.domain));
    });
    return Inlined{std::move(out_), calls_, bodies_};
  }

 private:
  using Calls = std::vector<const Function*>;

  void collect(const Graph& g) {
    for (const model::ValueInfo& input : g.input) taken_.insert(input.name);
    for (const model::TensorData& init : g.initializer) taken_.insert(init.name);
    for (const model::SparseTensorData& init : g.sparse_initializer) {
      if (init.values) taken_.insert(init.values->name);
    }
    for (const Node& node : g.node) {
      taken_.insert(node.output.begin(), node.output.end());
      taken_.insert(node.input.begin(), node.input.end());
      model::each_subgraph(node, [&](const Graph& inner) { collect(inner); });
    }
  }

  std::string fresh(const std::string& stem, const std::string& name) {
    const std::string base = stem + "_" + name;
    std::string candidate = base;
    for (size_t& n = tried_[base]; !taken_.insert(candidate).second;) {
      candidate = fmt::format("{}_{}", base, ++n);
    }
    return candidate;
  }

  // Counts what stands in what, functions and subgraphs.
  struct Deeper {
    explicit Deeper(size_t& depth) : at(depth) { ++at; }
    ~Deeper() { --at; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;
    size_t& at;
  };

  // Stems of names that are made; the file's own names bound how long those become.
  static std::string short_stem(const std::string& name) {
    constexpr size_t kLongest = 256;
    return name.size() <= kLongest ? name : name.substr(name.size() - kLongest);
  }

  Status graph(Graph& g, const model::Opsets& opsets, const Calls& calls) {
    const Deeper deeper(depth_);
    if (depth_ > kDeepestCalls) return too_deep();
    std::vector<Node> made;
    for (Node& node : g.node) {
      const std::string place =
          fmt::format("graph \"{}\", node \"{}\" ({})", g.name, node.name, node.op_type);
      if (Status status = add(std::move(node), made, opsets, calls); !status) {
        return std::move(status).error().in(place);
      }
    }
    g.node = std::move(made);
    return ok();
  }

  Status add(Node node, std::vector<Node>& made, const model::Opsets& opsets, const Calls& calls) {
    Status status;
    model::each_subgraph(node, [&](Graph& g) {
      if (status) status = graph(g, opsets, calls);
    });
    SDX_TRY(std::move(status));
    const auto version = opsets.find(node.domain);
    if (const Function* function = functions_.find(node)) {
      ++calls_;
      return call(*function, node, model::opsets_of(function->opset_import), made, calls);
    }
    // What bodies hold is left for the next time, when more is known of it.
    if (options_.body && calls.empty() && version != opsets.end()) {
      if (const auto body = options_.body(node, version->second)) {
        ++bodies_;
        return call(*body, node, opsets, made, calls);
      }
    }
    if (version != opsets.end()) SDX_TRY(keep_version(node, version->second));
    if (++count_ > options_.most_nodes) {
      return too_many_nodes(options_.most_nodes);
    }
    used_domains_.emplace(canonical(node.domain));
    made.push_back(std::move(node));
    return ok();
  }

  // In the model without functions, the node has the version that the model imports.
  Status keep_version(const Node& node, int64_t version) {
    const auto [at, added] = opsets_.emplace(std::string(canonical(node.domain)), version);
    if (added) {
      model::OpsetId& import = out_.opset_import.emplace_back();
      set(import, &model::OpsetId::domain, node.domain);
      set(import, &model::OpsetId::version, version);
    }
    if (at->second == version || same_meaning(node, version, at->second)) return ok();
    Error error =
        fail("SDX-G0020", "{} means version {} here, and the model imports version {} of {}",
             node.op_type, version, at->second, model::shown(canonical(node.domain)));
    error.help = "a model without functions has one version of each operator set";
    return error;
  }

  Status call(const Function& f, const Node& node, const model::Opsets& opsets,
              std::vector<Node>& made, const Calls& calls) {
    if (std::find(calls.begin(), calls.end(), &f) != calls.end()) {
      std::string chain;
      for (const Function* caller : calls) chain += name_of(*caller) + " -> ";
      return calls_itself(chain + name_of(f));
    }
    const Deeper deeper(depth_);
    if (depth_ > kDeepestCalls) return too_deep();
    SDX_TRY(fits_function(f, node));
    Names names;
    for (size_t i = 0; i < f.input.size(); ++i) {
      names[f.input[i]] = i < node.input.size() ? node.input[i] : "";
    }
    std::vector<std::pair<std::string, std::string>> copies;  // inputs and repeats as outputs
    for (size_t i = 0; i < node.output.size(); ++i) {
      if (node.output[i].empty()) continue;
      const auto [at, first] = names.emplace(f.output[i], node.output[i]);
      if (!first) copies.emplace_back(at->second, node.output[i]);
    }
    std::string stem = short_stem(node.name);
    if (stem.empty() || !plain(stem)) stem = short_stem(f.name);
    std::vector<Node> body = f.node;
    rename(body, names, stem);
    Calls inner = calls;
    inner.push_back(&f);
    for (Node& part : body) {
      substitute(part, f, node);
      if (!part.name.empty()) {
        set(part, &Node::name,
            fmt::format("{}/{}", short_stem(node.name.empty() ? f.name : node.name), part.name));
      }
      if (Status status = add(std::move(part), made, opsets, inner); !status) {
        return std::move(status).error().in(fmt::format("function {}", name_of(f)));
      }
    }
    for (auto& [from, to] : copies) {
      if (from.empty()) {
        return fail("SDX-G0005", "output \"{}\" of function {} is an input that is left out", to,
                    name_of(f));
      }
      Node copy;
      set(copy, &Node::op_type, std::string("Identity"));
      copy.input = {from};
      copy.output = {to};
      SDX_TRY(add(std::move(copy), made, opsets, inner));
    }
    return ok();
  }

  static bool plain(const std::string& name) {
    return std::all_of(name.begin(), name.end(), [](unsigned char c) {
      return std::isalnum(c) != 0 || c == '_' || c == '/' || c == '.';
    });
  }

  // Names that hold within a subgraph, until its end.
  class Inside {
   public:
    explicit Inside(Names& names) : names_(names) {}
    ~Inside() {
      for (auto at = before_.rbegin(); at != before_.rend(); ++at) {
        at->second ? void(names_[at->first] = *at->second) : void(names_.erase(at->first));
      }
    }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
    const std::string& set(const std::string& name, std::string meaning) {
      const auto [at, added] = names_.try_emplace(name);
      before_.emplace_back(name, added ? std::nullopt : std::optional(at->second));
      return at->second = std::move(meaning);
    }

   private:
    Names& names_;
    std::vector<std::pair<std::string, std::optional<std::string>>> before_;
  };

  // What nodes define gets names of its own, but for what `names` already has.
  void rename(std::vector<Node>& nodes, Names& names, const std::string& stem) {
    const auto use = [&](std::string& name) {
      const auto at = names.find(name);
      if (at != names.end()) name = at->second;
    };
    const auto define = [&](std::string& name) {
      if (name.empty()) return;
      const auto at = names.find(name);
      name = at != names.end() ? at->second : (names[name] = fresh(stem, name));
    };
    for (Node& node : nodes) {
      for (std::string& input : node.input) {
        if (!input.empty()) use(input);
      }
      model::each_subgraph(node, [&](Graph& g) {
        Inside inside(names);
        const auto own = [&](std::string& name) {
          if (!name.empty()) name = inside.set(name, fresh(stem, name));
        };
        std::set<std::string> inputs;
        for (model::ValueInfo& input : g.input) {
          own(input.name);
          inputs.insert(input.name);
        }
        for (model::TensorData& init : g.initializer) {
          const auto at = names.find(init.name);  // perhaps the default of an input
          if (at != names.end() && inputs.contains(at->second)) {
            init.name = at->second;
          } else {
            own(init.name);
          }
        }
        for (model::SparseTensorData& init : g.sparse_initializer) {
          if (init.values) own(init.values->name);
        }
        // Outputs of nodes here hide nothing: their names are new before the nodes are seen.
        for (const Node& inner : g.node) {
          for (const std::string& output : inner.output) {
            if (!output.empty()) inside.set(output, fresh(stem, output));
          }
        }
        rename(g.node, names, stem);
        const auto known = [&](std::string& name) {
          const auto at = names.find(name);
          if (at != names.end()) name = at->second;
          return at != names.end();
        };
        for (model::ValueInfo& output : g.output) known(output.name);
        std::erase_if(g.value_info, [&](model::ValueInfo& info) { return !known(info.name); });
        g.quantization_annotation.clear();
      });
      for (std::string& output : node.output) define(output);
    }
  }

  // Attributes that refer to the function's become those of the call, their defaults, or nothing.
  void substitute(Node& node, const Function& f, const Node& call) {
    std::vector<Attribute> kept;
    for (Attribute& a : node.attribute) {
      if (a.ref_attr_name.empty()) {
        if (a.g) substitute(*a.g, f, call);
        for (Graph& g : a.graphs) substitute(g, f, call);
        kept.push_back(std::move(a));
        continue;
      }
      const Attribute* value = call.find(a.ref_attr_name);
      for (const Attribute& fallback : f.attribute_proto) {
        if (value == nullptr && fallback.name == a.ref_attr_name) value = &fallback;
      }
      if (value == nullptr) continue;
      Attribute given = *value;
      set(given, &Attribute::name, a.name);
      kept.push_back(std::move(given));
    }
    node.attribute = std::move(kept);
  }
  void substitute(Graph& g, const Function& f, const Node& call) {
    for (Node& node : g.node) substitute(node, f, call);
  }

  const model::Model& model_;
  const InlineOptions& options_;
  model::Functions functions_;
  model::Model out_;
  model::Opsets opsets_;  // of the model that is made
  std::set<std::string, std::less<>> taken_, used_domains_;
  std::map<std::string, size_t> tried_;
  size_t count_ = 0, calls_ = 0, bodies_ = 0, depth_ = 0;
};

}  // namespace

Result<Inlined> inline_functions(const model::Model& model, const InlineOptions& options) {
  SDX_TRY(inlined_nodes(model, options.most_nodes));
  return Inliner(model, options).all();
}

}  // namespace sdx::check
