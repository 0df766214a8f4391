#include "view_page.h"

#include <array>

#include "base/sha256.h"
#include "picture.h"

namespace sdx::cli {

// view.css and the scripts, put here by cli/view/embed.cmake.
extern const char* const kViewStyle;
extern const char* const kViewScript;

namespace {

std::string base64(const std::string& hex) {
  static constexpr char kDigits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes, text;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t three = 0;
    for (size_t j = 0; j < 3; ++j)
      three = three << 8 | (i + j < bytes.size() ? static_cast<uint8_t>(bytes[i + j]) : 0);
    for (size_t j = 0; j < 4; ++j)
      text += i + j > bytes.size() ? '=' : kDigits[three >> (18 - 6 * j) & 63];
  }
  return text;
}

std::string allowed(const std::string& text) {
  Sha256 hash;
  hash.add(text.data(), text.size());
  return "'sha256-" + base64(hash.hex()) + "'";
}

// JSON within a script element: nothing in it may end the element.
std::string within_script(const Json& data) {
  std::string out;
  for (const char c : data.dump(-1, ' ', false, Json::error_handler_t::replace)) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

std::string view_page(const Json& data) {
  const std::string style = kViewStyle, script = kViewScript;
  const std::string policy = fmt::format(
      "default-src 'none'; script-src {}; style-src {}; base-uri 'none'; form-action 'none'",
      allowed(script), allowed(style));
  const std::string title = escaped(data.value("title", "model"));
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width\">\n<title>{}</title>\n<style>",
      policy, title);
  html += style;
  html += "</style></head>\n<body><script type=\"application/json\" id=\"data\">";
  html += within_script(data);
  html += "</script>\n<script>";
  html += script;
  html += "</script></body></html>\n";
  return html;
}

}  // namespace sdx::cli
