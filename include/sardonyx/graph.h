// Graph: builds a model in C++. Types and shapes are checked as each operator is made.
//
//   using namespace sardonyx;
//   Graph g("swish");
//   Wire x = g.parameter("x", Type::f32, {"N", 64});
//   g.result("y", ops::mul(x, ops::sigmoid(x)));                   // ops: sardonyx/ops.h
//   Outputs outputs = g.compile().run({{"x", tensor}});
//   g.save("swish.onnx");
//
// An operator can only be made from wires that exist, so a cycle cannot be written. What does not
// fit throws sardonyx::Error, which names the line that made the operator, the operator, what is
// known of its inputs, and the rule. A graph and its wires are for one thread at a time.
#pragma once

#include <concepts>
#include <functional>
#include <iosfwd>

#include "sardonyx/sardonyx.h"

namespace sardonyx {

// A line of the user's program, taken where a function is called.
struct Place {
  const char* file = "";
  int line = 0;
  static constexpr Place here(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

// One size of a shape: 3, a name that a run binds ("N"), or nothing known.
struct Dim : Size {
  Dim() = default;
  template <std::integral T>
  Dim(T size) : Size{static_cast<int64_t>(size), {}} {}               // NOLINT: implicit
  Dim(const char* symbol) : Size{std::nullopt, symbol} {}             // NOLINT
  Dim(std::string symbol) : Size{std::nullopt, std::move(symbol)} {}  // NOLINT
};

// What is known of a wire before anything runs.
struct Fact {
  enum class Kind : uint8_t { absent, tensor, sequence, optional, map };

  Kind kind = Kind::absent;
  Type type = Type::undefined;           // of a tensor's elements, of a map's keys
  std::optional<std::vector<Dim>> dims;  // of a tensor; none: the rank is not known
  std::shared_ptr<const Fact> element;   // of a sequence or optional, of a map's values

  static Fact tensor(Type type) { return {Kind::tensor, type, std::nullopt, nullptr}; }
  static Fact tensor(Type type, std::vector<Dim> dims) {
    return {Kind::tensor, type, std::move(dims), nullptr};
  }
  static Fact sequence(Fact element) { return of(Kind::sequence, {}, std::move(element)); }
  static Fact optional(Fact element) { return of(Kind::optional, {}, std::move(element)); }
  static Fact map(Type key, Fact value) { return of(Kind::map, key, std::move(value)); }

  bool present() const { return kind != Kind::absent; }
  std::string text() const;  // "f32[N,3]", "seq(f32 of unknown rank)"

 private:
  static Fact of(Kind kind, Type type, Fact element) {
    return {kind, type, std::nullopt, std::make_shared<const Fact>(std::move(element))};
  }
};

class Graph;
class Node;
namespace detail {
class State;
class Making;
struct Access;
}  // namespace detail

// What an operator takes and gives: a value in a graph, a literal, or nothing where an optional
// input is left out. Operators on literals alone are evaluated at once.
class Wire {
 public:
  Wire() = default;
  Wire(Tensor literal);  // NOLINT: literals are wires
  // A literal of rank 0 with the element type of T: 1.0f is f32 and 1.0 is f64.
  template <class T>
  requires std::is_arithmetic_v<T> Wire(T literal) : Wire(scalar(literal)) {}  // NOLINT
  // A literal i64[n], as shapes and axes are given: ops::reshape(x, {0, -1}).
  Wire(std::initializer_list<int64_t> integers)
      : Wire(Tensor({static_cast<int64_t>(integers.size())}, integers)) {}

  bool present() const { return state_ != nullptr || literal_ != nullptr; }
  Fact fact() const;
  Type type() const { return fact().type; }
  std::string text() const;  // "%add_1: f32[N,3]"
  const std::string& name() const;
  // Gives a wire of a graph a name of its own, which a saved model shows.
  Wire named(std::string name, Place place = Place::here()) const;
  // The node that makes it; none for parameters and constants.
  std::optional<Node> node() const;
  // Of a literal, or of a wire whose value is known; throws for others.
  Tensor value() const;

 private:
  friend struct detail::Access;
  template <class T>
  static Tensor scalar(T literal) {
    if constexpr (type_of<T> != Type::undefined) {
      return Tensor(Dims{}, {literal});
    } else {  // long long and its like
      return Tensor(
          Dims{},
          {static_cast<std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>(literal)});
    }
  }
  std::shared_ptr<detail::State> state_;
  uint32_t id_ = 0;
  std::shared_ptr<const Value> literal_;
};
std::ostream& operator<<(std::ostream& out, const Wire& wire);

// A wire as an operand of +, -, * and /, with the line where the operator stands.
struct Operand {
  template <std::convertible_to<Wire> W>
  Operand(W&& operand, Place at = Place::here())  // NOLINT: implicit
      : wire(std::forward<W>(operand)), place(at) {}
  Wire wire;
  Place place;
};
Wire operator+(const Operand& a, const Operand& b);
Wire operator-(const Operand& a, const Operand& b);
Wire operator*(const Operand& a, const Operand& b);
Wire operator/(const Operand& a, const Operand& b);
Wire operator-(const Operand& a);

template <size_t n>
class Tuple;

// Any number of wires. One wire is a list of one, a tuple is a list of its members.
class Wires : public std::vector<Wire> {
 public:
  using vector::vector;
  Wires(Wire only) : vector{std::move(only)} {}  // NOLINT: implicit
  template <size_t n>
  Wires(const Tuple<n>& tuple);  // NOLINT: implicit
};

// A fixed number of wires, found by a compile-time index. It is no value of the graph: what is
// built and planned are its members.
//
//   auto t = append(make_tuple(a, b), c);  get<2>(t) is c;  auto [x, y, z] = t;
template <size_t n>
class Tuple {
 public:
  explicit Tuple(std::array<Wire, n> members) : members_(std::move(members)) {}
  static constexpr size_t size() { return n; }
  template <size_t i>
  requires(i < n) const Wire& get() const { return members_[i]; }
  const std::array<Wire, n>& members() const { return members_; }

 private:
  std::array<Wire, n> members_;
};

template <class... W>
requires(std::convertible_to<W, Wire>&&...) Tuple<sizeof...(W)> make_tuple(W&&... members) {
  return Tuple<sizeof...(W)>({Wire(std::forward<W>(members))...});
}
template <size_t n>
Tuple<n + 1> append(const Tuple<n>& tuple, Wire last) {
  std::array<Wire, n + 1> members;
  for (size_t i = 0; i < n; ++i) members[i] = tuple.members()[i];
  members[n] = std::move(last);
  return Tuple<n + 1>(std::move(members));
}
template <size_t i, size_t n>
requires(i < n) const Wire& get(const Tuple<n>& tuple) { return tuple.template get<i>(); }
template <size_t n>
Wires::Wires(const Tuple<n>& tuple) : vector(tuple.members().begin(), tuple.members().end()) {}

// An operator as it stands in a graph.
class Node {
 public:
  std::string op() const;  // "Conv", "ai.onnx.ml::Scaler"
  const std::string& name() const;
  Wires inputs() const;
  Wires outputs() const;
  Place place() const;  // the line that made it
  // The nodes that must be computed before this one, all of them, in an order in which they can be.
  std::vector<Node> before() const;
  std::string text() const;  // "%y: f32[N] = Add(%a: f32[N], %b: f32[N])"
  bool operator==(const Node& other) const { return state_ == other.state_ && id_ == other.id_; }

 private:
  friend struct detail::Access;
  std::shared_ptr<detail::State> state_;
  uint32_t id_ = 0;
};
std::ostream& operator<<(std::ostream& out, const Node& node);

// The value of an attribute.
class Attribute {
 public:
  using Held = std::variant<int64_t, float, std::string, std::vector<int64_t>, std::vector<float>,
                            std::vector<std::string>, Tensor, std::vector<Tensor>, Fact>;
  template <std::integral T>
  Attribute(T value) : held_(static_cast<int64_t>(value)) {}  // NOLINT: implicit
  template <std::floating_point T>
  Attribute(T value) : held_(static_cast<float>(value)) {}                // NOLINT
  Attribute(Type value) : held_(static_cast<int64_t>(value)) {}           // NOLINT
  Attribute(const char* value) : held_(std::string(value)) {}             // NOLINT
  Attribute(std::string value) : held_(std::move(value)) {}               // NOLINT
  Attribute(std::vector<int64_t> value) : held_(std::move(value)) {}      // NOLINT
  Attribute(std::vector<float> value) : held_(std::move(value)) {}        // NOLINT
  Attribute(std::vector<std::string> value) : held_(std::move(value)) {}  // NOLINT
  Attribute(Tensor value) : held_(std::move(value)) {}                    // NOLINT
  Attribute(std::vector<Tensor> value) : held_(std::move(value)) {}       // NOLINT
  Attribute(Fact value) : held_(std::move(value)) {}                      // NOLINT
  const Held& held() const { return held_; }

 private:
  Held held_;
};
using Attributes = std::vector<std::pair<std::string, Attribute>>;

// An attribute that may be left out, as the helpers of sardonyx/ops.h take it.
template <class T>
class Given {
  template <class U>
  static constexpr bool kFits =
      std::convertible_to<U, T> && !std::same_as<std::remove_cvref_t<U>, Given> &&
      !(std::integral<T> && std::floating_point<std::remove_cvref_t<U>>);

 public:
  Given() = default;
  template <class U>
  requires kFits<U> Given(U&& value) : value_(T(std::forward<U>(value))) {}  // NOLINT: implicit
  Given(Type type)                                                           // NOLINT
      requires std::same_as<T, int64_t> : value_(static_cast<int64_t>(type)) {}

  const std::optional<T>& value() const { return value_; }

 private:
  std::optional<T> value_;
};

template <class E>
class Given<std::vector<E>> {
 public:
  Given() = default;
  Given(std::vector<E> list) : value_(std::move(list)) {}  // NOLINT: implicit
  Given(std::initializer_list<E> list) : value_(list) {}   // NOLINT

  const std::optional<std::vector<E>>& value() const { return value_; }

 private:
  std::optional<std::vector<E>> value_;
};

// One that must be given: leaving it out does not compile.
template <class T>
class Must : public Given<T> {
 public:
  using Given<T>::Given;
  Must() = delete;
};

// A subgraph of an operator: takes wires, makes nodes from them and from wires outside of it, and
// returns its results. It is called once for each set of facts that its inputs may have, so it must
// do the same each time.
using Body = std::function<Wires(const Wires& inputs)>;

class Graph {
 public:
  explicit Graph(std::string name = "graph");

  // An input. Its name is not given to another one.
  Wire parameter(const std::string& name, Type type, std::vector<Dim> dims,
                 Place place = Place::here());
  Wire parameter(const std::string& name, Fact fact, Place place = Place::here());
  // A constant with a name: weights.
  Wire constant(const std::string& name, Tensor value, Place place = Place::here());
  // A constant from text, checked against its type: literal(Type::i32, "[1, 2, 3]"),
  // literal(Type::f16, "0.5"), literal(Type::boolean, "true").
  Wire literal(Type type, std::string_view text, Place place = Place::here());
  // Any operator by its name ("Softmax", "ai.onnx.ml::Scaler", a user's): the newest version.
  Wires node(std::string_view op, const Wires& inputs, const Attributes& attributes = {},
             size_t outputs = 1, Place place = Place::here());
  // An output. Any wire can be one, under several names too.
  void result(const std::string& name, const Wire& wire, Place place = Place::here());

  const std::string& name() const;
  Wires parameters() const;
  std::vector<Node> nodes() const;  // in the order in which they were made
  std::string text() const;

  // What was built, as a model that has passed the checker.
  Model model() const;
  Session compile(const Options& options = {}) const { return model().compile(options); }
  void save(const std::string& path) const;

 private:
  friend struct detail::Access;
  std::shared_ptr<detail::State> state_;
};
std::ostream& operator<<(std::ostream& out, const Graph& graph);

// One operator by itself, on values: eval("Softmax", {x}, {{"axis", 1}})[0]. std::monostate stands
// for an input left out. `opset` 0 is the newest version.
std::vector<Value> eval(std::string_view op, const std::vector<Value>& inputs,
                        const Attributes& attributes = {}, size_t outputs = 1, int opset = 0,
                        Place place = Place::here());

namespace detail {
Wires call(const std::string& domain, const std::string& name, const Wires& inputs,
           const Body& body);
template <class R>
struct Returned {
  static R from(Wires wires) { return wires; }
};
template <>
struct Returned<Wire> {
  static Wire from(Wires wires) { return wires[0]; }
};
template <size_t n>
struct Returned<Tuple<n>> {
  static Tuple<n> from(Wires wires) {
    std::array<Wire, n> members;
    for (size_t i = 0; i < n; ++i) members[i] = wires[i];
    return Tuple<n>(std::move(members));
  }
};
}  // namespace detail

// A function of wires that a saved model keeps as a function of its own, called where it is used:
//
//   Function swish("Swish2", [](Wire x) { return ops::mul(x, ops::sigmoid(x)); });
//   Wire y = swish(swish(x));
//
// A plain C++ function of wires does as well, and its nodes then stand in the graph itself.
template <class F>
class Function {
 public:
  Function(std::string name, F body, std::string domain = "local")
      : name_(std::move(name)), domain_(std::move(domain)), body_(std::move(body)) {}

  template <class... W>
  requires std::invocable < const F&, const std::conditional_t<true, Wire, W>
  &... > auto operator()(const W&... inputs) const {
    using R = std::invoke_result_t<const F&, const std::conditional_t<true, Wire, W>&...>;
    return detail::Returned<R>::from(
        detail::call(domain_, name_, Wires{Wire(inputs)...}, [this](const Wires& formal) -> Wires {
          return apply(formal, std::index_sequence_for<W...>());
        }));
  }

 private:
  template <size_t... i>
  Wires apply(const Wires& formal, std::index_sequence<i...>) const {
    return body_(formal[i]...);
  }
  std::string name_, domain_;
  F body_;
};

}  // namespace sardonyx

template <size_t n>
struct std::tuple_size<sardonyx::Tuple<n>> : std::integral_constant<size_t, n> {};
template <size_t i, size_t n>
struct std::tuple_element<i, sardonyx::Tuple<n>> {
  using type = const sardonyx::Wire;
};
