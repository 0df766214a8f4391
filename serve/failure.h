// Why a request was not answered, in the terms of both protocols.
#pragma once

#include <sardonyx/sardonyx.h>

#include <string>
#include <utility>
#include <variant>

namespace sardonyx::serve {

enum class Kind {
  bad_request,    // the request is malformed or does not fit the model
  unauthorized,   // no token, or one that is not known
  forbidden,      // a known token without the right, or a call that is switched off
  not_found,      // no such model, version or page
  wrong_method,   // the page exists for another method
  too_large,      // over a limit on bytes
  overloaded,     // a queue is full: ask again after a while
  unavailable,    // the model is not ready, or the server drains
  deadline,       // the request's own time is over
  cancelled,      // the client left
  unimplemented,  // a call of the protocol that this server does not have
  internal,
};
int http_status(Kind kind);
int grpc_status(Kind kind);

struct Failure {
  Kind kind = Kind::internal;
  std::string message;    // "SDX-V0101: ..." or the engine's own words
  int retry_after_s = 0;  // of overloaded and unavailable
};

// The engine's error as an answer; what a request can cause is a bad request.
Failure failure_of(const Error& error);

// A value or a Failure.
template <class T>
class [[nodiscard]] Outcome {
 public:
  Outcome(T value) : state_(std::in_place_index<0>, std::move(value)) {}            // NOLINT
  Outcome(Failure failure) : state_(std::in_place_index<1>, std::move(failure)) {}  // NOLINT
  explicit operator bool() const { return state_.index() == 0; }
  T& operator*() & { return std::get<0>(state_); }
  T&& operator*() && { return std::get<0>(std::move(state_)); }
  const T& operator*() const& { return std::get<0>(state_); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  const Failure& failure() const { return std::get<1>(state_); }
  Failure& failure() { return std::get<1>(state_); }

 private:
  std::variant<T, Failure> state_;
};

}  // namespace sardonyx::serve
