#include "serve/queue/jetstream.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "serve/queue/objects.h"

namespace sardonyx::serve {
namespace {

using namespace std::chrono_literals;
using Json = nlohmann::json;

constexpr int kNobody = 503;  // no one answers a subject: JetStream is not there
constexpr int kNoStream = 10059, kWrongSequence = 10071, kMostPerSubject = 10077;

// A call of the API: its answer, or its error as {code, description}.
struct ApiError {
  int code = 0;
  std::string text;
};
Outcome<Json> call(Nats& nats, const std::string& api, const Json& payload, ApiError& error) {
  auto answer = nats.request("$JS.API." + api, payload.is_null() ? "" : payload.dump(), 5s);
  if (!answer) return answer.failure();
  if (answer->status == kNobody)
    return Failure{Kind::unavailable, "SDX-V0620: the server has no JetStream (nats-server -js)"};
  Json json = Json::parse(answer->payload, nullptr, false);
  if (!json.is_object())
    return Failure{Kind::unavailable, "SDX-V0621: " + api + ": the answer is no JSON"};
  if (json.contains("error")) {
    error.code = json["error"].value("err_code", -1);
    error.text = json["error"].value("description", "");
  }
  return json;
}

std::optional<Failure> need_stream(Nats& nats, const std::string& name, const Json& otherwise) {
  ApiError error;
  auto info = call(nats, "STREAM.INFO." + name, nullptr, error);
  if (!info) return info.failure();
  if (error.code == 0) return std::nullopt;
  if (error.code != kNoStream)
    return Failure{Kind::unavailable, "SDX-V0622: stream " + name + ": " + error.text};
  if (otherwise.is_null()) {
    return Failure{Kind::not_found, "SDX-V0623: there is no stream \"" + name +
                                        "\"; --create makes one, of the subjects " + name +
                                        " and " + name + ".>"};
  }
  ApiError wrong;
  auto made = call(nats, "STREAM.CREATE." + name, otherwise, wrong);
  if (!made) return made.failure();
  if (wrong.code != 0)
    return Failure{Kind::bad_request,
                   "SDX-V0624: stream " + name + " cannot be made: " + wrong.text};
  return std::nullopt;
}

// A stream that holds one message for each subject, the first.
Json one_each(const std::string& name, const std::string& subjects) {
  return {{"name", name},     {"subjects", {subjects}},    {"storage", "file"},
          {"discard", "new"}, {"max_msgs_per_subject", 1}, {"discard_new_per_subject", true}};
}

}  // namespace

std::string results_stream(const QueueSettings& settings) { return settings.stream + "_results"; }
std::string dead_stream(const QueueSettings& settings) { return settings.stream + "_dead"; }
std::string result_subject(const QueueSettings& settings, const std::string& token) {
  return "results." + settings.stream + "." + token;
}
std::string dead_subject(const QueueSettings& settings, const std::string& token) {
  return "dead." + settings.stream + "." + token;
}

bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= 128 &&
         std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-'; });
}

std::optional<Failure> prepare_streams(Nats& nats, const QueueSettings& settings) {
  const std::string& stream = settings.stream;
  const Json made = {{"name", stream}, {"subjects", {stream, stream + ".>"}}, {"storage", "file"}};
  if (auto failure = need_stream(nats, stream, settings.create ? made : Json())) return failure;
  const std::string results = results_stream(settings), dead = dead_stream(settings);
  if (auto failure = need_stream(nats, results, one_each(results, result_subject(settings, ">"))))
    return failure;
  if (auto failure = need_stream(nats, dead, one_each(dead, dead_subject(settings, ">"))))
    return failure;
  const Json consumer = {{"stream_name", stream},
                         {"config",
                          {{"durable_name", settings.consumer},
                           {"ack_policy", "explicit"},
                           {"deliver_policy", "all"},
                           {"replay_policy", "instant"},
                           {"max_ack_pending", 65536},
                           {"max_deliver", -1},  // the worker counts, and keeps the last one
                           {"ack_wait", int64_t(settings.ack_wait_s * 1e9)}}}};
  ApiError error;
  auto answer =
      call(nats, "CONSUMER.DURABLE.CREATE." + stream + "." + settings.consumer, consumer, error);
  if (!answer) return answer.failure();
  if (error.code != 0)
    return Failure{Kind::bad_request,
                   "SDX-V0625: consumer " + settings.consumer + ": " + error.text};
  return std::nullopt;
}

Outcome<bool> all_done(Nats& nats, const QueueSettings& settings) {
  ApiError error;
  auto info =
      call(nats, "CONSUMER.INFO." + settings.stream + "." + settings.consumer, nullptr, error);
  if (!info) return info.failure();
  if (error.code != 0)
    return Failure{Kind::unavailable,
                   "SDX-V0626: consumer " + settings.consumer + ": " + error.text};
  return info->value("num_pending", 1) == 0 && info->value("num_ack_pending", 1) == 0;
}

// $JS.ACK.STREAM.CONSUMER.DELIVERIES.SEQUENCE.CONSUMER_SEQUENCE.TIME.PENDING, or with a domain and
// an account behind ACK.
std::optional<DeliveryInfo> delivery_of(std::string_view subject) {
  std::vector<std::string_view> words;
  for (size_t at = 0; at <= subject.size();) {
    const size_t end = std::min(subject.find('.', at), subject.size());
    words.push_back(subject.substr(at, end - at));
    at = end + 1;
  }
  if (words.size() < 9 || words[0] != "$JS" || words[1] != "ACK") return std::nullopt;
  const size_t first = words.size() >= 11 ? 6 : 4;
  DeliveryInfo info;
  const auto number = [](std::string_view word, int64_t& value) {
    const auto [end, error] = std::from_chars(word.begin(), word.end(), value);
    return error == std::errc() && end == word.end();
  };
  if (!number(words[first], info.deliveries) || !number(words[first + 1], info.sequence))
    return std::nullopt;
  return info;
}

std::string token_of(std::string_view id) {
  return is_name(id) ? std::string(id) : "sha256-" + sha256_of({id});
}

Published published(const NatsMessage& answer, std::string& reason) {
  if (answer.status == kNobody) return Published::nobody;
  const Json json = Json::parse(answer.payload, nullptr, false);
  if (!json.is_object()) {
    reason = "the answer is no JSON";
    return Published::refused;
  }
  if (!json.contains("error")) return Published::stored;
  const int code = json["error"].value("err_code", -1);
  reason = json["error"].value("description", "");
  const bool was_there = code == kWrongSequence || code == kMostPerSubject;
  return was_there ? Published::was_there : Published::refused;
}

}  // namespace sardonyx::serve
