// A decoder of the GPT form: (input_ids, position_ids, attention_mask, past_0, past_1 ...) ->
// (logits, present_0, present_1 ...), all ids 32-bit integers, a past [2, rows, heads, length,
// size]. The first call has the whole prompt and an empty past, each later one the token that was
// chosen and what the last call gave.
#include <algorithm>

#include "ops/microsoft/generation/generation.h"

namespace sdx::ops::microsoft {
namespace {

class Gpt final : public Decoding {
 public:
  Gpt(const Generation& a, const Args& args) : Decoding(a, args) {}
  Status start(const Asked& asked, size_t mask_input);
  Result<std::vector<float>> run() override;
  void advance(const Tokens& tokens, const std::vector<size_t>& from) override;

 private:
  std::vector<Value> feeds_;  // of the next call, then the captured wires
  std::vector<Tensor> present_;
  Tokens positions_;  // of the next token of each row
  size_t calls_ = 0;
};

// A token that pads has the mask 0, unless a mask is given, and the position 0; the others count
// up.
Status Gpt::start(const Asked& asked, size_t mask_input) {
  const Generation& a = a_;
  const Args& args = args_;
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
    positions_.push_back(next);
    const auto* first = ids.data<int32_t>() + row * length;
    sequences_.emplace_back(first, first + length);
  }
  feeds_ = {std::move(ids), std::move(positions), std::move(mask)};
  const Body& body = a.first ? *a.first : *a.decoder;
  for (size_t i = 3; i < body.outputs().size() + 2; ++i) {
    const Fact& past = body.inputs()[i];
    feeds_.emplace_back(
        Tensor::make(past.type, {2, int64_t(rows), past.dim(2).value(), 0, past.dim(4).value()}));
  }
  for (size_t i = 0; i < a.captured; ++i) feeds_.push_back(args.value(a.formal + i));
  return ok();
}

Result<std::vector<float>> Gpt::run() {
  const Body& body = calls_++ == 0 && a_.first ? *a_.first : *a_.decoder;
  SDX_ASSIGN(std::vector<Value> results, bodies(args_).run_body(body, feeds_));
  SDX_ASSIGN(std::vector<float> last, last_of(results[0].tensor(), 1));
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

void Gpt::advance(const Tokens& tokens, const std::vector<size_t>& from) {
  const Tensor old_mask = feeds_[2].tensor();
  const auto length = size_t(old_mask.dims()[1]);
  Tensor ids = matrix(rows(), 1), positions = matrix(rows(), 1), mask = matrix(rows(), length + 1);
  for (size_t row = 0; row < rows(); ++row) {
    ids.data<int32_t>()[row] = tokens[row];
    positions.data<int32_t>()[row] = positions_[row]++;
    // Rows that a row goes on from belong to the same prompt, so their masks are equal.
    std::copy_n(old_mask.data<int32_t>() + row * length, length,
                mask.data<int32_t>() + row * (length + 1));
    mask.data<int32_t>()[row * (length + 1) + length] = 1;
  }
  feeds_[0] = std::move(ids);
  feeds_[1] = std::move(positions);
  feeds_[2] = std::move(mask);
  const bool same = goes_straight_on(from);
  for (size_t i = 0; i < present_.size(); ++i) {
    feeds_[3 + i] = same ? present_[i] : picked(present_[i], 1, from);
  }
  append(tokens, from);
}

}  // namespace

Result<std::unique_ptr<Decoding>> start_gpt(const Generation& a, const Args& args,
                                            const Asked& asked, size_t mask_input) {
  auto made = std::make_unique<Gpt>(a, args);
  SDX_TRY(made->start(asked, mask_input));
  return std::unique_ptr<Decoding>(std::move(made));
}

}  // namespace sdx::ops::microsoft
