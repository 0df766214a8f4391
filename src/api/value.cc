// The public error, tensors and values.
#include <algorithm>
#include <cstring>

#include "api/bridge.h"
#include "api/digest.h"

namespace sardonyx {

Error::Error(std::string code, std::string message, std::vector<std::string> where,
             std::string help)
    : code_(std::move(code)),
      message_(std::move(message)),
      where_(std::move(where)),
      help_(std::move(help)) {
  text_ = sdx::Error{code_, message_, where_, help_}.text();
}

std::string_view name_of(Type type) { return sdx::short_name(static_cast<sdx::DType>(type)); }

namespace {

// Only a caller's own mistake ends here, so these throw whoever calls.
template <class... Args>
[[noreturn]] void misuse(fmt::format_string<Args...> format, Args&&... args) {
  throw Bridge::error(sdx::fail("SDX-A0001", format, std::forward<Args>(args)...));
}

size_t counted(Type type, const Dims& dims) {
  if (!sdx::valid(static_cast<int64_t>(type))) misuse("a tensor of no element type");
  const auto count = sdx::element_count(dims);
  if (!count) throw Bridge::error(count.error());
  return *count;
}

}  // namespace

Tensor::Tensor(Type type, Dims dims)
    : type_(type), dims_(std::move(dims)), count_(counted(type_, dims_)) {
  if (type_ == Type::string) {
    auto strings = std::make_shared<std::vector<std::string>>(count_);
    data_ = strings->data();
    owner_ = std::move(strings);
    return;
  }
  auto memory = sdx::allocate_aligned(bytes());
  std::memset(memory.get(), 0, bytes());
  data_ = memory.get();
  owner_ = std::move(memory);
}

Tensor::Tensor(Type type, Dims dims, void* data)
    : type_(type), dims_(std::move(dims)), count_(counted(type_, dims_)), data_(data) {}

size_t Tensor::bytes() const { return sdx::bytes_for(static_cast<sdx::DType>(type_), count_); }

void Tensor::fill(const void* values, size_t count) {
  if (count != count_)
    misuse("{} values for the shape {}, which has {}", count, sdx::to_string(dims_), count_);
  if (type_ == Type::string) {
    std::copy_n(static_cast<const std::string*>(values), count, static_cast<std::string*>(data_));
  } else if (count > 0) {
    std::memcpy(data_, values, bytes());
  }
}

void Tensor::expect(Type type) const {
  if (type != type_) misuse("the tensor holds {}, not {}", name_of(type_), name_of(type));
}

std::string Tensor::digest() const { return sdx::digest(Bridge::in(*this)); }

const Value& Outputs::value(size_t i) const {
  if (i >= values_.size()) misuse("output {} of {}", i, values_.size());
  return values_[i];
}

const Value& Outputs::value(std::string_view name) const {
  const auto at = std::find(names_->begin(), names_->end(), name);
  if (at == names_->end()) misuse("the model has no output \"{}\"", name);
  return values_[static_cast<size_t>(at - names_->begin())];
}

const Tensor& Outputs::operator[](size_t i) const {
  const auto* tensor = std::get_if<Tensor>(&value(i));
  if (tensor == nullptr) misuse("output {} is not a tensor", i);
  return *tensor;
}

const Tensor& Outputs::operator[](std::string_view name) const {
  const auto* tensor = std::get_if<Tensor>(&value(name));
  if (tensor == nullptr) misuse("output \"{}\" is not a tensor", name);
  return *tensor;
}

sdx::Tensor Bridge::in(const Tensor& tensor) {
  if (tensor.type_ == Type::undefined) return {};
  return sdx::Tensor::over(static_cast<sdx::DType>(tensor.type_), tensor.dims_, tensor.owner_,
                           tensor.data_);
}

sdx::Value Bridge::in(const Value& value) {
  if (const auto* tensor = std::get_if<Tensor>(&value)) return in(*tensor);
  if (const auto* items = std::get_if<Sequence>(&value)) {
    sdx::Sequence out;
    for (const Value& item : *items) out.push_back(in(item));
    return sdx::Value::of(std::move(out));
  }
  if (const auto* items = std::get_if<Map>(&value)) {
    sdx::Map out;
    for (const auto& [key, item] : *items) out.emplace(key, in(item));
    return sdx::Value::of(std::move(out));
  }
  return {};
}

void Bridge::out(const sdx::Tensor& tensor, std::shared_ptr<const void> owner, Tensor& into) {
  into.type_ = static_cast<Type>(tensor.type());
  into.dims_.assign(tensor.dims().begin(), tensor.dims().end());
  into.count_ = tensor.count();
  into.owner_ = std::move(owner);
  into.data_ = const_cast<void*>(tensor.raw());
}
Tensor Bridge::out(const sdx::Tensor& tensor) {
  Tensor out;
  out.type_ = static_cast<Type>(tensor.type());
  out.dims_ = tensor.dims();
  out.count_ = tensor.count();
  auto owner = std::make_shared<sdx::Tensor>(tensor);
  out.data_ = owner->raw();
  out.owner_ = std::move(owner);
  return out;
}

Value Bridge::out(const sdx::Value& value) {
  if (value.is_tensor()) return out(value.tensor());
  if (value.is_sequence()) {
    Sequence items;
    for (const sdx::Value& item : value.sequence()) items.push_back(out(item));
    return items;
  }
  if (value.is_map()) {
    Map items;
    for (const auto& [key, item] : value.map()) items.emplace(key, out(item));
    return items;
  }
  return {};
}

Port Bridge::port(const std::string& name, const sdx::Fact& fact) {
  Port port{name, Type::undefined, std::nullopt, fact.text()};
  if (!fact.is_tensor()) return port;
  port.type = static_cast<Type>(fact.type);
  if (!fact.shape) return port;
  port.dims.emplace();
  for (const sdx::Dim& dim : *fact.shape) {
    port.dims->push_back(dim.is_const() ? Size{dim.value(), ""} : Size{std::nullopt, dim.text()});
  }
  return port;
}

Outputs Bridge::outputs(std::shared_ptr<const std::vector<std::string>> names,
                        const std::vector<sdx::Value>& values) {
  Outputs outputs;
  outputs.names_ = std::move(names);
  for (const sdx::Value& value : values) outputs.values_.push_back(out(value));
  return outputs;
}

}  // namespace sardonyx
