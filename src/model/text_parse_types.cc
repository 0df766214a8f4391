// Types, values and tensors of a model's text.
#include "model/text_parser.h"

namespace sdx::model {

Result<DType> TextParser::element_type() {
  const size_t start = (in_.skip(), in_.at());
  if (const auto type = dtype_from_onnx(in_.identifier())) return *type;
  in_.go_to(start);
  return in_.unexpected("an element type such as float or int64");
}

template <class T>
Status TextParser::tensor_type(T& out) {
  SDX_ASSIGN(const DType element, element_type());
  set(out, &T::elem_type, static_cast<int32_t>(element));
  if (!in_.take("[")) {
    out.shape.emplace();
    return ok();
  }
  if (in_.take("]")) return ok();  // the rank is not known
  Shape& shape = out.shape.emplace();
  do {
    Dimension& dim = shape.dim.emplace_back();
    if (in_.take("?")) continue;
    if (in_.name_ahead()) {
      SDX_ASSIGN(dim.value, in_.name());
    } else {
      const char first = in_.peek();
      if (first != '-' && (first < '0' || first > '9')) {
        return in_.unexpected("a dimension: a number, a name or \"?\"");
      }
      SDX_ASSIGN(dim.value, in_.integer());
    }
  } while (in_.take(","));
  return in_.expect("]");
}

Status TextParser::type(Type& t) {
  const std::string_view word = in_.peek_identifier();
  if (dtype_from_onnx(word)) return tensor_type(t.value.emplace<TensorType>());
  if (!is_type_word(word)) return in_.unexpected("a type");
  SDX_TRY(in_.descend());
  in_.identifier();
  SDX_TRY(in_.expect("("));
  if (word == "seq") {
    SDX_TRY(type(t.value.emplace<SequenceType>().elem_type.emplace()));
  } else if (word == "optional") {
    SDX_TRY(type(t.value.emplace<OptionalType>().elem_type.emplace()));
  } else if (word == "sparse_tensor") {
    SDX_TRY(tensor_type(t.value.emplace<SparseTensorType>()));
  } else if (word == "map") {
    auto& map = t.value.emplace<MapType>();
    SDX_ASSIGN(const DType key, element_type());
    set(map, &MapType::key_type, static_cast<int32_t>(key));
    SDX_TRY(in_.expect(","));
    SDX_TRY(type(map.value_type.emplace()));
  } else {
    SDX_TRY(opaque(t.value.emplace<OpaqueType>()));
  }
  in_.ascend();
  return in_.expect(")");
}

Status TextParser::opaque(OpaqueType& out) {
  if (in_.peek() == ')') return ok();
  SDX_ASSIGN(std::string first, dotted());
  if (in_.take(",")) {
    set(out, &OpaqueType::domain, std::move(first));
    SDX_ASSIGN(const std::string_view name, in_.need_identifier());
    set(out, &OpaqueType::name, std::string(name));
  } else {
    set(out, &OpaqueType::name, std::move(first));
  }
  return ok();
}

Result<std::string> TextParser::dotted() {
  SDX_ASSIGN(const std::string_view first, in_.need_identifier());
  std::string all(first);
  while (in_.take(".")) {
    SDX_ASSIGN(const std::string_view next, in_.need_identifier());
    all += fmt::format(".{}", next);
  }
  return all;
}

Status TextParser::value(ValueInfo& info) {
  SDX_TRY(typed_name(info));
  return extension("value", info);
}

Status TextParser::typed_name(ValueInfo& info) {
  if (is_type_word(in_.peek_identifier())) SDX_TRY(type(info.type.emplace()));
  SDX_ASSIGN(std::string name, in_.name());
  put_name(info, &ValueInfo::name, std::move(name));
  return ok();
}

Status TextParser::values(std::vector<ValueInfo>& list) {
  do {
    SDX_TRY(value(list.emplace_back()));
  } while (in_.take(","));
  return ok();
}

Status TextParser::tensor(const std::optional<Type>& declared, size_t type_at, TensorData& t) {
  const TensorType* type = declared ? declared->tensor() : nullptr;
  const auto refuse = [&](std::string_view why) {
    in_.go_to(type_at);
    return fail("SDX-M0101", "{}", why);
  };
  if (type == nullptr) return refuse("elements need the type of a tensor before them");
  if (!type->shape) return refuse("the dimensions of a tensor with elements must be given");
  set(t, &TensorData::data_type, type->elem_type);
  for (const Dimension& dim : type->shape->dim) {
    if (dim.number() == nullptr) return refuse("the dimensions of a tensor must be numbers");
    t.dims.push_back(*dim.number());
  }
  SDX_TRY(parse_elements(in_, t));
  return extension("tensor", t);
}

Status TextParser::value_or_initializer(std::vector<ValueInfo>& infos,
                                        std::vector<TensorData>& initializers, bool keep_info) {
  const size_t start = (in_.skip(), in_.at());
  ValueInfo info;
  SDX_TRY(typed_name(info));
  if (in_.take("=")) {
    TensorData& t = initializers.emplace_back();
    put_name(t, &TensorData::name, info.name);
    SDX_TRY(tensor(info.type, start, t));
    if (!keep_info) return ok();
  }
  SDX_TRY(extension("value", info));
  infos.push_back(std::move(info));
  return ok();
}

}  // namespace sdx::model
