#include "base/result.h"

namespace sdx {

Error Error::in(std::string place) && {
  where.push_back(std::move(place));
  return std::move(*this);
}

std::string Error::text() const {
  std::string text = fmt::format("error[{}]: {}", code, what);
  for (const std::string& place : where) {
    const bool detail = place.starts_with("| ");  // of the place above it
    text += detail ? fmt::format("\n   |  {}", place.substr(2)) : fmt::format("\n  --> {}", place);
  }
  if (!help.empty()) text += fmt::format("\n   = help: {}", help);
  return text;
}

namespace detail {

Error failed(std::string_view code, fmt::string_view format, fmt::format_args args) {
  return Error{std::string(code), fmt::vformat(format, args), {}, {}};
}

ErrorBox::ErrorBox(Error&& error) : error_(new Error(std::move(error))) {}
Error* ErrorBox::copy(const Error& error) { return new Error(error); }
void ErrorBox::destroy(Error* error) { delete error; }

}  // namespace detail

}  // namespace sdx
