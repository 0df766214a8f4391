// Stream: one endless input of a model, taken row by row.
//
// push() gives every row that is certain and withholds none; finish() gives the rest. Joined, they
// are the bits of the whole run. What is kept between pushes is the least that later rows need. An
// error leaves the stream as it was.
#pragma once

#include <list>
#include <map>
#include <mutex>

#include "run/session.h"
#include "stream/step.h"

namespace sdx::stream {

// How pushes are compiled: as a whole run is.
struct Settings {
  plan::Options plan;
  rewrite::Rewrites rewrites;
  size_t most_arena_bytes = SIZE_MAX;
};

// A model along one axis, with all other sizes known: how its wires move, and the graphs of pushes
// that were compiled so far. Shared by its streams; safe to use from several threads.
class Streamable {
 public:
  static Result<std::shared_ptr<const Streamable>> make(Flows flows, const Settings& settings,
                                                        std::shared_ptr<Pool> pool);

  const Flows& flows() const { return flows_; }
  const States& states() const { return states_; }
  Pool& pool() const { return *pool_; }
  // Of the graph and its weights: states of other models do not fit.
  const std::string& fingerprint() const;

  // A compiled push with memory to run it in.
  struct Runner {
    explicit Runner(std::shared_ptr<const plan::Compiled> compiled)
        : session(std::move(compiled)) {}
    run::Session session;
    std::vector<Value> inputs;
    std::vector<Tensor> outputs;
  };
  struct Compiled {
    Step step;                                       // its graph is with `compiled`
    std::shared_ptr<const plan::Compiled> compiled;  // null: rows that nobody needs
    std::vector<std::pair<DType, Dims>> outputs;     // what the step gives
    std::vector<std::unique_ptr<Runner>> idle;
  };
  // Compiled if no push like it was before; the last few are kept.
  Result<std::shared_ptr<Compiled>> step(const std::vector<int64_t>& key, const Position& from,
                                         const Position& to, bool end) const;
  std::unique_ptr<Runner> take(Compiled& compiled) const;
  void give_back(Compiled& compiled, std::unique_ptr<Runner> runner) const;
  size_t steps_made() const { return made_; }

 private:
  Streamable(Flows flows, const Settings& settings, std::shared_ptr<Pool> pool)
      : flows_(std::move(flows)), states_(flows_), settings_(settings), pool_(std::move(pool)) {}

  const Flows flows_;
  const States states_;
  Settings settings_;
  std::shared_ptr<Pool> pool_;
  std::shared_ptr<plan::Packs> packs_;
  mutable std::mutex mutex_;
  mutable std::list<std::pair<std::vector<int64_t>, std::shared_ptr<Compiled>>> steps_;
  mutable size_t made_ = 0;
  mutable std::string fingerprint_;
};

// A model whose other sizes may be open until its streams' first pushes say them.
class Source {
 public:
  static Result<std::shared_ptr<const Source>> make(const typed::Graph& graph, std::string axis,
                                                    const Settings& settings,
                                                    std::shared_ptr<Pool> pool);
  const typed::Graph& graph() const { return rewritten_.graph(); }
  const std::string& axis() const { return axis_; }
  // Open sizes beside the axis.
  const std::vector<std::string>& others() const { return others_; }
  Result<Flows> flows(const Bindings& others) const;
  Result<std::shared_ptr<const Streamable>> at(const Bindings& others) const;
  Pool& pool() const { return *pool_; }

 private:
  explicit Source(rewrite::Rewritten rewritten) : rewritten_(std::move(rewritten)) {}
  const rewrite::Rewritten rewritten_;  // bits are changed as for a whole run
  std::string axis_;
  Settings settings_;
  std::shared_ptr<Pool> pool_;
  std::vector<std::string> others_;
  mutable std::mutex mutex_;
  mutable std::map<Bindings, std::shared_ptr<const Streamable>> streamable_;
};

class Stream {
 public:
  explicit Stream(std::shared_ptr<const Source> source) : source_(std::move(source)) {}

  // One tensor per input of the model, any number of rows; an empty tensor for a fixed input that
  // was given before. The results, in the order of the outputs, hold until the next call unless
  // copied: rows that are now certain, or an empty tensor for what is known at the end only.
  Result<std::span<const Tensor>> push(std::span<const Tensor> inputs,
                                       const run::RunOptions& options = {});
  // The rows that were still open, and what is known now that the stream has ended.
  Result<std::span<const Tensor>> finish(const run::RunOptions& options = {});
  bool finished() const { return finished_; }
  // As new. The next push may have other sizes.
  void reset();
  // Goes on from here by itself.
  Stream fork() const;
  // All that a stream of the same model needs to go on from here.
  std::string save() const;
  Status restore(std::string_view saved);

  // Who keeps the elements of result `i`: held by others too, they are not written again.
  const std::shared_ptr<void>& owner(size_t i) const { return result_[i].memory; }

  int64_t rows() const { return at_ ? at_->rows : 0; }
  // Bytes kept at the moment.
  size_t state_bytes() const;
  // None before the first push of a model with open sizes.
  const std::shared_ptr<const Streamable>& model() const { return model_; }
  const std::shared_ptr<const Source>& source() const { return source_; }

 private:
  // Memory that is used again once nobody else holds it.
  struct Held {
    std::shared_ptr<void> memory;
    Tensor tensor;
  };
  class Spares {
   public:
    Held take(DType type, const Dims& dims);
    void give(Held held);

   private:
    std::vector<Held> held_;
  };

  Status bind(std::span<const Tensor> inputs);
  Status start(Bindings others);
  Result<int64_t> check(std::span<const Tensor> inputs);
  Status step(std::span<const Tensor> inputs, int64_t rows, const std::vector<int64_t>* ends,
              const run::RunOptions& options);
  Status in_pieces(std::span<const Tensor> inputs, int64_t rows, const run::RunOptions& options);
  void clear_results();

  std::shared_ptr<const Source> source_;
  std::shared_ptr<const Streamable> model_;
  Bindings others_;
  std::optional<Position> at_, next_;
  std::vector<Held> state_;
  std::vector<Spares> spare_states_, spare_results_;
  std::vector<Tensor> fixed_;    // by input
  std::vector<Tensor> nothing_;  // by output: no rows
  std::vector<Held> result_;
  std::vector<Tensor> results_;
  std::vector<int64_t> key_;
  std::vector<Held> made_;
  bool finished_ = false;
};

// One push for each of several streams, side by side: each gets the bits it would get alone.
// `inputs` and `results` by stream; results as of push(). The first error, if any; streams without
// one have moved on.
Status push_all(std::span<Stream* const> streams, std::span<const std::span<const Tensor>> inputs,
                std::span<std::span<const Tensor>> results, const run::RunOptions& options = {});

}  // namespace sdx::stream
