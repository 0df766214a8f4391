// The border of the C++ interface: memory that runs out, or whatever else is thrown inside, comes
// out as an Error.
#pragma once

#include <fmt/core.h>

#include <new>
#include <string_view>

#include "base/stack.h"
#include "sardonyx/sardonyx.h"

namespace sardonyx {

// `doing`: "loading the model". With no memory left for that text, a shorter one that needs none.
inline Error out_of_memory(std::string_view doing) {
  try {
    return {"SDX-A0102", fmt::format("out of memory while {}", doing), {}, {}};
  } catch (const std::bad_alloc&) {
    return {"SDX-A0102", "out of memory", {}, {}};
  }
}

// What `body` returns (an Expected, or perhaps an Error), or the Error that it ran into.
template <class Body>
auto guarded(std::string_view doing, Body&& body) -> decltype(body()) {
  try {
    return sdx::on_deep_stack(body);
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return out_of_memory(doing);
  } catch (const std::exception& error) {
    return Error("SDX-A0100", fmt::format("while {}: {}", doing, error.what()), {}, {});
  }
}

}  // namespace sardonyx
