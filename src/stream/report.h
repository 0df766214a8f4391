// What people want to know of a streamed model: how every wire moves, and what a pulse costs.
#pragma once

#include "stream/step.h"

namespace sdx::stream {

// Rows of a wire per row of the input, in lowest terms.
struct Rate {
  int64_t rows = 1, per = 1;
  std::string text() const;  // "1", "2", "1/3"
};

struct Movement {
  Rate rate;
  int64_t delay = 0;    // rows that a wire is behind rate * input, once the stream is under way
  int64_t history = 0;  // rows that are kept of it
  bool grows = false;   // all rows are kept
};

struct PulseCost {
  int64_t pulse = 1;       // rows of the input
  size_t state_bytes = 0;  // kept between pulses, once the stream is under way
  uint64_t multiply_adds = 0;
  bool grows = false;
};

class Report {
 public:
  explicit Report(const Flows& flows);
  const Flows& flows() const { return flows_; }

  // How a moving wire moves; after pushes of `multiple()` rows.
  const Movement& at(Outlet outlet) const { return movements_[flows_.wire(outlet)]; }
  // A push of this many rows, or a multiple, gives whole rows of every wire.
  int64_t multiple() const { return multiple_; }
  Result<PulseCost> cost(int64_t pulse) const;
  // An error unless `pulse` rows are a multiple.
  Status check(int64_t pulse) const;
  // Delay of a wire in rows of the input.
  double input_delay(Outlet outlet) const;

  // "rows along 2, 1/2 per row, delay 3, history 4"; "fixed"; "known at the end: sum of lanes".
  std::string text(Outlet outlet) const;
  // One line per node: operator, outputs, how they move; what cannot be streamed with its reason.
  std::string text() const;

 private:
  const Flows& flows_;
  std::vector<Movement> movements_;  // by wire
  int64_t multiple_ = 1;
  int64_t under_way_ = 0;  // rows after which nothing is left of the beginning
};

// What a node does along the axis, in words: "window of 3, stride 2".
std::string words(const Streaming& how);

}  // namespace sdx::stream
