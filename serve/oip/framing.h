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

}  // namespace sardonyx::serve
