// What libFuzzer calls: fuzz --target=NAME CORPUS... Models are mutated by their structure, and
// sometimes by their bytes.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "fuzz.h"
#include "model/text.h"
#include "mutate.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t most);

namespace {

using sdx::model::Model;

const sdx::fuzz::Target* chosen = nullptr;

bool is_text() { return chosen->name == "text"; }

std::unique_ptr<Model> decode(const uint8_t* data, size_t size) {
  if (is_text()) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    auto parsed = sdx::model::parse_text(text, sdx::fuzz::limits());
    if (parsed) return std::make_unique<Model>(*std::move(parsed));
  }
  const auto model = sdx::fuzz::read({data, size});
  return model == nullptr ? nullptr : std::make_unique<Model>(*model);
}

// 0 if there is no room.
size_t encode(const Model& model, uint8_t* data, size_t most) {
  const std::string bytes = is_text() ? sdx::model::print_text(model) : sdx::model::write(model);
  if (bytes.size() > most) return 0;
  std::memcpy(data, bytes.data(), bytes.size());
  return bytes.size();
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  for (int i = 1; i < *argc; ++i) {
    const std::string_view argument = (*argv)[i];
    if (!argument.starts_with("--target=")) continue;
    for (const sdx::fuzz::Target& target : sdx::fuzz::targets()) {
      if (target.name == argument.substr(9)) chosen = &target;
    }
  }
  if (chosen == nullptr) {
    std::fprintf(stderr, "usage: fuzz --target=bytes|text|infer|run|kernels CORPUS...\n");
    std::exit(2);
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  sdx::fuzz::test(*chosen, {data, size});
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t most, unsigned seed) {
  sdx::fuzz::Random random(seed);
  if (random.one_in(is_text() ? 2 : 10)) return LLVMFuzzerMutate(data, size, most);
  const auto model = decode(data, size);
  if (model == nullptr) return LLVMFuzzerMutate(data, size, most);
  sdx::fuzz::Mutator mutator(random.next());
  for (size_t changes = 1 + random.below(3); changes > 0; --changes) mutator.mutate(*model);
  const size_t written = encode(*model, data, most);
  return written > 0 ? written : LLVMFuzzerMutate(data, size, most);
}

extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* a, size_t a_size, const uint8_t* b,
                                            size_t b_size, uint8_t* out, size_t most,
                                            unsigned seed) {
  const auto model = decode(a, a_size), other = decode(b, b_size);
  if (model == nullptr || other == nullptr) return 0;
  sdx::fuzz::Mutator(seed).splice(*model, *other);
  return encode(*model, out, most);
}
