#include "typed/journal.h"

#include <algorithm>

#include "typed/graph.h"

namespace sdx::typed {
namespace {

using Ids = std::vector<uint32_t>;

void unite(Ids& into, const Ids& more) {
  into.insert(into.end(), more.begin(), more.end());
  std::sort(into.begin(), into.end());
  into.erase(std::unique(into.begin(), into.end()), into.end());
}

// One old graph while its chapter is written, by old node.
struct Side {
  explicit Side(const Graph& old_graph)
      : graph(old_graph), images(old_graph.size()), rules(old_graph.size()) {
    readers.resize(graph.size());
    for (uint32_t id = 0; id < graph.size(); ++id) {
      const Node& node = graph.node(id);
      for (const Outlet input : node.inputs) {
        if (input.present()) readers[input.node].push_back(id);
      }
      for (const uint32_t input : node.folded_from) readers[input].push_back(id);
    }
  }
  const Graph& graph;
  std::vector<Ids> readers;
  std::vector<Ids> images;              // new nodes that were made for it and are there
  std::vector<std::string_view> rules;  // that applied at it
};

bool all_constants(const Graph& made, const Ids& nodes) {
  return std::all_of(nodes.begin(), nodes.end(),
                     [&](uint32_t id) { return made.node(id).kind == Node::Kind::constant; });
}

// Nodes that left nothing behind went with their readers: into what stands for those now.
void absorb(const Side& side, uint32_t chapter, Chapter& into) {
  const auto size = uint32_t(side.graph.size());
  std::vector<Ids> takers(size);    // of a node that left nothing: the nodes it went into
  std::vector<Ids> absorbed(size);  // the other way round
  for (uint32_t id = size; id-- > 0;) {
    if (!side.images[id].empty()) continue;
    for (const uint32_t reader : side.readers[id]) {
      unite(takers[id], side.images[reader].empty() ? takers[reader] : Ids{reader});
    }
    for (const uint32_t taker : takers[id]) absorbed[taker].push_back(id);
  }
  for (uint32_t id = 0; id < size; ++id) {
    const Chapter::Old old{chapter, id};
    const std::string_view rule = side.rules[id];
    Ids heirs = side.images[id];
    for (const uint32_t taker : takers[id]) unite(heirs, side.images[taker]);
    for (const uint32_t made : heirs) into.links.push_back({made, old});
    if (heirs.empty() && side.graph.node(id).kind != Node::Kind::source)
      into.removed.push_back({old, std::string(rule.empty() ? kDead : rule)});
    if (side.images[id].empty() || rule.empty()) continue;
    Chapter::Entry& entry = into.entries.emplace_back();
    entry.rule = rule;
    for (auto gone = absorbed[id].rbegin(); gone != absorbed[id].rend(); ++gone)
      entry.gone.push_back({chapter, *gone});
    entry.gone.push_back(old);
    entry.came = side.images[id];
  }
}

}  // namespace

std::string shown(const Node& node) {
  const std::string_view what = node.kind == Node::Kind::source     ? "input"
                                : node.kind == Node::Kind::constant ? "constant"
                                                                    : node.op().name;
  return node.use.name.empty() ? std::string(what) : fmt::format("{} \"{}\"", what, node.use.name);
}

std::shared_ptr<const Chapter> write_chapter(std::string_view pass,
                                             std::span<const Graph* const> olds,
                                             std::span<const Section> sections,
                                             std::span<const uint32_t> moved, const Graph& made) {
  auto chapter = std::make_shared<Chapter>();
  chapter->pass = pass;
  for (const Node& node : made.nodes()) chapter->nodes.push_back(shown(node));
  std::vector<Side> sides;
  for (const Graph* old : olds) {
    chapter->before.push_back(old->journal);
    sides.emplace_back(*old);
  }
  for (const Section& section : sections) {
    Ids images;
    for (uint32_t id = section.first; id < section.last; ++id) {
      if (moved[id] != UINT32_MAX) images.push_back(moved[id]);
    }
    Side& side = sides[section.old.chapter];
    std::string_view rule = section.rule;
    if (rule.empty() && side.graph.node(section.old.node).kind == Node::Kind::op &&
        !images.empty() && all_constants(made, images)) {
      rule = kFolded;
    }
    if (!rule.empty()) side.rules[section.old.node] = rule;
    unite(side.images[section.old.node], images);
    for (int outer = section.outer; outer >= 0; outer = sections[size_t(outer)].outer) {
      const Chapter::Old around = sections[size_t(outer)].old;
      unite(sides[around.chapter].images[around.node], images);
    }
  }
  for (uint32_t i = 0; i < sides.size(); ++i) absorb(sides[i], i, *chapter);
  return chapter;
}

}  // namespace sdx::typed
