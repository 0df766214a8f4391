// A user's operator set: one operator in C++, one function in text, and a model that uses both.
#include <sardonyx/operators.h>

#include <algorithm>
#include <cstdio>

int main() {
  using namespace sardonyx;

  // Values above a limit, in order: how many there are, only running tells.
  register_operator({
      .domain = "example",
      .name = "Above",
      .doc = "the elements of x that are greater than limit",
      .history = {{1, "(x: T) -> (y: T, count?: i64) {limit: float = 0.0} T in f32"}},
      .infer =
          [](const Call&, std::span<const Port> inputs) {
            Port above, count;
            above.type = inputs[0].type;
            above.dims = {Size{}};
            count.type = Type::i64;
            count.dims.emplace();
            return std::vector<Port>{above, count};
          },
      .compute =
          [](const Call& call, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
            std::vector<float> kept;
            for (const float x : inputs[0].values<float>()) {
              if (x > call.real("limit")) kept.push_back(x);
            }
            outputs[0] = Tensor({static_cast<int64_t>(kept.size())}, kept);
            if (call.wants(1)) outputs[1].values<int64_t>()[0] = static_cast<int64_t>(kept.size());
          },
  });

  register_functions(R"(
    <domain: "example", opset_import: ["" : 21, "example" : 1]>
    ScaledAbove <limit: float = 1.0, by: float = 10.0> (x) => (y) {
      above = example.Above <limit: float = @limit> (x)
      factor = Constant <value_float: float = @by> ()
      y = Mul (above, factor)
    })");

  const Model model = Model::from_text(R"(
    <ir_version: 10, opset_import: ["" : 21, "example" : 1]>
    example (float[N] x) => (float[M] y, int64 n) {
      y = example.ScaledAbove <limit: float = 0.5> (x)
      all, n = example.Above (x)
    })");
  for (const Error& error : model.check()) std::printf("%s\n", error.what());

  Session session = model.compile();
  const Outputs outputs = session.run({{"x", Tensor({5}, {-1.0f, 0.25f, 2.0f, 0.75f, 3.0f})}});
  for (const float y : outputs["y"].values<float>()) std::printf("%g ", y);
  std::printf("of %lld\n", static_cast<long long>(outputs["n"].values<int64_t>()[0]));
  return 0;
}
