#include "order.h"

#include <charconv>

namespace sdx::cli {

Result<RandomOrders> read_orders(const std::string& text) {
  constexpr std::string_view kPrefix = "random:";
  RandomOrders orders;
  const auto wrong = [&] {
    return fail("SDX-C0044", "--order {}: expected random:SEED or random:SEED,COUNT", text);
  };
  if (!text.starts_with(kPrefix)) return wrong();
  const char *at = text.data() + kPrefix.size(), *end = text.data() + text.size();
  auto [seed_end, error] = std::from_chars(at, end, orders.seed);
  if (error != std::errc{}) return wrong();
  if (seed_end == end) return orders;
  if (*seed_end != ',') return wrong();
  const auto [count_end, count_error] = std::from_chars(seed_end + 1, end, orders.count);
  if (count_error != std::errc{} || count_end != end || orders.count == 0) return wrong();
  return orders;
}

Status orders_agree(const std::shared_ptr<const model::Model>& model, const Named& inputs,
                    const CompileOptions& options, const RandomOrders& orders,
                    const run::RunOptions& how) {
  SDX_ASSIGN(const typed::Graph graph, type(model, options));
  std::vector<Value> arguments;
  for (const typed::Outlet source : graph.inputs())
    arguments.push_back(inputs.at(graph.node(source.node).use.name));
  SDX_ASSIGN(const auto usual, compile(graph, options));
  SDX_ASSIGN(const std::vector<Value> expected, run::Session(usual).run(arguments, how));
  CompileOptions shuffled = options;
  std::vector<std::shared_ptr<const plan::Compiled>> kept;  // an observer knows plans by address
  for (size_t k = 0; k < orders.count; ++k) {
    shuffled.order = orders.seed + k;
    SDX_ASSIGN(const auto compiled, compile(graph, shuffled));
    kept.push_back(compiled);
    SDX_ASSIGN(const std::vector<Value> found, run::Session(compiled).run(arguments, how));
    for (size_t i = 0; i < expected.size(); ++i) {
      if (!equal(found[i], expected[i])) {
        return fail("SDX-C0043", "output {} differs in the order drawn with seed {}", i,
                    orders.seed + k);
      }
    }
  }
  return ok();
}

}  // namespace sdx::cli
