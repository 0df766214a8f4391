// Sessions of the C interface.
#include <algorithm>
#include <cstring>

#include "api/bridge.h"
#include "api/c/boxes.h"

using sardonyx::NamedValue;
using sardonyx::Outputs;
using sardonyx::Port;
using sardonyx::Session;
using sardonyx::Tensor;
using sardonyx::Type;
using sardonyx::Value;
using namespace sardonyx_c;  // NOLINT: the interface's functions are global by nature

Session SessionBox::borrow() {
  const std::lock_guard lock(mutex);
  if (idle.empty()) return original.another();
  Session session = std::move(idle.back());
  idle.pop_back();
  return session;
}

void SessionBox::give_back(Session session) {
  const std::lock_guard lock(mutex);
  idle.push_back(std::move(session));
}

namespace {

// The caller's struct as far as it reaches; the rest is 0.
template <class Options>
Options known(const Options* given) {
  Options options{};
  if (given == nullptr) return options;
  if (given->size < sizeof(size_t)) misused("options whose `size` is not set");
  std::memcpy(&options, given, std::min(given->size, sizeof options));
  return options;
}

size_t position(const std::vector<Port>& ports, std::string_view name, const char* what) {
  const auto at =
      std::find_if(ports.begin(), ports.end(), [&](const Port& port) { return port.name == name; });
  if (at == ports.end()) fail("SDX-A0002", fmt::format("the model has no {} \"{}\"", what, name));
  return static_cast<size_t>(at - ports.begin());
}

// A result into a tensor of the caller.
void copy_into(const Value& result, Tensor& into, const std::string& name) {
  const auto* tensor = std::get_if<Tensor>(&result);
  if (tensor == nullptr) {
    fail("SDX-A0107", fmt::format("output \"{}\" is not a tensor; ask for it with NULL", name));
  }
  if (tensor->type() != into.type() || tensor->dims() != into.dims()) {
    fail("SDX-A0107", fmt::format("output \"{}\" is {}{}, the tensor given is {}{}", name,
                                  name_of(tensor->type()), sdx::to_string(tensor->dims()),
                                  name_of(into.type()), sdx::to_string(into.dims())));
  }
  if (tensor->type() == Type::string) {
    std::copy_n(tensor->values<std::string>().data(), tensor->count(),
                into.values<std::string>().data());
  } else if (tensor->count() > 0) {
    std::memcpy(into.data(), tensor->data(), tensor->bytes());
  }
}

// One call of sardonyx_session_run, its handles resolved.
struct Run {
  const std::shared_ptr<SessionBox> box;
  std::vector<NamedValue> inputs = {};
  std::vector<size_t> wanted = {};                        // positions of the outputs
  std::vector<std::shared_ptr<ValueBox>> given = {};      // null: a new value
  std::vector<std::shared_ptr<ValueBox>> arguments = {};  // kept alive while running

  void take_inputs(const char* const* names, sardonyx_value* const* values, size_t count) {
    if (count > 0) needed(values, "inputs");
    if (names == nullptr && count > box->inputs.size()) {
      fail("SDX-A0002",
           fmt::format("{} inputs given, the model has {}", count, box->inputs.size()));
    }
    for (size_t i = 0; i < count; ++i) {
      arguments.push_back(get(values[i]));
      const std::string_view name = names == nullptr ? std::string_view(box->inputs[i].name)
                                                     : needed(names[i], "an input's name");
      inputs.emplace_back(name, arguments.back()->value);
    }
  }

  void take_outputs(const char* const* names, sardonyx_value* const* values, size_t count) {
    if (count > 0) needed(values, "outputs");
    if (names == nullptr && count > box->outputs.size()) {
      fail("SDX-A0002",
           fmt::format("{} outputs asked for, the model has {}", count, box->outputs.size()));
    }
    for (size_t i = 0; i < count; ++i) {
      wanted.push_back(names == nullptr ? i
                                        : position(box->outputs,
                                                   needed(names[i], "an output's name"), "output"));
      given.push_back(values[i] == nullptr ? nullptr : get(values[i]));
      if (given.back() != nullptr) tensor_of(*given.back());
    }
  }

  // Whether every output of the model goes straight into a tensor of the caller.
  bool direct() const {
    if (wanted.size() != box->outputs.size() || inputs.size() != box->inputs.size()) return false;
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (wanted[i] != i || given[i] == nullptr || tensor_of(*given[i]).type() == Type::string) {
        return false;
      }
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].first != box->inputs[i].name) return false;
      if (!std::holds_alternative<Tensor>(inputs[i].second)) return false;
    }
    return true;
  }

  void into_tensors(Session& session) {
    std::vector<Tensor> in, out;
    for (const NamedValue& input : inputs) in.push_back(input.second.tensor());
    for (const auto& value : given) out.push_back(tensor_of(*value));
    session.run_into(in, out);
  }

  // All results or none: the caller's array is written when nothing can fail any more.
  void by_value(Session& session, sardonyx::RunOptions options, sardonyx_value** values) {
    for (const size_t i : wanted) options.outputs.push_back(box->outputs[i].name);
    const Outputs results = session.run(inputs, options);
    std::vector<sardonyx_value*> made(wanted.size());
    try {
      for (size_t i = 0; i < wanted.size(); ++i) {
        const Value& result = results.value(i);
        if (given[i] == nullptr) {
          made[i] = keep<sardonyx_value>(std::make_shared<ValueBox>(Value(result)));
        } else {
          copy_into(result, std::get<Tensor>(given[i]->value), box->outputs[wanted[i]].name);
        }
      }
    } catch (...) {
      for (sardonyx_value* value : made) drop(value);
      throw;
    }
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (made[i] != nullptr) values[i] = made[i];
    }
  }
};

}  // namespace

sardonyx::Options sardonyx_c::options_from(const sardonyx_options* options) {
  const sardonyx_options asked = known(options);
  if (asked.threads < 0 || asked.isa < 0 || asked.isa > SARDONYX_ISA_NEON) {
    fail("SDX-A0104",
         fmt::format("threads {} or isa {} is none that there is", asked.threads, asked.isa));
  }
  sardonyx::Options made;
  made.threads = asked.threads;
  made.isa = static_cast<sardonyx::Isa>(asked.isa);
  made.optimize = asked.no_optimize == 0;
  made.strict = asked.strict != 0;
  made.accept = asked.accept_strict != 0 ? sardonyx::Accept::strict : sardonyx::Accept::common;
  made.arena_bytes = asked.arena_bytes;
  if (asked.pack_cache != nullptr) made.pack_cache = asked.pack_cache;
  if (asked.plans > 0) made.plans = asked.plans;
  if (asked.set_count > 0) needed(asked.set, "set");
  for (size_t i = 0; i < asked.set_count; ++i) {
    made.set[needed(asked.set[i].name, "a dimension's name")] = asked.set[i].value;
  }
  return made;
}

// `stop` keeps alive what the options point to.
sardonyx::RunOptions sardonyx_c::options_from(const sardonyx_run_options* options,
                                              std::shared_ptr<StopBox>& stop) {
  const sardonyx_run_options asked = known(options);
  if (asked.stop != nullptr) stop = get(asked.stop);
  if (asked.time_limit_ns < 0 || asked.loop_limit < 0) {
    fail("SDX-A0104",
         fmt::format("a time limit of {} ns or a loop limit of {} is none that there is",
                     asked.time_limit_ns, asked.loop_limit));
  }
  sardonyx::RunOptions limits;
  if (stop != nullptr) limits.stop = &stop->asked;
  if (asked.time_limit_ns > 0) limits.time_limit = std::chrono::nanoseconds(asked.time_limit_ns);
  if (asked.loop_limit > 0) limits.loop_limit = asked.loop_limit;
  return limits;
}

sardonyx_error* sardonyx_session_new(const sardonyx_model* model, const sardonyx_options* options,
                                     sardonyx_session** session) {
  return guarded([&] {
    needed(session, "the place for the session");
    const auto box = get(model);
    *session = keep<sardonyx_session>(
        std::make_shared<SessionBox>(box->model.compile(options_from(options))));
  });
}

void sardonyx_session_release(sardonyx_session* session) { drop(session); }

sardonyx_error* sardonyx_session_note(const sardonyx_session* session, size_t i,
                                      const char** text) {
  return guarded([&] {
    needed(text, "the place for the text");
    const auto box = get(session);
    *text = i < box->notes.size() ? box->notes[i].c_str() : nullptr;
  });
}

sardonyx_error* sardonyx_session_counts(const sardonyx_session* session, size_t* inputs,
                                        size_t* outputs) {
  return guarded([&] {
    const auto box = get(session);
    if (inputs != nullptr) *inputs = box->inputs.size();
    if (outputs != nullptr) *outputs = box->outputs.size();
  });
}

sardonyx_error* sardonyx_session_input(const sardonyx_session* session, size_t i,
                                       sardonyx_port* port) {
  return guarded([&] { get(session)->input_ports.give(i, port); });
}

sardonyx_error* sardonyx_session_output(const sardonyx_session* session, size_t i,
                                        sardonyx_port* port) {
  return guarded([&] { get(session)->output_ports.give(i, port); });
}

sardonyx_error* sardonyx_session_run_within(sardonyx_session* session,
                                            const char* const* input_names,
                                            sardonyx_value* const* inputs, size_t input_count,
                                            const char* const* output_names,
                                            sardonyx_value** outputs, size_t output_count,
                                            const sardonyx_run_options* options) {
  return guarded([&] {
    Run run{get(session)};
    std::shared_ptr<StopBox> stop;
    const sardonyx::RunOptions limits = options_from(options, stop);
    run.take_inputs(input_names, inputs, input_count);
    run.take_outputs(output_names, outputs, output_count);
    Session borrowed = run.box->borrow();
    if (options == nullptr && run.direct()) {
      run.into_tensors(borrowed);
    } else {
      run.by_value(borrowed, limits, outputs);
    }
    run.box->give_back(std::move(borrowed));
  });
}

sardonyx_error* sardonyx_session_run(sardonyx_session* session, const char* const* input_names,
                                     sardonyx_value* const* inputs, size_t input_count,
                                     const char* const* output_names, sardonyx_value** outputs,
                                     size_t output_count) {
  return sardonyx_session_run_within(session, input_names, inputs, input_count, output_names,
                                     outputs, output_count, nullptr);
}

sardonyx_error* sardonyx_stop_new(sardonyx_stop** stop) {
  return guarded([&] {
    *needed(stop, "the place for the stop") = keep<sardonyx_stop>(std::make_shared<StopBox>());
  });
}

sardonyx_error* sardonyx_stop_ask(sardonyx_stop* stop) {
  return guarded([&] { get(stop)->asked = true; });
}

void sardonyx_stop_release(sardonyx_stop* stop) { drop(stop); }
