#include "certificate/replacements.h"

#include <algorithm>
#include <map>
#include <set>

#include "certificate/constants.h"
#include "certificate/json.h"
#include "certificate/points.h"
#include "certificate/views.h"
#include "ops/list.h"
#include "rewrite/passes.h"

namespace sdx::certificate {
namespace {

using typed::Chapter;
using typed::Graph;
using typed::Node;
using typed::Outlet;

// Values of attributes as text, the same exactly for the same values.
class AttributeText {
 public:
  std::string of(const Node& node) {
    std::string text;
    each_attribute(node.use, [&](const std::string& name, const AttrValue& value) {
      text += fmt::format("{}={};", name, std::visit(*this, value));
    });
    return text;
  }

  std::string operator()(int64_t value) const { return fmt::to_string(value); }
  std::string operator()(float value) const { return fmt::format("{:a}", value); }
  std::string operator()(const std::string& value) const { return fmt::format("{:?}", value); }
  template <class T>
  std::string operator()(const std::vector<T>& values) {
    std::string text;
    for (const T& value : values) text += (*this)(value) + ",";
    return text;
  }
  std::string operator()(const Tensor& value) {
    return fmt::format("tensor {}", tensors.of(value));
  }
  std::string operator()(const Fact& value) const { return value.text(); }
  std::string operator()(const std::shared_ptr<const BodySource>& body) {
    held_.push_back(body);  // so that no other gets its address
    return fmt::format("subgraph {}",
                       bodies_.try_emplace(body.get(), bodies_.size()).first->second);
  }

  TensorNumbers tensors;

 private:
  std::map<const void*, size_t> bodies_;
  std::vector<std::shared_ptr<const BodySource>> held_;
};

// Wires of a graph, numbered from 1 in the order of nodes and slots.
class WireNumbers {
 public:
  explicit WireNumbers(const Graph& graph) {
    for (const Node& node : graph.nodes()) {
      first_.push_back(next);
      next += node.outputs.size();
    }
  }
  size_t of(Outlet outlet) const { return first_[outlet.node] + outlet.slot; }
  size_t next = 1;  // that no wire has

 private:
  std::vector<size_t> first_;
};

class GraphWriter {
 public:
  GraphWriter(const Graph& graph, AttributeText& attributes, Json& out)
      : graph_(graph), attributes_(attributes), out_(out), wires_(graph) {}

  void write() {
    out_.line().open('[', "wires");
    for (uint32_t id = 0; id < graph_.size(); ++id) {
      for (uint32_t slot = 0; slot < graph_.node(id).outputs.size(); ++slot) wire({id, slot});
    }
    out_.close(']').line().open('[', "nodes");
    for (uint32_t id = 0; id < graph_.size(); ++id) node(id);
    out_.close(']').line().open('[', "outputs");
    for (const typed::Output& output : graph_.outputs()) out_.element(wires_.of(output.outlet));
    out_.close(']');
  }

 private:
  void wire(Outlet outlet) {
    const Fact& fact = graph_.fact(outlet);
    if (!fact.present()) return;
    out_.line().open('{').number("wire", wires_.of(outlet));
    out_.string("type", fact.is_tensor() ? std::string(short_name(fact.type)) : fact.text());
    if (fact.is_tensor() && fact.has_rank()) {
      out_.open('[', "dims");
      for (const Dim& dim : *fact.shape) {
        if (dim.is_const()) {
          out_.element(dim.value());
        } else {
          out_.string({}, dim.text());
        }
      }
      out_.close(']');
    }
    out_.close('}');
  }

  void node(uint32_t id) {
    const Node& node = graph_.node(id);
    out_.line().open('{').number("node", id);
    if (node.kind == Node::Kind::source) {
      out_.string("input", node.use.name);
    } else if (node.kind == Node::Kind::constant) {
      if (const auto& value = node.outputs[0].value) {
        out_.number("value", attributes_.tensors.of(*value));
        if (is_zero(*value)) out_.truth("zero", true);
      }
    } else {
      operation(id, node);
    }
    out_.open('[', "outputs");
    for (uint32_t slot = 0; slot < node.outputs.size(); ++slot) {
      if (node.outputs[slot].present()) {
        out_.element(wires_.of({id, slot}));
      } else {
        out_.null({});
      }
    }
    out_.close(']').close('}');
  }
  void operation(uint32_t id, const Node& node) {
    const Op& op = node.op();
    const Signature* signature = op.at(node.use.opset);
    out_.string("operator", op.domain.empty() ? std::string(op.name)
                                              : fmt::format("{}::{}", op.domain, op.name));
    out_.number("version", signature == nullptr ? node.use.opset : signature->since);
    out_.string("name", node.use.name).string("attributes", attributes_.of(node));
    std::vector<size_t> operands;
    bool all = true;
    out_.open('[', "inputs");
    for (const Outlet input : node.inputs) {
      all &= input.present();
      if (input.present()) {
        operands.push_back(wires_.of(input));
        out_.element(operands.back());
      } else {
        out_.null({});
      }
    }
    out_.close(']');
    if (node.use.op == &ops::transpose) {
      if (graph_.fact(node.inputs[0]).has_rank())
        out_.numbers("perm", view_rule(graph_, node).numbers);
    }
    if (node.use.op == &ops::unsqueeze || node.use.op == &ops::squeeze) {
      if (const auto axes = unit_axes(graph_, node)) out_.numbers("axes", *axes);
    }
    if (!all || !node.outputs[0].present()) return;
    const auto points = points_of(graph_, node, wires_.of({id, 0}), operands, wires_.next);
    if (!points) return;
    out_.open('[', "points");
    for (const Point& point : *points) {
      out_.open('{').number("made", point.made).string("function", point.function);
      out_.numbers("args", point.args).close('}');
    }
    out_.close(']');
  }

  const Graph& graph_;
  AttributeText& attributes_;
  Json& out_;
  WireNumbers wires_;
};

// What a pass did: its replacements, which new nodes were made for which old ones, and how
// constants that are not what they were lie in those that came.
class PassWriter {
 public:
  PassWriter(const Graph& before, const Graph& after, Json& out)
      : old_(before), made_(after), out_(out), chapter_(*after.journal) {}

  void write() {
    out_.line().open('[', "replacements");
    for (const Chapter::Entry& entry : chapter_.entries) {
      out_.line().open('{').string("rule", entry.rule).open('[', "gone");
      for (const Chapter::Old& gone : entry.gone) {
        if (gone.chapter == 0) out_.element(gone.node);
      }
      out_.close(']').numbers("came", entry.came).close('}');
    }
    out_.close(']').line().open('[', "made_for");
    for (const Chapter::Link& link : chapter_.links) {
      if (link.old.chapter != 0) continue;
      out_.open('[').element(link.made).element(link.old.node).close(']');
    }
    out_.close(']').line().open('[', "removed");
    for (const Chapter::Removed& removed : chapter_.removed) {
      if (removed.old.chapter == 0) out_.element(removed.old.node);
    }
    out_.close(']').line().open('[', "constants");
    constants();
    out_.close(']');
  }

 private:
  bool is_constant(const Graph& graph, uint32_t id) const {
    const Node& node = graph.node(id);
    return node.kind == Node::Kind::constant && node.outputs[0].value != nullptr;
  }
  void constants() {
    const WireNumbers before(old_), after(made_);
    std::set<std::pair<uint32_t, uint32_t>> pairs;  // new, old
    for (const Chapter::Link& link : chapter_.links) {
      if (link.old.chapter != 0 || !is_constant(made_, link.made)) continue;
      if (is_constant(old_, link.old.node)) pairs.insert({link.made, link.old.node});
      for (const Outlet input : old_.node(link.old.node).inputs) {
        if (input.present() && is_constant(old_, input.node)) pairs.insert({link.made, input.node});
      }
    }
    for (const auto& [made, old] : pairs) {
      const Tensor &is = *made_.node(made).outputs[0].value,
                   &was = *old_.node(old).outputs[0].value;
      if (is.raw() == was.raw() && is.dims() == was.dims()) continue;
      for (const StoredAxes& axes : moves_between(was, is)) {
        head(before.of({old, 0}), after.of({made, 0}));
        out_.open('[', "axes");
        for (const auto& axis : axes) {
          if (axis) {
            out_.element(*axis);
          } else {
            out_.null({});
          }
        }
        out_.close(']').close('}');
      }
      if (is_blocked_form(was, is)) {
        head(before.of({old, 0}), after.of({made, 0}));
        out_.truth("blocked", true).close('}');
      }
    }
  }
  void head(size_t old, size_t made) {
    out_.line().open('{').number("old", old).number("new", made);
  }

  const Graph &old_, &made_;
  Json& out_;
  const Chapter& chapter_;
};

// Programs that run inside of products: two nodes, one step.
void write_epilogues(const plan::Plan& plan, Json& out) {
  const WireNumbers wires(plan.graph);
  out.line().open('[', "epilogues");
  for (const plan::Step& step : plan.steps) {
    if (!step.epilogue) continue;
    out.line().open('{').string("product", typed::shown(plan.graph.node(step.node)));
    out.number("makes", wires.of({step.node, 0}));
    out.string("program", typed::shown(plan.graph.node(step.epilogue->node))).open('[', "reads");
    for (const Outlet input : plan.graph.node(step.epilogue->node).inputs) {
      if (input.present()) out.element(wires.of(input));
    }
    out.close(']').close('}');
  }
  out.line().close(']');
}

}  // namespace

Result<std::string> replacements(const Graph& graph, const rewrite::Rewrites& rewrites,
                                 const plan::Plan& plan) {
  Json out;
  AttributeText attributes;
  std::vector<Graph> held;  // so that no tensor gets the address of one that was numbered
  Graph now = graph.without_dead();
  out.open('{').line().open('[', "graphs").line().open('{').string("pass", "");
  GraphWriter(now, attributes, out).write();
  out.close('}');
  const auto watch = [&](const Graph& before, const Graph& after) {
    if (after.journal == nullptr || after.journal == before.journal) return;
    out.line().open('{').string("pass", after.journal->pass);
    GraphWriter(after, attributes, out).write();
    PassWriter(before, after, out).write();
    out.close('}');
    held.push_back(after);
  };
  held.push_back(now);
  if (!rewrites.strict) {
    SDX_ASSIGN(Graph standard, rewrite::to_standard_numerics(now));
    watch(now, standard);
    now = std::move(standard);
  }
  if (rewrites.optimize) {
    SDX_ASSIGN(now, rewrite::optimize(now, watch, rewrites.isa));
  }
  out.line().close(']');
  write_epilogues(plan, out);
  out.close('}');
  return out.take();
}

}  // namespace sdx::certificate
