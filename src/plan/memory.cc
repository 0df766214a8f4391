#include "plan/memory.h"

#include <algorithm>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <utility>

#include "base/aligned.h"

namespace sdx::plan {

using typed::Graph;
using typed::Outlet;

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
size_t assign_offsets(std::vector<Block>& blocks) {
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
  constexpr int kAttempts = 16;
  constexpr size_t kManyBlocks = 20000;  // for more, one attempt is all that time allows
  for (int i = 0; i < kAttempts && total > least && order.size() <= kManyBlocks; ++i) {
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

namespace {

constexpr size_t kNever = SIZE_MAX;
// Where a piece of a wider node lies is asked piece by piece, and each answer looks at those before
// it: such nodes copy.
constexpr size_t kWide = 1024;

size_t bytes_of(const Fact& fact) {
  if (!fact.is_concrete()) return 0;
  // Only an input may be declared larger than a tensor can be; nobody will be able to give it.
  const auto count = element_count(fact.dims());
  return count ? bytes_for(fact.type, *count) : 0;
}

// A piece of memory that one or more wires share.
struct Root {
  Place::Kind kind;
  uint32_t index = 0;  // of an input, constant or output
  size_t bytes = 0;
  size_t first = 0;  // step that writes it
  size_t last = 0;   // last step that reads it; kNever: a graph output
  std::vector<Outlet> wires = {};
};

// Room for a few more sizes, so that one layout serves many; less of it where much would be wasted.
size_t with_room(size_t bytes) {
  constexpr size_t kLarge = 1 << 20;
  return bytes + (bytes < kLarge ? bytes / 2 : bytes / 8);
}

class Placer {
 public:
  // `joins`: what a step joins may be computed in its place inside of the result.
  Placer(const Plan& plan, const std::vector<bool>& growing, bool joins)
      : plan_(plan), graph_(plan.graph), growing_(growing), joins_(joins) {
    find_readers();
    wires_.resize(graph_.size());
    for (uint32_t id = 0; id < graph_.size(); ++id)
      wires_[id].resize(graph_.node(id).outputs.size());
    for (size_t i = 0; i < graph_.inputs().size(); ++i)
      fixed(graph_.inputs()[i], Place::Kind::input, uint32_t(i));
    for (uint32_t id = 0; id < graph_.size(); ++id) {
      if (graph_.node(id).kind == typed::Node::Kind::constant)
        fixed({id, 0}, Place::Kind::constant, id);
    }
    for (size_t s = 0; s < plan_.steps.size(); ++s) is_view_.push_back(place_step(s));
    place_outputs();
    assign();
  }

  size_t arena_bytes() const { return arena_bytes_; }
  bool joined_any() const { return joined_any_; }

  Layout layout() const {
    Layout made;
    made.arena_bytes = arena_bytes_;
    made.live_bytes = most_live_bytes(blocks_);
    made.views = is_view_;
    made.wires = wires_;
    made.copied = copied_;
    for (size_t r = 0; r < roots_.size(); ++r) {
      const bool arena = roots_[r].kind == Place::Kind::arena;
      const Block block = arena ? blocks_[block_of_[r]] : Block{};
      made.roots.push_back({roots_[r].kind, roots_[r].index, block.bytes, block.offset});
    }
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      if (is_view_[s]) {
        made.scratch.emplace_back();
      } else {
        made.scratch.push_back({blocks_[scratch_[s]].bytes, blocks_[scratch_[s]].offset});
      }
    }
    return made;
  }

 private:
  using Wire = Layout::Wire;

  bool grows(uint32_t node) const { return node < growing_.size() && growing_[node]; }
  Wire& wire(Outlet outlet) { return wires_[outlet.node][outlet.slot]; }

  // For each wire the last step that reads it.
  void find_readers() {
    last_read_.resize(graph_.size());
    for (uint32_t id = 0; id < graph_.size(); ++id)
      last_read_[id].resize(graph_.node(id).outputs.size(), 0);
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      const Step& step = plan_.steps[s];
      for (const Outlet input : graph_.node(step.node).inputs) {
        if (input.present()) last_read_[input.node][input.slot] = s;
      }
      if (!step.epilogue) continue;
      for (const Outlet input : graph_.node(step.epilogue->node).inputs)
        last_read_[input.node][input.slot] = s;
    }
    for (const typed::Output& output : graph_.outputs()) {
      last_read_[output.outlet.node][output.outlet.slot] = kNever;
    }
  }
  size_t last_read(Outlet outlet) const { return last_read_[outlet.node][outlet.slot]; }

  void own(Outlet outlet, Root root) {
    wire(outlet) = {roots_.size(), 0};
    root.wires = {outlet};
    roots_.push_back(std::move(root));
  }
  void fixed(Outlet outlet, Place::Kind kind, uint32_t index) {
    own(outlet, {kind, index, bytes_of(graph_.fact(outlet)), 0, kNever});
  }
  void share(Outlet outlet, size_t root, size_t offset) {
    wire(outlet) = {root, offset};
    roots_[root].wires.push_back(outlet);
    roots_[root].last = std::max(roots_[root].last, last_read(outlet));
  }

  // Gives the step's outputs their memory. True if the step is a view and need not run.
  bool place_step(size_t s) {
    const Step& step = plan_.steps[s];
    const typed::Node& node = graph_.node(step.node);
    if (step.late) {
      for (uint32_t slot = 0; slot < node.outputs.size(); ++slot)
        own({step.node, slot}, {Place::Kind::late, 0, 0, s, kNever});
      return false;
    }
    if (step.epilogue) {
      // The product is written where the program's result goes, so that memory must not be an
      // operand's.
      const Outlet out{step.epilogue->node, 0};
      own(out, {Place::Kind::arena, 0, bytes_of(graph_.fact(out)), s, std::max(s, last_read(out))});
      return false;
    }
    if (is_view(step, node)) return true;
    for (uint32_t slot = 0; slot < node.outputs.size(); ++slot) {
      const Outlet out{step.node, slot};
      if (!graph_.fact(out).present()) continue;
      if (slot == 0 && node.op().inplace && take_over_input(s, node)) continue;
      own(out, {Place::Kind::arena, 0, bytes_of(graph_.fact(out)), s, std::max(s, last_read(out))});
    }
    // Parts that grow would push the others along.
    if (joins_ && node.op().joins != nullptr && !grows(step.node))
      join_inputs(node, {step.node, 0});
    return false;
  }

  // An input that is a stretch of the result and owns its memory gets it there, with all wires that
  // share it; there is nothing left to copy then.
  void join_inputs(const typed::Node& node, Outlet out) {
    if (node.inputs.size() > kWide) return;
    const size_t into = wire(out).root;
    const Facts in = graph_.facts(node.inputs);
    const Call call{in, node.outputs, plan_.options.isa, plan_.options.threads};
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const Wire from = wire(node.inputs[i]);
      const size_t bytes = bytes_of(in[i]);
      const std::optional<size_t> at = node.op().joins(node.resolved.get(), call, i);
      Root& root = roots_[from.root];
      if (!at || root.kind != Place::Kind::arena || from.root == into || from.offset != 0 ||
          root.bytes != bytes || bytes == 0 || *at % kAlignment != 0) {
        continue;
      }
      for (const Outlet one : root.wires) {
        wire(one).root = into;
        wire(one).offset += *at;
        roots_[into].wires.push_back(one);
      }
      roots_[into].first = std::min(roots_[into].first, root.first);
      roots_[into].last = std::max(roots_[into].last, root.last);
      root = {Place::Kind::none};
      joined_any_ = true;
    }
  }

  bool is_view(const Step& step, const typed::Node& node) {
    const Op& op = node.op();
    if (op.alias == nullptr || node.inputs.empty() || !node.inputs[0].present()) return false;
    if (node.outputs.size() > kWide) return false;
    const Wire from = wire(node.inputs[0]);
    if (roots_[from.root].kind == Place::Kind::late ||
        graph_.fact(node.inputs[0]).type == DType::string)
      return false;
    const Facts in = graph_.facts(node.inputs);
    const Call call{in, node.outputs, plan_.options.isa, plan_.options.threads};
    std::vector<size_t> offsets;
    for (size_t slot = 0; slot < node.outputs.size(); ++slot) {
      if (!node.outputs[slot].present()) {
        offsets.push_back(0);
        continue;
      }
      const std::optional<size_t> offset = op.alias(node.resolved.get(), call, slot);
      if (!offset) return false;
      offsets.push_back(*offset);
    }
    for (uint32_t slot = 0; slot < node.outputs.size(); ++slot) {
      if (node.outputs[slot].present())
        share({step.node, slot}, from.root, from.offset + offsets[slot]);
    }
    return true;
  }

  // Element-wise: output 0 may use the memory of an input of its size that nobody reads later.
  bool take_over_input(size_t s, const typed::Node& node) {
    const Fact& out = node.outputs[0];
    constexpr size_t kMostTried = 64;  // each is compared with all
    for (size_t i = 0; i < std::min(kMostTried, node.inputs.size()); ++i) {
      const Outlet input = node.inputs[i];
      if (!input.present()) continue;
      const Wire from = wire(input);
      const Root& root = roots_[from.root];
      const Fact& fact = graph_.fact(input);
      if (root.kind != Place::Kind::arena || root.last != s || from.offset != 0) continue;
      if (fact.type != out.type || root.bytes != bytes_of(out) || fact.dims() != out.dims())
        continue;
      // The same memory read through another input, at other elements, would be overwritten too
      // early.
      const auto reads_root = [&](Outlet other) {
        return other.present() && wire(other).root == from.root;
      };
      const auto readers = std::count_if(node.inputs.begin(), node.inputs.end(), reads_root);
      const auto same = std::count(node.inputs.begin(), node.inputs.end(), input);
      if (readers != same) continue;
      share({plan_.steps[s].node, 0}, from.root, 0);
      return true;
    }
    return false;
  }

  // A wire that owns its memory is computed straight into the caller's buffer; others are copied at
  // the end.
  void place_outputs() {
    for (size_t i = 0; i < graph_.outputs().size(); ++i) {
      const Outlet outlet = graph_.outputs()[i].outlet;
      const Wire from = wire(outlet);
      Root& root = roots_[from.root];
      const Fact& fact = graph_.fact(outlet);
      if (root.kind == Place::Kind::arena && from.offset == 0 && root.bytes == bytes_of(fact)) {
        root.kind = Place::Kind::output;
        root.index = uint32_t(i);
      } else {
        copied_.push_back(i);
      }
    }
  }

  void assign() {
    const size_t end = plan_.steps.size();
    block_of_.resize(roots_.size(), SIZE_MAX);
    for (size_t r = 0; r < roots_.size(); ++r) {
      if (roots_[r].kind != Place::Kind::arena) continue;
      block_of_[r] = blocks_.size();
      const auto& wires = roots_[r].wires;
      const bool room = std::any_of(wires.begin(), wires.end(),
                                    [&](const Outlet outlet) { return grows(outlet.node); });
      const size_t bytes = room ? with_room(roots_[r].bytes) : roots_[r].bytes;
      blocks_.push_back({aligned_bytes(bytes), roots_[r].first, std::min(roots_[r].last, end)});
    }
    scratch_.resize(plan_.steps.size(), SIZE_MAX);
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      if (is_view_[s]) continue;
      scratch_[s] = blocks_.size();
      const size_t bytes = plan_.steps[s].scratch_bytes;
      const bool room = grows(plan_.steps[s].node);
      blocks_.push_back({aligned_bytes(room ? with_room(bytes) : bytes), s, s});
    }
    arena_bytes_ = assign_offsets(blocks_);
  }

  const Plan& plan_;
  const Graph& graph_;
  const std::vector<bool>& growing_;  // by node
  const bool joins_;
  bool joined_any_ = false;
  std::vector<bool> is_view_;  // by step
  std::vector<Block> blocks_;
  std::vector<size_t> block_of_;  // by root
  std::vector<size_t> scratch_;   // by step: its block
  size_t arena_bytes_ = 0;
  std::vector<Root> roots_;
  std::vector<std::vector<Wire>> wires_;
  std::vector<std::vector<size_t>> last_read_;
  std::vector<size_t> copied_;
};

}  // namespace

// A result that is there from its first part on may need more memory than its parts did.
Layout lay_out(const Plan& plan, const std::vector<bool>& growing) {
  const Placer joined(plan, growing, true);
  if (joined.joined_any()) {
    const Placer apart(plan, growing, false);
    if (joined.arena_bytes() > apart.arena_bytes()) return apart.layout();
  }
  return joined.layout();
}

namespace {

// What the layout took for granted of one step, asked again at other sizes.
class Fitting {
 public:
  Fitting(const Layout& layout, const Plan& plan) : layout_(layout), plan_(plan) {}

  bool step(size_t s) const {
    const Step& step = plan_.steps[s];
    if (layout_.views[s]) return view(step);
    if (step.scratch_bytes > layout_.scratch[s].capacity) return false;
    const uint32_t result = plan_.result_of(step);
    const typed::Node& node = plan_.graph.node(result);
    for (uint32_t slot = 0; slot < node.outputs.size(); ++slot) {
      if (node.outputs[slot].present() && !holds({result, slot})) return false;
    }
    return step.late || step.epilogue != nullptr || (in_place(step) && joined(step));
  }

 private:
  const Layout::Wire& wire(Outlet outlet) const { return layout_.wires[outlet.node][outlet.slot]; }

  bool holds(Outlet outlet) const {
    const Layout::Wire& at = wire(outlet);
    const Layout::Root& root = layout_.roots[at.root];
    const size_t end = at.offset + bytes_of(plan_.graph.fact(outlet));
    if (root.kind == Place::Kind::arena) return end <= root.capacity;
    if (root.kind != Place::Kind::output) return true;
    return end <= bytes_of(plan_.graph.fact(plan_.graph.outputs()[root.index].outlet));
  }

  bool view(const Step& step) const {
    const typed::Node& node = plan_.graph.node(step.node);
    const Facts in = plan_.graph.facts(node.inputs);
    const Call call{in, node.outputs, plan_.options.isa, plan_.options.threads};
    for (uint32_t slot = 0; slot < node.outputs.size(); ++slot) {
      if (!node.outputs[slot].present()) continue;
      const auto offset = node.op().alias(node.resolved.get(), call, slot);
      if (!offset || wire(node.inputs[0]).offset + *offset != wire({step.node, slot}).offset ||
          !holds({step.node, slot})) {
        return false;
      }
    }
    return true;
  }

  // Output 0 in the memory of an input: element by element.
  bool in_place(const Step& step) const {
    const typed::Node& node = plan_.graph.node(step.node);
    if (!node.op().inplace) return true;
    const Outlet out{step.node, 0};
    for (const Outlet input : node.inputs) {
      if (!input.present() || wire(input).root != wire(out).root) continue;
      const Fact &from = plan_.graph.fact(input), &to = plan_.graph.fact(out);
      if (from.type != to.type || from.dims() != to.dims()) return false;
    }
    return true;
  }

  // Inputs that were computed inside of the result.
  bool joined(const Step& step) const {
    const typed::Node& node = plan_.graph.node(step.node);
    if (node.op().joins == nullptr) return true;
    const Layout::Wire& into = wire({step.node, 0});
    const Facts in = plan_.graph.facts(node.inputs);
    const Call call{in, node.outputs, plan_.options.isa, plan_.options.threads};
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!node.inputs[i].present() || wire(node.inputs[i]).root != into.root) continue;
      const auto at = node.op().joins(node.resolved.get(), call, i);
      if (!at || into.offset + *at != wire(node.inputs[i]).offset) return false;
    }
    return true;
  }

  const Layout& layout_;
  const Plan& plan_;
};

}  // namespace

bool fits(const Layout& layout, const Plan& plan, const std::vector<bool>& changed) {
  const Fitting fitting(layout, plan);
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    const Step& step = plan.steps[s];
    const bool asked = changed[step.node] || (step.epilogue && changed[step.epilogue->node]);
    if (asked && !fitting.step(s)) return false;
  }
  return true;
}

void place_wires(Plan& plan, const Layout& layout) {
  plan.arena_bytes = layout.arena_bytes;
  plan.live_bytes = layout.live_bytes;
  std::vector<Step> kept;
  kept.reserve(plan.steps.size());
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    if (layout.views[s]) continue;
    plan.steps[s].scratch_offset = layout.scratch[s].offset;
    kept.push_back(std::move(plan.steps[s]));
  }
  plan.steps = std::move(kept);
  plan.places.resize(plan.graph.size());
  for (uint32_t id = 0; id < plan.graph.size(); ++id) {
    plan.places[id].reserve(layout.wires[id].size());
    for (const Layout::Wire& wire : layout.wires[id]) {
      Place place;
      if (wire.root != SIZE_MAX) {
        const Layout::Root& root = layout.roots[wire.root];
        place = {root.kind, root.index, wire.offset};
        if (root.kind == Place::Kind::arena) place.offset += root.offset;
      }
      plan.places[id].push_back(place);
    }
  }
  plan.copied_outputs.resize(plan.graph.outputs().size());
  for (const size_t i : layout.copied) {
    const Outlet outlet = plan.graph.outputs()[i].outlet;
    plan.copied_outputs[i] = plan.places[outlet.node][outlet.slot];
  }
}

}  // namespace sdx::plan
