// An inference from an HTTP body, and the documents that describe models.
#include <charconv>
#include <nlohmann/json.hpp>

#include "serve/http/zip.h"
#include "serve/oip/json.h"
#include "serve/rest.h"

namespace sardonyx::serve {
namespace {

// A body that is one tensor: the model says its type, and its sizes but for one.
Outcome<InferRequest> read_raw(const Body& body, const ServedModel& model) {
  const auto wrong = [&](const std::string& why) {
    return Failure{Kind::bad_request, "SDX-V0330: a raw body is not enough for model \"" +
                                          model.name() + "\": " + why};
  };
  if (model.inputs().size() != 1) return wrong("it has several inputs");
  const Port& port = model.inputs()[0];
  if (port.type == Type::undefined || !port.dims)
    return wrong("its input's type is open: " + port.text);
  Dims dims;
  std::optional<size_t> open;
  size_t known = 1;
  for (const Size& size : *port.dims) {
    if (!size.number) {
      if (open) return wrong("more than one size is open in " + port.text);
      open = dims.size();
    } else {
      known *= static_cast<size_t>(*size.number);
    }
    dims.push_back(size.number.value_or(1));
  }
  if (port.type == Type::string) {
    if (open || known != 1) return wrong("its input is not one string: " + port.text);
    Tensor tensor(Type::string, dims);
    tensor.values<std::string>()[0] = body.view();
    InferRequest request;
    request.inputs.push_back({port.name, tensor});
    return request;
  }
  const size_t row = packed_bytes(port.type, known);
  if (open && row > 0) dims[*open] = static_cast<int64_t>(body.size() / row);
  auto tensor = tensor_of_bytes(port.type, dims, body.view(), port.name, true);
  if (!tensor) return tensor.failure();
  InferRequest request;
  request.inputs.push_back({port.name, *std::move(tensor)});
  request.binary_outputs = true;
  return request;
}

nlohmann::json port_json(const Port& port) {
  nlohmann::json shape = nlohmann::json::array();
  if (port.dims) {
    for (const Size& size : *port.dims) shape.push_back(size.number.value_or(-1));
  }
  return {
      {"name", port.name},
      {"datatype", port.type == Type::undefined ? port.text : std::string(datatype_of(port.type))},
      {"shape", shape}};
}

nlohmann::json duration(const Histogram& histogram) {
  return {{"count", histogram.count()}, {"ns", histogram.sum_ns()}};
}

}  // namespace

Outcome<InferRequest> read_infer(Exchange& exchange, const ServedModel& model, size_t most_bytes,
                                 const Regions& regions) {
  Request& request = exchange.request;
  const std::string_view encoding = request.header("content-encoding");
  if (encoding == "gzip" || encoding == "deflate") {
    auto body = unzipped(request.body.view(), most_bytes);
    if (!body) return body.failure();
    request.body = *std::move(body);
  } else if (!encoding.empty() && encoding != "identity") {
    return Failure{Kind::bad_request, "SDX-V0331: Content-Encoding \"" + std::string(encoding) +
                                          "\"; gzip and deflate are known"};
  }
  request.body.pad();
  const std::string_view length = request.header("inference-header-content-length");
  size_t json_bytes = request.body.size();
  if (!length.empty()) {
    const auto [end, error] = std::from_chars(length.begin(), length.end(), json_bytes);
    if (error != std::errc() || end != length.end() || json_bytes > request.body.size()) {
      return Failure{Kind::bad_request, "SDX-V0332: Inference-Header-Content-Length is " +
                                            std::string(length) + " and the body has " +
                                            std::to_string(request.body.size()) + " bytes"};
    }
  }
  const bool raw = (!length.empty() && json_bytes == 0) ||
                   (length.empty() && request.header("content-type") == "application/octet-stream");
  if (raw) return read_raw(request.body, model);
  return read_infer_json(request.body, json_bytes, regions);
}

std::string server_metadata() {
  nlohmann::json extensions = nlohmann::json::array();
  for (const std::string_view extension : kExtensions) extensions.push_back(extension);
  return nlohmann::json{
      {"name", kServerName}, {"version", kServerVersion}, {"extensions", extensions}}
      .dump();
}

std::string model_metadata(const ServedModel& model, const std::vector<std::string>& versions) {
  nlohmann::json inputs = nlohmann::json::array(), outputs = nlohmann::json::array();
  for (const Port& port : model.inputs()) inputs.push_back(port_json(port));
  for (const Port& port : model.outputs()) outputs.push_back(port_json(port));
  return nlohmann::json{{"name", model.name()},
                        {"versions", versions},
                        {"platform", "onnx_sardonyx"},
                        {"inputs", inputs},
                        {"outputs", outputs}}
      .dump();
}

std::string model_statistics(const std::vector<Entry>& entries) {
  nlohmann::json all = nlohmann::json::array();
  for (const Entry& entry : entries) {
    if (!entry.model) continue;
    const Statistics& counts = entry.model->statistics;
    const auto failed = counts.failed.load() + counts.expired.load() + counts.rejected.load();
    all.push_back({{"name", entry.name},
                   {"version", entry.version},
                   {"last_inference", counts.last_ms.load()},
                   {"inference_count", counts.rows.load()},
                   {"execution_count", counts.executions.load()},
                   {"inference_stats",
                    {{"success", duration(counts.request)},
                     {"fail", {{"count", failed}, {"ns", 0}}},
                     {"queue", duration(counts.queue)},
                     {"compute_infer", duration(counts.compute)},
                     {"cancel", {{"count", counts.cancelled.load()}, {"ns", 0}}}}}});
  }
  return nlohmann::json{{"model_stats", all}}.dump();
}

std::string repository_index(const std::vector<Entry>& entries, bool ready_only) {
  nlohmann::json all = nlohmann::json::array();
  for (const Entry& entry : entries) {
    if (ready_only && entry.state != "READY") continue;
    all.push_back({{"name", entry.name},
                   {"version", entry.version},
                   {"state", entry.state},
                   {"reason", entry.reason}});
  }
  return all.dump();
}

}  // namespace sardonyx::serve
