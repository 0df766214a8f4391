// Signature: the formal inputs, outputs, attributes and types of one operator version, folded from
// its history.
//
// A history is one line per version, each a delta on the one before:
//
//   {1,  "(input: T) -> (output: T) {axis: int = 1} T in floats"},
//   {13, "{axis: int = -1} T += bf16"},
//
// Inputs stand in brackets, outputs in brackets behind an arrow; a list given anew replaces the
// older list:
//
//   (a: T)                 one input
//   (b?: T)                may be left out
//   (c...: T)              any number of one type
//   (d...2: T)             at least two
//   (e...~: T)             each of its own type
//   -> (y: T)              outputs, likewise
//
// Attributes stand in braces; those of the older version stay:
//
//   {x: int = 1}           with a default
//   {y: ints}              may be left out
//   {z!: string}           required
//   {-w}                   gone since this version
//
// Types of a variable, and flags:
//
//   T in f32 i64 seq(f32)  these types
//   T += bf16   T -= u4    more or fewer than before
//   -T                     the variable is gone
//   deprecated             from this version on
//   experimental           no stable version of it exists
//
// Type words: the short names of base/dtype.h, seq(..), optional(..), map(k,v), and the groups
//
//   ints = i8 i16 i32 i64      uints = u8 u16 u32 u64     floats = f16 f32 f64
//   num = the three above      f8 = the four float8 kinds
//   all = num bool string c64 c128; seq(all) is a sequence of each
#ifndef SDX_OP_SIGNATURE_H_
#define SDX_OP_SIGNATURE_H_

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/tensor.h"
#include "fact/fact.h"

namespace sdx {

class BodySource;

// ONNX's numbers.
enum class AttrType : uint8_t {
  undefined = 0,
  float_ = 1,
  int_ = 2,
  string = 3,
  tensor = 4,
  graph = 5,
  floats = 6,
  ints = 7,
  strings = 8,
  tensors = 9,
  graphs = 10,
  sparse_tensor = 11,
  sparse_tensors = 12,
  type = 13,
  types = 14,
};
std::string_view attr_type_name(AttrType);  // "int", "floats", "sparse_tensor"

// Sparse tensors arrive here dense; type protos as facts; graphs as something that can be typed.
struct AttrValue : std::variant<int64_t, float, std::string, std::vector<int64_t>,
                                std::vector<float>, std::vector<std::string>, Tensor,
                                std::vector<Tensor>, Fact, std::shared_ptr<const BodySource>> {
  using variant::variant;
  AttrValue(const AttrValue&);
  AttrValue(AttrValue&&) noexcept;
  AttrValue& operator=(const AttrValue&);
  AttrValue& operator=(AttrValue&&) noexcept;
  ~AttrValue();
};

struct AttrMap : std::map<std::string, AttrValue, std::less<>> {
  AttrMap();
  AttrMap(std::initializer_list<value_type>);
  AttrMap(const AttrMap&);
  AttrMap(AttrMap&&) noexcept;
  AttrMap& operator=(const AttrMap&);
  AttrMap& operator=(AttrMap&&) noexcept;
  ~AttrMap();
};

struct Version {
  int since;
  std::string_view delta;
};

struct Formal {
  enum class Option : uint8_t { single, optional, variadic };
  std::string name;
  std::string type;  // a type variable, or a type as "tensor(int64)"
  Option option = Option::single;
  bool homogeneous = true;  // of a variadic: all of one type
};

struct AttrDecl {
  std::string name;
  AttrType type;
  bool required = false;
  std::optional<AttrValue> fallback;
};

struct Signature {
  int since = 0;
  bool deprecated = false;
  bool experimental = false;
  std::vector<Formal> inputs, outputs;
  size_t min_inputs = 0, max_inputs = 0, min_outputs = 0, max_outputs = 0;
  std::vector<AttrDecl> attributes;                       // sorted by name
  std::map<std::string, std::vector<std::string>> types;  // variable -> sorted "tensor(float)" ...

  const AttrDecl* attribute(std::string_view name) const;
  // The formal that actual input i stands for; null if there are too many.
  const Formal* input(size_t i) const;
  const Formal* output(size_t i) const;
};

// All versions of a history, oldest first. An error is a mistake in our own declaration, with the
// place in the text.
Result<std::vector<Signature>> fold(std::span<const Version> history);

inline constexpr size_t kUnbounded = 2147483647;  // ONNX's count for "any number"

}  // namespace sdx

#endif  // SDX_OP_SIGNATURE_H_
