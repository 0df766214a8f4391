#include "serve/grpc.h"

#include <charconv>

#include "serve/http/zip.h"
#include "serve/oip/framing.h"
#include "serve/oip/proto.h"
#include "serve/rest.h"
#include "serve/tuning.h"

namespace sardonyx::serve {
namespace {

constexpr std::string_view kService = "/inference.GRPCInferenceService/";

Response grpc_failure(const Failure& failure) {
  Response response;
  response.content_type = "application/grpc";
  response.grpc_status = grpc_status(failure.kind);
  response.grpc_message = failure.message;
  return response;
}

std::string framed(std::string_view message) {
  std::string bytes(5, '\0');
  for (size_t i = 0; i < 4; ++i) bytes[1 + i] = static_cast<char>(message.size() >> (24 - 8 * i));
  return bytes.append(message);
}

Response grpc_message(std::string_view message) {
  Response response;
  response.content_type = "application/grpc";
  response.text = framed(message);
  response.grpc_status = 0;
  return response;
}

std::string flag(bool value) {
  ProtoWriter writer;
  writer.number(1, value ? 1 : 0);
  return writer.bytes;
}

void put_ports(ProtoWriter& to, uint32_t field, const std::vector<Port>& ports) {
  for (const Port& port : ports) {
    ProtoWriter tensor;
    Dims dims;
    if (port.dims) {
      for (const Size& size : *port.dims) dims.push_back(size.number.value_or(-1));
    }
    tensor.text(1, port.name);
    tensor.text(2, port.type == Type::undefined ? port.text : datatype_of(port.type));
    tensor.sizes(3, dims);
    to.message(field, tensor);
  }
}

// ModelConfig of Triton: name, platform, inputs and outputs with its numbers of datatypes.
void put_config_ports(ProtoWriter& to, uint32_t field, const std::vector<Port>& ports, bool input) {
  static constexpr std::pair<Type, uint64_t> kTypes[] = {
      {Type::boolean, 1}, {Type::u8, 2},   {Type::u16, 3},     {Type::u32, 4},  {Type::u64, 5},
      {Type::i8, 6},      {Type::i16, 7},  {Type::i32, 8},     {Type::i64, 9},  {Type::f16, 10},
      {Type::f32, 11},    {Type::f64, 12}, {Type::string, 13}, {Type::bf16, 14}};
  for (const Port& port : ports) {
    ProtoWriter tensor;
    Dims dims;
    if (port.dims) {
      for (const Size& size : *port.dims) dims.push_back(size.number.value_or(-1));
    }
    tensor.text(1, port.name);
    for (const auto& [type, number] : kTypes) {
      if (type == port.type) tensor.number(2, number);
    }
    tensor.sizes(input ? 4 : 3, dims);
    to.message(field, tensor);
  }
}

void put_duration(ProtoWriter& to, uint32_t field, uint64_t count, uint64_t ns) {
  ProtoWriter duration;
  duration.number(1, count);
  duration.number(2, ns);
  to.message(field, duration);
}

std::string statistics_message(const std::vector<Entry>& entries) {
  ProtoWriter all;
  for (const Entry& entry : entries) {
    if (!entry.model) continue;
    const Statistics& counts = entry.model->statistics;
    ProtoWriter one, times;
    put_duration(times, 1, counts.request.count(), counts.request.sum_ns());
    put_duration(times, 2, counts.failed + counts.expired + counts.rejected, 0);
    put_duration(times, 3, counts.queue.count(), counts.queue.sum_ns());
    put_duration(times, 5, counts.compute.count(), counts.compute.sum_ns());
    one.text(1, entry.name);
    one.text(2, entry.version);
    one.number(3, counts.last_ms);
    one.number(4, counts.rows);
    one.number(5, counts.executions);
    one.message(6, times);
    all.message(1, one);
  }
  return all.bytes;
}

std::string index_message(const std::vector<Entry>& entries, bool ready_only) {
  ProtoWriter all;
  for (const Entry& entry : entries) {
    if (ready_only && entry.state != "READY") continue;
    ProtoWriter one;
    one.text(1, entry.name);
    one.text(2, entry.version);
    one.text(3, entry.state);
    one.text(4, entry.reason);
    all.message(1, one);
  }
  return all.bytes;
}

// map<string, value> as field 1 of a message, the way protobuf has maps.
void put_entry(ProtoWriter& to, std::string_view name, const ProtoWriter& value) {
  ProtoWriter entry;
  entry.text(1, name);
  entry.message(2, value);
  to.message(1, entry);
}

std::string log_message() {
  ProtoWriter all;
  for (const auto& [name, setting] : log_tuning()) {
    ProtoWriter value;
    if (const auto* truth = std::get_if<bool>(&setting)) {
      value.tag(1, 0);
      value.varint(*truth ? 1 : 0);
    } else if (const auto* number = std::get_if<int64_t>(&setting)) {
      value.tag(2, 0);
      value.varint(static_cast<uint64_t>(*number));
    } else if (const auto* text = std::get_if<std::string>(&setting)) {
      value.text(3, *text, true);
    }
    put_entry(all, name, value);
  }
  return all.bytes;
}

std::string trace_message(const ServerSettings& settings) {
  ProtoWriter all;
  for (const auto& [name, setting] : trace_tuning(settings)) {
    ProtoWriter value;
    if (const auto* number = std::get_if<double>(&setting)) {
      char text[32];
      value.text(1, {text, std::to_chars(text, std::end(text), *number).ptr});
    } else {
      value.text(1, std::get<std::string>(setting), true);
    }
    put_entry(all, name, value);
  }
  return all.bytes;
}

// What a LogSettingsRequest sets.
Outcome<Tuning> read_log_message(const ProtoFields& message) {
  Tuning tuning;
  for (const auto& [field, bytes] : message.texts) {
    if (field != 1) continue;
    const auto entry = read_fields(bytes);
    if (!entry) return entry.failure();
    const auto value = read_fields(entry->text(2));
    if (!value) return value.failure();
    Parameter setting = std::string(value->text(3));
    for (const auto& [kind, number] : value->numbers) {
      if (kind == 1) setting = number != 0;
      if (kind == 2) setting = static_cast<int64_t>(number);
    }
    tuning.emplace_back(entry->text(1), std::move(setting));
  }
  return tuning;
}

std::string regions_message(const std::vector<Region>& regions) {
  ProtoWriter all;
  for (const Region& region : regions) {
    ProtoWriter status;
    status.text(1, region.name);
    status.text(2, region.key);
    status.number(3, region.offset);
    status.number(4, region.bytes);
    put_entry(all, region.name, status);
  }
  return all.bytes;
}

Group group_of(std::string_view method) {
  if (method == "ModelInfer" || method == "ModelStreamInfer") return Group::infer;
  if (method == "RepositoryModelLoad" || method == "RepositoryModelUnload" ||
      method == "SystemSharedMemoryRegister" || method == "SystemSharedMemoryUnregister") {
    return Group::manage;
  }
  if (method == "ServerLive" || method == "ServerReady" || method == "ModelReady" ||
      method == "ServerMetadata") {
    return Group::open;
  }
  return Group::look;
}

}  // namespace

void Grpc::handle(const ExchangePtr& exchange) {
  add(core_.requests);
  const Request& request = exchange->request;
  std::string_view method = request.path;
  const bool health = method == "/grpc.health.v1.Health/Check";
  if (!health && !method.starts_with(kService)) {
    return exchange->respond(
        grpc_failure({Kind::unimplemented, "SDX-V0343: there is no call " + std::string(method)}));
  }
  if (!health) method.remove_prefix(kService.size());
  // To look at logging is one thing, to set it another.
  const bool sets = method == "LogSettings" && request.body.size() > 5;
  const Group group = health ? Group::open : sets ? Group::manage : group_of(method);
  if (auto failure = core_.refusal(request, group)) {
    return exchange->respond(grpc_failure(*failure));
  }
  if (method == "ModelStreamInfer") return stream(exchange);
  std::string_view bytes = request.body.view();
  const bool compressed = !bytes.empty() && bytes[0] == 1;
  auto message = next_message(bytes, core_.settings.http.body_bytes);
  if (!message) return exchange->respond(grpc_failure(message.failure()));
  if (!*message || !bytes.empty()) {
    return exchange->respond(
        grpc_failure({Kind::bad_request, "SDX-V0344: the body is not one whole message"}));
  }
  if (compressed) {
    auto plain = unzipped(**message, core_.settings.http.body_bytes);
    if (!plain) return exchange->respond(grpc_failure(plain.failure()));
    exchange->request.body = *std::move(plain);
    *message = exchange->request.body.view();
  }
  if (health) return exchange->respond(grpc_message(flag(core_.ready())));  // 1: SERVING
  if (method == "ModelInfer") return infer(exchange, **message);
  if (method == "RepositoryModelLoad" || method == "RepositoryModelUnload") {
    return control(exchange, **message, method == "RepositoryModelLoad");
  }
  const auto answer = answer_of(method, **message);
  exchange->respond(answer ? grpc_message(*answer) : grpc_failure(answer.failure()));
}

void Grpc::infer(const ExchangePtr& exchange, std::string_view message) {
  auto request = read_infer_proto(message, core_.regions);
  if (!request) {
    add(core_.bad_requests);
    return exchange->respond(grpc_failure(request.failure()));
  }
  auto model = core_.repository.find(request->model, request->version);
  if (!model) return exchange->respond(grpc_failure(model.failure()));
  if (const auto limit = read_grpc_timeout(exchange->request.header("grpc-timeout"))) {
    const int64_t us = std::max<int64_t>(1, limit->count() / 1000);
    request->timeout_us = request->timeout_us == 0 ? us : std::min(request->timeout_us, us);
  }
  request->alive = exchange;
  core_.infer(exchange, *std::move(model), *std::move(request),
              [](Outcome<InferResult> outcome, const InferRequest&) {
                if (!outcome) return grpc_failure(outcome.failure());
                Response response = infer_proto(std::make_shared<InferResult>(*std::move(outcome)));
                response.grpc_status = 0;
                return response;
              });
}

namespace {

// A stream of inferences: each message is answered by one, in whichever order they are ready.
struct InferStream {
  std::string bytes;  // of the message that is not whole yet
  size_t open = 0;    // requests not yet answered
  bool ended = false;
};

// An answer to one request of a stream is a part of the stream's body.
class StreamPart final : public Exchange {
 public:
  StreamPart(const ExchangePtr& whole, std::shared_ptr<InferStream> state)
      : Exchange(whole->reactor, whole->reactor.now()), whole_(whole), state_(std::move(state)) {
    peer = whole->peer;
  }
  void respond(Response response) override {
    if (std::exchange(done_, true)) return;
    whole_->send_part(std::move(response));
    if (--state_->open == 0 && state_->ended) end();
  }
  void end() {
    Response last;
    last.content_type = "application/grpc";
    last.grpc_status = 0;
    whole_->respond(std::move(last));
  }

 private:
  ExchangePtr whole_;
  std::shared_ptr<InferStream> state_;
  bool done_ = false;
};

// ModelStreamInferResponse: an error's text, or an answer.
Response stream_response(Outcome<InferResult> outcome, const std::string& id) {
  ProtoWriter writer;
  if (outcome) {
    Response inner = infer_proto(std::make_shared<InferResult>(*std::move(outcome)));
    std::string message = inner.text.substr(5);
    for (const Piece& piece : inner.pieces) message += piece.bytes;
    writer.text(2, message, true);
  } else {
    ProtoWriter response;
    response.text(3, id);
    writer.text(1, outcome.failure().message);
    writer.message(2, response);
  }
  Response response;
  response.content_type = "application/grpc";
  response.text = framed(writer.bytes);
  return response;
}

}  // namespace

void Grpc::stream(const ExchangePtr& exchange) {
  auto state = std::make_shared<InferStream>();
  Response head;
  head.content_type = "application/grpc";
  exchange->send_part(std::move(head));
  // The stream lets go of this when it is closed.
  exchange->on_data = [this, exchange, state](std::string_view bytes, bool end) {
    state->bytes.append(bytes);
    std::string_view rest = state->bytes;
    while (true) {
      auto message = next_message(rest, core_.settings.http.body_bytes);
      if (!message) {
        exchange->respond(grpc_failure(message.failure()));
        state->bytes.clear();
        return;
      }
      if (!*message) break;
      ++state->open;
      const auto part = std::make_shared<StreamPart>(exchange, state);
      // The bytes belong to the request until it is answered.
      const auto copy = std::make_shared<const std::string>(**message);
      auto request = read_infer_proto(*copy, core_.regions);
      const std::string id = request ? request->id : "";
      auto model = request ? core_.repository.find(request->model, request->version)
                           : Outcome<std::shared_ptr<ServedModel>>(request.failure());
      if (!model) {
        part->respond(stream_response(model.failure(), id));
        continue;
      }
      request->alive = copy;
      core_.infer(part, *std::move(model), *std::move(request),
                  [id](Outcome<InferResult> outcome, const InferRequest&) {
                    return stream_response(std::move(outcome), id);
                  });
    }
    state->bytes.erase(0, state->bytes.size() - rest.size());
    if (end) {
      state->ended = true;
      if (state->open == 0) StreamPart(exchange, state).end();
    }
  };
}

void Grpc::control(const ExchangePtr& exchange, std::string_view message, bool load) {
  const auto fields = read_fields(message);
  if (!fields) return exchange->respond(grpc_failure(fields.failure()));
  if (!core_.settings.model_control) {
    return exchange->respond(grpc_failure(
        {Kind::forbidden,
         "SDX-V0153: models are loaded and unloaded by calls only with --model-control"}));
  }
  std::string config;
  for (const auto& [field, entry] : fields->texts) {
    const auto parameter = field == 3 ? read_fields(entry) : Outcome<ProtoFields>(ProtoFields());
    if (!parameter || parameter->text(1) != "config") continue;
    if (const auto value = read_fields(parameter->text(2))) config = value->text(3);
  }
  core_.control(exchange, load, std::string(fields->text(2)), config,
                [exchange](const std::optional<Failure>& failure) {
                  exchange->respond(failure ? grpc_failure(*failure) : grpc_message(""));
                });
}

Outcome<std::string> Grpc::answer_of(std::string_view method, std::string_view message) {
  const auto fields = read_fields(message);
  if (!fields) return fields.failure();
  if (method == "ServerLive") return flag(true);
  if (method == "ServerReady") return flag(core_.ready());
  if (method == "ServerMetadata") {
    ProtoWriter writer;
    writer.text(1, kServerName);
    writer.text(2, kServerVersion);
    for (const std::string_view extension : kExtensions) writer.text(3, extension);
    return writer.bytes;
  }
  if (method == "LogSettings" || method == "TraceSetting") return tuning_answer(method, *fields);
  if (method.starts_with("SystemSharedMemory")) return region_answer(method, *fields);
  if (method == "RepositoryIndex")
    return index_message(core_.repository.index(), fields->number(2) != 0);
  const std::string name(fields->text(1)), version(fields->text(2));
  if (method == "ModelReady") return flag(static_cast<bool>(core_.repository.find(name, version)));
  if (method == "ModelStatistics" && name.empty())
    return statistics_message(core_.repository.index());
  if (method == "ModelMetadata" || method == "ModelConfig" || method == "ModelStatistics") {
    return model_answer(method, name, version);
  }
  return Failure{Kind::unimplemented, "SDX-V0343: there is no call " + std::string(method)};
}

Outcome<std::string> Grpc::tuning_answer(std::string_view method, const ProtoFields& fields) {
  if (method == "TraceSetting") {
    if (!fields.text(1).empty())
      return Failure{Kind::unimplemented, "SDX-V0155: tracing is set when the server starts"};
    return trace_message(core_.settings);
  }
  const auto tuning = read_log_message(fields);
  if (!tuning) return tuning.failure();
  if (auto failure = set_log(*tuning)) return *std::move(failure);
  return log_message();
}

Outcome<std::string> Grpc::region_answer(std::string_view method, const ProtoFields& fields) {
  const std::string name(fields.text(1));
  if (method == "SystemSharedMemoryStatus") {
    const auto regions = core_.regions.list(name);
    if (!regions) return regions.failure();
    return regions_message(*regions);
  }
  std::optional<Failure> failure;
  if (method == "SystemSharedMemoryRegister") {
    failure =
        core_.regions.add({name, std::string(fields.text(2)), fields.number(3), fields.number(4)});
  } else if (method == "SystemSharedMemoryUnregister") {
    failure = core_.regions.remove(name);
  } else {
    failure = Failure{Kind::unimplemented, "SDX-V0343: there is no call " + std::string(method)};
  }
  if (failure) return *std::move(failure);
  return std::string();
}

Outcome<std::string> Grpc::model_answer(std::string_view method, const std::string& name,
                                        const std::string& version) {
  const auto model = core_.repository.find(name, version);
  if (!model) return model.failure();
  std::vector<Entry> entries = core_.repository.index();
  std::erase_if(entries, [&](const Entry& entry) { return entry.name != name; });
  ProtoWriter writer;
  writer.text(1, name);
  if (method == "ModelMetadata") {
    for (const Entry& entry : entries) writer.text(2, entry.version);
    writer.text(3, "onnx_sardonyx");
    put_ports(writer, 4, (*model)->inputs());
    put_ports(writer, 5, (*model)->outputs());
    return writer.bytes;
  }
  if (method == "ModelStatistics") {
    if (!version.empty())
      std::erase_if(entries,
                    [&](const Entry& entry) { return entry.version != (*model)->version(); });
    return statistics_message(entries);
  }
  writer.text(2, "onnx_sardonyx");
  put_config_ports(writer, 5, (*model)->inputs(), true);
  put_config_ports(writer, 6, (*model)->outputs(), false);
  ProtoWriter response;
  response.message(1, writer);
  return response.bytes;
}

}  // namespace sardonyx::serve
