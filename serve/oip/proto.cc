#include "serve/oip/proto.h"

#include <bytes/wire.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace sardonyx::serve {
namespace {

using sdx::WireReader;
using sdx::WireType;

std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}
std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Failure malformed(const std::string& what) { return {Kind::bad_request, "SDX-V0340: " + what}; }

// One field at a time; `visit(field, type, reader)` is true if it took the value.
template <class Visit>
std::optional<Failure> each_field(std::string_view bytes, const Visit& visit) {
  WireReader reader(as_bytes(bytes));
  while (!reader.at_end()) {
    uint32_t field = 0;
    WireType type{};
    if (!reader.tag(field, type)) return malformed(reader.error().text());
    const auto took = visit(field, type, reader);
    if (!took) return took.failure();
    if (!*took && !reader.skip(field, type, 16)) return malformed(reader.error().text());
  }
  return std::nullopt;
}

Outcome<bool> text_to(WireReader& reader, WireType type, std::string& to) {
  std::span<const std::byte> bytes;
  if (type != WireType::bytes) return false;
  if (!reader.bytes(bytes)) return malformed(reader.error().text());
  to = as_text(bytes);
  return true;
}

Outcome<bool> view_to(WireReader& reader, WireType type, std::string_view& to) {
  std::span<const std::byte> bytes;
  if (type != WireType::bytes) return false;
  if (!reader.bytes(bytes)) return malformed(reader.error().text());
  to = as_text(bytes);
  return true;
}

// Numbers of one field, packed or one by one.
template <class Put>
Outcome<bool> numbers_to(WireReader& reader, WireType type, WireType single, const Put& put) {
  const auto one = [&](WireReader& from) {
    uint64_t value = 0;
    uint32_t low = 0;
    bool good = false;
    if (single == WireType::varint) {
      good = from.varint(value);
    } else if (single == WireType::fixed64) {
      good = from.fixed64(value);
    } else {
      good = from.fixed32(low);
      value = low;
    }
    if (good) put(value);
    return good;
  };
  if (type == single) {
    if (!one(reader)) return malformed(reader.error().text());
    return true;
  }
  if (type != WireType::bytes) return false;
  std::span<const std::byte> bytes;
  if (!reader.bytes(bytes)) return malformed(reader.error().text());
  WireReader packed(bytes);
  while (!packed.at_end()) {
    if (!one(packed)) return malformed(packed.error().text());
  }
  return true;
}

// map<string, InferParameter>
Outcome<std::pair<std::string, Parameter>> read_parameter(std::string_view entry) {
  std::pair<std::string, Parameter> result{"", false};
  std::string_view value;
  auto wrong =
      each_field(entry, [&](uint32_t field, WireType type, WireReader& reader) -> Outcome<bool> {
        if (field == 1) return text_to(reader, type, result.first);
        if (field == 2) return view_to(reader, type, value);
        return false;
      });
  if (wrong) return *wrong;
  wrong =
      each_field(value, [&](uint32_t field, WireType type, WireReader& reader) -> Outcome<bool> {
        if (field == 3) {
          result.second = std::string();
          return text_to(reader, type, std::get<std::string>(result.second));
        }
        if (field == 4) {
          return numbers_to(reader, type, WireType::fixed64,
                            [&](uint64_t bits) { result.second = std::bit_cast<double>(bits); });
        }
        if (field == 1)
          return numbers_to(reader, type, WireType::varint,
                            [&](uint64_t n) { result.second = n != 0; });
        if (field == 2 || field == 5) {
          return numbers_to(reader, type, WireType::varint,
                            [&](uint64_t n) { result.second = static_cast<int64_t>(n); });
        }
        return false;
      });
  if (wrong) return *wrong;
  return result;
}

struct Input {
  std::string name, datatype;
  Dims dims;
  std::optional<std::string_view> contents;
  std::optional<SharedPlace> shared;
};

Outcome<Input> read_input(std::string_view bytes) {
  Input input;
  auto wrong =
      each_field(bytes, [&](uint32_t field, WireType type, WireReader& reader) -> Outcome<bool> {
        if (field == 1) return text_to(reader, type, input.name);
        if (field == 2) return text_to(reader, type, input.datatype);
        if (field == 3) {
          return numbers_to(reader, type, WireType::varint, [&](uint64_t n) {
            if (input.dims.size() <= 64) input.dims.push_back(static_cast<int64_t>(n));
          });
        }
        std::string_view view;
        if (field == 4 && type == WireType::bytes) {
          const auto took = view_to(reader, type, view);
          if (!took) return took;
          const auto parameter = read_parameter(view);
          if (!parameter) return parameter.failure();
          if (parameter->first.starts_with("shared_memory_")) {
            if (!input.shared) input.shared.emplace();
            const std::string says = input.shared->set(parameter->first, parameter->second);
            if (!says.empty()) return malformed(says);
          }
          return true;
        }
        if (field == 5) return view_to(reader, type, input.contents.emplace());
        return false;
      });
  if (wrong) return *wrong;
  return input;
}

// InferTensorContents: which field holds elements of a type, and how they are written.
struct Contents {
  uint32_t field;
  WireType single;
};
std::optional<Contents> contents_of(Type type) {
  switch (type) {
    case Type::boolean:
      return Contents{1, WireType::varint};
    case Type::i8:
    case Type::i16:
    case Type::i32:
      return Contents{2, WireType::varint};
    case Type::i64:
      return Contents{3, WireType::varint};
    case Type::u8:
    case Type::u16:
    case Type::u32:
      return Contents{4, WireType::varint};
    case Type::u64:
      return Contents{5, WireType::varint};
    case Type::f32:
      return Contents{6, WireType::fixed32};
    case Type::f64:
      return Contents{7, WireType::fixed64};
    case Type::string:
      return Contents{8, WireType::bytes};
    default:
      return std::nullopt;
  }
}

// Whether a number of 64 bits is one of the type.
bool in_range(Type type, uint64_t value) {
  const auto number = static_cast<int64_t>(value);
  switch (type) {
    case Type::boolean:
      return value <= 1;
    case Type::i8:
      return number == static_cast<int8_t>(number);
    case Type::i16:
      return number == static_cast<int16_t>(number);
    case Type::i32:
      return number == static_cast<int32_t>(number);
    case Type::u8:
      return value <= 0xff;
    case Type::u16:
      return value <= 0xffff;
    case Type::u32:
      return value <= 0xffffffff;
    default:
      return true;
  }
}

Outcome<Tensor> tensor_of_contents(const Input& input, Type type) {
  const auto wrong = [&](const std::string& what) {
    return malformed("input \"" + input.name + "\" of " + input.datatype + text_of(input.dims) +
                     ": " + what);
  };
  const std::optional<size_t> count = count_of(input.dims);
  if (!count || input.dims.size() > 64) return wrong("the shape is impossible");
  const auto contents = contents_of(type);
  if (!contents) return wrong("elements of this type travel in raw_input_contents only");
  if (*count > input.contents->size()) return wrong("the contents are too short for the shape");
  Tensor tensor(type, input.dims);
  size_t at = 0;
  bool fits = true;
  const size_t size = element_bytes(type);
  const auto put = [&](uint64_t value) {
    fits = fits && in_range(type, value);
    if (at < *count)
      std::memcpy(static_cast<char*>(tensor.data()) + at * size, &value, size);  // little-endian
    ++at;
  };
  const auto failure = each_field(
      *input.contents, [&](uint32_t field, WireType wire, WireReader& reader) -> Outcome<bool> {
        if (field != contents->field) return wrong("contents of another type");
        if (type != Type::string) return numbers_to(reader, wire, contents->single, put);
        std::string text;
        const auto took = text_to(reader, wire, text);
        if (took && *took && at < *count) tensor.values<std::string>()[at] = std::move(text);
        ++at;
        return took;
      });
  if (failure) return *failure;
  if (!fits) return wrong("an element is out of the type's range");
  if (at != *count)
    return wrong("there are " + std::to_string(at) + " elements, not " + std::to_string(*count));
  return tensor;
}

Outcome<WantedOutput> read_output(std::string_view bytes) {
  WantedOutput output;
  const auto wrong =
      each_field(bytes, [&](uint32_t field, WireType type, WireReader& reader) -> Outcome<bool> {
        if (field == 1) return text_to(reader, type, output.name);
        std::string_view view;
        if (field != 2 || type != WireType::bytes) return false;
        const auto took = view_to(reader, type, view);
        if (!took) return took;
        const auto parameter = read_parameter(view);
        if (!parameter) return parameter.failure();
        if (parameter->first.starts_with("shared_memory_")) {
          if (!output.shared) output.shared.emplace();
          const std::string says = output.shared->set(parameter->first, parameter->second);
          if (!says.empty()) return malformed(says);
        }
        if (parameter->first == "classification") return malformed("this server does not classify");
        return true;
      });
  if (wrong) return *wrong;
  return output;
}

}  // namespace

Outcome<InferRequest> read_infer_proto(std::string_view bytes, const Regions& regions) {
  InferRequest request;
  std::vector<Input> inputs;
  std::vector<std::string_view> raw;
  const auto wrong =
      each_field(bytes, [&](uint32_t field, WireType type, WireReader& reader) -> Outcome<bool> {
        if (field == 1) return text_to(reader, type, request.model);
        if (field == 2) return text_to(reader, type, request.version);
        if (field == 3) return text_to(reader, type, request.id);
        if (field < 4 || field > 7 || type != WireType::bytes) return false;
        std::string_view view;
        const auto took = view_to(reader, type, view);
        if (!took) return took;
        if (inputs.size() + raw.size() + request.outputs.size() + request.others.size() > 16384) {
          return malformed("over 16384 tensors and parameters");
        }
        if (field == 7) {
          raw.push_back(view);
        } else if (field == 6) {
          auto output = read_output(view);
          if (!output) return output.failure();
          request.outputs.push_back(*std::move(output));
        } else if (field == 5) {
          auto input = read_input(view);
          if (!input) return input.failure();
          inputs.push_back(*std::move(input));
        } else {
          const auto parameter = read_parameter(view);
          if (!parameter) return parameter.failure();
          if (const std::string says = request.set(parameter->first, parameter->second);
              !says.empty())
            return malformed(says);
        }
        return true;
      });
  if (wrong) return *wrong;
  const auto here = static_cast<size_t>(std::count_if(
      inputs.begin(), inputs.end(), [](const Input& input) { return !input.shared; }));
  if (!raw.empty() && raw.size() != here) {
    return malformed(std::to_string(raw.size()) + " raw_input_contents for " +
                     std::to_string(here) + " inputs");
  }
  for (size_t i = 0, at = 0; i < inputs.size(); ++i) {
    Input& input = inputs[i];
    const Type type = type_of_datatype(input.datatype);
    if (type == Type::undefined)
      return malformed("\"" + input.datatype + "\" is no datatype of input \"" + input.name + "\"");
    if ((!raw.empty() || input.shared) && input.contents && !input.contents->empty()) {
      return malformed("input \"" + input.name +
                       "\" has contents, and raw_input_contents or shared memory");
    }
    if (raw.empty() && !input.contents) input.contents.emplace();
    auto tensor = input.shared  ? regions.read(*input.shared, type, input.dims, input.name)
                  : raw.empty() ? tensor_of_contents(input, type)
                                : tensor_of_bytes(type, input.dims, raw[at++], input.name, true);
    if (!tensor) return tensor.failure();
    request.inputs.push_back({std::move(input.name), *std::move(tensor)});
  }
  return request;
}

Response infer_proto(const std::shared_ptr<const InferResult>& result) {
  ProtoWriter head;
  head.bytes.reserve(256);
  head.text(1, result->model);
  head.text(2, result->version);
  head.text(3, result->id);
  for (size_t i = 0; i < result->outputs.size(); ++i) {
    const OutputTensor& output = result->outputs[i];
    ProtoWriter tensor;
    tensor.bytes.reserve(64);
    tensor.text(1, output.name);
    tensor.text(2, datatype_of(output.tensor.type()));
    tensor.sizes(3, output.tensor.dims());
    const auto parameter = [&](std::string_view name, const ProtoWriter& value) {
      ProtoWriter entry;
      entry.text(1, name);
      entry.message(2, value);
      tensor.message(4, entry);
    };
    if (!result->digests.empty()) {
      ProtoWriter value;
      value.text(3, result->digests[i]);
      parameter("digest", value);
    }
    if (output.shared) {
      ProtoWriter region, offset, bytes;
      region.text(3, output.shared->region);
      offset.number(2, output.shared->offset);
      bytes.number(2, output.shared->bytes);
      parameter("shared_memory_region", region);
      parameter("shared_memory_offset", offset);
      parameter("shared_memory_byte_size", bytes);
    }
    head.message(5, tensor);
  }
  // Tensors follow as they lie in memory; only their tags and lengths are written.
  Response response;
  response.content_type = "application/grpc";
  response.text.assign(5, '\0');
  size_t size = 0;
  std::string before = std::move(head.bytes);
  std::vector<Piece> pieces;
  for (const OutputTensor& output : result->outputs) {
    const Tensor& tensor = output.tensor;
    const bool strings = tensor.type() == Type::string;
    // One in shared memory is empty here, so that the others keep their places.
    Piece piece = output.shared ? Piece()
                  : strings     ? piece_of(string_bytes(tensor))
                                : Piece{{static_cast<const char*>(tensor.data()),
                                         packed_bytes(tensor.type(), tensor.count())},
                                    result};
    ProtoWriter mark;
    mark.tag(6, 2);
    mark.varint(piece.bytes.size());
    before += mark.bytes;
    if (piece.bytes.size() < 4096) {
      before += piece.bytes;
      continue;
    }
    size += before.size() + piece.bytes.size();
    if (pieces.empty()) {
      response.text += before;
    } else {
      pieces.push_back(piece_of(std::move(before)));
    }
    before.clear();
    pieces.push_back(std::move(piece));
  }
  size += before.size();
  if (pieces.empty()) {
    response.text += before;
  } else if (!before.empty()) {
    pieces.push_back(piece_of(std::move(before)));
  }
  for (int i = 0; i < 4; ++i)
    response.text[static_cast<size_t>(1 + i)] = static_cast<char>(size >> (24 - 8 * i));
  response.pieces = std::move(pieces);
  return response;
}

Outcome<ProtoFields> read_fields(std::string_view bytes) {
  ProtoFields fields;
  const auto wrong =
      each_field(bytes, [&](uint32_t field, WireType type, WireReader& reader) -> Outcome<bool> {
        if (fields.texts.size() + fields.numbers.size() > 4096)
          return malformed("over 4096 fields");
        if (type == WireType::bytes) {
          std::string_view view;
          const auto took = view_to(reader, type, view);
          if (took) fields.texts.emplace_back(field, view);
          return took;
        }
        if (type != WireType::varint) return false;
        return numbers_to(reader, type, WireType::varint,
                          [&](uint64_t n) { fields.numbers.emplace_back(field, n); });
      });
  if (wrong) return *wrong;
  return fields;
}

}  // namespace sardonyx::serve
