// The protocol with grpc++ and messages that protoc made: every call once, and what it must answer.
//   grpc_cpp_client PORT SHARED_MEMORY_KEY
#include <grpcpp/grpcpp.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>

#include "inference.grpc.pb.h"

namespace {

using namespace inference;

void must(bool holds, const char* what, const std::string& found = "") {
  if (holds) return;
  std::fprintf(stderr, "not so: %s %s\n", what, found.c_str());
  std::exit(1);
}

template <class Request, class Response>
Response call(GRPCInferenceService::Stub& stub,
              grpc::Status (GRPCInferenceService::Stub::*method)(grpc::ClientContext*,
                                                                 const Request&, Response*),
              const Request& request, grpc::StatusCode expected = grpc::StatusCode::OK) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  Response response;
  const grpc::Status status = (stub.*method)(&context, request, &response);
  must(status.error_code() == expected, Request::descriptor()->name().c_str(),
       status.error_message());
  return response;
}

ModelInferRequest infer_request(const float (&values)[4], const std::string& id = "") {
  ModelInferRequest request;
  request.set_model_name("double");
  request.set_id(id);
  auto* input = request.add_inputs();
  input->set_name("x");
  input->set_datatype("FP32");
  input->add_shape(1);
  input->add_shape(4);
  request.add_raw_input_contents(values, sizeof values);
  return request;
}

float first_of(const ModelInferResponse& response) {
  float value = 0;
  must(response.raw_output_contents_size() == 1 && response.raw_output_contents(0).size() == 16,
       "one output of four floats");
  std::memcpy(&value, response.raw_output_contents(0).data(), sizeof value);
  return value;
}

void stream(GRPCInferenceService::Stub& stub) {
  grpc::ClientContext context;
  auto calls = stub.ModelStreamInfer(&context);
  for (int i = 0; i < 5; ++i)
    must(calls->Write(infer_request({float(i), 0, 0, 0}, std::to_string(i))), "a request is taken");
  calls->WritesDone();
  std::set<std::string> ids;
  ModelStreamInferResponse answer;
  while (calls->Read(&answer)) {
    must(answer.error_message().empty(), "no error", answer.error_message());
    must(first_of(answer.infer_response()) == 2 * std::stof(answer.infer_response().id()),
         "each answer is its request's");
    ids.insert(answer.infer_response().id());
  }
  must(calls->Finish().ok() && ids.size() == 5, "five answers and a good end");
}

void shared_memory(GRPCInferenceService::Stub& stub, const std::string& key) {
  SystemSharedMemoryRegisterRequest region;
  region.set_name("r");
  region.set_key(key);
  region.set_byte_size(64);
  call(stub, &GRPCInferenceService::Stub::SystemSharedMemoryRegister, region);
  const auto status = call(stub, &GRPCInferenceService::Stub::SystemSharedMemoryStatus,
                           SystemSharedMemoryStatusRequest());
  must(status.regions().at("r").byte_size() == 64, "the region is listed");
  ModelInferRequest request = infer_request({0, 0, 0, 0});
  request.clear_raw_input_contents();
  auto& from = *request.mutable_inputs(0)->mutable_parameters();
  from["shared_memory_region"].set_string_param("r");
  from["shared_memory_byte_size"].set_int64_param(16);
  auto* output = request.add_outputs();
  output->set_name("y");
  auto& to = *output->mutable_parameters();
  to["shared_memory_region"].set_string_param("r");
  to["shared_memory_offset"].set_int64_param(32);
  to["shared_memory_byte_size"].set_int64_param(32);
  const auto answer = call(stub, &GRPCInferenceService::Stub::ModelInfer, request);
  must(answer.outputs(0).parameters().at("shared_memory_byte_size").int64_param() == 16,
       "the answer says what it wrote");
  must(answer.raw_output_contents(0).empty(), "and carries no bytes of it");
  SystemSharedMemoryUnregisterRequest away;
  away.set_name("r");
  call(stub, &GRPCInferenceService::Stub::SystemSharedMemoryUnregister, away);
  call(stub, &GRPCInferenceService::Stub::ModelInfer, request, grpc::StatusCode::INVALID_ARGUMENT);
}

}  // namespace

int main(int, char** arguments) {
  using Stub = GRPCInferenceService::Stub;
  const auto channel = grpc::CreateChannel(std::string("127.0.0.1:") + arguments[1],
                                           grpc::InsecureChannelCredentials());
  auto stub = GRPCInferenceService::NewStub(channel);
  must(call(*stub, &Stub::ServerLive, ServerLiveRequest()).live(), "live");
  must(call(*stub, &Stub::ServerReady, ServerReadyRequest()).ready(), "ready");
  must(call(*stub, &Stub::ServerMetadata, ServerMetadataRequest()).name() == "sardonyx", "a name");
  ModelReadyRequest ready;
  ready.set_name("double");
  must(call(*stub, &Stub::ModelReady, ready).ready(), "the model is ready");
  ModelMetadataRequest about;
  about.set_name("double");
  must(call(*stub, &Stub::ModelMetadata, about).inputs(0).shape(1) == 4, "its input has 4 columns");
  about.set_name("none");
  call(*stub, &Stub::ModelMetadata, about, grpc::StatusCode::NOT_FOUND);
  ModelConfigRequest config;
  config.set_name("double");
  must(call(*stub, &Stub::ModelConfig, config).config().name() == "double", "its settings");
  must(first_of(call(*stub, &Stub::ModelInfer, infer_request({1, 2, 3, 4}))) == 2,
       "1 doubled is 2");
  ModelInferRequest typed = infer_request({1, 2, 3, 4});
  typed.clear_raw_input_contents();
  for (const float value : {1, 2, 3, 4})
    typed.mutable_inputs(0)->mutable_contents()->add_fp32_contents(value);
  must(first_of(call(*stub, &Stub::ModelInfer, typed)) == 2, "the same in typed contents");
  stream(*stub);
  ModelStatisticsRequest statistics;
  statistics.set_name("double");
  must(call(*stub, &Stub::ModelStatistics, statistics).model_stats(0).inference_count() >= 7,
       "requests are counted");
  must(call(*stub, &Stub::RepositoryIndex, RepositoryIndexRequest()).models_size() == 4,
       "4 models");
  RepositoryModelUnloadRequest unload;
  unload.set_model_name("center");
  call(*stub, &Stub::RepositoryModelUnload, unload);
  RepositoryModelLoadRequest load;
  load.set_model_name("center");
  call(*stub, &Stub::RepositoryModelLoad, load);
  LogSettingsRequest log;
  (*log.mutable_settings())["log_info"].set_bool_param(false);
  must(call(*stub, &Stub::LogSettings, log).settings().at("level").string_param() == "warning",
       "without info the level is warning");
  must(call(*stub, &Stub::TraceSetting, TraceSettingRequest()).settings().count("trace_level") == 1,
       "the trace's level");
  shared_memory(*stub, arguments[2]);
  std::puts("grpc++: every call answered");
}
