#include "plan/warranted.h"

#include <algorithm>

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
