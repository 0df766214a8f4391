#include "plan/offsets.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <utility>

#include "base/fitting.h"

namespace sdx::plan {
namespace {

// Blocks by the steps at which they live, to find those that meet a stretch of steps without
// looking at all.
class ByStep {
 public:
  ByStep(const std::vector<Block>& blocks, size_t steps)
      : blocks_(blocks), width_(steps / kBuckets + 1), buckets_(steps / width_ + 1) {
    seen_.assign(blocks.size(), SIZE_MAX);
  }
  // How many entries were written or read so far.
  size_t visits() const { return visits_; }

  void add(size_t i) {
    for (size_t at = blocks_[i].first / width_; at <= blocks_[i].last / width_; ++at) {
      buckets_[at].push_back(i);
      ++visits_;
    }
  }
  // visit(j) once for each block added that lives at a step of block i.
  template <class Visit>
  void each_beside(size_t i, const Visit& visit) {
    const Block& block = blocks_[i];
    for (size_t at = block.first / width_; at <= block.last / width_; ++at) {
      visits_ += buckets_[at].size();
      for (const size_t j : buckets_[at]) {
        if (blocks_[j].first > block.last || block.first > blocks_[j].last) continue;
        if (std::exchange(seen_[j], i) != i) visit(j);
      }
    }
  }

 private:
  static constexpr size_t kBuckets = 4096;
  const std::vector<Block>& blocks_;
  size_t width_, visits_ = 0;
  std::vector<std::vector<size_t>> buckets_;
  std::vector<size_t> seen_;  // by block: for whom it was visited last
};

// What comparing blocks with each other may cost; beyond it they are placed in the order of their
// steps.
constexpr size_t kMostVisits = size_t{1} << 24;

// Gives the blocks offsets one after another, each at the smallest gap that it fits among those
// placed that live at the same time; returns the total, or nothing if that takes too long.
std::optional<size_t> place_in_order(std::vector<Block>& blocks, const std::vector<size_t>& order,
                                     size_t steps) {
  ByStep placed(blocks, steps);
  size_t total = 0;
  std::vector<std::pair<size_t, size_t>> taken;  // [begin, end)
  for (const size_t i : order) {
    Block& block = blocks[i];
    taken.clear();
    placed.each_beside(i, [&](size_t j) {
      taken.emplace_back(blocks[j].offset, blocks[j].offset + blocks[j].bytes);
    });
    std::sort(taken.begin(), taken.end());
    size_t at = 0, best = SIZE_MAX, best_gap = SIZE_MAX;
    for (const auto& [begin, end] : taken) {
      if (begin > at && begin - at >= block.bytes && begin - at < best_gap) {
        best = at;
        best_gap = begin - at;
      }
      at = std::max(at, end);
    }
    block.offset = best != SIZE_MAX ? best : at;
    must_fit((double(block.offset) + double(block.bytes)) / 8);
    total = std::max(total, block.offset + block.bytes);
    placed.add(i);
    if (placed.visits() > kMostVisits) return std::nullopt;
  }
  return total;
}

// Memory that is given and taken back as the steps go by.
class FreeList {
 public:
  size_t take(size_t bytes) {
    const auto fits = by_size_.lower_bound({bytes, 0});
    if (fits != by_size_.end()) {
      const auto [size, offset] = *fits;
      remove(offset, size);
      if (size > bytes) insert(offset + bytes, size - bytes);
      return offset;
    }
    // At the top, from where it is free.
    size_t offset = top_;
    if (!by_offset_.empty()) {
      const auto [last, size] = *by_offset_.rbegin();
      if (last + size == top_) {
        offset = last;
        remove(last, size);
      }
    }
    must_fit((double(offset) + double(bytes)) / 8);
    top_ = offset + bytes;
    return offset;
  }
  void give_back(size_t offset, size_t bytes) {
    const auto after = by_offset_.lower_bound(offset);
    if (after != by_offset_.end() && after->first == offset + bytes) {
      bytes += after->second;
      remove(after->first, after->second);
    }
    const auto next = by_offset_.lower_bound(offset);
    if (next != by_offset_.begin()) {
      const auto [before, size] = *std::prev(next);
      if (before + size == offset) {
        remove(before, size);
        offset = before;
        bytes += size;
      }
    }
    insert(offset, bytes);
  }
  size_t top() const { return top_; }

 private:
  void insert(size_t offset, size_t size) {
    by_offset_.emplace(offset, size);
    by_size_.emplace(size, offset);
  }
  void remove(size_t offset, size_t size) {
    by_offset_.erase(offset);
    by_size_.erase({size, offset});
  }
  std::map<size_t, size_t> by_offset_;
  std::set<std::pair<size_t, size_t>> by_size_;
  size_t top_ = 0;
};

// The same in the order of the steps, for graphs that are too wide to compare all with all.
size_t place_as_steps_go(std::vector<Block>& blocks, std::vector<size_t> order) {
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return blocks[a].first < blocks[b].first; });
  const auto ends_later = [&](size_t a, size_t b) { return blocks[a].last > blocks[b].last; };
  std::priority_queue<size_t, std::vector<size_t>, decltype(ends_later)> live(ends_later);
  FreeList memory;
  for (const size_t i : order) {
    while (!live.empty() && blocks[live.top()].last < blocks[i].first) {
      memory.give_back(blocks[live.top()].offset, blocks[live.top()].bytes);
      live.pop();
    }
    blocks[i].offset = memory.take(blocks[i].bytes);
    live.push(i);
  }
  return memory.top();
}

}  // namespace

size_t most_live_bytes(const std::vector<Block>& blocks) {
  std::map<size_t, std::pair<size_t, size_t>> changes;  // by step: bytes that come and that go
  for (const Block& block : blocks) {
    changes[block.first].first += block.bytes;
    changes[block.last + 1].second += block.bytes;
  }
  size_t live = 0, most = 0;
  for (const auto& [step, change] : changes) {
    live += change.first - change.second;
    most = std::max(most, live);
  }
  return most;
}

// Large blocks first is right most of the time. Where it leaves a hole, a block that came late is
// on top; such blocks are placed first in the next attempt.
size_t assign_offsets(std::vector<Block>& blocks, int attempts) {
  std::vector<size_t> order;
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].bytes != 0) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return blocks[a].bytes > blocks[b].bytes; });
  const size_t least = most_live_bytes(blocks);
  size_t steps = 0;
  for (const Block& block : blocks) steps = std::max(steps, block.last);
  std::vector<Block> best = blocks;
  const std::optional<size_t> first = place_in_order(best, order, steps);
  if (!first) return place_as_steps_go(blocks, order);
  size_t total = *first;
  std::vector<Block> attempt = best;
  size_t height = total;
  constexpr size_t kManyBlocks = 20000;  // for more, one attempt is all that time allows
  for (int i = 0; i < attempts && total > least && order.size() <= kManyBlocks; ++i) {
    const auto on_top = [&](size_t b) { return attempt[b].offset + attempt[b].bytes == height; };
    std::stable_partition(order.begin(), order.end(), on_top);
    const std::optional<size_t> next = place_in_order(attempt, order, steps);
    if (!next) break;
    height = *next;
    if (height < total) {
      total = height;
      best = attempt;
    }
  }
  blocks = std::move(best);
  return total;
}

}  // namespace sdx::plan
