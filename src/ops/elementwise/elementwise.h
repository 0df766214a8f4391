// Elementwise, a program on each element, and its shape side: how inputs of several shapes walk
// along one output.
#pragma once

#include <algorithm>
#include <array>
#include <span>

#include "kernel/pool.h"
#include "kernel/program/program.h"
#include "op/op.h"

namespace sdx::ops {

struct Elementwise {
  Program program;
};

// Output dimensions merged as far as all inputs allow; the last one is a run with stride 0 or 1 per
// input.
struct Walk {
  static constexpr size_t kMostDims = 8;
  size_t rank = 0;
  std::array<size_t, kMostDims> dims{};
  std::array<std::array<size_t, Program::kMostInputs>, kMostDims>
      strides{};  // in elements, 0 where broadcast

  size_t run() const { return dims[rank - 1]; }
  size_t rows() const;
  // Offset of each input at row r.
  void offsets(size_t r, size_t inputs, std::array<size_t, Program::kMostInputs>& into) const;
};
// A row of a walk and the offset of each input there.
class Row {
 public:
  Row(const Walk& walk, size_t row, size_t inputs);
  void next();
  size_t offset(size_t input) const { return offsets_[input]; }

 private:
  const Walk& walk_;
  size_t inputs_;
  std::array<size_t, Walk::kMostDims> at_{};
  std::array<size_t, Program::kMostInputs> offsets_;
};
// False if the merged rank is too high.
bool make_walk(std::span<const int64_t> out, std::span<const View> inputs, Walk& walk);

// body(offset of each input at a row, that row, how many rows from there on every input goes on by
// its stride of the last dimension but one), by all threads.
template <class F>
void each_rows_alike(const Walk& walk, size_t inputs, Pool& pool, F body) {
  const size_t outer = walk.rank - 2, grain = std::max<size_t>(1, 32768 / walk.run());
  pool.parallel(walk.rows(), grain, [&](size_t begin, size_t end, int) {
    for (size_t row = begin, rows = 0; row < end; row += rows) {
      rows = std::min(end - row, walk.dims[outer] - row % walk.dims[outer]);
      std::array<size_t, Program::kMostInputs> at;
      walk.offsets(row, inputs, at);
      body(at, row, rows);
    }
  });
}

}  // namespace sdx::ops
