// Models of the C interface.
#include <algorithm>
#include <cstring>

#include "api/c/boxes.h"

using sardonyx::Error;
using sardonyx::Model;
using namespace sardonyx_c;  // NOLINT: the interface's functions are global by nature

Ports::Ports(const std::vector<Port>& ports) : source_(ports) {
  for (const Port& port : source_) {
    Sizes& sizes = sizes_.emplace_back();
    for (const sardonyx::Size& size : port.dims.value_or(std::vector<sardonyx::Size>{})) {
      sizes.dims.push_back(size.number.value_or(-1));
      sizes.names.push_back(size.name);
    }
    for (const std::string& name : sizes.names) sizes.pointers.push_back(name.c_str());
    sardonyx_port out{};
    out.name = port.name.c_str();
    out.text = port.text.c_str();
    out.kind = port.type == sardonyx::Type::undefined ? SARDONYX_NONE : SARDONYX_TENSOR;
    out.type = static_cast<int32_t>(port.type);
    out.rank = port.dims ? static_cast<int64_t>(port.dims->size()) : -1;
    out.dims = sizes.dims.data();
    out.dim_names = sizes.pointers.data();
    ports_.push_back(out);
  }
}

void Ports::give(size_t i, sardonyx_port* into) const {
  needed(into, "the port");
  if (i >= ports_.size()) {
    throw Error("SDX-A0105",
                "port " + std::to_string(i) + "; there are " + std::to_string(ports_.size()), {},
                {});
  }
  const size_t size = into->size;
  if (size < sizeof(size_t)) misused("a sardonyx_port whose `size` is not set");
  sardonyx_port port = ports_[i];
  port.size = size;
  std::memcpy(into, &port, std::min(size, sizeof port));
}

uint32_t sardonyx_abi_version(void) { return SARDONYX_ABI_VERSION; }
const char* sardonyx_version(void) { return SARDONYX_RELEASE; }

sardonyx_error* sardonyx_model_load(const char* path, sardonyx_model** model) {
  return guarded([&] {
    needed(model, "the place for the model");
    *model = keep<sardonyx_model>(
        std::make_shared<ModelBox>(Model::load(needed(path, "the model's path"))));
  });
}

sardonyx_error* sardonyx_model_parse(const void* bytes, size_t size, const char* folder,
                                     sardonyx_model** model) {
  return guarded([&] {
    needed(model, "the place for the model");
    if (size > 0) needed(bytes, "the model's bytes");
    const auto* first = static_cast<const std::byte*>(bytes);
    *model = keep<sardonyx_model>(std::make_shared<ModelBox>(
        Model::parse({first, first + size}, folder == nullptr ? "" : folder)));
  });
}

void sardonyx_model_release(sardonyx_model* model) { drop(model); }

sardonyx_error* sardonyx_model_counts(const sardonyx_model* model, size_t* inputs,
                                      size_t* outputs) {
  return guarded([&] {
    const auto box = get(model);
    if (inputs != nullptr) *inputs = box->inputs.size();
    if (outputs != nullptr) *outputs = box->outputs.size();
  });
}

sardonyx_error* sardonyx_model_input(const sardonyx_model* model, size_t i, sardonyx_port* port) {
  return guarded([&] { get(model)->inputs.give(i, port); });
}

sardonyx_error* sardonyx_model_output(const sardonyx_model* model, size_t i, sardonyx_port* port) {
  return guarded([&] { get(model)->outputs.give(i, port); });
}

sardonyx_error* sardonyx_model_check(const sardonyx_model* model, sardonyx_error** findings,
                                     size_t capacity, size_t* count) {
  return guarded([&] {
    needed(count, "count");
    if (capacity > 0) needed(findings, "the place for the findings");
    const std::vector<Error> found = get(model)->model.check();
    *count = found.size();
    for (size_t i = 0; i < std::min(capacity, found.size()); ++i) {
      findings[i] = error_handle(found[i]);
    }
  });
}
