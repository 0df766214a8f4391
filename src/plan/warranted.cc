#include "plan/warranted.h"

#include <algorithm>
#include <utility>

#include "kernel/cpus.h"

namespace sdx::plan {
namespace {

thread_local const Around* innermost = nullptr;

// Bytes of the graph's constants and, of a model's own graph, inputs. What a subgraph is given was
// made by the model.
size_t bytes_brought(const typed::Graph& graph, bool outermost) {
  size_t brought = 0;
  for (const typed::Node& node : graph.nodes()) {
    const bool counts = node.kind == typed::Node::Kind::constant ||
                        (outermost && node.kind == typed::Node::Kind::source);
    if (!counts || !node.outputs[0].is_concrete()) continue;
    const auto count = element_count(node.outputs[0].dims());
    if (count && node.outputs[0].type != DType::undefined)
      brought += bytes_for(node.outputs[0].type, *count);
  }
  return brought;
}

}  // namespace

bool is_by_default(size_t most) {
  static const size_t kMachine = allowed_memory();
  return most == kMachine;
}

// Some hundred times what the model brings and is given is more than any layer takes; a model of a
// few bytes that asks for gigabytes is an attack, or has to be asked for.
size_t memory_limit(const typed::Graph& graph, size_t most) {
  if (!is_by_default(most)) return most;
  constexpr size_t kMostGrowth = 560;
  const size_t brought = bytes_brought(graph, innermost == nullptr) + Around::brought();
  if (brought > (most - std::min(most, kFewBytes)) / kMostGrowth) return most;
  return std::min(most, kFewBytes + kMostGrowth * brought);
}

namespace {

// The limit for runs of a graph: what the model warrants is counted once a wire asks for much.
class Limit {
 public:
  Limit(const typed::Graph& graph, size_t most)
      : graph_(graph), most_(most), limit_(std::min(most, kFewBytes)) {}

  Status holds(const typed::Node& node) {
    if (node.kind != typed::Node::Kind::op) return ok();
    for (const Fact& fact : node.outputs) {
      if (!fact.present() || !fact.is_concrete() || fact.type == DType::undefined) continue;
      const auto count = element_count(fact.dims());
      if (count && bytes_for(fact.type, *count) <= limit_) continue;
      if (!std::exchange(counted_, true)) limit_ = memory_limit(graph_, most_);
      if (count && bytes_for(fact.type, *count) <= limit_) continue;
      return explained(fail("SDX-R0020", "{} gives {}, more than the limit of {} bytes",
                            typed::shown(node), fact.text(), limit_),
                       most_);
    }
    return ok();
  }

 private:
  const typed::Graph& graph_;
  const size_t most_;
  size_t limit_;
  bool counted_ = false;
};

}  // namespace

// Asked before anything is packed: kernels make tables as large as what they write.
Status wires_fit(const typed::Graph& graph, std::span<const uint32_t> nodes, size_t most) {
  Limit limit(graph, most);
  for (const uint32_t id : nodes) SDX_TRY(limit.holds(graph.node(id)));
  return ok();
}

Status wires_fit(const typed::Graph& graph, size_t most) {
  Limit limit(graph, most);
  for (const typed::Node& node : graph.nodes()) SDX_TRY(limit.holds(node));
  return ok();
}

Error explained(Error error, size_t most) {
  if (is_by_default(most)) {
    error.help =
        "that is more than the sizes of the model and its inputs warrant; --arena-limit, or "
        "arena_bytes of the options, allows it";
  }
  return error;
}

Around::Around(const typed::Graph& graph, const Around* outer)
    : graph_(graph), outer_(outer), before_(innermost) {
  innermost = this;
}
Around::~Around() { innermost = before_; }

const Around* Around::current() { return innermost; }

size_t Around::brought() {
  size_t bytes = 0;
  for (const Around* one = innermost; one != nullptr; one = one->outer_)
    bytes += bytes_brought(one->graph_, one->outer_ == nullptr);
  return bytes;
}

}  // namespace sdx::plan
