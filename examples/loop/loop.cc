// A Loop, built in C++: square roots by Newton's method, until every element has settled, with the
// error of each turn on record.
#include <sardonyx/ops.h>

#include <cmath>
#include <cstdio>

namespace ops = sardonyx::ops;
using sardonyx::Tensor;
using sardonyx::Type;
using sardonyx::Wire;
using sardonyx::Wires;

int main(int argc, char** argv) try {
  sardonyx::Graph g("roots");
  const Wire x = g.parameter("x", Type::f64, {"N"});
  const Wire tolerance = g.parameter("tolerance", Type::f64, {});
  const Wires out = ops::loop(50, {}, {x}, [&](const Wire&, const Wires& carried) -> ops::Step {
    const Wire root = (carried[0] + x / carried[0]) * 0.5;  // x comes from outside
    const Wire error = ops::reduce_max(ops::abs(root * root - x), {.keepdims = 0});
    return {.carried = {root}, .scanned = {error}, .go_on = ops::greater(error, tolerance)};
  });
  g.result("root", out[0]);
  g.result("errors", out[1]);
  if (argc > 1) g.save(argv[1]);

  sardonyx::Session session = g.compile();
  const Tensor values({4}, {2.0, 9.0, 144.0, 1e6});
  const auto outputs =
      session.run({{"x", values}, {"tolerance", Tensor(sardonyx::Dims{}, {1e-6})}});
  const auto roots = outputs["root"].values<double>();
  for (size_t i = 0; i < roots.size(); ++i) {
    std::printf("sqrt(%g) = %.12g\n", values.values<double>()[i], roots[i]);
    if (std::fabs(roots[i] - std::sqrt(values.values<double>()[i])) > 1e-9) return 1;
  }
  const auto errors = outputs["errors"].values<double>();
  std::printf("%zu turns, the last with an error of %.3g\n", errors.size(), errors.back());
  return errors.size() < 50 && errors.back() <= 1e-6 ? 0 : 1;
} catch (const sardonyx::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
