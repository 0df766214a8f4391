// A helper for every operator that is not deprecated: its newest version, made by
// tools/make_ops.cc from the operators' declarations (`make ops`; a test
// compares). Inputs that may be left out and attributes are options:
//
//   ops::conv(x, w, {.b = bias, .strides = {2, 2}})
//
// Names that C++ keeps for itself end with an underscore: ops::and_, ops::not_.
#pragma once

#include "sardonyx/control.h"

namespace sardonyx::ops {

// Abs 13: The magnitude. That of the least signed integer wraps to itself.
// (X: T) -> (Y: T)
// T: bf16 f64 f32 f16 i16 i32 i64 i8 u16 u32 u64 u8
Wire abs(const Wire& x, Place place = Place::here());

// Acos 22: The inverse cosine; NaN outside [-1, 1].
// (input: T) -> (output: T)
// T: bf16 f64 f32 f16
Wire acos(const Wire& input, Place place = Place::here());

// Acosh 22: The inverse hyperbolic cosine; NaN below 1.
// (input: T) -> (output: T)
// T: bf16 f64 f32 f16
Wire acosh(const Wire& input, Place place = Place::here());

// Add 14: a + b.
// (A: T, B: T) -> (C: T)
// T: bf16 f64 f32 f16 i16 i32 i64 i8 u16 u32 u64 u8
Wire add(const Wire& a, const Wire& b, Place place = Place::here());

// AffineGrid 20: Where each pixel of a picture comes from under affine maps: what GridSample takes.
// (theta: T1, size: T2) -> (grid: T1)
// T1: bf16 f64 f32 f16
// T2: i64
struct AffineGridOptions {
  int64_t align_corners = 0;
};
Wire affine_grid(const Wire& theta, const Wire& size, const AffineGridOptions& options = {},
                 Place place = Place::here());

// And 7: Whether both are true.
// (A: T, B: T) -> (C: T1)
// T: bool
// T1: bool
Wire and_(const Wire& a, const Wire& b, Place place = Place::here());

// ArgMax 13: The index of the greatest element along an axis.
// (data: T) -> (reduced: tensor(int64))
// T: bf16 f64 f32 f16 i16 i32 i64 i8 u16 u32 u64 u8
struct ArgMaxOptions {
  int64_t axis = 0;
  int64_t keepdims = 1;
  int64_t select_last_index = 0;
};
Wire arg_max(const Wire& data, const ArgMaxOptions& options = {}, Place place = Place::here());

// ArgMin 13: The index of the least element along an axis.
// (data: T) -> (reduced: tensor(int64))
// T: bf16 f64 f32 f16 i16 i32 i64 i8 u16 u32 u64 u8
struct ArgMinOptions {
  int64_t axis = 0;
  int64_t keepdims = 1;
  int64_t select_last_index = 0;
};
Wire arg_min(const Wire& data, const ArgMinOptions& options = {}, Place place = Place::here());

// Asin 22: The inverse sine; NaN outside [-1, 1].
// (input: T) -> (output: T)
// T: bf16 f64 f32 f16
Wire asin(const Wire& input, Place place = Place::here());

// Asinh 22: The inverse hyperbolic sine.
// (input: T) -> (output: T)
// T: bf16 f64 f32 f16
Wire asinh(const Wire& input, Place place = Place::here());

// Atan 22: The inverse tangent.
// (input: T) -> (output: T)
// T: bf16 f64 f32 f16
Wire atan(const Wire& input, Place place = Place::here());

// Atanh 22: The inverse hyperbolic tangent; NaN outside [-1, 1].
// (input: T) -> (output: T)
// T: bf16 f64 f32 f16
Wire atanh(const Wire& input, Place place = Place::here());

// Attention 25: Scaled dot-product attention with grouped heads, masks, windows and a cache of keys
// and values. (Q: T1, K: T1, V: T2, attn_mask?: U, past_key?: T1, past_value?: T2,
// nonpad_kv_seqlen?: tensor(int64)) -> (Y: T1, present_key?: T1, present_value?: T2,
// qk_matmul_output?: T1) T1: bf16 f64 f32 f16 T2: bf16 f64 f32 f16 U: bf16 bool f64 f32 f16 i16 i32
// i64 i8 u16 u32 u64 u8
struct AttentionOptions {
  Wire attn_mask = {};
  Wire past_key = {};
  Wire past_value = {};
  Wire nonpad_kv_seqlen = {};
  int64_t is_causal = 0;
  Given<int64_t> kv_num_heads = {};
  int64_t left_window_size = -1;
  Given<int64_t> q_num_heads = {};
  int64_t qk_matmul_output_mode = 0;
  int64_t right_window_size = -1;
  Given<float> scale = {};
  float softcap = 0.0F;
  Given<int64_t> softmax_precision = {};
};
struct AttentionOutputs {
  Wire y, present_key, present_value, qk_matmul_output;
};
AttentionOutputs attention(const Wire& q, const Wire& k, const Wire& v,
                           const AttentionOptions& options = {}, Place place = Place::here());

// AveragePool 22: The mean of each window.
// (X: T) -> (Y: T)
// T: bf16 f64 f32 f16
struct AveragePoolOptions {
  std::string auto_pad = "NOTSET";
  int64_t ceil_mode = 0;
  int64_t count_include_pad = 0;
  Given<std::vector<int64_t>> dilations = {};
  Must<std::vector<int64_t>> kernel_shape;
  Given<std::vector<int64_t>> pads = {};
  Given<std::vector<int64_t>> strides = {};
};
Wire average_pool(const Wire& x, const AveragePoolOptions& options, Place place = Place::here());

// BatchNormalization 15: Each channel shifted and scaled by its mean and variance, then times scale
// plus B. (X: T, scale: T1, B: T1, input_mean: T2, input_var: T2) -> (Y: T, running_mean?: T2,
// running_var?: T2) T: bf16 f64 f32 f16 T1: bf16 f64 f32 f16 T2: bf16 f64 f32 f16
struct BatchNormalizationOptions {
  float epsilon = 1e-05F;
  float momentum = 0.9F;
  int64_t training_mode = 0;
};
struct BatchNormalizationOutputs {
  Wire y, running_mean, running_var;
};
BatchNormalizationOutputs batch_normalization(const Wire& x, const Wire& scale, const Wire& b,
                                              const Wire& input_mean, const Wire& input_var,
                                              const BatchNormalizationOptions& options = {},
                                              Place place = Place::here());

// Bernoulli 22: 1 with the probability that the input says, else 0; the same for the same seed.
// (input: T1) -> (output: T2)
// T1: bf16 f64 f32 f16
// T2: bf16 bool f64 f32 f16 i16 i32 i64 i8 u16 u32 u64 u8
struct BernoulliOptions {
  Given<int64_t> dtype = {};
  Given<float> seed = {};
};
Wire bernoulli(const Wire& input, const BernoulliOptions& options = {},
               Place place = Place::here());

// BitCast 26: The same bits read as another type of the same size.
// (input: T1) -> (output: T2)
// T1: bf16 bool c128 c64 f64 f32 f16 f4e2m1 f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz f8e8m0 i16 i2 i32
// i4 i64 i8 u16 u2 u32 u4 u64 u8 T2: bf16 bool c128 c64 f64 f32 f16 f4e2m1 f8e4m3fn f8e4m3fnuz
// f8e5m2 f8e5m2fnuz f8e8m0 i16 i2 i32 i4 i64 i8 u16 u2 u32 u4 u64 u8
struct BitCastOptions {
  Must<int64_t> to;
};
Wire bit_cast(const Wire& input, const BitCastOptions& options, Place place = Place::here());

// BitShift 28: The bits of x moved by y places; a y that is negative or not less than the width
// moves all of them out. (X: T, Y: T) -> (Z: T) T: i16 i32 i64 i8 u16 u32 u64 u8
struct BitShiftOptions {
  Must<std::string> direction;
};
Wire bit_shift(const Wire& x, const Wire& y, const BitShiftOptions& options,
               Place place = Place::here());

// BitwiseAnd 18: The bits that are set in both.
// (A: T, B: T) -> (C: T)
// T: i16 i32 i64 i8 u16 u32 u64 u8
Wire bitwise_and(const Wire& a, const Wire& b, Place place = Place::here());

// BitwiseNot 18: The bits that are not set.
// (X: T) -> (Y: T)
// T: i16 i32 i64 i8 u16 u32 u64 u8
Wire bitwise_not(const Wire& x, Place place = Place::here());

// BitwiseOr 18: The bits that are set in one or both.
// (A: T, B: T) -> (C: T)
// T: i16 i32 i64 i8 u16 u32 u64 u8
Wire bitwise_or(const Wire& a, const Wire& b, Place place = Place::here());

// BitwiseXor 18: The bits that are set in exactly one.
// (A: T, B: T) -> (C: T)
// T: i16 i32 i64 i8 u16 u32 u64 u8
Wire bitwise_xor(const Wire& a, const Wire& b, Place place = Place::here());

// BlackmanWindow 17: A Blackman window of a given length.
// (size: T1) -> (output: T2)
// T1: i32 i64
// T2: bf16 f64 f32 f16 i16 i32 i64 i8 u16 u32 u64 u8
struct BlackmanWindowOptions {
  Given<int64_t> output_datatype = 1;
  int64_t periodic = 1;
};
Wire blackman_window(const Wire& size, const BlackmanWindowOptions& options = {},
                     Place place = Place::here());

// Cast 28: Every element converted to another type.
// (input: T1) -> (output: T2)
// T1: bf16 bool f64 f32 f16 f4e2m1 f6e2m3 f6e3m2 f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz f8e8m0 i16
// i2 i32 i4 i64 i8 string u16 u2 u32 u4 u64 u8 T2: bf16 bool f64 f32 f16 f4e2m1 f6e2m3 f6e3m2
// f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz f8e8m0 i16 i2 i32 i4 i64 i8 string u16 u2 u32 u4 u64 u8
struct CastOptions {
  std::string round_mode = "up";
  int64_t saturate = 1;
  Must<int64_t> to;
};
Wire cast(const Wire& input, const CastOptions& options, Place place = Place::here());

// CastLike 25: Every element converted to the type of another tensor.
// (input: T1, target_type: T2) -> (output: T2)
// T1: bf16 bool f64 f32 f16 f4e2m1 f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz f8e8m0 i16 i2 i32 i4 i64
// i8 string u16 u2 u32 u4 u64 u8 T2: bf16 bool f64 f32 f16 f4e2m1 f8e4m3fn f8e4m3fnuz f8e5m2
// f8e5m2fnuz f8e8m0 i16 i2 i32 i4 i64 i8 string u16 u2 u32 u4 u64 u8
struct CastLikeOptions {
  std::string round_mode = "up";
  int64_t saturate = 1;
};
Wire cast_like(const Wire& input, const Wire& target_type, const CastLikeOptions& options = {},
               Place place = Place::here());

// CausalConvWithState 27: A convolution of each channel over the present and the past, which it
// carries from call to call. (input: T, weight: T, bias?: T, past_state?: T) -> (output: T,
// present_state: T) T: bf16 f32 f16
struct CausalConvWithStateOptions {
  Wire bias = {};
  Wire past_state = {};
  std::string activation = "none";
};
struct CausalConvWithStateOutputs {
  Wire output, present_state;
};
CausalConvWithStateOutputs causal_conv_with_state(const Wire& input, const Wire& weight,
                                                  const CausalConvWithStateOptions& options = {},
                                                  Place place = Place::here());

// Ceil 13: The nearest integer that is not less.
// (X: T) -> (Y: T)
// T: bf16 f64 f32 f16
Wire ceil(const Wire& x, Place place = Place::here());

// Celu 28: max(x, 0) + min(alpha (e^(x / alpha) - 1), 0).
// (X: T) -> (Y: T)
// T: bf16 f64 f32 f16
struct CeluOptions {
  float alpha = 1.0F;
};
Wire celu(const Wire& x, const CeluOptions& options = {}, Place place = Place::here());

// CenterCropPad 18: The middle of the input, cropped or padded with zeros to the given sizes.
// (input_data: T, shape: Tind) -> (output_data: T)
// T: bf16 bool c128 c64 f64 f32 f16 i16 i32 i64 i8 string u16 u32 u64 u8
// Tind: i32 i64
struct CenterCropPadOptions {
  Given<std::vector<int64_t>> axes = {};
};
Wire center_crop_pad(const Wire& input_data, const Wire& shape,
                     const CenterCropPadOptions& options = {}, Place place = Place::here());

// Clip 13: The element kept within [min, max]; bounds that are left out are the type's finite
// limits. (input: T, min?: T, max?: T) -> (output: T) T: bf16 f64 f32 f16 i16 i32 i64 i8 u16 u32
// u64 u8
struct ClipOptions {
  Wire min = {};
  Wire max = {};
};
Wire clip(const Wire& input, const ClipOptions& options = {}, Place place = Place::here());

// Col2Im 18: Columns of blocks put back into an image; what overlaps is added.
// (input: T, image_shape: tensor(int64), block_shape: tensor(int64)) -> (output: T)
// T: bf16 bool c128 c64 f64 f32 f16 i16 i32 i64 i8 string u16 u32 u64 u8
struct Col2ImOptions {
  Given<std::vector<int64_t>> dilations = {};
  Given<std::vector<int64_t>> pads = {};
  Given<std::vector<int64_t>> strides = {};
};
Wire col2im(const Wire& input, const Wire& image_shape, const Wire& block_shape,
            const Col2ImOptions& options = {}, Place place = Place::here());

// Compress 28: The slices along an axis for which the condition holds.
// (input: T, condition: T1) -> (output: T)
// T: bf16 bool c128 c64 f64 f32 f16 i16 i32 i64 i8 string u16 u32 u64 u8
// T1: bool
struct CompressOptions {
  Given<int64_t> axis = {};
};
Wire compress(const Wire& input, const Wire& condition, const CompressOptions& options = {},
              Place place = Place::here());

// Concat 13: Tensors joined along an axis.
// (inputs...: T) -> (concat_result: T)
// T: bf16 bool c128 c64 f64 f32 f16 i16 i32 i64 i8 string u16 u32 u64 u8
struct ConcatOptions {
  Must<int64_t> axis;
};
Wire concat(const Wires& inputs, const ConcatOptions& options, Place place = Place::here());

// ConcatFromSequence 11: The tensors of a sequence, joined along an axis or stacked along a new
// one. (input_sequence: S) -> (concat_result: T) S: seq(tensor(bool)) seq(tensor(complex128))
// seq(tensor(complex64)) seq(tensor(double)) seq(tensor(float)) seq(tensor(float16))
// seq(tensor(int16)) seq(tensor(int32)) seq(tensor(int64)) seq(tensor(int8)) seq(tensor(string))
// seq(tensor(uint16)) seq(tensor(uint32)) seq(tensor(uint64)) seq(tensor(uint8)) T: bool c128 c64
// f64 f32 f16 i16 i32 i64 i8 string u16 u32 u64 u8
struct ConcatFromSequenceOptions {
  Must<int64_t> axis;
  int64_t new_axis = 0;
};
Wire concat_from_sequence(const Wire& input_sequence, const ConcatFromSequenceOptions& options,
                          Place place = Place::here());

// Constant 25: A value that stands in the model.
// () -> (output: T)
// T: bf16 bool c128 c64 f64 f32 f16 f4e2m1 f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz f8e8m0 i16 i2 i32
// i4 i64 i8 string u16 u2 u32 u4 u64 u8
struct ConstantOptions {
  Given<Tensor> sparse_value = {};
  Given<Tensor> value = {};
  Given<float> value_float = {};
  Given<std::vector<float>> value_floats = {};
  Given<int64_t> value_int = {};
  Given<std::vector<int64_t>> value_ints = {};
  Given<std::string> value_string = {};
  Given<std::vector<std::string>> value_strings = {};
};
Wire constant(const Graph& graph, const ConstantOptions& options = {}, Place place = Place::here());

// ConstantOfShape 25: A tensor of the given shape, every element the same.
// (input: T1) -> (output: T2)
// T1: i64
// T2: bf16 bool f64 f32 f16 f4e2m1 f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz f8e8m0 i16 i2 i32 i4 i64
// i8 u16 u2 u32 u4 u64 u8
struct ConstantOfShapeOptions {
  Given<Tensor> value = {};
};
Wire constant_of_shape(const Wire& input, const ConstantOfShapeOptions& options = {},
                       Place place = Place::here());

// Conv 22: Each output is the sum of products of a kernel's weights and the input under it.
// (X: T, W: T, B?: T) -> (Y: T)
// T: bf16 f64 f32 f16
struct ConvOptions {
  Wire b = {};
  std::string auto_pad = "NOTSET";
  Given<std::vector<int64_t>> dilations = {};
  int64_t group = 1;
  Given<std::vector<int64_t>> kernel_shape = {};
  Given<std::vector<int64_t>> pads = {};
  Given<std::vector<int64_t>> strides = {};
};
Wire conv(const Wire& x, const Wire& w, const ConvOptions& options = {},
          Place place = Place::here());

// ConvInteger 10: A convolution of 8-bit integers, less their zero points, in 32 bits.
// (x: T1, w: T2, x_zero_point?: T1, w_zero_point?: T2) -> (y: T3)
// T1: i8 u8
// T2: i8 u8
// T3: i32
struct ConvIntegerOptions {
  Wire x_zero_point = {};
  Wire w_zero_point = {};
  std::string auto_pad = "NOTSET";
  Given<std::vector<int64_t>> dilations = {};
  int64_t group = 1;
  Given<std::vector<int64_t>> kernel_shape = {};
  Given<std::vector<int64_t>> pads = {};
  Given<std::vector<int64_t>> strides = {};
};
Wire conv_integer(const Wire& x, const Wire& w, const ConvIntegerOptions& options = {},
                  Place place = Place::here());

// ConvTranspose 22: The transpose of a convolution: each input element adds the kernel, times
// itself, to the output. (X: T, W: T, B?: T) -> (Y: T) T: bf16 f64 f32 f16
struct ConvTransposeOptions {
  Wire b = {};
  std::string auto_pad = "NOTSET";
  Given<std::vector<int64_t>> dilations = {};
  int64_t group = 1;
  Given<std::vector<int64_t>> kernel_shape = {};
  Given<std::vector<int64_t>> output_padding = {};
  Given<std::vector<int64_t>> output_shape = {};
  Given<std::vector<int64_t>> pads = {};
  Given<std::vector<int64_t>> strides = {};
};
Wire conv_transpose(const Wire& x, const Wire& w, const ConvTransposeOptions& options = {},
                    Place place = Place::here());

// Cos 22: The cosine of radians.
// (input: T) -> (output: T)
// T: bf16 f64 f32 f16
Wire cos(const Wire& input, Place place = Place::here());

// Cosh 22: The hyperbolic cosine.
// (input: T) -> (output: T)
// T: bf16 f64 f32 f16
Wire cosh(const Wire& input, Place place = Place::here());

// CumProd 26: The product of each element and all before it along an axis.
// (x: T, axis: T2) -> (y: T)
// T: bf16 f64 f32 f16 i32 i64 u32 u64
// T2: i32 i64
struct CumProdOptions {
  int64_t exclusive = 0;
  int64_t reverse = 0;
};
Wire cum_prod(const Wire& x, const Wire& axis, const CumProdOptions& options = {},
              Place place = Place::here());

// CumSum 14: The sum of each element and all before it along an axis.
// (x: T, axis: T2) -> (y: T)
// T: bf16 f64 f32 f16 i32 i64 u32 u64
// T2: i32 i64
struct CumSumOptions {
  int64_t exclusive = 0;
  int64_t reverse = 0;
};
Wire cum_sum(const Wire& x, const Wire& axis, const CumSumOptions& options = {},
             Place place = Place::here());

// DFT 20: The discrete Fourier transform along an axis, or its inverse.
// (input: T1, dft_length?: T2, axis?: tensor(int64)) -> (output: T1)
// T1: bf16 f64 f32 f16
// T2: i32 i64
struct DFTOptions {
  Wire dft_length = {};
  Wire axis = {};
  int64_t inverse = 0;
  int64_t onesided = 0;
};
Wire dft(const Wire& input, const DFTOptions& options = {}, Place place = Place::here());

// DeformConv 22: A convolution whose taps are moved by offsets and scaled by a mask.
// (X: T, W: T, offset: T, B?: T, mask?: T) -> (Y: T)
// T: bf16 f64 f32 f16
struct DeformConvOptions {
  Wire b = {};
  Wire mask = {};
  Given<std::vector<int64_t>> dilations = {};
  int64_t group = 1;
  Given<std::vector<int64_t>> kernel_shape = {};
  int64_t offset_group = 1;
  Given<std::vector<int64_t>> pads = {};
  Given<std::vector<int64_t>> strides = {};
};
Wire deform_conv(const Wire& x, const Wire& w, const Wire& offset,
                 const DeformConvOptions& options = {}, Place place = Place::here());

// DepthToSpace 28: Channels moved into square blocks of the image.
// (input: T) -> (output: T)
// T: bf16 bool c128 c64 f64 f32 f16 i16 i32 i64 i8 string u16 u32 u64 u8
struct DepthToSpaceOptions {
  Must<int64_t> blocksize;
  std::string mode = "DCR";
};
Wire depth_to_space(const Wire& input, const DepthToSpaceOptions& options,
                    Place place = Place::here());

// DequantizeLinear 28: Integers (or narrow floats) less a zero point, times a scale.
// (x: T1, x_scale: T2, x_zero_point?: T1) -> (y: T3)
// T1: f4e2m1 f6e2m3 f6e3m2 f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz i16 i2 i32 i4 i8 u16 u2 u4 u8
// T2: bf16 f32 f16 f8e8m0
// T3: bf16 f32 f16
struct DequantizeLinearOptions {
  Wire x_zero_point = {};
  int64_t axis = 1;
  int64_t block_size = 0;
  Given<int64_t> output_dtype = 0;
};
Wire dequantize_linear(const Wire& x, const Wire& x_scale,
                       const DequantizeLinearOptions& options = {}, Place place = Place::here());

// Det 22: The determinants of square matrices.
// (X: T) -> (Y: T)
// T: bf16 f64 f32 f16
Wire det(const Wire& x, Place place = Place::here());

// Div 14: a / b; integers round towards zero, and x / 0 is 0.
// (A: T, B: T) -> (C: T)
// T: bf16 f64 f32 f16 i16 i32 i64 i8 u16 u32 u64 u8
Wire div(const Wire& a, const Wire& b, Place place = Place::here());

// Dropout 22: The input; in training mode a share `ratio` of it is zero and the rest is scaled by 1
// / (1 - ratio). (data: T, ratio?: T1, training_mode?: T2) -> (output: T, mask?: T2) T: bf16 f64
// f32 f16 f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz T1: bf16 f64 f32 f16 f8e4m3fn f8e4m3fnuz f8e5m2
// f8e5m2fnuz T2: bool
struct DropoutOptions {
  Wire ratio = {};
  Wire training_mode = {};
  Given<int64_t> seed = {};
};
struct DropoutOutputs {
  Wire output, mask;
};
DropoutOutputs dropout(const Wire& data, const DropoutOptions& options = {},
                       Place place = Place::here());

// DynamicQuantizeLinear 11: Quantises to uint8 with a scale and zero point found from the elements'
// range. (x: T1) -> (y: T2, y_scale: tensor(float), y_zero_point: T2) T1: f32 T2: u8
struct DynamicQuantizeLinearOutputs {
  Wire y, y_scale, y_zero_point;
};
DynamicQuantizeLinearOutputs dynamic_quantize_linear(const Wire& x, Place place = Place::here());

// Einsum 28: Products of tensors summed over labels, in Einstein's notation.
// (Inputs...: T) -> (Output: T)
// T: bf16 f64 f32 f16 i16 i32 i64 i8 u16 u32 u64 u8
struct EinsumOptions {
  Must<std::string> equation;
};
Wire einsum(const Wires& inputs, const EinsumOptions& options, Place place = Place::here());

// Elu 22: x, or alpha (e^x - 1) below zero.
// (X: T) -> (Y: T)
// T: bf16 f64 f32 f16
struct EluOptions {
  float alpha = 1.0F;
};
Wire elu(const Wire& x, const EluOptions& options = {}, Place place = Place::here());

// Equal 19: a == b, as bool.
// (A: T, B: T) -> (C: T1)
// T: bf16 bool f64 f32 f16 i16 i32 i64 i8 string u16 u32 u64 u8
// T1: bool
Wire equal(const Wire& a, const Wire& b, Place place = Place::here());

// Erf 13: The error function; integers (opset 9) truncate its result.
// (input: T) -> (output: T)
// T: bf16 f64 f32 f16
Wire erf(const Wire& input, Place place = Place::here());

// Exp 13: e^x.
// (input: T) -> (output: T)
// T: bf16 f64 f32 f16
Wire exp(const Wire& input, Place place = Place::here());

// Expand 13: The input repeated along axes of size 1 until it has the broadcast of its shape and
// the given one. (input: T, shape: tensor(int64)) -> (output: T) T: bf16 bool c128 c64 f64 f32 f16
// i16 i32 i64 i8 string u16 u32 u64 u8
Wire expand(const Wire& input, const Wire& shape, Place place = Place::here());

// EyeLike 22: A matrix of the input's shape with ones on a diagonal.
// (input: T1) -> (output: T2)
// T1: bf16 bool f64 f32 f16 i16 i32 i64 i8 u16 u32 u64 u8
// T2: bf16 bool f64 f32 f16 i16 i32 i64 i8 u16 u32 u64 u8
struct EyeLikeOptions {
  Given<int64_t> dtype = {};
  int64_t k = 0;
};
Wire eye_like(const Wire& input, const EyeLikeOptions& options = {}, Place place = Place::here());

// Flatten 25: A matrix: the axes before `axis` are the rows, the others the columns.
// (input: T) -> (output: T)
// T: bf16 bool c128 c64 f64 f32 f16 f4e2m1 f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz f8e8m0 i16 i2 i32
// i4 i64 i8 string u16 u2 u32 u4 u64 u8
struct FlattenOptions {
  int64_t axis = 1;
};
Wire flatten(const Wire& input, const FlattenOptions& options = {}, Place place = Place::here());

// Floor 13: The nearest integer that is not greater.
// (X: T) -> (Y: T)
// T: bf16 f64 f32 f16
Wire floor(const Wire& x, Place place = Place::here());

// GRU 22: A gated recurrent unit layer over sequences, in one or both directions.
// (X: T, W: T, R: T, B?: T, sequence_lens?: T1, initial_h?: T) -> (Y?: T, Y_h?: T)
// T: bf16 f64 f32 f16
// T1: i32
struct GRUOptions {
  Wire b = {};
  Wire sequence_lens = {};
  Wire initial_h = {};
  Given<std::vector<float>> activation_alpha = {};
  Given<std::vector<float>> activation_beta = {};
  Given<std::vector<std::string>> activations = {};
  Given<float> clip = {};
  std::string direction = "forward";
  Given<int64_t> hidden_size = {};
  int64_t layout = 0;
  int64_t linear_before_reset = 0;
};
struct GRUOutputs {
  Wire y, y_h;
};
GRUOutputs gru(const Wire& x, const Wire& w, const Wire& r, const GRUOptions& options = {},
               Place place = Place::here());

// Gather 13: Slices along an axis, picked by index.
// (data: T, indices: Tind) -> (output: T)
// T: bf16 bool c128 c64 f64 f32 f16 i16 i32 i64 i8 string u16 u32 u64 u8
// Tind: i32 i64
struct GatherOptions {
  int64_t axis = 0;
};
Wire gather(const Wire& data, const Wire& indices, const GatherOptions& options = {},
            Place place = Place::here());

// GatherElements 13: Elements picked one by one: the index replaces the position along the axis.
// (data: T, indices: Tind) -> (output: T)
// T: bf16 bool c128 c64 f64 f32 f16 i16 i32 i64 i8 string u16 u32 u64 u8
// Tind: i32 i64
struct GatherElementsOptions {
  int64_t axis = 0;
};
Wire gather_elements(const Wire& data, const Wire& indices,
                     const GatherElementsOptions& options = {}, Place place = Place::here());

// GatherND 13: Slices picked by tuples of indices.
// (data: T, indices: tensor(int64)) -> (output: T)
// T: bf16 bool c128 c64 f64 f32 f16 i16 i32 i64 i8 string u16 u32 u64 u8
struct GatherNDOptions {
  int64_t batch_dims = 0;
};
Wire gather_nd(const Wire& data, const Wire& indices, const GatherNDOptions& options = {},
               Place place = Place::here());

// Gelu 20: x times the normal distribution's share below x, or its approximation by tanh.
// (X: T) -> (Y: T)
// T: bf16 f64 f32 f16
struct GeluOptions {
  std::string approximate = "none";
};
Wire gelu(const Wire& x, const GeluOptions& options = {}, Place place = Place::here());

// Gemm 13: alpha * A * B + beta * C for matrices, each perhaps transposed.
// (A: T, B: T, C?: T) -> (Y: T)
// T: bf16 f64 f32 f16 i32 i64 u32 u64
struct GemmOptions {
  Wire c = {};
  float alpha = 1.0F;
  float beta = 1.0F;
  int64_t trans_a = 0;
  int64_t trans_b = 0;
};
Wire gemm(const Wire& a, const Wire& b, const GemmOptions& options = {},
          Place place = Place::here());

// GlobalAveragePool 22: The mean of each channel's plane.
// (X: T) -> (Y: T)
// T: bf16 f64 f32 f16
Wire global_average_pool(const Wire& x, Place place = Place::here());

// GlobalLpPool 22: The p-norm of each channel's plane.
// (X: T) -> (Y: T)
// T: bf16 f64 f32 f16
struct GlobalLpPoolOptions {
  int64_t p = 2;
};
Wire global_lp_pool(const Wire& x, const GlobalLpPoolOptions& options = {},
                    Place place = Place::here());

// GlobalMaxPool 22: The greatest element of each channel's plane.
// (X: T) -> (Y: T)
// T: bf16 f64 f32 f16
Wire global_max_pool(const Wire& x, Place place = Place::here());

// Greater 13: a > b, as bool.
// (A: T, B: T) -> (C: T1)
// T: bf16 f64 f32 f16 i16 i32 i64 i8 u16 u32 u64 u8
// T1: bool
Wire greater(const Wire& a, const Wire& b, Place place = Place::here());

// GreaterOrEqual 16: a >= b, as bool.
// (A: T, B: T) -> (C: T1)
// T: bf16 f64 f32 f16 i16 i32 i64 i8 u16 u32 u64 u8
// T1: bool
Wire greater_or_equal(const Wire& a, const Wire& b, Place place = Place::here());

// GridSample 22: The input read at the positions that a grid names, between its elements.
// (X: T1, grid: T2) -> (Y: T1)
// T1: bf16 bool c128 c64 f64 f32 f16 i16 i32 i64 i8 string u16 u32 u64 u8
// T2: bf16 f64 f32 f16
struct GridSampleOptions {
  int64_t align_corners = 0;
  std::string mode = "linear";
  std::string padding_mode = "zeros";
};
Wire grid_sample(const Wire& x, const Wire& grid, const GridSampleOptions& options = {},
                 Place place = Place::here());

// GroupNormalization 21: Groups of channels of each sample shifted and scaled to mean 0 and
// variance 1, then times scale plus bias. (X: T, scale: T, bias: T) -> (Y: T) T: bf16 f64 f32 f16
struct GroupNormalizationOptions {
  float epsilon = 1e-05F;
  Must<int64_t> num_groups;
  Given<int64_t> stash_type = 1;
};
Wire group_normalization(const Wire& x, const Wire& scale, const Wire& bias,
                         const GroupNormalizationOptions& options, Place place = Place::here());

// HammingWindow 17: A Hamming window of a given length.
// (size: T1) -> (output: T2)
// T1: i32 i64
// T2: bf16 f64 f32 f16 i16 i32 i64 i8 u16 u32 u64 u8
struct HammingWindowOptions {
  Given<int64_t> output_datatype = 1;
  int64_t periodic = 1;
};
Wire hamming_window(const Wire& size, const HammingWindowOptions& options = {},
                    Place place = Place::here());

// HannWindow 17: A Hann window of a given length.
// (size: T1) -> (output: T2)
// T1: i32 i64
// T2: bf16 f64 f32 f16 i16 i32 i64 i8 u16 u32 u64 u8
struct HannWindowOptions {
  Given<int64_t> output_datatype = 1;
  int64_t periodic = 1;
};
Wire hann_window(const Wire& size, const HannWindowOptions& options = {},
                 Place place = Place::here());

// HardSigmoid 22: alpha x + beta, kept within [0, 1].
// (X: T) -> (Y: T)
// T: bf16 f64 f32 f16
struct HardSigmoidOptions {
  float alpha = 0.2F;
  float beta = 0.5F;
};
Wire hard_sigmoid(const Wire& x, const HardSigmoidOptions& options = {},
                  Place place = Place::here());

// HardSwish 22: x times x / 6 + 1/2 kept within [0, 1].
// (X: T) -> (Y: T)
// T: bf16 f64 f32 f16
Wire hard_swish(const Wire& x, Place place = Place::here());

// Hardmax 13: 1 at the greatest element along an axis, 0 elsewhere.
// (input: T) -> (output: T)
// T: bf16 f64 f32 f16
struct HardmaxOptions {
  int64_t axis = -1;
};
Wire hardmax(const Wire& input, const HardmaxOptions& options = {}, Place place = Place::here());

// Identity 25: The input itself.
// (input: V) -> (output: V)
// V: optional(seq(tensor(bool))) optional(seq(tensor(complex128))) optional(seq(tensor(complex64)))
// optional(seq(tensor(double))) optional(seq(tensor(float))) optional(seq(tensor(float16)))
// optional(seq(tensor(int16))) optional(seq(tensor(int32))) optional(seq(tensor(int64)))
// optional(seq(tensor(int8))) optional(seq(tensor(string))) optional(seq(tensor(uint16)))
// optional(seq(tensor(uint32))) optional(seq(tensor(uint64))) optional(seq(tensor(uint8)))
// optional(tensor(bool)) optional(tensor(complex128)) optional(tensor(complex64))
// optional(tensor(double)) optional(tensor(float)) optional(tensor(float16))
// optional(tensor(int16)) optional(tensor(int32)) optional(tensor(int64)) optional(tensor(int8))
// optional(tensor(string)) optional(tensor(uint16)) optional(tensor(uint32))
// optional(tensor(uint64)) optional(tensor(uint8)) seq(tensor(bool)) seq(tensor(complex128))
// seq(tensor(complex64)) seq(tensor(double)) seq(tensor(float)) seq(tensor(float16))
// seq(tensor(int16)) seq(tensor(int32)) seq(tensor(int64)) seq(tensor(int8)) seq(tensor(string))
// seq(tensor(uint16)) seq(tensor(uint32)) seq(tensor(uint64)) seq(tensor(uint8)) bf16 bool c128 c64
// f64 f32 f16 f4e2m1 f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz f8e8m0 i16 i2 i32 i4 i64 i8 string u16
// u2 u32 u4 u64 u8
Wire identity(const Wire& input, Place place = Place::here());

// ImageDecoder 20: The pixels of an image file.
// (encoded_stream: T1) -> (image: T2)
// T1: u8
// T2: u8
struct ImageDecoderOptions {
  std::string pixel_format = "RGB";
};
Wire image_decoder(const Wire& encoded_stream, const ImageDecoderOptions& options = {},
                   Place place = Place::here());

// InstanceNormalization 22: Each channel of each sample shifted and scaled to mean 0 and variance
// 1, then times scale plus B. (input: T, scale: T, B: T) -> (output: T) T: bf16 f64 f32 f16
struct InstanceNormalizationOptions {
  float epsilon = 1e-05F;
};
Wire instance_normalization(const Wire& input, const Wire& scale, const Wire& b,
                            const InstanceNormalizationOptions& options = {},
                            Place place = Place::here());

// IsInf 20: Whether the element is an infinity of a sign that is asked for.
// (X: T1) -> (Y: T2)
// T1: bf16 f64 f32 f16 f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz
// T2: bool
struct IsInfOptions {
  int64_t detect_negative = 1;
  int64_t detect_positive = 1;
};
Wire is_inf(const Wire& x, const IsInfOptions& options = {}, Place place = Place::here());

// IsNaN 20: Whether the element is NaN.
// (X: T1) -> (Y: T2)
// T1: bf16 f64 f32 f16 f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz
// T2: bool
Wire is_nan(const Wire& x, Place place = Place::here());

// LRN 13: Each element divided by a power of the sum of squares of its neighbours in other
// channels. (X: T) -> (Y: T) T: bf16 f64 f32 f16
struct LRNOptions {
  float alpha = 0.0001F;
  float beta = 0.75F;
  float bias = 1.0F;
  Must<int64_t> size;
};
Wire lrn(const Wire& x, const LRNOptions& options, Place place = Place::here());

// LSTM 22: A long short-term memory layer over sequences, in one or both directions.
// (X: T, W: T, R: T, B?: T, sequence_lens?: T1, initial_h?: T, initial_c?: T, P?: T) -> (Y?: T,
// Y_h?: T, Y_c?: T) T: bf16 f64 f32 f16 T1: i32
struct LSTMOptions {
  Wire b = {};
  Wire sequence_lens = {};
  Wire initial_h = {};
  Wire initial_c = {};
  Wire p = {};
  Given<std::vector<float>> activation_alpha = {};
  Given<std::vector<float>> activation_beta = {};
  Given<std::vector<std::string>> activations = {};
  Given<float> clip = {};
  std::string direction = "forward";
  Given<int64_t> hidden_size = {};
  int64_t input_forget = 0;
  int64_t layout = 0;
};
struct LSTMOutputs {
  Wire y, y_h, y_c;
};
LSTMOutputs lstm(const Wire& x, const Wire& w, const Wire& r, const LSTMOptions& options = {},
                 Place place = Place::here());

// LayerNormalization 17: Rows shifted and scaled to mean 0 and variance 1, then times Scale plus B.
// (X: T, Scale: T, B?: T) -> (Y: T, Mean?: U, InvStdDev?: U)
// T: bf16 f64 f32 f16
// U: bf16 f32
struct LayerNormalizationOptions {
  Wire b = {};
  int64_t axis = -1;
  float epsilon = 1e-05F;
  Given<int64_t> stash_type = 1;
};
struct LayerNormalizationOutputs {
  Wire y, mean, inv_std_dev;
};
LayerNormalizationOutputs layer_normalization(const Wire& x, const Wire& scale,
                                              const LayerNormalizationOptions& options = {},
                                              Place place = Place::here());

// LeakyRelu 16: x, or alpha x below zero.
// (X: T) -> (Y: T)
// T: bf16 f64 f32 f16
struct LeakyReluOptions {
  float alpha = 0.01F;
};
Wire leaky_relu(const Wire& x, const LeakyReluOptions& options = {}, Place place = Place::here());

// Less 13: a < b, as bool.
// (A: T, B: T) -> (C: T1)
// T: bf16 f64 f32 f16 i16 i32 i64 i8 u16 u32 u64 u8
// T1: bool
Wire less(const Wire& a, const Wire& b, Place place = Place::here());

// LessOrEqual 16: a <= b, as bool.
// (A: T, B: T) -> (C: T1)
// T: bf16 f64 f32 f16 i16 i32 i64 i8 u16 u32 u64 u8
// T1: bool
Wire less_or_equal(const Wire& a, const Wire& b, Place place = Place::here());

// LinearAttention 27: Attention as a recurrence over a state matrix: linear, gated, delta or gated
// delta rule. (query: T, key: T, value: T, past_state?: S, decay?: T, beta?: T) -> (output: T,
// present_state: S) S: bf16 f32 f16 T: bf16 f32 f16
struct LinearAttentionOptions {
  Wire past_state = {};
  Wire decay = {};
  Wire beta = {};
  int64_t chunk_size = 64;
  Must<int64_t> kv_num_heads;
  Must<int64_t> q_num_heads;
  float scale = 0.0F;
  std::string update_rule = "gated_delta";
};
struct LinearAttentionOutputs {
  Wire output, present_state;
};
LinearAttentionOutputs linear_attention(const Wire& query, const Wire& key, const Wire& value,
                                        const LinearAttentionOptions& options,
                                        Place place = Place::here());

// Log 13: The natural logarithm; -inf at zero, NaN below.
// (input: T) -> (output: T)
// T: bf16 f64 f32 f16
Wire log(const Wire& input, Place place = Place::here());

// LogSoftmax 13: The logarithm of Softmax, computed without forming Softmax.
// (input: T) -> (output: T)
// T: bf16 f64 f32 f16
struct LogSoftmaxOptions {
  int64_t axis = -1;
};
Wire log_softmax(const Wire& input, const LogSoftmaxOptions& options = {},
                 Place place = Place::here());

// LpNormalization 22: Vectors along an axis divided by their 1- or 2-norm.
// (input: T) -> (output: T)
// T: bf16 f64 f32 f16
struct LpNormalizationOptions {
  int64_t axis = -1;
  int64_t p = 2;
};
Wire lp_normalization(const Wire& input, const LpNormalizationOptions& options = {},
                      Place place = Place::here());

// LpPool 22: The p-norm of each window.
// (X: T) -> (Y: T)
// T: bf16 f64 f32 f16
struct LpPoolOptions {
  std::string auto_pad = "NOTSET";
  int64_t ceil_mode = 0;
  Given<std::vector<int64_t>> dilations = {};
  Must<std::vector<int64_t>> kernel_shape;
  int64_t p = 2;
  Given<std::vector<int64_t>> pads = {};
  Given<std::vector<int64_t>> strides = {};
};
Wire lp_pool(const Wire& x, const LpPoolOptions& options, Place place = Place::here());

// MatMul 13: The product of matrices; leading axes are batches that broadcast.
// (A: T, B: T) -> (Y: T)
// T: bf16 f64 f32 f16 i32 i64 u32 u64
Wire matmul(const Wire& a, const Wire& b, Place place = Place::here());

// MatMulInteger 10: The product of 8-bit integer matrices, less their zero points, in 32 bits.
// (A: T1, B: T2, a_zero_point?: T1, b_zero_point?: T2) -> (Y: T3)
// T1: i8 u8
// T2: i8 u8
// T3: i32
struct MatMulIntegerOptions {
  Wire a_zero_point = {};
  Wire b_zero_point = {};
};
Wire matmul_integer(const Wire& a, const Wire& b, const MatMulIntegerOptions& options = {},
                    Place place = Place::here());

// Max 13: The greatest of the inputs' elements.
// (data_0...: T) -> (max: T)
// T: bf16 f64 f32 f16 i16 i32 i64 i8 u16 u32 u64 u8
Wire max(const Wires& data_0, Place place = Place::here());

// MaxPool 22: The greatest element of each window.
// (X: T) -> (Y: T, Indices?: I)
// I: i64
// T: bf16 f64 f32 f16 i8 u8
struct MaxPoolOptions {
  std::string auto_pad = "NOTSET";
  int64_t ceil_mode = 0;
  Given<std::vector<int64_t>> dilations = {};
  Must<std::vector<int64_t>> kernel_shape;
  Given<std::vector<int64_t>> pads = {};
  int64_t storage_order = 0;
  Given<std::vector<int64_t>> strides = {};
};
struct MaxPoolOutputs {
  Wire y, indices;
};
MaxPoolOutputs max_pool(const Wire& x, const MaxPoolOptions& options, Place place = Place::here());

// MaxRoiPool 22: The greatest element of each bin of each region of interest.
// (X: T, rois: T) -> (Y: T)
// T: bf16 f64 f32 f16
struct MaxRoiPoolOptions {
  Must<std::vector<int64_t>> pooled_shape;
  float spatial_scale = 1.0F;
};
Wire max_roi_pool(const Wire& x, const Wire& rois, const MaxRoiPoolOptions& options,
                  Place place = Place::here());

// MaxUnpool 22: The partial inverse of MaxPool: its maxima at their places, zeros elsewhere.
// (X: T1, I: T2, output_shape?: T2) -> (output: T1)
// T1: bf16 f64 f32 f16
// T2: i64
struct MaxUnpoolOptions {
  Wire output_shape = {};
  Must<std::vector<int64_t>> kernel_shape;
  Given<std::vector<int64_t>> pads = {};
  Given<std::vector<int64_t>> strides = {};
};
Wire max_unpool(const Wire& x, const Wire& i, const MaxUnpoolOptions& options,
                Place place = Place::here());

// Mean 13: The mean of the inputs' elements.
// (data_0...: T) -> (mean: T)
// T: bf16 f64 f32 f16
Wire mean(const Wires& data_0, Place place = Place::here());

// MeanVarianceNormalization 13: Shifted and scaled to mean 0 and variance 1 over axes.
// (X: T) -> (Y: T)
// T: bf16 f64 f32 f16
struct MeanVarianceNormalizationOptions {
  Given<std::vector<int64_t>> axes = {0, 2, 3};
};
Wire mean_variance_normalization(const Wire& x,
                                 const MeanVarianceNormalizationOptions& options = {},
                                 Place place = Place::here());

// MelWeightMatrix 17: Triangular weights that sum a spectrum's lines into bands equally spaced on
// the mel scale. (num_mel_bins: T1, dft_length: T1, sample_rate: T1, lower_edge_hertz: T2,
// upper_edge_hertz: T2) -> (output: T3) T1: i32 i64 T2: bf16 f64 f32 f16 T3: bf16 f64 f32 f16 i16
// i32 i64 i8 u16 u32 u64 u8
struct MelWeightMatrixOptions {
  Given<int64_t> output_datatype = 1;
};
Wire mel_weight_matrix(const Wire& num_mel_bins, const Wire& dft_length, const Wire& sample_rate,
                       const Wire& lower_edge_hertz, const Wire& upper_edge_hertz,
                       const MelWeightMatrixOptions& options = {}, Place place = Place::here());

// Min 13: The least of the inputs' elements.
// (data_0...: T) -> (min: T)
// T: bf16 f64 f32 f16 i16 i32 i64 i8 u16 u32 u64 u8
Wire min(const Wires& data_0, Place place = Place::here());

// Mish 22: x tanh(softplus(x)).
// (X: T) -> (Y: T)
// T: bf16 f64 f32 f16
Wire mish(const Wire& x, Place place = Place::here());

// Mod 28: The remainder of a / b with the sign of b, or with the sign of a if fmod is 1.
// (A: T, B: T) -> (C: T)
// T: bf16 f64 f32 f16 i16 i32 i64 i8 u16 u32 u64 u8
struct ModOptions {
  int64_t fmod = 0;
};
Wire mod(const Wire& a, const Wire& b, const ModOptions& options = {}, Place place = Place::here());

// Mul 14: a * b.
// (A: T, B: T) -> (C: T)
// T: bf16 f64 f32 f16 i16 i32 i64 i8 u16 u32 u64 u8
Wire mul(const Wire& a, const Wire& b, Place place = Place::here());

// Multinomial 22: Classes drawn by their unnormalised log-probabilities; the same for the same
// seed. (input: T1) -> (output: T2) T1: bf16 f64 f32 f16 T2: i32 i64
struct MultinomialOptions {
  Given<int64_t> dtype = 6;
  int64_t sample_size = 1;
  Given<float> seed = {};
};
Wire multinomial(const Wire& input, const MultinomialOptions& options = {},
                 Place place = Place::here());

// Neg 13: -x.
// (X: T) -> (Y: T)
// T: bf16 f64 f32 f16 i16 i32 i64 i8
Wire neg(const Wire& x, Place place = Place::here());

// NegativeLogLikelihoodLoss 22: Minus the log-probability of each sample's class, weighted, and its
// sum or mean. (input: T, target: Tind, weight?: T) -> (loss: T) T: bf16 f64 f32 f16 Tind: i32 i64
struct NegativeLogLikelihoodLossOptions {
  Wire weight = {};
  Given<int64_t> ignore_index = {};
  std::string reduction = "mean";
};
Wire negative_log_likelihood_loss(const Wire& input, const Wire& target,
                                  const NegativeLogLikelihoodLossOptions& options = {},
                                  Place place = Place::here());

// NonMaxSuppression 11: The boxes of each class with the best scores that do not overlap too much.
// (boxes: tensor(float), scores: tensor(float), max_output_boxes_per_class?: tensor(int64),
// iou_threshold?: tensor(float), score_threshold?: tensor(float)) -> (selected_indices:
// tensor(int64))
struct NonMaxSuppressionOptions {
  Wire max_output_boxes_per_class = {};
  Wire iou_threshold = {};
  Wire score_threshold = {};
  int64_t center_point_box = 0;
};
Wire non_max_suppression(const Wire& boxes, const Wire& scores,
                         const NonMaxSuppressionOptions& options = {}, Place place = Place::here());

// NonZero 13: The positions of the elements that are not zero, one per column, in row-major order.
// (X: T) -> (Y: tensor(int64))
// T: bf16 bool c128 c64 f64 f32 f16 i16 i32 i64 i8 string u16 u32 u64 u8
Wire non_zero(const Wire& x, Place place = Place::here());

// Not 1: Whether it is false.
// (X: T) -> (Y: T)
// T: bool
Wire not_(const Wire& x, Place place = Place::here());

// OneHot 28: A new axis on which the position given by each index is marked.
// (indices: T1, depth: T2, values: T3) -> (output: T3)
// T1: f64 f32 f16 i16 i32 i64 i8 u16 u32 u64 u8
// T2: f64 f32 f16 i16 i32 i64 i8 u16 u32 u64 u8
// T3: bf16 bool c128 c64 f64 f32 f16 i16 i32 i64 i8 string u16 u32 u64 u8
struct OneHotOptions {
  int64_t axis = -1;
};
Wire one_hot(const Wire& indices, const Wire& depth, const Wire& values,
             const OneHotOptions& options = {}, Place place = Place::here());

// Optional 28: The input as an optional; without one, an optional that holds nothing.
// (input?: V) -> (output: O)
// O: optional(seq(tensor(bfloat16))) optional(seq(tensor(bool))) optional(seq(tensor(complex128)))
// optional(seq(tensor(complex64))) optional(seq(tensor(double))) optional(seq(tensor(float)))
// optional(seq(tensor(float16))) optional(seq(tensor(float4e2m1)))
// optional(seq(tensor(float6e2m3))) optional(seq(tensor(float6e3m2)))
// optional(seq(tensor(float8e4m3fn))) optional(seq(tensor(float8e4m3fnuz)))
// optional(seq(tensor(float8e5m2))) optional(seq(tensor(float8e5m2fnuz)))
// optional(seq(tensor(float8e8m0))) optional(seq(tensor(int16))) optional(seq(tensor(int2)))
// optional(seq(tensor(int32))) optional(seq(tensor(int4))) optional(seq(tensor(int64)))
// optional(seq(tensor(int8))) optional(seq(tensor(string))) optional(seq(tensor(uint16)))
// optional(seq(tensor(uint2))) optional(seq(tensor(uint32))) optional(seq(tensor(uint4)))
// optional(seq(tensor(uint64))) optional(seq(tensor(uint8))) optional(tensor(bfloat16))
// optional(tensor(bool)) optional(tensor(complex128)) optional(tensor(complex64))
// optional(tensor(double)) optional(tensor(float)) optional(tensor(float16))
// optional(tensor(float4e2m1)) optional(tensor(float6e2m3)) optional(tensor(float6e3m2))
// optional(tensor(float8e4m3fn)) optional(tensor(float8e4m3fnuz)) optional(tensor(float8e5m2))
// optional(tensor(float8e5m2fnuz)) optional(tensor(float8e8m0)) optional(tensor(int16))
// optional(tensor(int2)) optional(tensor(int32)) optional(tensor(int4)) optional(tensor(int64))
// optional(tensor(int8)) optional(tensor(string)) optional(tensor(uint16)) optional(tensor(uint2))
// optional(tensor(uint32)) optional(tensor(uint4)) optional(tensor(uint64)) optional(tensor(uint8))
// V: seq(tensor(bfloat16)) seq(tensor(bool)) seq(tensor(complex128)) seq(tensor(complex64))
// seq(tensor(double)) seq(tensor(float)) seq(tensor(float16)) seq(tensor(float4e2m1))
// seq(tensor(float6e2m3)) seq(tensor(float6e3m2)) seq(tensor(float8e4m3fn))
// seq(tensor(float8e4m3fnuz)) seq(tensor(float8e5m2)) seq(tensor(float8e5m2fnuz))
// seq(tensor(float8e8m0)) seq(tensor(int16)) seq(tensor(int2)) seq(tensor(int32)) seq(tensor(int4))
// seq(tensor(int64)) seq(tensor(int8)) seq(tensor(string)) seq(tensor(uint16)) seq(tensor(uint2))
// seq(tensor(uint32)) seq(tensor(uint4)) seq(tensor(uint64)) seq(tensor(uint8)) bf16 bool c128 c64
// f64 f32 f16 f4e2m1 f6e2m3 f6e3m2 f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz f8e8m0 i16 i2 i32 i4 i64
// i8 string u16 u2 u32 u4 u64 u8
struct OptionalOptions {
  Wire input = {};
  Given<Fact> type = {};
};
Wire optional(const Graph& graph, const OptionalOptions& options = {}, Place place = Place::here());

// OptionalGetElement 28: What an optional holds; an error if that is nothing.
// (input: O) -> (output: V)
// O: optional(seq(tensor(bfloat16))) optional(seq(tensor(bool))) optional(seq(tensor(complex128)))
// optional(seq(tensor(complex64))) optional(seq(tensor(double))) optional(seq(tensor(float)))
// optional(seq(tensor(float16))) optional(seq(tensor(float4e2m1)))
// optional(seq(tensor(float6e2m3))) optional(seq(tensor(float6e3m2)))
// optional(seq(tensor(float8e4m3fn))) optional(seq(tensor(float8e4m3fnuz)))
// optional(seq(tensor(float8e5m2))) optional(seq(tensor(float8e5m2fnuz)))
// optional(seq(tensor(float8e8m0))) optional(seq(tensor(int16))) optional(seq(tensor(int2)))
// optional(seq(tensor(int32))) optional(seq(tensor(int4))) optional(seq(tensor(int64)))
// optional(seq(tensor(int8))) optional(seq(tensor(string))) optional(seq(tensor(uint16)))
// optional(seq(tensor(uint2))) optional(seq(tensor(uint32))) optional(seq(tensor(uint4)))
// optional(seq(tensor(uint64))) optional(seq(tensor(uint8))) optional(tensor(bfloat16))
// optional(tensor(bool)) optional(tensor(complex128)) optional(tensor(complex64))
// optional(tensor(double)) optional(tensor(float)) optional(tensor(float16))
// optional(tensor(float4e2m1)) optional(tensor(float6e2m3)) optional(tensor(float6e3m2))
// optional(tensor(float8e4m3fn)) optional(tensor(float8e4m3fnuz)) optional(tensor(float8e5m2))
// optional(tensor(float8e5m2fnuz)) optional(tensor(float8e8m0)) optional(tensor(int16))
// optional(tensor(int2)) optional(tensor(int32)) optional(tensor(int4)) optional(tensor(int64))
// optional(tensor(int8)) optional(tensor(string)) optional(tensor(uint16)) optional(tensor(uint2))
// optional(tensor(uint32)) optional(tensor(uint4)) optional(tensor(uint64)) optional(tensor(uint8))
// seq(tensor(bfloat16)) seq(tensor(bool)) seq(tensor(complex128)) seq(tensor(complex64))
// seq(tensor(double)) seq(tensor(float)) seq(tensor(float16)) seq(tensor(float4e2m1))
// seq(tensor(float6e2m3)) seq(tensor(float6e3m2)) seq(tensor(float8e4m3fn))
// seq(tensor(float8e4m3fnuz)) seq(tensor(float8e5m2)) seq(tensor(float8e5m2fnuz))
// seq(tensor(float8e8m0)) seq(tensor(int16)) seq(tensor(int2)) seq(tensor(int32)) seq(tensor(int4))
// seq(tensor(int64)) seq(tensor(int8)) seq(tensor(string)) seq(tensor(uint16)) seq(tensor(uint2))
// seq(tensor(uint32)) seq(tensor(uint4)) seq(tensor(uint64)) seq(tensor(uint8)) bf16 bool c128 c64
// f64 f32 f16 f4e2m1 f6e2m3 f6e3m2 f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz f8e8m0 i16 i2 i32 i4 i64
// i8 string u16 u2 u32 u4 u64 u8 V: seq(tensor(bfloat16)) seq(tensor(bool)) seq(tensor(complex128))
// seq(tensor(complex64)) seq(tensor(double)) seq(tensor(float)) seq(tensor(float16))
// seq(tensor(float4e2m1)) seq(tensor(float6e2m3)) seq(tensor(float6e3m2)) seq(tensor(float8e4m3fn))
// seq(tensor(float8e4m3fnuz)) seq(tensor(float8e5m2)) seq(tensor(float8e5m2fnuz))
// seq(tensor(float8e8m0)) seq(tensor(int16)) seq(tensor(int2)) seq(tensor(int32)) seq(tensor(int4))
// seq(tensor(int64)) seq(tensor(int8)) seq(tensor(string)) seq(tensor(uint16)) seq(tensor(uint2))
// seq(tensor(uint32)) seq(tensor(uint4)) seq(tensor(uint64)) seq(tensor(uint8)) bf16 bool c128 c64
// f64 f32 f16 f4e2m1 f6e2m3 f6e3m2 f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz f8e8m0 i16 i2 i32 i4 i64
// i8 string u16 u2 u32 u4 u64 u8
Wire optional_get_element(const Wire& input, Place place = Place::here());

// OptionalHasElement 28: Whether an optional holds something.
// (input?: O) -> (output: B)
// B: bool
// O: optional(seq(tensor(bfloat16))) optional(seq(tensor(bool))) optional(seq(tensor(complex128)))
// optional(seq(tensor(complex64))) optional(seq(tensor(double))) optional(seq(tensor(float)))
// optional(seq(tensor(float16))) optional(seq(tensor(float4e2m1)))
// optional(seq(tensor(float6e2m3))) optional(seq(tensor(float6e3m2)))
// optional(seq(tensor(float8e4m3fn))) optional(seq(tensor(float8e4m3fnuz)))
// optional(seq(tensor(float8e5m2))) optional(seq(tensor(float8e5m2fnuz)))
// optional(seq(tensor(float8e8m0))) optional(seq(tensor(int16))) optional(seq(tensor(int2)))
// optional(seq(tensor(int32))) optional(seq(tensor(int4))) optional(seq(tensor(int64)))
// optional(seq(tensor(int8))) optional(seq(tensor(string))) optional(seq(tensor(uint16)))
// optional(seq(tensor(uint2))) optional(seq(tensor(uint32))) optional(seq(tensor(uint4)))
// optional(seq(tensor(uint64))) optional(seq(tensor(uint8))) optional(tensor(bfloat16))
// optional(tensor(bool)) optional(tensor(complex128)) optional(tensor(complex64))
// optional(tensor(double)) optional(tensor(float)) optional(tensor(float16))
// optional(tensor(float4e2m1)) optional(tensor(float6e2m3)) optional(tensor(float6e3m2))
// optional(tensor(float8e4m3fn)) optional(tensor(float8e4m3fnuz)) optional(tensor(float8e5m2))
// optional(tensor(float8e5m2fnuz)) optional(tensor(float8e8m0)) optional(tensor(int16))
// optional(tensor(int2)) optional(tensor(int32)) optional(tensor(int4)) optional(tensor(int64))
// optional(tensor(int8)) optional(tensor(string)) optional(tensor(uint16)) optional(tensor(uint2))
// optional(tensor(uint32)) optional(tensor(uint4)) optional(tensor(uint64)) optional(tensor(uint8))
// seq(tensor(bfloat16)) seq(tensor(bool)) seq(tensor(complex128)) seq(tensor(complex64))
// seq(tensor(double)) seq(tensor(float)) seq(tensor(float16)) seq(tensor(float4e2m1))
// seq(tensor(float6e2m3)) seq(tensor(float6e3m2)) seq(tensor(float8e4m3fn))
// seq(tensor(float8e4m3fnuz)) seq(tensor(float8e5m2)) seq(tensor(float8e5m2fnuz))
// seq(tensor(float8e8m0)) seq(tensor(int16)) seq(tensor(int2)) seq(tensor(int32)) seq(tensor(int4))
// seq(tensor(int64)) seq(tensor(int8)) seq(tensor(string)) seq(tensor(uint16)) seq(tensor(uint2))
// seq(tensor(uint32)) seq(tensor(uint4)) seq(tensor(uint64)) seq(tensor(uint8)) bf16 bool c128 c64
// f64 f32 f16 f4e2m1 f6e2m3 f6e3m2 f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz f8e8m0 i16 i2 i32 i4 i64
// i8 string u16 u2 u32 u4 u64 u8
struct OptionalHasElementOptions {
  Wire input = {};
};
Wire optional_has_element(const Graph& graph, const OptionalHasElementOptions& options = {},
                          Place place = Place::here());

// Or 7: Whether one or both are true.
// (A: T, B: T) -> (C: T1)
// T: bool
// T1: bool
Wire or_(const Wire& a, const Wire& b, Place place = Place::here());

// PRelu 16: x, or slope x below zero.
// (X: T, slope: T) -> (Y: T)
// T: bf16 f64 f32 f16 i32 i64 u32 u64
Wire prelu(const Wire& x, const Wire& slope, Place place = Place::here());

// Pad 25: Elements put before and after, or with negative pads taken away: a constant, the edge, a
// mirror or a torus. (data: T, pads: tensor(int64), constant_value?: T, axes?: Tind) -> (output: T)
// T: bf16 bool c128 c64 f64 f32 f16 f4e2m1 f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz f8e8m0 i16 i2 i32
// i4 i64 i8 string u16 u2 u32 u4 u64 u8 Tind: i32 i64
struct PadOptions {
  Wire constant_value = {};
  Wire axes = {};
  std::string mode = "constant";
};
Wire pad(const Wire& data, const Wire& pads, const PadOptions& options = {},
         Place place = Place::here());

// Pow 15: x to the power of y, in the type of x.
// (X: T, Y: T1) -> (Z: T)
// T: bf16 f64 f32 f16 i32 i64
// T1: bf16 f64 f32 f16 i16 i32 i64 i8 u16 u32 u64 u8
Wire pow(const Wire& x, const Wire& y, Place place = Place::here());

// QLinearConv 10: A convolution of quantised tensors, quantised again.
// (x: T1, x_scale: tensor(float), x_zero_point: T1, w: T2, w_scale: tensor(float), w_zero_point:
// T2, y_scale: tensor(float), y_zero_point: T3, B?: T4) -> (y: T3) T1: i8 u8 T2: i8 u8 T3: i8 u8
// T4: i32
struct QLinearConvOptions {
  Wire b = {};
  std::string auto_pad = "NOTSET";
  Given<std::vector<int64_t>> dilations = {};
  int64_t group = 1;
  Given<std::vector<int64_t>> kernel_shape = {};
  Given<std::vector<int64_t>> pads = {};
  Given<std::vector<int64_t>> strides = {};
};
Wire qlinear_conv(const Wire& x, const Wire& x_scale, const Wire& x_zero_point, const Wire& w,
                  const Wire& w_scale, const Wire& w_zero_point, const Wire& y_scale,
                  const Wire& y_zero_point, const QLinearConvOptions& options = {},
                  Place place = Place::here());

// QLinearMatMul 21: The product of quantised matrices, quantised again.
// (a: T1, a_scale: TS, a_zero_point: T1, b: T2, b_scale: TS, b_zero_point: T2, y_scale: TS,
// y_zero_point: T3) -> (y: T3) T1: f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz i8 u8 T2: f8e4m3fn
// f8e4m3fnuz f8e5m2 f8e5m2fnuz i8 u8 T3: f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz i8 u8 TS: bf16 f32
// f16
Wire qlinear_matmul(const Wire& a, const Wire& a_scale, const Wire& a_zero_point, const Wire& b,
                    const Wire& b_scale, const Wire& b_zero_point, const Wire& y_scale,
                    const Wire& y_zero_point, Place place = Place::here());

// QuantizeLinear 28: Elements divided by a scale, rounded to integers (or narrow floats) around a
// zero point. (x: T1, y_scale: T2, y_zero_point?: T3) -> (y: T3) T1: bf16 f32 f16 i32 T2: bf16 f32
// f16 f8e8m0 i32 T3: f4e2m1 f6e2m3 f6e3m2 f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz i16 i2 i4 i8 u16 u2
// u4 u8
struct QuantizeLinearOptions {
  Wire y_zero_point = {};
  int64_t axis = 1;
  int64_t block_size = 0;
  Given<int64_t> output_dtype = 0;
  Given<int64_t> precision = 0;
  int64_t saturate = 1;
};
Wire quantize_linear(const Wire& x, const Wire& y_scale, const QuantizeLinearOptions& options = {},
                     Place place = Place::here());

// RMSNormalization 23: Rows divided by the root of their mean square, then times scale.
// (X: T, scale: V) -> (Y: V)
// T: bf16 f64 f32 f16
// V: bf16 f64 f32 f16
struct RMSNormalizationOptions {
  int64_t axis = -1;
  float epsilon = 1e-05F;
  Given<int64_t> stash_type = 1;
};
Wire rms_normalization(const Wire& x, const Wire& scale,
                       const RMSNormalizationOptions& options = {}, Place place = Place::here());

// RNN 22: A simple recurrent layer over sequences, in one or both directions.
// (X: T, W: T, R: T, B?: T, sequence_lens?: T1, initial_h?: T) -> (Y?: T, Y_h?: T)
// T: bf16 f64 f32 f16
// T1: i32
struct RNNOptions {
  Wire b = {};
  Wire sequence_lens = {};
  Wire initial_h = {};
  Given<std::vector<float>> activation_alpha = {};
  Given<std::vector<float>> activation_beta = {};
  Given<std::vector<std::string>> activations = {"Tanh", "Tanh"};
  Given<float> clip = {};
  std::string direction = "forward";
  Given<int64_t> hidden_size = {};
  int64_t layout = 0;
};
struct RNNOutputs {
  Wire y, y_h;
};
RNNOutputs rnn(const Wire& x, const Wire& w, const Wire& r, const RNNOptions& options = {},
               Place place = Place::here());

// RandomNormal 22: A tensor of normally distributed numbers, the same for the same seed.
// () -> (output: T)
// T: bf16 f64 f32 f16
struct RandomNormalOptions {
  Given<int64_t> dtype = 1;
  float mean = 0.0F;
  float scale = 1.0F;
  Given<float> seed = {};
  Must<std::vector<int64_t>> shape;
};
Wire random_normal(const Graph& graph, const RandomNormalOptions& options,
                   Place place = Place::here());

// RandomNormalLike 22: RandomNormal with the shape of the input.
// (input: T1) -> (output: T2)
// T1: bf16 bool c128 c64 f64 f32 f16 i16 i32 i64 i8 string u16 u32 u64 u8
// T2: bf16 f64 f32 f16
struct RandomNormalLikeOptions {
  Given<int64_t> dtype = {};
  float mean = 0.0F;
  float scale = 1.0F;
  Given<float> seed = {};
};
Wire random_normal_like(const Wire& input, const RandomNormalLikeOptions& options = {},
                        Place place = Place::here());

// RandomUniform 22: A tensor of numbers drawn uniformly from [low, high), the same for the same
// seed.
// () -> (output: T)
// T: bf16 f64 f32 f16
struct RandomUniformOptions {
  Given<int64_t> dtype = 1;
  float high = 1.0F;
  float low = 0.0F;
  Given<float> seed = {};
  Must<std::vector<int64_t>> shape;
};
Wire random_uniform(const Graph& graph, const RandomUniformOptions& options,
                    Place place = Place::here());

// RandomUniformLike 22: RandomUniform with the shape of the input.
// (input: T1) -> (output: T2)
// T1: bf16 bool c128 c64 f64 f32 f16 i16 i32 i64 i8 string u16 u32 u64 u8
// T2: bf16 f64 f32 f16
struct RandomUniformLikeOptions {
  Given<int64_t> dtype = {};
  float high = 1.0F;
  float low = 0.0F;
  Given<float> seed = {};
};
Wire random_uniform_like(const Wire& input, const RandomUniformLikeOptions& options = {},
                         Place place = Place::here());

// Range 27: Numbers from `start` in steps of `delta`, up to but without `limit`.
// (start: T, limit: T, delta: T) -> (output: T)
// T: bf16 f64 f32 f16 i16 i32 i64
struct RangeOptions {
  Given<int64_t> stash_type = 1;
};
Wire range(const Wire& start, const Wire& limit, const Wire& delta,
           const RangeOptions& options = {}, Place place = Place::here());

// Reciprocal 13: 1 / x.
// (X: T) -> (Y: T)
// T: bf16 f64 f32 f16
Wire reciprocal(const Wire& x, Place place = Place::here());

// ReduceL1 18: The sum of magnitudes over axes.
// (data: T, axes?: tensor(int64)) -> (reduced: T)
// T: bf16 f64 f32 f16 i32 i64 u32 u64
struct ReduceL1Options {
  Wire axes = {};
  int64_t keepdims = 1;
  int64_t noop_with_empty_axes = 0;
};
Wire reduce_l1(const Wire& data, const ReduceL1Options& options = {}, Place place = Place::here());

// ReduceL2 18: The root of the sum of squares over axes.
// (data: T, axes?: tensor(int64)) -> (reduced: T)
// T: bf16 f64 f32 f16 i32 i64 u32 u64
struct ReduceL2Options {
  Wire axes = {};
  int64_t keepdims = 1;
  int64_t noop_with_empty_axes = 0;
};
Wire reduce_l2(const Wire& data, const ReduceL2Options& options = {}, Place place = Place::here());

// ReduceLogSum 28: The logarithm of the sum over axes.
// (data: T, axes?: tensor(int64)) -> (reduced: T)
// T: bf16 f64 f32 f16
struct ReduceLogSumOptions {
  Wire axes = {};
  int64_t keepdims = 1;
  int64_t noop_with_empty_axes = 0;
};
Wire reduce_log_sum(const Wire& data, const ReduceLogSumOptions& options = {},
                    Place place = Place::here());

// ReduceLogSumExp 28: The logarithm of the sum of exponentials over axes.
// (data: T, axes?: tensor(int64)) -> (reduced: T)
// T: bf16 f64 f32 f16
struct ReduceLogSumExpOptions {
  Wire axes = {};
  int64_t keepdims = 1;
  int64_t noop_with_empty_axes = 0;
};
Wire reduce_log_sum_exp(const Wire& data, const ReduceLogSumExpOptions& options = {},
                        Place place = Place::here());

// ReduceMax 20: The greatest element over axes.
// (data: T, axes?: tensor(int64)) -> (reduced: T)
// T: bf16 bool f64 f32 f16 i32 i64 i8 u32 u64 u8
struct ReduceMaxOptions {
  Wire axes = {};
  int64_t keepdims = 1;
  int64_t noop_with_empty_axes = 0;
};
Wire reduce_max(const Wire& data, const ReduceMaxOptions& options = {},
                Place place = Place::here());

// ReduceMean 18: The mean over axes.
// (data: T, axes?: tensor(int64)) -> (reduced: T)
// T: bf16 f64 f32 f16 i32 i64 u32 u64
struct ReduceMeanOptions {
  Wire axes = {};
  int64_t keepdims = 1;
  int64_t noop_with_empty_axes = 0;
};
Wire reduce_mean(const Wire& data, const ReduceMeanOptions& options = {},
                 Place place = Place::here());

// ReduceMin 20: The least element over axes.
// (data: T, axes?: tensor(int64)) -> (reduced: T)
// T: bf16 bool f64 f32 f16 i32 i64 i8 u32 u64 u8
struct ReduceMinOptions {
  Wire axes = {};
  int64_t keepdims = 1;
  int64_t noop_with_empty_axes = 0;
};
Wire reduce_min(const Wire& data, const ReduceMinOptions& options = {},
                Place place = Place::here());

// ReduceProd 18: The product over axes.
// (data: T, axes?: tensor(int64)) -> (reduced: T)
// T: bf16 f64 f32 f16 i32 i64 u32 u64
struct ReduceProdOptions {
  Wire axes = {};
  int64_t keepdims = 1;
  int64_t noop_with_empty_axes = 0;
};
Wire reduce_prod(const Wire& data, const ReduceProdOptions& options = {},
                 Place place = Place::here());

// ReduceSum 13: The sum over axes.
// (data: T, axes?: tensor(int64)) -> (reduced: T)
// T: bf16 f64 f32 f16 i32 i64 u32 u64
struct ReduceSumOptions {
  Wire axes = {};
  int64_t keepdims = 1;
  int64_t noop_with_empty_axes = 0;
};
Wire reduce_sum(const Wire& data, const ReduceSumOptions& options = {},
                Place place = Place::here());

// ReduceSumSquare 18: The sum of squares over axes.
// (data: T, axes?: tensor(int64)) -> (reduced: T)
// T: bf16 f64 f32 f16 i32 i64 u32 u64
struct ReduceSumSquareOptions {
  Wire axes = {};
  int64_t keepdims = 1;
  int64_t noop_with_empty_axes = 0;
};
Wire reduce_sum_square(const Wire& data, const ReduceSumSquareOptions& options = {},
                       Place place = Place::here());

// RegexFullMatch 20: Whether each whole string matches a regular expression.
// (X: T1) -> (Y: T2)
// T1: string
// T2: bool
struct RegexFullMatchOptions {
  Given<std::string> pattern = {};
};
Wire regex_full_match(const Wire& x, const RegexFullMatchOptions& options = {},
                      Place place = Place::here());

// Relu 14: max(x, 0).
// (X: T) -> (Y: T)
// T: bf16 f64 f32 f16 i16 i32 i64 i8
Wire relu(const Wire& x, Place place = Place::here());

// Reshape 25: The same elements under another shape; -1 is the size that is left, 0 copies the
// input's. (data: T, shape: tensor(int64)) -> (reshaped: T) T: bf16 bool c128 c64 f64 f32 f16
// f4e2m1 f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz f8e8m0 i16 i2 i32 i4 i64 i8 string u16 u2 u32 u4 u64
// u8
struct ReshapeOptions {
  int64_t allowzero = 0;
};
Wire reshape(const Wire& data, const Wire& shape, const ReshapeOptions& options = {},
             Place place = Place::here());

// Resize 19: A tensor sampled at other sizes: nearest elements, or weighted means of neighbours.
// (X: T1, roi?: T2, scales?: tensor(float), sizes?: tensor(int64)) -> (Y: T1)
// T1: bf16 bool c128 c64 f64 f32 f16 i16 i32 i64 i8 string u16 u32 u64 u8
// T2: f64 f32 f16
struct ResizeOptions {
  Wire roi = {};
  Wire scales = {};
  Wire sizes = {};
  int64_t antialias = 0;
  Given<std::vector<int64_t>> axes = {};
  std::string coordinate_transformation_mode = "half_pixel";
  float cubic_coeff_a = -0.75F;
  int64_t exclude_outside = 0;
  float extrapolation_value = 0.0F;
  std::string keep_aspect_ratio_policy = "stretch";
  std::string mode = "nearest";
  std::string nearest_mode = "round_prefer_floor";
};
Wire resize(const Wire& x, const ResizeOptions& options = {}, Place place = Place::here());

// ReverseSequence 28: Each sequence of a batch reversed up to its length.
// (input: T, sequence_lens: tensor(int64)) -> (Y: T)
// T: bf16 bool c128 c64 f64 f32 f16 i16 i32 i64 i8 string u16 u32 u64 u8
struct ReverseSequenceOptions {
  int64_t batch_axis = 1;
  int64_t time_axis = 0;
};
Wire reverse_sequence(const Wire& input, const Wire& sequence_lens,
                      const ReverseSequenceOptions& options = {}, Place place = Place::here());

// RoiAlign 22: Bins of each region of interest, pooled over samples interpolated between elements.
// (X: T1, rois: T1, batch_indices: T2) -> (Y: T1)
// T1: bf16 f64 f32 f16
// T2: i64
struct RoiAlignOptions {
  std::string coordinate_transformation_mode = "half_pixel";
  std::string mode = "avg";
  int64_t output_height = 1;
  int64_t output_width = 1;
  int64_t sampling_ratio = 0;
  float spatial_scale = 1.0F;
};
Wire roi_align(const Wire& x, const Wire& rois, const Wire& batch_indices,
               const RoiAlignOptions& options = {}, Place place = Place::here());

// RotaryEmbedding 23: Turns pairs of a head's elements by angles that grow with the token's
// position. (X: T, cos_cache: T, sin_cache: T, position_ids?: M) -> (Y: T) M: i64 T: bf16 f32 f16
struct RotaryEmbeddingOptions {
  Wire position_ids = {};
  int64_t interleaved = 0;
  Given<int64_t> num_heads = {};
  int64_t rotary_embedding_dim = 0;
};
Wire rotary_embedding(const Wire& x, const Wire& cos_cache, const Wire& sin_cache,
                      const RotaryEmbeddingOptions& options = {}, Place place = Place::here());

// Round 22: The nearest integer, halves to the even one.
// (X: T) -> (Y: T)
// T: bf16 f64 f32 f16
Wire round(const Wire& x, Place place = Place::here());

// STFT 17: Discrete Fourier transforms of windows that step along a signal.
// (signal: T1, frame_step: T2, window?: T1, frame_length?: T2) -> (output: T1)
// T1: bf16 f64 f32 f16
// T2: i32 i64
struct STFTOptions {
  Wire window = {};
  Wire frame_length = {};
  int64_t onesided = 1;
};
Wire stft(const Wire& signal, const Wire& frame_step, const STFTOptions& options = {},
          Place place = Place::here());

// ScatterElements 18: A copy of the data in which single elements are replaced by, or combined
// with, updates. (data: T, indices: Tind, updates: T) -> (output: T) T: bf16 bool c128 c64 f64 f32
// f16 i16 i32 i64 i8 string u16 u32 u64 u8 Tind: i32 i64
struct ScatterElementsOptions {
  int64_t axis = 0;
  std::string reduction = "none";
};
Wire scatter_elements(const Wire& data, const Wire& indices, const Wire& updates,
                      const ScatterElementsOptions& options = {}, Place place = Place::here());

// ScatterND 18: A copy of the data in which slices are replaced by, or combined with, updates.
// (data: T, indices: tensor(int64), updates: T) -> (output: T)
// T: bf16 bool c128 c64 f64 f32 f16 i16 i32 i64 i8 string u16 u32 u64 u8
struct ScatterNDOptions {
  std::string reduction = "none";
};
Wire scatter_nd(const Wire& data, const Wire& indices, const Wire& updates,
                const ScatterNDOptions& options = {}, Place place = Place::here());

// Selu 22: gamma x, or gamma alpha (e^x - 1) up to zero.
// (X: T) -> (Y: T)
// T: bf16 f64 f32 f16
struct SeluOptions {
  float alpha = 1.6732632F;
  float gamma = 1.050701F;
};
Wire selu(const Wire& x, const SeluOptions& options = {}, Place place = Place::here());

// SequenceAt 11: One element of a sequence.
// (input_sequence: S, position: I) -> (tensor: T)
// I: i32 i64
// S: seq(tensor(bool)) seq(tensor(complex128)) seq(tensor(complex64)) seq(tensor(double))
// seq(tensor(float)) seq(tensor(float16)) seq(tensor(int16)) seq(tensor(int32)) seq(tensor(int64))
// seq(tensor(int8)) seq(tensor(string)) seq(tensor(uint16)) seq(tensor(uint32)) seq(tensor(uint64))
// seq(tensor(uint8)) T: bool c128 c64 f64 f32 f16 i16 i32 i64 i8 string u16 u32 u64 u8
Wire sequence_at(const Wire& input_sequence, const Wire& position, Place place = Place::here());

// SequenceConstruct 11: The inputs as a sequence.
// (inputs...: T) -> (output_sequence: S)
// S: seq(tensor(bool)) seq(tensor(complex128)) seq(tensor(complex64)) seq(tensor(double))
// seq(tensor(float)) seq(tensor(float16)) seq(tensor(int16)) seq(tensor(int32)) seq(tensor(int64))
// seq(tensor(int8)) seq(tensor(string)) seq(tensor(uint16)) seq(tensor(uint32)) seq(tensor(uint64))
// seq(tensor(uint8)) T: bool c128 c64 f64 f32 f16 i16 i32 i64 i8 string u16 u32 u64 u8
Wire sequence_construct(const Wires& inputs, Place place = Place::here());

// SequenceEmpty 11: A sequence without elements.
// () -> (output: S)
// S: seq(tensor(bool)) seq(tensor(complex128)) seq(tensor(complex64)) seq(tensor(double))
// seq(tensor(float)) seq(tensor(float16)) seq(tensor(int16)) seq(tensor(int32)) seq(tensor(int64))
// seq(tensor(int8)) seq(tensor(string)) seq(tensor(uint16)) seq(tensor(uint32)) seq(tensor(uint64))
// seq(tensor(uint8))
struct SequenceEmptyOptions {
  Given<int64_t> dtype = {};
};
Wire sequence_empty(const Graph& graph, const SequenceEmptyOptions& options = {},
                    Place place = Place::here());

// SequenceErase 11: A sequence with one element less.
// (input_sequence: S, position?: I) -> (output_sequence: S)
// I: i32 i64
// S: seq(tensor(bool)) seq(tensor(complex128)) seq(tensor(complex64)) seq(tensor(double))
// seq(tensor(float)) seq(tensor(float16)) seq(tensor(int16)) seq(tensor(int32)) seq(tensor(int64))
// seq(tensor(int8)) seq(tensor(string)) seq(tensor(uint16)) seq(tensor(uint32)) seq(tensor(uint64))
// seq(tensor(uint8))
struct SequenceEraseOptions {
  Wire position = {};
};
Wire sequence_erase(const Wire& input_sequence, const SequenceEraseOptions& options = {},
                    Place place = Place::here());

// SequenceInsert 11: A sequence with one more element.
// (input_sequence: S, tensor: T, position?: I) -> (output_sequence: S)
// I: i32 i64
// S: seq(tensor(bool)) seq(tensor(complex128)) seq(tensor(complex64)) seq(tensor(double))
// seq(tensor(float)) seq(tensor(float16)) seq(tensor(int16)) seq(tensor(int32)) seq(tensor(int64))
// seq(tensor(int8)) seq(tensor(string)) seq(tensor(uint16)) seq(tensor(uint32)) seq(tensor(uint64))
// seq(tensor(uint8)) T: bool c128 c64 f64 f32 f16 i16 i32 i64 i8 string u16 u32 u64 u8
struct SequenceInsertOptions {
  Wire position = {};
};
Wire sequence_insert(const Wire& input_sequence, const Wire& tensor,
                     const SequenceInsertOptions& options = {}, Place place = Place::here());

// SequenceLength 11: The number of elements of a sequence.
// (input_sequence: S) -> (length: I)
// I: i64
// S: seq(tensor(bool)) seq(tensor(complex128)) seq(tensor(complex64)) seq(tensor(double))
// seq(tensor(float)) seq(tensor(float16)) seq(tensor(int16)) seq(tensor(int32)) seq(tensor(int64))
// seq(tensor(int8)) seq(tensor(string)) seq(tensor(uint16)) seq(tensor(uint32)) seq(tensor(uint64))
// seq(tensor(uint8))
Wire sequence_length(const Wire& input_sequence, Place place = Place::here());

// Shape 25: The dimensions of a tensor, or those from `start` up to `end`.
// (data: T) -> (shape: T1)
// T: bf16 bool c128 c64 f64 f32 f16 f4e2m1 f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz f8e8m0 i16 i2 i32
// i4 i64 i8 string u16 u2 u32 u4 u64 u8 T1: i64
struct ShapeOptions {
  Given<int64_t> end = {};
  int64_t start = 0;
};
Wire shape(const Wire& data, const ShapeOptions& options = {}, Place place = Place::here());

// Shrink 9: x + bias below -lambd, x - bias above lambd, 0 between. Integers truncate.
// (input: T) -> (output: T)
// T: f64 f32 f16 i16 i32 i64 i8 u16 u32 u64 u8
struct ShrinkOptions {
  float bias = 0.0F;
  float lambd = 0.5F;
};
Wire shrink(const Wire& input, const ShrinkOptions& options = {}, Place place = Place::here());

// Sigmoid 13: 1 / (1 + e^-x).
// (X: T) -> (Y: T)
// T: bf16 f64 f32 f16
Wire sigmoid(const Wire& x, Place place = Place::here());

// Sign 13: -1, 0 or 1; NaN for NaN, +0 for -0.
// (input: T) -> (output: T)
// T: bf16 f64 f32 f16 i16 i32 i64 i8 u16 u32 u64 u8
Wire sign(const Wire& input, Place place = Place::here());

// SimplifiedLayerNormalization 1: Rows divided by the root of their mean square, then times scale.
// (X: T, scale: V) -> (Y: V, inv_std_var?: U)
// T: bf16 f64 f32 f16
// U: f64 f32
// V: bf16 f64 f32 f16
struct SimplifiedLayerNormalizationOptions {
  int64_t axis = -1;
  float epsilon = 1e-05F;
  Given<int64_t> stash_type = 1;
};
struct SimplifiedLayerNormalizationOutputs {
  Wire y, inv_std_var;
};
SimplifiedLayerNormalizationOutputs simplified_layer_normalization(
    const Wire& x, const Wire& scale, const SimplifiedLayerNormalizationOptions& options = {},
    Place place = Place::here());

// Sin 22: The sine of radians.
// (input: T) -> (output: T)
// T: bf16 f64 f32 f16
Wire sin(const Wire& input, Place place = Place::here());

// Sinh 22: The hyperbolic sine.
// (input: T) -> (output: T)
// T: bf16 f64 f32 f16
Wire sinh(const Wire& input, Place place = Place::here());

// Size 25: The number of elements of a tensor.
// (data: T) -> (size: T1)
// T: bf16 bool c128 c64 f64 f32 f16 f4e2m1 f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz f8e8m0 i16 i2 i32
// i4 i64 i8 string u16 u2 u32 u4 u64 u8 T1: i64
Wire size(const Wire& data, Place place = Place::here());

// Slice 13: Every `step`-th element from `start` up to `end`, along some axes.
// (data: T, starts: Tind, ends: Tind, axes?: Tind, steps?: Tind) -> (output: T)
// T: bf16 bool c128 c64 f64 f32 f16 i16 i32 i64 i8 string u16 u32 u64 u8
// Tind: i32 i64
struct SliceOptions {
  Wire axes = {};
  Wire steps = {};
};
Wire slice(const Wire& data, const Wire& starts, const Wire& ends, const SliceOptions& options = {},
           Place place = Place::here());

// Softmax 13: Exponentials of the elements along an axis, divided by their sum.
// (input: T) -> (output: T)
// T: bf16 f64 f32 f16
struct SoftmaxOptions {
  int64_t axis = -1;
};
Wire softmax(const Wire& input, const SoftmaxOptions& options = {}, Place place = Place::here());

// SoftmaxCrossEntropyLoss 13: NegativeLogLikelihoodLoss of the scores' LogSoftmax.
// (scores: T, labels: Tind, weights?: T) -> (output: T, log_prob?: T)
// T: bf16 f64 f32 f16
// Tind: i32 i64
struct SoftmaxCrossEntropyLossOptions {
  Wire weights = {};
  Given<int64_t> ignore_index = {};
  std::string reduction = "mean";
};
struct SoftmaxCrossEntropyLossOutputs {
  Wire output, log_prob;
};
SoftmaxCrossEntropyLossOutputs softmax_cross_entropy_loss(
    const Wire& scores, const Wire& labels, const SoftmaxCrossEntropyLossOptions& options = {},
    Place place = Place::here());

// Softplus 22: log(1 + e^x).
// (X: T) -> (Y: T)
// T: bf16 f64 f32 f16
Wire softplus(const Wire& x, Place place = Place::here());

// Softsign 22: x / (1 + |x|).
// (input: T) -> (output: T)
// T: bf16 f64 f32 f16
Wire softsign(const Wire& input, Place place = Place::here());

// SpaceToDepth 28: Square blocks of the image moved into channels.
// (input: T) -> (output: T)
// T: bf16 bool c128 c64 f64 f32 f16 i16 i32 i64 i8 string u16 u32 u64 u8
struct SpaceToDepthOptions {
  Must<int64_t> blocksize;
  std::string mode = "DCR";
};
Wire space_to_depth(const Wire& input, const SpaceToDepthOptions& options,
                    Place place = Place::here());

// SplitToSequence 24: The parts of a tensor along an axis, as a sequence.
// (input: T, split?: I) -> (output_sequence: S)
// I: i32 i64
// S: seq(tensor(bfloat16)) seq(tensor(bool)) seq(tensor(complex128)) seq(tensor(complex64))
// seq(tensor(double)) seq(tensor(float)) seq(tensor(float16)) seq(tensor(int16)) seq(tensor(int32))
// seq(tensor(int64)) seq(tensor(int8)) seq(tensor(string)) seq(tensor(uint16)) seq(tensor(uint32))
// seq(tensor(uint64)) seq(tensor(uint8)) T: bf16 bool c128 c64 f64 f32 f16 i16 i32 i64 i8 string
// u16 u32 u64 u8
struct SplitToSequenceOptions {
  Wire split = {};
  int64_t axis = 0;
  int64_t keepdims = 1;
};
Wire split_to_sequence(const Wire& input, const SplitToSequenceOptions& options = {},
                       Place place = Place::here());

// Sqrt 13: The square root, correctly rounded; NaN below zero.
// (X: T) -> (Y: T)
// T: bf16 f64 f32 f16
Wire sqrt(const Wire& x, Place place = Place::here());

// Squeeze 25: The same elements without the given axes, or without all axes of size 1.
// (data: T, axes?: tensor(int64)) -> (squeezed: T)
// T: bf16 bool c128 c64 f64 f32 f16 f4e2m1 f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz f8e8m0 i16 i2 i32
// i4 i64 i8 string u16 u2 u32 u4 u64 u8
struct SqueezeOptions {
  Wire axes = {};
};
Wire squeeze(const Wire& data, const SqueezeOptions& options = {}, Place place = Place::here());

// StringConcat 20: Strings joined element by element.
// (X: T, Y: T) -> (Z: T)
// T: string
Wire string_concat(const Wire& x, const Wire& y, Place place = Place::here());

// StringNormalizer 10: Strings without stop words, in lower or upper case.
// (X: tensor(string)) -> (Y: tensor(string))
struct StringNormalizerOptions {
  std::string case_change_action = "NONE";
  int64_t is_case_sensitive = 0;
  Given<std::string> locale = {};
  Given<std::vector<std::string>> stopwords = {};
};
Wire string_normalizer(const Wire& x, const StringNormalizerOptions& options = {},
                       Place place = Place::here());

// StringSplit 20: The parts of each string between delimiters, and how many there are.
// (X: T1) -> (Y: T2, Z: T3)
// T1: string
// T2: string
// T3: i64
struct StringSplitOptions {
  Given<std::string> delimiter = {};
  Given<int64_t> maxsplit = {};
};
struct StringSplitOutputs {
  Wire y, z;
};
StringSplitOutputs string_split(const Wire& x, const StringSplitOptions& options = {},
                                Place place = Place::here());

// Sub 14: a - b.
// (A: T, B: T) -> (C: T)
// T: bf16 f64 f32 f16 i16 i32 i64 i8 u16 u32 u64 u8
Wire sub(const Wire& a, const Wire& b, Place place = Place::here());

// Sum 13: The sum of the inputs' elements, from the first input on.
// (data_0...: T) -> (sum: T)
// T: bf16 f64 f32 f16
Wire sum(const Wires& data_0, Place place = Place::here());

// SwiGLU 28: a sigmoid(alpha a) b; both inputs have one shape.
// (A: T, B: T) -> (Y: T)
// T: bf16 f64 f32 f16
struct SwiGLUOptions {
  float alpha = 1.0F;
};
Wire swiglu(const Wire& a, const Wire& b, const SwiGLUOptions& options = {},
            Place place = Place::here());

// Swish 24: x sigmoid(alpha x).
// (X: T) -> (Y: T)
// T: bf16 f64 f32 f16
struct SwishOptions {
  float alpha = 1.0F;
};
Wire swish(const Wire& x, const SwishOptions& options = {}, Place place = Place::here());

// Tan 22: The tangent of radians.
// (input: T) -> (output: T)
// T: bf16 f64 f32 f16
Wire tan(const Wire& input, Place place = Place::here());

// Tanh 13: The hyperbolic tangent.
// (input: T) -> (output: T)
// T: bf16 f64 f32 f16
Wire tanh(const Wire& input, Place place = Place::here());

// TensorScatter 24: A cache in which some rows of each batch are replaced, from a given row on.
// (past_cache: T, update: T, write_indices?: tensor(int64)) -> (present_cache: T)
// T: bf16 bool c128 c64 f64 f32 f16 f4e2m1 f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz f8e8m0 i16 i32 i4
// i64 i8 string u16 u32 u4 u64 u8
struct TensorScatterOptions {
  Wire write_indices = {};
  int64_t axis = -2;
  std::string mode = "linear";
};
Wire tensor_scatter(const Wire& past_cache, const Wire& update,
                    const TensorScatterOptions& options = {}, Place place = Place::here());

// TfIdfVectorizer 9: How often each n-gram of a pool occurs in each row, perhaps weighted.
// (X: T) -> (Y: T1)
// T: i32 i64 string
// T1: f32
struct TfIdfVectorizerOptions {
  Must<int64_t> max_gram_length;
  Must<int64_t> max_skip_count;
  Must<int64_t> min_gram_length;
  Must<std::string> mode;
  Must<std::vector<int64_t>> ngram_counts;
  Must<std::vector<int64_t>> ngram_indexes;
  Given<std::vector<int64_t>> pool_int64s = {};
  Given<std::vector<std::string>> pool_strings = {};
  Given<std::vector<float>> weights = {};
};
Wire tf_idf_vectorizer(const Wire& x, const TfIdfVectorizerOptions& options,
                       Place place = Place::here());

// ThresholdedRelu 22: x if it is greater than alpha, else 0.
// (X: T) -> (Y: T)
// T: bf16 f64 f32 f16
struct ThresholdedReluOptions {
  float alpha = 1.0F;
};
Wire thresholded_relu(const Wire& x, const ThresholdedReluOptions& options = {},
                      Place place = Place::here());

// Tile 13: The input repeated along every axis.
// (input: T, repeats: T1) -> (output: T)
// T: bf16 bool c128 c64 f64 f32 f16 i16 i32 i64 i8 string u16 u32 u64 u8
// T1: i64
Wire tile(const Wire& input, const Wire& repeats, Place place = Place::here());

// TopK 24: The k largest or smallest elements along an axis, best first, and where they stand.
// (X: T, K: tensor(int64)) -> (Values: T, Indices: I)
// I: i64
// T: bf16 f64 f32 f16 i16 i32 i64 i8 u16 u32 u64 u8
struct TopKOptions {
  int64_t axis = -1;
  int64_t largest = 1;
  int64_t sorted = 1;
};
struct TopKOutputs {
  Wire values, indices;
};
TopKOutputs top_k(const Wire& x, const Wire& k, const TopKOptions& options = {},
                  Place place = Place::here());

// Transpose 25: The axes in another order.
// (data: T) -> (transposed: T)
// T: bf16 bool c128 c64 f64 f32 f16 f4e2m1 f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz f8e8m0 i16 i2 i32
// i4 i64 i8 string u16 u2 u32 u4 u64 u8
struct TransposeOptions {
  Given<std::vector<int64_t>> perm = {};
};
Wire transpose(const Wire& data, const TransposeOptions& options = {}, Place place = Place::here());

// Trilu 14: The upper or lower triangle of matrices; the rest is zero.
// (input: T, k?: tensor(int64)) -> (output: T)
// T: bf16 bool c128 c64 f64 f32 f16 i16 i32 i64 i8 string u16 u32 u64 u8
struct TriluOptions {
  Wire k = {};
  int64_t upper = 1;
};
Wire trilu(const Wire& input, const TriluOptions& options = {}, Place place = Place::here());

// Unique 28: The different elements, or slices along an axis, with where they first stand and how
// often they occur. (X: T) -> (Y: T, indices?: tensor(int64), inverse_indices?: tensor(int64),
// counts?: tensor(int64)) T: bf16 bool c128 c64 f64 f32 f16 i16 i32 i64 i8 string u16 u32 u64 u8
struct UniqueOptions {
  Given<int64_t> axis = {};
  int64_t sorted = 1;
};
struct UniqueOutputs {
  Wire y, indices, inverse_indices, counts;
};
UniqueOutputs unique(const Wire& x, const UniqueOptions& options = {}, Place place = Place::here());

// Unsqueeze 25: The same elements with axes of size 1 put in.
// (data: T, axes: tensor(int64)) -> (expanded: T)
// T: bf16 bool c128 c64 f64 f32 f16 f4e2m1 f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz f8e8m0 i16 i2 i32
// i4 i64 i8 string u16 u2 u32 u4 u64 u8
Wire unsqueeze(const Wire& data, const Wire& axes, Place place = Place::here());

// Where 16: The element of X where the condition holds, else the one of Y.
// (condition: B, X: T, Y: T) -> (output: T)
// B: bool
// T: bf16 bool c128 c64 f64 f32 f16 i16 i32 i64 i8 string u16 u32 u64 u8
Wire where(const Wire& condition, const Wire& x, const Wire& y, Place place = Place::here());

// Xor 7: Whether exactly one is true.
// (A: T, B: T) -> (C: T1)
// T: bool
// T1: bool
Wire xor_(const Wire& a, const Wire& b, Place place = Place::here());

namespace ml {

// ArrayFeatureExtractor 1: Elements of the last axis by their indices.
// (X: T, Y: tensor(int64)) -> (Z: T)
// T: f64 f32 i32 i64 string
Wire array_feature_extractor(const Wire& x, const Wire& y, Place place = Place::here());

// Binarizer 1: 1 for elements above a threshold, 0 for others.
// (X: T) -> (Y: T)
// T: f64 f32 i32 i64
struct BinarizerOptions {
  float threshold = 0.0F;
};
Wire binarizer(const Wire& x, const BinarizerOptions& options = {}, Place place = Place::here());

// CastMap 1: The values of a map with integer keys, in the order of the keys.
// (X: T1) -> (Y: T2)
// T1: map(int64, float) map(int64, string)
// T2: f32 i64 string
struct CastMapOptions {
  std::string cast_to = "TO_FLOAT";
  std::string map_form = "DENSE";
  int64_t max_map = 1;
};
Wire cast_map(const Wire& x, const CastMapOptions& options = {}, Place place = Place::here());

// CategoryMapper 1: Strings as integers, or integers as strings, by a table.
// (X: T1) -> (Y: T2)
// T1: i64 string
// T2: i64 string
struct CategoryMapperOptions {
  Given<std::vector<int64_t>> cats_int64s = {};
  Given<std::vector<std::string>> cats_strings = {};
  int64_t default_int64 = -1;
  std::string default_string = "_Unused";
};
Wire category_mapper(const Wire& x, const CategoryMapperOptions& options = {},
                     Place place = Place::here());

// DictVectorizer 1: The values of a map in the order of a vocabulary of keys.
// (X: T1) -> (Y: T2)
// T1: map(int64, double) map(int64, float) map(int64, string) map(string, double) map(string,
// float) map(string, int64) T2: f64 f32 i64 string
struct DictVectorizerOptions {
  Given<std::vector<int64_t>> int64_vocabulary = {};
  Given<std::vector<std::string>> string_vocabulary = {};
};
Wire dict_vectorizer(const Wire& x, const DictVectorizerOptions& options = {},
                     Place place = Place::here());

// FeatureVectorizer 1: The features of several inputs side by side, as floats.
// (X...: T1) -> (Y: tensor(float))
// T1: f64 f32 i32 i64
struct FeatureVectorizerOptions {
  Given<std::vector<int64_t>> inputdimensions = {};
};
Wire feature_vectorizer(const Wires& x, const FeatureVectorizerOptions& options = {},
                        Place place = Place::here());

// Imputer 1: One value, often NaN, replaced by others.
// (X: T) -> (Y: T)
// T: f64 f32 i32 i64
struct ImputerOptions {
  Given<std::vector<float>> imputed_value_floats = {};
  Given<std::vector<int64_t>> imputed_value_int64s = {};
  float replaced_value_float = 0.0F;
  int64_t replaced_value_int64 = 0;
};
Wire imputer(const Wire& x, const ImputerOptions& options = {}, Place place = Place::here());

// LabelEncoder 4: Each element replaced by the value that stands with its key.
// (X: T1) -> (Y: T2)
// T1: f64 f32 i16 i32 i64 string
// T2: f64 f32 i16 i32 i64 string
struct LabelEncoderOptions {
  float default_float = -0.0F;
  int64_t default_int64 = -1;
  std::string default_string = "_Unused";
  Given<Tensor> default_tensor = {};
  Given<std::vector<float>> keys_floats = {};
  Given<std::vector<int64_t>> keys_int64s = {};
  Given<std::vector<std::string>> keys_strings = {};
  Given<Tensor> keys_tensor = {};
  Given<std::vector<float>> values_floats = {};
  Given<std::vector<int64_t>> values_int64s = {};
  Given<std::vector<std::string>> values_strings = {};
  Given<Tensor> values_tensor = {};
};
Wire label_encoder(const Wire& x, const LabelEncoderOptions& options = {},
                   Place place = Place::here());

// LinearClassifier 1: The class whose weighted sum of a row's features is largest, and the sums.
// (X: T1) -> (Y: T2, Z: tensor(float))
// T1: f64 f32 i32 i64
// T2: i64 string
struct LinearClassifierOptions {
  Given<std::vector<int64_t>> classlabels_ints = {};
  Given<std::vector<std::string>> classlabels_strings = {};
  Must<std::vector<float>> coefficients;
  Given<std::vector<float>> intercepts = {};
  int64_t multi_class = 0;
  std::string post_transform = "NONE";
};
struct LinearClassifierOutputs {
  Wire y, z;
};
LinearClassifierOutputs linear_classifier(const Wire& x, const LinearClassifierOptions& options,
                                          Place place = Place::here());

// LinearRegressor 1: Weighted sums of each row's features.
// (X: T) -> (Y: tensor(float))
// T: f64 f32 i32 i64
struct LinearRegressorOptions {
  Given<std::vector<float>> coefficients = {};
  Given<std::vector<float>> intercepts = {};
  std::string post_transform = "NONE";
  int64_t targets = 1;
};
Wire linear_regressor(const Wire& x, const LinearRegressorOptions& options = {},
                      Place place = Place::here());

// Normalizer 1: Rows divided by their norm.
// (X: T) -> (Y: tensor(float))
// T: f64 f32 i32 i64
struct NormalizerOptions {
  std::string norm = "MAX";
};
Wire normalizer(const Wire& x, const NormalizerOptions& options = {}, Place place = Place::here());

// OneHotEncoder 1: A 1 in the place of each element's category, zeros elsewhere.
// (X: T) -> (Y: tensor(float))
// T: f64 f32 i32 i64 string
struct OneHotEncoderOptions {
  Given<std::vector<int64_t>> cats_int64s = {};
  Given<std::vector<std::string>> cats_strings = {};
  int64_t zeros = 1;
};
Wire one_hot_encoder(const Wire& x, const OneHotEncoderOptions& options = {},
                     Place place = Place::here());

// SVMClassifier 1: The class that a support vector machine gives each row, and its scores.
// (X: T1) -> (Y: T2, Z: tensor(float))
// T1: f64 f32 i32 i64
// T2: i64 string
struct SVMClassifierOptions {
  Given<std::vector<int64_t>> classlabels_ints = {};
  Given<std::vector<std::string>> classlabels_strings = {};
  Given<std::vector<float>> coefficients = {};
  Given<std::vector<float>> kernel_params = {};
  std::string kernel_type = "LINEAR";
  std::string post_transform = "NONE";
  Given<std::vector<float>> prob_a = {};
  Given<std::vector<float>> prob_b = {};
  Given<std::vector<float>> rho = {};
  Given<std::vector<float>> support_vectors = {};
  Given<std::vector<int64_t>> vectors_per_class = {};
};
struct SVMClassifierOutputs {
  Wire y, z;
};
SVMClassifierOutputs svm_classifier(const Wire& x, const SVMClassifierOptions& options = {},
                                    Place place = Place::here());

// SVMRegressor 1: A support vector machine's value for each row, or whether it belongs to one
// class. (X: T) -> (Y: tensor(float)) T: f64 f32 i32 i64
struct SVMRegressorOptions {
  Given<std::vector<float>> coefficients = {};
  Given<std::vector<float>> kernel_params = {};
  std::string kernel_type = "LINEAR";
  int64_t n_supports = 0;
  int64_t one_class = 0;
  std::string post_transform = "NONE";
  Given<std::vector<float>> rho = {};
  Given<std::vector<float>> support_vectors = {};
};
Wire svm_regressor(const Wire& x, const SVMRegressorOptions& options = {},
                   Place place = Place::here());

// Scaler 1: Features moved by an offset and then multiplied by a scale.
// (X: T) -> (Y: tensor(float))
// T: f64 f32 i32 i64
struct ScalerOptions {
  Given<std::vector<float>> offset = {};
  Given<std::vector<float>> scale = {};
};
Wire scaler(const Wire& x, const ScalerOptions& options = {}, Place place = Place::here());

// TreeEnsemble 5: The votes of decision trees for each target.
// (X: T) -> (Y: T)
// T: f64 f32 f16
struct TreeEnsembleOptions {
  int64_t aggregate_function = 1;
  Must<std::vector<int64_t>> leaf_targetids;
  Must<Tensor> leaf_weights;
  Given<Tensor> membership_values = {};
  Given<int64_t> n_targets = {};
  Must<std::vector<int64_t>> nodes_falseleafs;
  Must<std::vector<int64_t>> nodes_falsenodeids;
  Must<std::vector<int64_t>> nodes_featureids;
  Given<Tensor> nodes_hitrates = {};
  Given<std::vector<int64_t>> nodes_missing_value_tracks_true = {};
  Must<Tensor> nodes_modes;
  Must<Tensor> nodes_splits;
  Must<std::vector<int64_t>> nodes_trueleafs;
  Must<std::vector<int64_t>> nodes_truenodeids;
  int64_t post_transform = 0;
  Must<std::vector<int64_t>> tree_roots;
};
Wire tree_ensemble(const Wire& x, const TreeEnsembleOptions& options, Place place = Place::here());

// ZipMap 1: Each row as a map from labels to its elements.
// (X: tensor(float)) -> (Z: T)
// T: seq(map(int64, float)) seq(map(string, float))
struct ZipMapOptions {
  Given<std::vector<int64_t>> classlabels_int64s = {};
  Given<std::vector<std::string>> classlabels_strings = {};
};
Wire zip_map(const Wire& x, const ZipMapOptions& options = {}, Place place = Place::here());

}  // namespace ml

namespace preview {

// FlexAttention 1: Attention whose scores and probabilities may be modified by subgraphs.
// (Q: T1, K: T1, V: T1) -> (Y: T1)
// T1: bf16 f64 f32 f16
struct FlexAttentionOptions {
  Body prob_mod = {};
  Given<float> scale = {};
  Body score_mod = {};
  Given<int64_t> softmax_precision = {};
};
Wire flex_attention(const Wire& q, const Wire& k, const Wire& v,
                    const FlexAttentionOptions& options = {}, Place place = Place::here());

}  // namespace preview

namespace training {

// Adagrad 1: One step of Adagrad: rates shrink with the sum of squared gradients.
// (R: T1, T: T2, inputs...: T3) -> (outputs...: T3)
// T1: f64 f32
// T2: i64
// T3: f64 f32
struct AdagradOptions {
  float decay_factor = 0.0F;
  float epsilon = 1e-06F;
  float norm_coefficient = 0.0F;
};
Wires adagrad(const Wire& r, const Wire& t, const Wires& inputs, const AdagradOptions& options,
              size_t outputs, Place place = Place::here());

// Adam 1: One step of Adam: averaged gradients over the root of averaged squares.
// (R: T1, T: T2, inputs...: T3) -> (outputs...: T3)
// T1: f64 f32
// T2: i64
// T3: f64 f32
struct AdamOptions {
  float alpha = 0.9F;
  float beta = 0.999F;
  float epsilon = 1e-06F;
  float norm_coefficient = 0.0F;
  float norm_coefficient_post = 0.0F;
};
Wires adam(const Wire& r, const Wire& t, const Wires& inputs, const AdamOptions& options,
           size_t outputs, Place place = Place::here());

// Gradient 1: Derivatives of the wire y by the wires xs, at the given values of xs and zs.
// (Inputs...: T1) -> (Outputs...: T2)
// T1: bool c128 c64 f64 f32 f16 i16 i32 i64 i8 string u16 u32 u64 u8
// T2: f64 f32 f16
struct GradientOptions {
  Must<std::vector<std::string>> xs;
  Must<std::string> y;
  Given<std::vector<std::string>> zs = {};
};
Wires gradient(const Wires& inputs, const GradientOptions& options, size_t outputs,
               Place place = Place::here());

// Momentum 1: One step of gradient descent with momentum, standard or Nesterov's.
// (R: T1, T: T2, inputs...: T3) -> (outputs...: T3)
// T1: f64 f32
// T2: i64
// T3: f64 f32
struct MomentumOptions {
  Must<float> alpha;
  Must<float> beta;
  Must<std::string> mode;
  Must<float> norm_coefficient;
};
Wires momentum(const Wire& r, const Wire& t, const Wires& inputs, const MomentumOptions& options,
               size_t outputs, Place place = Place::here());

}  // namespace training

}  // namespace sardonyx::ops
