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

// The same table behind an encoder, whose mask must arrive in the cross states: without it the
// logits are all equal.
const std::string kTable = R"(
      chain = Constant <value = float[5,5] {
        0.0, 2.0, 1.0, 0.0, 0.0,
        0.0, 0.0, 1.5, 1.0, 0.0,
        0.0, 0.5, 0.0, 2.0, 0.0,
        0.0, 0.0, 0.0, 0.0, 3.0,
        1.0, 1.0, 1.0, 1.0, 1.0}> ()
      axes = Constant <value_ints = [1, 3]> ()
      last = Constant <value_ints = [2]> ()
)";
const std::string kCross = R"(
      seen = Cast <to = 1> (mask)
      cross_key = Unsqueeze (seen, axes)
      cross_value = Identity (cross_key)
)";
const std::string kFirst = R"(
      logits = Gather (chain, starts)
      hidden = Unsqueeze (seen, last)
      began = Cast <to = 1> (starts)
      key = Unsqueeze (began, axes)
      value = Identity (key)
)";
const std::string kBehind =
    R"(decoder = behind (int32[R,1] ids, int32[R,N] mask, float[R,1,P,1] key,
      float[R,1,P,1] value, float[R,1,N,1] cross_key, float[R,1,N,1] cross_value)
    => (float[R,1,5] logits, float[R,1,T,1] next_key, float[R,1,T,1] next_value) {)" +
    kTable + R"(
      one = Constant <value_float = 1.0> ()
      across = Constant <value_ints = [1, 2, 3]> ()
      flat = Constant <value_ints = [-1, 1, 1]> ()
      most = ReduceMax <keepdims = 0> (cross_key, across)
      boost = Reshape (most, flat)
      picked = Gather (chain, ids)
      logits = Mul (picked, boost)
      numbers = Cast <to = 1> (ids)
      fresh = Unsqueeze (numbers, axes)
      next_key = Concat <axis = 2> (key, fresh)
      next_value = Concat <axis = 2> (value, fresh)
    })";

std::string translation(const std::string& encoder) {
  return model_text(
      "sequences = com.microsoft.BeamSearch <eos_token_id = 4, pad_token_id = 0, "
      "early_stopping = 0, model_type = 1, decoder_start_token_id = 1, " +
          encoder + ", " + kBehind + "> (words, most, , beams, beams)",
      "int32[B,N] words, int32[1] most, int32[1] beams", "int32[B,K,M] sequences");
}

TEST(Generation, beams_run_behind_an_encoder_in_both_of_its_forms) {
  const std::string whole =
      R"(encoder = reads (int32[B,N] source, int32[B,N] mask, int32[B,1] starts)
    => (float[B,1,5] logits, float[B,N,1] hidden, float[B,1,1,1] key, float[B,1,1,1] value,
        float[B,1,N,1] cross_key, float[B,1,N,1] cross_value) {)" +
      kTable + kCross + kFirst + "}";
  const std::string cross = R"(encoder = reads (int32[B,N] source, int32[B,N] mask)
    => (float[B,1,N,1] cross_key, float[B,1,N,1] cross_value) {)" +
                            kTable + kCross + "}";
  for (const std::string& encoder : {whole, cross}) {
    const auto y = run(translation(encoder),
                       {Tensor::of<int32_t>({2, 3}, {0, 2, 3, 3, 2, 1}), scalar(4), scalar(2)});
    ASSERT_TRUE(y) << y.error().text();
    EXPECT_EQ((*y)[0].tensor(), Tensor::of<int32_t>({2, 2, 4}, {1, 2, 3, 0, 1, 3, 0, 0,  //
                                                                1, 2, 3, 0, 1, 3, 0, 0}));
  }
}

// As exporters write it, who name the length of the past like another one.
TEST(Generation, lengths_that_a_decoder_gives_one_name_may_differ) {
  std::string text = translation(R"(encoder = reads (int32[B,N] source, int32[B,N] mask)
    => (float[B,1,N,1] cross_key, float[B,1,N,1] cross_value) {)" +
                                 kTable + kCross + "}");
  for (size_t at; (at = text.find("[R,1,P,1]")) != text.npos;) text.replace(at, 9, "[R,1,N,1]");
  const auto y = run(text, {Tensor::of<int32_t>({1, 3}, {0, 2, 3}), scalar(4), scalar(2)});
  ASSERT_TRUE(y) << y.error().text();
  EXPECT_EQ((*y)[0].tensor(), Tensor::of<int32_t>({1, 2, 4}, {1, 2, 3, 0, 1, 3, 0, 0}));
}

TEST(Generation, speech_starts_with_the_ids_that_are_given) {
  const std::string encoder = R"(encoder = hears (float[B,2,N] features, int32[B,S] starts)
    => (float[B,S,5] logits, float[B,N,2] hidden, float[B,1,S,1] key, float[B,1,S,1] value,
        float[B,1,N,1] cross_key, float[B,1,N,1] cross_value) {)" +
                              kTable + R"(
      logits = Gather (chain, starts)
      hidden = Transpose <perm = [0, 2, 1]> (features)
      began = Cast <to = 1> (starts)
      key = Unsqueeze (began, axes)
      value = Identity (key)
      apart = ReduceMax <keepdims = 0> (features, axis_of_features)
      axis_of_features = Constant <value_ints = [1]> ()
      cross_key = Unsqueeze (apart, axes)
      cross_value = Identity (cross_key)
    })";
  std::string decoder = kBehind;
  decoder.replace(decoder.find("int32[R,N] mask"), 15, "float[R,N,2] hidden");
  const std::string text = model_text(
      "sequences = com.microsoft.BeamSearch <eos_token_id = 4, pad_token_id = 0, "
      "early_stopping = 0, model_type = 2, " +
          encoder + ", " + decoder + "> (features, most, , beams, beams, , , , , , starts)",
      "float[B,2,N] features, int32[1] most, int32[1] beams, int32[B,S] starts",
      "int32[B,K,M] sequences");
  const Tensor features = Tensor::of<float>({1, 2, 3}, {0, 1, 0, 1, 0, 0});
  const auto y = run(text, {features, scalar(5), scalar(1), Tensor::of<int32_t>({1, 2}, {0, 1})});
  ASSERT_TRUE(y) << y.error().text();
  EXPECT_EQ((*y)[0].tensor(), Tensor::of<int32_t>({1, 1, 5}, {0, 1, 2, 3, 0}));
  const auto without =
      run(text, {features, scalar(2), scalar(1), Tensor::of<int32_t>({1, 2}, {0, 1})});
  ASSERT_FALSE(without);
  EXPECT_EQ(without.error().code, "SDX-R1120");
}

TEST(Generation, a_decoder_that_does_not_fit_its_encoder_is_refused) {
  const auto y = run(translation(R"(encoder = reads (int32[B,N] source, int32[B,N] mask)
    => (float[B,1,N,1] cross_key) {)" +
                                 kTable + kCross + "}"),
                     {Tensor::of<int32_t>({1, 1}, {1}), scalar(4), scalar(2)});
  ASSERT_FALSE(y);
  EXPECT_EQ(y.error().code, "SDX-T1121");
}

// Wires of the graph around it follow the operator's own inputs, of which optional ones are absent.
TEST(Generation, captured_wires_are_no_optional_inputs) {
  std::string decoder = kDecoder;
  decoder.replace(decoder.find("logits = Gather (chain, ids)"), 28,
                  "plain = Gather (chain, ids)\n      logits = Add (plain, shift)");
  const auto y = run(model_text("shift = Constant <value_floats = [0.0, 0.0, 0.0, 5.0, 0.0]> ()\n"
                                "  sequences = com.microsoft.GreedySearch <eos_token_id = 4, "
                                "pad_token_id = 0, " +
                                    decoder + "> (ids, most)",
                                "int32[B,N] ids, int32[1] most", "int32[B,M] sequences"),
                     {Tensor::of<int32_t>({1, 1}, {1}), scalar(3)});
  ASSERT_TRUE(y) << y.error().text();
  EXPECT_EQ((*y)[0].tensor(), Tensor::of<int32_t>({1, 3}, {1, 3, 3}));
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
