// Loops of generation over a decoder that is a table: the next token's logits follow from the last.
#include <gtest/gtest.h>

#include "api/engine.h"
#include "model/text.h"

namespace sdx {
namespace {

// Row t of the table: what follows token t. The state counts the tokens that were seen.
std::string model_text(const std::string& call, const std::string& inputs,
                       const std::string& outputs) {
  return R"(<ir_version: 10, opset_import: ["" : 21, "com.microsoft" : 1]>
search ()" +
         inputs + ") => (" + outputs + R"() {
  )" + call +
         R"(
})";
}

constexpr const char* kDecoder =
    R"(decoder = table (int32[R,S] ids, int32[R,S] positions, int32[R,L] mask, float[2,R,1,P,1] past)
    => (float[R,S,5] logits, float[2,R,1,T,1] present) {
      chain = Constant <value = float[5,5] {
        0.0, 2.0, 1.0, 0.0, 0.0,
        0.0, 0.0, 1.5, 1.0, 0.0,
        0.0, 0.5, 0.0, 2.0, 0.0,
        0.0, 0.0, 0.0, 0.0, 3.0,
        1.0, 1.0, 1.0, 1.0, 1.0}> ()
      logits = Gather (chain, ids)
      numbers = Cast <to = 1> (ids)
      to = Constant <value_ints = [1, -1, 1, 1]> ()
      axes = Constant <value_ints = [1, 3]> ()
      one = Unsqueeze (numbers, axes)
      zero = Constant <value_ints = [0]> ()
      half = Unsqueeze (one, zero)
      both = Concat <axis = 0> (half, half)
      present = Concat <axis = 3> (past, both)
    })";

Result<std::vector<Value>> run(const std::string& text, const std::vector<Value>& inputs) {
  SDX_ASSIGN(model::Model model, model::parse_text(text));
  CompileOptions options;
  options.threads = 1;
  SDX_ASSIGN(const auto compiled,
             compile(std::make_shared<const model::Model>(std::move(model)), options));
  return run::Session(compiled).run(inputs);
}

Value scalar(int32_t value) { return Tensor::of<int32_t>({1}, {value}); }

const std::string kGreedy =
    model_text(std::string("sequences = com.microsoft.GreedySearch <eos_token_id = 4, "
                           "pad_token_id = 0, ") +
                   kDecoder + "> (ids, most)",
               "int32[B,N] ids, int32[1] most", "int32[B,M] sequences");

TEST(Generation, greedy_search_takes_the_greatest_and_pads_behind_the_end) {
  const auto y = run(kGreedy, {Tensor::of<int32_t>({2, 1}, {1, 2}), scalar(6)});
  ASSERT_TRUE(y) << y.error().text();
  // 1 -> 2 -> 3 -> end; 2 -> 3 -> end.
  EXPECT_EQ((*y)[0].tensor(), Tensor::of<int32_t>({2, 6}, {1, 2, 3, 0, 0, 0, 2, 3, 0, 0, 0, 0}));
}

TEST(Generation, greedy_search_stops_at_max_length) {
  const auto y = run(kGreedy, {Tensor::of<int32_t>({1, 1}, {1}), scalar(3)});
  ASSERT_TRUE(y) << y.error().text();
  EXPECT_EQ((*y)[0].tensor(), Tensor::of<int32_t>({1, 3}, {1, 2, 3}));
}

TEST(Generation, max_length_beyond_the_prompt_is_asked_for) {
  const auto y = run(kGreedy, {Tensor::of<int32_t>({1, 2}, {1, 2}), scalar(2)});
  ASSERT_FALSE(y);
  EXPECT_EQ(y.error().code, "SDX-R1120");
}

TEST(Generation, beam_search_finds_what_the_greedy_choice_misses) {
  const std::string beams =
      model_text(std::string("sequences, scores = com.microsoft.BeamSearch <eos_token_id = 4, "
                             "pad_token_id = 0, early_stopping = 0, ") +
                     kDecoder + "> (ids, most, , beams, returned)",
                 "int32[B,N] ids, int32[1] most, int32[1] beams, int32[1] returned",
                 "int32[B,K,M] sequences, float[B,K] scores");
  const auto y = run(beams, {Tensor::of<int32_t>({1, 1}, {1}), scalar(4), scalar(2), scalar(2)});
  ASSERT_TRUE(y) << y.error().text();
  const Tensor& scores = (*y)[1].tensor();
  EXPECT_EQ((*y)[0].tensor().dims(), (Dims{1, 2, 4}));
  EXPECT_GE(scores.data<float>()[0], scores.data<float>()[1]);
  // Without a penalty for length 1 -> 3 -> end is worth more than 1 -> 2 -> 3 -> end.
  EXPECT_EQ((*y)[0].tensor(), Tensor::of<int32_t>({1, 2, 4}, {1, 2, 3, 0, 1, 3, 0, 0}));
}

TEST(Generation, one_beam_is_greedy) {
  const std::string beams = model_text(
      std::string("sequences = com.microsoft.BeamSearch <eos_token_id = 4, "
                  "pad_token_id = 0, early_stopping = 1, ") +
          kDecoder + "> (ids, most, , beams, returned)",
      "int32[B,N] ids, int32[1] most, int32[1] beams, int32[1] returned", "int32[B,K,M] sequences");
  const auto y = run(beams, {Tensor::of<int32_t>({1, 1}, {2}), scalar(5), scalar(1), scalar(1)});
  ASSERT_TRUE(y) << y.error().text();
  EXPECT_EQ((*y)[0].tensor(), Tensor::of<int32_t>({1, 1, 5}, {2, 3, 0, 0, 0}));
}

TEST(Generation, sampling_draws_by_probability_and_repeats_with_its_seed) {
  const std::string text =
      model_text(std::string("sequences = com.microsoft.Sampling <eos_token_id = 4, "
                             "pad_token_id = 0, ") +
                     kDecoder + "> (ids, most, , , , , , , seed)",
                 "int32[B,N] ids, int32[1] most, int32[1] seed", "int32[B,M] sequences");
  Tensor ids = Tensor::make(DType::i32, {2000, 1});
  std::fill_n(ids.data<int32_t>(), 2000, 3);
  const auto y = run(text, {ids, scalar(2), scalar(9)});
  ASSERT_TRUE(y) << y.error().text();
  size_t ends = 0;
  for (size_t i = 0; i < 2000; ++i) ends += (*y)[0].tensor().data<int32_t>()[2 * i + 1] == 0;
  // Token 4, which pads, has e^3 of e^3 + 4, and token 0, the pad itself, one more of it.
  EXPECT_NEAR(double(ends) / 2000, 21.09 / 24.09, 0.04);
  const auto again = run(text, {ids, scalar(2), scalar(9)});
  ASSERT_TRUE(again);
  EXPECT_EQ((*y)[0].tensor(), (*again)[0].tensor());
}

}  // namespace
}  // namespace sdx
