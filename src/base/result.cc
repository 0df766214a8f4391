#include "base/result.h"

#include "base/printable.h"

namespace sdx {

Error::Error(std::string code, std::string what, std::vector<std::string> where, std::string help)
    : code(std::move(code)),
      what(std::move(what)),
      where(std::move(where)),
      help(std::move(help)) {}
Error::Error(const Error&) = default;
Error::Error(Error&&) noexcept = default;
Error& Error::operator=(const Error&) = default;
Error& Error::operator=(Error&&) noexcept = default;
Error::~Error() = default;

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
  return Error(std::string(code), printable(fmt::vformat(format, args), true));
}

ErrorBox::ErrorBox(Error&& error) : error_(new Error(std::move(error))) {}
Error* ErrorBox::copy(const Error& error) { return new Error(error); }
void ErrorBox::destroy(Error* error) { delete error; }

}  // namespace detail

}  // namespace sdx
