// Dim: the size of one axis, an integer or an expression over symbols, in a normal form.
//
// The normal form is a polynomial with integer coefficients over atoms; an atom is a symbol, a
// floor division, a minimum, a maximum or a broadcast of two Dims. Equal polynomials are stored
// equally, so == decides equality of expressions.
#ifndef SDX_FACT_DIM_H_
#define SDX_FACT_DIM_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace sdx {

using Bindings = std::map<std::string, int64_t>;

class Dim {
 public:
  Dim(int64_t constant = 0) : constant_(constant) {}  // NOLINT: integers are dimensions
  static Dim symbol(std::string name);
  // A size that only running tells; the graph gives each such dimension a symbol of its own.
  static Dim unknown() { return symbol("?"); }

  bool is_const() const { return poly_ == nullptr; }
  bool is_const(int64_t value) const { return is_const() && constant_ == value; }
  int64_t value() const { return constant_; }  // of a constant
  bool is_unknown() const;
  // Whether 64 bits hold it whatever the sizes are, which have 48: a number that is not large, or a
  // sum of a few symbols, quotients, minima and maxima of such. A product of symbols may wrap
  // around.
  bool never_wraps() const;

  Dim operator+(const Dim&) const;
  Dim operator-(const Dim&) const;
  Dim operator*(const Dim&) const;
  bool operator==(const Dim& other) const {
    return is_const() && other.is_const() ? constant_ == other.constant_ : text() == other.text();
  }

  friend Dim floor_div(const Dim&, const Dim&);
  friend Dim min(const Dim&, const Dim&);
  friend Dim max(const Dim&, const Dim&);
  // ONNX's broadcast of two sizes; an error if they can never agree.
  friend Result<Dim> broadcast(const Dim&, const Dim&);

  // The value under `bindings`; nothing if a symbol is not bound or a division is by zero.
  std::optional<int64_t> eval(const Bindings& bindings) const;
  // The same expression with bound symbols replaced.
  Dim bind(const Bindings& bindings) const;
  // The symbols that occur.
  void symbols(std::vector<std::string>& into) const;
  // "N", "2*N+1", "floor(H/2)".
  std::string text() const;
  // If this is a*s + b with one symbol s: the s that makes it `value`, if there is an integer one.
  std::optional<std::pair<std::string, int64_t>> solve(int64_t value) const;

 private:
  enum class Kind { symbol, floor_div, min, max, broadcast };
  struct Atom;
  struct Term {
    int64_t factor;
    std::vector<std::shared_ptr<const Atom>> atoms;  // sorted by text
  };
  using Poly =
      std::map<std::string, Term>;  // by the text of the atoms' product; "" is the constant term

  static Dim from(Poly poly);
  static Dim atom(Kind, std::string name, Dim a, Dim b);
  Poly poly() const;

  int64_t constant_ = 0;
  std::shared_ptr<const Poly> poly_;  // null: the constant
};

Dim floor_div(const Dim&, const Dim&);
inline Dim ceil_div(const Dim& a, const Dim& b) { return Dim(0) - floor_div(Dim(0) - a, b); }
Dim min(const Dim&, const Dim&);
Dim max(const Dim&, const Dim&);
Result<Dim> broadcast(const Dim&, const Dim&);

using Shape = std::vector<Dim>;
std::string to_string(const Shape&);
Shape shape_of(std::span<const int64_t> dims);
// The dimensions as integers, if all are constant.
std::optional<std::vector<int64_t>> constant_dims(const Shape&);
Dim product(std::span<const Dim>);

}  // namespace sdx

extern template class std::vector<sdx::Dim>;

#endif  // SDX_FACT_DIM_H_
