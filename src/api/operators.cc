// Users' operators as the engine's: an Op that carries its callbacks.
#include "sardonyx/operators.h"

#include <algorithm>
#include <cstring>

#include "api/bridge.h"
#include "model/library.h"
#include "model/text.h"
#include "ops/added.h"

namespace sardonyx {
namespace {

struct UserOp : sdx::Op {
  Operator given;
  std::vector<sdx::Version> versions;  // over the strings of `given`
};

}  // namespace

// What read() makes of a node: outlives the call.
struct Call::State {
  const UserOp* op = nullptr;
  sdx::AttrMap attributes;
  std::vector<bool> wanted;
  int version = 0;
  const sdx::Facts* inputs = nullptr;  // while inferring
};

struct CallAccess {
  using State = Call::State;
  static Call make(const State& state) { return Call(state); }
};

// Names of attributes are the signature's; a wrong one is a mistake in the operator's code.
template <class T>
static const T& attribute(const sdx::AttrMap& all, std::string_view name) {
  const auto at = all.find(name);
  const T* value = at == all.end() ? nullptr : std::get_if<T>(&at->second);
  if (value != nullptr) return *value;
  throw Bridge::error(sdx::fail("SDX-A0020", "attribute \"{}\" is {}", name,
                                at == all.end() ? "not given" : "of another type"));
}

bool Call::has(std::string_view name) const { return state_->attributes.contains(name); }
int64_t Call::integer(std::string_view name) const {
  return attribute<int64_t>(state_->attributes, name);
}
float Call::real(std::string_view name) const { return attribute<float>(state_->attributes, name); }
const std::string& Call::text(std::string_view name) const {
  return attribute<std::string>(state_->attributes, name);
}
const std::vector<int64_t>& Call::integers(std::string_view name) const {
  return attribute<std::vector<int64_t>>(state_->attributes, name);
}
const std::vector<float>& Call::reals(std::string_view name) const {
  return attribute<std::vector<float>>(state_->attributes, name);
}
const std::vector<std::string>& Call::texts(std::string_view name) const {
  return attribute<std::vector<std::string>>(state_->attributes, name);
}
Tensor Call::tensor(std::string_view name) const {
  return Bridge::out(attribute<sdx::Tensor>(state_->attributes, name));
}
int Call::version() const { return state_->version; }
size_t Call::outputs() const { return state_->wanted.size(); }
bool Call::wants(size_t output) const {
  return output < state_->wanted.size() && state_->wanted[output];
}
std::optional<Tensor> Call::constant(size_t input) const {
  const sdx::Facts* facts = state_->inputs;
  if (facts == nullptr || input >= facts->size() || !(*facts)[input].value) return std::nullopt;
  return Bridge::out(*(*facts)[input].value);
}

namespace {

using State = CallAccess::State;

// A name is a size of an input; it stands for that expression.
sdx::Result<sdx::Fact> fact_of(const Port& port, const sdx::Facts& inputs) {
  if (port.type == Type::undefined) return sdx::Fact{};
  sdx::Fact fact = sdx::Fact::tensor(static_cast<sdx::DType>(port.type));
  if (!port.dims) return fact;
  sdx::Shape shape;
  for (const Size& size : *port.dims) {
    if (size.number) {
      shape.emplace_back(*size.number);
      continue;
    }
    std::optional<sdx::Dim> found;
    if (size.name.empty()) found = sdx::Dim::unknown();
    for (const sdx::Fact& input : inputs) {
      if (found || !input.shape) continue;
      for (const sdx::Dim& dim : *input.shape) {
        if (!dim.is_const() && dim.text() == size.name) found = dim;
      }
    }
    if (!found) {
      return sdx::fail("SDX-A0021", "the operator's code names a size \"{}\" that no input has",
                       size.name);
    }
    shape.push_back(*std::move(found));
  }
  fact.shape = std::move(shape);
  return fact;
}

// Exceptions of the operator's code become errors.
template <class F>
sdx::Status guarded(const UserOp& op, F&& run) {
  const auto failed = [&](std::string_view code, std::string_view what) {
    return sdx::fail(code, "{}.{}: {}", op.given.domain, op.given.name, what);
  };
  try {
    return run();
  } catch (const Error& error) {
    return failed(error.code(), error.message());
  } catch (const std::exception& error) {
    return failed("SDX-A0022", error.what());
  } catch (...) {
    return failed("SDX-A0022", "the operator's code threw what is no std::exception");
  }
}

sdx::Result<std::shared_ptr<const void>> read(const sdx::Node& node, const sdx::Facts&) {
  auto state = std::make_shared<State>();
  state->op = static_cast<const UserOp*>(node.op);
  state->attributes = node.attrs;
  state->wanted = node.wanted;
  state->version = node.opset;
  return std::shared_ptr<const void>(std::move(state));
}

sdx::Result<sdx::Facts> infer(const void* resolved, const sdx::Facts& in) {
  State state = *static_cast<const State*>(resolved);
  state.inputs = &in;
  sdx::Facts out;
  const size_t count = state.wanted.size();
  if (!state.op->given.infer) {
    for (size_t i = 0; i < count; ++i) {
      if (in.empty() || !in[0].present()) {
        return sdx::fail("SDX-A0021", "{}.{} says nothing of its outputs' types",
                         state.op->given.domain, state.op->given.name);
      }
      sdx::Fact like = sdx::Fact::tensor(in[0].type);
      like.shape = in[0].shape;
      out.push_back(std::move(like));
    }
    return out;
  }
  std::vector<Port> ports, found;
  for (const sdx::Fact& fact : in) {
    ports.push_back(fact.present() ? Bridge::port("", fact) : Port{});
  }
  SDX_TRY(guarded(*state.op, [&] {
    found = state.op->given.infer(CallAccess::make(state), ports);
    return sdx::ok();
  }));
  if (found.size() < count) {
    return sdx::fail("SDX-A0021", "{}.{} gives types for {} of {} outputs", state.op->given.domain,
                     state.op->given.name, found.size(), count);
  }
  for (size_t i = 0; i < count; ++i) {
    SDX_ASSIGN(sdx::Fact fact, fact_of(found[i], in));
    out.push_back(std::move(fact));
  }
  return out;
}

Tensor over(const sdx::View& view) {
  if (!view.present()) return {};
  return Tensor(static_cast<Type>(view.type), Dims(view.dims.begin(), view.dims.end()), view.raw);
}

// An output of a size that the code found out.
sdx::Status hand_over(const Tensor& made, size_t output, sdx::Args& args) {
  SDX_ASSIGN(const sdx::View view, args.make(output, made.dims()));
  if (view.type != static_cast<sdx::DType>(made.type())) {
    return sdx::fail("SDX-A0021", "output {} is {}; {} was inferred", output, name_of(made.type()),
                     sdx::short_name(view.type));
  }
  if (made.type() == Type::string) {
    std::copy_n(static_cast<const std::string*>(made.data()), made.count(),
                static_cast<std::string*>(view.raw));
  } else if (made.bytes() > 0) {
    std::memcpy(view.raw, made.data(), made.bytes());
  }
  return sdx::ok();
}

sdx::Status compute(const void* resolved, sdx::Args& args) {
  const State& state = *static_cast<const State*>(resolved);
  return guarded(*state.op, [&]() -> sdx::Status {
    std::vector<Tensor> inputs, outputs;
    for (const sdx::View& view : args.ins) inputs.push_back(over(view));
    for (const sdx::View& view : args.outs) outputs.push_back(over(view));
    outputs.resize(std::max(outputs.size(), state.wanted.size()));
    state.op->given.compute(CallAccess::make(state), inputs, outputs);
    for (size_t i = 0; i < outputs.size(); ++i) {
      const bool late = i >= args.outs.size() || !args.outs[i].present();
      const bool wanted = i < state.wanted.size() && state.wanted[i];
      if (late && wanted && outputs[i].type() == Type::undefined) {
        return sdx::fail("SDX-A0021", "output {} was given no tensor", i);
      }
      if (late && wanted) {
        SDX_TRY(hand_over(outputs[i], i, args));
      } else if (!late && outputs[i].data() != args.outs[i].raw) {
        return sdx::fail("SDX-A0021", "output {} has its memory already: fill it", i);
      }
    }
    return sdx::ok();
  });
}

}  // namespace

std::optional<Error> try_register_operator(Operator op) {
  if (op.domain.empty() || op.domain == "ai.onnx" || !op.compute) {
    return Bridge::error(
        sdx::fail("SDX-A0023", "operator \"{}\" needs a domain of its own and compute", op.name));
  }
  auto made = std::make_shared<UserOp>();
  made->given = std::move(op);
  for (const Operator::Version& version : made->given.history) {
    made->versions.push_back({version.since, version.signature});
  }
  made->domain = made->given.domain;
  made->name = made->given.name;
  made->doc = made->given.doc;
  made->history = made->versions;
  made->deterministic = made->given.deterministic;
  made->read = read;
  made->infer = infer;
  made->reference = compute;
  if (sdx::Status status = sdx::add_op(std::move(made)); !status) {
    return Bridge::error(status.error());
  }
  return std::nullopt;
}

void register_operator(Operator op) {
  if (std::optional<Error> error = try_register_operator(std::move(op))) throw *std::move(error);
}

std::optional<Error> try_register_functions(std::string_view text) {
  auto functions = sdx::model::parse_functions(text);
  if (!functions) return Bridge::error(functions.error());
  for (sdx::model::Function& function : *functions) {
    if (sdx::Status status = sdx::model::add_function(std::move(function)); !status) {
      return Bridge::error(status.error());
    }
  }
  return std::nullopt;
}

void register_functions(std::string_view text) {
  if (std::optional<Error> error = try_register_functions(text)) throw *std::move(error);
}

}  // namespace sardonyx
