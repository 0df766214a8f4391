#include "model_diff.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "attribute_words.h"
#include "base/sha256.h"
#include "check/declared.h"
#include "model/io.h"
#include "model/names.h"
#include "model/tensor.h"
#include "model/text.h"

namespace sdx::cli {
namespace {

using Kind = Difference::Kind;
using model::Graph;
using model::Node;

constexpr size_t kLongest = 60;  // of a value in a line

std::string shortened(std::string text) {
  if (text.size() > kLongest) text = text.substr(0, kLongest - 3) + "...";
  return text;
}

std::string text_of(const model::ValueInfo& info) {
  return info.type ? check::declared_fact(info).text() : "no type";
}

std::string hash_of(const model::TensorData& tensor) {
  const auto data = model::data_of(tensor);
  Sha256 hash;
  if (data) {
    hash.add(data->bytes);
  } else {
    const std::string bytes = model::write(tensor);
    hash.add(bytes.data(), bytes.size());
  }
  return hash.hex();
}

std::string form_of(const model::TensorData& tensor) {
  return fmt::format("{}[{}]", short_name(tensor.dtype()), fmt::join(tensor.dims, ","));
}

std::string text_of(const model::Attribute& attribute) {
  return attribute_words(attribute, {.longest = kLongest, .tensor = [](const auto& tensor) {
                                       return fmt::format("{} {}", form_of(tensor),
                                                          hash_of(tensor).substr(0, 12));
                                     }});
}

class Comparison {
 public:
  std::vector<Difference> found;

  void models(const model::Model& a, const model::Model& b) {
    Difference& meta = start("model", "metadata");
    line(meta, "IR version", std::to_string(a.ir_version), std::to_string(b.ir_version));
    line(meta, "producer", a.producer_name + " " + a.producer_version,
         b.producer_name + " " + b.producer_version);
    line(meta, "domain", a.domain, b.domain);
    line(meta, "version", std::to_string(a.model_version), std::to_string(b.model_version));
    line(meta, "doc", a.doc_string, b.doc_string);
    finish();
    by_name("operator sets", a.opset_import, b.opset_import, [](const model::OpsetId& id) {
      return std::pair(std::string(model::shown(id.domain)), std::to_string(id.version));
    });
    by_name("properties", a.metadata_props, b.metadata_props, [](const model::StringEntry& entry) {
      return std::pair(entry.key, shortened(entry.value));
    });
    if (a.graph && b.graph) graphs(*a.graph, *b.graph, "");
    by_name("functions", a.functions, b.functions, [](const model::Function& function) {
      const std::string bytes = model::write(function);
      Sha256 hash;
      hash.add(bytes.data(), bytes.size());
      return std::pair(model::name_of(function),
                       fmt::format("{} nodes {}", function.node.size(), hash.hex().substr(0, 12)));
    });
  }

 private:
  void graphs(const Graph& a, const Graph& b, const std::string& within) {
    const auto value = [](const model::ValueInfo& info) {
      return std::pair(info.name, text_of(info));
    };
    by_name("inputs" + within, a.input, b.input, value);
    by_name("outputs" + within, a.output, b.output, value);
    weights(a, b, within);
    nodes(a, b, within);
  }

  void weights(const Graph& a, const Graph& b, const std::string& within) {
    std::map<std::string_view, const model::TensorData*> others;
    for (const model::TensorData& weight : b.initializer) others.emplace(weight.name, &weight);
    for (const model::TensorData& weight : a.initializer) {
      const auto at = others.find(weight.name);
      if (at == others.end()) {
        add("weights" + within, Kind::gone, fmt::format("\"{}\" {}", weight.name, form_of(weight)));
        continue;
      }
      Difference& d = start("weights" + within, fmt::format("\"{}\"", weight.name));
      line(d, "type", form_of(weight), form_of(*at->second));
      if (d.lines.empty() && hash_of(weight) != hash_of(*at->second))
        d.lines.push_back(values_changed(weight, *at->second));
      finish();
      others.erase(at);
    }
    for (const model::TensorData& weight : b.initializer) {
      if (others.contains(weight.name))
        add("weights" + within, Kind::came, fmt::format("\"{}\" {}", weight.name, form_of(weight)));
    }
  }

  static std::string values_changed(const model::TensorData& a, const model::TensorData& b) {
    const auto x = model::to_tensor(a), y = model::to_tensor(b);
    if (!x || !y || x->type() == DType::string || is_complex(x->type())) return "other values";
    size_t differing = 0;
    double most = 0;
    for (size_t i = 0; i < x->count(); ++i) {
      if (get_bits(x->type(), x->raw(), i) == get_bits(y->type(), y->raw(), i)) continue;
      ++differing;
      most = std::max(most,
                      std::abs(get_f64(x->type(), x->raw(), i) - get_f64(y->type(), y->raw(), i)));
    }
    return fmt::format("{} of {} elements differ, by {:.3g} at most", differing, x->count(), most);
  }

  static std::string called(const Node& node) {
    std::string first;
    for (const std::string& output : node.output) {
      if (first.empty()) first = output;
    }
    return node.name.empty() ? fmt::format("{} that makes \"{}\"", node.op_type, first)
                             : fmt::format("{} \"{}\"", node.op_type, node.name);
  }

  // Pairs of nodes, by ever weaker keys; what is left came or went.
  void nodes(const Graph& a, const Graph& b, const std::string& within) {
    const bool main = within.empty();
    std::vector<const Node*> partner(a.node.size(), nullptr);
    std::vector<bool> taken(b.node.size(), false);
    const auto match = [&](auto key) {
      std::multimap<std::string, size_t> free;
      for (size_t j = 0; j < b.node.size(); ++j) {
        if (!taken[j]) free.emplace(key(b.node[j]), j);
      }
      for (size_t i = 0; i < a.node.size(); ++i) {
        if (partner[i] != nullptr) continue;
        const std::string wanted = key(a.node[i]);
        const auto at = wanted.empty() ? free.end() : free.find(wanted);
        if (at == free.end()) continue;
        partner[i] = &b.node[at->second];
        taken[at->second] = true;
        free.erase(at);
      }
    };
    match([](const Node& n) {
      return fmt::format("{}.{}|{}|{}", n.domain, n.op_type, n.name, fmt::join(n.output, "|"));
    });
    match([](const Node& n) { return fmt::format("{}", fmt::join(n.output, "|")); });
    match([](const Node& n) { return n.name; });
    match([](const Node& n) {
      return fmt::format("{}.{}|{}", n.domain, n.op_type, fmt::join(n.input, "|"));
    });
    for (size_t i = 0; i < a.node.size(); ++i) {
      if (partner[i] == nullptr) {
        add("nodes" + within, Kind::gone, called(a.node[i]));
        if (main) found.back().in_a = long(i);
      } else {
        const size_t before = found.size();
        node(a.node[i], *partner[i], within);
        if (!main || found.size() == before || found[before].part != "nodes") continue;
        found[before].in_a = long(i);
        found[before].in_b = partner[i] - b.node.data();
      }
    }
    for (size_t j = 0; j < b.node.size(); ++j) {
      if (taken[j]) continue;
      add("nodes" + within, Kind::came, called(b.node[j]));
      if (main) found.back().in_b = long(j);
    }
  }

  void node(const Node& a, const Node& b, const std::string& within) {
    Difference& d = start("nodes" + within, called(a));
    const auto list = [](const std::vector<std::string>& names) {
      return fmt::format("({})", fmt::join(names, ", "));
    };
    line(d, "operator", a.domain + "." + a.op_type, b.domain + "." + b.op_type);
    line(d, "name", a.name, b.name);
    line(d, "inputs", list(a.input), list(b.input));
    line(d, "outputs", list(a.output), list(b.output));
    std::map<std::string, std::pair<std::string, std::string>> both;
    std::vector<std::pair<const Graph*, const Graph*>> inner;
    for (const model::Attribute& one : a.attribute) both[one.name].first = text_of(one);
    std::map<std::string_view, const model::Attribute*> others;
    for (const model::Attribute& one : b.attribute) {
      both[one.name].second = text_of(one);
      others.emplace(one.name, &one);
    }
    for (const model::Attribute& one : a.attribute) {
      const auto at = others.find(one.name);
      const model::Attribute* other = at == others.end() ? nullptr : at->second;
      if (other != nullptr && one.g && other->g) {
        inner.emplace_back(one.g.get(), other->g.get());
      } else if (other != nullptr && both[one.name].first == both[one.name].second &&
                 model::write(one) != model::write(*other) && !one.t) {
        both[one.name].second += " (another value)";
      }
    }
    for (const auto& [name, texts] : both) line(d, name, texts.first, texts.second);
    const std::string place = fmt::format(" within {}", called(a));
    finish();
    for (const auto& [x, y] : inner) graphs(*x, *y, place);
  }

  // Things with a name and a text.
  template <class T, class Both>
  void by_name(const std::string& part, const std::vector<T>& a, const std::vector<T>& b,
               const Both& both) {
    std::map<std::string, std::string> others;
    for (const T& one : b) others.insert(both(one));
    for (const T& one : a) {
      const auto [name, text] = both(one);
      const auto at = others.find(name);
      if (at == others.end()) {
        add(part, Kind::gone, fmt::format("\"{}\" {}", name, text));
        continue;
      }
      if (at->second != text)
        add(part, Kind::changed, fmt::format("\"{}\"", name),
            {fmt::format("{} -> {}", text, at->second)});
      others.erase(at);
    }
    for (const T& one : b) {
      const auto [name, text] = both(one);
      if (others.contains(name)) add(part, Kind::came, fmt::format("\"{}\" {}", name, text));
    }
  }

  static void line(Difference& d, const std::string& what, const std::string& a,
                   const std::string& b) {
    if (a != b)
      d.lines.push_back(fmt::format("{}: {} -> {}", what, a.empty() ? "none" : shortened(a),
                                    b.empty() ? "none" : shortened(b)));
  }
  void add(std::string part, Kind kind, std::string name, std::vector<std::string> lines = {}) {
    found.push_back({std::move(part), kind, std::move(name), std::move(lines), -1, -1});
  }
  Difference& start(std::string part, std::string name) {
    return found.emplace_back(
        Difference{std::move(part), Kind::changed, std::move(name), {}, -1, -1});
  }
  // What has no line is no difference.
  void finish() {
    if (found.back().lines.empty()) found.pop_back();
  }
};

}  // namespace

std::vector<Difference> differences(const model::Model& a, const model::Model& b) {
  Comparison comparison;
  comparison.models(a, b);
  // Part by part, subgraphs after the graph that holds them.
  std::stable_sort(comparison.found.begin(), comparison.found.end(),
                   [](const Difference& x, const Difference& y) {
                     const bool inner_x = x.part.find(" within ") != std::string::npos;
                     const bool inner_y = y.part.find(" within ") != std::string::npos;
                     return inner_x < inner_y;
                   });
  return std::move(comparison.found);
}

}  // namespace sdx::cli
