// Result<T>: a value or an Error. The library never throws for what a file or a caller can cause.
#ifndef SDX_BASE_RESULT_H_
#define SDX_BASE_RESULT_H_

#include <fmt/core.h>

#include <cassert>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sdx {

// What went wrong (`what`), under a stable code ("SDX-T0102"), and where: innermost place first,
// one line per stage.
struct [[nodiscard]] Error {
  std::string code;
  std::string what;
  std::vector<std::string> where;
  std::string help;

  Error(std::string code, std::string what, std::vector<std::string> where = {},
        std::string help = {});
  // Copied and moved in one place, not in each function that can fail.
  Error(const Error&);
  Error(Error&&) noexcept;
  Error& operator=(const Error&);
  Error& operator=(Error&&) noexcept;
  ~Error();

  // The same error seen from one stage further out.
  Error in(std::string place) &&;
  // "error[SDX-T0102]: what\n  --> where\n   = help: ..."
  std::string text() const;
};

namespace detail {

[[gnu::cold]] Error failed(std::string_view code, fmt::string_view format, fmt::format_args args);

// An Error on the heap, or none: results are made everywhere and fail seldom, so what a failure
// needs stays out of the code around it, and the compiler is told that it is seldom (cold).
class ErrorBox {
 public:
  ErrorBox() = default;
  [[gnu::cold]] ErrorBox(Error&& error);  // NOLINT: implicit by design
  ErrorBox(const ErrorBox& other)
      : error_(other.error_ == nullptr ? nullptr : copy(*other.error_)) {}
  ErrorBox(ErrorBox&& other) noexcept : error_(std::exchange(other.error_, nullptr)) {}
  ErrorBox& operator=(ErrorBox other) noexcept {
    std::swap(error_, other.error_);
    return *this;
  }
  ~ErrorBox() {
    if (error_ != nullptr) destroy(error_);
  }
  Error* get() const { return error_; }

 private:
  [[gnu::cold]] static Error* copy(const Error&);
  [[gnu::cold]] static void destroy(Error*);
  Error* error_ = nullptr;
};

}  // namespace detail

// fail("SDX-B0001", "expected {} bytes, found {}", n, m)
template <class... Args>
[[gnu::cold]] Error fail(std::string_view code, fmt::format_string<Args...> format,
                         Args&&... args) {
  return detail::failed(code, format, fmt::make_format_args(args...));
}

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}                     // NOLINT: implicit by design
  Result(Error error) : error_(std::move(error)) {}                 // NOLINT
  Result(detail::ErrorBox failure) : error_(std::move(failure)) {}  // NOLINT

  bool ok() const { return value_.has_value(); }
  explicit operator bool() const { return ok(); }
  T& operator*() & {
    assert(ok());
    return *value_;
  }
  const T& operator*() const& {
    assert(ok());
    return *value_;
  }
  T&& operator*() && {
    assert(ok());
    return *std::move(value_);
  }
  T* operator->() {
    assert(ok());
    return &*value_;
  }
  const T* operator->() const {
    assert(ok());
    return &*value_;
  }
  const Error& error() const& {
    assert(!ok());
    return *error_.get();
  }
  Error&& error() && {
    assert(!ok());
    return std::move(*error_.get());
  }
  // The error in its box, for SDX_TRY to hand on.
  detail::ErrorBox&& failure() && { return std::move(error_); }

 private:
  std::optional<T> value_;
  detail::ErrorBox error_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}                 // NOLINT
  Result(detail::ErrorBox failure) : error_(std::move(failure)) {}  // NOLINT
  bool ok() const { return error_.get() == nullptr; }
  explicit operator bool() const { return ok(); }
  const Error& error() const& { return *error_.get(); }
  Error&& error() && { return std::move(*error_.get()); }
  detail::ErrorBox&& failure() && { return std::move(error_); }

 private:
  detail::ErrorBox error_;
};

using Status = Result<void>;
inline Status ok() { return {}; }

}  // namespace sdx

// SDX_TRY(expr): returns the error of `expr` from the calling function, if it is one.
#define SDX_TRY(expr)                                                                  \
  do {                                                                                 \
    if (auto sdx_status = (expr); !sdx_status) return std::move(sdx_status).failure(); \
  } while (0)

// SDX_ASSIGN(auto x, expr): declares x as the value of `expr`, or returns its error.
#define SDX_CONCAT_(a, b) a##b
#define SDX_CONCAT(a, b) SDX_CONCAT_(a, b)
#define SDX_ASSIGN(decl, expr) SDX_ASSIGN_(SDX_CONCAT(sdx_result_, __LINE__), decl, expr)
#define SDX_ASSIGN_(result, decl, expr)            \
  auto result = (expr);                            \
  if (!result) return std::move(result).failure(); \
  decl = *std::move(result)

#endif  // SDX_BASE_RESULT_H_
