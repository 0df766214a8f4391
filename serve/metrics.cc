// Prometheus metrics, and what the page at / shows.
#include <malloc.h>
#include <unistd.h>

#include <cstdio>
#include <nlohmann/json.hpp>

#include "serve/rest.h"

namespace sardonyx::serve {
namespace {

uint64_t resident_bytes() {
  unsigned long long total = 0, resident = 0;  // NOLINT: fscanf's types
  if (FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%llu %llu", &total, &resident) != 2) resident = 0;
    std::fclose(file);
  }
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

std::string escaped(std::string_view label) {
  std::string out;
  for (const char c : label) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out;
}

struct Page {
  std::string text;

  void about(std::string_view name, std::string_view type, std::string_view help) {
    text.append("# HELP ").append(name).append(" ").append(help).append("\n# TYPE ");
    text.append(name).append(" ").append(type).append("\n");
  }
  void line(std::string_view name, const std::string& labels, const std::string& value) {
    text.append(name);
    if (!labels.empty()) text.append("{").append(labels).append("}");
    text.append(" ").append(value).append("\n");
  }
  void histogram(std::string_view name, const std::string& labels, const Histogram& histogram) {
    const std::string bucket = std::string(name) + "_bucket";
    uint64_t below = 0;
    for (size_t i = 0; i < Histogram::kBuckets; ++i) {
      below += histogram.bucket(i);
      char bound[32];
      std::snprintf(bound, sizeof bound, "%g", static_cast<double>(uint64_t{1} << i) * 1e-6);
      line(bucket, labels + ",le=\"" + bound + '"', std::to_string(below));
    }
    below += histogram.bucket(Histogram::kBuckets);
    line(bucket, labels + ",le=\"+Inf\"", std::to_string(below));
    line(std::string(name) + "_sum", labels,
         std::to_string(static_cast<double>(histogram.sum_ns()) * 1e-9));
    line(std::string(name) + "_count", labels, std::to_string(below));
  }
};

std::string labels_of(const Entry& entry) {
  return "model=\"" + escaped(entry.name) + "\",version=\"" + escaped(entry.version) + '"';
}

}  // namespace

std::string metrics_text(const Core& core) {
  Page page;
  const std::vector<Entry> entries = core.repository.index();
  const auto each = [&](std::string_view name, std::string_view help, const auto& value) {
    page.about(name, "counter", help);
    for (const Entry& entry : entries) {
      if (entry.model)
        page.line(name, labels_of(entry), std::to_string(value(entry.model->statistics)));
    }
  };
  page.about("sardonyx_inference_requests_total", "counter", "Inferences by result");
  for (const Entry& entry : entries) {
    if (!entry.model) continue;
    const Statistics& counts = entry.model->statistics;
    const std::pair<const char*, uint64_t> results[] = {{"success", counts.request.count()},
                                                        {"failure", counts.failed},
                                                        {"rejected", counts.rejected},
                                                        {"cancelled", counts.cancelled},
                                                        {"deadline", counts.expired}};
    for (const auto& [result, count] : results) {
      page.line("sardonyx_inference_requests_total", labels_of(entry) + ",result=\"" + result + '"',
                std::to_string(count));
    }
  }
  each("sardonyx_inference_rows_total", "Rows inferred",
       [](const Statistics& s) { return s.rows.load(); });
  each("sardonyx_inference_executions_total", "Runs of the engine",
       [](const Statistics& s) { return s.executions.load(); });
  const std::pair<const char*, Histogram Statistics::*> times[] = {
      {"request", &Statistics::request},
      {"queue", &Statistics::queue},
      {"compute", &Statistics::compute}};
  for (const auto& [what, member] : times) {
    const std::string name = std::string("sardonyx_inference_") + what + "_seconds";
    page.about(name, "histogram", "Seconds of an inference");
    for (const Entry& entry : entries) {
      if (entry.model) page.histogram(name, labels_of(entry), entry.model->statistics.*member);
    }
  }
  page.about("sardonyx_model_waiting", "gauge", "Requests that wait");
  page.about("sardonyx_model_ready", "gauge", "1: answers requests");
  for (const Entry& entry : entries) {
    if (entry.model)
      page.line("sardonyx_model_waiting", labels_of(entry),
                std::to_string(entry.model->waiting.load()));
    page.line("sardonyx_model_ready", labels_of(entry), entry.model ? "1" : "0");
  }
  if (core.repository.budget().on()) {
    page.about("sardonyx_working_memory_bytes", "gauge", "Working memory counted for runs");
    page.line("sardonyx_working_memory_bytes", "", std::to_string(core.repository.budget().used()));
    page.about("sardonyx_working_memory_limit_bytes", "gauge", "Working memory that runs may hold");
    page.line("sardonyx_working_memory_limit_bytes", "",
              std::to_string(core.repository.budget().bytes()));
  }
  page.about("sardonyx_connections", "gauge", "Open connections");
  page.line("sardonyx_connections", "", std::to_string(core.shared.connections.load()));
  page.about("sardonyx_connections_refused_total", "counter", "Connections over the limit");
  page.line("sardonyx_connections_refused_total", "",
            std::to_string(core.shared.refused_connections.load()));
  page.about("sardonyx_http_requests_total", "counter", "HTTP requests and gRPC calls");
  page.line("sardonyx_http_requests_total", "", std::to_string(core.requests.load()));
  page.about("sardonyx_bad_requests_total", "counter", "Requests that could not be read");
  page.line("sardonyx_bad_requests_total", "", std::to_string(core.bad_requests.load()));
  page.about("process_resident_memory_bytes", "gauge", "Resident memory");
  page.line("process_resident_memory_bytes", "", std::to_string(resident_bytes()));
  page.about("sardonyx_ready", "gauge", "1: all models are ready");
  page.line("sardonyx_ready", "", core.ready() ? "1" : "0");
  return std::move(page.text);
}

std::string status_json(const Core& core) {
  nlohmann::json models = nlohmann::json::array();
  for (const Entry& entry : core.repository.index()) {
    nlohmann::json one = {{"name", entry.name},
                          {"version", entry.version},
                          {"state", entry.state},
                          {"reason", entry.reason}};
    if (entry.model) {
      const Statistics& counts = entry.model->statistics;
      one["requests"] = counts.request.count();
      one["failures"] = counts.failed.load() + counts.expired.load() + counts.rejected.load();
      one["rows"] = counts.rows.load();
      one["executions"] = counts.executions.load();
      one["waiting"] = entry.model->waiting.load();
      one["p50_us"] = counts.request.quantile_us(0.5);
      one["p99_us"] = counts.request.quantile_us(0.99);
      one["batched"] = entry.model->batching().possible;
      one["not_batched_because"] = entry.model->batching().reason;
      one["metadata"] = nlohmann::json::parse(model_metadata(*entry.model, {entry.version}));
    }
    models.push_back(std::move(one));
  }
  const double up_s = std::chrono::duration<double>(Clock::now() - core.started).count();
  return nlohmann::json{{"ready", core.ready()},
                        {"up_seconds", up_s},
                        {"connections", core.shared.connections.load()},
                        {"requests", core.requests.load()},
                        {"resident_bytes", resident_bytes()},
                        {"models", models}}
      .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace sardonyx::serve
