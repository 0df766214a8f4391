#include "serve/rest.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "serve/http/zip.h"
#include "serve/oip/json.h"
#include "serve/tuning.h"

namespace sardonyx::serve {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

std::string decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && hex_digit(text[i + 1]) >= 0 &&
        hex_digit(text[i + 2]) >= 0) {
      out += static_cast<char>(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2]));
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

std::vector<std::string> words_of(std::string_view path) {
  std::vector<std::string> words;
  while (!path.empty()) {
    path.remove_prefix(path.front() == '/' ? 1 : 0);
    const size_t end = std::min(path.find('/'), path.size());
    if (end > 0) words.push_back(decoded(path.substr(0, end)));
    path.remove_prefix(end);
  }
  return words;
}

// The model of "/v2/models/M/infer", which is most of all calls and needs no list of words; "" of
// others, and where the name is encoded.
std::string_view plain_infer(std::string_view path) {
  constexpr std::string_view kBefore = "/v2/models/", kBehind = "/infer";
  if (path.size() <= kBefore.size() + kBehind.size() || !path.starts_with(kBefore) ||
      !path.ends_with(kBehind)) {
    return {};
  }
  path.remove_prefix(kBefore.size());
  path.remove_suffix(kBehind.size());
  return path.find_first_of("/%") == std::string_view::npos ? path : std::string_view();
}

Failure no_such_page(const Request& request) {
  return {Kind::not_found, "SDX-V0150: there is nothing at " + std::string(request.path)};
}

Response text_response(std::string_view type, std::string text) {
  Response response;
  response.content_type = type;
  response.text = std::move(text);
  return response;
}

}  // namespace

Response response_of(const Failure& failure) {
  Response response;
  response.status = http_status(failure.kind);
  response.text = "{\"error\":";
  append_json_string(response.text, failure.message);
  response.text += '}';
  if (failure.retry_after_s > 0) {
    response.headers.emplace_back("Retry-After", std::to_string(failure.retry_after_s));
  }
  if (failure.kind == Kind::unauthorized)
    response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

void answer(const ExchangePtr& exchange, const Failure& failure) {
  exchange->respond(response_of(failure));
}

void answer(const ExchangePtr& exchange, std::string json) {
  Response response;
  response.text = std::move(json);
  exchange->respond(std::move(response));
}

bool Rest::refused(const ExchangePtr& exchange, Group group, std::string_view method) {
  const Request& request = exchange->request;
  if (request.method != method && !(method == "GET" && request.method == "HEAD")) {
    Response response = response_of(
        {Kind::wrong_method, "SDX-V0151: this call is made with " + std::string(method)});
    response.headers.emplace_back("Allow", method);
    exchange->respond(std::move(response));
    return true;
  }
  if (auto failure = core_.refusal(request, group)) {
    answer(exchange, *failure);
    return true;
  }
  return false;
}

void Rest::handle(const ExchangePtr& exchange) {
  add(core_.requests);
  if (const std::string_view model = plain_infer(exchange->request.path); !model.empty())
    return infer(exchange, {{}, std::string(model), ""});
  Call call{words_of(exchange->request.path), "", ""};
  const Words& words = call.words;
  if (words.empty()) {
    if (refused(exchange, Group::open, "GET")) return;
    Response page = text_response("text/html; charset=utf-8", std::string(page_html()));
    page.headers.emplace_back(
        "Content-Security-Policy",
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
        "connect-src 'self'; img-src data:; frame-ancestors 'none'");
    page.headers.emplace_back("X-Content-Type-Options", "nosniff");
    return exchange->respond(std::move(page));
  }
  if (words[0] == "v2") return v2(exchange, call);
  if (words.size() == 1 && words[0] == "metrics") {
    if (refused(exchange, Group::look, "GET")) return;
    return exchange->respond(
        text_response("text/plain; version=0.0.4; charset=utf-8", metrics_text(core_)));
  }
  if (words.size() == 1 && words[0] == "status") {
    if (refused(exchange, Group::look, "GET")) return;
    return answer(exchange, status_json(core_));
  }
  answer(exchange, no_such_page(exchange->request));
}

void Rest::v2(const ExchangePtr& exchange, Call& call) {
  const Words& words = call.words;
  if (words.size() == 1) {
    if (refused(exchange, Group::open, "GET")) return;
    return answer(exchange, server_metadata());
  }
  if (words[1] == "health") return health(exchange, call);
  if (words[1] == "models") return models(exchange, call);
  if (words[1] == "repository") return repository(exchange, call);
  if (words[1] == "logging" || words[1] == "trace") return settings(exchange, call);
  if (words[1] == "systemsharedmemory") return shared_memory(exchange, call);
  if (words[1] == "cudasharedmemory") {
    return answer(exchange, Failure{Kind::unimplemented,
                                    "SDX-V0156: this server has no GPU's shared memory"});
  }
  answer(exchange, no_such_page(exchange->request));
}

void Rest::health(const ExchangePtr& exchange, const Call& call) {
  if (refused(exchange, Group::open, "GET")) return;
  const bool live = call.words.size() == 3 && call.words[2] == "live";
  const bool ready = call.words.size() == 3 && call.words[2] == "ready";
  if (!live && !ready) return answer(exchange, no_such_page(exchange->request));
  const bool good = live || core_.ready();
  Response response;
  response.status = good ? 200 : 503;
  response.text = live ? "{\"live\":true}" : good ? "{\"ready\":true}" : "{\"ready\":false}";
  exchange->respond(std::move(response));
}

// /v2/models, /v2/models/stats, /v2/models/M[/versions/V][/CALL]
void Rest::models(const ExchangePtr& exchange, Call& call) {
  const Words& words = call.words;
  if (words.size() == 2 || (words.size() == 3 && words[2] == "stats")) {
    if (refused(exchange, Group::look, "GET")) return;
    if (words.size() == 3) return answer(exchange, model_statistics(core_.repository.index()));
    nlohmann::json names = nlohmann::json::array();
    for (const Entry& entry : core_.repository.index()) {
      if (names.empty() || names.back() != entry.name) names.push_back(entry.name);
    }
    return answer(exchange, nlohmann::json{{"models", names}}.dump());
  }
  call.model = words[2];
  size_t at = 3;
  if (words.size() > 4 && words[3] == "versions") {
    call.version = words[4];
    at = 5;
  }
  const std::string what = words.size() > at ? words[at] : "";
  if (what == "infer" && words.size() == at + 1) return infer(exchange, call);
  if (what == "trace" && words.size() == at + 2) return settings(exchange, call);
  if (words.size() > at + 1) return answer(exchange, no_such_page(exchange->request));
  const auto model = core_.repository.find(call.model, call.version);
  if (what == "ready") {
    if (refused(exchange, Group::open, "GET")) return;
    Response response;
    response.status = model ? 200 : http_status(model.failure().kind);
    nlohmann::json body = {{"name", call.model}, {"ready", static_cast<bool>(model)}};
    if (!model) body["error"] = model.failure().message;
    response.text = body.dump();
    return exchange->respond(std::move(response));
  }
  if (refused(exchange, Group::look, "GET")) return;
  if (!model) return answer(exchange, model.failure());
  std::vector<Entry> same;
  std::vector<std::string> versions;
  for (const Entry& entry : core_.repository.index()) {
    if (entry.name != call.model) continue;
    versions.push_back(entry.version);
    if (call.version.empty() || entry.version == (*model)->version()) same.push_back(entry);
  }
  if (what.empty()) return answer(exchange, model_metadata(**model, versions));
  if (what == "stats") return answer(exchange, model_statistics(same));
  if (what == "config") {
    auto config = nlohmann::json::parse(text_of((*model)->settings()));
    config["name"] = (*model)->name();
    config["platform"] = "onnx_sardonyx";
    config["batched"] = (*model)->batching().possible;
    if (!(*model)->batching().possible) config["not_batched_because"] = (*model)->batching().reason;
    return answer(exchange, config.dump());
  }
  answer(exchange, no_such_page(exchange->request));
}

void Rest::infer(const ExchangePtr& exchange, const Call& call) {
  if (refused(exchange, Group::infer, "POST")) return;
  auto model = core_.repository.find(call.model, call.version);
  if (!model) return answer(exchange, model.failure());
  auto request = read_infer(*exchange, **model, core_.settings.http.body_bytes, core_.regions);
  if (!request) {
    add(core_.bad_requests);
    add((*model)->statistics.failed);
    return answer(exchange, request.failure());
  }
  request->model = call.model;
  request->version = call.version;
  request->alive = exchange;
  const bool zip =
      exchange->request.header("accept-encoding").find("gzip") != std::string_view::npos;
  core_.infer(exchange, *std::move(model), *std::move(request),
              [zip](Outcome<InferResult> outcome, const InferRequest& asked) {
                if (!outcome) return response_of(outcome.failure());
                Response response = infer_json(*std::move(outcome), asked);
                if (zip && response.pieces.empty() && response.text.size() > 1024) {
                  response.text = zipped(response.text);
                  response.headers.emplace_back("Content-Encoding", "gzip");
                }
                return response;
              });
}

// POST /v2/repository/index, /v2/repository/models/M/load and unload
void Rest::repository(const ExchangePtr& exchange, const Call& call) {
  const Words& words = call.words;
  const auto body = nlohmann::json::parse(exchange->request.body.view(), nullptr, false);
  if (words.size() == 3 && words[2] == "index") {
    if (refused(exchange, Group::look, "POST")) return;
    const bool ready_only = body.is_object() && body.value("ready", nlohmann::json()) == true;
    return answer(exchange, repository_index(core_.repository.index(), ready_only));
  }
  const bool load = words.size() == 5 && words[4] == "load",
             unload = words.size() == 5 && words[4] == "unload";
  if (words.size() != 5 || words[2] != "models" || (!load && !unload)) {
    return answer(exchange, no_such_page(exchange->request));
  }
  if (refused(exchange, Group::manage, "POST")) return;
  if (!core_.settings.model_control) {
    return answer(
        exchange,
        Failure{Kind::forbidden,
                "SDX-V0153: models are loaded and unloaded by calls only with --model-control"});
  }
  std::string config;
  if (body.is_object() && body.contains("parameters") && body["parameters"].is_object()) {
    const auto& given = body["parameters"].value("config", nlohmann::json());
    if (given.is_string()) config = given.get<std::string>();
  }
  core_.control(exchange, load, words[3], config,
                [exchange](const std::optional<Failure>& failure) {
                  if (failure) return answer(exchange, *failure);
                  answer(exchange, "{}");
                });
}

// GET /v2/systemsharedmemory[/region/R]/status, POST .../register and .../unregister
void Rest::shared_memory(const ExchangePtr& exchange, const Call& call) {
  const Words& words = call.words;
  const bool one = words.size() == 5 && words[2] == "region";
  if (!one && words.size() != 3) return answer(exchange, no_such_page(exchange->request));
  const std::string name = one ? words[3] : "", &what = words.back();
  if (what == "status") {
    if (refused(exchange, Group::look, "GET")) return;
    const auto regions = core_.regions.list(name);
    if (!regions) return answer(exchange, regions.failure());
    nlohmann::json all = nlohmann::json::array();
    for (const Region& region : *regions) {
      all.push_back({{"name", region.name},
                     {"key", region.key},
                     {"offset", region.offset},
                     {"byte_size", region.bytes}});
    }
    return answer(exchange, all.dump());
  }
  if (what != "unregister" && !(one && what == "register"))
    return answer(exchange, no_such_page(exchange->request));
  if (refused(exchange, Group::manage, "POST")) return;
  std::optional<Failure> failure;
  if (what == "unregister") {
    failure = core_.regions.remove(name);
  } else {
    const auto body = nlohmann::json::parse(exchange->request.body.view(), nullptr, false);
    const auto given = [&](const char* field) {
      return body.is_object() && body.contains(field) ? body[field] : nlohmann::json();
    };
    const auto key = given("key"), bytes = given("byte_size"), offset = given("offset");
    if (!key.is_string() || !bytes.is_number_unsigned() ||
        !(offset.is_null() || offset.is_number_unsigned())) {
      failure = Failure{Kind::bad_request,
                        "SDX-V0157: a region needs \"key\", a string, and \"byte_size\", a count; "
                        "\"offset\" is a count if it is there"};
    } else {
      failure =
          core_.regions.add({name, key.get<std::string>(),
                             offset.is_null() ? 0 : offset.get<uint64_t>(), bytes.get<uint64_t>()});
    }
  }
  failure ? answer(exchange, *failure) : answer(exchange, "{}");
}

// /v2/logging and /v2/trace/setting, also of one model
void Rest::settings(const ExchangePtr& exchange, const Call& call) {
  const bool post = exchange->request.method == "POST";
  if (refused(exchange, post ? Group::manage : Group::look, post ? "POST" : "GET")) return;
  const bool logging = call.words[1] == "logging";
  if (post) {
    const auto body = nlohmann::json::parse(exchange->request.body.view(), nullptr, false);
    std::optional<Failure> failure;
    if (!logging) {
      failure = Failure{Kind::unimplemented, "SDX-V0155: tracing is set when the server starts"};
    } else if (!body.is_object()) {
      failure = Failure{Kind::bad_request, "SDX-V0158: the settings are not a JSON object"};
    } else {
      Tuning tuning;
      for (const auto& [name, value] : body.items()) {
        tuning.emplace_back(name, value.is_boolean()          ? Parameter(value.get<bool>())
                                  : value.is_number_integer() ? Parameter(value.get<int64_t>())
                                  : value.is_string()         ? Parameter(value.get<std::string>())
                                                              : Parameter(0.0));
      }
      failure = set_log(tuning);
    }
    if (failure) return answer(exchange, *failure);
  }
  nlohmann::json now = nlohmann::json::object();
  for (const auto& [name, value] : logging ? log_tuning() : trace_tuning(core_.settings)) {
    std::visit([&to = now[name]](const auto& plain) { to = plain; }, value);
  }
  answer(exchange, now.dump());
}

}  // namespace sardonyx::serve
