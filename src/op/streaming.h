// Streaming: how an operator moves along an axis that has no end yet (an endless signal). An
// operator says so in one field, OpOf::stream; what works row by row along the axis says nothing
// and is asked instead (src/stream/rows.h). src/stream is the only reader.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "op/op.h"

namespace sdx {

// The node that asks. The streamed axis of inputs that have one; sizes other than that axis' are
// known.
struct Streamed {
  const Node& use;
  const Facts& in;
  const Facts& out;
  const std::vector<std::optional<size_t>>& axes;  // by input

  bool flows(size_t input) const { return input < axes.size() && axes[input].has_value(); }
  // Only the first input moves.
  bool only_first() const {
    for (size_t i = 1; i < axes.size(); ++i) {
      if (axes[i]) return false;
    }
    return flows(0);
  }
};

// Row j of the output needs rows [floor((j * num + lo) / den), floor((j * num + hi) / den)] of the
// input; what of them lies before row 0 or behind the last row is padding.
struct Reach {
  int64_t num = 1, den = 1, lo = 0, hi = 0;

  static int64_t floored(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }
  int64_t first(int64_t row) const { return floored(row * num + lo, den); }
  int64_t last(int64_t row) const { return floored(row * num + hi, den); }
  // How many rows of the output need only the first `rows` rows of the input.
  int64_t certain(int64_t rows) const {
    return std::max<int64_t>(0, floored(rows * den - hi - 1, num) + 1);
  }
};

struct Streaming {
  enum class Kind : uint8_t {
    refused,  // for `reason`
    rows,     // row i of each output comes from row i of every streamed input
    window,   // row j needs a stretch of the input (`reach`); cut out, it gives that row alone
    spread,   // the input's rows spread over more rows of the output, from row i * reach.den on
    pad,      // rows before and after
    slice,    // every step-th row from `start` on
    join,     // Concat: rows of fixed inputs before and after those of the streamed one
    carry,    // what some outputs are after a piece, some inputs are before the next one
    running,  // CumSum: the last row goes in front of the next piece
    fold,     // a reduction over the whole axis, computed as the rows come
    tail,     // the last rows, known at the end
    whole,    // needs the whole axis, and its outputs have none of it: held until the end
    attend,   // attention: a query needs the keys and values up to its own row
  };
  enum class Fold : uint8_t { sum, mean, max, min, product };
  enum class Mode : uint8_t { constant, edge, reflect };

  Kind kind = Kind::refused;
  std::string reason;

  // In pieces the node is made with these attributes and constants instead of its own; the last
  // piece has `last_attrs` too.
  AttrMap attrs, last_attrs;
  std::vector<std::pair<size_t, Tensor>> constants;  // by input

  Reach reach;                        // window, spread
  std::optional<size_t> pads_at;      // window: where in `pads` the axis' padding before stands
  int64_t before = 0, after = 0;      // window, pad: padding; spread: rows cut off in front
  Mode mode = Mode::constant;         // pad; spread: what rows before row 0 are
  std::optional<size_t> value_input;  // pad, window: what constant rows hold; else `value`
  float value = 0;
  bool leaves_padding_out = false;  // window: a mean over what is no padding
  bool overhangs = false;           // window: the last one may reach behind the padding
  int64_t longer = 0;               // spread: rows of the output beyond reach.den for each row
  bool other_axes = false;          // pad, slice: the node itself comes first, for the other axes
  // slice, by output: rows start, start + step ... of the input's first `end` rows, less `trimmed`
  // ones at its end.
  struct Slice {
    int64_t start = 0, step = 1, end = INT64_MAX, trimmed = 0;
  };
  std::vector<Slice> slices;
  size_t input = 0;                              // join: the streamed one
  std::vector<std::pair<size_t, size_t>> pairs;  // carry: input, output
  bool exclusive = false, product = false;       // running
  Fold fold = Fold::sum;
  int64_t count = 0;               // tail: rows
  int64_t behind = -1, ahead = 0;  // attend: keys a query sees before its own (-1: all) and after

  static Streaming refuse(std::string reason) {
    Streaming s;
    s.reason = std::move(reason);
    return s;
  }
  static Streaming of(Kind kind) {
    Streaming s;
    s.kind = kind;
    return s;
  }
  // Nothing to say: ask whether it works row by row.
  static Streaming ask() { return refuse(""); }
  bool asks() const { return kind == Kind::refused && reason.empty(); }
};

}  // namespace sdx
