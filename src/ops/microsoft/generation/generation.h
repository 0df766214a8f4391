// Generation: GreedySearch, BeamSearch and Sampling, loops over a decoder graph.
//
// Rows are the batch times the beams. What a decoder is given and gives each time is the matter of
// its form: gpt.cc (model_type 0), encoded.cc (behind an encoder: 1 for text, 2 for speech, which
// BeamSearch alone takes). Decoders that share the memory of past and present are refused by name.
#pragma once

#include <memory>

#include "ops/control/bodies.h"

namespace sdx::ops::microsoft {

struct Generation {
  enum class Model { decoder, translation, speech };  // model_type
  Model model = Model::decoder;
  BodyPtr first, decoder;  // `first`: the one for the prompt, if there is one
  BodyPtr encoder;
  int32_t start = -1;               // decoder_start_token_id
  bool whole_sequence = false;      // the decoder takes all tokens so far, not the last one alone
  size_t first_past = 0;            // input of a decoder with an encoder
  size_t formal = 0, captured = 0;  // inputs of the operator itself, and the wires that follow
  int32_t eos = 0, pad = 0;
  int64_t vocabulary = -1, no_repeat = 0;  // -1: as wide as the logits
  bool early_stopping = false;             // of BeamSearch
  bool second = false, third = false;      // whether outputs 1 and 2 are asked for
  // Of Sampling.
  float temperature = 1, top_p = 0, filter_value = 0, presence_penalty = 0;
  int64_t keep_at_least = 0;
  bool ascending = false;  // attribute `custom`
};

// The attributes that all forms have.
Result<Generation> read_common(const Node& node, size_t inputs);
// With a decoder of the GPT form, and with an encoder.
Result<Generation> read_generation(const Node& node, const Facts& in);
Result<Generation> read_encoded(const Node& node, const Facts& in);
// An error if an output of the subgraph is no tensor.
Status gives_tensors(const Body& body, std::string_view name);

constexpr size_t kDecoderIds = 10;  // BeamSearch's input decoder_input_ids

// The operator's own inputs, of which optional ones at the end may be left out; captured wires are
// still values behind them.
Args own_inputs(const Generation& a, const Args& args);

// The words of the call that all three operators take, by the position of its input.
struct Asked {
  size_t batch = 0, beams = 1, length = 0;  // of the prompt
  size_t most = 0, least = 0;               // max_length, min_length
  float repetition_penalty = 1;
};

// An input that holds one number; `fallback` if it is left out.
Result<double> number(const Args& args, size_t input, std::string_view name, double fallback);
// The prompt's sizes; max_length and min_length are inputs 1 and 2. Errors name what does not fit.
Result<Asked> read_asked(const Generation& a, const Args& args, size_t beams, size_t penalty_input);

using Tokens = std::vector<int32_t>;

// What the decoder has been told so far, and what it knows of it.
class Decoding {
 public:
  virtual ~Decoding() = default;
  // Logits behind the last token of each row: [rows(), vocabulary()].
  virtual Result<std::vector<float>> run() = 0;
  // Row i goes on from row `from[i]`, with `tokens[i]`.
  virtual void advance(const Tokens& tokens, const std::vector<size_t>& from) = 0;

  const std::vector<Tokens>& sequences() const { return sequences_; }
  size_t length() const { return sequences_.empty() ? 0 : sequences_[0].size(); }
  size_t rows() const { return sequences_.size(); }
  size_t vocabulary() const { return vocabulary_; }

 protected:
  Decoding(const Generation& a, const Args& args) : a_(a), args_(args) {}
  // The last position of logits [rows, length, width], of which each row stands for `copies`.
  Result<std::vector<float>> last_of(const Tensor& logits, size_t copies);
  void append(const Tokens& tokens, const std::vector<size_t>& from);

  const Generation& a_;
  const Args& args_;
  std::vector<Tokens> sequences_;

 private:
  size_t vocabulary_ = 0;
};

// `mask_input`: the position of attention_mask.
Result<std::unique_ptr<Decoding>> start_decoding(const Generation& a, const Args& args,
                                                 const Asked& asked, size_t mask_input);
Result<std::unique_ptr<Decoding>> start_gpt(const Generation& a, const Args& args,
                                            const Asked& asked, size_t mask_input);
Result<std::unique_ptr<Decoding>> start_encoded(const Generation& a, const Args& args,
                                                const Asked& asked, size_t mask_input);

// Rows of a state along axis `outer`, taken from other rows.
Tensor picked(const Tensor& state, size_t outer, const std::vector<size_t>& from);
// Whether each row goes on from itself.
bool goes_straight_on(const std::vector<size_t>& from);
// A matrix of 32-bit integers.
Tensor matrix(size_t rows, size_t columns);

// Which tokens may come next: penalties and masks on scores [rows, vocabulary], in onnxruntime's
// order. `masks`: the position of vocab_mask, before that of prefix_vocab_mask, which holds for
// the first token alone.
Status adjust(const Generation& a, const Args& args, const Asked& asked, size_t masks,
              const Decoding& decoding, std::vector<float>& scores);

}  // namespace sdx::ops::microsoft
