#include "infer/sink.h"

#include <algorithm>

#include "infer/equalities.h"

namespace sdx::infer {

Result<std::vector<typed::Outlet>> GraphSink::add(sdx::Node use, std::vector<typed::Outlet> inputs,
                                                  std::vector<std::string> origin) {
  const auto symbolic = [&](typed::Outlet input) { return has_symbols(graph_.fact(input)); };
  if (assumptions_ != nullptr && std::count_if(inputs.begin(), inputs.end(), symbolic) > 1) {
    Facts in;
    for (const typed::Outlet input : inputs) in.push_back(graph_.fact(input));
    learn_equalities(use, in, *assumptions_);
  }
  return graph_.add(std::move(use), std::move(inputs), std::move(origin));
}

}  // namespace sdx::infer
