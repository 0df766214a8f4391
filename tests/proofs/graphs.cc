#include "graphs.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "typed/text.h"

namespace sdx::proofs {
namespace {

// splitmix64
class Draw {
 public:
  explicit Draw(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15 + 1) {}
  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
  }
  size_t below(size_t n) { return size_t(next() % n); }
  bool once_in(size_t n) { return below(n) == 0; }
  template <class T>
  const T& of(const std::vector<T>& list) {
    return list[below(list.size())];
  }

 private:
  uint64_t state_;
};

struct Wire {
  std::string name;
  Dims dims;
};

class Writer {
 public:
  explicit Writer(uint64_t seed) : draw_(seed) {}

  Result<typed::Graph> graph() {
    const size_t inputs = 1 + draw_.below(3), steps = 3 + draw_.below(22);
    for (size_t i = 0; i < inputs; ++i) {
      Dims dims;
      for (size_t axis = 0; axis < 1 + draw_.below(4); ++axis) dims.push_back(size());
      const std::string name = fmt::format("x{}", i);
      text_ += fmt::format("  %{} = input : f32[{}]\n", name, fmt::join(dims, ","));
      wires_.push_back({name, dims});
    }
    if (draw_.once_in(3)) wires_.push_back(weight({size(), size()}));
    for (size_t i = 0; i < steps; ++i) step();
    outputs();
    return typed::parse("graph \"g\" {\n" + text_ + "}\n", table_);
  }

 private:
  // Mostly powers of two, so that parts of a join end where others may begin.
  int64_t size() {
    static const std::vector<int64_t> kSizes = {1, 1, 2, 4, 8, 16, 16, 32, 64, 3, 5};
    return draw_.of(kSizes);
  }
  static int64_t count(const Dims& dims) {
    return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
  }
  // Recent wires more often: chains are what memory is shared along.
  const Wire& wire() {
    const size_t n = wires_.size();
    return draw_.once_in(3) ? wires_[draw_.below(n)]
                            : wires_[n - 1 - draw_.below(std::min<size_t>(n, 3))];
  }
  std::string fresh() { return fmt::format("{}", next_++); }

  Wire weight(const Dims& dims) {
    Tensor tensor = Tensor::make(DType::f32, dims);
    for (size_t i = 0; i < tensor.count(); ++i)
      tensor.data<float>()[i] = float(int64_t(draw_.next() >> 40) - (1 << 23)) * 0x1p-24f;
    const std::string name = fresh();
    text_ +=
        fmt::format("  %{} = <f32[{}] #{}>\n", name, fmt::join(dims, ","), table_.tensors.size());
    table_.tensors.push_back(std::move(tensor));
    return {name, dims};
  }
  std::string ints(const std::vector<int64_t>& values) {
    const std::string name = fresh();
    text_ += fmt::format("  %{} = i64[{}] {{{}}}\n", name, values.size(), fmt::join(values, ", "));
    return name;
  }
  void add(const std::string& what, std::vector<std::string> inputs, const Dims& dims) {
    const std::string name = fresh();
    for (std::string& input : inputs) input = "%" + input;
    text_ += fmt::format("  %{} = {} ({})\n", name, what, fmt::join(inputs, ", "));
    wires_.push_back({name, dims});
  }

  void step() {
    const Wire x = wire();
    if (count(x.dims) > 1 << 14) return unary(x);
    switch (draw_.below(17)) {
      case 0:
      case 1:
        return unary(x);
      case 2:
      case 3:
        return binary(x);
      case 4:
      case 5:
        return reshape(x);
      case 6:
        return units(x);
      case 7:
        return transpose(x);
      case 8:
        return slice(x);
      case 9:
        return split(x);
      case 10:
      case 11:
        return concat(x);
      case 12:
      case 13:
        return product(x);
      case 14:
        return whole_rows(x);
      case 15:
        return add(draw_.once_in(2) ? "Identity.13" : "Cast.13 {to=1}", {x.name}, x.dims);
      default:
        return draw_.once_in(4) ? late(x) : gather(x);
    }
  }

  void unary(const Wire& x) {
    static const std::vector<std::string> kOps = {"Relu.14", "Neg.13",  "Sigmoid.13", "Exp.13",
                                                  "Abs.13",  "Tanh.13", "Erf.13"};
    add(draw_.of(kOps), {x.name}, x.dims);
  }
  void binary(const Wire& x) {
    static const std::vector<std::string> kOps = {"Add.14", "Mul.14", "Sub.14", "Max.13", "Div.14"};
    std::vector<Wire> fitting;
    for (const Wire& wire : wires_) {
      if (wire.dims == x.dims) fitting.push_back(wire);
    }
    Wire y = fitting[fitting.size() - 1 - draw_.below(std::min<size_t>(fitting.size(), 4))];
    if (draw_.once_in(3)) y = weight(x.dims.empty() ? Dims{} : Dims{x.dims.back()});
    if (x.dims.size() > 1 && x.dims[0] > 1 && draw_.once_in(4)) y = row(x);
    const bool turned = draw_.once_in(2);
    add(draw_.of(kOps), {turned ? y.name : x.name, turned ? x.name : y.name}, x.dims);
  }
  // One row of a tensor: a view, read at every row where the whole one is read at its own.
  Wire row(const Wire& x) {
    const auto at = int64_t(draw_.below(size_t(x.dims[0])));
    Dims dims = x.dims;
    dims[0] = 1;
    const std::string starts = ints({at}), ends = ints({at + 1}), axes = ints({0});
    add("Slice.13", {x.name, starts, ends, axes}, dims);
    return wires_.back();
  }
  void reshape(const Wire& x) {
    Dims dims;
    int64_t left = count(x.dims);
    while (left > 1 && dims.size() < 3) {
      std::vector<int64_t> divisors;
      for (int64_t d = 1; d <= left && d <= 64; ++d) {
        if (left % d == 0) divisors.push_back(d);
      }
      dims.push_back(draw_.of(divisors));
      left /= dims.back();
    }
    dims.insert(dims.begin() + std::ptrdiff_t(draw_.below(dims.size() + 1)), left);
    if (draw_.once_in(4)) {
      const auto axis = int64_t(draw_.below(x.dims.size() + 1));
      const int64_t rows = count({x.dims.begin(), x.dims.begin() + axis});
      return add(fmt::format("Flatten.13 {{axis={}}}", axis), {x.name},
                 {rows, count({x.dims.begin() + axis, x.dims.end()})});
    }
    const std::string shape = ints(dims);
    add("Reshape.13", {x.name, shape}, dims);
  }
  void units(const Wire& x) {
    const auto one = std::find(x.dims.begin(), x.dims.end(), 1);
    Dims dims = x.dims;
    if (one != x.dims.end() && draw_.once_in(2)) {
      const auto axis = one - x.dims.begin();
      dims.erase(dims.begin() + axis);
      const std::string axes = ints({int64_t(axis)});
      return add("Squeeze.13", {x.name, axes}, dims);
    }
    if (dims.size() > 4) return unary(x);
    const auto axis = std::ptrdiff_t(draw_.below(dims.size() + 1));
    dims.insert(dims.begin() + axis, 1);
    const std::string axes = ints({int64_t(axis)});
    add("Unsqueeze.13", {x.name, axes}, dims);
  }
  void transpose(const Wire& x) {
    std::vector<int64_t> perm(x.dims.size());
    std::iota(perm.begin(), perm.end(), 0);
    for (size_t i = perm.size(); i > 1; --i) std::swap(perm[i - 1], perm[draw_.below(i)]);
    Dims dims;
    for (const int64_t axis : perm) dims.push_back(x.dims[size_t(axis)]);
    add(fmt::format("Transpose.13 {{perm=[{}]}}", fmt::join(perm, ",")), {x.name}, dims);
  }
  void slice(const Wire& x) {
    if (x.dims.empty()) return unary(x);
    const size_t axis = draw_.once_in(2) ? 0 : draw_.below(x.dims.size());
    const auto start = int64_t(draw_.below(size_t(x.dims[axis])));
    const int64_t end = start + 1 + int64_t(draw_.below(size_t(x.dims[axis] - start)));
    Dims dims = x.dims;
    dims[axis] = end - start;
    const bool backwards = draw_.once_in(3);
    const std::string starts = ints({backwards ? start - x.dims[axis] : start}), ends = ints({end}),
                      axes = ints({int64_t(axis)});
    add("Slice.13", {x.name, starts, ends, axes}, dims);
  }
  void split(const Wire& x) {
    std::vector<size_t> axes;
    for (size_t axis = 0; axis < x.dims.size(); ++axis) {
      if (x.dims[axis] > 1) axes.push_back(axis);
    }
    if (axes.empty()) return unary(x);
    const size_t axis = draw_.once_in(3) ? draw_.of(axes) : axes[0];
    std::vector<int64_t> sizes;
    int64_t left = x.dims[axis];
    while (left > 0 && sizes.size() < 3) {
      sizes.push_back(sizes.size() == 2 ? left : 1 + int64_t(draw_.below(size_t(left))));
      left -= sizes.back();
    }
    if (left > 0) sizes.back() += left;
    const std::string given = ints(sizes);
    std::vector<std::string> names;
    for (const int64_t size : sizes) {
      Dims dims = x.dims;
      dims[axis] = size;
      names.push_back(fresh());
      wires_.push_back({names.back(), dims});
    }
    text_ += fmt::format("  %{} = Split.13 {{axis={}}} (%{}, %{})\n", fmt::join(names, ", %"), axis,
                         x.name, given);
  }
  void concat(const Wire& x) {
    if (x.dims.empty()) return unary(x);
    const size_t axis = draw_.once_in(4) ? draw_.below(x.dims.size()) : 0;
    std::vector<Wire> fitting;
    for (const Wire& wire : wires_) {
      Dims dims = wire.dims;
      if (dims.size() != x.dims.size()) continue;
      dims[axis] = x.dims[axis];
      if (dims == x.dims) fitting.push_back(wire);
    }
    std::vector<std::string> names;
    Dims dims = x.dims;
    dims[axis] = 0;
    for (size_t i = 0; i < 2 + draw_.below(3); ++i) {
      const Wire& part =
          fitting[fitting.size() - 1 - draw_.below(std::min<size_t>(fitting.size(), 5))];
      names.push_back(part.name);
      dims[axis] += part.dims[axis];
    }
    add(fmt::format("Concat.13 {{axis={}}}", axis), names, dims);
  }
  void product(const Wire& x) {
    if (x.dims.size() < 2) return unary(x);
    const Wire w = weight({x.dims.back(), size()});
    Dims dims = x.dims;
    dims.back() = w.dims[1];
    add("MatMul.13", {x.name, w.name}, dims);
    if (draw_.once_in(3)) later_operand();
    const size_t ending = draw_.below(4);
    for (size_t i = 0; i < ending; ++i) {
      const Wire last = wires_.back();
      draw_.once_in(2) ? unary(last) : binary(last);
    }
  }
  // The product is added to something that is computed after it.
  void later_operand() {
    const Wire product = wires_.back();
    for (size_t i = 0; i + 1 < wires_.size(); ++i) {
      if (wires_[i].dims != product.dims) continue;
      const std::string other = wires_[i].name;
      add("Softmax.13 {axis=-1}", {other}, product.dims);
      return add("Add.14", {product.name, wires_.back().name}, product.dims);
    }
  }
  void whole_rows(const Wire& x) {
    if (x.dims.empty()) return unary(x);
    if (draw_.once_in(2)) return add("Softmax.13 {axis=-1}", {x.name}, x.dims);
    const std::string axes = ints({-1});
    Dims dims = x.dims;
    dims.back() = 1;
    add("ReduceSum.13 {keepdims=1}", {x.name, axes}, dims);
  }
  void gather(const Wire& x) {
    if (x.dims.empty()) return unary(x);
    std::vector<int64_t> rows;
    for (size_t i = 0; i < 1 + draw_.below(3); ++i)
      rows.push_back(int64_t(draw_.below(size_t(x.dims[0]))));
    Dims dims = x.dims;
    dims[0] = int64_t(rows.size());
    const std::string indices = ints(rows);
    add("Gather.13 {axis=0}", {x.name, indices}, dims);
  }
  // Its size is known only when it runs.
  void late(const Wire& x) {
    if (x.dims.empty()) return unary(x);
    const std::string found = fresh();
    text_ += fmt::format("  %{} = NonZero.13 (%{})\n", found, x.name);
    late_.push_back(found);
  }

  void outputs() {
    size_t count = 1 + draw_.below(4);
    for (size_t i = 0; i < count; ++i) {
      const std::string& name = i == 0 ? wires_.back().name : wire().name;
      text_ += fmt::format("  output \"y{}\" = %{}\n", i, name);
    }
    for (const std::string& name : late_)
      text_ += fmt::format("  output \"y{}\" = %{}\n", count++, name);
  }

  Draw draw_;
  size_t next_ = 0;
  std::string text_;
  typed::TextTable table_;
  std::vector<Wire> wires_;
  std::vector<std::string> late_;
};

}  // namespace

Result<typed::Graph> random_graph(uint64_t seed) { return Writer(seed).graph(); }

}  // namespace sdx::proofs
