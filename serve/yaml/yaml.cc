#include "serve/yaml/yaml.h"

#include <vector>

namespace sardonyx::serve {
namespace {

using nlohmann::json;

constexpr size_t kMostDepth = 32;

struct Line {
  size_t number = 0, indent = 0;
  std::string_view text;  // without indentation, comment and blanks behind it
  std::string_view raw;   // the whole line
};

struct Wrong {
  size_t line;
  std::string what;
};

bool blank(char c) { return c == ' ' || c == '\t'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && (blank(text.back()) || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

// Where the quoted scalar that begins at `at` ends, just behind its quote; npos: not on this line.
size_t end_of_quoted(std::string_view text, size_t at) {
  const char quote = text[at++];
  while (at < text.size()) {
    if (text[at] == '\\' && quote == '"') {
      at += 2;
    } else if (text[at] == quote) {
      if (quote == '"' || at + 1 >= text.size() || text[at + 1] != '\'') return at + 1;
      at += 2;
    } else {
      ++at;
    }
  }
  return std::string_view::npos;
}

// The line up to a "#" that begins a comment.
std::string_view without_comment(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    const bool begins = i == 0 || blank(text[i - 1]) ||
                        std::string_view("[{,:-").find(text[i - 1]) != std::string_view::npos;
    if ((text[i] == '"' || text[i] == '\'') && begins) {
      const size_t end = end_of_quoted(text, i);
      if (end == std::string_view::npos) return text;
      i = end - 1;
    } else if (text[i] == '#' && (i == 0 || blank(text[i - 1]))) {
      return text.substr(0, i);
    }
  }
  return text;
}

class Reader {
 public:
  explicit Reader(std::string_view text) {
    size_t number = 0;
    while (!text.empty()) {
      const size_t end = std::min(text.find('\n'), text.size());
      Line line{++number, 0, {}, text.substr(0, end)};
      text.remove_prefix(std::min(end + 1, text.size()));
      while (line.indent < line.raw.size() && line.raw[line.indent] == ' ') ++line.indent;
      line.text = trimmed(without_comment(line.raw.substr(line.indent)));
      lines_.push_back(line);
    }
    if (skip_empty() && lines_[at_].text == "---") ++at_;
  }

  json document() {
    if (!skip_empty()) return nullptr;
    json value = block(lines_[at_].indent, 0);
    if (skip_empty()) fail("this line belongs to nothing before it");
    return value;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Wrong{at_ < lines_.size() ? lines_[at_].number : lines_.size(), what};
  }

  // To the next line that says something; false at the end.
  bool skip_empty() {
    while (at_ < lines_.size() && lines_[at_].text.empty()) ++at_;
    if (at_ >= lines_.size()) return false;
    const Line& line = lines_[at_];
    if (line.indent < line.raw.size() && line.raw[line.indent] == '\t')
      fail("a tab is no indentation");
    return true;
  }

  static bool is_item(std::string_view text) { return text == "-" || text.starts_with("- "); }

  // Where the ":" behind a key is, or npos if the text is no key.
  static size_t colon(std::string_view text) {
    size_t i = 0;
    if (!text.empty() && (text[0] == '"' || text[0] == '\'')) {
      i = end_of_quoted(text, 0);
      if (i == std::string_view::npos || i >= text.size() || text[i] != ':')
        return std::string_view::npos;
      return i + 1 == text.size() || blank(text[i + 1]) ? i : std::string_view::npos;
    }
    if (!text.empty() && (text[0] == '[' || text[0] == '{')) return std::string_view::npos;
    for (; i < text.size(); ++i) {
      if (text[i] == ':' && (i + 1 == text.size() || blank(text[i + 1]))) return i;
    }
    return std::string_view::npos;
  }

  json block(size_t indent, size_t depth) {
    const std::string_view text = lines_[at_].text;
    if (is_item(text)) return sequence(indent, depth);
    if (colon(text) != std::string_view::npos) return mapping(indent, depth);
    return scalar_or_flow(depth);
  }

  // A list or mapping within so many others.
  void open(size_t depth) const {
    if (depth > kMostDepth) fail("nested over 32 deep");
  }

  json sequence(size_t indent, size_t depth) {
    open(depth);
    json all = json::array();
    while (skip_empty() && lines_[at_].indent == indent && is_item(lines_[at_].text)) {
      Line& line = lines_[at_];
      if (line.text == "-") {
        ++at_;
        const bool inner = skip_empty() && lines_[at_].indent > indent;
        all.push_back(inner ? block(lines_[at_].indent, depth + 1) : json());
        continue;
      }
      // What follows the dash is a block of its own, indented as far as it stands.
      const std::string_view rest = trimmed(line.text.substr(1));
      line.indent += static_cast<size_t>(rest.data() - line.text.data());
      line.text = rest;
      all.push_back(block(line.indent, depth + 1));
    }
    if (at_ < lines_.size() && skip_empty() && lines_[at_].indent > indent)
      fail("indented further than the list it is in");
    return all;
  }

  json mapping(size_t indent, size_t depth) {
    open(depth);
    json all = json::object();
    while (skip_empty() && lines_[at_].indent == indent && !is_item(lines_[at_].text)) {
      Line& line = lines_[at_];
      const size_t at = colon(line.text);
      if (at == std::string_view::npos) fail("not \"name: value\"");
      const json key = scalar(trimmed(line.text.substr(0, at)));
      const std::string name = key.is_string() ? key.get<std::string>() : key.dump();
      if (all.contains(name)) fail("\"" + name + "\" is there twice");
      const std::string_view rest = trimmed(line.text.substr(at + 1));
      if (rest.empty()) {
        ++at_;
        const bool inner =
            skip_empty() && (lines_[at_].indent > indent ||
                             (lines_[at_].indent == indent && is_item(lines_[at_].text)));
        all[name] = inner ? block(lines_[at_].indent, depth + 1) : json();
      } else if (rest[0] == '|' || rest[0] == '>') {
        all[name] = text_block(rest, indent);
      } else {
        line.text = rest;
        all[name] = scalar_or_flow(depth + 1);
      }
    }
    if (at_ < lines_.size() && skip_empty() && lines_[at_].indent > indent)
      fail("indented further than the mapping it is in");
    return all;
  }

  // "|" keeps lines, ">" joins them; "-" behind it leaves the last line's end away.
  json text_block(std::string_view head, size_t indent) {
    const bool folds = head[0] == '>', strips = head.size() == 2 && head[1] == '-';
    if (head.size() > 1 && !strips) fail("of texts there are |, |-, > and >-");
    std::string text;
    size_t depth = 0, empty = 0;
    for (++at_; at_ < lines_.size(); ++at_) {
      std::string_view raw = lines_[at_].raw;
      if (!raw.empty() && raw.back() == '\r') raw.remove_suffix(1);
      if (trimmed(raw).empty()) {
        ++empty;
        continue;
      }
      if (lines_[at_].raw.find_first_not_of(' ') <= indent) break;
      if (depth == 0) depth = lines_[at_].raw.find_first_not_of(' ');
      if (lines_[at_].raw.find_first_not_of(' ') < depth) fail("less indented than its text");
      if (!text.empty())
        text.append(folds && empty == 0 ? " " : std::string(empty + (folds ? 0 : 1), '\n'));
      empty = 0;
      text += raw.substr(depth);
    }
    if (!strips && !text.empty()) text += '\n';
    return text;
  }

  // A scalar, or a flow value that may go on over further lines.
  json scalar_or_flow(size_t depth) {
    const std::string_view text = lines_[at_].text;
    if (text[0] != '[' && text[0] != '{') {
      json value = scalar(text);
      ++at_;
      return value;
    }
    std::string all(text);
    // Each line is looked at once, so that a long list takes time that grows as it does.
    for (int64_t open = opened(text); open > 0; open += opened(lines_[at_].text)) {
      ++at_;
      if (!skip_empty()) fail("a bracket is not closed");
      all += ' ';
      all += lines_[at_].text;
    }
    std::string_view rest = all;
    json value = flow(rest, depth);
    if (!trimmed(rest).empty()) fail("something follows the closing bracket");
    ++at_;
    return value;
  }

  // How many more brackets a line opens than it closes. A quote is one where a value begins, and
  // ends on its line.
  int64_t opened(std::string_view text) const {
    int64_t open = 0;
    bool begins = true;
    for (size_t i = 0; i < text.size(); ++i) {
      if (begins && (text[i] == '"' || text[i] == '\'')) {
        const size_t end = end_of_quoted(text, i);
        if (end == std::string_view::npos) fail("a quote is not closed");
        i = end - 1;
      } else {
        open += text[i] == '[' || text[i] == '{' ? 1 : text[i] == ']' || text[i] == '}' ? -1 : 0;
      }
      if (!blank(text[i]))
        begins = std::string_view("[{,:").find(text[i]) != std::string_view::npos;
    }
    return open;
  }

  json flow(std::string_view& text, size_t depth) {
    text = trimmed(text);
    if (text.empty() || (text[0] != '[' && text[0] != '{')) return flow_scalar(text, ",]}");
    open(depth);
    const bool list = text[0] == '[';
    const char end = list ? ']' : '}';
    json all = list ? json::array() : json::object();
    text = trimmed(text.substr(1));
    while (text.empty() || text[0] != end) {
      if (list) {
        all.push_back(flow(text, depth + 1));
      } else {
        const json key = flow_scalar(text, ":,]}");
        const std::string name = key.is_string() ? key.get<std::string>() : key.dump();
        if (text.empty() || text[0] != ':') fail("in {} stands \"name: value\"");
        if (all.contains(name)) fail("\"" + name + "\" is there twice");
        text.remove_prefix(1);
        all[name] = flow(text, depth + 1);
      }
      text = trimmed(text);
      if (!text.empty() && text[0] == ',') {
        text = trimmed(text.substr(1));
      } else if (text.empty() || text[0] != end) {
        fail("in brackets, a comma or the closing bracket is missing");
      }
    }
    text.remove_prefix(1);
    return all;
  }

  json flow_scalar(std::string_view& text, std::string_view ends) {
    text = trimmed(text);
    size_t size = 0;
    if (!text.empty() && (text[0] == '"' || text[0] == '\'')) {
      size = end_of_quoted(text, 0);
      if (size == std::string_view::npos) fail("a quote is not closed");
    } else {
      size = std::min(text.find_first_of(ends), text.size());
    }
    if (size == 0) fail("in brackets, a value is missing");
    json value = scalar(trimmed(text.substr(0, size)));
    text = trimmed(text.substr(size));
    return value;
  }

  json scalar(std::string_view text) {
    if (text.empty()) return nullptr;
    if (text[0] == '"') {
      json value = json::parse(text, nullptr, false);
      if (!value.is_string()) fail("a quoted text is not one of JSON's");
      return value;
    }
    if (text[0] == '\'') {
      if (end_of_quoted(text, 0) != text.size()) fail("a quote is not closed where the text ends");
      std::string value;
      for (size_t i = 1; i + 1 < text.size(); ++i) {
        value += text[i];
        if (text[i] == '\'') ++i;
      }
      return value;
    }
    if (std::string_view("&*!|>@`%?[]{}").find(text[0]) != std::string_view::npos)
      fail("a plain text does not begin with \"" + std::string(text.substr(0, 1)) + "\"");
    if (text == "~" || text == "null" || text == "Null" || text == "NULL") return nullptr;
    if (text == "true" || text == "True" || text == "TRUE") return true;
    if (text == "false" || text == "False" || text == "FALSE") return false;
    json number = json::parse(text, nullptr, false);
    if (number.is_number()) return number;
    return std::string(text);
  }

  std::vector<Line> lines_;
  size_t at_ = 0;
};

}  // namespace

Outcome<json> read_yaml(std::string_view text) {
  try {
    return Reader(text).document();
  } catch (const Wrong& wrong) {
    return Failure{Kind::bad_request,
                   "SDX-V0442: line " + std::to_string(wrong.line) + ": " + wrong.what};
  }
}

Outcome<json> read_settings_text(std::string_view text, std::string_view file_name) {
  if (file_name.ends_with(".yaml") || file_name.ends_with(".yml")) return read_yaml(text);
  json value = json::parse(text, nullptr, false, true);
  if (value.is_discarded()) return Failure{Kind::bad_request, "SDX-V0443: this is not JSON"};
  return value;
}

}  // namespace sardonyx::serve
