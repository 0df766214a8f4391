// How gRPC cuts a body into messages, and how it writes a time.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "serve/failure.h"

namespace sardonyx::serve {

// One message of a body: a byte that says whether it is compressed, its length, its bytes.
// Nothing: it is not whole yet.
Outcome<std::optional<std::string_view>> next_message(std::string_view& bytes, size_t most);
// "20m" -> 20 ms.
std::optional<std::chrono::nanoseconds> read_grpc_timeout(std::string_view text);

// Of the first bytes of a body with one ModelInferRequest: how many bytes all of it is, and where
// the first raw tensor begins (0: not among these bytes).
struct GrpcLayout {
  size_t bytes = 0, tensor_at = 0;
};
GrpcLayout look_at_grpc(std::string_view first);

}  // namespace sardonyx::serve
