// Every operator's history, folded, says what ONNX's own schemas say.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "ops/list.h"

namespace sdx {
namespace {

using Json = nlohmann::json;

std::string upper(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = char(std::toupper(static_cast<unsigned char>(c)));
  return result;
}

Json json_of(const AttrValue& value) {
  return std::visit(
      []<class V>(const V& v) -> Json {
        if constexpr (std::is_constructible_v<Json, const V&>) {
          return Json(v);
        } else {
          return Json("not a default");
        }
      },
      value);
}

// Floats compare as floats: the file prints more digits than one has.
bool same_value(const Json& ours, const Json& theirs) {
  if (ours.is_array() && theirs.is_array()) {
    if (ours.size() != theirs.size()) return false;
    for (size_t i = 0; i < ours.size(); ++i) {
      if (!same_value(ours[i], theirs[i])) return false;
    }
    return true;
  }
  if (ours.is_number_float()) return theirs.is_number() && ours.get<float>() == theirs.get<float>();
  return ours == theirs;
}

void compare_formals(const std::vector<Formal>& ours, const Json& theirs, std::string_view what,
                     std::vector<std::string>& wrong) {
  static constexpr std::string_view kOptions[] = {"Single", "Optional", "Variadic"};
  if (ours.size() != theirs.size()) {
    wrong.push_back(fmt::format("{} {}s instead of {}", ours.size(), what, theirs.size()));
    return;
  }
  for (size_t i = 0; i < ours.size(); ++i) {
    const Json& formal = theirs[i];
    const std::string_view option = kOptions[size_t(ours[i].option)];
    if (ours[i].name != formal["name"].get<std::string>() ||
        ours[i].type != formal["type"].get<std::string>() ||
        option != formal.value("option", "Single") ||
        ours[i].homogeneous != formal.value("homogeneous", true)) {
      wrong.push_back(
          fmt::format("{} {} is {}: {}, {}", what, i, ours[i].name, ours[i].type, option));
    }
  }
}

void compare_attributes(const Signature& ours, const Json& theirs,
                        std::vector<std::string>& wrong) {
  if (ours.attributes.size() != theirs.size()) {
    wrong.push_back(
        fmt::format("{} attributes instead of {}", ours.attributes.size(), theirs.size()));
  }
  for (const Json& attribute : theirs) {
    const std::string name = attribute["name"];
    const AttrDecl* decl = ours.attribute(name);
    if (decl == nullptr) {
      wrong.push_back("no attribute " + name);
      continue;
    }
    const std::string type =
        decl->type == AttrType::type ? "TYPE_PROTO" : upper(attr_type_name(decl->type));
    if (type != attribute["type"].get<std::string>()) wrong.push_back(name + " has type " + type);
    if (decl->required != attribute["required"]) wrong.push_back(name + " is required in one only");
    const Json& fallback = attribute["default"];
    if (decl->fallback.has_value() == fallback.is_null() ||
        (decl->fallback && !same_value(json_of(*decl->fallback), fallback))) {
      wrong.push_back(name + " has another default than " + fallback.dump());
    }
  }
}

std::vector<std::string> compare(const Signature& ours, const Json& theirs) {
  std::vector<std::string> wrong;
  compare_formals(ours.inputs, theirs["inputs"], "input", wrong);
  compare_formals(ours.outputs, theirs["outputs"], "output", wrong);
  const std::array counts{ours.min_inputs, ours.max_inputs, ours.min_outputs, ours.max_outputs};
  const std::array keys{"min_input", "max_input", "min_output", "max_output"};
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] != theirs[keys[i]]) wrong.push_back(fmt::format("{} is {}", keys[i], counts[i]));
  }
  compare_attributes(ours, theirs["attributes"], wrong);
  std::map<std::string, std::vector<std::string>> types = theirs["types"];
  for (auto& [variable, list] : types) std::sort(list.begin(), list.end());
  for (const auto& [variable, list] : types) {
    const auto at = ours.types.find(variable);
    if (at == ours.types.end() || at->second != list)
      wrong.push_back("other types for " + variable);
  }
  if (ours.types.size() != types.size()) wrong.push_back("another number of type variables");
  if (ours.deprecated != theirs["deprecated"]) wrong.push_back("deprecated in one only");
  if (ours.experimental != (theirs["support"] == "EXPERIMENTAL"))
    wrong.push_back("experimental in one only");
  return wrong;
}

TEST(History, parses_for_every_operator) {
  for (const Op* op : all_ops()) {
    const auto folded = fold(op->history);
    ASSERT_TRUE(folded) << op->name << ": " << folded.error().text();
  }
}

TEST(History, equals_the_schemas_in_every_version) {
  std::ifstream file(std::string(SDX_SOURCE_DIR) + "/tests/data/onnx-1.23/schemas.jsonl");
  ASSERT_TRUE(file);
  size_t equal = 0, all = 0;
  std::map<const Op*, size_t> versions;
  for (std::string line; std::getline(file, line);) {
    ++all;
    const Json schema = Json::parse(line);
    const std::string domain = schema["domain"], name = schema["op"];
    const Op* op = find_op(domain, name);
    if (op == nullptr) continue;
    ++versions[op];
    const int since = schema["since"];
    const Signature* ours = op->at(since);
    if (ours == nullptr || ours->since != since) {
      ADD_FAILURE() << name << " lacks version " << since;
      continue;
    }
    const std::vector<std::string> wrong = compare(*ours, schema);
    for (const std::string& text : wrong) ADD_FAILURE() << name << "-" << since << ": " << text;
    equal += wrong.empty();
  }
  // Versions that old models have and ONNX's list has not: experiments, or onnxruntime's own.
  const std::set<std::string_view> older = {"LayerNormalization", "ThresholdedRelu"};
  for (const auto& [op, count] : versions) {
    EXPECT_EQ(op->signatures().size(), count + (older.contains(op->name) ? 1 : 0))
        << op->name << " has versions that ONNX has not";
  }
  fmt::print("{} of {} versions equal\n", equal, all);
}

}  // namespace
}  // namespace sdx
