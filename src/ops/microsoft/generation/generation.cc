#include "ops/microsoft/generation/generation.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "ops/control/bodies_of.h"

namespace sdx::ops::microsoft {

Result<Generation> read_generation(const Node& node, const Facts& in) {
  Generation a;
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
  a.formal = node.formal_inputs;
  a.eos = int32_t(node.i("eos_token_id"));
  a.pad = int32_t(node.i("pad_token_id"));
  if (a.eos < 0 || a.pad < 0) return fail("SDX-T1121", "eos_token_id and pad_token_id are ids");
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

Result<double> number(const Args& args, size_t input, std::string_view name, double fallback) {
  if (!args.has(input)) return fallback;
  const View& view = args.in(input);
  if (view.count != 1) return fail("SDX-R1120", "{} has {} elements, expected 1", name, view.count);
  return get_f64(view.type, view.raw, 0);
}

Result<Asked> read_asked(const Args& args, size_t beams, size_t penalty_input) {
  constexpr double kMostLength = 4096;
  Asked asked;
  const View& ids = args.in(0);
  if (ids.dims.size() != 2 || ids.type != DType::i32 || ids.dims[1] == 0) {
    return fail("SDX-R1120", "input_ids is {}{}; expected 32-bit integers [batch, length]",
                short_name(ids.type), to_string(Dims(ids.dims.begin(), ids.dims.end())));
  }
  asked.batch = size_t(ids.dims[0]);
  asked.length = size_t(ids.dims[1]);
  asked.beams = beams;
  SDX_ASSIGN(const double most, number(args, 1, "max_length", kMostLength));
  SDX_ASSIGN(const double least, number(args, 2, "min_length", 0));
  SDX_ASSIGN(const double penalty, number(args, penalty_input, "repetition_penalty", 1));
  if (most <= double(asked.length) || most > kMostLength || least >= most || least < 0) {
    return fail("SDX-R1120",
                "max_length is {} and min_length {}; expected more than the prompt's {} tokens, at "
                "most {}, and less than max_length",
                most, least, asked.length, kMostLength);
  }
  if (!(penalty > 0))
    return fail("SDX-R1120", "repetition_penalty is {}; expected more than 0", penalty);
  asked.most = size_t(most);
  asked.least = size_t(least);
  asked.repetition_penalty = float(penalty);
  return asked;
}

namespace {

Tensor matrix(size_t rows, size_t columns) {
  return Tensor::make(DType::i32, {int64_t(rows), int64_t(columns)});
}

// Rows of a state [2, rows, heads, length, size], taken from other rows.
Tensor picked(const Tensor& present, const std::vector<size_t>& from) {
  Dims dims = present.dims();
  const size_t old_rows = size_t(dims[1]);
  dims[1] = int64_t(from.size());
  Tensor past = Tensor::make(present.type(), dims);
  const size_t bytes = old_rows == 0 ? 0 : present.bytes() / (2 * old_rows);
  const auto* source = static_cast<const std::byte*>(present.raw());
  auto* target = static_cast<std::byte*>(past.raw());
  for (size_t half = 0; half < 2; ++half) {
    for (size_t row = 0; row < from.size(); ++row) {
      std::memcpy(target + (half * from.size() + row) * bytes,
                  source + (half * old_rows + from[row]) * bytes, bytes);
    }
  }
  return past;
}

}  // namespace

// A token that pads has the mask 0, unless a mask is given, and the position 0; the others count
// up.
Result<Decoding> Decoding::start(const Generation& a, const Args& args, const Asked& asked,
                                 size_t mask_input) {
  Decoding made(a, args);
  const size_t rows = asked.batch * asked.beams, length = asked.length;
  Tensor ids = matrix(rows, length), positions = matrix(rows, length), mask = matrix(rows, length);
  const bool masked = args.has(mask_input);
  if (masked && (args.in(mask_input).count != asked.batch * length ||
                 args.in(mask_input).type != DType::i32)) {
    return fail("SDX-R1120", "attention_mask does not have the shape of input_ids");
  }
  for (size_t row = 0; row < rows; ++row) {
    const size_t at = row / asked.beams * length;
    int32_t next = 0;
    for (size_t i = 0; i < length; ++i) {
      const int32_t id = args.in(0).data<int32_t>()[at + i];
      const bool pads = id == a.pad;
      ids.data<int32_t>()[row * length + i] = id;
      mask.data<int32_t>()[row * length + i] = masked ? args.in(mask_input).data<int32_t>()[at + i]
                                               : pads ? 0
                                                      : 1;
      positions.data<int32_t>()[row * length + i] = pads ? 0 : next++;
    }
    made.positions_.push_back(next);
    const auto* first = ids.data<int32_t>() + row * length;
    made.sequences_.emplace_back(first, first + length);
  }
  made.feeds_ = {std::move(ids), std::move(positions), std::move(mask)};
  const Body& body = a.first ? *a.first : *a.decoder;
  for (size_t i = 3; i < body.outputs().size() + 2; ++i) {
    const Fact& past = body.inputs()[i];
    made.feeds_.emplace_back(
        Tensor::make(past.type, {2, int64_t(rows), past.dim(2).value(), 0, past.dim(4).value()}));
  }
  for (size_t i = a.formal; i < args.ins.size(); ++i) made.feeds_.push_back(args.value(i));
  return made;
}

Result<std::vector<float>> Decoding::run() {
  const Body& body = calls_++ == 0 && a_.first ? *a_.first : *a_.decoder;
  SDX_ASSIGN(std::vector<Value> results, bodies(args_).run_body(body, feeds_));
  const Tensor& logits = results[0].tensor();
  if (logits.rank() != 3 || size_t(logits.dims()[0]) != rows() || logits.dims()[1] < 1) {
    return fail("SDX-R1121", "the decoder's logits are {}; expected [{}, length, vocabulary]",
                to_string(logits.dims()), rows());
  }
  const auto width = size_t(logits.dims()[2]), length = size_t(logits.dims()[1]);
  vocabulary_ = a_.vocabulary <= 0 ? width : size_t(a_.vocabulary);
  if (vocabulary_ > width || vocabulary_ == 0) {
    return fail("SDX-R1121", "vocab_size is {}, the decoder's logits are {} wide", vocabulary_,
                width);
  }
  std::vector<float> last(rows() * vocabulary_);
  for (size_t row = 0; row < rows(); ++row) {
    const size_t at = (row * length + length - 1) * width;
    for (size_t i = 0; i < vocabulary_; ++i) {
      last[row * vocabulary_ + i] = float(get_f64(logits.type(), logits.raw(), at + i));
    }
  }
  present_.clear();
  for (size_t i = 1; i < results.size(); ++i) {
    const Tensor& state = results[i].tensor();
    if (state.rank() != 5 || state.dims()[0] != 2 || size_t(state.dims()[1]) != rows()) {
      return fail("SDX-R1121", "present state {} is {}; expected [2, {}, heads, length, size]",
                  i - 1, to_string(state.dims()), rows());
    }
    present_.push_back(state);
  }
  return last;
}

void Decoding::advance(const Tokens& tokens, const std::vector<size_t>& from) {
  const Tensor old_mask = feeds_[2].tensor();
  const auto length = size_t(old_mask.dims()[1]);
  Tensor ids = matrix(rows(), 1), positions = matrix(rows(), 1), mask = matrix(rows(), length + 1);
  std::vector<Tokens> sequences;
  for (size_t row = 0; row < rows(); ++row) {
    ids.data<int32_t>()[row] = tokens[row];
    positions.data<int32_t>()[row] = positions_[row]++;
    // Rows that a row goes on from belong to the same prompt, so their masks are equal.
    std::copy_n(old_mask.data<int32_t>() + row * length, length,
                mask.data<int32_t>() + row * (length + 1));
    mask.data<int32_t>()[row * (length + 1) + length] = 1;
    sequences.push_back(sequences_[from[row]]);
    sequences.back().push_back(tokens[row]);
  }
  sequences_ = std::move(sequences);
  feeds_[0] = std::move(ids);
  feeds_[1] = std::move(positions);
  feeds_[2] = std::move(mask);
  bool same = true;
  for (size_t row = 0; row < from.size(); ++row) same = same && from[row] == row;
  for (size_t i = 0; i < present_.size(); ++i) {
    feeds_[3 + i] = same ? present_[i] : picked(present_[i], from);
  }
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
  if (a.first) bodies.emplace_back("init_decoder", a.first.get());
  return bodies;
}

}  // namespace sdx::ops
