// Operators that are compositions: what they mean is a few nodes of simpler operators.
//
// Such an operator has one function, compose(), that writes these nodes down with a Composer:
//
//   Result<Wires> compose(Composer& c) {
//     return Wires{c.add(ops::gelu, {c.add(ops::add, {c.in(0), c.in(1)})})};
//   }
//
// and composed<compose>(...) makes its declaration from it. The facts of its outputs are those of
// the nodes; its reference runs the nodes' references; the optimiser puts the nodes in its place
// (rewrite/composed.cc), so that every kernel and rewrite for them serves it too. Its bits are
// those of the nodes by construction, and what is wrong with its inputs is what they find wrong.
#pragma once

#include <deque>

#include "ops/common.h"

namespace sdx {

// One value within a composition: an input of the operator, a constant or an inner output. A wire
// made by default stands for an input that is left out.
struct Wire {
  uint32_t id = UINT32_MAX;
  bool present() const { return id != UINT32_MAX; }
};
using Wires = std::vector<Wire>;

class Composer;
using Compose = Result<Wires> (*)(Composer&);

// The resolved attributes of such an operator: its nodes. Wire ids count the operator's inputs,
// then constants and outputs of the steps as they come.
struct Composition {
  struct Step {
    Node use;  // no operator: the constant below
    Wires inputs;
    uint32_t first = 0;  // the wire that is its output 0
    Tensor constant;
  };
  size_t inputs = 0;
  std::vector<Step> steps;
  Wires outputs;
  Facts facts;  // of the outputs
  // Where a rank or a value is not known yet there are no steps: they follow from `node` when it
  // is.
  bool open = false;
  Node node;
  Compose compose = nullptr;
};

// Writes the nodes of one use. The first node that refuses its inputs ends the composition: later
// calls do nothing, and its error is the operator's.
class Composer {
 public:
  Composer(const Node& node, const Facts& in);

  const Node& node() const { return node_; }
  bool has(size_t input) const { return input < in_.size() && in_[input].present(); }
  Wire in(size_t input) const { return has(input) ? Wire{uint32_t(input)} : Wire{}; }
  const Fact& fact(Wire wire) const;
  bool wants(size_t output) const { return node_.wants(output); }

  Wire constant(Tensor value);
  Wire ints(std::vector<int64_t> values);  // a vector
  Wire number(DType type, double value);   // a scalar of a floating or integer type
  // The node's output 0, or all of them.
  Wire add(const Op& op, Wires inputs, AttrMap attrs = {});
  Wires add(const Op& op, Wires inputs, AttrMap attrs, size_t outputs);
  // Unless `holds`, the composition ends with this error.
  template <class... Args>
  bool require(bool holds, std::string_view code, fmt::format_string<Args...> text,
               Args&&... args) {
    if (!holds && !failed()) error_ = fail(code, text, std::forward<Args>(args)...);
    return !failed();
  }
  // Whether nothing more is written: a node refused its inputs, or the rest is for later.
  bool failed() const { return error_ || later_; }

  // Nodes that many compositions need.
  Wire reshape(Wire x, std::vector<int64_t> shape);  // 0 keeps a size, -1 is what is left
  Wire transpose(Wire x, std::vector<int64_t> perm);
  Wire slice(Wire x, int64_t axis, int64_t begin, int64_t end);
  Wire cast(Wire x, DType type);  // x itself if it has this type
  // Dimension `axis`. Until it is an integer the composition is for later.
  int64_t size(Wire x, size_t axis, std::string_view what);

  // For a composition whose nodes depend on a size or value that is not known yet: they are written
  // when it is, right before the run.
  Result<Wires> later() {
    later_ = !error_;
    return Wires{};
  }
  bool is_for_later() const { return later_; }

  // The composition with these outputs; `wires` may be an error.
  Result<Composition> finish(Result<Wires> wires) &&;

 private:
  Wires splice(const Composition& inner, const Wires& inputs, size_t outputs);

  const Node& node_;
  Facts in_;
  std::deque<Fact> facts_;  // by wire; they stay where they are while others come
  Composition made_;
  std::optional<Error> error_;
  bool later_ = false;
};

Result<Composition> read_composition(const Node& node, const Facts& in, Compose compose);
Result<Facts> infer_composition(const Composition&, const Facts& in);
// Runs the nodes one after another: their references, or the first kernel of each that fits.
Status run_references(const Composition&, Args&);
Status run_kernels(const Composition&, Args&);

inline constexpr std::string_view kComposedKernel = "composed";
inline constexpr Kernel<Composition> kComposedKernels[] = {
    {.name = kComposedKernel,
     .fits = [](const Composition& a, const Call&) { return !a.open; },
     .run = run_kernels}};

template <Compose kCompose>
constexpr OpOf<Composition> composed(std::string_view domain, std::string_view name,
                                     std::string_view doc, std::span<const Version> history,
                                     std::vector<Case> (*cases)()) {
  OpOf<Composition> op{};
  op.name = name;
  op.doc = doc;
  op.history = history;
  op.read = [](const Node& node, const Facts& in) { return read_composition(node, in, kCompose); };
  op.infer = infer_composition;
  op.reference = run_references;
  op.kernels = kComposedKernels;
  op.cases = cases;
  op.domain = domain;
  return op;
}

// Whether the operator is declared so: what its read() made is a Composition.
bool is_composed(const Op& op);

}  // namespace sdx
