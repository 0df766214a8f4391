// PulsedMaker: makes the graph of one pulse, node by node. Its parts are files of their own:
//
//   pulsed.cc        the order of things, what is held before the first row, outputs and states
//   pulsed_wires.cc  rows of wires: those that came, those that were kept, and rows before row 0
//   pulsed_nodes.cc  nodes on these rows: row by row, windows, padding, recurrences, attention
#pragma once

#include <map>
#include <set>

#include "gradient/builder.h"
#include "stream/pulse_start.h"
#include "stream/pulsed.h"

namespace sdx::stream {

using gradient::Outlets;

class PulsedMaker {
 public:
  PulsedMaker(const Flows& flows, int64_t pulse)
      : flows_(flows),
        old_(flows.graph),
        report_(flows),
        states_(flows),
        pulse_(pulse),
        opset_(oldest_opset(flows.graph)),
        start_(report_, pulse) {}

  Result<Pulsed> run();

 private:
  using Kind = Streaming::Kind;

  Status in(uint32_t id, Status status);

  int64_t per_pulse(Outlet old) const { return start_.per_pulse(old); }
  int64_t first_needed(uint32_t id, uint32_t slot, size_t input) const;

  // Wires.

  Outlet add(std::string_view op, Outlets in, AttrMap attrs = {});
  Outlets add(sdx::Node use, Outlets in);
  Outlet ints(const std::vector<int64_t>& values);
  // Without `first` rows in front and `left` rows at the end.
  Outlet cut(Outlet wire, size_t axis, int64_t first, int64_t left, int64_t step = 1);
  Outlet concat(Outlets parts, size_t axis);
  Outlet value(Outlet old);
  Outlet state(const std::string& name, Tensor initial, std::string words);
  void keep(const std::string& name, Outlet wire) { next_.emplace_back(name + ".next", wire); }

  Outlet fresh(Outlet old);
  std::string name_of(Outlet old) const;
  std::string unique(std::string name);
  // What is kept of a wire, and its new rows.
  Outlet all(Outlet old);

  // What a stream holds before its first row.

  Status find_initial();
  // Rows [kept, certain) of a wire: nothing before row 0, then what constant rows give.
  Tensor initial(Outlet old, int64_t held);

  // Rows before row 0.

  // i64 [1]: rows of the input that came before this pulse.
  Outlet counter();
  // `rows`, of which the first has index `first` in the first pulse, with `value` in place of those
  // with an index below `least`.
  Outlet masked(Outlet old, Outlet rows, int64_t first, int64_t least, Outlet value_wire);
  // The rows that a spreading node takes, of which those before row 0 add nothing, or are row 0.
  Outlet begun(uint32_t id, Outlet rows);
  // i64 [1]: rows of a wire that came before this pulse.
  Outlet rows_before(Outlet old);
  // 0, 1, 2 ... for the rows of a wire of the new graph.
  Outlet numbered(Outlet rows, size_t axis);
  Outlet scalar(int64_t value) { return made_.graph.constant(Tensor::scalar<int64_t>(value)); }
  Outlet number(double value, DType type);

  // Nodes.

  Outlet piece(uint32_t id, uint32_t slot, size_t input);
  Outlets inputs_for(uint32_t id, uint32_t slot);
  Outlets again(uint32_t id, Outlets inputs, AttrMap more = {});

  Status move(uint32_t id);
  Outlet others(uint32_t id, Outlet rows);

  Status window(uint32_t id);
  bool zero_filled(size_t wire) const;

  // Row j of the output is row j - before of the input; below row 0, row 0 or its mirror image.
  Status repeat(uint32_t id);

  Status pad(uint32_t id);
  Status carry(uint32_t id, uint32_t slot);
  Status running(uint32_t id);
  Status attend(uint32_t id);

  // Outputs.

  Status finish();

  const Flows& flows_;
  const typed::Graph& old_;
  const Report report_;
  const States states_;
  const int64_t pulse_;
  const int opset_;
  PulseStart start_;
  Pulsed made_;
  Status status_;
  std::map<Outlet, Outlet> fresh_, all_, values_;
  std::map<size_t, Tensor> begun_;        // by wire: rows that are certain before the first pulse
  std::map<size_t, double> padded_with_;  // by wire: what rows before row 0 hold at first
  std::vector<std::string> words_;
  std::set<std::string> names_;
  std::vector<std::pair<std::string, Outlet>> results_, next_;  // outputs: rows, and states
  Outlet counter_;
  std::string counter_name_;
};

}  // namespace sdx::stream
