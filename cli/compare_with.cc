#include "compare_with.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/printable.h"
#include "bounds.h"
#include "distance.h"
#include "json.h"
#include "load.h"
#include "model/tensor.h"
#include "npy.h"
#include "npz.h"
#include "typed_values.h"
#include "wires.h"

namespace sdx::cli {
namespace {

namespace fs = std::filesystem;

// A value of the model at hand and the one it is held against.
struct Pair {
  std::string name;
  Distance distance;
};

struct Compared {
  std::vector<Pair> outputs, wires;  // wires in the order of the first model's nodes
  std::vector<std::string> missing;  // outputs that the other side does not have
  bool within() const {
    return missing.empty() && std::all_of(outputs.begin(), outputs.end(),
                                          [](const Pair& pair) { return pair.distance.within(); });
  }
  const Pair* first_divergence() const {
    const auto at = std::find_if(wires.begin(), wires.end(),
                                 [](const Pair& pair) { return !pair.distance.within(); });
    return at == wires.end() ? nullptr : &*at;
  }
};

Result<std::vector<Value>> outputs_of(const Loaded& loaded) {
  run::RunOptions limits;
  limits.deadline = deadline();
  return run::Session(loaded.compiled).run(loaded.inputs, limits);
}

std::vector<std::string> output_names(const model::Model& model) {
  std::vector<std::string> names;
  for (const model::ValueInfo& output : model.graph->output) names.push_back(output.name);
  return names;
}

// Wires that both models name, in the order of the first.
std::vector<std::string> common_wires(const model::Model& a, const model::Model& b) {
  const std::vector<std::string> of_b = wires_of(b);
  const std::set<std::string> known(of_b.begin(), of_b.end());
  std::vector<std::string> common;
  for (const std::string& name : wires_of(a)) {
    if (known.contains(name)) common.push_back(name);
  }
  return common;
}

Result<Compared> with_model(const CompareWith& asked, const Loaded& a,
                            const std::vector<Value>& found) {
  Loaded b;
  b.options = a.options;
  b.options.set.clear();
  SDX_ASSIGN(b.model, asked.engine.limits.read(asked.other));
  // The same inputs by position: another exporter may have named them differently.
  SDX_ASSIGN(b.compiled, compile(b.model, b.options));
  const size_t takes = b.compiled->graph().inputs().size();
  if (takes != a.inputs.size())
    return fail("SDX-C0068", "{} takes {} inputs, {} takes {}", asked.model, a.inputs.size(),
                asked.other, takes);
  b.inputs = a.inputs;
  Result<std::vector<Value>> made = outputs_of(b);
  if (!made) return std::move(made).error().in(asked.other);
  const std::vector<Value> expected = *std::move(made);
  if (expected.size() != found.size())
    return fail("SDX-C0068", "{} gives {} outputs, {} gives {}", asked.model, found.size(),
                asked.other, expected.size());
  Compared all;
  const auto names = output_names(*a.model);
  for (size_t i = 0; i < found.size(); ++i)
    all.outputs.push_back({names[i], distance(found[i], expected[i], asked.tolerance)});
  const auto wires = common_wires(*a.model, *b.model);
  if (all.within() || wires.empty()) return all;
  SDX_ASSIGN(const auto ours, values_of_wires(a.model, a.options, a.inputs, wires));
  SDX_ASSIGN(const auto theirs, values_of_wires(b.model, b.options, b.inputs, wires));
  for (size_t i = 0; i < ours.size(); ++i)
    all.wires.push_back({ours[i].name, distance(ours[i].value, theirs[i].value, asked.tolerance)});
  return all;
}

// The files of a folder by the names that they stand for: outputs.npz and wires.npz by their
// arrays' names, output_N and NAME as .npy or .pb.
class Folder {
 public:
  static Result<Folder> open(const std::string& path) {
    Folder folder;
    folder.path_ = path;
    std::error_code error;
    if (!fs::is_directory(path, error))
      return fail("SDX-C0049", "{} is no folder of outputs", path);
    for (const char* name : {"outputs.npz", "wires.npz"}) {
      const std::string file = (fs::path(path) / name).string();
      if (!fs::exists(file, error)) continue;
      SDX_ASSIGN(Npz archive, Npz::open(file));
      folder.archives_.push_back(std::make_shared<const Npz>(std::move(archive)));
    }
    folder.read_index();
    return folder;
  }

  // Nothing if there is no such file.
  Result<std::optional<Value>> find(const model::ValueInfo& info, std::optional<size_t> i) const {
    for (const auto& archive : archives_) {
      const auto& names = archive->names();
      if (std::find(names.begin(), names.end(), info.name) == names.end()) continue;
      SDX_ASSIGN(Tensor tensor, archive->read(info.name));
      return std::optional<Value>(std::move(tensor));
    }
    std::vector<std::string> stems;
    if (const auto at = index_.find(info.name); at != index_.end()) stems.push_back(at->second);
    if (i) stems.push_back(fmt::format("output_{}", *i));
    if (info.name.find('/') == std::string::npos) stems.push_back(info.name);
    for (const std::string& stem : stems) {
      const fs::path base = fs::path(path_) / stem;
      std::error_code error;
      if (fs::exists(base.string() + ".npy", error)) {
        SDX_ASSIGN(Tensor tensor, read_npy(base.string() + ".npy"));
        return std::optional<Value>(std::move(tensor));
      }
      if (fs::exists(base.string() + ".pb", error)) {
        const model::Type type = info.type.value_or(model::Type{});
        SDX_ASSIGN(Value value, model::read_value_file(base.string() + ".pb", type));
        return std::optional<Value>(std::move(value));
      }
    }
    return std::optional<Value>();
  }

 private:
  // wires.json, as run --dump writes it: which file holds which wire.
  void read_index() {
    std::ifstream file(fs::path(path_) / "wires.json");
    const Json index = Json::parse(file, nullptr, false);
    if (!index.is_object() || !index.contains("wires") || !index["wires"].is_array()) return;
    for (const Json& wire : index["wires"]) {
      if (!wire.is_object()) continue;
      const auto name = wire.find("name"), in = wire.find("file");
      if (name == wire.end() || in == wire.end() || !name->is_string() || !in->is_string())
        continue;
      const fs::path stem = fs::path(in->get<std::string>()).stem();  // no way out of the folder
      index_.emplace(name->get<std::string>(), stem.string());
    }
  }

  std::string path_;
  std::vector<std::shared_ptr<const Npz>> archives_;
  std::map<std::string, std::string> index_;  // name to file, without its ending
};

Result<Compared> with_folder(const CompareWith& asked, const Loaded& a,
                             const std::vector<Value>& found) {
  SDX_ASSIGN(const Folder folder, Folder::open(asked.folder));
  SDX_ASSIGN(const TypedValues types, typed_values(a.model, asked.engine.limits, a.options.set));
  Compared all;
  const auto names = output_names(*a.model);
  for (size_t i = 0; i < found.size(); ++i) {
    SDX_ASSIGN(const auto expected, folder.find(types.info(names[i]), i));
    if (expected) {
      all.outputs.push_back({names[i], distance(found[i], *expected, asked.tolerance)});
    } else {
      all.missing.push_back(names[i]);
    }
  }
  if (all.outputs.empty()) {
    Error error = fail("SDX-C0069", "{} has none of the model's outputs", asked.folder);
    error.help =
        "outputs are read from outputs.npz by their names, or from output_0.npy, NAME.npy "
        "(.pb)";
    return error;
  }
  std::map<std::string, Value> theirs;
  std::vector<std::string> wires;
  for (const std::string& name : wires_of(*a.model)) {
    SDX_ASSIGN(const auto expected, folder.find(types.info(name), std::nullopt));
    if (!expected) continue;
    wires.push_back(name);
    theirs.emplace(name, *expected);
  }
  if (wires.empty()) return all;
  SDX_ASSIGN(const auto ours, values_of_wires(a.model, a.options, a.inputs, wires));
  for (const NamedValue& wire : ours)
    all.wires.push_back({wire.name, distance(wire.value, theirs.at(wire.name), asked.tolerance)});
  return all;
}

Json pair_json(const Pair& pair) {
  const Distance& d = pair.distance;
  const auto number = [](double x) { return std::isfinite(x) ? Json(x) : Json(nullptr); };
  return {{"name", pair.name},
          {"within", d.within()},
          {"equal_bits", d.equal_bits},
          {"count", d.count},
          {"beyond", d.beyond},
          {"max_abs", number(d.max_abs)},
          {"mean_abs", number(d.mean_abs)},
          {"max_rel", number(d.max_rel)},
          {"why", d.why}};
}

Json comparison_json(const CompareWith& asked, const Compared& all) {
  Json outputs = Json::array(), wires = Json::array();
  for (const Pair& pair : all.outputs) outputs.push_back(pair_json(pair));
  for (const Pair& pair : all.wires) wires.push_back(pair_json(pair));
  const Pair* first = all.first_divergence();
  return {{"model", asked.model},
          {"against", asked.folder.empty() ? asked.other : asked.folder},
          {"rtol", asked.tolerance.relative},
          {"atol", asked.tolerance.absolute},
          {"within", all.within()},
          {"outputs", std::move(outputs)},
          {"missing", all.missing},
          {"wires", std::move(wires)},
          {"first_divergence", first == nullptr ? Json(nullptr) : Json(first->name)}};
}

// The node that makes a wire, for people.
std::string maker_of(const model::Model& model, const std::string& wire) {
  for (const model::Node& node : model.graph->node) {
    if (std::find(node.output.begin(), node.output.end(), wire) == node.output.end()) continue;
    return node.name.empty() ? node.op_type : fmt::format("{} \"{}\"", node.op_type, node.name);
  }
  return "an input";
}

}  // namespace

Result<bool> compare_with(const CompareWith& asked) {
  SDX_ASSIGN(const Loaded a, load(asked.model, asked.engine, asked.inputs));
  Result<std::vector<Value>> found = outputs_of(a);
  if (!found) return std::move(found).error().in(asked.model);
  SDX_ASSIGN(const Compared all,
             asked.folder.empty() ? with_model(asked, a, *found) : with_folder(asked, a, *found));
  if (asked.json) {
    print_json(comparison_json(asked, all));
    return all.within();
  }
  for (const Pair& pair : all.outputs)
    std::printf("%s %s: %s\n", pair.distance.within() ? "ok  " : "FAR ",
                printable(pair.name).c_str(), pair.distance.text().c_str());
  for (const std::string& name : all.missing)
    std::printf("FAR  %s: not there\n", printable(name).c_str());
  if (const Pair* first = all.first_divergence()) {
    std::printf("first at \"%s\", which %s makes: %s\n", printable(first->name).c_str(),
                printable(maker_of(*a.model, first->name)).c_str(), first->distance.text().c_str());
  } else if (!all.wires.empty()) {
    std::printf("%zu wires of both names lie within the tolerance\n", all.wires.size());
  }
  return all.within();
}

}  // namespace sdx::cli
