// BeamSearch: the best sequences by the sum of the logarithms of their tokens' probabilities.
#include <algorithm>
#include <numeric>

#include "kernel/lanes.h"
#include "kernel/math/math.h"
#include "ops/microsoft/generation/generation.h"

namespace sdx::ops::microsoft {
namespace {

constexpr Version kHistory[] = {
    {1,
     "(input_ids: F, max_length: I, min_length?: I, num_beams: I, num_return_sequences: I, "
     "length_penalty?: T, repetition_penalty?: T, vocab_mask?: M, prefix_vocab_mask?: M, "
     "attention_mask?: I, decoder_input_ids?: I, logits_processor?: I) -> (sequences: I, "
     "sequences_scores?: T, scores?: T) {decoder!: graph, decoder_start_token_id: int = -1, "
     "early_stopping: int = 0, encoder: graph, eos_token_id!: int, init_decoder: graph, "
     "model_type: int = 0, no_repeat_ngram_size: int = 0, pad_token_id!: int, vocab_size: "
     "int = -1} T in f32 f16 F in f32 i32 f16 I in i32 M in i32"}};
constexpr size_t kBeams = 3, kReturned = 4, kPenalty = 5, kRepetition = 6, kMasks = 7, kMask = 9,
                 kProcessor = 11;

Result<Generation> read(const Node& node, const Facts& in) {
  return node.i("model_type") == 0 ? read_generation(node, in) : read_encoded(node, in);
}

Result<Facts> infer(const Generation&, const Facts& in) {
  const DType scores = in.size() > kPenalty && in[kPenalty].present()         ? in[kPenalty].type
                       : in.size() > kRepetition && in[kRepetition].present() ? in[kRepetition].type
                                                                              : DType::f32;
  const Dim batch = in[0].has_rank() && in[0].rank() > 0 ? in[0].dim(0) : Dim::unknown();
  return Facts{Fact::tensor(DType::i32, {batch, Dim::unknown(), Dim::unknown()}),
               Fact::tensor(scores, {batch, Dim::unknown()}),
               Fact::tensor(scores, {Dim::unknown(), batch, Dim::unknown(), Dim::unknown()})};
}

struct Hypothesis {
  Tokens tokens;
  float score;  // sum / length ^ penalty
};

// The best finished sequences of one prompt, the best first; of equal ones the older stays ahead.
struct Finished {
  std::vector<Hypothesis> best;
  bool done = false;

  static float score(float sum, size_t length, float penalty) {
    return sum / math::pow(float(length), penalty);
  }
  void add(const Tokens& tokens, float sum, float penalty, size_t most) {
    const float of = score(sum, tokens.size(), penalty);
    if (best.size() == most) {
      if (of <= best.back().score) return;
      best.pop_back();
    }
    const auto at = std::find_if(best.begin(), best.end(),
                                 [&](const Hypothesis& other) { return of > other.score; });
    best.insert(at, {tokens, of});
  }
};

// y = (x - m) - log sum exp(x - m), with m = max x.
void log_softmax(float* row, size_t count) {
  float most = -std::numeric_limits<float>::infinity();
  for (size_t i = 0; i < count; ++i) most = row[i] > most || row[i] != row[i] ? row[i] : most;
  const float sum = lane_sum<float>(count, [&](size_t i) { return math::exp(row[i] - most); });
  const float log_sum = math::log(sum);
  for (size_t i = 0; i < count; ++i) row[i] = (row[i] - most) - log_sum;
}

// The k greatest of scores[0, count), the first of equal ones first.
std::vector<size_t> greatest(const float* scores, size_t count, size_t k) {
  std::vector<size_t> order(count);
  std::iota(order.begin(), order.end(), size_t{0});
  k = std::min(k, count);
  std::partial_sort(order.begin(), order.begin() + std::ptrdiff_t(k), order.end(),
                    [&](size_t a, size_t b) {
                      return scores[a] > scores[b] || (!(scores[b] > scores[a]) && a < b);
                    });
  order.resize(k);
  return order;
}

class Search {
 public:
  Search(const Generation& a, const Args& args, const Asked& asked, float penalty)
      : a_(a), args_(args), asked_(asked), penalty_(penalty), finished_(asked.batch) {
    // All beams of a prompt start alike: the first alone counts, so that the next ones differ.
    sums_.assign(asked.batch * asked.beams, -1e9F);
    for (size_t b = 0; b < asked.batch; ++b) sums_[b * asked.beams] = 0;
  }

  Status run() {
    SDX_ASSIGN(const std::unique_ptr<Decoding> start, start_decoding(a_, args_, asked_, kMask));
    Decoding& decoding = *start;
    while (decoding.length() < asked_.most) {
      SDX_ASSIGN(std::vector<float> scores, decoding.run());
      const size_t vocabulary = decoding.vocabulary();
      for (size_t row = 0; row < decoding.rows(); ++row)
        log_softmax(scores.data() + row * vocabulary, vocabulary);
      SDX_TRY(adjust(a_, args_, asked_, kMasks, decoding, scores));
      for (size_t i = 0; i < scores.size(); ++i) scores[i] += sums_[i / vocabulary];
      if (a_.third) all_scores_.insert(all_scores_.end(), scores.begin(), scores.end());
      SDX_TRY(choose(decoding, scores));
      decoding.advance(tokens_, from_);
      if (std::all_of(finished_.begin(), finished_.end(), [](const Finished& f) { return f.done; }))
        break;
    }
    for (size_t b = 0; b < asked_.batch; ++b) {
      for (size_t beam = 0; beam < asked_.beams && !finished_[b].done; ++beam) {
        const size_t row = b * asked_.beams + beam;
        finished_[b].add(decoding.sequences()[row], sums_[row], penalty_, asked_.beams);
      }
    }
    vocabulary_ = decoding.vocabulary();
    return ok();
  }

  const std::vector<Finished>& finished() const { return finished_; }
  const std::vector<float>& all_scores() const { return all_scores_; }
  size_t vocabulary() const { return vocabulary_; }

 private:
  // Of twice as many candidates as beams, those that end are finished and the others go on.
  Status choose(const Decoding& decoding, const std::vector<float>& scores) {
    const size_t vocabulary = decoding.vocabulary(), beams = asked_.beams;
    tokens_.assign(decoding.rows(), a_.pad);
    from_.assign(decoding.rows(), 0);
    for (size_t b = 0; b < asked_.batch; ++b) {
      Finished& finished = finished_[b];
      if (finished.done) {
        for (size_t beam = 0; beam < beams; ++beam) sums_[b * beams + beam] = 0;
        continue;
      }
      const float* of_batch = scores.data() + b * beams * vocabulary;
      const auto candidates = greatest(of_batch, beams * vocabulary, 2 * beams);
      size_t taken = 0;
      std::vector<float> sums(beams);
      for (size_t j = 0; j < candidates.size() && taken < beams; ++j) {
        const size_t row = b * beams + candidates[j] / vocabulary;
        const auto token = int32_t(candidates[j] % vocabulary);
        const float sum = of_batch[candidates[j]];
        if (token == a_.eos) {
          if (j < beams) finished.add(decoding.sequences()[row], sum, penalty_, beams);
          continue;
        }
        sums[taken] = sum;
        tokens_[b * beams + taken] = token;
        from_[b * beams + taken] = row;
        ++taken;
      }
      if (taken < beams) {
        return fail("SDX-R1121", "a vocabulary of {} has no {} candidates for {} beams", vocabulary,
                    2 * beams, beams);
      }
      std::copy(sums.begin(), sums.end(), sums_.begin() + std::ptrdiff_t(b * beams));
      if (finished.best.size() < beams) continue;
      const float best = of_batch[candidates[0]];
      finished.done = a_.early_stopping || !(finished.best.back().score <
                                             Finished::score(best, decoding.length(), penalty_));
    }
    return ok();
  }

  const Generation& a_;
  const Args& args_;
  const Asked& asked_;
  const float penalty_;
  std::vector<Finished> finished_;  // by prompt
  std::vector<float> sums_;         // by row
  Tokens tokens_;
  std::vector<size_t> from_;
  std::vector<float> all_scores_;
  size_t vocabulary_ = 0;
};

Tensor of_type(DType type, const Dims& dims, const std::vector<float>& values) {
  Tensor made = Tensor::make(type, dims);
  for (size_t i = 0; i < made.count(); ++i)
    set_f64(type, made.raw(), i, i < values.size() ? double(values[i]) : 0);
  return made;
}

Status reference(const Generation& a, Args& all) {
  Args args = own_inputs(a, all);
  constexpr double kMostBeams = 128;
  SDX_ASSIGN(const double beams, number(args, kBeams, "num_beams", 1));
  SDX_ASSIGN(const double returned, number(args, kReturned, "num_return_sequences", 1));
  SDX_ASSIGN(const double penalty, number(args, kPenalty, "length_penalty", 1));
  if (!(beams >= 1 && beams <= kMostBeams && returned >= 1 && returned <= beams)) {
    return fail("SDX-R1120",
                "num_beams is {} and num_return_sequences {}; expected 1 to {} beams, and 1 to as "
                "many sequences",
                beams, returned, kMostBeams);
  }
  SDX_ASSIGN(const double processor, number(args, kProcessor, "logits_processor", 0));
  if (a.model == Generation::Model::speech && processor != 0)
    return fail("SDX-R1120", "logits_processor is {}; timestamps do not run here", processor);
  SDX_ASSIGN(const Asked asked, read_asked(a, args, size_t(beams), kRepetition));
  Search search(a, args, asked, float(penalty));
  SDX_TRY(search.run());
  const auto count = size_t(returned);
  Tensor sequences =
      Tensor::make(DType::i32, {int64_t(asked.batch), int64_t(count), int64_t(asked.most)});
  std::fill_n(sequences.data<int32_t>(), sequences.count(), a.pad);
  std::vector<float> scores;
  for (size_t b = 0; b < asked.batch; ++b) {
    for (size_t i = 0; i < count; ++i) {
      const Hypothesis& one = search.finished()[b].best[i];
      std::copy(one.tokens.begin(), one.tokens.end(),
                sequences.data<int32_t>() + (b * count + i) * asked.most);
      scores.push_back(one.score);
    }
  }
  args.give(0, std::move(sequences));
  const DType type = args.has(kPenalty)      ? args.in(kPenalty).type
                     : args.has(kRepetition) ? args.in(kRepetition).type
                                             : DType::f32;
  const auto batch = int64_t(asked.batch);
  if (a.second) args.give(1, of_type(type, {batch, int64_t(count)}, scores));
  if (a.third) {
    args.give(2, of_type(type,
                         {int64_t(asked.most - asked.length), batch, int64_t(asked.beams),
                          int64_t(search.vocabulary())},
                         search.all_scores()));
  }
  return ok();
}

constexpr OpOf<Generation> kBeamSearch{
    .name = "BeamSearch",
    .doc = "The most probable sequences that a decoder graph gives, by a beam of candidates.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .domain = "com.microsoft",
    .whole_values = true,
};

}  // namespace

extern const Op beam_search = erase<kBeamSearch>();

}  // namespace sdx::ops::microsoft
