#include "api/journal.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "check/scope.h"
#include "model/functions.h"

namespace sdx {
namespace {

using typed::Chapter;
using typed::Origin;

// A node or an initializer of the model.
struct Place {
  Origin what;
  std::string text;
  bool initializer = false;
  std::vector<Origin> within;  // the nodes that hold its subgraph or call its function
  bool in_function = false;
};

// Every node and initializer, in the order of the file.
class Places {
 public:
  explicit Places(const model::Model& model) : functions_(model) {
    if (model.graph) add(*model.graph, "", {}, false);
    for (const model::Function& function : model.functions) {
      nodes(function.node, fmt::format("function {}, ", function.name), calls_[&function], true);
    }
  }
  const std::vector<Place>& all() const { return all_; }
  const Place* find(Origin what) const {
    const auto at = index_.find(what);
    return at == index_.end() ? nullptr : &all_[at->second];
  }

 private:
  void add(const model::Graph& graph, const std::string& path, const std::vector<Origin>& within,
           bool in_function) {
    const auto initializer = [&](Origin what, const std::string& name) {
      note({what, fmt::format("{}initializer \"{}\"", path, name), true, within, in_function});
    };
    for (const model::TensorData& init : graph.initializer) initializer(&init, init.name);
    for (const model::SparseTensorData& init : graph.sparse_initializer)
      initializer(&init, init.values ? init.values->name : "");
    nodes(graph.node, path, within, in_function);
  }
  void nodes(const std::vector<model::Node>& list, const std::string& path,
             const std::vector<Origin>& within, bool in_function) {
    for (size_t i = 0; i < list.size(); ++i) {
      const std::string text = path + check::node_text(list, i);
      note({&list[i], text, false, within, in_function});
      if (const model::Function* function = functions_.find(list[i]))
        calls_[function].push_back(&list[i]);
      for (const model::Attribute& attribute : list[i].attribute) {
        const std::string inner = fmt::format("{}, {}, ", text, attribute.name);
        if (attribute.g) add(*attribute.g, inner, {&list[i]}, in_function);
        for (const model::Graph& graph : attribute.graphs)
          add(graph, inner, {&list[i]}, in_function);
      }
    }
  }
  void note(Place place) {
    index_.emplace(place.what, all_.size());
    all_.push_back(std::move(place));
  }

  model::Functions functions_;
  std::vector<Place> all_;
  std::unordered_map<Origin, size_t> index_;
  std::map<const model::Function*, std::vector<Origin>> calls_;
};

// What chapters say, read from the first to the last.
class Reader {
 public:
  using Happened = std::pair<const Chapter*, const Chapter::Entry*>;
  // Of one node of a chapter's graph.
  struct Past {
    std::set<Origin> origins;
    std::vector<Happened> by;
  };

  const std::vector<Past>& read(const Chapter& chapter) {
    const auto known = pasts_.find(&chapter);
    if (known != pasts_.end()) return known->second;
    std::vector<const std::vector<Past>*> before;
    for (const auto& earlier : chapter.before)
      before.push_back(earlier ? &read(*earlier) : nullptr);
    const auto past = [&](Chapter::Old old) {
      return old.chapter < before.size() && before[old.chapter] != nullptr
                 ? &(*before[old.chapter])[old.node]
                 : nullptr;
    };
    std::vector<Past> pasts(chapter.nodes.size());
    for (const Chapter::Link& link : chapter.links) {
      Past& now = pasts[link.made];
      if (chapter.before.empty()) now.origins.insert(chapter.origins[link.old.node]);
      if (const Past* old = past(link.old)) {
        now.origins.insert(old->origins.begin(), old->origins.end());
        for (const Happened& happened : old->by) {
          if (std::find(now.by.begin(), now.by.end(), happened) == now.by.end())
            now.by.push_back(happened);
        }
      }
    }
    for (const Chapter::Entry& entry : chapter.entries) {
      for (const uint32_t came : entry.came) pasts[came].by.emplace_back(&chapter, &entry);
      if (entry.rule != "inline_branch") continue;
      if (const Past* old = past(entry.gone.back()))
        inlined_.insert(old->origins.begin(), old->origins.end());
    }
    for (const Chapter::Removed& removed : chapter.removed) {
      if (const Past* old = past(removed.old)) {
        for (const Origin origin : old->origins) reasons_.emplace(origin, removed.reason);
      }
    }
    return pasts_.emplace(&chapter, std::move(pasts)).first->second;
  }

  bool inlined(Origin origin) const { return inlined_.contains(origin); }
  const std::string* removed(Origin origin) const {
    const auto at = reasons_.find(origin);
    return at == reasons_.end() ? nullptr : &at->second;
  }

 private:
  std::unordered_map<const Chapter*, std::vector<Past>> pasts_;
  std::unordered_map<Origin, std::string> reasons_;  // the first that was given
  std::set<Origin> inlined_;
};

Replacement replacement(const Reader::Happened& happened) {
  const auto& [chapter, entry] = happened;
  Replacement made{chapter->pass, entry->rule, {}, {}};
  for (const Chapter::Old old : entry->gone)
    made.gone.push_back(chapter->before[old.chapter]->nodes[old.node]);
  for (const uint32_t came : entry->came) made.came.push_back(chapter->nodes[came]);
  // Numbers that a rule writes for itself say nothing beside the operation that reads them.
  for (auto* list : {&made.gone, &made.came}) {
    const auto nameless = std::count(list->begin(), list->end(), "constant");
    if (size_t(nameless) < list->size()) std::erase(*list, "constant");
  }
  return made;
}

class Tracer {
 public:
  Tracer(const model::Model& model, const plan::Plan& plan)
      : places_(model), plan_(plan), pasts_(reader_.read(*plan.graph.journal)) {}

  Journal all() {
    step_of_.assign(plan_.graph.size(), SIZE_MAX);
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      step_of_[plan_.steps[s].node] = step_of_[plan_.result_of(plan_.steps[s])] = s;
      journal_.steps.push_back(traced(plan_.steps[s]));
    }
    for (uint32_t id = 0; id < plan_.graph.size(); ++id) {
      for (const Origin origin : pasts_[id].origins) made_[origin].push_back(id);
    }
    for (const Place& place : places_.all()) {
      if (!place.initializer) journal_.nodes.push_back(fate(place, 0));
    }
    for (const Chapter* at = plan_.graph.journal.get(); !at->before.empty();
         at = at->before[0].get()) {
      journal_.passes.insert(journal_.passes.begin(), at->pass);
    }
    return std::move(journal_);
  }

 private:
  TracedStep traced(const plan::Step& step) {
    const typed::Node& node = plan_.graph.node(step.node);
    TracedStep made{std::string(node.op().name),
                    node.use.name,
                    std::string(step.late     ? "when its inputs are known"
                                : step.kernel ? step.kernel->name
                                              : std::string_view("reference")),
                    {},
                    {},
                    {}};
    std::vector<uint32_t> parts{step.node};
    if (step.epilogue) parts.push_back(step.epilogue->node);
    std::set<Origin> origins;
    for (const uint32_t part : parts) {
      origins.insert(pasts_[part].origins.begin(), pasts_[part].origins.end());
      for (const Reader::Happened& happened : pasts_[part].by)
        made.by.push_back(replacement(happened));
    }
    if (step.epilogue) {
      const std::string product = typed::shown(node);
      made.by.push_back({"plan",
                         "epilogue",
                         {product, typed::shown(plan_.graph.node(step.epilogue->node))},
                         {product}});
    }
    for (const Place& place : places_.all()) {
      if (origins.contains(place.what))
        (place.initializer ? made.initializers : made.nodes).push_back(place.text);
    }
    return made;
  }

  Fate fate(const Place& place, size_t depth) const {
    Fate found{place.text, Fate::Kind::removed, {}, {}};
    std::set<size_t> steps, readers;
    bool view = false, constant = false;
    if (const auto made = made_.find(place.what); made != made_.end()) {
      for (const uint32_t id : made->second) {
        const typed::Node& node = plan_.graph.node(id);
        if (step_of_[id] != SIZE_MAX) steps.insert(step_of_[id]);
        view |= node.kind == typed::Node::Kind::op;
        constant |= node.kind == typed::Node::Kind::constant;
        if (node.kind == typed::Node::Kind::constant) add_readers(id, readers);
      }
    }
    if (!steps.empty()) {
      found.kind = Fate::Kind::step;
      found.steps.assign(steps.begin(), steps.end());
    } else if (view) {
      found.kind = Fate::Kind::view;
    } else if (constant) {
      found.kind = Fate::Kind::constant;
      found.steps.assign(readers.begin(), readers.end());
    } else if (const std::string* reason = reader_.removed(place.what)) {
      found.reason = *reason;
    } else {
      within(place, found, depth);
    }
    return found;
  }

  // A node that the plan's own graph never had: its fate is that of the node around it.
  void within(const Place& place, Fate& found, size_t depth) const {
    constexpr size_t kDeepest = 100;
    found.reason = place.within.empty()
                       ? place.in_function ? "its function is never called" : typed::kDead
                       : "its branch is never taken";
    std::set<size_t> steps;
    for (const Origin outer : place.within) {
      const Place* around = places_.find(outer);
      if (around == nullptr || depth > kDeepest || reader_.inlined(outer)) continue;
      const Fate held = fate(*around, depth + 1);
      if (held.kind == Fate::Kind::step || held.kind == Fate::Kind::inside) {
        found.kind = Fate::Kind::inside;
        found.reason.clear();
        steps.insert(held.steps.begin(), held.steps.end());
      } else if (found.kind == Fate::Kind::removed) {
        found.kind = held.kind;
        found.reason = held.reason;
        steps.insert(held.steps.begin(), held.steps.end());
      }
    }
    found.steps.assign(steps.begin(), steps.end());
  }

  void add_readers(uint32_t constant, std::set<size_t>& readers) const {
    for (uint32_t id = 0; id < plan_.graph.size(); ++id) {
      for (const typed::Outlet input : plan_.graph.node(id).inputs) {
        if (input.node == constant && step_of_[id] != SIZE_MAX) readers.insert(step_of_[id]);
      }
    }
  }

  Places places_;
  const plan::Plan& plan_;
  Reader reader_;
  const std::vector<Reader::Past>& pasts_;
  std::vector<size_t> step_of_;
  std::unordered_map<Origin, std::vector<uint32_t>> made_;
  Journal journal_;
};

std::string steps_text(const std::vector<size_t>& steps) {
  return fmt::format("step{} {}", steps.size() == 1 ? "" : "s", fmt::join(steps, ", "));
}

}  // namespace

std::string_view name_of(Fate::Kind kind) {
  constexpr std::string_view kNames[] = {"step", "view", "constant", "inside", "removed"};
  return kNames[size_t(kind)];
}

std::string Fate::text() const {
  switch (kind) {
    case Kind::step:
      return steps_text(steps);
    case Kind::view:
      return "a view of its input, no step";
    case Kind::constant:
      return steps.empty() ? "folded to a constant"
                           : "folded to a constant, read by " + steps_text(steps);
    case Kind::inside:
      return "inside " + steps_text(steps);
    case Kind::removed:
      return "removed: " + reason;
  }
  return "";
}

std::string Journal::text() const {
  std::string out;
  for (size_t s = 0; s < steps.size(); ++s) {
    const TracedStep& step = steps[s];
    out += fmt::format("step {}: {} \"{}\" [{}]\n", s, step.operation, step.name, step.kernel);
    for (const std::string& node : step.nodes) out += fmt::format("  from {}\n", node);
    for (const std::string& init : step.initializers) out += fmt::format("  from {}\n", init);
    for (const Replacement& by : step.by) {
      out += fmt::format("  by {}: {} -> {}\n", by.rule, fmt::join(by.gone, ", "),
                         fmt::join(by.came, ", "));
    }
  }
  for (const Fate& node : nodes) out += fmt::format("{}: {}\n", node.node, node.text());
  out += fmt::format("passes that changed the graph: {}\n",
                     passes.empty() ? "none" : fmt::format("{}", fmt::join(passes, ", ")));
  return out;
}

Result<Journal> journal_of(const model::Model& model, const plan::Plan& plan) {
  if (plan.graph.journal == nullptr)
    return fail("SDX-J0001", "the plan was made without a journal");
  return Tracer(model, plan).all();
}

}  // namespace sdx
