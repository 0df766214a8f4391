// Result<T>: a value or an Error. The library never throws for what a file or a caller can cause.
#pragma once

#include <fmt/format.h>

#include <cassert>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace sdx {

// What went wrong (`what`), under a stable code ("SDX-T0102"), and where: innermost place first,
// one line per stage.
struct [[nodiscard]] Error {
  std::string code;
  std::string what;
  std::vector<std::string> where;
  std::string help;

  // The same error seen from one stage further out.
  Error in(std::string place) && {
    where.push_back(std::move(place));
    return std::move(*this);
  }
  // "error[SDX-T0102]: what\n  --> where\n   = help: ..."
  std::string text() const;
};

// fail("SDX-B0001", "expected {} bytes, found {}", n, m)
template <class... Args>
Error fail(std::string_view code, fmt::format_string<Args...> format, Args&&... args) {
  return Error{std::string(code), fmt::format(format, std::forward<Args>(args)...), {}, {}};
}

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value)
      : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: implicit by design
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& operator*() & {
    assert(ok());
    return *std::get_if<0>(&state_);
  }
  const T& operator*() const& {
    assert(ok());
    return *std::get_if<0>(&state_);
  }
  T&& operator*() && {
    assert(ok());
    return std::move(*std::get_if<0>(&state_));
  }
  T* operator->() {
    assert(ok());
    return std::get_if<0>(&state_);
  }
  const T* operator->() const {
    assert(ok());
    return std::get_if<0>(&state_);
  }
  const Error& error() const& {
    assert(!ok());
    return *std::get_if<1>(&state_);
  }
  Error&& error() && {
    assert(!ok());
    return std::move(*std::get_if<1>(&state_));
  }

 private:
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::in_place_index<1>, std::move(error)) {}  // NOLINT
  bool ok() const { return error_.index() == 0; }
  explicit operator bool() const { return ok(); }
  const Error& error() const& { return *std::get_if<1>(&error_); }
  Error&& error() && { return std::move(*std::get_if<1>(&error_)); }

 private:
  std::variant<std::monostate, Error> error_;
};

using Status = Result<void>;
inline Status ok() { return {}; }

}  // namespace sdx

// SDX_TRY(expr): returns the error of `expr` from the calling function, if it is one.
#define SDX_TRY(expr)                                                                \
  do {                                                                               \
    if (auto sdx_status = (expr); !sdx_status) return std::move(sdx_status).error(); \
  } while (0)

// SDX_ASSIGN(auto x, expr): declares x as the value of `expr`, or returns its error.
#define SDX_CONCAT_(a, b) a##b
#define SDX_CONCAT(a, b) SDX_CONCAT_(a, b)
#define SDX_ASSIGN(decl, expr) SDX_ASSIGN_(SDX_CONCAT(sdx_result_, __LINE__), decl, expr)
#define SDX_ASSIGN_(result, decl, expr)          \
  auto result = (expr);                          \
  if (!result) return std::move(result).error(); \
  decl = *std::move(result)
