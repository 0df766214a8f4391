// GreedySearch: the most probable token each time. Sampling: one drawn by its probability.
#include <algorithm>
#include <numeric>

#include "kernel/lanes.h"
#include "kernel/math/math.h"
#include "ops/microsoft/generation/generation.h"

namespace sdx::ops::microsoft {
namespace {

constexpr Version kGreedyHistory[] = {
    {1,
     "(input_ids: I, max_length: I, min_length?: I, repetition_penalty?: T, vocab_mask?: I, "
     "prefix_vocab_mask?: I, attention_mask?: I) -> (sequences: I) {decoder!: graph, "
     "decoder_start_token_id: int = -1, encoder: graph, eos_token_id!: int, init_decoder: "
     "graph, model_type: int = 0, no_repeat_ngram_size: int = 0, pad_token_id!: int, "
     "vocab_size: int = -1} T in f32 I in i32"}};
constexpr Version kSamplingHistory[] = {
    {1,
     "(input_ids: I, max_length: I, min_length?: I, repetition_penalty?: T, vocab_mask?: I, "
     "prefix_vocab_mask?: I, attention_mask?: I, presence_mask?: I, seed?: I) -> (sequences: "
     "I, filtered_logits?: T) {custom: int = 0, decoder!: graph, decoder_start_token_id: int "
     "= -1, encoder: graph, eos_token_id!: int, filter_value: float = -1e20, init_decoder: "
     "graph, min_tokens_to_keep: int = 0, model_type: int = 0, no_repeat_ngram_size: int = "
     "0, pad_token_id!: int, presence_penalty: float = 0.0, temperature: float = 1.0, top_p: "
     "float = 0.0, vocab_size: int = -1} T in f32 I in i32"}};
constexpr size_t kRepetition = 3, kMasks = 4, kMask = 6, kPresence = 7, kSeed = 8;

Result<Facts> infer(const Generation&, const Facts& in) {
  const Dim batch = in[0].has_rank() && in[0].rank() == 2 ? in[0].dim(0) : Dim::unknown();
  return Facts{Fact::tensor(DType::i32, {batch, Dim::unknown()}),
               Fact::tensor(DType::f32, {batch, Dim::unknown()})};
}

// The loop of both: `next(scores, decoding)` gives a token per row. A row that has ended is padded.
template <class Next>
Status generate(const Generation& a, Args& args, const Next& next) {
  SDX_ASSIGN(const Asked asked, read_asked(a, args, 1, kRepetition));
  SDX_ASSIGN(const std::unique_ptr<Decoding> start, start_decoding(a, args, asked, kMask));
  Decoding& decoding = *start;
  std::vector<bool> ended(asked.batch, false);
  std::vector<size_t> from(asked.batch);
  std::iota(from.begin(), from.end(), size_t{0});
  while (decoding.length() < asked.most) {
    SDX_ASSIGN(std::vector<float> scores, decoding.run());
    SDX_TRY(adjust(a, args, asked, kMasks, decoding, scores));
    SDX_ASSIGN(Tokens tokens, next(scores, decoding));
    for (size_t row = 0; row < tokens.size(); ++row) {
      if (ended[row] || tokens[row] == a.eos) {
        ended[row] = true;
        tokens[row] = a.pad;
      }
    }
    decoding.advance(tokens, from);
    if (std::all_of(ended.begin(), ended.end(), [](bool end) { return end; })) break;
  }
  Tensor sequences = Tensor::make(DType::i32, {int64_t(asked.batch), int64_t(asked.most)});
  std::fill_n(sequences.data<int32_t>(), sequences.count(), a.pad);
  for (size_t row = 0; row < asked.batch; ++row) {
    const Tokens& tokens = decoding.sequences()[row];
    std::copy(tokens.begin(), tokens.end(), sequences.data<int32_t>() + row * asked.most);
  }
  args.give(0, std::move(sequences));
  return ok();
}

Status greedy(const Generation& a, Args& all) {
  Args args = own_inputs(a, all);
  return generate(a, args, [](const std::vector<float>& scores, const Decoding& decoding) {
    Tokens tokens;
    const size_t vocabulary = decoding.vocabulary();
    for (size_t row = 0; row < decoding.rows(); ++row) {
      const float* first = scores.data() + row * vocabulary;
      tokens.push_back(int32_t(std::max_element(first, first + vocabulary) - first));
    }
    return Result<Tokens>(std::move(tokens));
  });
}

// exp(x - m) / sum, with m = max x.
std::vector<float> softmax(const float* x, const std::vector<size_t>& order) {
  float most = -std::numeric_limits<float>::infinity();
  for (const size_t i : order) most = std::max(most, x[i]);
  std::vector<float> e;
  for (const size_t i : order) e.push_back(math::exp(x[i] - most));
  const float sum = lane_sum<float>(e.size(), [&](size_t i) { return e[i]; });
  for (float& value : e) value /= sum;
  return e;
}

// Scores outside of the smallest set of the most probable tokens whose probabilities reach top_p
// become filter_value; at least keep_at_least stay.
void keep_top(const Generation& a, float* scores, size_t vocabulary) {
  std::vector<size_t> order(vocabulary);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t x, size_t y) { return scores[x] > scores[y]; });
  if (a.ascending) std::reverse(order.begin(), order.end());
  const std::vector<float> share = softmax(scores, order);
  const size_t least = size_t(std::max<int64_t>(a.keep_at_least, 1));
  float sum = 0;
  std::vector<size_t> gone;
  for (size_t i = 0; i < vocabulary; ++i) {
    // Descending, a token goes if those before it reach top_p; ascending, if it and those before it
    // do not exceed what top_p leaves over.
    const float before = sum;
    sum += share[i];
    const bool outside = a.ascending ? sum <= 1 - a.top_p : i > 0 && before > a.top_p;
    const size_t rank = a.ascending ? vocabulary - 1 - i : i;
    if (outside && rank >= least) gone.push_back(order[i]);
  }
  for (const size_t token : gone) scores[token] = a.filter_value;
}

Status sample(const Generation& a, Args& all) {
  Args args = own_inputs(a, all);
  SDX_ASSIGN(const double seed, number(args, kSeed, "seed", 0));
  uint64_t state = uint64_t(int64_t(seed));
  const auto draw = [&] {  // splitmix64, the upper 24 bits as a share of 1
    uint64_t z = (state += 0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return float((z ^ z >> 31) >> 40) / float(1 << 24);
  };
  std::vector<float> filtered;
  size_t width = 0;
  SDX_TRY(generate(
      a, args, [&](std::vector<float>& scores, const Decoding& decoding) -> Result<Tokens> {
        Tokens tokens;
        width = decoding.vocabulary();
        if (args.has(kPresence) && args.in(kPresence).count != scores.size()) {
          return fail("SDX-R1120", "presence_mask has {} elements, expected {}",
                      args.in(kPresence).count, scores.size());
        }
        std::vector<size_t> order(width);
        std::iota(order.begin(), order.end(), size_t{0});
        for (size_t row = 0; row < decoding.rows(); ++row) {
          float* of_row = scores.data() + row * width;
          for (size_t i = 0; args.has(kPresence) && i < width; ++i) {
            of_row[i] -=
                float(args.in(kPresence).data<int32_t>()[row * width + i]) * a.presence_penalty;
          }
          if (a.top_p > 0) keep_top(a, of_row, width);
          const std::vector<float> share = softmax(of_row, order);
          const float at = draw();
          float sum = 0;
          size_t token = 0;
          for (; token + 1 < width; ++token) {
            sum += share[token];
            if (at < sum) break;
          }
          tokens.push_back(int32_t(token));
        }
        filtered = scores;
        return tokens;
      }));
  if (a.second) {
    const size_t rows = width == 0 ? 0 : filtered.size() / width;
    args.give(1, Tensor::of<float>({int64_t(rows), int64_t(width)}, filtered));
  }
  return ok();
}

constexpr OpOf<Generation> kGreedy{
    .name = "GreedySearch",
    .doc = "The sequence of the most probable tokens that a decoder graph gives.",
    .history = kGreedyHistory,
    .read = read_generation,
    .infer = infer,
    .reference = greedy,
    .domain = "com.microsoft",
    .whole_values = true,
};
constexpr OpOf<Generation> kSampling{
    .name = "Sampling",
    .doc = "A sequence of tokens drawn by the probabilities that a decoder graph gives.",
    .history = kSamplingHistory,
    .read = read_generation,
    .infer = infer,
    .reference = sample,
    .domain = "com.microsoft",
    .deterministic = false,
    .whole_values = true,
};

}  // namespace

extern const Op greedy_search = erase<kGreedy>();
extern const Op sampling = erase<kSampling>();

}  // namespace sdx::ops::microsoft
