// As much flow as fits from one side to the other, by Dinic's method; what can still be reached is
// the first side.
#include "rewrite/layout/min_cut.h"

#include <algorithm>

namespace sdx::rewrite {

uint32_t MinCut::vertex() {
  first_.push_back(kNone);
  return uint32_t(first_.size() - 1);
}

void MinCut::edge(uint32_t from, uint32_t to, int64_t weight) {
  if (from == to || weight <= 0) return;
  edges_.push_back({to, first_[from], weight});
  first_[from] = uint32_t(edges_.size() - 1);
  edges_.push_back({from, first_[to], 0});
  first_[to] = uint32_t(edges_.size() - 1);
}

// The distance of every vertex from the first along edges with room left.
bool MinCut::layers() {
  depth_.assign(first_.size(), kNone);
  std::vector<uint32_t> queue = {kFirst};
  depth_[kFirst] = 0;
  for (size_t i = 0; i < queue.size(); ++i) {
    for (uint32_t e = first_[queue[i]]; e != kNone; e = edges_[e].next) {
      if (edges_[e].room == 0 || depth_[edges_[e].to] != kNone) continue;
      depth_[edges_[e].to] = depth_[queue[i]] + 1;
      queue.push_back(edges_[e].to);
    }
  }
  return depth_[kSecond] != kNone;
}

// Pushes flow along one path; on a stack of its own, for paths are as long as graphs are deep.
int64_t MinCut::push() {
  std::vector<uint32_t> path;  // edges
  uint32_t at = kFirst;
  while (at != kSecond) {
    uint32_t& e = now_[at];
    while (e != kNone && (edges_[e].room == 0 || depth_[edges_[e].to] != depth_[at] + 1))
      e = edges_[e].next;
    if (e != kNone) {
      path.push_back(e);
      at = edges_[e].to;
      continue;
    }
    if (path.empty()) return 0;
    at = edges_[path.back() ^ 1].to;
    now_[at] = edges_[path.back()].next;
    path.pop_back();
  }
  int64_t flow = kNever;
  for (const uint32_t e : path) flow = std::min(flow, edges_[e].room);
  for (const uint32_t e : path) {
    edges_[e].room -= flow;
    edges_[e ^ 1].room += flow;
  }
  return flow;
}

std::vector<bool> MinCut::first_side() {
  while (layers()) {
    now_ = first_;
    while (push() > 0) {
    }
  }
  std::vector<bool> side(first_.size());
  for (size_t i = 0; i < side.size(); ++i) side[i] = depth_[i] != kNone;
  return side;
}

}  // namespace sdx::rewrite
