// Fact: what is known of a wire before anything runs: its kind, element type, shape and perhaps its
// value.
#ifndef SDX_FACT_FACT_H_
#define SDX_FACT_FACT_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "fact/dim.h"

namespace sdx {

struct Fact {
  enum class Kind : uint8_t { absent, tensor, sequence, optional, map };

  Kind kind = Kind::absent;             // absent: an optional input or output that is left out
  DType type = DType::undefined;        // of a tensor's elements, or of a map's keys
  std::optional<Shape> shape;           // of a tensor; none: even the rank is unknown
  std::shared_ptr<const Tensor> value;  // of a constant tensor
  // Element values of a small integer tensor as expressions, row-major: what shape arithmetic
  // computes with.
  std::optional<std::vector<Dim>> symbolic;
  std::shared_ptr<const Fact> element;  // of a sequence or optional; of a map's values

  Fact();  // absent
  Fact(const Fact&);
  Fact(Fact&&) noexcept;
  Fact& operator=(const Fact&);
  Fact& operator=(Fact&&) noexcept;
  ~Fact();

  static Fact tensor(DType type);
  static Fact tensor(DType type, Shape shape);
  static Fact constant(Tensor value);
  static Fact sequence(Fact element);
  static Fact optional_of(Fact element);
  static Fact map(DType key, Fact value);

  bool present() const { return kind != Kind::absent; }
  bool is_tensor() const { return kind == Kind::tensor; }
  bool has_rank() const { return shape.has_value(); }
  size_t rank() const { return shape->size(); }  // with has_rank()
  const Dim& dim(size_t axis) const { return (*shape)[axis]; }
  // A tensor whose dimensions are all integers.
  bool is_concrete() const;
  Dims dims() const;  // of a concrete tensor

  // Integer elements, from the constant value or the symbolic one; none if not known.
  std::optional<std::vector<Dim>> integers() const;
  // As plain integers; none if not known or symbolic.
  std::optional<std::vector<int64_t>> constant_integers() const;

  // "f32[N,3,224,224]", "seq(f32[?])", "f32 of unknown rank".
  std::string text() const;
  // ONNX's spelling of the type alone: "tensor(float)".
  std::string onnx_type() const;
};

using Facts = std::vector<Fact>;

// Sizes up to which integer tensors carry their element values in facts.
inline constexpr size_t kMostTracked = 64;

// The fact of a value: concrete shape, no constant.
Fact fact_of(const Value&);
// Whether a value seen at run time is one that the fact allows.
bool admits(const Fact&, const Value&);

// ONNX's multidirectional broadcast; the error says which dimensions disagree.
Result<Shape> broadcast(const Shape&, const Shape&);

}  // namespace sdx

extern template class std::vector<sdx::Fact>;

#endif  // SDX_FACT_FACT_H_
