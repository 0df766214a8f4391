#include <algorithm>
#include <charconv>
#include <cmath>

#include "serve/oip/half.h"
#include "serve/oip/json.h"

namespace sardonyx::serve {
namespace {

template <class T>
void append_number(std::string& to, T value) {
  char text[64];
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(value)) {
      to += "\"NaN\"";
      return;
    }
    if (std::isinf(value)) {
      to += value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
      return;
    }
  }
  const auto [end, error] = std::to_chars(text, text + sizeof text, value);
  to.append(text, end);
  // A negative zero must not come back as the integer 0.
  if constexpr (std::is_floating_point_v<T>) {
    if (value == 0 && std::signbit(value)) to += ".0";
  }
}

template <class T>
void append_all(std::string& to, const Tensor& tensor) {
  const auto* values = static_cast<const T*>(tensor.data());
  to.reserve(to.size() + tensor.count() * (sizeof(T) < 4 ? 5 : 11));
  for (size_t i = 0; i < tensor.count(); ++i) {
    if (i > 0) to += ',';
    append_number(to, values[i]);
  }
}

// The length of the UTF-8 sequence at the front, or 0 if it is none.
size_t utf8_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const size_t length = byte(0) < 0xc2   ? 0
                        : byte(0) < 0xe0 ? 2
                        : byte(0) < 0xf0 ? 3
                        : byte(0) < 0xf5 ? 4
                                         : 0;
  if (length == 0 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // Overlong forms, surrogates, and what lies beyond U+10FFFF.
  if ((byte(0) == 0xe0 && byte(1) < 0xa0) || (byte(0) == 0xed && byte(1) > 0x9f)) return 0;
  if ((byte(0) == 0xf0 && byte(1) < 0x90) || (byte(0) == 0xf4 && byte(1) > 0x8f)) return 0;
  return length;
}

bool goes_binary(const InferRequest& request, const OutputTensor& output) {
  const Type type = output.tensor.type();
  const bool json_cannot = type == Type::c64 || type == Type::c128 || type >= Type::f8e4m3fn;
  for (const WantedOutput& wanted : request.outputs) {
    if (wanted.name == output.name && wanted.binary) return *wanted.binary || json_cannot;
  }
  return request.binary_outputs || json_cannot;
}

}  // namespace

void append_json_string(std::string& to, std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  to += '"';
  while (!text.empty()) {
    const auto c = static_cast<unsigned char>(text.front());
    size_t length = 1;
    if (c == '"' || c == '\\') {
      to += '\\';
      to += static_cast<char>(c);
    } else if (c < 0x20 || c == 0x7f) {
      to += "\\u00";
      to += kHex[c >> 4];
      to += kHex[c & 15];
    } else if (c < 0x80) {
      to += static_cast<char>(c);
    } else if ((length = utf8_length(text)) > 0) {
      to.append(text.substr(0, length));
    } else {
      to += "\xef\xbf\xbd";
      length = 1;
    }
    text.remove_prefix(length);
  }
  to += '"';
}

void append_json_elements(std::string& to, const Tensor& tensor) {
  to += '[';
  switch (tensor.type()) {
    case Type::f32:
      append_all<float>(to, tensor);
      break;
    case Type::f64:
      append_all<double>(to, tensor);
      break;
    case Type::i8:
      append_all<int8_t>(to, tensor);
      break;
    case Type::i16:
      append_all<int16_t>(to, tensor);
      break;
    case Type::i32:
      append_all<int32_t>(to, tensor);
      break;
    case Type::i64:
      append_all<int64_t>(to, tensor);
      break;
    case Type::u8:
      append_all<uint8_t>(to, tensor);
      break;
    case Type::u16:
      append_all<uint16_t>(to, tensor);
      break;
    case Type::u32:
      append_all<uint32_t>(to, tensor);
      break;
    case Type::u64:
      append_all<uint64_t>(to, tensor);
      break;
    case Type::f16:
    case Type::bf16: {
      const auto* bits = static_cast<const uint16_t*>(tensor.data());
      for (size_t i = 0; i < tensor.count(); ++i) {
        if (i > 0) to += ',';
        append_number(
            to, tensor.type() == Type::f16 ? float_of_half(bits[i]) : float_of_bfloat(bits[i]));
      }
      break;
    }
    case Type::boolean: {
      const auto* values = static_cast<const uint8_t*>(tensor.data());
      for (size_t i = 0; i < tensor.count(); ++i) {
        if (i > 0) to += ',';
        to += values[i] != 0 ? "true" : "false";
      }
      break;
    }
    case Type::string: {
      bool first = true;
      for (const std::string& value : tensor.values<std::string>()) {
        if (!std::exchange(first, false)) to += ',';
        append_json_string(to, value);
      }
      break;
    }
    default:
      break;
  }
  to += ']';
}

Response infer_json(InferResult given, const InferRequest& request) {
  Response response;
  std::shared_ptr<const InferResult> kept;
  const auto is_binary = [&](const OutputTensor& output) {
    return !output.shared && goes_binary(request, output);
  };
  if (std::any_of(given.outputs.begin(), given.outputs.end(), is_binary))
    kept = std::make_shared<const InferResult>(std::move(given));
  const InferResult& result = kept ? *kept : given;
  std::string& text = response.text;
  text.reserve(256);
  text += "{\"model_name\":";
  append_json_string(text, result.model);
  text += ",\"model_version\":";
  append_json_string(text, result.version);
  if (!result.id.empty()) {
    text += ",\"id\":";
    append_json_string(text, result.id);
  }
  text += ",\"outputs\":[";
  for (size_t i = 0; i < result.outputs.size(); ++i) {
    const OutputTensor& output = result.outputs[i];
    const Tensor& tensor = output.tensor;
    text += i > 0 ? ",{\"name\":" : "{\"name\":";
    append_json_string(text, output.name);
    text += ",\"datatype\":\"";
    text += datatype_of(tensor.type());
    text += "\",\"shape\":";
    append_dims(text, tensor.dims());
    const bool shared = output.shared.has_value();
    const bool binary = is_binary(output);
    if (binary || shared || !result.digests.empty()) {
      text += ",\"parameters\":{";
      if (shared) {
        text += "\"shared_memory_region\":";
        append_json_string(text, output.shared->region);
        text += ",\"shared_memory_offset\":" + std::to_string(output.shared->offset);
        text += ",\"shared_memory_byte_size\":" + std::to_string(output.shared->bytes);
      } else if (binary) {
        Piece piece = tensor.type() == Type::string
                          ? piece_of(string_bytes(tensor))
                          : Piece{{static_cast<const char*>(tensor.data()),
                                   packed_bytes(tensor.type(), tensor.count())},
                                  kept};
        text += "\"binary_data_size\":" + std::to_string(piece.bytes.size());
        response.pieces.push_back(std::move(piece));
      }
      if (!result.digests.empty()) {
        text += binary || shared ? ",\"digest\":\"" : "\"digest\":\"";
        text += result.digests[i] + '"';
      }
      text += '}';
    }
    if (!binary && !shared) {
      text += ",\"data\":";
      append_json_elements(text, tensor);
    }
    text += '}';
  }
  text += "]}";
  if (!response.pieces.empty()) {
    response.content_type = "application/octet-stream";
    response.headers.emplace_back("Inference-Header-Content-Length", std::to_string(text.size()));
  }
  return response;
}

}  // namespace sardonyx::serve
