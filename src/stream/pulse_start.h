// Where the wires of a pulsed model are when nothing has come in.
//
// Each pulse brings equally many rows of a wire, so the delays of all wires follow from where each
// begins: rows [kept, certain), which may lie before row 0 and are nothing then.
#pragma once

#include "stream/report.h"

namespace sdx::stream {

// Padding in front that holds rows of the stream itself.
bool repeats_rows(const Streaming& how);

struct PulseStart {
  // `pulse`: rows of the input, 0 if any number may come.
  PulseStart(const Report& report, int64_t pulse);
  Status find();

  int64_t per_pulse(Outlet wire) const;
  int64_t of_output(Outlet wire) const;
  // The first row of an input that the next rows of output `slot` need.
  int64_t first_needed(uint32_t node, uint32_t slot, size_t input) const;
  // Rows at the end of an input's pulse that are not needed yet.
  int64_t left_over(uint32_t node, uint32_t slot, size_t input) const;

  std::vector<int64_t> certain, kept;  // by wire

 private:
  Status begin(uint32_t node, uint32_t slot);

  const Report& report_;
  const Flows& flows_;
  const typed::Graph& graph_;
  const int64_t pulse_;
};

}  // namespace sdx::stream
