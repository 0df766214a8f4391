// Writes sardonyx/ops.h, a helper for every operator, and the definitions behind it, from the
// operators' declarations; or says whether the files are what it would write.
//
//   make_ops HEADER SOURCE            writes both
//   make_ops --check HEADER SOURCE    1 if either differs
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>

#include "builder/state.h"
#include "ops/list.h"

namespace {

using sdx::AttrDecl;
using sdx::AttrType;
using sdx::Formal;
using sdx::Op;
using sdx::Signature;

// sardonyx/control.h has them, with functions for their subgraphs or a count of their outputs.
const std::set<std::string_view> kByHand = {"If", "Loop", "Scan", "SequenceMap", "Split"};

const std::map<std::string_view, std::string_view> kNamespaces = {
    {"", ""},
    {"ai.onnx.ml", "ml"},
    {"ai.onnx.preview", "preview"},
    {"ai.onnx.preview.training", "training"}};

// A C++ name: keywords get an underscore.
std::string identifier(std::string_view name) {
  static const std::set<std::string> kKeywords = {
      "and",     "auto",     "bool", "break",    "case",  "class", "const",
      "default", "delete",   "do",   "else",     "float", "for",   "if",
      "int",     "long",     "new",  "not",      "or",    "xor",   "short",
      "signed",  "operator", "try",  "template", "this",  "union", "while"};
  std::string snake = sardonyx::detail::snake_case(name);
  return kKeywords.contains(snake) ? snake + "_" : snake;
}

bool is_element_type(const AttrDecl& decl) {
  return decl.type == AttrType::int_ &&
         (decl.name == "to" || decl.name == "precision" || decl.name.ends_with("dtype") ||
          decl.name.ends_with("datatype") || decl.name.ends_with("_precision") ||
          decl.name == "stash_type");
}

std::string held_type(AttrType type) {
  switch (type) {
    case AttrType::float_:
      return "float";
    case AttrType::int_:
      return "int64_t";
    case AttrType::string:
      return "std::string";
    case AttrType::floats:
      return "std::vector<float>";
    case AttrType::ints:
      return "std::vector<int64_t>";
    case AttrType::strings:
      return "std::vector<std::string>";
    case AttrType::tensors:
      return "std::vector<Tensor>";
    case AttrType::type:
      return "Fact";
    default:
      return "Tensor";
  }
}

std::string number(float value) {
  std::string text = fmt::format("{}", value);
  return text.find_first_of(".en") == std::string::npos ? text + ".0F" : text + "F";
}

template <class T, class Text>
std::string list(const std::vector<T>& values, const Text& text) {
  std::string all;
  for (const T& value : values) all += (all.empty() ? "" : ", ") + text(value);
  return "{" + all + "}";
}

std::string default_text(const sdx::AttrValue& value) {
  const auto quoted = [](const std::string& s) { return "\"" + s + "\""; };
  if (const auto* i = std::get_if<int64_t>(&value)) return fmt::format("{}", *i);
  if (const auto* f = std::get_if<float>(&value)) return number(*f);
  if (const auto* s = std::get_if<std::string>(&value)) return quoted(*s);
  if (const auto* v = std::get_if<std::vector<int64_t>>(&value)) {
    return list(*v, [](int64_t i) { return fmt::format("{}", i); });
  }
  if (const auto* v = std::get_if<std::vector<float>>(&value)) return list(*v, number);
  if (const auto* v = std::get_if<std::vector<std::string>>(&value)) return list(*v, quoted);
  return "{}";
}

std::string field(const AttrDecl& decl) {
  const std::string name = identifier(decl.name);
  if (decl.type == AttrType::graph) return fmt::format("  Body {} = {{}};\n", name);
  const std::string type = held_type(decl.type);
  if (decl.required) return fmt::format("  Must<{}> {};\n", type, name);
  if (!decl.fallback) return fmt::format("  Given<{}> {} = {{}};\n", type, name);
  const bool plain = !is_element_type(decl) && type.find('<') == std::string::npos;
  return fmt::format("  {} {} = {};\n", plain ? type : fmt::format("Given<{}>", type), name,
                     default_text(*decl.fallback));
}

// "T: f16 f32", so that a reader sees what may be given.
std::string types_text(const Signature& signature) {
  std::string text;
  for (const auto& [variable, types] : signature.types) {
    std::string names;
    for (const std::string& type : types) {
      std::string shown = type;
      if (type.starts_with("tensor(")) {
        const auto dtype = sdx::dtype_from_onnx(type.substr(7, type.size() - 8));
        if (dtype) shown = sdx::short_name(*dtype);
      }
      names += " " + shown;
    }
    text += fmt::format("// {}:{}\n", variable, names);
  }
  return text;
}

std::string formals_text(const std::vector<Formal>& formals) {
  std::string text;
  for (const Formal& formal : formals) {
    text += fmt::format("{}{}{}: {}", text.empty() ? "" : ", ", formal.name,
                        formal.option == Formal::Option::optional   ? "?"
                        : formal.option == Formal::Option::variadic ? "..."
                                                                    : "",
                        formal.type);
  }
  return text;
}

struct Text {
  std::string header, source;
};

Text helper(const Op& op) {
  const Signature& signature = op.signatures().back();
  const std::string name = identifier(op.name), type(op.name);
  std::string fields, parameters,
      making = fmt::format("Making(\"{}\", \"{}\")", op.domain, op.name);
  const bool has_required =
      std::any_of(signature.inputs.begin(), signature.inputs.end(),
                  [](const Formal& formal) { return formal.option != Formal::Option::optional; });
  if (!has_required) {
    parameters += "const Graph& graph, ";
    making += ".within(graph)";
  }
  for (const Formal& formal : signature.inputs) {
    const std::string input = identifier(formal.name);
    if (formal.option == Formal::Option::optional) {
      fields += fmt::format("  Wire {} = {{}};\n", input);
      making += fmt::format(".in(options.{})", input);
    } else {
      const bool many = formal.option == Formal::Option::variadic;
      parameters += fmt::format("const {}& {}, ", many ? "Wires" : "Wire", input);
      making += fmt::format(".in({})", input);
    }
  }
  bool required = false;
  for (const AttrDecl& decl : signature.attributes) {
    fields += field(decl);
    required = required || decl.required;
    making +=
        fmt::format(".{}(\"{}\", options.{})", decl.type == AttrType::graph ? "set_body" : "set",
                    decl.name, identifier(decl.name));
  }
  std::string head = fmt::format("// {} {}: {}\n// ({}) -> ({})\n{}", op.name, signature.since,
                                 op.doc, formals_text(signature.inputs),
                                 formals_text(signature.outputs), types_text(signature));
  std::string defaulted = parameters;
  if (!fields.empty()) {
    head += fmt::format("struct {}Options {{\n{}}};\n", type, fields);
    parameters += fmt::format("const {}Options& options, ", type);
    defaulted += fmt::format("const {}Options& options{}, ", type, required ? "" : " = {}");
  }
  std::string result = "Wire", tail = ".one(place)", returned;
  if (signature.outputs.size() == 1 && signature.outputs[0].option == Formal::Option::variadic) {
    result = "Wires";
    parameters += "size_t outputs, ";
    const size_t at = defaulted.find(" = {}");
    if (at != std::string::npos) defaulted.erase(at, 5);
    defaulted += "size_t outputs, ";
    tail = ".outputs(outputs, place)";
  } else if (signature.outputs.size() > 1) {
    result = type + "Outputs";
    std::string members, picked;
    for (size_t i = 0; i < signature.outputs.size(); ++i) {
      members += fmt::format("{}{}", i == 0 ? "" : ", ", identifier(signature.outputs[i].name));
      picked += fmt::format("{}wires[{}]", i == 0 ? "" : ", ", i);
    }
    head += fmt::format("struct {} {{\n  Wire {};\n}};\n", result, members);
    tail = fmt::format(".outputs({}, place)", signature.outputs.size());
    returned = fmt::format("  return {{{}}};\n", picked);
  }
  Text text;
  text.header =
      fmt::format("{}{} {}({}Place place = Place::here());\n\n", head, result, name, defaulted);
  text.source =
      fmt::format("{} {}({}Place place) {{\n  {}{}{};\n{}}}\n", result, name, parameters,
                  returned.empty() ? "return " : "const Wires wires = ", making, tail, returned);
  return text;
}

Text everything() {
  Text text;
  text.header =
      "// A helper for every operator that is not deprecated: its newest version, made by\n"
      "// tools/make_ops.cc from the operators' declarations (`make ops`; a test\n"
      "// compares). Inputs that may be left out and attributes are options:\n"
      "//\n"
      "//   ops::conv(x, w, {.b = bias, .strides = {2, 2}})\n"
      "//\n"
      "// Names that C++ keeps for itself end with an underscore: ops::and_, ops::not_.\n"
      "#pragma once\n\n#include \"sardonyx/control.h\"\n\nnamespace sardonyx::ops {\n\n";
  text.source =
      "// The helpers of sardonyx/ops.h, made with it by tools/make_ops.cc.\n"
      "#include \"sardonyx/ops.h\"\n\n#include \"builder/making.h\"\n\n"
      "namespace sardonyx::ops {\n\nusing detail::Making;\n\n";
  std::vector<const Op*> ops(sdx::all_ops().begin(), sdx::all_ops().end());
  std::sort(ops.begin(), ops.end(), [](const Op* a, const Op* b) {
    return std::pair(a->domain, a->name) < std::pair(b->domain, b->name);
  });
  for (const auto& [domain, space] : kNamespaces) {
    const std::string open = space.empty() ? "" : fmt::format("namespace {} {{\n\n", space);
    const std::string close = space.empty() ? "" : fmt::format("}}  // namespace {}\n\n", space);
    text.header += open;
    text.source += open;
    for (const Op* op : ops) {
      if (op->domain != domain || kByHand.contains(op->name)) continue;
      if (op->signatures().back().deprecated) continue;
      const Text one = helper(*op);
      text.header += one.header;
      text.source += one.source;
    }
    text.header += close;
    text.source += close;
  }
  text.header += "}  // namespace sardonyx::ops\n";
  text.source += "}  // namespace sardonyx::ops\n";
  return text;
}

std::string contents(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Layout is clang-format's affair.
std::string without_layout(const std::string& text) {
  std::string dense;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text.compare(i, 2, "//") == 0 && (i == 0 || text[i - 1] == '\n')) {
      i += 1;  // a comment may be broken anywhere
      continue;
    }
    if (text[i] != ' ' && text[i] != '\n') dense += text[i];
  }
  return dense;
}

}  // namespace

int main(int argc, char** argv) {
  const bool check = argc == 4 && std::string_view(argv[1]) == "--check";
  if (argc != 3 && !check) {
    std::fprintf(stderr, "make_ops [--check] HEADER SOURCE\n");
    return 2;
  }
  const Text made = everything();
  const std::pair<const char*, const std::string*> files[] = {{argv[argc - 2], &made.header},
                                                              {argv[argc - 1], &made.source}};
  for (const auto& [path, text] : files) {
    if (!check) {
      std::ofstream(path) << *text;
    } else if (without_layout(contents(path)) != without_layout(*text)) {
      std::fprintf(stderr, "%s is not what the operators declare; run: make ops\n", path);
      return 1;
    }
  }
  return 0;
}
