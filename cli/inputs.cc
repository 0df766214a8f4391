#include "inputs.h"

#include <algorithm>
#include <charconv>

#include "base/deadline.h"
#include "bounds.h"
#include "model/tensor.h"
#include "npy.h"
#include "npz.h"
#include "words.h"

namespace sdx::cli {
namespace {

uint64_t fnv1a(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return hash;
}

class SplitMix {
 public:
  explicit SplitMix(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }

 private:
  uint64_t state_;
};

// How many of 0, 1, 2 ... an integer type holds, at most 100.
uint64_t ids(DType type) {
  const size_t width = bits(type) - (is_signed(type) ? 1 : 0);
  return width >= 7 ? 100 : uint64_t{1} << width;
}

Result<std::pair<std::string, std::string>> split(const std::string& text, std::string_view form) {
  const size_t at = text.rfind('=');
  if (at == std::string::npos || at == 0)
    return fail("SDX-C0030", "\"{}\" is not of the form {}", text, form);
  return std::pair(text.substr(0, at), text.substr(at + 1));
}

const model::ValueInfo* declared(const model::Model& model, const std::string& name) {
  for (const model::ValueInfo& input : model.graph->input) {
    if (input.name == name) return &input;
  }
  return nullptr;
}

// One value that the command line gives.
struct Given {
  std::string name, path;
  std::shared_ptr<const Npz> archive = nullptr;  // the array of that name, or its only one
};

// The values of one --input: NAME=FILE, or FILE.npz, whose arrays are inputs by their names.
Result<std::vector<Given>> given_by(const std::string& text,
                                    const std::vector<std::string>& names) {
  if (text.ends_with(".npz") && text.find('=') == std::string::npos) {
    SDX_ASSIGN(Npz opened, Npz::open(text));
    const auto archive = std::make_shared<const Npz>(std::move(opened));
    std::vector<Given> all;
    for (const std::string& name : archive->names()) all.push_back({name, text, archive});
    return all;
  }
  // A name may contain '=', a path may too: the longest name that is an input wins.
  SDX_ASSIGN(auto pair, split(text, "NAME=FILE or FILE.npz"));
  for (size_t at = text.rfind('='); at != std::string::npos && at > 0;
       at = text.rfind('=', at - 1)) {
    pair = {text.substr(0, at), text.substr(at + 1)};
    if (std::find(names.begin(), names.end(), pair.first) != names.end()) break;
  }
  Given given{pair.first, pair.second};
  if (given.path.ends_with(".npz")) {
    SDX_ASSIGN(Npz opened, Npz::open(given.path));
    given.archive = std::make_shared<const Npz>(std::move(opened));
  }
  return std::vector<Given>{std::move(given)};
}

Result<Value> read_input(const model::ValueInfo& info, const Given& given) {
  if (given.archive != nullptr) {
    const auto& arrays = given.archive->names();
    const bool named = std::find(arrays.begin(), arrays.end(), given.name) != arrays.end();
    if (!named && arrays.size() != 1) {
      return not_among("SDX-C0028", given.path + " has no array", given.name, arrays);
    }
    SDX_ASSIGN(Tensor tensor, given.archive->read(named ? given.name : arrays[0]));
    return Value(std::move(tensor));
  }
  if (given.path.ends_with(".npy")) {
    SDX_ASSIGN(Tensor tensor, read_npy(given.path));
    return Value(std::move(tensor));
  }
  if (!given.path.ends_with(".pb")) {
    return fail("SDX-C0031", "\"{}\": inputs are read from .pb, .npy and .npz files", given.path);
  }
  if (!info.type) return fail("SDX-C0010", "input \"{}\" has no declared type", info.name);
  return model::read_value_file(given.path, *info.type);
}

// How large an input is, is what the model says; drawing it costs as much.
Status may_draw(const Fact& fact, size_t& drawn) {
  constexpr size_t kMost = size_t{256} << 20;
  if (!fact.is_concrete() || fact.type == DType::undefined || memory_is_limited()) return ok();
  SDX_ASSIGN(const size_t count, element_count(fact.dims()));
  drawn += std::min(kMost + 1, bytes_for(fact.type, count));
  if (drawn <= kMost) return ok();
  Error error =
      fail("SDX-C0084", "inputs of more than {} bytes would be drawn: {}", kMost, fact.text());
  error.help = "--memory-limit BYTES, a limit of your own, allows it; or give --input NAME=FILE";
  return error;
}

}  // namespace

Result<Value> random_value(const std::string& name, size_t position, const Fact& fact,
                           uint64_t seed) {
  if (fact.kind == Fact::Kind::optional) return random_value(name, position, *fact.element, seed);
  if (!fact.is_concrete() || fact.type == DType::undefined) {
    return fail("SDX-C0032",
                "input \"{}\" is {}: such a value cannot be drawn, give --input {}=FILE", name,
                fact.text(), name);
  }
  SDX_ASSIGN(const size_t count, element_count(fact.dims()));
  Tensor tensor = Tensor::make(fact.type, fact.dims());
  SplitMix random(seed ^ fnv1a(std::to_string(position)));
  const bool complex = is_complex(fact.type);
  const DType part = fact.type == DType::c64    ? DType::f32
                     : fact.type == DType::c128 ? DType::f64
                                                : fact.type;
  for (size_t i = 0; i < count * (complex ? 2 : 1); ++i) {
    Deadline::step();
    const uint64_t x = random.next();
    if (is_float(part)) {
      set_f64(part, tensor.raw(), i, static_cast<double>(x >> 40) / (1 << 23) - 1);
    } else if (part == DType::boolean) {
      tensor.data<bool>()[i] = x >> 63 != 0;
    } else if (part == DType::string) {
      tensor.data<std::string>()[i] = std::to_string((x >> 32) * 100 >> 32);
    } else {
      set_i64(part, tensor.raw(), i, static_cast<int64_t>((x >> 32) * ids(part) >> 32));
    }
  }
  return Value(std::move(tensor));
}

void InputFlags::add_to(CommandLine app) {
  app.option("--input", files,
             "an input's value: NAME=FILE, a .pb, .npy or .npz file; or FILE.npz, which gives each "
             "input the array of its name")
      .take_all();
  app.option("--random", seed, "draw the inputs that no file gives, from this seed");
  add_sizes_to(app);
}

void InputFlags::add_sizes_to(CommandLine app) {
  app.option("--set", sizes, "the size of a symbolic dimension: DIM=V").take_all();
  app.option("--assert", assertions,
             "what holds of symbolic dimensions, as in N<=512 or H%32==0; checked when they are "
             "known")
      .take_all();
}

// The initializer that an input has, if it has one.
static const model::TensorData* default_of(const model::Model& model, const std::string& name) {
  if (!model.graph || declared(model, name) == nullptr) return nullptr;
  for (const model::TensorData& init : model.graph->initializer) {
    if (init.name == name) return &init;
  }
  return nullptr;
}

// The place of each input among those that a caller must give.
static std::map<std::string, size_t> positions_of(const model::Model& model) {
  std::set<std::string_view> given;
  for (const model::TensorData& init : model.graph->initializer) given.insert(init.name);
  std::map<std::string, size_t> positions;
  size_t next = 0;
  for (const model::ValueInfo& input : model.graph->input) {
    positions.emplace(input.name, next);
    if (!given.contains(input.name)) ++next;
  }
  return positions;
}

Status InputFlags::complete(const model::Model& model, CompileOptions& options) const {
  SDX_ASSIGN(options.set, bindings(model));
  options.assertions = assertions;
  if (!model.graph) return ok();
  std::vector<std::string> names;
  for (const model::ValueInfo& input : model.graph->input) names.push_back(input.name);
  for (const std::string& text : files) {
    SDX_ASSIGN(const std::vector<Given> given, given_by(text, names));
    for (const auto& [name, path, archive] : given) {
      if (default_of(model, name) != nullptr) options.overridden.insert(name);
    }
  }
  for (const std::string& name : states) {
    if (default_of(model, name) != nullptr) options.overridden.insert(name);
  }
  return ok();
}

Result<Bindings> InputFlags::bindings(const model::Model& model) const {
  std::vector<std::string> symbols;
  if (model.graph) {
    for (const model::ValueInfo& input : model.graph->input) {
      if (!input.type) continue;
      const Fact fact = check::declared_fact(input);
      for (const Dim& dim : fact.shape.value_or(Shape{})) dim.symbols(symbols);
    }
  }
  Bindings bindings;
  for (const std::string& text : sizes) {
    SDX_ASSIGN(const auto pair, split(text, "DIM=V"));
    const auto& [name, number] = pair;
    int64_t size = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), size);
    if (error != std::errc{} || end != number.data() + number.size() || size < 0) {
      return fail("SDX-C0033", "--set {}: \"{}\" is not a size", text, number);
    }
    // Sizes that inference finds are named "?input.axis".
    if (!name.starts_with('?') &&
        std::find(symbols.begin(), symbols.end(), name) == symbols.end()) {
      return not_among("SDX-C0034", "no input has a dimension named", name, symbols);
    }
    bindings[name] = size;
  }
  return bindings;
}

Result<std::vector<Value>> InputFlags::values(const model::Model& model, const typed::Graph& graph,
                                              std::vector<std::string>* assumed,
                                              size_t step) const {
  std::vector<std::string> names;
  for (const typed::Outlet source : graph.inputs())
    names.push_back(graph.node(source.node).use.name);
  std::map<std::string, Value> given;
  std::map<std::string, size_t> seen;
  for (const std::string& text : files) {
    SDX_ASSIGN(const std::vector<Given> all, given_by(text, names));
    for (const Given& one : all) {
      if (std::find(names.begin(), names.end(), one.name) == names.end()) {
        return not_among("SDX-C0036", "the model has no input", one.name, names);
      }
      if (seen[one.name]++ > step) continue;
      SDX_ASSIGN(given[one.name], read_input(*declared(model, one.name), one));
    }
  }

  Bindings ones;
  std::map<std::string, size_t> positions = positions_of(model);
  std::vector<Value> values;
  for (size_t i = 0; i < names.size(); ++i) {
    Fact fact = graph.fact(graph.inputs()[i]);
    if (const auto at = given.find(names[i]); at != given.end()) {
      // Sizes that a file fixes hold for the inputs that are drawn.
      if (at->second.is_tensor() && fact.shape && fact.rank() == at->second.tensor().rank()) {
        for (size_t axis = 0; axis < fact.rank(); ++axis) {
          const auto solved = fact.dim(axis).solve(at->second.tensor().dims()[axis]);
          if (!fact.dim(axis).is_const() && solved) ones.insert(*solved);
        }
      }
    }
  }
  size_t drawn = 0;
  for (size_t i = 0; i < names.size(); ++i) {
    if (const auto at = given.find(names[i]); at != given.end()) {
      values.push_back(std::move(at->second));
      continue;
    }
    const bool kept = std::find(states.begin(), states.end(), names[i]) != states.end();
    if (const model::TensorData* given_by_model = kept ? default_of(model, names[i]) : nullptr) {
      SDX_ASSIGN(Tensor first, model::to_tensor(*given_by_model));
      values.emplace_back(std::move(first));
      continue;
    }
    if (!seed) {
      Error error = fail("SDX-C0037", "no value for input \"{}\"; the model takes {}", names[i],
                         listed(names));
      error.help = fmt::format("give --input {}=FILE, or --random SEED", names[i]);
      return error;
    }
    Fact fact = graph.fact(graph.inputs()[i]);
    if (fact.kind == Fact::Kind::optional) fact = Fact(*fact.element);
    if (fact.shape) {
      std::vector<std::string> symbols;
      for (const Dim& dim : *fact.shape) dim.symbols(symbols);
      for (const std::string& symbol : symbols) {
        if (ones.emplace(symbol, 1).second && assumed != nullptr) assumed->push_back(symbol);
      }
      for (Dim& dim : *fact.shape) dim = dim.bind(ones);
    }
    SDX_TRY(may_draw(fact, drawn));
    SDX_ASSIGN(Value value, random_value(names[i], positions[names[i]], fact, *seed));
    values.push_back(std::move(value));
  }
  return values;
}

}  // namespace sdx::cli
