#include "plan/packing.h"

#include <algorithm>

#include "base/pages.h"
#include "base/slab.h"

namespace sdx::plan {
namespace {

// Whether bit `input` of what a kernel packs is set; of many inputs only the first 32 can be.
bool is_packed(uint32_t packs, size_t input) { return input < 32 && ((packs >> input) & 1u) != 0; }

template <class Visit>
void each_packed_constant(const Step& step, const Facts& in, Visit&& visit) {
  for (size_t i = 0; i < in.size(); ++i) {
    if (is_packed(step.kernel->packs, i) && in[i].value != nullptr) visit(*in[i].value);
  }
}

// How often a run uses each element of the weights that the step packs.
uint64_t uses_of_weights(const Step& step, const typed::Node& node, const Facts& in,
                         const Call& call) {
  if (node.op().multiply_adds == nullptr) return 0;
  uint64_t elements = 0;
  each_packed_constant(step, in, [&](const Tensor& tensor) { elements += tensor.count(); });
  return node.op().multiply_adds(node.resolved.get(), call) / std::max<uint64_t>(1, elements);
}

// Weights that a run reads a few times from end to end are read in their file about as fast as
// packed ones in huge pages: where these are slow to come, packing is not worth the wait. Kernels
// know whether some more uses are few.
Stay stay_of(const Step& step, const Facts& in, uint64_t uses) {
  constexpr uint64_t kFew = 4, kMost = 128;
  if (uses == 0 || uses > kMost) return Stay::no;
  if (uses > kFew) return Stay::if_faster;
  size_t bytes = 0;
  each_packed_constant(step, in, [&](const Tensor& tensor) { bytes += tensor.bytes(); });
  return huge_pages_come_quickly(bytes) ? Stay::if_faster : Stay::if_as_fast;
}

// `lasts`: what is packed serves plans of other sizes too.
void pack(Step& step, const typed::Graph& graph, const Options& options, Pool& pool, Packs& packs,
          bool lasts) {
  if (step.kernel == nullptr || step.kernel->pack == nullptr) return;
  const typed::Node& node = graph.node(step.node);
  const Facts in = graph.facts(node.inputs);
  const Call call{in, node.outputs, options.isa, options.threads};
  // Weights of which each element serves few products are read as fast as memory gives them, and
  // the page table must not stand in the way.
  constexpr uint64_t kFew = 32;
  const uint64_t uses = uses_of_weights(step, node, in, call);
  const LastingUse use(uses < kFew ? HugePages::always : HugePages::if_quick,
                       lasts || options.cache ? Stay::no : stay_of(step, in, uses));
  const void* attrs = node.resolved.get();
  bool made = true;
  step.packed = packs.get(*step.kernel, node.use, attrs, call, pool, made);
  if (!made || step.packed == nullptr) return;
  each_packed_constant(step, in,
                       [](const Tensor& tensor) { release_pages(tensor.raw(), tensor.bytes()); });
}

// Constants that nobody reads once all steps so far are packed, in a graph of one plan: they go at
// once, before the next are packed.
class Unread {
 public:
  explicit Unread(const typed::Graph& graph) : readers_(graph.size(), 0) {
    for (const typed::Node& node : graph.nodes()) {
      for (const typed::Outlet input : node.inputs) {
        if (input.present()) ++readers_[input.node];
      }
    }
    for (const typed::Output& output : graph.outputs()) ++readers_[output.outlet.node];
  }
  void packed(const Step& step, typed::Graph& graph, const Options& options, Packs& packs) {
    if (step.packed == nullptr || step.kernel->packs == 0) return;
    const typed::Node& node = graph.node(step.node);
    std::vector<uint32_t> unread;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!is_packed(step.kernel->packs, i) || !node.inputs[i].present()) continue;
      const uint32_t id = node.inputs[i].node;
      if (graph.node(id).kind == typed::Node::Kind::constant && --readers_[id] == 0)
        unread.push_back(id);
    }
    if (unread.empty()) return;
    packs.forget({graph.facts(node.inputs), node.outputs, options.isa, options.threads});
    for (const uint32_t id : unread) graph.forget_value(id);
  }

 private:
  std::vector<uint32_t> readers_;  // by node: inputs that are not packed yet
};

}  // namespace

void pack_weights(Plan& plan, Pool& pool, Packs* packs) {
  const Options& options = plan.options;
  Packs own(options.cache);  // several nodes may read one weight, also where there is but one plan
  Unread unread(plan.graph);
  for (size_t s = 0; s < plan.steps.size(); ++s) {
    pack(plan.steps[s], plan.graph, options, pool, packs != nullptr ? *packs : own,
         packs != nullptr);
    if (packs == nullptr) unread.packed(plan.steps[s], plan.graph, options, own);
    if (options.progress) options.progress(s + 1, plan.steps.size());
  }
  if (options.cache) options.cache->save();
}

void forget_packed(Plan& plan) {
  std::vector<bool> needed(plan.graph.size(), false);
  for (const typed::Output& output : plan.graph.outputs()) needed[output.outlet.node] = true;
  const auto read = [&](uint32_t node, uint32_t packed) {
    const auto& inputs = plan.graph.node(node).inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].present() && !is_packed(packed, i)) needed[inputs[i].node] = true;
    }
  };
  std::vector<bool> has_step(plan.graph.size(), false);
  for (const Step& step : plan.steps) has_step[step.node] = true;
  for (uint32_t id = 0; id < plan.graph.size(); ++id) {
    if (!has_step[id]) read(id, 0);  // a view: what it sees is needed
  }
  for (const Step& step : plan.steps) {
    read(step.node, step.packed ? step.kernel->packs : 0);
    if (step.epilogue) read(step.epilogue->node, 0);
  }
  for (uint32_t id = 0; id < plan.graph.size(); ++id) {
    if (plan.graph.node(id).kind == typed::Node::Kind::constant && !needed[id])
      plan.graph.forget_value(id);
  }
}

}  // namespace sdx::plan
