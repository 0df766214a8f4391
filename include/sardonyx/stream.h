// Streams: a model over an endless axis, fed as its rows come. Joined, the rows that pushes and
// finish() give are the bits of the whole run (docs/streaming.md).
//
//   auto stream = sardonyx::Stream::open(sardonyx::Model::load("denoise.onnx"), "T");
//   while (read(chunk)) play(stream.push({{"noisy", chunk}})["clean"]);
//   play(stream.finish()["clean"]);
//
// A Stream is for one thread at a time; another() and fork() give more, which share the weights.
#pragma once

#include "sardonyx/sardonyx.h"

namespace sardonyx {

class Stream {
 public:
  // `axis`: the name of an open size of the inputs; "INPUT:AXIS", which opens one that has a
  // number; or "INPUT:AXIS:WINDOW[:HOP]", for a model of one window, with ",OUTPUT=INPUT" for each
  // state.
  // ",INPUT=NUMBER" gives an input one value (docs/streaming.md). A model that cannot be streamed
  // is an error that names the node and the reason (SDX-S0010).
  static Stream open(const Model& model, const std::string& axis, const Options& options = {}) {
    return try_open(model, axis, options).value();
  }
  static Expected<Stream> try_open(const Model& model, const std::string& axis,
                                   const Options& options = {});
  Stream(Stream&&) noexcept;
  Stream& operator=(Stream&&) noexcept;
  ~Stream();

  const std::vector<Port>& inputs() const;
  const std::vector<Port>& outputs() const;

  // Any number of rows. Inputs without the axis are given with the first push. Results have the
  // rows that are certain now, perhaps none; what only the end tells is an empty optional until
  // finish(). After an error the stream is as it was.
  Outputs push(std::span<const NamedValue> inputs, const RunOptions& options = {}) {
    return try_push(inputs, options).value();
  }
  Outputs push(std::initializer_list<NamedValue> inputs, const RunOptions& options = {}) {
    return push(std::span(inputs.begin(), inputs.size()), options);
  }
  Expected<Outputs> try_push(std::span<const NamedValue> inputs, const RunOptions& options = {});
  Outputs finish(const RunOptions& options = {}) { return try_finish(options).value(); }
  Expected<Outputs> try_finish(const RunOptions& options = {});

  // Tensors in the order of inputs() and outputs(), an empty one for what is not given or not known
  // yet. Results hold until the next call on this stream; a copy holds for good. Chunks of one size
  // from one place allocate nothing after the first few.
  std::span<const Tensor> push_tensors(std::span<const Tensor> inputs,
                                       const RunOptions& options = {}) {
    return try_push_tensors(inputs, options).value();
  }
  Expected<std::span<const Tensor>> try_push_tensors(std::span<const Tensor> inputs,
                                                     const RunOptions& options = {});

  // One push for each of several streams of one model, side by side: each gets the bits it would
  // get alone. Inputs and results as of push(), by stream.
  static std::vector<Outputs> push_all(std::span<Stream* const> streams,
                                       std::span<const std::vector<NamedValue>> inputs,
                                       const RunOptions& options = {}) {
    return try_push_all(streams, inputs, options).value();
  }
  static Expected<std::vector<Outputs>> try_push_all(
      std::span<Stream* const> streams, std::span<const std::vector<NamedValue>> inputs,
      const RunOptions& options = {});

  // As new.
  void reset();
  // Goes on from here by itself.
  Stream fork() const;
  // A new stream of the same model.
  Stream another() const;
  // The state as bytes, for a stream of the same model, anywhere and at any time.
  std::string save() const;
  void restore(std::string_view saved);
  std::optional<Error> try_restore(std::string_view saved);

  int64_t rows() const;        // that came in so far
  size_t state_bytes() const;  // kept at the moment

 private:
  struct State;
  explicit Stream(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace sardonyx
