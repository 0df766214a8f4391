// The protocol's protobuf messages, read by the engine's wire reader and written by hand: few
// enough that generated code would be more to trust.
#pragma once

#include "serve/http/message.h"
#include "serve/oip/request.h"
#include "serve/shm/regions.h"

namespace sardonyx::serve {

// Appends fields of a message.
class ProtoWriter {
 public:
  std::string bytes;

  void varint(uint64_t value) {
    while (value >= 0x80) {
      bytes += static_cast<char>(value | 0x80);
      value >>= 7;
    }
    bytes += static_cast<char>(value);
  }
  void tag(uint32_t field, uint32_t wire) { varint(uint64_t{field} << 3 | wire); }
  void number(uint32_t field, uint64_t value) {
    if (value == 0) return;  // as proto3 has it
    tag(field, 0);
    varint(value);
  }
  void text(uint32_t field, std::string_view value, bool even_empty = false) {
    if (value.empty() && !even_empty) return;
    tag(field, 2);
    varint(value.size());
    bytes += value;
  }
  void message(uint32_t field, const ProtoWriter& inner) { text(field, inner.bytes, true); }
  void sizes(uint32_t field, const Dims& dims) {
    ProtoWriter packed;
    for (const int64_t dim : dims) packed.varint(static_cast<uint64_t>(dim));
    text(field, packed.bytes);
  }
};

// ModelInferRequest. Tensors are copies unless they happen to lie aligned in `bytes`; those in
// shared memory are read from `regions`.
Outcome<InferRequest> read_infer_proto(std::string_view bytes,
                                       const Regions& regions = no_regions());
// ModelInferResponse behind gRPC's five bytes of framing; large tensors are pieces of their own.
Response infer_proto(const std::shared_ptr<const InferResult>& result);

// The strings, numbers and messages of the fields of a small message, by field number.
struct ProtoFields {
  std::vector<std::pair<uint32_t, std::string_view>> texts;
  std::vector<std::pair<uint32_t, uint64_t>> numbers;
  std::string_view text(uint32_t field) const {
    for (const auto& [number, value] : texts) {
      if (number == field) return value;
    }
    return {};
  }
  uint64_t number(uint32_t field) const {
    for (const auto& [at, value] : numbers) {
      if (at == field) return value;
    }
    return 0;
  }
};
Outcome<ProtoFields> read_fields(std::string_view bytes);

}  // namespace sardonyx::serve
