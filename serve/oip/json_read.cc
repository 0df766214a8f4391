#include <charconv>

#include "serve/oip/json.h"
#include "serve/oip/json_elements.h"

namespace sardonyx::serve {
namespace {

using simdjson::SUCCESS;
namespace od = simdjson::ondemand;

Failure malformed(const std::string& what) { return {Kind::bad_request, "SDX-V0320: " + what, 0}; }

Outcome<Parameter> read_parameter(od::value value, std::string_view name) {
  od::json_type kind{};
  if (value.type().get(kind) != SUCCESS) return malformed("the JSON is malformed");
  if (kind == od::json_type::boolean) {
    bool truth = false;
    if (value.get_bool().get(truth) == SUCCESS) return Parameter(truth);
  } else if (kind == od::json_type::string) {
    std::string_view text;
    if (value.get_string().get(text) == SUCCESS) return Parameter(std::string(text));
  } else if (kind == od::json_type::number) {
    od::number number;
    if (value.get_number().get(number) == SUCCESS) {
      if (number.is_int64()) return Parameter(number.get_int64());
      return Parameter(number.is_uint64() ? static_cast<double>(number.get_uint64())
                                          : number.get_double());
    }
  }
  return malformed("parameter \"" + std::string(name) + "\" is not a number, string or boolean");
}

// Calls set(name, parameter) for each; answers what is wrong, or "".
template <class Set>
std::string each_parameter(od::value value, const Set& set) {
  od::object object;
  if (value.get_object().get(object) != SUCCESS)
    return "SDX-V0321: \"parameters\" is not an object";
  for (auto field : object) {
    std::string_view name;
    od::value inner;
    if (field.unescaped_key().get(name) != SUCCESS || field.value().get(inner) != SUCCESS) {
      return "SDX-V0322: the JSON is malformed within \"parameters\"";
    }
    const std::string key(name);
    const auto parameter = read_parameter(inner, key);
    if (!parameter) return parameter.failure().message;
    if (std::string wrong = set(key, *parameter); !wrong.empty()) return wrong;
  }
  return "";
}

struct Input {
  std::string name, datatype;
  Dims dims;
  std::optional<int64_t> binary_bytes;
  std::optional<SharedPlace> shared;
};

std::string read_input_parameter(Input& input, const std::string& name, const Parameter& value) {
  if (name == "binary_data_size") {
    const auto* bytes = std::get_if<int64_t>(&value);
    if (bytes == nullptr || *bytes < 0) return "SDX-V0323: \"binary_data_size\" is not a count";
    input.binary_bytes = *bytes;
  } else if (name.starts_with("shared_memory_")) {
    if (!input.shared) input.shared.emplace();
    return input.shared->set(name, value);
  }
  return "";
}

// Where an input's elements are: in its "data", or next in the binary part.
struct Reader {
  std::string_view binary;  // what is left of it
  size_t json_bytes;
  const Regions& regions;
  InferRequest request;

  std::optional<Failure> input(od::object object);
  std::optional<Failure> output(od::object object);
  std::optional<Failure> all(od::object document);
};

std::optional<Failure> Reader::input(od::object object) {
  Input input;
  std::string_view text;
  if (object.find_field_unordered("name").get_string().get(text) != SUCCESS) {
    return malformed("an input has no \"name\"");
  }
  input.name = text;
  const std::string of = " of input \"" + input.name + "\"";
  if (object.find_field_unordered("datatype").get_string().get(text) != SUCCESS) {
    return malformed("there is no \"datatype\"" + of);
  }
  input.datatype = text;
  const Type type = type_of_datatype(input.datatype);
  if (type == Type::undefined) return malformed("\"" + input.datatype + "\" is no datatype" + of);
  od::array shape;
  if (object.find_field_unordered("shape").get_array().get(shape) != SUCCESS) {
    return malformed("there is no \"shape\"" + of);
  }
  for (auto dim : shape) {
    int64_t size = 0;
    if (dim.get_int64().get(size) != SUCCESS || input.dims.size() >= 64) {
      return malformed("a size in \"shape\"" + of + " is not an integer, or there are over 64");
    }
    input.dims.push_back(size);
  }
  od::value parameters;
  if (object.find_field_unordered("parameters").get(parameters) == SUCCESS) {
    const std::string wrong = each_parameter(parameters, [&](const auto& name, const auto& value) {
      return read_input_parameter(input, name, value);
    });
    if (!wrong.empty()) return Failure{Kind::bad_request, wrong + of};
  }
  od::value data;
  const bool has_data = object.find_field_unordered("data").get(data) == SUCCESS;
  const int places =
      int{has_data} + int{input.binary_bytes.has_value()} + int{input.shared.has_value()};
  if (places != 1) {
    return malformed((places > 1 ? "more than one of" : "none of") +
                     std::string(" \"data\", a binary tensor and shared memory") + of);
  }
  auto tensor = [&]() -> Outcome<Tensor> {
    if (has_data) return read_json_elements(data, type, input.dims, input.name, json_bytes);
    if (input.shared) return regions.read(*input.shared, type, input.dims, input.name);
    const auto bytes = static_cast<size_t>(*input.binary_bytes);
    if (bytes > binary.size()) return malformed("the body ends within the binary tensor" + of);
    const std::string_view part = binary.substr(0, bytes);
    binary.remove_prefix(bytes);
    return tensor_of_bytes(type, input.dims, part, input.name, true);
  }();
  if (!tensor) return tensor.failure();
  request.inputs.push_back({std::move(input.name), *std::move(tensor)});
  return std::nullopt;
}

std::optional<Failure> Reader::output(od::object object) {
  WantedOutput output;
  std::string_view text;
  if (object.find_field_unordered("name").get_string().get(text) != SUCCESS) {
    return malformed("an output has no \"name\"");
  }
  output.name = text;
  od::value parameters;
  if (object.find_field_unordered("parameters").get(parameters) == SUCCESS) {
    const std::string wrong =
        each_parameter(parameters, [&](const auto& name, const Parameter& value) -> std::string {
          if (name == "classification") return "SDX-V0326: this server does not classify";
          if (name.starts_with("shared_memory_")) {
            if (!output.shared) output.shared.emplace();
            return output.shared->set(name, value);
          }
          if (name == "binary_data") {
            if (!std::holds_alternative<bool>(value)) {
              return "SDX-V0325: parameter \"binary_data\" is not a boolean";
            }
            output.binary = std::get<bool>(value);
          }
          return "";
        });
    if (!wrong.empty()) return Failure{Kind::bad_request, wrong};
  }
  request.outputs.push_back(std::move(output));
  return std::nullopt;
}

std::optional<Failure> Reader::all(od::object document) {
  std::string_view text;
  od::value id, parameters;
  if (document.find_field_unordered("id").get(id) == SUCCESS) {
    if (id.get_string().get(text) != SUCCESS) return malformed("\"id\" is not a string");
    request.id = text;
  }
  if (document.find_field_unordered("parameters").get(parameters) == SUCCESS) {
    const std::string wrong = each_parameter(
        parameters, [&](const auto& name, const auto& value) { return request.set(name, value); });
    if (!wrong.empty()) return Failure{Kind::bad_request, wrong};
  }
  od::array inputs, outputs;
  if (document.find_field_unordered("inputs").get_array().get(inputs) != SUCCESS) {
    return malformed("there is no array \"inputs\"");
  }
  for (auto entry : inputs) {
    od::object object;
    if (entry.get_object().get(object) != SUCCESS) return malformed("an input is not an object");
    if (auto wrong = input(object)) return wrong;
    if (request.inputs.size() > 4096) return malformed("over 4096 inputs");
  }
  od::value listed;
  if (document.find_field_unordered("outputs").get(listed) == SUCCESS) {
    if (listed.get_array().get(outputs) != SUCCESS) return malformed("\"outputs\" is not an array");
    for (auto entry : outputs) {
      od::object object;
      if (entry.get_object().get(object) != SUCCESS) return malformed("an output is not an object");
      if (auto wrong = output(object)) return wrong;
      if (request.outputs.size() > 4096) return malformed("over 4096 outputs");
    }
  }
  if (!binary.empty()) return malformed("the body holds bytes that no input says it has");
  return std::nullopt;
}

}  // namespace

Outcome<InferRequest> read_infer_json(Body& body, size_t json_bytes, const Regions& regions) {
  // The parser stops at its length but reads a little further, where binary tensors are too.
  static thread_local od::parser parser;
  const std::string_view all = body.view();
  const simdjson::padded_string_view json(all.data(), json_bytes, all.size() + Body::kPadding);
  od::document document;
  od::object object;
  if (parser.iterate(json).get(document) != SUCCESS ||
      document.get_object().get(object) != SUCCESS) {
    return malformed("the body is not a JSON object");
  }
  Reader reader{all.substr(json_bytes), json_bytes, regions, {}};
  if (auto wrong = reader.all(object)) return *std::move(wrong);
  return std::move(reader.request);
}

}  // namespace sardonyx::serve
