#include "serve/model/settings.h"

#include <nlohmann/json.hpp>

namespace sardonyx::serve {
namespace {

using nlohmann::json;

void set(ModelSettings& to, const std::string& name, const json& value) {
  if (name == "threads") {
    to.threads = value.get<int>();
  } else if (name == "concurrency") {
    to.concurrency = value.get<size_t>();
  } else if (name == "queue") {
    to.queue = value.get<size_t>();
  } else if (name == "batching") {
    to.batching = value.get<bool>();
  } else if (name == "most_rows") {
    to.most_rows = std::max<size_t>(1, value.get<size_t>());
  } else if (name == "numerics") {
    const std::string level = value.get<std::string>();
    if (level != "strict" && level != "standard") throw std::runtime_error("standard or strict");
    to.strict = level == "strict";
  } else if (name == "arena_bytes") {
    to.arena_bytes = value.get<size_t>();
  } else if (name == "warm_up") {
    to.warm_up = value.get<bool>();
  } else if (name == "timeout_us") {
    to.timeout_us = value.get<int64_t>();
  } else if (name == "sha256") {
    to.sha256 = value.get<std::string>();
  } else if (name == "pack_cache") {
    to.pack_cache = value.get<std::string>();
  } else if (name == "states") {
    to.states.clear();
    for (const auto& [output, input] : value.items()) to.states.emplace_back(output, input);
  } else if (name == "labels") {
    for (const auto& [label, version] : value.items()) {
      to.labels[label] = version.is_string() ? version.get<std::string>() : version.dump();
    }
  } else if (name == "versions") {
    if (value.is_string() && value == "all") {
      to.latest = 0;
    } else if (value.is_object()) {
      to.latest = value.at("latest").get<size_t>();
    } else {
      to.versions = value.get<std::vector<int64_t>>();
    }
  } else {
    throw std::runtime_error("there is no such setting");
  }
}

}  // namespace

Outcome<ModelSettings> read_model_settings(std::string_view text, ModelSettings settings) {
  const json object = json::parse(text, nullptr, false);
  if (!object.is_object()) {
    return Failure{Kind::bad_request, "SDX-V0401: the settings are not a JSON object"};
  }
  for (const auto& [name, value] : object.items()) {
    try {
      set(settings, name, value);
    } catch (const std::exception& error) {
      return Failure{Kind::bad_request,
                     "SDX-V0402: setting \"" + name + "\" = " + value.dump() + ": " + error.what()};
    }
  }
  return settings;
}

std::string text_of(const ModelSettings& settings) {
  json object = {{"threads", settings.threads},
                 {"concurrency", settings.concurrency},
                 {"queue", settings.queue},
                 {"batching", settings.batching},
                 {"most_rows", settings.most_rows},
                 {"numerics", settings.strict ? "strict" : "standard"},
                 {"arena_bytes", settings.arena_bytes},
                 {"warm_up", settings.warm_up},
                 {"timeout_us", settings.timeout_us},
                 {"labels", settings.labels}};
  json states = json::object();
  for (const auto& [output, input] : settings.states) states[output] = input;
  object["states"] = states;
  if (!settings.versions.empty()) {
    object["versions"] = settings.versions;
  } else if (settings.latest == 0) {
    object["versions"] = "all";
  } else {
    object["versions"] = {{"latest", settings.latest}};
  }
  if (!settings.sha256.empty()) object["sha256"] = settings.sha256;
  return object.dump();
}

}  // namespace sardonyx::serve
