// The REST half of the protocol: paths to calls.
#pragma once

#include "serve/core.h"

namespace sardonyx::serve {

class Rest {
 public:
  explicit Rest(Core& core) : core_(core) {}
  void handle(const ExchangePtr& exchange);

 private:
  using Words = std::vector<std::string>;  // of the path, decoded
  struct Call {
    Words words;
    std::string model, version;
  };

  void v2(const ExchangePtr& exchange, Call& call);
  void models(const ExchangePtr& exchange, Call& call);
  void infer(const ExchangePtr& exchange, const Call& call);
  void repository(const ExchangePtr& exchange, const Call& call);
  void health(const ExchangePtr& exchange, const Call& call);
  void settings(const ExchangePtr& exchange, const Call& call);
  void shared_memory(const ExchangePtr& exchange, const Call& call);
  // Answers and is true if the caller may not, or used another method.
  bool refused(const ExchangePtr& exchange, Group group, std::string_view method);

  Core& core_;
};

// Exchanges answered with a text or a failure.
void answer(const ExchangePtr& exchange, std::string json);
void answer(const ExchangePtr& exchange, const Failure& failure);
Response response_of(const Failure& failure);

// An inference from an HTTP body: JSON, JSON and binary tensors, or one raw tensor.
Outcome<InferRequest> read_infer(Exchange& exchange, const ServedModel& model, size_t most_bytes,
                                 const Regions& regions);

// Documents of the protocol as JSON, which gRPC's are made from too.
std::string server_metadata();
std::string model_metadata(const ServedModel& model, const std::vector<std::string>& versions);
std::string model_statistics(const std::vector<Entry>& entries);
std::string repository_index(const std::vector<Entry>& entries, bool ready_only);
std::string metrics_text(const Core& core);
std::string_view page_html();
std::string status_json(const Core& core);  // what the page shows

inline constexpr std::string_view kServerName = "sardonyx", kServerVersion = SARDONYX_RELEASE;
inline constexpr std::string_view kExtensions[] = {
    "binary_tensor_data",  "parameters",      "model_configuration",
    "model_repository",    "schedule_policy", "sequence",
    "statistics",          "trace",           "logging",
    "system_shared_memory"};

}  // namespace sardonyx::serve
