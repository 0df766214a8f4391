// Journal: where the nodes of a typed graph come from, back to the model.
//
// Whenever a graph is made anew from another one, a chapter says which new node stands for which
// old ones, which rule replaced them, and what went away. Chapters are written by Remake
// (typed/remake.h), by Graph::without_dead and by the walk that makes the first typed graph; a rule
// has no part in it, so it cannot forget to. A graph that nobody asked a journal of has none.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sdx::typed {

class Graph;

// A node or an initializer of the model: its address there.
using Origin = const void*;

inline constexpr std::string_view kFolded = "fold_constants";
inline constexpr std::string_view kDead = "no output needs it";

struct Chapter {
  // A node of the graph that an earlier chapter, before[chapter], tells of.
  struct Old {
    uint32_t chapter = 0, node = 0;
    auto operator<=>(const Old&) const = default;
  };
  struct Link {
    uint32_t made;
    Old old;
  };
  // One rule, applied once: what went away and what came.
  struct Entry {
    std::string rule;
    std::vector<Old> gone;
    std::vector<uint32_t> came;
  };
  struct Removed {
    Old old;
    std::string reason;
  };

  std::string pass;
  // Usually one; the graphs of inlined branches come with their own. None: the first chapter of a
  // graph, where Old::node counts in `origins`.
  std::vector<std::shared_ptr<const Chapter>> before;
  std::vector<Origin> origins;
  std::vector<std::string> nodes;  // of the graph made here, for people: Conv "conv1"
  std::vector<Link> links;
  std::vector<Entry> entries;
  std::vector<Removed> removed;
};

// The nodes [first, last) were made for one old node, by a rule or as its copy.
struct Section {
  Chapter::Old old;
  uint32_t first = 0, last = 0;
  std::string_view rule;
  int outer = -1;  // the section within which this one was made
};

// The chapter of a graph that was made section by section from `olds` and then lost its dead nodes:
// `moved` says where each node is in `made`, UINT32_MAX if it went. An old node that left nothing
// behind went into what replaced its readers.
std::shared_ptr<const Chapter> write_chapter(std::string_view pass,
                                             std::span<const Graph* const> olds,
                                             std::span<const Section> sections,
                                             std::span<const uint32_t> moved, const Graph& made);

}  // namespace sdx::typed
