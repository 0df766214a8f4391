// A decoder behind an encoder, as BeamSearch has it for text (T5) and speech (Whisper).
//
// The encoder runs once, on the batch; what it gives is repeated for each beam:
//   text    (ids, mask, start ids) -> (logits, hidden states, self states, cross states)
//           or (ids, mask) -> (cross states)
//   speech  (features, first ids) -> (logits, hidden states, self states, cross states)
// States are pairs of keys and values per layer, [rows, heads, length, size]. The decoder takes
// (input_ids[, ids][, mask][, hidden states], self states, cross states), with ids and mask for
// text alone, and gives (logits, self states). Its input_ids are the last token of each row, or
// all tokens so far where their number is left open.
#include <algorithm>
#include <utility>

#include "ops/microsoft/generation/generation.h"

namespace sdx::ops::microsoft {
namespace {

constexpr size_t kStatesPerLayer = 4;  // keys and values, of itself and of the encoder

bool is_ids(const Fact& fact) { return fact.type == DType::i32; }
bool is_state(const Fact& fact) { return fact.has_rank() && fact.rank() == 4; }

// Whether the encoder has the decoder's first call in it.
bool has_logits(const Generation& a) {
  return a.encoder->outputs().size() == 2 + 2 * (a.decoder->outputs().size() - 1);
}

Result<BodyPtr> typed(const Node& node, const Facts& in, std::string_view name) {
  if (!node.has(name)) return fail("SDX-T1121", "there is no {}", name);
  const BodySource& graph = source(node, name);
  SDX_ASSIGN(BodyPtr body, graph.type({}, captured(node, in)));
  // Sizes that the subgraph gives one name need not be equal: exporters name the length of the
  // tokens and that of the past alike, and onnxruntime does not compare them.
  const Facts& declared = body->inputs();
  Facts loose(declared.begin(), declared.begin() + std::ptrdiff_t(graph.inputs()));
  for (size_t i = 0; i < loose.size(); ++i) {
    for (size_t axis = 0; loose[i].has_rank() && axis < loose[i].rank(); ++axis) {
      Dim& dim = (*loose[i].shape)[axis];
      if (!dim.is_const()) dim = Dim::symbol(fmt::format("?{}.{}.{}", name, i, axis));
    }
  }
  if (Result<BodyPtr> freed = graph.type(loose, captured(node, in))) body = *std::move(freed);
  SDX_TRY(gives_tensors(*body, name));
  return body;
}

// The decoder's inputs between input_ids and its states, checked.
Status check_decoder(const Generation& a, size_t inputs) {
  const Facts& in = a.decoder->inputs();
  const auto wrong = [&] {
    std::string found;
    for (size_t i = 0; i < inputs; ++i) found += (i == 0 ? "" : ", ") + in[i].text();
    return fail("SDX-T1121",
                "decoder takes ({}) and gives {} tensors; expected input_ids{}, hidden states or "
                "not, 4 states per layer, and logits and 2 states per layer",
                found, a.decoder->outputs().size(),
                a.model == Generation::Model::translation ? ", encoder ids or not, mask" : "");
  };
  const size_t states = inputs - a.first_past, layers = states / kStatesPerLayer;
  if (layers == 0 || states % kStatesPerLayer != 0 || a.first_past == 0 || !is_ids(in[0]))
    return wrong();
  if (!in[0].has_rank() || in[0].rank() != 2 || a.decoder->outputs().size() != 1 + 2 * layers)
    return wrong();
  size_t at = 1;
  while (at < a.first_past && is_ids(in[at])) ++at;
  const size_t ids = at - 1, hidden = a.first_past - at;
  const bool text = a.model == Generation::Model::translation;
  if (hidden > 1 || (text ? ids != 1 && ids != 2 : ids != 0)) return wrong();
  const size_t given = a.encoder->outputs().size();
  const bool cross_only = text && given == 2 * layers && hidden == 0;
  if (!cross_only && given != 2 + kStatesPerLayer * layers) {
    return fail("SDX-T1121", "encoder gives {} tensors for a decoder of {} layers; expected {}",
                given, layers, 2 + kStatesPerLayer * layers);
  }
  return ok();
}

class Encoded final : public Decoding {
 public:
  Encoded(const Generation& a, const Args& args, const Asked& asked)
      : Decoding(a, args), beams_(asked.beams) {
    for (size_t row = 0; row < asked.batch * beams_; ++row) of_row_.push_back(row / beams_);
  }

  Status start(const Asked& asked, size_t mask_input) {
    std::vector<Value> feeds{args_.value(0)};
    if (a_.model == Generation::Model::translation) {
      SDX_ASSIGN(Tensor mask, mask_of(asked, mask_input));
      feeds.emplace_back(std::move(mask));
    }
    SDX_ASSIGN(Tensor first, first_ids(asked));
    const auto* tokens = first.data<int32_t>();
    for (const size_t of : of_row_) {
      const auto* begin = tokens + of * asked.length;
      sequences_.emplace_back(begin, begin + asked.length);
    }
    const size_t formal = a_.encoder->inputs().size() - a_.captured;
    if (feeds.size() < formal) feeds.emplace_back(std::move(first));
    const std::vector<Value> given = feeds;
    add_captured(feeds);
    SDX_ASSIGN(std::vector<Value> results, bodies(args_).run_body(*a_.encoder, feeds));
    return take_encoded(given, std::move(results));
  }

  Result<std::vector<float>> run() override {
    if (!first_.empty()) return std::exchange(first_, {});
    std::vector<Value> feeds{next_ids()};
    feeds.insert(feeds.end(), beside_.begin(), beside_.end());
    feeds.insert(feeds.end(), self_.begin(), self_.end());
    feeds.insert(feeds.end(), cross_.begin(), cross_.end());
    add_captured(feeds);
    SDX_ASSIGN(std::vector<Value> results, bodies(args_).run_body(*a_.decoder, feeds));
    SDX_ASSIGN(std::vector<float> last, last_of(results[0].tensor(), 1));
    ++calls_;
    for (size_t i = 1; i < results.size(); ++i) {
      SDX_TRY(has_rows(results[i].tensor(), rows(), "a state of the decoder"));
      self_[i - 1] = results[i];
    }
    return last;
  }

  void advance(const Tokens& tokens, const std::vector<size_t>& from) override {
    append(tokens, from);
    if (goes_straight_on(from)) return;
    for (Value& state : self_) state = picked(state.tensor(), 0, from);
  }

 private:
  static Status has_rows(const Tensor& tensor, size_t rows, std::string_view what) {
    if (tensor.rank() > 0 && size_t(tensor.dims()[0]) == rows) return ok();
    return fail("SDX-R1121", "{} is {}; expected {} rows", what, to_string(tensor.dims()), rows);
  }

  void add_captured(std::vector<Value>& feeds) const {
    for (size_t i = 0; i < a_.captured; ++i) feeds.push_back(args_.value(a_.formal + i));
  }

  // 0 for ids that pad at the start of a row, unless a mask is given.
  Result<Tensor> mask_of(const Asked& asked, size_t mask_input) const {
    const View& ids = args_.in(0);
    const auto length = size_t(ids.dims[1]);
    Tensor mask = matrix(asked.batch, length);
    if (args_.has(mask_input)) {
      const View& given = args_.in(mask_input);
      if (given.count != ids.count || given.type != DType::i32)
        return fail("SDX-R1120", "attention_mask does not have the shape of input_ids");
      std::copy_n(given.data<int32_t>(), given.count, mask.data<int32_t>());
      return mask;
    }
    for (size_t row = 0; row < asked.batch; ++row) {
      bool begun = false;
      for (size_t i = row * length; i < (row + 1) * length; ++i) {
        begun = begun || ids.data<int32_t>()[i] != a_.pad;
        mask.data<int32_t>()[i] = begun ? 1 : 0;
      }
    }
    return mask;
  }

  // What each sequence starts with: [batch, length].
  Result<Tensor> first_ids(const Asked& asked) const {
    Tensor ids = matrix(asked.batch, asked.length);
    if (a_.model == Generation::Model::speech && args_.has(kDecoderIds)) {
      std::copy_n(args_.in(kDecoderIds).data<int32_t>(), ids.count(), ids.data<int32_t>());
      return ids;
    }
    if (a_.start < 0)
      return fail("SDX-R1120", "there is no decoder_start_token_id to start sequences with");
    std::fill_n(ids.data<int32_t>(), ids.count(), a_.start);
    return ids;
  }

  // What the encoder was given and gave, for each beam.
  Status take_encoded(const std::vector<Value>& given, std::vector<Value> results) {
    const size_t batch = rows() / beams_;
    const auto repeated = [&](const Value& value) {
      return beams_ == 1 ? value : Value(picked(value.tensor(), 0, of_row_));
    };
    for (const Value& result : results)
      SDX_TRY(has_rows(result.tensor(), batch, "what the encoder gives"));
    // Of ids and mask the decoder takes both or the mask.
    const Facts& in = a_.decoder->inputs();
    size_t ids = 0;
    while (1 + ids < a_.first_past && is_ids(in[1 + ids])) ++ids;
    for (size_t i = 2 - ids; ids > 0 && i < 2; ++i) beside_.push_back(repeated(given[i]));
    if (ids + 1 < a_.first_past) beside_.push_back(repeated(results[1]));
    const size_t states = a_.decoder->outputs().size() - 1;
    if (has_logits(a_)) {
      SDX_ASSIGN(first_, last_of(results[0].tensor(), beams_));
      for (size_t i = 2; i < 2 + states; ++i) self_.push_back(repeated(results[i]));
      for (size_t i = 2 + states; i < results.size(); ++i) cross_.push_back(repeated(results[i]));
      return ok();
    }
    for (const Value& result : results) {
      const Tensor& cross = result.tensor();
      if (cross.rank() != 4) {
        return fail("SDX-R1121", "what the encoder gives is {}; expected 4 dimensions",
                    to_string(cross.dims()));
      }
      self_.emplace_back(
          Tensor::make(cross.type(), {int64_t(rows()), cross.dims()[1], 0, cross.dims()[3]}));
      cross_.push_back(repeated(result));
    }
    return ok();
  }

  // The last tokens; all of them where the decoder takes them or knows none yet.
  Tensor next_ids() const {
    const bool all = a_.whole_sequence || (calls_ == 0 && !has_logits(a_));
    const size_t count = all ? length() : 1;
    Tensor ids = matrix(rows(), count);
    for (size_t row = 0; row < rows(); ++row) {
      const Tokens& tokens = sequences_[row];
      std::copy(tokens.end() - std::ptrdiff_t(count), tokens.end(),
                ids.data<int32_t>() + row * count);
    }
    return ids;
  }

  const size_t beams_;
  std::vector<size_t> of_row_;  // by row: its place in the batch
  std::vector<float> first_;    // scores that the encoder gave
  std::vector<Value> beside_, self_, cross_;
  size_t calls_ = 0;
};

}  // namespace

Result<Generation> read_encoded(const Node& node, const Facts& in) {
  SDX_ASSIGN(Generation a, read_common(node, in.size()));
  const int64_t type = node.i("model_type");
  if (type != 1 && type != 2) {
    return fail("SDX-T1120", "com.microsoft.{} has no model_type {}; expected 0, 1 or 2",
                node.op->name, type);
  }
  a.model = type == 1 ? Generation::Model::translation : Generation::Model::speech;
  SDX_ASSIGN(a.encoder, typed(node, in, "encoder"));
  SDX_ASSIGN(a.decoder, typed(node, in, "decoder"));
  const size_t taken = source(node, "encoder").inputs();
  const bool text = a.model == Generation::Model::translation;
  if (taken != 2 && !(text && taken == 3)) {
    return fail("SDX-T1121", "encoder takes {} inputs; expected {}", taken,
                text ? "ids, mask and start ids, or ids and mask" : "features and first ids");
  }
  const size_t inputs = source(node, "decoder").inputs();
  while (a.first_past < inputs && !is_state(a.decoder->inputs()[a.first_past])) ++a.first_past;
  SDX_TRY(check_decoder(a, inputs));
  if (text && (taken == 3) != has_logits(a)) {
    return fail("SDX-T1121", "encoder takes {} inputs and gives {} tensors", taken,
                a.encoder->outputs().size());
  }
  const Dim& width = a.decoder->inputs()[0].dim(1);
  a.whole_sequence = !width.is_const() || width.value() != 1;
  return a;
}

Result<std::unique_ptr<Decoding>> start_encoded(const Generation& a, const Args& args,
                                                const Asked& asked, size_t mask_input) {
  auto made = std::make_unique<Encoded>(a, args, asked);
  SDX_TRY(made->start(asked, mask_input));
  return std::unique_ptr<Decoding>(std::move(made));
}

}  // namespace sdx::ops::microsoft
