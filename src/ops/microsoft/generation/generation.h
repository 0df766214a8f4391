// Generation: GreedySearch, BeamSearch and Sampling, loops over a decoder graph.
//
// The decoder is of the GPT form: (input_ids, position_ids, attention_mask, past_0, past_1 ...) ->
// (logits, present_0, present_1 ...), with all ids 32-bit integers and a past of
// [2, rows, heads, length, size]. The first call has the whole prompt and an empty past, each
// later one the token that was chosen and what the last call gave. Rows are the batch times the
// beams. Models with an encoder, and decoders that share the memory of past and present, are
// refused by name.
#pragma once

#include "ops/control/bodies.h"

namespace sdx::ops::microsoft {

struct Generation {
  BodyPtr first, decoder;  // `first`: the one for the prompt, if there is one
  size_t formal = 0;       // inputs of the operator itself; captured wires follow
  int32_t eos = 0, pad = 0;
  int64_t vocabulary = -1, no_repeat = 0;  // -1: as wide as the logits
  bool early_stopping = false;             // of BeamSearch
  bool second = false, third = false;      // whether outputs 1 and 2 are asked for
  // Of Sampling.
  float temperature = 1, top_p = 0, filter_value = 0, presence_penalty = 0;
  int64_t keep_at_least = 0;
  bool ascending = false;  // attribute `custom`
};

Result<Generation> read_generation(const Node& node, const Facts& in);

// The words of the call that all three operators take, by the position of its input.
struct Asked {
  size_t batch = 0, beams = 1, length = 0;  // of the prompt
  size_t most = 0, least = 0;               // max_length, min_length
  float repetition_penalty = 1;
};

// An input that holds one number; `fallback` if it is left out.
Result<double> number(const Args& args, size_t input, std::string_view name, double fallback);
// The prompt's sizes; max_length and min_length are inputs 1 and 2. Errors name what does not fit.
Result<Asked> read_asked(const Args& args, size_t beams, size_t penalty_input);

using Tokens = std::vector<int32_t>;

// What the decoder has been told so far, and what it knows of it.
class Decoding {
 public:
  // `mask_input`: the position of attention_mask.
  static Result<Decoding> start(const Generation& a, const Args& args, const Asked& asked,
                                size_t mask_input);

  // Logits behind the last token of each row: [rows, vocabulary()].
  Result<std::vector<float>> run();
  // Row i goes on from row `from[i]`, with `tokens[i]`.
  void advance(const Tokens& tokens, const std::vector<size_t>& from);

  const std::vector<Tokens>& sequences() const { return sequences_; }
  size_t length() const { return sequences_[0].size(); }
  size_t rows() const { return sequences_.size(); }
  size_t vocabulary() const { return vocabulary_; }

 private:
  Decoding(const Generation& a, const Args& args) : a_(a), args_(args) {}

  const Generation& a_;
  const Args& args_;
  std::vector<Tokens> sequences_;
  std::vector<Value> feeds_;  // of the next call, then the captured wires
  std::vector<Tensor> present_;
  Tokens positions_;  // of the next token of each row
  size_t vocabulary_ = 0, calls_ = 0;
};

// Which tokens may come next: penalties and masks on scores [rows, vocabulary], in onnxruntime's
// order. `masks`: the position of vocab_mask, before that of prefix_vocab_mask, which holds for
// the first token alone.
Status adjust(const Generation& a, const Args& args, const Asked& asked, size_t masks,
              const Decoding& decoding, std::vector<float>& scores);

}  // namespace sdx::ops::microsoft
