// The graph made anew in the layouts that were chosen. A wire has one or more forms, each made when
// somebody first wants it.
//
// Three rules need no choice, since they cost nothing:
//   - what only names axes anew (a Transpose) is no node: its output has its input's forms;
//   - a view of a tensor that lies otherwise, and that nobody else reads, is taken as it lies;
//   - f(view(view(y)), scalars) becomes view(view(f(y, scalars))) where y comes from a product that
//     can do f on its way, or from another element-wise operation.
#include <algorithm>
#include <numeric>

#include "ops/conv/blocked.h"
#include "ops/list.h"
#include "rewrite/layout/choose.h"

namespace sdx::rewrite {
namespace {

using typed::Graph;
using typed::Node;
using typed::Outlet;

struct Form {
  Layout layout;
  Outlet at;                             // of the new graph
  std::vector<std::string> origin = {};  // of the nodes that only gave its axes other names
  const Node* only = nullptr;            // the one node that did, of a plain tensor
};
using Forms = std::vector<Form>;

Layout plain_of(const Fact& fact) { return plain_layout(fact.has_rank() ? fact.rank() : 0); }

std::vector<int64_t> count_from(int64_t first, size_t count) {
  std::vector<int64_t> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

class Relaying : public Rewriting {
 public:
  Relaying(const Graph& graph, Choice choice)
      : Rewriting(graph, "lay_out", Isa::portable),
        choice_(std::move(choice)),
        forms_(graph.size()) {}
  Result<Graph> make();

 private:
  Forms& forms(Outlet wire) { return forms_[wire.node][wire.slot]; }
  Result<Outlet> one(const Op& op, AttrMap attrs, std::vector<Outlet> inputs);
  Result<Outlet> plain(Outlet wire);
  Result<Outlet> in_form(Outlet wire, const Layout& layout);
  Result<Outlet> convert(Forms& forms, const Fact& fact, const Layout& layout);
  Result<Outlet> laid_out(Outlet plain_wire, const Fact& fact, const Layout& layout);
  Result<Outlet> operand(const Node& node, const Operand& operand);

  Status node(uint32_t id);
  Status as_chosen(uint32_t id, const Relaid& answer);
  Result<bool> as_view(uint32_t id);
  Result<bool> before_views(uint32_t id);
  Status as_it_stands(uint32_t id);
  Result<Forms> viewed(const Node& view, const Forms& x);
  Result<Forms> reshaped(const Node& view, const Relaid& answer, const Form& x);

  Choice choice_;
  std::vector<std::vector<Forms>> forms_;  // by old node and slot
};

// A node that stands for none of the old ones.
Result<Outlet> Relaying::one(const Op& op, AttrMap attrs, std::vector<Outlet> inputs) {
  SDX_ASSIGN(const std::vector<Outlet> wires, add(op, std::move(attrs), std::move(inputs), 1, {}));
  return wires[0];
}

Result<Outlet> Relaying::plain(Outlet wire) {
  if (!wire.present()) return wire;
  return in_form(wire, plain_of(old.fact(wire)));
}

Result<Outlet> Relaying::in_form(Outlet wire, const Layout& layout) {
  return convert(forms(wire), old.fact(wire), layout);
}

// A plain wire of the new graph in another layout.
Result<Outlet> Relaying::laid_out(Outlet wire, const Fact& fact, const Layout& layout) {
  const size_t missing = layout.rank() - fact.rank();
  if (missing > 0) {
    const std::vector<int64_t> axes = count_from(0, missing);
    SDX_ASSIGN(wire, one(ops::unsqueeze, {},
                         {wire, made.constant(Tensor::of<int64_t>({int64_t(axes.size())}, axes))}));
  }
  if (layout.blocked) {
    const bool one_channel =
        *layout.blocked < missing || fact.dim(*layout.blocked - missing).is_const(1);
    if (!one_channel) return one(ops::to_blocked, {}, {wire});
    const Outlet behind = made.constant(Tensor::of<int64_t>({1}, {int64_t(layout.rank())}));
    return one(ops::unsqueeze, {}, {wire, behind});
  }
  if (layout.plain()) return wire;
  return one(ops::transpose,
             {{"perm", std::vector<int64_t>(layout.order.begin(), layout.order.end())}}, {wire});
}

Result<Outlet> Relaying::convert(Forms& forms, const Fact& fact, const Layout& layout) {
  for (const Form& form : forms) {
    if (form.layout == layout) return form.at;
  }
  Outlet wire;
  if (layout.one) {
    Layout without = layout;
    without.one.reset();
    SDX_ASSIGN(wire, convert(forms, fact, without));
    const Outlet axis = made.constant(Tensor::of<int64_t>({1}, {int64_t(*layout.one)}));
    SDX_ASSIGN(wire, one(ops::unsqueeze, {}, {wire, axis}));
  } else if (layout.blocked) {
    SDX_ASSIGN(wire, convert(forms, fact, plain_of(fact)));
    SDX_ASSIGN(wire, laid_out(wire, fact, layout));
  } else if (const auto source = std::find_if(forms.begin(), forms.end(),
                                              [](const Form& f) { return !f.layout.blocked; });
             source != forms.end()) {
    if (source->only != nullptr && layout.plain()) {
      SDX_ASSIGN(const std::vector<Outlet> wires,
                 made.add(source->only->use, {source->at}, source->origin));
      forms.push_back({layout, wires[0]});
      return wires[0];
    }
    std::vector<int64_t> perm;
    for (const size_t axis : layout.order) perm.push_back(int64_t(source->layout.at(axis)));
    Node turned;
    turned.origin = source->origin;
    if (!turned.origin.empty()) turned.use.name = turned.origin.back();
    const Node* stands_for[] = {&turned};
    SDX_ASSIGN(const std::vector<Outlet> wires,
               add(ops::transpose, {{"perm", perm}}, {source->at}, 1, stands_for));
    wire = wires[0];
  } else {
    SDX_ASSIGN(wire, one(ops::from_blocked, {{"channels", fact.dim(1).value()}}, {forms[0].at}));
    forms.push_back({plain_of(fact), wire});
    return convert(forms, fact, layout);
  }
  forms.push_back({layout, wire});
  return wire;
}

Result<Outlet> Relaying::operand(const Node& node, const Operand& operand) {
  if (operand.constant) return made.constant(*operand.constant);
  if (operand.input == Operand::kConstant) return Outlet();
  const Outlet wire = node.inputs[operand.input];
  if (!wire.present() || !operand.layout) return plain(wire);
  const Fact& fact = old.fact(wire);
  const auto has = [&](const Layout& layout) {
    return std::any_of(forms(wire).begin(), forms(wire).end(),
                       [&](const Form& form) { return form.layout == layout; });
  };
  if (operand.plain_too && has(plain_of(fact)) && !has(*operand.layout)) return plain(wire);
  if (fact.rank() == operand.layout->rank()) return in_form(wire, *operand.layout);
  SDX_ASSIGN(const Outlet now, plain(wire));
  return laid_out(now, fact, *operand.layout);
}

// A node in the layout of its answer.
Status Relaying::as_chosen(uint32_t id, const Relaid& answer) {
  const Node& node = old.node(id);
  if (answer.use.op == nullptr) {
    const Operand& from = *std::find_if(answer.inputs.begin(), answer.inputs.end(),
                                        [](const Operand& o) { return o.layout.has_value(); });
    SDX_ASSIGN(const Outlet wire, operand(node, from));
    forms_[id][0] = {{answer.out, wire}};
    return ok();
  }
  std::vector<Outlet> inputs;
  for (const Operand& o : answer.inputs) {
    SDX_ASSIGN(const Outlet wire, operand(node, o));
    inputs.push_back(wire);
    // A rank that was learnt from readers may be forgotten by now.
    if (o.layout && wire.present() && !made.fact(wire).has_rank()) return as_it_stands(id);
  }
  sdx::Node use = answer.use;
  use.formal_inputs = 0;
  SDX_ASSIGN(std::vector<Outlet> wires, made.add(std::move(use), std::move(inputs), node.origin));
  Layout out = answer.out;
  for (size_t slot = 0; slot < wires.size(); ++slot) {
    if (!node.outputs[slot].present()) continue;
    if (answer.out.one) {
      const Outlet axis = made.constant(Tensor::of<int64_t>({1}, {int64_t(*answer.out.one)}));
      SDX_ASSIGN(wires[slot], one(ops::squeeze, {}, {wires[slot], axis}));
      out.one.reset();
    }
    forms_[id][slot] = {{out, wires[slot]}};
  }
  return ok();
}

// Whether a size is called after the node that makes it: the name means another one elsewhere.
bool named_by_nodes(const Shape& shape) {
  std::vector<std::string> names;
  for (const Dim& dim : shape) {
    if (!dim.is_const()) dim.symbols(names);
  }
  return std::any_of(names.begin(), names.end(),
                     [](const std::string& name) { return name.starts_with('?'); });
}

// A view on a stored tensor. One that undoes those before it is what they were made of; one that
// names every size needs none of them, and may be there already.
Result<Forms> Relaying::reshaped(const Node& view, const Relaid& answer, const Form& x) {
  const std::optional<Shape> shape = answer.out.stored(*view.outputs[0].shape);
  const auto is_it = [&](Outlet wire) {
    const Fact& fact = made.fact(wire);
    return shape && fact.has_rank() && *fact.shape == *shape && !named_by_nodes(*shape);
  };
  const auto reshapes = [&](const Node& node) {
    return node.is(*answer.use.op) && is_view(made, node);
  };
  Outlet base = x.at;
  while (!is_it(base) && reshapes(made.node(base.node))) base = made.node(base.node).inputs[0];
  if (is_it(base)) return Forms{{answer.out, base}};
  bool names_all = true;
  std::vector<Outlet> inputs = {x.at};
  for (size_t i = 1; i < answer.inputs.size(); ++i) {
    const Operand& o = answer.inputs[i];
    SDX_ASSIGN(const Outlet wire, operand(view, o));
    inputs.push_back(wire);
    if (!o.constant) continue;
    for (const int64_t size : o.constant->values<int64_t>()) names_all &= size != 0;
  }
  if (names_all) {
    inputs[0] = base;
    for (uint32_t id = base.node + 1; id < made.size(); ++id) {
      const Node& other = made.node(id);
      if (reshapes(other) && other.inputs[0] == base && is_it({id, 0}))
        return Forms{{answer.out, {id, 0}}};
    }
  }
  SDX_ASSIGN(const std::vector<Outlet> wires, made.add(answer.use, std::move(inputs), view.origin));
  return Forms{{answer.out, wires[0]}};
}

// The forms of a view, from those of its input.
Result<Forms> Relaying::viewed(const Node& view, const Forms& x) {
  Forms made_forms;
  for (const Form& form : x) {
    if (form.layout.blocked) continue;
    const auto answer = ask(old, view, 0, form.layout);
    if (!answer || answer->use.op != nullptr) continue;
    const bool only = form.layout.plain() && view.inputs.size() == 1;
    made_forms.push_back({answer->out, form.at, form.origin, only ? &view : nullptr});
    std::vector<std::string>& origin = made_forms.back().origin;
    origin.insert(origin.end(), view.origin.begin(), view.origin.end());
  }
  if (!made_forms.empty()) return made_forms;
  if (!x.front().layout.blocked && !x.front().layout.plain()) {
    if (const auto answer = ask(old, view, 0, x.front().layout))
      return reshaped(view, *answer, x.front());
  }
  Forms copy = x;
  SDX_ASSIGN(const Outlet wire,
             convert(copy, old.fact(view.inputs[0]), plain_of(old.fact(view.inputs[0]))));
  std::vector<Outlet> inputs = {wire};
  for (size_t i = 1; i < view.inputs.size(); ++i) {
    SDX_ASSIGN(const Outlet more, plain(view.inputs[i]));
    inputs.push_back(more);
  }
  SDX_ASSIGN(const std::vector<Outlet> wires, made.add(view.use, std::move(inputs), view.origin));
  return Forms{{plain_of(view.outputs[0]), wires[0]}};
}

Result<bool> Relaying::as_view(uint32_t id) {
  const Node& node = old.node(id);
  if (node.op().layout == nullptr || node.inputs.empty() || !node.inputs[0].present()) return false;
  const auto standing = ask(old, node, 0, plain_of(old.fact(node.inputs[0])));
  const bool only_names = standing && standing->use.op == nullptr;
  const auto turned = [&] {
    const Forms& x = forms(node.inputs[0]);
    return is_view(old, node) && uses(node.inputs[0]) == 1 &&
           std::none_of(x.begin(), x.end(),
                        [](const Form& f) { return f.layout.plain() || f.layout.blocked; }) &&
           ask(old, node, 0, x.front().layout);
  };
  if (!only_names && !turned()) return false;
  if (only_names && forms(node.inputs[0]).front().layout.blocked) SDX_TRY(plain(node.inputs[0]));
  SDX_ASSIGN(forms_[id][0], viewed(node, forms(node.inputs[0])));
  return true;
}

// A product that can run programs on its blocks, or an operation that goes into a program.
bool takes_more(const Node& node) {
  return node.kind == Node::Kind::op && runs_in_float(node.outputs[0].type) &&
         (node.op().pointwise != nullptr ||
          std::any_of(node.op().kernels.begin(), node.op().kernels.end(),
                      [](const Op::AnyKernel& k) { return k.epilogue != nullptr; }));
}

// Whether all inputs but `i` are constant scalars of no higher rank than `y`.
bool others_are_scalars(const Graph& graph, const Node& node, size_t i, const Fact& y) {
  for (size_t k = 0; k < node.inputs.size(); ++k) {
    if (k == i || !node.inputs[k].present()) continue;
    const Fact& scalar = graph.fact(node.inputs[k]);
    if (!scalar.value || scalar.value->count() != 1 || scalar.rank() > y.rank()) return false;
  }
  return true;
}

Result<bool> Relaying::before_views(uint32_t id) {
  const Node& node = old.node(id);
  if (node.op().pointwise == nullptr || !runs_in_float(node.outputs[0].type)) return false;
  for (size_t i = 0; i < std::min<size_t>(2, node.inputs.size()); ++i) {
    std::vector<const Node*> views;
    Outlet from = node.inputs[i];
    while (from.present() && uses(from) == 1 && is_view(old, old.node(from.node))) {
      views.push_back(&old.node(from.node));
      from = views.back()->inputs[0];
    }
    if (views.empty() || uses(from) != 1 || !takes_more(old.node(from.node))) continue;
    const Fact &x = old.fact(node.inputs[i]), &y = old.fact(from);
    if (!x.has_rank() || !y.has_rank() || !node.outputs[0].has_rank() ||
        *x.shape != *node.outputs[0].shape || !others_are_scalars(old, node, i, y)) {
      continue;
    }
    const Form base = forms(from).front();
    std::vector<Outlet> inputs;
    for (size_t k = 0; k < node.inputs.size(); ++k) {
      SDX_ASSIGN(const Outlet wire, k == i ? Result<Outlet>(base.at) : plain(node.inputs[k]));
      inputs.push_back(wire);
    }
    SDX_ASSIGN(const std::vector<Outlet> wires, made.add(node.use, std::move(inputs), node.origin));
    Forms moved = {{base.layout, wires[0]}};
    for (; !views.empty(); views.pop_back()) {
      SDX_ASSIGN(moved, viewed(*views.back(), moved));
    }
    forms_[id][0] = std::move(moved);
    return true;
  }
  return false;
}

Status Relaying::as_it_stands(uint32_t id) {
  const Node& node = old.node(id);
  std::vector<Outlet> inputs;
  for (const Outlet input : node.inputs) {
    SDX_ASSIGN(const Outlet wire, plain(input));
    inputs.push_back(wire);
  }
  SDX_ASSIGN(const std::vector<Outlet> wires, copy(id, std::move(inputs)));
  for (size_t slot = 0; slot < wires.size(); ++slot)
    forms_[id][slot] = {{plain_of(node.outputs[slot]), wires[slot]}};
  return ok();
}

Status Relaying::node(uint32_t id) {
  const Node& node = old.node(id);
  Place here = at(id);
  forms_[id].resize(node.outputs.size());
  if (node.kind != Node::Kind::op) return as_it_stands(id);
  if (choice_[id]) {
    here.by("lay_out");
    return as_chosen(id, *choice_[id]);
  }
  SDX_ASSIGN(bool done, as_view(id));
  if (!done) {
    SDX_ASSIGN(done, before_views(id));
  }
  if (done) here.by("lay_out");
  return done ? ok() : as_it_stands(id);
}

Result<Graph> Relaying::make() {
  for (uint32_t id = 0; id < old.size(); ++id) SDX_TRY(node(id));
  for (const typed::Output& output : old.outputs()) {
    const auto here = at(output.outlet.node);
    SDX_ASSIGN(const Outlet wire, plain(output.outlet));
    made.output(output.name, wire);
  }
  return finish();
}

}  // namespace

Result<Graph> relay(const Graph& graph, Choice choice) {
  Relaying relaying(graph, std::move(choice));
  SDX_ASSIGN(Graph made, relaying.make());
#ifndef NDEBUG
  SDX_TRY(made.verify());
#endif
  return made;
}

Result<Graph> lay_out(const Graph& graph, Aim aim) {
  Choice choice = choose(graph, aim);
  // Where nothing would change, nothing is copied.
  const auto moves = [&](const Node& node) {
    if (node.kind != Node::Kind::op || node.op().layout == nullptr) return false;
    if (is_view(graph, node)) return true;
    if (node.inputs.empty() || !node.inputs[0].present()) return false;
    const auto standing = ask(graph, node, 0, plain_of(graph.fact(node.inputs[0])));
    return standing && standing->use.op == nullptr;
  };
  if (std::none_of(choice.begin(), choice.end(), [](const auto& c) { return c.has_value(); }) &&
      std::none_of(graph.nodes().begin(), graph.nodes().end(), moves)) {
    return graph;
  }
  return relay(graph, std::move(choice));
}

}  // namespace sdx::rewrite
