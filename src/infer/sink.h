// Sink: what a walk over a model makes. The typed graph is one, the net of partial facts another,
// so both see the same nodes in the same order, with names resolved and functions inlined.
#pragma once

#include <string>
#include <vector>

#include "typed/graph.h"

namespace sdx::infer {

class Sink {
 public:
  virtual ~Sink() = default;
  virtual typed::Outlet source(std::string name, Fact fact) = 0;
  virtual typed::Outlet constant(Tensor value, std::string name) = 0;
  virtual Result<std::vector<typed::Outlet>> add(sdx::Node use, std::vector<typed::Outlet> inputs,
                                                 std::vector<std::string> origin) = 0;
  virtual size_t size() const = 0;  // nodes so far
  virtual const Fact& fact(typed::Outlet outlet) const = 0;
  // Whether fact() holds what the nodes so far give; not while a net only collects them.
  virtual bool knows_facts() const = 0;
  // What is made until leave() comes from this node or initializer of the model, and from those
  // entered before.
  virtual void enter(typed::Origin) {}
  virtual void leave() {}
};

// Enters, and leaves at the end of its block.
class Entered {
 public:
  Entered(Sink& sink, typed::Origin origin) : sink_(sink) { sink_.enter(origin); }
  ~Entered() { sink_.leave(); }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;

 private:
  Sink& sink_;
};

// Straight into a typed graph.
class GraphSink : public Sink {
 public:
  // With `assumptions`, those of the graph, equalities of symbols that nodes require are added to
  // them.
  explicit GraphSink(typed::Graph& graph, Assumptions* assumptions = nullptr, bool journal = false);
  typed::Outlet source(std::string name, Fact fact) override;
  typed::Outlet constant(Tensor value, std::string name) override;
  Result<std::vector<typed::Outlet>> add(sdx::Node use, std::vector<typed::Outlet> inputs,
                                         std::vector<std::string> origin) override;
  size_t size() const override { return graph_.size(); }
  const Fact& fact(typed::Outlet outlet) const override { return graph_.fact(outlet); }
  bool knows_facts() const override { return true; }
  void enter(typed::Origin origin) override;
  void leave() override;

 protected:
  typed::Graph& graph_;
  Assumptions* assumptions_;

 private:
  void note();  // the nodes that the graph has gained

  std::shared_ptr<typed::Chapter> journal_;  // the graph's first chapter
  std::vector<uint32_t> entered_;            // origins, by number
};

}  // namespace sdx::infer
