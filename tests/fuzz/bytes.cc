// Any bytes give a model or an error; a model that was read is written and read again unchanged.
#include <cstdlib>

#include "fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto model = sdx::fuzz::read(data, size);
  if (model == nullptr) return 0;
  const std::string once = sdx::model::write(*model);
  const auto again = sdx::model::read_bytes(std::as_bytes(std::span(once)));
  if (!again || sdx::model::write(**again) != once) std::abort();
  return 0;
}
