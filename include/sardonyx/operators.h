// A user's operator set: operators written in C++, or as functions in ONNX's text syntax, which
// models may use from then on. They take part in checking, inference, planning and running like
// the built-in ones.
//
//   sardonyx::register_operator({
//       .domain = "my.ops",
//       .name = "Scale",
//       .history = {{1, "(x: T) -> (y: T) {by: float = 2.0} T in f32 f64"}},
//       .compute = [](const sardonyx::Call& call, auto inputs, auto outputs) { ... }});
//
//   sardonyx::register_functions(R"(
//       <domain: "my.ops", opset_import: ["" : 21]>
//       Twice (x) => (y) { y = Add (x, x) })");
#pragma once

#include <functional>

#include "sardonyx/sardonyx.h"

namespace sardonyx {

// One use of an operator, as its code sees it. Attributes are those of the signature, defaults
// filled in; asking for one that is not there or of another type throws.
class Call {
 public:
  bool has(std::string_view attribute) const;
  int64_t integer(std::string_view attribute) const;
  float real(std::string_view attribute) const;
  const std::string& text(std::string_view attribute) const;
  const std::vector<int64_t>& integers(std::string_view attribute) const;
  const std::vector<float>& reals(std::string_view attribute) const;
  const std::vector<std::string>& texts(std::string_view attribute) const;
  Tensor tensor(std::string_view attribute) const;

  // The version of the operator set that the model imports.
  int version() const;
  // How many outputs the node names, and whether one is wanted.
  size_t outputs() const;
  bool wants(size_t output) const;
  // While inferring: the value of an input that is known before running; none if it is not.
  std::optional<Tensor> constant(size_t input) const;

 private:
  friend struct CallAccess;
  struct State;
  explicit Call(const State& state) : state_(&state) {}
  const State* state_;
};

struct Operator {
  struct Version {
    int since;
    // What this version changes; the first gives all. As in
    //   (x: T, bias?: T, more...: T) -> (y: T) {axis: int = -1, mode!: string} T in f32 f64 i64
    // '?' is optional, '...' any number; an attribute has a default, must be given ('!'), or may
    // be.
    std::string signature;
  };
  std::string domain;  // not ONNX's own
  std::string name;
  std::string doc = {};
  std::vector<Version> history;
  // Types and shapes of the outputs, from those of the inputs (one that is left out has no type).
  // A size without number and name is one that only running tells; a name must be that of an
  // input's size. Pure. If empty, every output is like input 0.
  std::function<std::vector<Port>(const Call&, std::span<const Port> inputs)> infer = {};
  // Fills the outputs. Inputs that are left out and outputs that nobody wants have no type. An
  // output whose size only running tells has none either, and is assigned a tensor. Called by
  // several threads at a time if sessions run at a time; exceptions end the run with an error.
  std::function<void(const Call&, std::span<const Tensor> inputs, std::span<Tensor> outputs)>
      compute;
  // False: equal inputs may give other outputs, so nothing is computed before running.
  bool deterministic = true;
};

// An operator is there until the program ends; a second one of its name is refused.
void register_operator(Operator op);
std::optional<Error> try_register_operator(Operator op);

// One or more functions, each with its domain and imports (docs/text.md has the syntax). A node
// that names one is replaced by its body.
void register_functions(std::string_view text);
std::optional<Error> try_register_functions(std::string_view text);

}  // namespace sardonyx
