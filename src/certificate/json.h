// Json: text of a JSON value, made piece by piece in the order in which it is written.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace sdx::certificate {

class Json {
 public:
  // Opens an object or an array as the value of `key`, or as the next element where there is none.
  Json& open(char bracket, std::string_view key = {}) {
    before(key);
    text_ += bracket;
    first_ = true;
    return *this;
  }
  Json& close(char bracket) {
    text_ += bracket;
    first_ = false;
    return *this;
  }
  Json& line() {
    pending_line_ = true;
    return *this;
  }
  template <class Number>
  Json& number(std::string_view key, Number value) {
    before(key);
    text_ += fmt::to_string(value);
    return *this;
  }
  template <class Number>
  Json& element(Number value) {
    return number({}, value);
  }
  template <class Numbers>
  Json& numbers(std::string_view key, const Numbers& values) {
    open('[', key);
    for (const auto value : values) element(value);
    return close(']');
  }
  Json& truth(std::string_view key, bool value) { return raw(key, value ? "true" : "false"); }
  Json& null(std::string_view key) { return raw(key, "null"); }
  Json& string(std::string_view key, std::string_view value);

  std::string take() { return std::move(text_); }

 private:
  Json& raw(std::string_view key, std::string_view value) {
    before(key);
    text_ += value;
    return *this;
  }
  void before(std::string_view key);
  void quoted(std::string_view value);

  std::string text_;
  bool first_ = true, pending_line_ = false;
};

}  // namespace sdx::certificate
