#include "ops/microsoft/generation/generation.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "ops/control/bodies_of.h"

namespace sdx::ops::microsoft {

Status gives_tensors(const Body& body, std::string_view name) {
  for (size_t i = 0; i < body.outputs().size(); ++i) {
    const Fact& fact = body.outputs()[i];
    if (fact.is_tensor()) continue;
    return fail("SDX-T1121", "output {} of {} is {}; expected a tensor", i, name, fact.text());
  }
  return ok();
}

Result<Generation> read_common(const Node& node, size_t inputs) {
  Generation a;
  a.formal = node.formal_inputs;
  a.captured = inputs - node.formal_inputs;
  a.eos = int32_t(node.i("eos_token_id"));
  a.pad = int32_t(node.i("pad_token_id"));
  if (a.eos < 0 || a.pad < 0) return fail("SDX-T1121", "eos_token_id and pad_token_id are ids");
  a.start = int32_t(node.i("decoder_start_token_id"));
  a.vocabulary = node.i("vocab_size");
  a.no_repeat = std::max<int64_t>(0, node.i("no_repeat_ngram_size"));
  a.second = node.wants(1);
  a.third = node.wants(2);
  a.early_stopping = node.i_or("early_stopping", 0) == 1;
  a.temperature = node.f_or("temperature", 1);
  a.top_p = node.f_or("top_p", 0);
  a.filter_value = node.f_or("filter_value", 0);
  a.presence_penalty = node.f_or("presence_penalty", 0);
  a.keep_at_least = node.i_or("min_tokens_to_keep", 0);
  a.ascending = node.i_or("custom", 0) != 0;
  return a;
}

Result<Generation> read_generation(const Node& node, const Facts& in) {
  SDX_ASSIGN(Generation a, read_common(node, in.size()));
  if (node.i("model_type") != 0) {
    return fail("SDX-T1120",
                "com.microsoft.{} with model_type {} does not run here: only decoders "
                "of the GPT form (model_type 0) do",
                node.op->name, node.i("model_type"));
  }
  const auto body = [&](std::string_view name) -> Result<BodyPtr> {
    const BodySource& decoder = source(node, name);
    if (decoder.inputs() < 4 || decoder.outputs() + 2 != decoder.inputs()) {
      return fail("SDX-T1121",
                  "{} has {} inputs and {} outputs; expected input_ids, position_ids, "
                  "attention_mask and pasts, and logits and as many presents",
                  name, decoder.inputs(), decoder.outputs());
    }
    SDX_ASSIGN(BodyPtr typed, decoder.type({}, captured(node, in)));
    SDX_TRY(gives_tensors(*typed, name));
    for (size_t i = 0; i < decoder.inputs(); ++i) {
      const Fact& fact = typed->inputs()[i];
      const bool id = i < 3 && fact.type == DType::i32;
      const bool past = i >= 3 && fact.has_rank() && fact.rank() == 5 && fact.dim(2).is_const() &&
                        fact.dim(4).is_const();
      if (id || past) continue;
      return fail(
          "SDX-T1121", "input {} of {} is {}; expected {}", i, name, fact.text(),
          i < 3 ? "32-bit integers" : "[2, rows, heads, length, size], heads and size known");
    }
    return typed;
  };
  SDX_ASSIGN(a.decoder, body("decoder"));
  if (node.has("init_decoder")) {
    SDX_ASSIGN(a.first, body("init_decoder"));
  }
  return a;
}

Args own_inputs(const Generation& a, const Args& args) {
  Args own = args;
  own.ins = own.ins.first(a.formal);
  return own;
}

Result<double> number(const Args& args, size_t input, std::string_view name, double fallback) {
  if (!args.has(input)) return fallback;
  const View& view = args.in(input);
  if (view.count != 1) return fail("SDX-R1120", "{} has {} elements, expected 1", name, view.count);
  return get_f64(view.type, view.raw, 0);
}

Result<size_t> prompt_length(const Generation& a, const Args& args) {
  const View& ids = args.in(0);
  const bool speech = a.model == Generation::Model::speech;
  if (ids.dims.size() != (speech ? 3 : 2) || (ids.type == DType::i32) == speech) {
    return fail("SDX-R1120", "{} is {}{}; expected {}", speech ? "input_features" : "input_ids",
                short_name(ids.type), to_string(Dims(ids.dims.begin(), ids.dims.end())),
                speech ? "floats [batch, features, length]" : "32-bit integers [batch, length]");
  }
  if (a.model == Generation::Model::translation) return size_t{1};
  if (a.model == Generation::Model::decoder) return size_t(ids.dims[1]);
  if (!args.has(kDecoderIds)) return size_t{1};
  const View& first = args.in(kDecoderIds);
  if (first.dims.size() != 2 || first.dims[0] != ids.dims[0]) {
    return fail("SDX-R1120", "decoder_input_ids is {}; expected [{}, length]",
                to_string(Dims(first.dims.begin(), first.dims.end())), ids.dims[0]);
  }
  return size_t(first.dims[1]);
}

Result<Asked> read_asked(const Generation& a, const Args& args, size_t beams,
                         size_t penalty_input) {
  constexpr double kMostLength = 4096;
  Asked asked;
  SDX_ASSIGN(asked.length, prompt_length(a, args));
  if (asked.length == 0) return fail("SDX-R1120", "the prompt has no tokens");
  asked.batch = size_t(args.in(0).dims[0]);
  asked.beams = beams;
  SDX_ASSIGN(const double most, number(args, 1, "max_length", kMostLength));
  SDX_ASSIGN(const double least, number(args, 2, "min_length", 0));
  SDX_ASSIGN(const double penalty, number(args, penalty_input, "repetition_penalty", 1));
  if (most <= double(asked.length) || most > kMostLength || least < 0) {
    return fail("SDX-R1120",
                "max_length is {} and min_length {}; expected more than the prompt's {} tokens, at "
                "most {}, and 0 or more",
                most, least, asked.length, kMostLength);
  }
  if (!(penalty > 0))
    return fail("SDX-R1120", "repetition_penalty is {}; expected more than 0", penalty);
  asked.most = size_t(most);
  asked.least = size_t(least);
  asked.repetition_penalty = float(penalty);
  return asked;
}

Result<std::vector<float>> Decoding::last_of(const Tensor& logits, size_t copies) {
  if (logits.rank() != 3 || size_t(logits.dims()[0]) * copies != rows() || logits.dims()[1] < 1) {
    return fail("SDX-R1121", "the decoder's logits are {}; expected [{}, length, vocabulary]",
                to_string(logits.dims()), rows() / copies);
  }
  const auto width = size_t(logits.dims()[2]), length = size_t(logits.dims()[1]);
  vocabulary_ = a_.vocabulary <= 0 ? width : size_t(a_.vocabulary);
  if (vocabulary_ > width || vocabulary_ == 0) {
    return fail("SDX-R1121", "vocab_size is {}, the decoder's logits are {} wide", vocabulary_,
                width);
  }
  std::vector<float> last(rows() * vocabulary_);
  for (size_t row = 0; row < rows(); ++row) {
    const size_t at = (row / copies * length + length - 1) * width;
    for (size_t i = 0; i < vocabulary_; ++i) {
      last[row * vocabulary_ + i] = float(get_f64(logits.type(), logits.raw(), at + i));
    }
  }
  return last;
}

void Decoding::append(const Tokens& tokens, const std::vector<size_t>& from) {
  std::vector<Tokens> sequences;
  for (size_t row = 0; row < rows(); ++row) {
    sequences.push_back(sequences_[from[row]]);
    sequences.back().push_back(tokens[row]);
  }
  sequences_ = std::move(sequences);
}

Tensor picked(const Tensor& state, size_t outer, const std::vector<size_t>& from) {
  Dims dims = state.dims();
  const auto old_rows = size_t(dims[outer]);
  dims[outer] = int64_t(from.size());
  Tensor made = Tensor::make(state.type(), dims);
  size_t blocks = 1;
  for (size_t axis = 0; axis < outer; ++axis) blocks *= size_t(dims[axis]);
  const size_t bytes = old_rows * blocks == 0 ? 0 : state.bytes() / (blocks * old_rows);
  const auto* source = static_cast<const std::byte*>(state.raw());
  auto* target = static_cast<std::byte*>(made.raw());
  for (size_t block = 0; block < blocks && bytes > 0; ++block) {
    for (size_t row = 0; row < from.size(); ++row) {
      std::memcpy(target + (block * from.size() + row) * bytes,
                  source + (block * old_rows + from[row]) * bytes, bytes);
    }
  }
  return made;
}

bool goes_straight_on(const std::vector<size_t>& from) {
  for (size_t row = 0; row < from.size(); ++row) {
    if (from[row] != row) return false;
  }
  return true;
}

Tensor matrix(size_t rows, size_t columns) {
  return Tensor::make(DType::i32, {int64_t(rows), int64_t(columns)});
}

Result<std::unique_ptr<Decoding>> start_decoding(const Generation& a, const Args& args,
                                                 const Asked& asked, size_t mask_input) {
  return a.encoder ? start_encoded(a, args, asked, mask_input)
                   : start_gpt(a, args, asked, mask_input);
}

namespace {

constexpr float kNever = std::numeric_limits<float>::lowest();

// Tokens that would end a run of n tokens which the sequence has already.
std::set<int32_t> repeating(const Tokens& sequence, size_t n) {
  std::set<int32_t> blocked;
  if (n == 0 || n > sequence.size()) return blocked;
  const auto prefix = sequence.end() - std::ptrdiff_t(n - 1);
  for (size_t at = 0; at + n <= sequence.size(); ++at) {
    const auto here = sequence.begin() + std::ptrdiff_t(at);
    if (std::equal(prefix, sequence.end(), here)) blocked.insert(here[std::ptrdiff_t(n - 1)]);
  }
  return blocked;
}

Status apply_mask(const Args& args, size_t input, size_t rows, size_t vocabulary,
                  std::vector<float>& scores) {
  if (!args.has(input)) return ok();
  const View& mask = args.in(input);
  const size_t lines = vocabulary == 0 ? 0 : mask.count / vocabulary;
  if (lines == 0 || mask.count % vocabulary != 0 || rows % lines != 0) {
    return fail("SDX-R1120", "a mask of {} words does not fit a vocabulary of {}", mask.count,
                vocabulary);
  }
  for (size_t row = 0; row < rows; ++row) {
    const int32_t* line = mask.data<int32_t>() + row / (rows / lines) * vocabulary;
    for (size_t i = 0; i < vocabulary; ++i) {
      if (line[i] == 0) scores[row * vocabulary + i] = kNever;
    }
  }
  return ok();
}

}  // namespace

Status adjust(const Generation& a, const Args& args, const Asked& asked, size_t masks,
              const Decoding& decoding, std::vector<float>& scores) {
  const size_t rows = decoding.rows(), vocabulary = decoding.vocabulary();
  const auto known = [&](int32_t id) { return id >= 0 && size_t(id) < vocabulary; };
  for (size_t row = 0; row < rows; ++row) {
    float* of_row = scores.data() + row * vocabulary;
    const Tokens& sequence = decoding.sequences()[row];
    if (asked.repetition_penalty != 1) {
      for (const int32_t id : std::set<int32_t>(sequence.begin(), sequence.end())) {
        if (!known(id)) continue;
        of_row[id] = of_row[id] < 0 ? of_row[id] * asked.repetition_penalty
                                    : of_row[id] / asked.repetition_penalty;
      }
    }
    for (const int32_t id : repeating(sequence, size_t(a.no_repeat))) {
      if (known(id)) of_row[id] = kNever;
    }
  }
  SDX_TRY(apply_mask(args, masks, rows, vocabulary, scores));
  if (decoding.length() == asked.length) {
    SDX_TRY(apply_mask(args, masks + 1, rows, vocabulary, scores));
  }
  for (size_t row = 0; row < rows; ++row) {
    if (decoding.length() < asked.least && known(a.eos))
      scores[row * vocabulary + size_t(a.eos)] = kNever;
  }
  if (a.temperature != 1) {
    for (float& score : scores) score /= a.temperature;
  }
  return ok();
}

}  // namespace sdx::ops::microsoft

namespace sdx::ops {

NamedBodies bodies_of_generation(const void* resolved) {
  NamedBodies bodies;
  const auto& a = *static_cast<const microsoft::Generation*>(resolved);
  bodies.emplace_back("decoder", a.decoder.get());
  if (a.encoder) bodies.emplace_back("encoder", a.encoder.get());
  if (a.first) bodies.emplace_back("init_decoder", a.first.get());
  return bodies;
}

}  // namespace sdx::ops
