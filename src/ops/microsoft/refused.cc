// Operators of com.microsoft that are known and do not run here: the checker judges their nodes,
// and whoever wants to run one is told its name and why not.
#include "ops/microsoft/microsoft.h"

namespace sdx::ops::microsoft {
namespace {

struct Refused {};

struct Entry {
  std::string_view name, reason, signature;
};

constexpr std::string_view kRare = "it is too rare in models to have been written";
constexpr std::string_view kGeneration = "loops of generation have not been written";
constexpr std::string_view kForeign = "its meaning is another program's compiled code";
constexpr std::string_view kAccelerator = "it is an operator of accelerators alone";
constexpr std::string_view kTraining = "it belongs to training";

template <const Entry& kEntry>
struct Declared {
  static constexpr Version kHistory[] = {{1, kEntry.signature}};
  static Result<Refused> read(const Node&, const Facts&) {
    return fail("SDX-T1099", "com.microsoft.{} does not run here: {}", kEntry.name, kEntry.reason);
  }
  static constexpr OpOf<Refused> kOp{
      .name = kEntry.name,
      .doc = "Known to the checker; does not run here.",
      .history = kHistory,
      .read = read,
      .infer = [](const Refused&, const Facts&) -> Result<Facts> { return Facts{}; },
      .reference = [](const Refused&, Args&) { return ok(); },
      .domain = kDomain,
  };
};

constexpr Entry kAttnLSTM{
    "AttnLSTM", kRare,
    "(X: T, W: T, R: T, B?: T, sequence_lens?: T1, initial_h?: T, initial_c?: T, P?: T, "
    "QW?: T, MW?: T, V?: T, M?: T, memory_seq_lens?: T1, AW?: T) -> (Y?: T, Y_h?: T, Y_c?: "
    "T) {activation_alpha: floats, activation_beta: floats, activations: strings, clip: "
    "float, direction: string, hidden_size: int, input_forget: int} T in f32 f64 T1 in i32"};
constexpr Entry kBifurcationDetector{
    "BifurcationDetector", kRare,
    "(src_tokens: T, cur_tokens: T, prev_suffix_match_idx: T, pred_tokens?: T) -> (tokens: "
    "T, suffix_match_idx: T) {max_ngram_size: int = 3, min_ngram_size: int = 1} T in i64"};
constexpr Entry kBitmaskBiasDropout{
    "BitmaskBiasDropout", kTraining,
    "(data: T, bias: T, residual?: T, ratio?: T1, training_mode?: T2) -> (output: T, mask?: "
    "T3) {seed: int} T in f16 f32 f64 bf16 T1 in f16 f32 f64 bf16 T2 in bool T3 in u32"};
constexpr Entry kBitmaskDropout{
    "BitmaskDropout", kTraining,
    "(data: T, ratio?: T1, training_mode?: T2) -> (output: T, mask?: T3) {seed: int} T in "
    "f16 f32 f64 bf16 T1 in f16 f32 f64 bf16 T2 in bool T3 in u32"};
constexpr Entry kConvTransposeWithDynamicPads{
    "ConvTransposeWithDynamicPads", kRare,
    "(X: T, W: T, Pads?: i64, B?: T) -> (Y: T) {auto_pad: string = \"NOTSET\", dilations: "
    "ints, group: int = 1, kernel_shape: ints, output_padding: ints, strides: ints} T in "
    "f16 f32 f64"};
constexpr Entry kCropAndResize{
    "CropAndResize", kRare,
    "(X: T1, rois: T1, batch_indices: T2, crop_size: T2) -> (Y: T1) {extrapolation_value: "
    "float = 0., mode: string = \"bilinear\"} T1 in f16 f32 f64 T2 in i32"};
constexpr Entry kDecoderAttention{
    "DecoderAttention", kAccelerator,
    "(query: T, key: T, q_weight: T, kv_weight: T, bias: T, key_padding_mask?: B, "
    "key_cache?: T, value_cache?: T, static_kv: B, use_past: B, has_layer_state: B, "
    "has_key_padding_mask: B) -> (output: T, new_key_cache?: T, new_value_cache?: T) "
    "{mask_filter_value: float, num_heads!: int} T in f32 f16 B in bool"};
constexpr Entry kDecoderMaskedSelfAttention{
    "DecoderMaskedSelfAttention", kAccelerator,
    "(input: T, weights: T, bias: T, mask_index?: M, past: T, attention_bias?: T, "
    "past_sequence_length: M, beam_width?: M, cache_indirection?: M) -> (output: T, "
    "present: T) {do_rotary: int, mask_filter_value: float, num_heads!: int, "
    "past_present_share_buffer: int, scale: float} T in f32 f16 M in i32"};
constexpr Entry kDequantizeBFP{
    "DequantizeBFP", kAccelerator,
    "(x: T1, shape: T2, strides: T2) -> (y: T3) {bfp_type!: int, block_dim: int = -1, "
    "dtype: int = 1} T1 in u8 T2 in i64 T3 in f32 f16 bf16"};
constexpr Entry kDequantizeWithOrder{
    "DequantizeWithOrder", kAccelerator,
    "(input: Q, scale_input: S) -> (output: F) {order_input!: int, order_output!: int, to!: "
    "int} Q in i8 F in f16 f32 S in f32"};
constexpr Entry kDynamicTimeWarping{"DynamicTimeWarping", kRare,
                                    "(input: F) -> (output: I) F in f32 I in i32"};
constexpr Entry kEPContext{
    "EPContext", kForeign,
    "(inputs...~: T) -> (outputs...~: T) {embed_mode: int = 1, ep_cache_context: string, "
    "ep_sdk_version: string, hardware_architecture: string, main_context: int = 1, "
    "max_size: int = 0, notes: string, onnx_model_filename: string, partition_name: string, "
    "source: string} T in bool num bf16"};
constexpr Entry kGatedRelativePositionBias{
    "GatedRelativePositionBias", kAccelerator,
    "(query_layer: T, query_bias: T, rel_pos: T, weight: T, bias: T, eco_a: T, "
    "token_offset?: M) -> (output: T) {num_heads!: int} T in f32 f16 M in i32"};
constexpr Entry kGemmFloat8{
    "GemmFloat8", kAccelerator,
    "(A: TA, B: TB, C?: TC, scaleA?: TS, scaleB?: TS, scaleY?: TS) -> (Y: TR) {activation: "
    "string, alpha: float = 1.0, beta: float = 0.0, dtype: int = 1, transA: int = 0, "
    "transB: int = 0} TA in f8e4m3fn f8e5m2 f16 bf16 f32 TB in f8e4m3fn f8e5m2 f16 bf16 f32 "
    "TC in f16 bf16 f32 TR in f8e4m3fn f8e5m2 f16 bf16 f32 TS in f32"};
constexpr Entry kGemmaRotaryEmbedding{
    "GemmaRotaryEmbedding", kAccelerator,
    "(emb: U, q: T, q_rot: T, k: T, k_rot: T) -> (output1: T, output2: T) T in f16 U in f32"};
constexpr Entry kIrfft{
    "Irfft", kRare,
    "(X: T) -> (Y: T) {normalized: int = 0, onesided: int = 1, signal_ndim!: int} T in f32 "
    "f64 f16"};
constexpr Entry kIsAllFinite{
    "IsAllFinite", kTraining,
    "(input...: V) -> (output: T) {isinf_only: int = 0, isnan_only: int = 0} V in f16 f32 "
    "f64 bf16 T in bool"};
constexpr Entry kLongformerAttention{
    "LongformerAttention", kAccelerator,
    "(input: T, weight: T, bias: T, mask: T, global_weight: T, global_bias: T, global: G) "
    "-> (output: T) {num_heads!: int, window!: int} T in f32 f16 G in i32"};
constexpr Entry kMRotaryEmbedding{
    "MRotaryEmbedding", kRare,
    "(input: T, position_ids: M, cos_cache: T, sin_cache: T) -> (output: T) {interleaved: "
    "int, is_packed_batching: int, mrope_layout: int, mrope_section!: ints, num_heads: int, "
    "rotary_embedding_dim: int, scale: float} T in f32 f16 bf16 M in i64"};
constexpr Entry kMatMulBlockQuantizedFp4Weight{
    "MatMulBlockQuantizedFp4Weight", kAccelerator,
    "(A: T, B: T1, weight_scale: T2, weight_scale_2: T3, input_scale?: T3, bias?: T) -> (Y: "
    "T) {block_size: int = 16} T in f16 bf16 T1 in u8 T2 in u8 T3 in f32"};
constexpr Entry kMatMulBlockQuantizedFp8Weight{
    "MatMulBlockQuantizedFp8Weight", kAccelerator,
    "(A: T, B: T1, b_scale: T2, a_scale?: T2, bias?: T) -> (Y: T) {block_size: int = 128} T "
    "in f16 bf16 T1 in f8e4m3fn T2 in f32"};
constexpr Entry kMatMulFpQ4{
    "MatMulFpQ4", kRare,
    "(A: T1, B: T2, B_shape: T3) -> (Y: T1) {blk_quant_type: int = 1} T1 in f32 T2 in u8 T3 "
    "in i64"};
constexpr Entry kMatMulInteger16{
    "MatMulInteger16", kRare,
    "(A: T1, B: T2) -> (Y: T3) T1 in i16 u16 T2 in i16 u16 T3 in i32 u32"};
constexpr Entry kMatMulNBitsMlp{
    "MatMulNBitsMlp", kAccelerator,
    "(A: T1, skip?: T1, norm_scale?: T1, gate_B: T2, gate_scales: T1, gate_bias?: T1, up_B: "
    "T2, up_scales: T1, up_bias?: T1) -> (Y: T1, input_skip_bias_sum?: T1) {K!: int, N!: "
    "int, accuracy_level: int = 0, activation!: string, bits: int = 4, block_size!: int, "
    "epsilon: float = 1e-5} T1 in f32 f16 bf16 T2 in u8"};
constexpr Entry kMatMulNBitsQkv{
    "MatMulNBitsQkv", kAccelerator,
    "(A: T1, skip?: T1, norm_scale: T1, q_B: T2, q_scales: T1, q_bias?: T1, k_B: T2, "
    "k_scales: T1, k_bias?: T1, v_B: T2, v_scales: T1, v_bias?: T1) -> (Q: T1, K: T1, V: "
    "T1, input_skip_bias_sum?: T1) {K!: int, Nkv!: int, Nq!: int, accuracy_level: int = 0, "
    "bits: int = 4, block_size!: int, epsilon: float = 1e-6} T1 in f32 f16 bf16 T2 in u8"};
constexpr Entry kMaxpoolWithMask{
    "MaxpoolWithMask", kRare,
    "(X: T, M: i32) -> (Y: T) {auto_pad: string = \"NOTSET\", kernel_shape: ints, pads: "
    "ints, storage_order: int = 0, strides: ints} T in f32"};
constexpr Entry kMurmurHash3{
    "MurmurHash3", kRare,
    "(X: T1) -> (Y: T2) {positive: int, seed: int} T1 in u32 i32 u64 i64 f32 f64 string T2 "
    "in u32 i32"};
constexpr Entry kNGramRepeatBlock{
    "NGramRepeatBlock", kRare,
    "(input_ids: Tid, scores: T) -> (scores_out: T) {ngram_size!: int} Tid in i64 T in f32"};
constexpr Entry kPagedAttention{
    "PagedAttention", kAccelerator,
    "(query: T, key?: T, value?: T, key_cache: T_CACHE, value_cache?: T_CACHE, "
    "cumulative_sequence_length: S, past_seqlens: S, block_table: S, cos_cache?: T, "
    "sin_cache?: T, slot_mapping?: S, head_sink?: T, q_norm_weight?: T, k_norm_weight?: T, "
    "k_scale?: T_KV_SCALE, v_scale?: T_KV_SCALE, attention_metadata?: S) -> (output: T, "
    "key_cache_out?: T_CACHE, value_cache_out?: T_CACHE) {do_rotary: int, k_cache_dtype: "
    "string = \"\", k_quant_type: string = \"NONE\", kv_cache_layout: string = "
    "\"SEPARATE\", kv_num_heads!: int, local_window_size: int = -1, num_heads!: int, "
    "qk_norm_epsilon: float, rotary_interleaved: int, rotary_offset: int, scale: float, "
    "softcap: float, v_cache_dtype: string = \"\", v_head_size: int, v_quant_type: string = "
    "\"NONE\"} T in f16 bf16 T_CACHE in f16 bf16 i8 f8e4m3fn T_KV_SCALE in f32 S in i32"};
constexpr Entry kQEmbedLayerNormalization{
    "QEmbedLayerNormalization", kRare,
    "(input_ids: T1, segment_ids?: T1, word_embedding_quant: T2, position_embedding_quant: "
    "T2, segment_embedding?: T2, gamma_quant: T2, beta_quant: T2, mask?: T1, "
    "word_embedding_scale: T, position_embedding_scale: T, segment_embedding_scale?: T, "
    "gamma_scale: T, beta_scale: T, word_embedding_zero_point: T2, "
    "position_embedding_zero_point: T2, segment_embedding_zero_point?: T2, "
    "gamma_zero_point: T2, beta_zero_point: T2) -> (layernorm_out: T, mask_index_out: T1) "
    "{epsilon: float = 1e-12} T1 in i32 T2 in i8 u8 T in f32"};
constexpr Entry kQOrderedAttention{
    "QOrderedAttention", kAccelerator,
    "(input: Q, scale_input: S, scale_Q_gemm: S, scale_K_gemm: S, scale_V_gemm: S, "
    "Q_weight: Q, K_weight: Q, V_weight: Q, scale_Q_weight: S, scale_K_weight: S, "
    "scale_V_weight: S, Q_bias: S, K_bias: S, V_bias: S, scale_QKT_gemm?: S, "
    "scale_QKT_softmax?: S, scale_values_gemm: S, mask_index?: G, past?: Q, "
    "attention_bias?: S) -> (output: Q) {num_heads!: int, order_input!: int, order_output!: "
    "int, order_weight!: int, qkv_hidden_sizes: ints, unidirectional: int = 0} Q in i8 S in "
    "f32 G in i32"};
constexpr Entry kQOrderedGelu{
    "QOrderedGelu", kAccelerator,
    "(X: Q, scale_X: S, scale_Y: S) -> (Y: Q) {order_X: int, order_Y: int} Q in i8 S in f32"};
constexpr Entry kQOrderedLayerNormalization{
    "QOrderedLayerNormalization", kAccelerator,
    "(X: Q, scale_X: S, scale: F, B?: F, scale_Y: S) -> (Y: Q) {axis: int = -1, epsilon: "
    "float = 1e-5, order_X: int = 1, order_Y: int = 1} F in f16 f32 S in f32 Q in i8"};
constexpr Entry kQOrderedLongformerAttention{
    "QOrderedLongformerAttention", kAccelerator,
    "(input: Q, scale_input: S, weight: Q, scale_weight: S, bias: S, scale_bias: S, "
    "scale_qkv_gemm: S, mask: F, global_weight: Q, scale_global_weight: S, global_bias: S, "
    "scale_global_gemm: S, global: G, scale_output: S) -> (output: Q) {num_heads!: int, "
    "order_global_weight!: int, order_input!: int, order_output!: int, order_weight!: int, "
    "window!: int} Q in i8 S in f32 G in i32 F in f16"};
constexpr Entry kQOrderedMatMul{
    "QOrderedMatMul", kAccelerator,
    "(A: Q, scale_A: S, B: Q, scale_B: S, scale_Y: S, bias?: S, C?: Q, scale_C?: S) -> (Y: "
    "Q) {order_A!: int, order_B!: int, order_Y!: int} Q in i8 S in f32"};
constexpr Entry kQuantizeBFP{
    "QuantizeBFP", kAccelerator,
    "(x: T1) -> (y: T2, shape: T3, strides: T3) {bfp_type!: int, block_dim: int = -1} T1 in "
    "f32 f16 bf16 T2 in u8 T3 in i64"};
constexpr Entry kQuantizeWithOrder{
    "QuantizeWithOrder", kAccelerator,
    "(input: F, scale_input: S) -> (output: Q) {order_input!: int, order_output!: int} Q in "
    "i8 F in f16 f32 S in f32"};
constexpr Entry kRelativePositionBias{
    "RelativePositionBias", kAccelerator,
    "(bias_table: T, query_length: U, key_length: U) -> (output: T) {is_bidirectional: int "
    "= 0, max_distance!: int} T in f32 f16 U in i64"};
constexpr Entry kRemovePadding{
    "RemovePadding", kAccelerator,
    "(input: T, sequence_token_count: M) -> (output: T, token_offset: M, cumulated_seq_len: "
    "M, max_seq_len: M) T in f32 f16 M in i32"};
constexpr Entry kRfft{
    "Rfft", kRare,
    "(X: T) -> (Y: T) {normalized: int = 0, onesided: int = 1, signal_ndim: int = 1} T in "
    "f32 f64 f16"};
constexpr Entry kSampleOp{"SampleOp", kRare, "(X: T) -> (Y: T) T in u32 u64 i32 i64 f16 f32 f64"};
constexpr Entry kSnpe{
    "Snpe", kForeign,
    "(inputs...: T) -> (outputs...: T) {DLC!: string, notes: string, snpe_version: string, "
    "target_device: string} T in u8 u16 f32"};
constexpr Entry kSparseAttention{
    "SparseAttention", kRare,
    "(query: T, key?: T, value?: T, past_key: T, past_value: T, block_row_indices: M, "
    "block_col_indices: M, total_sequence_length: M, key_total_sequence_lengths: M, "
    "cos_cache?: T, sin_cache?: T) -> (output: T, present_key: T, present_value: T) "
    "{do_rotary: int, kv_num_heads!: int, num_heads!: int, rotary_interleaved: int, scale: "
    "float, sparse_block_size!: int} T in f32 f16 bf16 M in i32"};
constexpr Entry kSparseToDenseMatMul{
    "SparseToDenseMatMul", kRare,
    "(A: T, B: T1) -> (Y: T1) {alpha: float = 1.0, transA: int = 0, transB: int = 0} T in "
    "f32 f64 i64 i32 u64 u32 T1 in f32 f64 i64 i32 u64 u32"};
constexpr Entry kTokenizer{
    "Tokenizer", kRare,
    "(X: T) -> (Y: T) {mark!: int, mincharnum!: int, pad_value!: string, separators: "
    "strings, tokenexp: string} T in string"};
constexpr Entry kWhisperBeamSearch{
    "WhisperBeamSearch", kGeneration,
    "(input_ids: F, max_length: I, min_length?: I, num_beams: I, num_return_sequences: I, "
    "length_penalty?: T, repetition_penalty?: T, vocab_mask?: M, prefix_vocab_mask?: M, "
    "attention_mask?: I, decoder_input_ids?: I, logits_processor?: I, cross_qk_layer_head?: "
    "I, extra_decoding_ids?: I, temperature?: T) -> (sequences: I, sequences_scores?: T, "
    "scores?: T, cross_qk?: V, non_speech_probs?: T) {beginning_timestamp_token_id: int, "
    "decoder!: graph, decoder_output_cross_qk: int, decoder_start_token_id: int = -1, "
    "early_stopping: int = 0, encoder: graph, eos_token_id!: int, init_decoder: graph, "
    "model_type: int = 2, no_repeat_ngram_size: int = 0, no_speech_token_id: int, "
    "no_timestamps_token_id: int, pad_token_id!: int, start_of_lm_token_id: int, "
    "transcribe_token_id: int, translate_token_id: int, vocab_size: int = -1} T in f32 f16 "
    "F in f32 i32 f16 I in i32 M in i32 V in f32"};
constexpr Entry kWordConvEmbedding{
    "WordConvEmbedding", kRare,
    "(Sequence: T, W: T1, B: T1, C: T1) -> (Y: T1) {char_embedding_size: int, "
    "conv_window_size: int, embedding_size: int} T in i32 T1 in f32"};

}  // namespace

extern const Op attn_lstm = erase<Declared<kAttnLSTM>::kOp>();
extern const Op bifurcation_detector = erase<Declared<kBifurcationDetector>::kOp>();
extern const Op bitmask_bias_dropout = erase<Declared<kBitmaskBiasDropout>::kOp>();
extern const Op bitmask_dropout = erase<Declared<kBitmaskDropout>::kOp>();
extern const Op conv_transpose_with_dynamic_pads =
    erase<Declared<kConvTransposeWithDynamicPads>::kOp>();
extern const Op crop_and_resize = erase<Declared<kCropAndResize>::kOp>();
extern const Op decoder_attention = erase<Declared<kDecoderAttention>::kOp>();
extern const Op decoder_masked_self_attention = erase<Declared<kDecoderMaskedSelfAttention>::kOp>();
extern const Op dequantize_bfp = erase<Declared<kDequantizeBFP>::kOp>();
extern const Op dequantize_with_order = erase<Declared<kDequantizeWithOrder>::kOp>();
extern const Op dynamic_time_warping = erase<Declared<kDynamicTimeWarping>::kOp>();
extern const Op ep_context = erase<Declared<kEPContext>::kOp>();
extern const Op gated_relative_position_bias = erase<Declared<kGatedRelativePositionBias>::kOp>();
extern const Op gemm_float8 = erase<Declared<kGemmFloat8>::kOp>();
extern const Op gemma_rotary_embedding = erase<Declared<kGemmaRotaryEmbedding>::kOp>();
extern const Op irfft = erase<Declared<kIrfft>::kOp>();
extern const Op is_all_finite = erase<Declared<kIsAllFinite>::kOp>();
extern const Op longformer_attention = erase<Declared<kLongformerAttention>::kOp>();
extern const Op m_rotary_embedding = erase<Declared<kMRotaryEmbedding>::kOp>();
extern const Op mat_mul_block_quantized_fp4_weight =
    erase<Declared<kMatMulBlockQuantizedFp4Weight>::kOp>();
extern const Op mat_mul_block_quantized_fp8_weight =
    erase<Declared<kMatMulBlockQuantizedFp8Weight>::kOp>();
extern const Op mat_mul_fp_q4 = erase<Declared<kMatMulFpQ4>::kOp>();
extern const Op mat_mul_integer16 = erase<Declared<kMatMulInteger16>::kOp>();
extern const Op mat_mul_n_bits_mlp = erase<Declared<kMatMulNBitsMlp>::kOp>();
extern const Op mat_mul_n_bits_qkv = erase<Declared<kMatMulNBitsQkv>::kOp>();
extern const Op maxpool_with_mask = erase<Declared<kMaxpoolWithMask>::kOp>();
extern const Op murmur_hash3 = erase<Declared<kMurmurHash3>::kOp>();
extern const Op n_gram_repeat_block = erase<Declared<kNGramRepeatBlock>::kOp>();
extern const Op paged_attention = erase<Declared<kPagedAttention>::kOp>();
extern const Op q_embed_layer_normalization = erase<Declared<kQEmbedLayerNormalization>::kOp>();
extern const Op q_ordered_attention = erase<Declared<kQOrderedAttention>::kOp>();
extern const Op q_ordered_gelu = erase<Declared<kQOrderedGelu>::kOp>();
extern const Op q_ordered_layer_normalization = erase<Declared<kQOrderedLayerNormalization>::kOp>();
extern const Op q_ordered_longformer_attention =
    erase<Declared<kQOrderedLongformerAttention>::kOp>();
extern const Op q_ordered_mat_mul = erase<Declared<kQOrderedMatMul>::kOp>();
extern const Op quantize_bfp = erase<Declared<kQuantizeBFP>::kOp>();
extern const Op quantize_with_order = erase<Declared<kQuantizeWithOrder>::kOp>();
extern const Op relative_position_bias = erase<Declared<kRelativePositionBias>::kOp>();
extern const Op remove_padding = erase<Declared<kRemovePadding>::kOp>();
extern const Op rfft = erase<Declared<kRfft>::kOp>();
extern const Op sample_op = erase<Declared<kSampleOp>::kOp>();
extern const Op snpe = erase<Declared<kSnpe>::kOp>();
extern const Op sparse_attention = erase<Declared<kSparseAttention>::kOp>();
extern const Op sparse_to_dense_mat_mul = erase<Declared<kSparseToDenseMatMul>::kOp>();
extern const Op tokenizer = erase<Declared<kTokenizer>::kOp>();
extern const Op whisper_beam_search = erase<Declared<kWhisperBeamSearch>::kOp>();
extern const Op word_conv_embedding = erase<Declared<kWordConvEmbedding>::kOp>();

}  // namespace sdx::ops::microsoft
