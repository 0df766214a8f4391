// --limit NAME=VALUE: what a model may ask for, one name per limit.
#include <charconv>

#include "command.h"
#include "standard_input.h"

namespace sdx::cli {
namespace {

struct NamedLimit {
  std::string_view name;
  size_t model::Limits::*limit;
};

using model::Limits;
constexpr NamedLimit kNamed[] = {{"file-bytes", &Limits::file_bytes},
                                 {"external-file-bytes", &Limits::external_file_bytes},
                                 {"nesting", &Limits::depth},
                                 {"nodes", &Limits::nodes},
                                 {"messages", &Limits::messages},
                                 {"elements", &Limits::elements},
                                 {"name-bytes", &Limits::name_bytes},
                                 {"string-bytes", &Limits::string_bytes},
                                 {"rank", &Limits::rank},
                                 {"tensor-bytes", &Limits::tensor_bytes},
                                 {"total-bytes", &Limits::total_bytes}};
constexpr std::string_view kInlined = "inlined-nodes";

// The value of NAME=VALUE if it is the one of this name.
std::optional<size_t> value_of(std::string_view given, std::string_view name) {
  if (!given.starts_with(name) || given.size() == name.size() || given[name.size()] != '=') {
    return std::nullopt;
  }
  given.remove_prefix(name.size() + 1);
  size_t value = 0;
  const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), value);
  if (error != std::errc() || end != given.data() + given.size()) return std::nullopt;
  return value;
}

}  // namespace

void LimitFlags::add_to(CommandLine app) {
  std::string names;
  for (const NamedLimit& named : kNamed) names += fmt::format("{}, ", named.name);
  app.option("--limit", given,
             fmt::format("NAME=VALUE, what the model may ask for: {}{}", names, kInlined))
      .take_all();
}

Result<model::Limits> LimitFlags::reading() const {
  model::Limits limits;
  for (const std::string& one : given) {
    bool known = value_of(one, kInlined).has_value();
    for (const NamedLimit& named : kNamed) {
      const auto value = value_of(one, named.name);
      if (value) limits.*named.limit = *value;
      known = known || value;
    }
    if (!known) return fail("SDX-C0005", "--limit {}: no NAME=VALUE of a limit (-h)", one);
  }
  return limits;
}

size_t LimitFlags::most_nodes() const {
  size_t most = CompileOptions{}.most_nodes;
  for (const std::string& one : given) most = value_of(one, kInlined).value_or(most);
  return most;
}

Result<std::shared_ptr<const model::Model>> LimitFlags::read(const std::string& path) const {
  SDX_ASSIGN(const model::Limits limits, reading());
  return path == "-" ? read_standard_input(limits) : model::read_file(path, limits);
}

}  // namespace sdx::cli
