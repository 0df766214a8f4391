// What the fuzz targets share: limits that keep one execution small and quick.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "model/io.h"

namespace sdx::fuzz {

inline std::shared_ptr<const model::Model> read(const uint8_t* data, size_t size) {
  model::Limits limits;
  limits.file_bytes = 1 << 20;
  limits.nodes = 200;
  limits.messages = 20000;
  limits.elements = 1 << 16;
  auto model = model::read_bytes(std::as_bytes(std::span(data, size)), limits);
  return model ? *model : nullptr;
}

}  // namespace sdx::fuzz
