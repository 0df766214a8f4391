#include "serve/span.h"

#include <netdb.h>
#include <openssl/rand.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace sardonyx::serve {
namespace {

struct Span {
  std::string trace, id, parent, model, version, error;
  uint64_t start_ns, end_ns, queue_ns, compute_ns;
  size_t batch;
};
std::mutex spans_mutex;
std::vector<Span> spans;               // guarded by spans_mutex
constexpr size_t kMostSpans = 10'000;  // a collector that is away costs spans, not memory

bool hex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

std::string random_hex(size_t bytes) {
  unsigned char data[16];
  RAND_bytes(data, static_cast<int>(bytes));
  static constexpr char kHex[] = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < bytes; ++i) {
    text += kHex[data[i] >> 4];
    text += kHex[data[i] & 15];
  }
  return text;
}

nlohmann::json attribute(const char* name, const std::string& value) {
  return {{"key", name}, {"value", {{"stringValue", value}}}};
}
nlohmann::json attribute(const char* name, uint64_t value) {
  return {{"key", name}, {"value", {{"intValue", std::to_string(value)}}}};
}

}  // namespace

std::optional<TraceParent> read_trace_parent(std::string_view text) {
  if (text.size() < 55 || text[2] != '-' || text[35] != '-' || text[52] != '-') return std::nullopt;
  const std::string_view version = text.substr(0, 2), trace = text.substr(3, 32),
                         parent = text.substr(36, 16), flags = text.substr(53, 2);
  if (!hex(version) || version == "ff" || !hex(trace) || !hex(parent) || !hex(flags))
    return std::nullopt;
  if (version == "00" && text.size() != 55) return std::nullopt;
  const auto zeros = [](std::string_view id) {
    return id.find_first_not_of('0') == std::string_view::npos;
  };
  if (zeros(trace) || zeros(parent)) return std::nullopt;
  const char low = flags[1];
  const int digit = low <= '9' ? low - '0' : low - 'a' + 10;
  return TraceParent{std::string(trace), std::string(parent), (digit & 1) != 0};
}

void note_span(const ServerSettings& settings, const Exchange& exchange, const Job& job,
               const Failure* failure) {
  if (settings.otlp.empty()) return;
  std::optional<TraceParent> parent = read_trace_parent(exchange.request.header("traceparent"));
  if (parent && !parent->sampled) return;
  if (!parent) {
    unsigned char byte[2];
    RAND_bytes(byte, 2);
    if ((byte[0] << 8 | byte[1]) >= settings.trace_rate * 65536) return;
    parent = TraceParent{random_hex(16), "", true};
  }
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto end_ns =
      static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
  const auto took =
      static_cast<uint64_t>(std::max<int64_t>(0, (Clock::now() - exchange.began).count()));
  const auto queued =
      static_cast<uint64_t>(std::max<int64_t>(0, (job.started - job.arrived).count()));
  const std::lock_guard lock(spans_mutex);
  if (spans.size() >= kMostSpans) return;
  spans.push_back({parent->trace, random_hex(8), parent->parent, job.model->name(),
                   job.model->version(), failure != nullptr ? failure->message : "", end_ns - took,
                   end_ns, queued, job.compute_ns, job.batch});
}

std::string take_spans() {
  std::vector<Span> taken;
  {
    const std::lock_guard lock(spans_mutex);
    taken.swap(spans);
  }
  if (taken.empty()) return "";
  nlohmann::json list = nlohmann::json::array();
  for (const Span& span : taken) {
    nlohmann::json one = {
        {"traceId", span.trace},
        {"spanId", span.id},
        {"name", "infer " + span.model},
        {"kind", 2},
        {"startTimeUnixNano", std::to_string(span.start_ns)},
        {"endTimeUnixNano", std::to_string(span.end_ns)},
        {"attributes",
         {attribute("model.name", span.model), attribute("model.version", span.version),
          attribute("queue.ns", span.queue_ns), attribute("compute.ns", span.compute_ns),
          attribute("batch.requests", span.batch)}},
        {"status", {{"code", span.error.empty() ? 1 : 2}}}};
    if (!span.parent.empty()) one["parentSpanId"] = span.parent;
    if (!span.error.empty()) one["status"]["message"] = span.error;
    list.push_back(std::move(one));
  }
  const nlohmann::json all = {
      {"resourceSpans",
       {{{"resource", {{"attributes", {attribute("service.name", std::string("sardonyx"))}}}},
         {"scopeSpans", {{{"scope", {{"name", "sardonyx.serve"}}}, {"spans", list}}}}}}}};
  return all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string send_spans(const std::string& url, const std::string& json) {
  constexpr std::string_view kScheme = "http://";
  if (!url.starts_with(kScheme))
    return "SDX-V0460: the collector's address is not http://HOST:PORT/PATH";
  const std::string rest = url.substr(kScheme.size());
  const size_t slash = std::min(rest.find('/'), rest.size()), colon = rest.rfind(':', slash);
  const bool has_port = colon != std::string::npos && colon < slash;
  const std::string host = rest.substr(0, has_port ? colon : slash),
                    port = has_port ? rest.substr(colon + 1, slash - colon - 1) : "4318";
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0)
    return "SDX-V0461: no such host: " + host;
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all(found, freeaddrinfo);
  const int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const timeval limit{2, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  std::string wrong = "SDX-V0462: the collector " + rest + " does not answer";
  if (connect(fd, found->ai_addr, found->ai_addrlen) == 0) {
    const std::string request =
        "POST " + (slash < rest.size() ? rest.substr(slash) : "/v1/traces") +
        " HTTP/1.1\r\nHost: " + host +
        "\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: " +
        std::to_string(json.size()) + "\r\n\r\n" + json;
    size_t sent = 0;
    ssize_t count = 1;
    while (sent < request.size() &&
           (count = send(fd, request.data() + sent, request.size() - sent, MSG_NOSIGNAL)) > 0)
      sent += static_cast<size_t>(count);
    char answer[16] = {};
    if (sent == request.size() && recv(fd, answer, sizeof answer - 1, MSG_WAITALL) >= 12) {
      wrong = answer[9] == '2' ? "" : "SDX-V0463: the collector says " + std::string(answer + 9, 3);
    }
  }
  close(fd);
  return wrong;
}

}  // namespace sardonyx::serve
