#include "serve/settings.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "serve/yaml/yaml.h"

namespace sardonyx::serve {
namespace {

using nlohmann::json;

Token token_of(const json& object) {
  Token token;
  for (const auto& [name, value] : object.items()) {
    if (name == "sha256") {
      token.sha256 = value.get<std::string>();
    } else if (name == "token") {
      token.value = value.get<std::string>();
    } else if (name == "calls") {
      for (const json& call : value) {
        if (call == "infer") {
          token.infer = true;
        } else if (call == "manage") {
          token.manage = true;
        } else if (call == "look") {
          token.look = true;
        } else {
          throw std::runtime_error("calls are infer, manage and look, not " + call.dump());
        }
      }
    } else {
      throw std::runtime_error("a token has sha256 or token, and calls; not \"" + name + "\"");
    }
  }
  if (token.sha256.empty() == token.value.empty())
    throw std::runtime_error("a token has either sha256 or token");
  return token;
}

void set_limit(HttpLimits& to, const std::string& name, const json& value) {
  if (name == "head_bytes") {
    to.head_bytes = value.get<size_t>();
  } else if (name == "headers") {
    to.headers = value.get<size_t>();
  } else if (name == "body_bytes") {
    to.body_bytes = value.get<size_t>();
  } else if (name == "head_seconds") {
    to.head_time = std::chrono::milliseconds(static_cast<int64_t>(value.get<double>() * 1000));
  } else if (name == "idle_seconds") {
    to.idle_time = std::chrono::milliseconds(static_cast<int64_t>(value.get<double>() * 1000));
  } else if (name == "slow_bytes_per_second") {
    to.slow_bytes_per_s = value.get<size_t>();
  } else if (name == "streams") {
    to.streams = value.get<size_t>();
  } else if (name == "connections") {
    to.connections = value.get<size_t>();
  } else {
    throw std::runtime_error("there is no limit \"" + name + "\"");
  }
}

ModelSettings model_settings(const json& value, const ModelSettings& base) {
  auto read = read_model_settings(value.dump(), base);
  if (!read) throw std::runtime_error(read.failure().message);
  return *read;
}

void set(ServerSettings& to, const std::string& name, const json& value) {
  if (name == "host") {
    to.host = value.get<std::string>();
  } else if (name == "port") {
    to.port = value.get<int>();
  } else if (name == "reactors") {
    to.reactors = value.get<size_t>();
  } else if (name == "workers") {
    to.workers = value.get<size_t>();
  } else if (name == "look_microseconds") {
    to.look_us = value.get<int64_t>();
  } else if (name == "poll_seconds") {
    to.poll_s = value.get<double>();
  } else if (name == "drain_seconds") {
    to.drain_s = value.get<double>();
  } else if (name == "model_control") {
    to.model_control = value.get<bool>();
  } else if (name == "working_memory_bytes") {
    to.working_memory = value.get<size_t>();
  } else if (name == "shared_memory") {
    to.shared_memory = value.get<bool>();
  } else if (name == "pack_cache") {
    to.pack_cache = value.get<std::string>();
  } else if (name == "record") {
    to.record = value.get<std::string>();
  } else if (name == "otlp") {
    to.otlp = value.get<std::string>();
  } else if (name == "trace_rate") {
    to.trace_rate = value.get<double>();
  } else if (name == "tls") {
    to.tls.certificate = value.at("certificate").get<std::string>();
    to.tls.key = value.at("key").get<std::string>();
    to.tls.client_authority = value.value("client_authority", "");
  } else if (name == "tokens") {
    for (const json& token : value) to.tokens.push_back(token_of(token));
  } else if (name == "limits") {
    for (const auto& [limit, number] : value.items()) set_limit(to.http, limit, number);
  } else if (name == "defaults") {
    to.defaults = model_settings(value, to.defaults);
  } else if (name != "models") {  // read once the defaults are known
    throw std::runtime_error("there is no such setting");
  }
}

}  // namespace

std::optional<Failure> ServerSettings::read_file(const std::string& path) {
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  auto read = read_settings_text(text, path);
  if (!read) return Failure{Kind::bad_request, path + ": " + read.failure().message};
  const json object = *std::move(read);
  if (!file || !object.is_object()) {
    return Failure{Kind::bad_request,
                   "SDX-V0440: " + path + " does not hold settings by their names"};
  }
  std::string at;
  try {
    for (const auto& [name, value] : object.items()) set(*this, at = name, value);
    if (object.contains("models")) {
      for (const auto& [name, value] : object["models"].items()) {
        at = "models." + name;
        by_model[name] = model_settings(value, defaults);
      }
    }
  } catch (const std::exception& error) {
    return Failure{Kind::bad_request, "SDX-V0441: " + path + ": \"" + at + "\": " + error.what()};
  }
  return std::nullopt;
}

}  // namespace sardonyx::serve
