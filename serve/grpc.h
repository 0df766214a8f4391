// The gRPC half of the protocol: inference.GRPCInferenceService in Triton's form, and
// grpc.health.v1.Health.
#pragma once

#include "serve/core.h"
#include "serve/oip/proto.h"

namespace sardonyx::serve {

class Grpc {
 public:
  explicit Grpc(Core& core) : core_(core) {}
  void handle(const ExchangePtr& exchange);

 private:
  void infer(const ExchangePtr& exchange, std::string_view message);
  void stream(const ExchangePtr& exchange);
  void control(const ExchangePtr& exchange, std::string_view message, bool load);
  // Messages of calls that are answered at once.
  Outcome<std::string> answer_of(std::string_view method, std::string_view message);
  Outcome<std::string> model_answer(std::string_view method, const std::string& name,
                                    const std::string& version);
  Outcome<std::string> tuning_answer(std::string_view method, const ProtoFields& fields);
  Outcome<std::string> region_answer(std::string_view method, const ProtoFields& fields);

  Core& core_;
};

}  // namespace sardonyx::serve
