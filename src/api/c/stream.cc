// Streams of the C interface.
#include "sardonyx/stream.h"

#include <cstring>

#include "api/c/boxes.h"

using sardonyx::Error;
using sardonyx::NamedValue;
using sardonyx::Outputs;
using sardonyx::Stream;
using namespace sardonyx_c;  // NOLINT: the interface's functions are global by nature

namespace sardonyx_c {

// Streams of C++ are for one thread at a time; calls on one wait for each other.
struct StreamBox {
  explicit StreamBox(Stream opened)
      : stream(std::move(opened)), inputs(stream.inputs()), outputs(stream.outputs()) {}
  std::mutex mutex;
  Stream stream;
  const Ports inputs, outputs;
};

}  // namespace sardonyx_c

namespace {

// All results or none; what only the end tells is NULL.
void give(const StreamBox& box, const Outputs& results, sardonyx_value** outputs) {
  needed(outputs, "the places for outputs");
  std::vector<sardonyx_value*> made(box.outputs.size(), nullptr);
  try {
    for (size_t i = 0; i < made.size(); ++i) {
      const sardonyx::Value& result = results.value(i);
      if (std::holds_alternative<std::monostate>(result)) continue;
      made[i] = keep<sardonyx_value>(std::make_shared<ValueBox>(sardonyx::Value(result)));
    }
  } catch (...) {
    for (sardonyx_value* value : made) drop(value);
    throw;
  }
  std::copy(made.begin(), made.end(), outputs);
}

}  // namespace

sardonyx_error* sardonyx_stream_new(const sardonyx_model* model, const char* axis,
                                    const sardonyx_options* options, sardonyx_stream** stream) {
  return guarded([&] {
    needed(stream, "the place for the stream");
    const auto box = get(model);
    *stream = keep<sardonyx_stream>(std::make_shared<StreamBox>(
        Stream::open(box->model, needed(axis, "the axis"), options_from(options))));
  });
}

void sardonyx_stream_release(sardonyx_stream* stream) { drop(stream); }

sardonyx_error* sardonyx_stream_counts(const sardonyx_stream* stream, size_t* inputs,
                                       size_t* outputs) {
  return guarded([&] {
    const auto box = get(stream);
    if (inputs != nullptr) *inputs = box->inputs.size();
    if (outputs != nullptr) *outputs = box->outputs.size();
  });
}

sardonyx_error* sardonyx_stream_input(const sardonyx_stream* stream, size_t i,
                                      sardonyx_port* port) {
  return guarded([&] { get(stream)->inputs.give(i, port); });
}

sardonyx_error* sardonyx_stream_output(const sardonyx_stream* stream, size_t i,
                                       sardonyx_port* port) {
  return guarded([&] { get(stream)->outputs.give(i, port); });
}

sardonyx_error* sardonyx_stream_push(sardonyx_stream* stream, const char* const* input_names,
                                     sardonyx_value* const* inputs, size_t input_count,
                                     sardonyx_value** outputs,
                                     const sardonyx_run_options* options) {
  return guarded([&] {
    const auto box = get(stream);
    std::shared_ptr<StopBox> stop;
    const sardonyx::RunOptions limits = options_from(options, stop);
    if (input_count > 0) needed(inputs, "inputs");
    std::vector<std::shared_ptr<ValueBox>> alive;
    std::vector<NamedValue> given;
    const std::lock_guard lock(box->mutex);
    const auto& ports = box->stream.inputs();
    for (size_t i = 0; i < input_count; ++i) {
      alive.push_back(get(inputs[i]));
      if (input_names == nullptr && i >= ports.size())
        throw Error("SDX-A0120", "more inputs are given than the model has", {}, {});
      given.emplace_back(input_names == nullptr ? std::string_view(ports[i].name)
                                                : needed(input_names[i], "an input's name"),
                         alive.back()->value);
    }
    needed(outputs, "the places for outputs");
    give(*box, box->stream.push(given, limits), outputs);
  });
}

sardonyx_error* sardonyx_stream_finish(sardonyx_stream* stream, sardonyx_value** outputs,
                                       const sardonyx_run_options* options) {
  return guarded([&] {
    const auto box = get(stream);
    std::shared_ptr<StopBox> stop;
    const sardonyx::RunOptions limits = options_from(options, stop);
    needed(outputs, "the places for outputs");
    const std::lock_guard lock(box->mutex);
    give(*box, box->stream.finish(limits), outputs);
  });
}

sardonyx_error* sardonyx_stream_reset(sardonyx_stream* stream) {
  return guarded([&] {
    const auto box = get(stream);
    const std::lock_guard lock(box->mutex);
    box->stream.reset();
  });
}

sardonyx_error* sardonyx_stream_fork(const sardonyx_stream* stream, sardonyx_stream** fork) {
  return guarded([&] {
    needed(fork, "the place for the stream");
    const auto box = get(stream);
    const std::lock_guard lock(box->mutex);
    *fork = keep<sardonyx_stream>(std::make_shared<StreamBox>(box->stream.fork()));
  });
}

sardonyx_error* sardonyx_stream_save(const sardonyx_stream* stream, void* bytes, size_t capacity,
                                     size_t* size) {
  return guarded([&] {
    needed(size, "the place for the size");
    const auto box = get(stream);
    const std::lock_guard lock(box->mutex);
    const std::string saved = box->stream.save();
    *size = saved.size();
    if (capacity >= saved.size())
      std::memcpy(needed(bytes, "the bytes"), saved.data(), saved.size());
  });
}

sardonyx_error* sardonyx_stream_restore(sardonyx_stream* stream, const void* bytes, size_t size) {
  return guarded([&] {
    const auto box = get(stream);
    const auto* text = static_cast<const char*>(needed(bytes, "the bytes"));
    const std::lock_guard lock(box->mutex);
    box->stream.restore(std::string_view(text, size));
  });
}
