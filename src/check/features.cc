// What needs a later version of the intermediate representation, and the encoding of names.
#include "check/features.h"

#include "check/checker.h"
#include "check/text.h"

namespace sdx::check {
namespace {

// A part of a model that an IR version introduced, and where it first stands.
struct Found {
  std::string_view what;
  int64_t since;
  const Rule* rule;
};

constexpr Found kTraining{"training information", 7, &rule::newer_feature};
constexpr Found kFunctions{"functions", 8, &rule::newer_feature};
constexpr Found kDefaults{"functions with default attributes", 9, &rule::newer_feature};
constexpr Found kOverloads{"overloads of functions", 10, &rule::newer_feature};
constexpr Found kDevices{"device configurations", 11, &rule::newer_feature};
constexpr Found kSparse{"sparse initializers", 6, &rule::newer_feature};
constexpr Found kAnnotations{"quantization annotations", 5, &rule::newer_detail};
constexpr Found kMetadata{"metadata of graphs, nodes, functions, values or tensors", 10,
                          &rule::newer_detail};
constexpr Found kFunctionTypes{"value_info in functions", 10, &rule::newer_detail};
constexpr Found kOptional{"optional types", 8, &rule::newer_feature};
constexpr Found kSparseType{"sparse tensor types", 8, &rule::newer_feature};
constexpr Found kFloat8{"float8 elements", 9, &rule::newer_feature};
constexpr Found kBfloat16{"bfloat16 elements", 4, &rule::newer_feature};
constexpr Found kInt4{"4-bit integers", 10, &rule::newer_feature};
constexpr Found kFloat4{"float4e2m1 elements", 11, &rule::newer_feature};
constexpr Found kScale8{"float8e8m0 elements", 12, &rule::newer_feature};
constexpr Found kInt2{"2-bit integers", 13, &rule::newer_feature};

const Found* introduced(int32_t element) {
  const auto type = valid(element) ? static_cast<DType>(element) : DType::undefined;
  if (type == DType::bf16) return &kBfloat16;
  if (element >= 17 && element <= 20) return &kFloat8;
  if (type == DType::u4 || type == DType::i4) return &kInt4;
  if (type == DType::f4e2m1) return &kFloat4;
  if (type == DType::f8e8m0) return &kScale8;
  if (type == DType::u2 || type == DType::i2) return &kInt2;
  return nullptr;
}

// Walks all of a message by the list of its fields. What a file holds bounds the depth.
class Walk {
 public:
  std::set<const Found*> found;
  std::vector<std::string> not_utf8;  // where, at most a few

  template <class M>
  void message(const M& m, const std::string& path) {
    look(m);
    model::each_field<M>([&](const auto& field) {
      using F = std::remove_cvref_t<decltype(field)>;
      if constexpr (model::kIsOneOf<F>) {
        if (const auto* held = std::get_if<typename F::Alternative>(&(m.*field.member))) {
          member(*held, field, path);
        }
      } else {
        member(m.*field.member, field, path);
      }
    });
  }

 private:
  template <class T, class F>
  void member(const T& value, const F& field, const std::string& path) {
    if constexpr (std::is_same_v<T, std::string>) {
      if (field.rule == model::Rule::name) name(value, path, field.name);
    } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
      if (field.rule != model::Rule::name) return;
      for (const std::string& text : value) name(text, path, field.name);
    } else if constexpr (std::is_base_of_v<model::Message, T>) {
      message(value, fmt::format("{}.{}", path, field.name));
    } else if constexpr (requires { value.has_value(); }) {
      if (value) message(*value, fmt::format("{}.{}", path, field.name));
    } else if constexpr (requires { typename T::value_type; }) {
      if constexpr (std::is_base_of_v<model::Message, typename T::value_type>) {
        for (size_t i = 0; i < value.size(); ++i) {
          message(value[i], fmt::format("{}.{}[{}]", path, field.name, i));
        }
      }
    }
  }
  void name(const std::string& text, const std::string& path, std::string_view field) {
    if (!is_utf8(text)) not_utf8.push_back(fmt::format("{}.{} {}", path, field, in_quotes(text)));
  }
  void use(bool used, const Found& feature) {
    if (used) found.insert(&feature);
  }
  void element(int32_t type) {
    if (const Found* feature = introduced(type)) found.insert(feature);
  }

  template <class M>
  void look(const M& m) {
    if constexpr (std::is_same_v<M, model::Model>) {
      use(!m.training_info.empty(), kTraining);
      use(!m.functions.empty(), kFunctions);
      use(!m.configuration.empty(), kDevices);
    } else if constexpr (requires { m.metadata_props; }) {
      use(!m.metadata_props.empty(), kMetadata);
    }
    if constexpr (requires { m.overload; }) use(!m.overload.empty(), kOverloads);
    if constexpr (requires { m.device_configurations; }) {
      use(!m.device_configurations.empty(), kDevices);
    }
    if constexpr (std::is_same_v<M, model::Function>) {
      use(!m.attribute_proto.empty(), kDefaults);
      use(!m.value_info.empty(), kFunctionTypes);
    }
    if constexpr (std::is_same_v<M, model::Graph>) {
      use(!m.sparse_initializer.empty(), kSparse);
      use(!m.quantization_annotation.empty(), kAnnotations);
    }
    if constexpr (std::is_same_v<M, model::OptionalType>) use(true, kOptional);
    if constexpr (std::is_same_v<M, model::SparseTensorType>) use(true, kSparseType);
    if constexpr (std::is_same_v<M, model::TensorType>) element(m.elem_type);
    if constexpr (std::is_same_v<M, model::TensorData>) element(m.data_type);
  }
};

}  // namespace

int64_t least_ir_version(const model::Model& model) {
  Walk walk;
  walk.message(model, "model");
  int64_t least = 1;
  for (const Found* feature : walk.found) {
    if (feature->rule == &rule::newer_feature) least = std::max(least, feature->since);
  }
  return least;
}

void Checker::features() {
  Walk walk;
  walk.message(model_, "model");
  const Place top{.kind = "model"};
  for (const std::string& where : walk.not_utf8) {
    report(rule::text_encoding, top, "{} is not UTF-8", where);
  }
  std::map<std::string_view, const Found*> in_order;
  for (const Found* feature : walk.found) in_order.emplace(feature->what, feature);
  for (const auto& [what, feature] : in_order) {
    if (model_.ir_version >= feature->since || model_.ir_version < 1) continue;
    report(*feature->rule, top, "the model has {}, which IR version {} introduced; it states {}",
           what, feature->since, model_.ir_version);
  }
}

}  // namespace sdx::check
