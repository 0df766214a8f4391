#include "base/result.h"

#include "base/printable.h"

namespace sdx {

Error Error::in(std::string place) && {
  where.push_back(printable(place));
  return std::move(*this);
}

std::string Error::text() const {
  // Names in it are those of the model's author.
  std::string text = fmt::format("error[{}]: {}", code, printable(what, true));
  for (const std::string& place : where) {
    const bool detail = place.starts_with("| ");  // of the place above it
    text += detail ? fmt::format("\n   |  {}", printable(place.substr(2)))
                   : fmt::format("\n  --> {}", printable(place));
  }
  if (!help.empty()) text += fmt::format("\n   = help: {}", printable(help, true));
  return text;
}

namespace detail {

Error failed(std::string_view code, fmt::string_view format, fmt::format_args args) {
  return Error{std::string(code), printable(fmt::vformat(format, args), true), {}, {}};
}

ErrorBox::ErrorBox(Error&& error) : error_(new Error(std::move(error))) {}
Error* ErrorBox::copy(const Error& error) { return new Error(error); }
void ErrorBox::destroy(Error* error) { delete error; }

}  // namespace detail

}  // namespace sdx
