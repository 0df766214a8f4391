// make_seeds FOLDER: the cases of every operator as small models, to start fuzzing from. A case's
// tensors are inputs with defaults, so that a model brings the values that its operator needs.
#include <cstdio>

#include "case_model.h"
#include "cases/cases.h"
#include "model/io.h"
#include "ops/list.h"

namespace {

using namespace sdx;                 // NOLINT: a small program
constexpr size_t kMostBytes = 2048;  // of one model
constexpr size_t kMostCases = 3;     // of one operator

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: make_seeds FOLDER\n");
    return 2;
  }
  size_t models = 0, bytes = 0;
  for (const Op* op : all_ops()) {
    if (op->domain == "sardonyx") continue;
    std::vector<std::string> small;
    for (const Case& test : cases_of(*op)) {
      const auto made = fuzz::model_of(*op, test, true);
      std::string model = made ? model::write(*made) : "";
      if (made && model.size() <= kMostBytes) small.push_back(std::move(model));
    }
    for (size_t i = 0; i < std::min(small.size(), kMostCases); ++i) {
      // The first, the last, and one between.
      const std::string& model = small[i * (small.size() - 1) /
                                       std::max<size_t>(std::min(small.size(), kMostCases) - 1, 1)];
      const std::string path = fmt::format("{}/{}{}.onnx", argv[1], op->name, i);
      std::FILE* file = std::fopen(path.c_str(), "wb");
      if (file == nullptr || std::fwrite(model.data(), 1, model.size(), file) != model.size() ||
          std::fclose(file) != 0) {
        std::perror(path.c_str());
        return 1;
      }
      ++models;
      bytes += model.size();
    }
  }
  std::printf("%zu models, %zu bytes\n", models, bytes);
  return 0;
}
