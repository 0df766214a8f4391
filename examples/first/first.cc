// Loads a model, runs it on one picture and prints its answer and the answer's digest.
#include <sardonyx/sardonyx.h>

#include <cstdio>

int main(int argc, char** argv) try {
  const auto model = sardonyx::Model::load(argc > 1 ? argv[1] : "examples/digits/digits.onnx");
  sardonyx::Session session = model.compile({.threads = 2});

  sardonyx::Tensor picture(sardonyx::Type::f32, {1, 1, 8, 8});            // all paper
  for (size_t y = 0; y < 8; ++y) picture.values<float>()[y * 8 + 4] = 1;  // one stroke down

  const sardonyx::Outputs outputs = session.run({{"picture", picture}});
  const sardonyx::Tensor& probability = outputs["probability"];
  for (size_t digit = 0; digit < 10; ++digit) {
    std::printf("%zu: %.4f\n", digit, probability.values<float>()[digit]);
  }
  std::printf("%s\n", probability.digest().c_str());  // the same on every machine
} catch (const sardonyx::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
