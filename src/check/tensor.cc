// Types as declared and tensors as stored.
#include "model/tensor.h"

#include <fmt/format.h>

#include "check/checker.h"
#include "check/text.h"

namespace sdx::check {

void Checker::value_info(const model::ValueInfo& info, bool main, const Place& place) {
  if (info.name.empty()) {
    report(rule::value_name, place, "a value is declared without a name");
  }
  metadata(info.metadata_props, rule::inner_metadata_repeated, place);
  if (options_.open_types) main = false;
  if (info.type && !std::holds_alternative<std::monostate>(info.type->value)) {
    type(*info.type, main, place);
  } else if (main) {
    report(rule::type_missing, place, "{} has no type", in_quotes(info.name));
  }
}

void Checker::type(const model::Type& t, bool main, const Place& place) {
  const auto tensor_type = [&](int32_t element, const std::optional<model::Shape>& declared) {
    const bool open = element == 0 && options_.open_types;
    if (!valid(element) && !open) {
      report(rule::element_type, place, "the element type is {}; expected 1 to {}", element,
             kDTypeCount - 1);
    }
    if (main && !declared) {
      report(rule::shape_missing, place, "the tensor has no shape").help =
          "the rank must be stated; its dimensions may be open";
    }
    shape(declared, place);
  };
  // Types within types need a type, but not a shape.
  const auto inner = [&](const model::Box<model::Type>& boxed, std::string_view what) {
    if (!boxed || std::holds_alternative<std::monostate>(boxed->value)) {
      report(rule::type_incomplete, place, "the {} has no element type", what);
    } else {
      type(*boxed, false, place);
    }
  };
  const auto wrapped = [&](const model::Box<model::Type>& boxed) {
    return boxed && (boxed->optional() != nullptr || boxed->opaque() != nullptr);
  };
  if (const model::TensorType* tensor = t.tensor()) {
    tensor_type(tensor->elem_type, tensor->shape);
  } else if (const model::SparseTensorType* sparse_tensor = t.sparse_tensor()) {
    tensor_type(sparse_tensor->elem_type, sparse_tensor->shape);
  } else if (const model::SequenceType* sequence = t.sequence()) {
    inner(sequence->elem_type, "sequence");
  } else if (const model::OptionalType* optional = t.optional()) {
    inner(optional->elem_type, "optional");
    if (wrapped(optional->elem_type)) {
      report(rule::type_incomplete, place,
             "the optional holds another kind of type than a tensor, a sequence or a map");
    }
  } else if (const model::MapType* map = t.map()) {
    const DType key = valid(map->key_type) ? static_cast<DType>(map->key_type) : DType::undefined;
    if (key != DType::string && (!is_integer(key) || is_packed(key))) {
      report(rule::type_incomplete, place,
             "the map's keys are of type {}; expected integers or strings",
             valid(map->key_type) ? std::string(onnx_name(key)) : fmt::to_string(map->key_type));
    }
    inner(map->value_type, "map");
  } else if (const model::OpaqueType* opaque = t.opaque()) {
    if (opaque->name.empty()) report(rule::type_incomplete, place, "the opaque type has no name");
  }
}

void Checker::shape(const std::optional<model::Shape>& declared, const Place& place) {
  if (!declared) return;
  for (size_t axis = 0; axis < declared->dim.size(); ++axis) {
    const model::Dimension& dim = declared->dim[axis];
    if (const int64_t* number = dim.number(); number != nullptr && *number < 0) {
      report(rule::dim_negative, place, "dimension {} is {}; expected 0 or more", axis, *number)
          .help = "a size that is not known has neither dim_value nor dim_param";
    }
    if (const std::string* param = dim.param();
        param != nullptr && (param->empty() || *param == "*")) {
      report(rule::dim_name, place, "dimension {} has the name {}; it is taken as unknown", axis,
             in_quotes(*param));
    }
  }
}

namespace {

// The rule that an error of reading a tensor breaks.
const Rule& rule_of(const Error& error) {
  const std::pair<std::string_view, const Rule*> rules[] = {
      {"SDX-B0101", &rule::tensor_dims},    {"SDX-B0102", &rule::tensor_dims},
      {"SDX-M0102", &rule::element_type},   {"SDX-M0103", &rule::tensor_storage},
      {"SDX-M0104", &rule::tensor_size},    {"SDX-M0105", &rule::tensor_values},
      {"SDX-M0106", &rule::tensor_storage}, {"SDX-M0107", &rule::tensor_segment}};
  for (const auto& [code, rule] : rules) {
    if (code == error.code) return *rule;
  }
  return rule::external_data;
}

}  // namespace

void Checker::tensor(const model::TensorData& t, const Place& place) {
  metadata(t.metadata_props, rule::inner_metadata_repeated, place);
  const auto judge = [&](const auto& result) {
    if (result) return;
    report(rule_of(result.error()), place, "{}", result.error().what).help = result.error().help;
  };
  const auto location = static_cast<int32_t>(t.data_location);
  if (location != 0 && location != 1) {
    report(rule::data_location, place, "data_location is {}; expected 0 or 1", location);
    return;
  }
  if (location == 0 && !t.external_data.empty()) {
    add(rule::data_location, Severity::warning, place,
        "external_data is given, but data_location is DEFAULT: it is not read");
  }
  if (t.dtype() == DType::string) {
    judge(model::to_tensor(t));
    strings(t, place);
  } else {
    judge(model::data_of(t));
  }
}

void Checker::strings(const model::TensorData& t, const Place& place) {
  for (size_t i = 0; i < t.string_data.size(); ++i) {
    const std::string& text = t.string_data[i];
    const std::string_view why = !is_utf8(text) ? "is not UTF-8"
                                 : text.starts_with("\xef\xbb\xbf")
                                     ? "starts with a byte order mark"
                                 : text.ends_with('\0') ? "ends with a zero byte"
                                                        : "";
    if (why.empty()) continue;
    report(rule::tensor_text, place, "element {} {}: {}", i, why, in_quotes(text));
    return;
  }
}

void Checker::sparse(const model::SparseTensorData& t, const Place& place) {
  if (!t.values) {
    report(rule::sparse_tensor, place, "the sparse tensor has no values");
    return;
  }
  const size_t before = report_.diagnostics.size() + report_.left_out;
  tensor(*t.values, place);
  if (t.indices) tensor(*t.indices, place);
  if (report_.diagnostics.size() + report_.left_out != before) return;
  if (t.dims.empty()) {
    report(rule::sparse_tensor, place, "the sparse tensor has no dimensions");
    return;
  }
  for (const int64_t dim : t.dims) {
    if (dim > 0) continue;
    report(rule::sparse_tensor, place, "the sparse tensor has dimension {}; expected 1 or more",
           dim);
    return;
  }
  const bool none = !t.indices && t.values->dims == std::vector<int64_t>{0};
  if (none) return;
  if (const auto positions = model::positions_of(t); !positions) {
    report(rule::sparse_tensor, place, "{}", positions.error().what);
  }
}

}  // namespace sdx::check
