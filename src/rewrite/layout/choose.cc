// One family of layouts after the other takes the nodes that it serves best. What a parting costs
// is what it moves: a wire whose maker has one form and some reader wants the other is turned once;
// a node that stays plain loses what it would have gained. The least of that is a minimum cut.
//
// A Transpose that brings a wire into the family's form is a reader that wants that form, and one
// that comes from there is a maker of it: where such a wire is laid out so, the Transpose goes.
#include "rewrite/layout/choose.h"

#include <algorithm>

#include "rewrite/layout/min_cut.h"

namespace sdx::rewrite {
namespace {

using typed::Graph;
using typed::Node;
using typed::Outlet;

constexpr int64_t kByte = int64_t{1} << 24;  // what one byte to be moved weighs

class Parting {
 public:
  Parting(const Graph& graph, const Family& family, Aim aim, const Choice& taken);
  void take(Choice& choice);

 private:
  enum class Role : uint8_t { plain, able, gives, wants };
  struct Wire {
    uint32_t turned, back;  // vertices: somebody wants it laid out, somebody wants it plain
    bool has_turned = false, has_back = false;
  };

  void find_role(uint32_t id);
  void add_reader(uint32_t reader, size_t input);
  uint32_t maker(Outlet wire) const;
  int64_t weight(Outlet wire) const;
  void want_laid(Outlet wire, uint32_t by);
  void want_plain(Outlet wire, uint32_t by);
  bool makes_laid(uint32_t id) const { return !answers_[id]->out.plain(); }

  const Graph& graph_;
  const Family& family_;
  std::vector<Role> roles_;
  Choice answers_;
  std::vector<uint32_t> vertices_;
  std::vector<std::vector<Wire>> wires_;
  MinCut cut_;
  bool worth_ = false;  // something can be gained
};

Parting::Parting(const Graph& graph, const Family& family, Aim aim, const Choice& taken)
    : graph_(graph),
      family_(family),
      roles_(graph.size(), Role::plain),
      answers_(graph.size()),
      vertices_(graph.size(), MinCut::kSecond),
      wires_(graph.size()) {
  for (uint32_t id = 0; id < graph.size(); ++id) {
    wires_[id].resize(graph.node(id).outputs.size());
    if (!taken[id]) find_role(id);
    if (roles_[id] == Role::able) {
      vertices_[id] = cut_.vertex();
      const int64_t gain = answers_[id]->gain;
      if (aim == Aim::kernels) cut_.edge(MinCut::kFirst, vertices_[id], gain * kByte);
      cut_.edge(vertices_[id], MinCut::kSecond, -gain * kByte);
      worth_ |= aim == Aim::kernels && gain > 0;
    }
    worth_ |= roles_[id] == Role::gives || roles_[id] == Role::wants;
  }
  if (!worth_) return;
  for (uint32_t id = 0; id < graph.size(); ++id) {
    for (size_t i = 0; i < graph.node(id).inputs.size(); ++i) add_reader(id, i);
  }
  for (const typed::Output& output : graph.outputs()) want_plain(output.outlet, MinCut::kSecond);
}

void Parting::find_role(uint32_t id) {
  const Node& node = graph_.node(id);
  answers_[id] = ask(graph_, node, family_);
  const bool moves = answers_[id] && answers_[id]->use.op == nullptr;
  if (answers_[id] && (!moves || makes_laid(id))) {
    roles_[id] = Role::able;
    return;
  }
  if (node.kind != Node::Kind::op || !is_view(graph_, node)) return;
  // A Transpose of two axes may be read either way: it wants the form if its input can have it.
  const uint32_t from = node.inputs[0].node;
  if (moves && (roles_[from] == Role::able && makes_laid(from))) {
    roles_[id] = Role::wants;
    return;
  }
  const Fact &x = graph_.fact(node.inputs[0]), &y = node.outputs[0];
  const auto plain = ask(graph_, node, 0, plain_layout(x.rank()));
  if (plain && plain->use.op == nullptr && family_.takes(y) && plain->out == family_.of(y.rank())) {
    roles_[id] = Role::gives;
  } else if (moves) {
    roles_[id] = Role::wants;
  }
}

uint32_t Parting::maker(Outlet wire) const {
  if (roles_[wire.node] == Role::gives) return MinCut::kFirst;
  const bool laid = roles_[wire.node] == Role::able && makes_laid(wire.node);
  return laid ? vertices_[wire.node] : MinCut::kSecond;
}

// Vectors of channels lie the same way, or nearly. Of wires that weigh the same the latest is
// turned, so that an element-wise operation stays with the product that it follows.
int64_t Parting::weight(Outlet wire) const {
  const Fact& fact = graph_.fact(wire);
  int64_t positions = 1;
  for (size_t i = 2; fact.has_rank() && i < fact.rank(); ++i)
    positions *= fact.dim(i).is_const() ? fact.dim(i).value() : 2;
  const int64_t bytes = positions == 1 ? 1 : std::max<int64_t>(1, image_bytes(fact));
  return bytes * kByte + int64_t(graph_.size() - wire.node);
}

void Parting::want_laid(Outlet wire, uint32_t by) {
  const uint32_t made_by = maker(wire);
  if (made_by == MinCut::kFirst) return;
  Wire& w = wires_[wire.node][wire.slot];
  if (!w.has_turned) {
    w.turned = cut_.vertex();
    w.has_turned = true;
    cut_.edge(w.turned, made_by, weight(wire));
  }
  cut_.edge(by, w.turned, MinCut::kNever);
}

void Parting::want_plain(Outlet wire, uint32_t by) {
  const uint32_t made_by = maker(wire);
  if (made_by == MinCut::kSecond) return;
  Wire& w = wires_[wire.node][wire.slot];
  if (!w.has_back) {
    w.back = cut_.vertex();
    w.has_back = true;
    cut_.edge(made_by, w.back, weight(wire));
  }
  cut_.edge(w.back, by, MinCut::kNever);
}

void Parting::add_reader(uint32_t reader, size_t input) {
  const Outlet wire = graph_.node(reader).inputs[input];
  if (!wire.present() || graph_.node(wire.node).kind == Node::Kind::constant) return;
  switch (roles_[reader]) {
    case Role::plain:
    case Role::gives:
      return want_plain(wire, MinCut::kSecond);
    case Role::wants:
      return want_laid(wire, MinCut::kFirst);
    case Role::able:
      break;
  }
  const std::vector<Operand>& operands = answers_[reader]->inputs;
  const auto operand = std::find_if(operands.begin(), operands.end(),
                                    [&](const Operand& o) { return o.input == input; });
  // Fewer axes are filled up before anything else.
  if (operand != operands.end() &&
      (!operand->layout || graph_.fact(wire).rank() != operand->layout->rank())) {
    return want_plain(wire, MinCut::kSecond);
  }
  want_plain(wire, vertices_[reader]);
  if (operand != operands.end() && !operand->plain_too) want_laid(wire, vertices_[reader]);
}

void Parting::take(Choice& choice) {
  if (!worth_) return;
  const std::vector<bool> laid = cut_.first_side();
  for (uint32_t id = 0; id < graph_.size(); ++id) {
    if (roles_[id] == Role::able && laid[vertices_[id]]) choice[id] = std::move(answers_[id]);
  }
}

}  // namespace

Choice choose(const Graph& graph, Aim aim) {
  Choice choice(graph.size());
  for (const Family& family : families()) {
    if (aim == Aim::turns && family.of(4).blocked) continue;  // no Transpose leads there
    Parting parting(graph, family, aim, choice);
    parting.take(choice);
  }
  return choice;
}

}  // namespace sdx::rewrite
