// The server's own parsers, for libFuzzer: the first byte chooses one, the rest is its input.
//   [SERVE_FUZZ=json] serve_fuzz CORPUS -max_total_time=60
// SERVE_FUZZ names one parser to which all inputs go: http, json, proto, frames, zip, yaml, nats.
#include <cstdlib>
#include <cstring>

#include "serve/http/http1_parser.h"
#include "serve/http/zip.h"
#include "serve/oip/framing.h"
#include "serve/oip/json.h"
#include "serve/oip/proto.h"
#include "serve/queue/nats.h"
#include "serve/yaml/yaml.h"

namespace sardonyx::serve {
namespace {

void must(bool holds) {
  if (!holds) std::abort();
}

// The same request, whole and cut at a place that the input chooses.
void http1(std::string_view bytes) {
  HttpLimits limits;
  limits.body_bytes = 1 << 20;
  const size_t cut = bytes.empty() ? 0 : static_cast<unsigned char>(bytes.front()) % bytes.size();
  Http1Parser whole(limits), parts(limits);
  const size_t taken = whole.feed(bytes);
  size_t taken_by_parts = parts.feed(bytes.substr(0, cut));
  if (taken_by_parts == cut) taken_by_parts += parts.feed(bytes.substr(cut));
  must(whole.done() == parts.done());
  if (!whole.done()) return;
  must(taken == taken_by_parts);
  const Request a = whole.take(), b = parts.take();
  must(a.method == b.method && a.path == b.path && a.body.view() == b.body.view() &&
       a.headers.size() == b.headers.size());
}

void json(std::string_view bytes) {
  Body body;
  body.append(bytes);
  body.pad();
  const size_t json_bytes =
      bytes.size() -
      (bytes.empty() ? 0 : static_cast<unsigned char>(bytes.back()) % bytes.size() / 2);
  const auto request = read_infer_json(body, json_bytes);
  if (!request) return;
  // What was read is written and read again: the same bits.
  for (const InputTensor& input : request->inputs) {
    const Type type = input.tensor.type();
    if (type != Type::f32 && type != Type::f64 && type != Type::i64) continue;
    std::string text = "{\"inputs\":[{\"name\":\"x\",\"datatype\":\"" +
                       std::string(datatype_of(type)) +
                       "\",\"shape\":" + text_of(input.tensor.dims()) + ",\"data\":";
    append_json_elements(text, input.tensor);
    text += "}]}";
    Body again;
    again.append(text);
    again.pad();
    const auto same = read_infer_json(again, text.size());
    must(static_cast<bool>(same));
    must(input.tensor.bytes() == 0 || std::memcmp(same->inputs[0].tensor.data(),
                                                  input.tensor.data(), input.tensor.bytes()) == 0);
  }
}

// What was read as YAML and is written as JSON, which is YAML too, is read as the same.
void yaml(std::string_view bytes) {
  const auto value = read_yaml(bytes);
  if (!value || !(value->is_object() || value->is_array())) return;
  const std::string text = value->dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  if (text.find("\\ufffd") != std::string::npos) return;  // was not UTF-8
  const auto again = read_yaml(text);
  must(static_cast<bool>(again));
  must(*again == *value);
}

// The same messages, whole and cut at a place that the input chooses.
void nats(std::string_view bytes) {
  const auto read = [&](size_t cut) {
    NatsParser parser;
    std::vector<NatsParser::Item> items;
    for (const std::string_view part : {bytes.substr(0, cut), bytes.substr(cut)}) {
      parser.add(part);
      while (true) {
        auto item = parser.next();
        if (!item) return items;
        if (item->kind == NatsParser::Kind::none) break;
        items.push_back(*std::move(item));
      }
    }
    return items;
  };
  const size_t cut = bytes.empty() ? 0 : static_cast<unsigned char>(bytes.back()) % bytes.size();
  const auto whole = read(bytes.size()), parts = read(cut);
  must(whole.size() == parts.size());
  for (size_t i = 0; i < whole.size(); ++i) {
    const NatsMessage &a = whole[i].message, &b = parts[i].message;
    must(whole[i].kind == parts[i].kind && whole[i].text == parts[i].text && a.reply == b.reply &&
         a.subject == b.subject && a.payload == b.payload && a.headers == b.headers);
  }
}

void frames(std::string_view bytes) {
  const GrpcLayout layout = look_at_grpc(bytes);
  must(layout.tensor_at <= bytes.size());
  while (true) {
    auto message = next_message(bytes, 1 << 20);
    if (!message || !*message) return;
    (void)static_cast<bool>(read_infer_proto(**message));
    (void)static_cast<bool>(read_fields(**message));
  }
}

}  // namespace
}  // namespace sardonyx::serve

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace sardonyx::serve;
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  static constexpr std::string_view kNames[] = {"http", "json", "proto", "frames",
                                                "zip",  "yaml", "nats"};
  static const char* const only = std::getenv("SERVE_FUZZ");
  size_t which = data[0] % std::size(kNames);
  for (size_t i = 0; only != nullptr && i < std::size(kNames); ++i) {
    if (kNames[i] == only) which = i;
  }
  switch (which) {
    case 0:
      http1(bytes);
      break;
    case 1:
      json(bytes);
      break;
    case 2:
      (void)static_cast<bool>(read_infer_proto(bytes));
      break;
    case 3:
      frames(bytes);
      break;
    case 4:
      (void)static_cast<bool>(unzipped(bytes, 1 << 20));
      break;
    case 5:
      yaml(bytes);
      break;
    default:
      nats(bytes);
      break;
  }
  return 0;
}
