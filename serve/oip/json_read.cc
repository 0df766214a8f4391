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
  std::string name;
  Type type = Type::undefined;
  Dims dims;
  bool has_name = false, has_shape = false, has_data = false;
  std::optional<Tensor> data;  // "data", if it could be read where it stood
  std::optional<int64_t> binary_bytes;
  std::optional<SharedPlace> shared;

  std::string place() const { return has_name ? " of input \"" + name + '"' : " of an input"; }
  std::optional<Failure> read_shape(od::value& value);
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
  std::optional<Failure> field(Input& input, od::raw_json_string key, od::value& value);
  Outcome<Tensor> elements(Input& input, od::object& object);
  std::optional<Failure> output(od::object object);
  std::optional<Failure> all(od::object document);
  std::optional<Failure> all_inputs(od::value& value);
  std::optional<Failure> all_outputs(od::value& value);
};

// The elements, wherever they are.
Outcome<Tensor> Reader::elements(Input& input, od::object& object) {
  const int places =
      int{input.has_data} + int{input.binary_bytes.has_value()} + int{input.shared.has_value()};
  if (places != 1) {
    return malformed((places > 1 ? "more than one of" : "none of") +
                     std::string(" \"data\", a binary tensor and shared memory") + input.place());
  }
  if (input.has_data) {
    if (input.data) return *std::move(input.data);
    od::value data;  // it stood before what tells how to read it
    if (object.reset().error() != SUCCESS ||
        object.find_field_unordered("data").get(data) != SUCCESS) {
      return malformed("the JSON is malformed");
    }
    return read_json_elements(data, input.type, input.dims, input.name, json_bytes);
  }
  if (input.shared) return regions.read(*input.shared, input.type, input.dims, input.name);
  const auto bytes = static_cast<size_t>(*input.binary_bytes);
  if (bytes > binary.size())
    return malformed("the body ends within the binary tensor" + input.place());
  const std::string_view part = binary.substr(0, bytes);
  binary.remove_prefix(bytes);
  return tensor_of_bytes(input.type, input.dims, part, input.name, true);
}

std::optional<Failure> Input::read_shape(od::value& value) {
  od::array shape;
  if (value.get_array().get(shape) != SUCCESS) return malformed("there is no \"shape\"" + place());
  dims.reserve(4);
  for (auto dim : shape) {
    int64_t size = 0;
    if (dim.get_int64().get(size) != SUCCESS || dims.size() >= 64) {
      return malformed("a size in \"shape\"" + place() +
                       " is not an integer, or there are over 64");
    }
    dims.push_back(size);
  }
  has_shape = true;
  return std::nullopt;
}

// One pass: fields may come in any order, and elements are read where they stand if it is known by
// then what they are.
std::optional<Failure> Reader::field(Input& input, od::raw_json_string key, od::value& value) {
  std::string_view text;
  if (key.unsafe_is_equal("name")) {
    if (input.has_name || value.get_string().get(text) != SUCCESS)
      return malformed("an input's \"name\" is not one string");
    input.name = text;
    input.has_name = true;
  } else if (key.unsafe_is_equal("datatype")) {
    if (input.type != Type::undefined || value.get_string().get(text) != SUCCESS)
      return malformed("\"datatype\" is not one string" + input.place());
    input.type = type_of_datatype(text);
    if (input.type == Type::undefined)
      return malformed("\"" + std::string(text) + "\" is no datatype" + input.place());
  } else if (key.unsafe_is_equal("shape")) {
    if (input.has_shape) return malformed("\"shape\" is there twice" + input.place());
    return input.read_shape(value);
  } else if (key.unsafe_is_equal("parameters")) {
    const std::string wrong = each_parameter(value, [&](const auto& name, const auto& given) {
      return read_input_parameter(input, name, given);
    });
    if (!wrong.empty()) return Failure{Kind::bad_request, wrong + input.place()};
  } else if (key.unsafe_is_equal("data")) {
    if (std::exchange(input.has_data, true))
      return malformed("\"data\" is there twice" + input.place());
    if (!input.has_name || !input.has_shape || input.type == Type::undefined) return std::nullopt;
    auto read = read_json_elements(value, input.type, input.dims, input.name, json_bytes);
    if (!read) return read.failure();
    input.data = *std::move(read);
  }
  return std::nullopt;
}

std::optional<Failure> Reader::input(od::object object) {
  Input input;
  for (auto entry : object) {
    od::raw_json_string key;
    od::value value;
    if (entry.key().get(key) != SUCCESS || entry.value().get(value) != SUCCESS)
      return malformed("the JSON is malformed" + input.place());
    if (auto wrong = field(input, key, value)) return wrong;
  }
  if (!input.has_name) return malformed("an input has no \"name\"");
  if (input.type == Type::undefined) return malformed("there is no \"datatype\"" + input.place());
  if (!input.has_shape) return malformed("there is no \"shape\"" + input.place());
  auto tensor = elements(input, object);
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
  bool has_id = false, has_parameters = false, has_inputs = false, has_outputs = false;
  for (auto entry : document) {
    od::raw_json_string key;
    od::value value;
    if (entry.key().get(key) != SUCCESS || entry.value().get(value) != SUCCESS)
      return malformed("the JSON is malformed");
    if (key.unsafe_is_equal("inputs")) {
      if (std::exchange(has_inputs, true)) return malformed("\"inputs\" is there twice");
      if (auto wrong = all_inputs(value)) return wrong;
    } else if (key.unsafe_is_equal("outputs")) {
      if (std::exchange(has_outputs, true)) return malformed("\"outputs\" is there twice");
      if (auto wrong = all_outputs(value)) return wrong;
    } else if (key.unsafe_is_equal("id")) {
      std::string_view text;
      if (std::exchange(has_id, true) || value.get_string().get(text) != SUCCESS)
        return malformed("\"id\" is not one string");
      request.id = text;
    } else if (key.unsafe_is_equal("parameters")) {
      if (std::exchange(has_parameters, true)) return malformed("\"parameters\" is there twice");
      const std::string wrong = each_parameter(
          value, [&](const auto& name, const auto& given) { return request.set(name, given); });
      if (!wrong.empty()) return Failure{Kind::bad_request, wrong};
    }
  }
  if (!has_inputs) return malformed("there is no array \"inputs\"");
  if (!binary.empty()) return malformed("the body holds bytes that no input says it has");
  return std::nullopt;
}

std::optional<Failure> Reader::all_inputs(od::value& value) {
  od::array inputs;
  if (value.get_array().get(inputs) != SUCCESS) return malformed("there is no array \"inputs\"");
  for (auto entry : inputs) {
    od::object object;
    if (entry.get_object().get(object) != SUCCESS) return malformed("an input is not an object");
    if (auto wrong = input(object)) return wrong;
    if (request.inputs.size() > 4096) return malformed("over 4096 inputs");
  }
  return std::nullopt;
}

std::optional<Failure> Reader::all_outputs(od::value& value) {
  od::array outputs;
  if (value.get_array().get(outputs) != SUCCESS) return malformed("\"outputs\" is not an array");
  for (auto entry : outputs) {
    od::object object;
    if (entry.get_object().get(object) != SUCCESS) return malformed("an output is not an object");
    if (auto wrong = output(object)) return wrong;
    if (request.outputs.size() > 4096) return malformed("over 4096 outputs");
  }
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
