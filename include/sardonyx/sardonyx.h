// Sardonyx: runs ONNX models; the same bits on every machine.
//
//   sardonyx::Session session = sardonyx::Model::load("digits.onnx").compile();
//   sardonyx::Outputs outputs = session.run({{"picture", sardonyx::Tensor({1, 1, 8, 8}, pixels)}});
//   for (float p : outputs["probability"].values<float>()) ...
//
// Functions throw sardonyx::Error; each has a try_ twin that returns Expected instead. A Model
// never changes and may be used by many threads. A Session is for one thread at a time;
// session.another() gives more, which share the weights.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace sardonyx {

// What went wrong, under a stable code such as "SDX-T0102", and where, the innermost place first.
class Error : public std::exception {
 public:
  Error(std::string code, std::string message, std::vector<std::string> where, std::string help);

  const std::string& code() const { return code_; }
  const std::string& message() const { return message_; }
  const std::vector<std::string>& where() const { return where_; }
  const std::string& help() const { return help_; }
  // All of it: "error[SDX-T0102]: message\n  --> where\n   = help: ...".
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string code_, message_;
  std::vector<std::string> where_;
  std::string help_, text_;
};

// A value or an Error, for callers that do not want exceptions.
template <class T>
class [[nodiscard]] Expected {
 public:
  Expected(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit
  Expected(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit
  explicit operator bool() const { return state_.index() == 0; }
  T& operator*() { return std::get<0>(state_); }
  T* operator->() { return &std::get<0>(state_); }
  const Error& error() const { return std::get<1>(state_); }
  // The value, or the error thrown.
  T value() && {
    if (!*this) throw std::get<1>(std::move(state_));
    return std::get<0>(std::move(state_));
  }

 private:
  std::variant<T, Error> state_;
};

// ONNX's element types, with ONNX's numbers. Elements narrower than a byte are packed from the
// least significant bit.
enum class Type : uint8_t {
  undefined = 0,
  f32 = 1,
  u8 = 2,
  i8 = 3,
  u16 = 4,
  i16 = 5,
  i32 = 6,
  i64 = 7,
  string = 8,
  boolean = 9,
  f16 = 10,
  f64 = 11,
  u32 = 12,
  u64 = 13,
  c64 = 14,
  c128 = 15,
  bf16 = 16,
  f8e4m3fn = 17,
  f8e4m3fnuz = 18,
  f8e5m2 = 19,
  f8e5m2fnuz = 20,
  u4 = 21,
  i4 = 22,
  f4e2m1 = 23,
  f8e8m0 = 24,
  u2 = 25,
  i2 = 26,
  f6e2m3 = 27,
  f6e3m2 = 28,
};
std::string_view name_of(Type type);  // "f32", "bool"

// type_of<float> == Type::f32; undefined for a C++ type that no element type has.
template <class T>
inline constexpr Type type_of = Type::undefined;
template <>
inline constexpr Type type_of<float> = Type::f32;
template <>
inline constexpr Type type_of<double> = Type::f64;
template <>
inline constexpr Type type_of<int8_t> = Type::i8;
template <>
inline constexpr Type type_of<int16_t> = Type::i16;
template <>
inline constexpr Type type_of<int32_t> = Type::i32;
template <>
inline constexpr Type type_of<int64_t> = Type::i64;
template <>
inline constexpr Type type_of<uint8_t> = Type::u8;
template <>
inline constexpr Type type_of<uint16_t> = Type::u16;
template <>
inline constexpr Type type_of<uint32_t> = Type::u32;
template <>
inline constexpr Type type_of<uint64_t> = Type::u64;
template <>
inline constexpr Type type_of<bool> = Type::boolean;
template <>
inline constexpr Type type_of<std::string> = Type::string;
template <>
inline constexpr Type type_of<std::complex<float>> = Type::c64;
template <>
inline constexpr Type type_of<std::complex<double>> = Type::c128;

using Dims = std::vector<int64_t>;

// An element type, dimensions and row-major elements, owned (shared between copies) or over memory
// of the caller.
class Tensor {
 public:
  Tensor() = default;
  // Zeros (empty strings) in memory of its own.
  Tensor(Type type, Dims dims);
  // Over `data`, which the caller keeps alive and large enough. std::string objects for strings.
  Tensor(Type type, Dims dims, void* data);
  // A copy of `values`, as many as dims say.
  template <class T>
  Tensor(Dims dims, std::span<const T> values)
      : Tensor(type_of<std::remove_cv_t<T>>, std::move(dims)) {
    fill(values.data(), values.size());
  }
  template <class T>
  Tensor(Dims dims, const std::vector<T>& values)
      : Tensor(std::move(dims), std::span<const T>(values)) {}
  template <class T, size_t n>
  Tensor(Dims dims, const std::array<T, n>& values)
      : Tensor(std::move(dims), std::span<const T>(values)) {}
  template <class T>
  Tensor(Dims dims, std::initializer_list<T> values)
      : Tensor(std::move(dims), std::span<const T>(values.begin(), values.size())) {}

  Type type() const { return type_; }
  const Dims& dims() const { return dims_; }
  size_t count() const { return count_; }  // elements
  size_t bytes() const;
  void* data() { return data_; }
  const void* data() const { return data_; }
  // The elements; throws if they are not of type T.
  template <class T>
  std::span<const T> values() const {
    expect(type_of<T>);
    return {static_cast<const T*>(data_), count_};
  }
  template <class T>
  std::span<T> values() {
    expect(type_of<T>);
    return {static_cast<T*>(data_), count_};
  }
  // SHA-256 of the elements as raw_data of ONNX holds them, the same as `sardonyx run --digest`
  // prints.
  std::string digest() const;

 private:
  friend struct Bridge;
  void fill(const void* values, size_t count);
  void expect(Type type) const;

  Type type_ = Type::undefined;
  Dims dims_;
  size_t count_ = 0;
  std::shared_ptr<const void> owner_;
  void* data_ = nullptr;
};

// What a wire carries: nothing (an empty optional), a tensor, a sequence or a map.
struct Value;
using Sequence = std::vector<Value>;
using Map = std::map<std::variant<int64_t, std::string>, Value>;
struct Value : std::variant<std::monostate, Tensor, Sequence, Map> {
  using variant::variant;
  const Tensor& tensor() const { return std::get<Tensor>(*this); }
  const Sequence& sequence() const { return std::get<Sequence>(*this); }
  const Map& map() const { return std::get<Map>(*this); }
};

// One size of a shape: a number, or a name that a run binds ("" if it has none).
struct Size {
  std::optional<int64_t> number;
  std::string name;
};

// An input or output of a model.
struct Port {
  std::string name;
  Type type = Type::undefined;            // of a tensor's elements
  std::optional<std::vector<Size>> dims;  // of a tensor whose rank is known
  std::string text;                       // "f32[N,3,224,224]", "seq(f32[?])"
};

enum class Isa { native, portable, avx2, avx512, neon };

// Models that deviate from ONNX's rules: common, those with one meaning all the same are taken by
// it, and the session's notes() say so (nodes out of order, a graph without a name, a dimension of
// -1 ...; docs/rules.md); strict, none.
enum class Accept { common, strict };

struct Options {
  int threads = 0;        // 0: the CPUs this process may use
  Isa isa = Isa::native;  // changes speed, never a bit
  bool optimize = true;   // changes speed, never a bit
  bool strict = false;    // no rewrite of the published list of those that change bits
  Accept accept = Accept::common;
  std::map<std::string, int64_t> set = {};  // sizes for named dimensions
  size_t plans = 8;                         // kept at a time, for different shapes of the inputs
  size_t arena_bytes = 0;  // the most working memory that a run may take; 0: the machine's memory
  // A folder in which packed weights are kept from one load to the next, or "beside": the model's
  // own. Never changes a bit; who may write there must be trusted as the model is.
  std::string pack_cache = {};
};

// What one run is allowed and asked to do.
struct RunOptions {
  std::vector<std::string> outputs = {};  // only these are computed, in this order; empty: all
  // The run ends with SDX-R0030 soon after *stop is true, and with SDX-R0031 soon after the time
  // limit: before its next operator, in subgraphs too. The session can be used again.
  const std::atomic<bool>* stop = nullptr;
  std::optional<std::chrono::nanoseconds> time_limit = std::nullopt;
  int64_t loop_limit = 1'000'000'000;  // iterations of one Loop; more give SDX-R0610
};

using NamedValue = std::pair<std::string_view, Value>;

// Results in the graph's order, found by position or name.
class Outputs {
 public:
  size_t size() const { return values_.size(); }
  const std::string& name(size_t i) const { return (*names_)[i]; }
  // A tensor; throws if there is no such output or it is of another kind.
  const Tensor& operator[](size_t i) const;
  const Tensor& operator[](std::string_view name) const;
  const Value& value(size_t i) const;
  const Value& value(std::string_view name) const;

 private:
  friend struct Bridge;
  std::shared_ptr<const std::vector<std::string>> names_;
  std::vector<Value> values_;
};

class Session {
 public:
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;
  ~Session();

  const std::vector<Port>& inputs() const;
  const std::vector<Port>& outputs() const;

  // An input whose value the model holds as an initializer may be given too: its value then takes
  // the place of the model's. The first run with other such inputs compiles the model for them.
  Outputs run(std::span<const NamedValue> inputs, const RunOptions& options = {}) {
    return try_run(inputs, options).value();
  }
  Outputs run(std::initializer_list<NamedValue> inputs, const RunOptions& options = {}) {
    return run(std::span(inputs.begin(), inputs.size()), options);
  }
  Expected<Outputs> try_run(std::span<const NamedValue> inputs, const RunOptions& options = {});

  // From now on each run's `output` is the value of `input` in the next one, unless that run is
  // given another: the state of decoders and of audio models.
  void keep(std::string_view output, std::string_view input);
  // What is kept for an input, and a value to go on from. Nothing is kept before the first run.
  std::optional<Value> state(std::string_view input) const;
  void set_state(std::string_view input, Value value);
  void forget_state();

  // Tensors in the order of inputs() and outputs(). Results go into the tensors given, whose types
  // and shapes must be right. With static shapes nothing is allocated after the first run with
  // these shapes.
  void run_into(std::span<const Tensor> inputs, std::span<Tensor> outputs);
  std::optional<Error> try_run_into(std::span<const Tensor> inputs, std::span<Tensor> outputs);

  // Another session on the same compiled model and weights, with its own memory.
  Session another() const;
  // What did not go as asked and is no error: deviations of the model that were accepted, a file of
  // packed weights that was damaged.
  std::vector<std::string> notes() const;
  // Bytes of working memory, known once a run's shapes are.
  size_t arena_bytes() const;
  // Those that a run with such inputs takes: it is planned for their shapes, and nothing is made.
  Expected<size_t> try_arena_bytes(std::span<const NamedValue> inputs);
  int threads() const;

 private:
  friend struct Bridge;
  struct State;
  explicit Session(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Whether a model works row by row: each row of its outputs depends on the same row of its inputs
// and on nothing else, so that several calls' rows may go through one run.
struct RowWise {
  bool proved = false;
  std::string reason;               // if not, the node that looks at other rows, and how
  std::vector<std::string> inputs;  // those with rows; the others are the same for all of them
};

class Model {
 public:
  // An .onnx file, or its text (.txt, .onnxtxt), with the external data files beside it.
  static Model load(const std::string& path) { return try_load(path).value(); }
  static Expected<Model> try_load(const std::string& path);
  // The same from memory, which is copied. External data is looked up in `folder`.
  static Model parse(std::span<const std::byte> bytes, const std::string& folder = {}) {
    return try_parse(bytes, folder).value();
  }
  static Expected<Model> try_parse(std::span<const std::byte> bytes,
                                   const std::string& folder = {});
  // From ONNX's text syntax, and back (docs/text.md).
  static Model from_text(std::string_view text) { return try_from_text(text).value(); }
  static Expected<Model> try_from_text(std::string_view text);
  std::string text() const;

  // What keeps the model from being valid or from running here; empty if nothing does.
  std::vector<Error> check() const;
  const std::vector<Port>& inputs() const;
  const std::vector<Port>& outputs() const;
  // By an analysis of the typed graph; nothing is run.
  RowWise row_wise() const;

  Session compile(const Options& options = {}) const { return try_compile(options).value(); }
  Expected<Session> try_compile(const Options& options = {}) const;

 private:
  friend struct Bridge;
  struct State;
  Model() = default;
  std::shared_ptr<const State> state_;
};

}  // namespace sardonyx
