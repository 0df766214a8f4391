// What the tests of streaming share: graphs, noise, and the proof that joined pushes are the whole.
#pragma once

#include "gradient/builder.h"
#include "stream/rows.h"
#include "stream/stream.h"
#include "typed/body.h"

namespace sdx::stream {

using gradient::Builder;

inline Tensor noise(DType type, Dims dims, uint64_t seed) {
  Tensor tensor = Tensor::make(type, std::move(dims));
  uint64_t state = seed * 0x9e3779b97f4a7c15u + 12345;
  for (size_t i = 0; i < tensor.count(); ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    set_f64(type, tensor.raw(), i, double((state >> 33) % 200001) / 100000.0 - 1.0);
  }
  return tensor;
}

// The body of a Scan: h = tanh(x W + h U), and h as a row.
class RecurrentBody : public BodySource {
 public:
  RecurrentBody(Tensor w, Tensor u) : w_(std::move(w)), u_(std::move(u)) {}
  size_t inputs() const override { return 2; }
  size_t outputs() const override { return 2; }
  Result<std::shared_ptr<const Body>> type(const Facts& formal, const Facts&) const override {
    typed::Graph graph;
    Builder b(graph);
    const Outlet h = graph.source("h", formal[0]), x = graph.source("x", formal[1]);
    const Outlet sum =
        b.add(b.op("MatMul", {x, graph.constant(w_)}), b.op("MatMul", {h, graph.constant(u_)}));
    const Outlet next = b.op("Tanh", {sum});
    graph.output("h", next);
    graph.output("row", b.op("Identity", {next}));
    SDX_TRY(b.status());
    return std::shared_ptr<const Body>(std::make_shared<typed::GraphBody>(std::move(graph)));
  }

 private:
  Tensor w_, u_;
};
// [1, in, T] -> [1, hidden, T]; `first` is the state before row 0.
inline Outlet scanned_rows(Builder& b, Outlet x, Outlet first, Tensor w, Tensor u) {
  const AttrValue body = std::shared_ptr<const BodySource>(
      std::make_shared<RecurrentBody>(std::move(w), std::move(u)));
  return b.ops("Scan", {first, x},
               {{"body", body},
                {"num_scan_inputs", int64_t{1}},
                {"scan_input_axes", std::vector<int64_t>{2}},
                {"scan_output_axes", std::vector<int64_t>{2}}},
               2)[1];
}

inline Settings plain_settings() {
  Settings settings;
  settings.plan.isa = native_isa();
  return settings;
}

inline Result<std::shared_ptr<const plan::Compiled>> compiled_whole(const typed::Graph& graph) {
  SDX_ASSIGN(rewrite::Rewritten rewritten, rewrite::rewritten(graph));
  plan::Settings settings;
  settings.plan = plain_settings().plan;
  return plan::Compiled::make(std::move(rewritten), settings, std::make_shared<Pool>(1));
}

// The outputs of the whole run.
inline Result<std::vector<Value>> whole(const typed::Graph& graph,
                                        const std::vector<Tensor>& inputs) {
  SDX_ASSIGN(const auto compiled, compiled_whole(graph));
  run::Session session(compiled);
  std::vector<Value> values(inputs.begin(), inputs.end());
  return session.run(values);
}

// One stream in chunks of the given sizes, the last size over and over: the rows of each output
// joined, then what finish() gave.
struct Pushed {
  std::vector<Tensor> outputs;
  std::vector<std::vector<int64_t>> certain;  // after each push, by output: rows so far
};
inline Result<Pushed> streamed(Stream& stream, const std::vector<Tensor>& inputs,
                               const std::vector<size_t>& axes_of_inputs,  // SIZE_MAX: fixed
                               int64_t rows, const std::vector<int64_t>& chunks) {
  std::vector<std::vector<Tensor>> parts;
  Pushed done;
  std::vector<int64_t> so_far;
  const auto take = [&](std::span<const Tensor> results) {
    parts.resize(results.size());
    so_far.resize(results.size(), 0);
    for (size_t i = 0; i < results.size(); ++i) {
      if (results[i].empty()) continue;
      parts[i].push_back(results[i].copy());
      const Flow& flow =
          stream.model()->flows().at(stream.model()->flows().graph.outputs()[i].outlet);
      if (flow.moves()) so_far[i] += results[i].dims()[flow.axis];
    }
    done.certain.push_back(so_far);
  };
  int64_t at = 0;
  for (size_t k = 0; at < rows; ++k) {
    const int64_t count = std::min(rows - at, chunks[std::min(k, chunks.size() - 1)]);
    std::vector<Tensor> piece;
    for (size_t i = 0; i < inputs.size(); ++i) {
      piece.push_back(axes_of_inputs[i] == SIZE_MAX
                          ? inputs[i]
                          : rows_of(inputs[i], axes_of_inputs[i], at, at + count));
    }
    SDX_ASSIGN(const auto results, stream.push(piece));
    take(results);
    at += count;
  }
  SDX_ASSIGN(const auto results, stream.finish());
  take(results);
  for (size_t i = 0; i < parts.size(); ++i) {
    const Flows& flows = stream.model()->flows();
    const Flow& flow = flows.at(flows.graph.outputs()[i].outlet);
    done.outputs.push_back(flow.moves() ? joined(parts[i], flow.axis) : parts[i].back());
  }
  return done;
}

}  // namespace sdx::stream
