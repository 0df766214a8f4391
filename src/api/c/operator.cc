// Operators that C programs register.
#include <algorithm>
#include <cstring>

#include "api/c/boxes.h"
#include "sardonyx/operators.h"

using sardonyx::Call;
using sardonyx::Error;
using sardonyx::Port;
using sardonyx::Tensor;
using sardonyx::Type;
using sardonyx::Value;
using namespace sardonyx_c;  // NOLINT: the interface's functions are global by nature

namespace sardonyx_c {

// A use of an operator; its handle is good while the caller's function runs.
struct CallBox {
  const Call* call;
  std::string failure;
};

}  // namespace sardonyx_c

namespace {

// Handles that end with the scope.
template <class Handle>
struct Lent {
  std::vector<Handle*> handles;
  Lent() = default;
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;
  ~Lent() {
    for (Handle* handle : handles) drop(handle);
  }
};

// Runs a function of the caller on a handle of the call; its number and message become an error.
template <class Body>
void call_back(const Call& call, const std::string& name, Body&& body) {
  const auto box = std::make_shared<CallBox>(CallBox{&call, {}});
  Lent<sardonyx_call> lent;
  lent.handles.push_back(keep<sardonyx_call>(box));
  const int32_t status = body(lent.handles[0]);
  if (status == 0) return;
  throw Error("SDX-A0108",
              box->failure.empty() ? name + " failed with " + std::to_string(status) : box->failure,
              {}, {});
}

Port port_from(const sardonyx_port& given) {
  Port port;
  if (given.type <= 0 || given.type > SARDONYX_F6E3M2) return port;
  port.type = static_cast<Type>(given.type);
  if (given.rank < 0 || given.rank > 64) return port;
  port.dims.emplace();
  for (int64_t i = 0; i < given.rank; ++i) {
    sardonyx::Size size;
    if (given.dims != nullptr && given.dims[i] >= 0) {
      size.number = given.dims[i];
    } else if (given.dim_names != nullptr && given.dim_names[i] != nullptr) {
      size.name = given.dim_names[i];
    }
    port.dims->push_back(std::move(size));
  }
  return port;
}

std::vector<Port> infer(const sardonyx_operator& op, const std::string& name, const Call& call,
                        std::span<const Port> inputs) {
  const Ports known(std::vector<Port>(inputs.begin(), inputs.end()));
  std::vector<sardonyx_port> in(inputs.size()), out(call.outputs());
  for (size_t i = 0; i < in.size(); ++i) {
    in[i].size = sizeof in[i];
    known.give(i, &in[i]);
  }
  for (sardonyx_port& port : out) {
    port = {};
    port.size = sizeof port;
    port.rank = -1;
  }
  call_back(call, name, [&](sardonyx_call* handle) {
    return op.infer(op.context, handle, in.data(), in.size(), out.data(), out.size());
  });
  std::vector<Port> ports;
  ports.reserve(out.size());
  for (const sardonyx_port& port : out) ports.push_back(port_from(port));
  return ports;
}

void compute(const sardonyx_operator& op, const std::string& name, const Call& call,
             std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  Lent<sardonyx_value> in, out;
  const auto lend = [](const Tensor& tensor) -> sardonyx_value* {
    if (tensor.type() == Type::undefined) return nullptr;
    return keep<sardonyx_value>(std::make_shared<ValueBox>(Value(tensor)));
  };
  for (const Tensor& tensor : inputs) in.handles.push_back(lend(tensor));
  for (const Tensor& tensor : outputs) out.handles.push_back(lend(tensor));
  call_back(call, name, [&](sardonyx_call* handle) {
    return op.compute(op.context, handle, in.handles.data(), in.handles.size(), out.handles.data(),
                      out.handles.size());
  });
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].type() != Type::undefined || out.handles[i] == nullptr) continue;
    outputs[i] = tensor_of(*get(static_cast<const sardonyx_value*>(out.handles[i])));
  }
}

}  // namespace

sardonyx_error* sardonyx_operator_register(const sardonyx_operator* op) {
  return guarded([&] {
    needed(op, "the operator");
    if (op->size < sizeof(size_t)) misused("a sardonyx_operator whose `size` is not set");
    sardonyx_operator known{};
    std::memcpy(&known, op, std::min(op->size, sizeof known));
    needed(known.since, "since");
    needed(known.signatures, "signatures");
    if (known.compute == nullptr) misused("NULL in place of compute");
    sardonyx::Operator made;
    made.domain = needed(known.domain, "the operator's domain");
    made.name = needed(known.name, "the operator's name");
    if (known.doc != nullptr) made.doc = known.doc;
    for (size_t i = 0; i < known.versions; ++i) {
      made.history.push_back({known.since[i], needed(known.signatures[i], "a signature")});
    }
    made.deterministic = known.random == 0;
    if (known.infer != nullptr) {
      made.infer = [known, name = made.name](const Call& call, std::span<const Port> inputs) {
        return infer(known, name, call, inputs);
      };
    }
    made.compute = [known, name = made.name](const Call& call, std::span<const Tensor> inputs,
                                             std::span<Tensor> outputs) {
      compute(known, name, call, inputs, outputs);
    };
    sardonyx::register_operator(std::move(made));
  });
}

sardonyx_error* sardonyx_functions_register(const char* text) {
  return guarded([&] { sardonyx::register_functions(needed(text, "the functions' text")); });
}

int32_t sardonyx_call_has(const sardonyx_call* call, const char* attribute) {
  const auto box = find(call);
  return box != nullptr && attribute != nullptr && box->call->has(attribute) ? 1 : 0;
}

int32_t sardonyx_call_wants(const sardonyx_call* call, size_t output) {
  const auto box = find(call);
  return box != nullptr && box->call->wants(output) ? 1 : 0;
}

sardonyx_error* sardonyx_call_int(const sardonyx_call* call, const char* attribute,
                                  int64_t* value) {
  return guarded([&] {
    *needed(value, "value") = get(call)->call->integer(needed(attribute, "the attribute's name"));
  });
}

sardonyx_error* sardonyx_call_float(const sardonyx_call* call, const char* attribute,
                                    float* value) {
  return guarded([&] {
    *needed(value, "value") = get(call)->call->real(needed(attribute, "the attribute's name"));
  });
}

sardonyx_error* sardonyx_call_string(const sardonyx_call* call, const char* attribute,
                                     const char** value) {
  return guarded([&] {
    *needed(value, "value") =
        get(call)->call->text(needed(attribute, "the attribute's name")).c_str();
  });
}

sardonyx_error* sardonyx_call_ints(const sardonyx_call* call, const char* attribute,
                                   const int64_t** values, size_t* count) {
  return guarded([&] {
    needed(values, "values");
    const auto& found = get(call)->call->integers(needed(attribute, "the attribute's name"));
    *needed(count, "count") = found.size();
    *values = found.data();
  });
}

sardonyx_error* sardonyx_call_floats(const sardonyx_call* call, const char* attribute,
                                     const float** values, size_t* count) {
  return guarded([&] {
    needed(values, "values");
    const auto& found = get(call)->call->reals(needed(attribute, "the attribute's name"));
    *needed(count, "count") = found.size();
    *values = found.data();
  });
}

void sardonyx_call_fail(sardonyx_call* call, const char* message) {
  const auto box = find(call);
  if (box != nullptr && message != nullptr) box->failure = message;
}
