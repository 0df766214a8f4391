#include "infer/sink.h"

#include <algorithm>

#include "infer/equalities.h"

namespace sdx::infer {

GraphSink::GraphSink(typed::Graph& graph, Assumptions* assumptions, bool journal)
    : graph_(graph), assumptions_(assumptions) {
  if (!journal) return;
  journal_ = std::make_shared<typed::Chapter>();
  journal_->pass = "typing";
  graph_.journal = journal_;
}

void GraphSink::enter(typed::Origin origin) {
  if (!journal_) return;
  entered_.push_back(uint32_t(journal_->origins.size()));
  journal_->origins.push_back(origin);
}

void GraphSink::leave() {
  if (journal_) entered_.pop_back();
}

void GraphSink::note() {
  if (!journal_) return;
  for (auto id = uint32_t(journal_->nodes.size()); id < graph_.size(); ++id) {
    journal_->nodes.push_back(typed::shown(graph_.node(id)));
    for (const uint32_t origin : entered_) journal_->links.push_back({id, {0, origin}});
  }
}

typed::Outlet GraphSink::source(std::string name, Fact fact) {
  const typed::Outlet made = graph_.source(std::move(name), std::move(fact));
  note();
  return made;
}

typed::Outlet GraphSink::constant(Tensor value, std::string name) {
  const typed::Outlet made = graph_.constant(std::move(value), std::move(name));
  note();
  return made;
}

Result<std::vector<typed::Outlet>> GraphSink::add(sdx::Node use, std::vector<typed::Outlet> inputs,
                                                  std::vector<std::string> origin) {
  const auto symbolic = [&](typed::Outlet input) { return has_symbols(graph_.fact(input)); };
  if (assumptions_ != nullptr && std::count_if(inputs.begin(), inputs.end(), symbolic) > 1) {
    Facts in;
    for (const typed::Outlet input : inputs) in.push_back(graph_.fact(input));
    learn_equalities(use, in, *assumptions_);
  }
  auto made = graph_.add(std::move(use), std::move(inputs), std::move(origin));
  note();
  return made;
}

}  // namespace sdx::infer
