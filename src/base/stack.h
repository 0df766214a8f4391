// Deep work on any thread: subgraphs nest in functions and functions in subgraphs, and what walks
// them calls itself. The nesting has a limit (kDeepestCalls); this gives a stack on which the
// deepest that is allowed fits, also where the caller's thread has a small one.
#pragma once

#include <cstddef>
#include <exception>
#include <optional>
#include <type_traits>

#include "base/deadline.h"

namespace sdx {

// Functions and subgraphs within each other, from the model's graph down.
inline constexpr size_t kDeepestCalls = 128;

namespace stack {

// Whether the calling thread has this much stack left; by default, enough for the deepest walk.
bool has_enough();
bool has(size_t bytes);
// Threads that the process starts from now on have stack enough for a kernel, also where the system
// is set to give them little. For programs: it changes the whole process.
void widen_threads();
// Runs body(context) on a thread with a large stack and waits for it. Throws std::bad_alloc if
// there can be no such thread; `body` must not throw.
void run_on_large(void (*body)(void*), void* context);

}  // namespace stack

// body(), here or on a thread with a larger stack; what it returns or throws.
template <class Body>
auto on_deep_stack(Body&& body, bool here = stack::has_enough()) -> decltype(body()) {
  using R = decltype(body());
  if (here) return body();
  using Kept = std::conditional_t<std::is_void_v<R>, bool, R>;
  struct Job {
    std::remove_reference_t<Body>& body;
    const Deadline* deadline = Deadline::current();
    std::optional<Kept> result = {};
    std::exception_ptr thrown = nullptr;
  } job{body};
  stack::run_on_large(
      [](void* context) {
        Job& at = *static_cast<Job*>(context);
        try {
          const Deadline handed(at.deadline);
          if constexpr (std::is_void_v<R>) {
            at.body();
          } else {
            at.result.emplace(at.body());
          }
        } catch (...) {
          at.thrown = std::current_exception();
        }
      },
      &job);
  if (job.thrown) std::rethrow_exception(job.thrown);
  if constexpr (!std::is_void_v<R>) return *std::move(job.result);
}

}  // namespace sdx
