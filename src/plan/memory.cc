#include "plan/memory.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/aligned.h"
#include "plan/offsets.h"

namespace sdx::plan {

using typed::Graph;
using typed::Outlet;

size_t bytes_of(const Fact& fact) {
  if (!fact.is_concrete()) return 0;
  constexpr size_t kUsual = 8;  // axes, for which no memory is asked
  std::array<int64_t, kUsual> sizes;
  const auto count_of = [&]() -> Result<size_t> {
    if (fact.rank() > kUsual) return element_count(fact.dims());
    for (size_t axis = 0; axis < fact.rank(); ++axis) sizes[axis] = fact.dim(axis).value();
    return element_count({sizes.data(), fact.rank()});
  };
  // Only an input may be declared larger than a tensor can be; nobody will be able to give it.
  const auto count = count_of();
  return count ? bytes_for(fact.type, *count) : 0;
}

namespace {

constexpr size_t kNever = SIZE_MAX;
// Where a piece of a wider node lies is asked piece by piece, and each answer looks at those before
// it: such nodes copy.
constexpr size_t kWide = 1024;

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
    // A plan that grows leaves room anyway, and somebody waits for it.
    constexpr int kFewAttempts = 2;
    arena_bytes_ = assign_offsets(blocks_, growing_.empty() ? kManyAttempts : kFewAttempts);
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
