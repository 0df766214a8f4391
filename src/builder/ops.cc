// The helpers of sardonyx/ops.h, made with it by tools/make_ops.cc.
#include "sardonyx/ops.h"

#include "builder/making.h"

namespace sardonyx::ops {

using detail::Making;

Wire abs(const Wire& x, Place place) { return Making("", "Abs").in(x).one(place); }
Wire acos(const Wire& input, Place place) { return Making("", "Acos").in(input).one(place); }
Wire acosh(const Wire& input, Place place) { return Making("", "Acosh").in(input).one(place); }
Wire add(const Wire& a, const Wire& b, Place place) {
  return Making("", "Add").in(a).in(b).one(place);
}
Wire affine_grid(const Wire& theta, const Wire& size, const AffineGridOptions& options,
                 Place place) {
  return Making("", "AffineGrid")
      .in(theta)
      .in(size)
      .set("align_corners", options.align_corners)
      .one(place);
}
Wire and_(const Wire& a, const Wire& b, Place place) {
  return Making("", "And").in(a).in(b).one(place);
}
Wire arg_max(const Wire& data, const ArgMaxOptions& options, Place place) {
  return Making("", "ArgMax")
      .in(data)
      .set("axis", options.axis)
      .set("keepdims", options.keepdims)
      .set("select_last_index", options.select_last_index)
      .one(place);
}
Wire arg_min(const Wire& data, const ArgMinOptions& options, Place place) {
  return Making("", "ArgMin")
      .in(data)
      .set("axis", options.axis)
      .set("keepdims", options.keepdims)
      .set("select_last_index", options.select_last_index)
      .one(place);
}
Wire asin(const Wire& input, Place place) { return Making("", "Asin").in(input).one(place); }
Wire asinh(const Wire& input, Place place) { return Making("", "Asinh").in(input).one(place); }
Wire atan(const Wire& input, Place place) { return Making("", "Atan").in(input).one(place); }
Wire atanh(const Wire& input, Place place) { return Making("", "Atanh").in(input).one(place); }
AttentionOutputs attention(const Wire& q, const Wire& k, const Wire& v,
                           const AttentionOptions& options, Place place) {
  const Wires wires = Making("", "Attention")
                          .in(q)
                          .in(k)
                          .in(v)
                          .in(options.attn_mask)
                          .in(options.past_key)
                          .in(options.past_value)
                          .in(options.nonpad_kv_seqlen)
                          .set("is_causal", options.is_causal)
                          .set("kv_num_heads", options.kv_num_heads)
                          .set("left_window_size", options.left_window_size)
                          .set("q_num_heads", options.q_num_heads)
                          .set("qk_matmul_output_mode", options.qk_matmul_output_mode)
                          .set("right_window_size", options.right_window_size)
                          .set("scale", options.scale)
                          .set("softcap", options.softcap)
                          .set("softmax_precision", options.softmax_precision)
                          .outputs(4, place);
  return {wires[0], wires[1], wires[2], wires[3]};
}
Wire average_pool(const Wire& x, const AveragePoolOptions& options, Place place) {
  return Making("", "AveragePool")
      .in(x)
      .set("auto_pad", options.auto_pad)
      .set("ceil_mode", options.ceil_mode)
      .set("count_include_pad", options.count_include_pad)
      .set("dilations", options.dilations)
      .set("kernel_shape", options.kernel_shape)
      .set("pads", options.pads)
      .set("strides", options.strides)
      .one(place);
}
BatchNormalizationOutputs batch_normalization(const Wire& x, const Wire& scale, const Wire& b,
                                              const Wire& input_mean, const Wire& input_var,
                                              const BatchNormalizationOptions& options,
                                              Place place) {
  const Wires wires = Making("", "BatchNormalization")
                          .in(x)
                          .in(scale)
                          .in(b)
                          .in(input_mean)
                          .in(input_var)
                          .set("epsilon", options.epsilon)
                          .set("momentum", options.momentum)
                          .set("training_mode", options.training_mode)
                          .outputs(3, place);
  return {wires[0], wires[1], wires[2]};
}
Wire bernoulli(const Wire& input, const BernoulliOptions& options, Place place) {
  return Making("", "Bernoulli")
      .in(input)
      .set("dtype", options.dtype)
      .set("seed", options.seed)
      .one(place);
}
Wire bit_cast(const Wire& input, const BitCastOptions& options, Place place) {
  return Making("", "BitCast").in(input).set("to", options.to).one(place);
}
Wire bit_shift(const Wire& x, const Wire& y, const BitShiftOptions& options, Place place) {
  return Making("", "BitShift").in(x).in(y).set("direction", options.direction).one(place);
}
Wire bitwise_and(const Wire& a, const Wire& b, Place place) {
  return Making("", "BitwiseAnd").in(a).in(b).one(place);
}
Wire bitwise_not(const Wire& x, Place place) { return Making("", "BitwiseNot").in(x).one(place); }
Wire bitwise_or(const Wire& a, const Wire& b, Place place) {
  return Making("", "BitwiseOr").in(a).in(b).one(place);
}
Wire bitwise_xor(const Wire& a, const Wire& b, Place place) {
  return Making("", "BitwiseXor").in(a).in(b).one(place);
}
Wire blackman_window(const Wire& size, const BlackmanWindowOptions& options, Place place) {
  return Making("", "BlackmanWindow")
      .in(size)
      .set("output_datatype", options.output_datatype)
      .set("periodic", options.periodic)
      .one(place);
}
Wire cast(const Wire& input, const CastOptions& options, Place place) {
  return Making("", "Cast")
      .in(input)
      .set("round_mode", options.round_mode)
      .set("saturate", options.saturate)
      .set("to", options.to)
      .one(place);
}
Wire cast_like(const Wire& input, const Wire& target_type, const CastLikeOptions& options,
               Place place) {
  return Making("", "CastLike")
      .in(input)
      .in(target_type)
      .set("round_mode", options.round_mode)
      .set("saturate", options.saturate)
      .one(place);
}
CausalConvWithStateOutputs causal_conv_with_state(const Wire& input, const Wire& weight,
                                                  const CausalConvWithStateOptions& options,
                                                  Place place) {
  const Wires wires = Making("", "CausalConvWithState")
                          .in(input)
                          .in(weight)
                          .in(options.bias)
                          .in(options.past_state)
                          .set("activation", options.activation)
                          .outputs(2, place);
  return {wires[0], wires[1]};
}
Wire ceil(const Wire& x, Place place) { return Making("", "Ceil").in(x).one(place); }
Wire celu(const Wire& x, const CeluOptions& options, Place place) {
  return Making("", "Celu").in(x).set("alpha", options.alpha).one(place);
}
Wire center_crop_pad(const Wire& input_data, const Wire& shape, const CenterCropPadOptions& options,
                     Place place) {
  return Making("", "CenterCropPad").in(input_data).in(shape).set("axes", options.axes).one(place);
}
Wire clip(const Wire& input, const ClipOptions& options, Place place) {
  return Making("", "Clip").in(input).in(options.min).in(options.max).one(place);
}
Wire col2im(const Wire& input, const Wire& image_shape, const Wire& block_shape,
            const Col2ImOptions& options, Place place) {
  return Making("", "Col2Im")
      .in(input)
      .in(image_shape)
      .in(block_shape)
      .set("dilations", options.dilations)
      .set("pads", options.pads)
      .set("strides", options.strides)
      .one(place);
}
Wire compress(const Wire& input, const Wire& condition, const CompressOptions& options,
              Place place) {
  return Making("", "Compress").in(input).in(condition).set("axis", options.axis).one(place);
}
Wire concat(const Wires& inputs, const ConcatOptions& options, Place place) {
  return Making("", "Concat").in(inputs).set("axis", options.axis).one(place);
}
Wire concat_from_sequence(const Wire& input_sequence, const ConcatFromSequenceOptions& options,
                          Place place) {
  return Making("", "ConcatFromSequence")
      .in(input_sequence)
      .set("axis", options.axis)
      .set("new_axis", options.new_axis)
      .one(place);
}
Wire constant(const Graph& graph, const ConstantOptions& options, Place place) {
  return Making("", "Constant")
      .within(graph)
      .set("sparse_value", options.sparse_value)
      .set("value", options.value)
      .set("value_float", options.value_float)
      .set("value_floats", options.value_floats)
      .set("value_int", options.value_int)
      .set("value_ints", options.value_ints)
      .set("value_string", options.value_string)
      .set("value_strings", options.value_strings)
      .one(place);
}
Wire constant_of_shape(const Wire& input, const ConstantOfShapeOptions& options, Place place) {
  return Making("", "ConstantOfShape").in(input).set("value", options.value).one(place);
}
Wire conv(const Wire& x, const Wire& w, const ConvOptions& options, Place place) {
  return Making("", "Conv")
      .in(x)
      .in(w)
      .in(options.b)
      .set("auto_pad", options.auto_pad)
      .set("dilations", options.dilations)
      .set("group", options.group)
      .set("kernel_shape", options.kernel_shape)
      .set("pads", options.pads)
      .set("strides", options.strides)
      .one(place);
}
Wire conv_integer(const Wire& x, const Wire& w, const ConvIntegerOptions& options, Place place) {
  return Making("", "ConvInteger")
      .in(x)
      .in(w)
      .in(options.x_zero_point)
      .in(options.w_zero_point)
      .set("auto_pad", options.auto_pad)
      .set("dilations", options.dilations)
      .set("group", options.group)
      .set("kernel_shape", options.kernel_shape)
      .set("pads", options.pads)
      .set("strides", options.strides)
      .one(place);
}
Wire conv_transpose(const Wire& x, const Wire& w, const ConvTransposeOptions& options,
                    Place place) {
  return Making("", "ConvTranspose")
      .in(x)
      .in(w)
      .in(options.b)
      .set("auto_pad", options.auto_pad)
      .set("dilations", options.dilations)
      .set("group", options.group)
      .set("kernel_shape", options.kernel_shape)
      .set("output_padding", options.output_padding)
      .set("output_shape", options.output_shape)
      .set("pads", options.pads)
      .set("strides", options.strides)
      .one(place);
}
Wire cos(const Wire& input, Place place) { return Making("", "Cos").in(input).one(place); }
Wire cosh(const Wire& input, Place place) { return Making("", "Cosh").in(input).one(place); }
Wire cum_prod(const Wire& x, const Wire& axis, const CumProdOptions& options, Place place) {
  return Making("", "CumProd")
      .in(x)
      .in(axis)
      .set("exclusive", options.exclusive)
      .set("reverse", options.reverse)
      .one(place);
}
Wire cum_sum(const Wire& x, const Wire& axis, const CumSumOptions& options, Place place) {
  return Making("", "CumSum")
      .in(x)
      .in(axis)
      .set("exclusive", options.exclusive)
      .set("reverse", options.reverse)
      .one(place);
}
Wire dft(const Wire& input, const DFTOptions& options, Place place) {
  return Making("", "DFT")
      .in(input)
      .in(options.dft_length)
      .in(options.axis)
      .set("inverse", options.inverse)
      .set("onesided", options.onesided)
      .one(place);
}
Wire deform_conv(const Wire& x, const Wire& w, const Wire& offset, const DeformConvOptions& options,
                 Place place) {
  return Making("", "DeformConv")
      .in(x)
      .in(w)
      .in(offset)
      .in(options.b)
      .in(options.mask)
      .set("dilations", options.dilations)
      .set("group", options.group)
      .set("kernel_shape", options.kernel_shape)
      .set("offset_group", options.offset_group)
      .set("pads", options.pads)
      .set("strides", options.strides)
      .one(place);
}
Wire depth_to_space(const Wire& input, const DepthToSpaceOptions& options, Place place) {
  return Making("", "DepthToSpace")
      .in(input)
      .set("blocksize", options.blocksize)
      .set("mode", options.mode)
      .one(place);
}
Wire dequantize_linear(const Wire& x, const Wire& x_scale, const DequantizeLinearOptions& options,
                       Place place) {
  return Making("", "DequantizeLinear")
      .in(x)
      .in(x_scale)
      .in(options.x_zero_point)
      .set("axis", options.axis)
      .set("block_size", options.block_size)
      .set("output_dtype", options.output_dtype)
      .one(place);
}
Wire det(const Wire& x, Place place) { return Making("", "Det").in(x).one(place); }
Wire div(const Wire& a, const Wire& b, Place place) {
  return Making("", "Div").in(a).in(b).one(place);
}
DropoutOutputs dropout(const Wire& data, const DropoutOptions& options, Place place) {
  const Wires wires = Making("", "Dropout")
                          .in(data)
                          .in(options.ratio)
                          .in(options.training_mode)
                          .set("seed", options.seed)
                          .outputs(2, place);
  return {wires[0], wires[1]};
}
DynamicQuantizeLinearOutputs dynamic_quantize_linear(const Wire& x, Place place) {
  const Wires wires = Making("", "DynamicQuantizeLinear").in(x).outputs(3, place);
  return {wires[0], wires[1], wires[2]};
}
Wire einsum(const Wires& inputs, const EinsumOptions& options, Place place) {
  return Making("", "Einsum").in(inputs).set("equation", options.equation).one(place);
}
Wire elu(const Wire& x, const EluOptions& options, Place place) {
  return Making("", "Elu").in(x).set("alpha", options.alpha).one(place);
}
Wire equal(const Wire& a, const Wire& b, Place place) {
  return Making("", "Equal").in(a).in(b).one(place);
}
Wire erf(const Wire& input, Place place) { return Making("", "Erf").in(input).one(place); }
Wire exp(const Wire& input, Place place) { return Making("", "Exp").in(input).one(place); }
Wire expand(const Wire& input, const Wire& shape, Place place) {
  return Making("", "Expand").in(input).in(shape).one(place);
}
Wire eye_like(const Wire& input, const EyeLikeOptions& options, Place place) {
  return Making("", "EyeLike").in(input).set("dtype", options.dtype).set("k", options.k).one(place);
}
Wire flatten(const Wire& input, const FlattenOptions& options, Place place) {
  return Making("", "Flatten").in(input).set("axis", options.axis).one(place);
}
Wire floor(const Wire& x, Place place) { return Making("", "Floor").in(x).one(place); }
GRUOutputs gru(const Wire& x, const Wire& w, const Wire& r, const GRUOptions& options,
               Place place) {
  const Wires wires = Making("", "GRU")
                          .in(x)
                          .in(w)
                          .in(r)
                          .in(options.b)
                          .in(options.sequence_lens)
                          .in(options.initial_h)
                          .set("activation_alpha", options.activation_alpha)
                          .set("activation_beta", options.activation_beta)
                          .set("activations", options.activations)
                          .set("clip", options.clip)
                          .set("direction", options.direction)
                          .set("hidden_size", options.hidden_size)
                          .set("layout", options.layout)
                          .set("linear_before_reset", options.linear_before_reset)
                          .outputs(2, place);
  return {wires[0], wires[1]};
}
Wire gather(const Wire& data, const Wire& indices, const GatherOptions& options, Place place) {
  return Making("", "Gather").in(data).in(indices).set("axis", options.axis).one(place);
}
Wire gather_elements(const Wire& data, const Wire& indices, const GatherElementsOptions& options,
                     Place place) {
  return Making("", "GatherElements").in(data).in(indices).set("axis", options.axis).one(place);
}
Wire gather_nd(const Wire& data, const Wire& indices, const GatherNDOptions& options, Place place) {
  return Making("", "GatherND")
      .in(data)
      .in(indices)
      .set("batch_dims", options.batch_dims)
      .one(place);
}
Wire gelu(const Wire& x, const GeluOptions& options, Place place) {
  return Making("", "Gelu").in(x).set("approximate", options.approximate).one(place);
}
Wire gemm(const Wire& a, const Wire& b, const GemmOptions& options, Place place) {
  return Making("", "Gemm")
      .in(a)
      .in(b)
      .in(options.c)
      .set("alpha", options.alpha)
      .set("beta", options.beta)
      .set("transA", options.trans_a)
      .set("transB", options.trans_b)
      .one(place);
}
Wire global_average_pool(const Wire& x, Place place) {
  return Making("", "GlobalAveragePool").in(x).one(place);
}
Wire global_lp_pool(const Wire& x, const GlobalLpPoolOptions& options, Place place) {
  return Making("", "GlobalLpPool").in(x).set("p", options.p).one(place);
}
Wire global_max_pool(const Wire& x, Place place) {
  return Making("", "GlobalMaxPool").in(x).one(place);
}
Wire greater(const Wire& a, const Wire& b, Place place) {
  return Making("", "Greater").in(a).in(b).one(place);
}
Wire greater_or_equal(const Wire& a, const Wire& b, Place place) {
  return Making("", "GreaterOrEqual").in(a).in(b).one(place);
}
Wire grid_sample(const Wire& x, const Wire& grid, const GridSampleOptions& options, Place place) {
  return Making("", "GridSample")
      .in(x)
      .in(grid)
      .set("align_corners", options.align_corners)
      .set("mode", options.mode)
      .set("padding_mode", options.padding_mode)
      .one(place);
}
Wire group_normalization(const Wire& x, const Wire& scale, const Wire& bias,
                         const GroupNormalizationOptions& options, Place place) {
  return Making("", "GroupNormalization")
      .in(x)
      .in(scale)
      .in(bias)
      .set("epsilon", options.epsilon)
      .set("num_groups", options.num_groups)
      .set("stash_type", options.stash_type)
      .one(place);
}
Wire hamming_window(const Wire& size, const HammingWindowOptions& options, Place place) {
  return Making("", "HammingWindow")
      .in(size)
      .set("output_datatype", options.output_datatype)
      .set("periodic", options.periodic)
      .one(place);
}
Wire hann_window(const Wire& size, const HannWindowOptions& options, Place place) {
  return Making("", "HannWindow")
      .in(size)
      .set("output_datatype", options.output_datatype)
      .set("periodic", options.periodic)
      .one(place);
}
Wire hard_sigmoid(const Wire& x, const HardSigmoidOptions& options, Place place) {
  return Making("", "HardSigmoid")
      .in(x)
      .set("alpha", options.alpha)
      .set("beta", options.beta)
      .one(place);
}
Wire hard_swish(const Wire& x, Place place) { return Making("", "HardSwish").in(x).one(place); }
Wire hardmax(const Wire& input, const HardmaxOptions& options, Place place) {
  return Making("", "Hardmax").in(input).set("axis", options.axis).one(place);
}
Wire identity(const Wire& input, Place place) {
  return Making("", "Identity").in(input).one(place);
}
Wire image_decoder(const Wire& encoded_stream, const ImageDecoderOptions& options, Place place) {
  return Making("", "ImageDecoder")
      .in(encoded_stream)
      .set("pixel_format", options.pixel_format)
      .one(place);
}
Wire instance_normalization(const Wire& input, const Wire& scale, const Wire& b,
                            const InstanceNormalizationOptions& options, Place place) {
  return Making("", "InstanceNormalization")
      .in(input)
      .in(scale)
      .in(b)
      .set("epsilon", options.epsilon)
      .one(place);
}
Wire is_inf(const Wire& x, const IsInfOptions& options, Place place) {
  return Making("", "IsInf")
      .in(x)
      .set("detect_negative", options.detect_negative)
      .set("detect_positive", options.detect_positive)
      .one(place);
}
Wire is_nan(const Wire& x, Place place) { return Making("", "IsNaN").in(x).one(place); }
Wire lrn(const Wire& x, const LRNOptions& options, Place place) {
  return Making("", "LRN")
      .in(x)
      .set("alpha", options.alpha)
      .set("beta", options.beta)
      .set("bias", options.bias)
      .set("size", options.size)
      .one(place);
}
LSTMOutputs lstm(const Wire& x, const Wire& w, const Wire& r, const LSTMOptions& options,
                 Place place) {
  const Wires wires = Making("", "LSTM")
                          .in(x)
                          .in(w)
                          .in(r)
                          .in(options.b)
                          .in(options.sequence_lens)
                          .in(options.initial_h)
                          .in(options.initial_c)
                          .in(options.p)
                          .set("activation_alpha", options.activation_alpha)
                          .set("activation_beta", options.activation_beta)
                          .set("activations", options.activations)
                          .set("clip", options.clip)
                          .set("direction", options.direction)
                          .set("hidden_size", options.hidden_size)
                          .set("input_forget", options.input_forget)
                          .set("layout", options.layout)
                          .outputs(3, place);
  return {wires[0], wires[1], wires[2]};
}
LayerNormalizationOutputs layer_normalization(const Wire& x, const Wire& scale,
                                              const LayerNormalizationOptions& options,
                                              Place place) {
  const Wires wires = Making("", "LayerNormalization")
                          .in(x)
                          .in(scale)
                          .in(options.b)
                          .set("axis", options.axis)
                          .set("epsilon", options.epsilon)
                          .set("stash_type", options.stash_type)
                          .outputs(3, place);
  return {wires[0], wires[1], wires[2]};
}
Wire leaky_relu(const Wire& x, const LeakyReluOptions& options, Place place) {
  return Making("", "LeakyRelu").in(x).set("alpha", options.alpha).one(place);
}
Wire less(const Wire& a, const Wire& b, Place place) {
  return Making("", "Less").in(a).in(b).one(place);
}
Wire less_or_equal(const Wire& a, const Wire& b, Place place) {
  return Making("", "LessOrEqual").in(a).in(b).one(place);
}
LinearAttentionOutputs linear_attention(const Wire& query, const Wire& key, const Wire& value,
                                        const LinearAttentionOptions& options, Place place) {
  const Wires wires = Making("", "LinearAttention")
                          .in(query)
                          .in(key)
                          .in(value)
                          .in(options.past_state)
                          .in(options.decay)
                          .in(options.beta)
                          .set("chunk_size", options.chunk_size)
                          .set("kv_num_heads", options.kv_num_heads)
                          .set("q_num_heads", options.q_num_heads)
                          .set("scale", options.scale)
                          .set("update_rule", options.update_rule)
                          .outputs(2, place);
  return {wires[0], wires[1]};
}
Wire log(const Wire& input, Place place) { return Making("", "Log").in(input).one(place); }
Wire log_softmax(const Wire& input, const LogSoftmaxOptions& options, Place place) {
  return Making("", "LogSoftmax").in(input).set("axis", options.axis).one(place);
}
Wire lp_normalization(const Wire& input, const LpNormalizationOptions& options, Place place) {
  return Making("", "LpNormalization")
      .in(input)
      .set("axis", options.axis)
      .set("p", options.p)
      .one(place);
}
Wire lp_pool(const Wire& x, const LpPoolOptions& options, Place place) {
  return Making("", "LpPool")
      .in(x)
      .set("auto_pad", options.auto_pad)
      .set("ceil_mode", options.ceil_mode)
      .set("dilations", options.dilations)
      .set("kernel_shape", options.kernel_shape)
      .set("p", options.p)
      .set("pads", options.pads)
      .set("strides", options.strides)
      .one(place);
}
Wire matmul(const Wire& a, const Wire& b, Place place) {
  return Making("", "MatMul").in(a).in(b).one(place);
}
Wire matmul_integer(const Wire& a, const Wire& b, const MatMulIntegerOptions& options,
                    Place place) {
  return Making("", "MatMulInteger")
      .in(a)
      .in(b)
      .in(options.a_zero_point)
      .in(options.b_zero_point)
      .one(place);
}
Wire max(const Wires& data_0, Place place) { return Making("", "Max").in(data_0).one(place); }
MaxPoolOutputs max_pool(const Wire& x, const MaxPoolOptions& options, Place place) {
  const Wires wires = Making("", "MaxPool")
                          .in(x)
                          .set("auto_pad", options.auto_pad)
                          .set("ceil_mode", options.ceil_mode)
                          .set("dilations", options.dilations)
                          .set("kernel_shape", options.kernel_shape)
                          .set("pads", options.pads)
                          .set("storage_order", options.storage_order)
                          .set("strides", options.strides)
                          .outputs(2, place);
  return {wires[0], wires[1]};
}
Wire max_roi_pool(const Wire& x, const Wire& rois, const MaxRoiPoolOptions& options, Place place) {
  return Making("", "MaxRoiPool")
      .in(x)
      .in(rois)
      .set("pooled_shape", options.pooled_shape)
      .set("spatial_scale", options.spatial_scale)
      .one(place);
}
Wire max_unpool(const Wire& x, const Wire& i, const MaxUnpoolOptions& options, Place place) {
  return Making("", "MaxUnpool")
      .in(x)
      .in(i)
      .in(options.output_shape)
      .set("kernel_shape", options.kernel_shape)
      .set("pads", options.pads)
      .set("strides", options.strides)
      .one(place);
}
Wire mean(const Wires& data_0, Place place) { return Making("", "Mean").in(data_0).one(place); }
Wire mean_variance_normalization(const Wire& x, const MeanVarianceNormalizationOptions& options,
                                 Place place) {
  return Making("", "MeanVarianceNormalization").in(x).set("axes", options.axes).one(place);
}
Wire mel_weight_matrix(const Wire& num_mel_bins, const Wire& dft_length, const Wire& sample_rate,
                       const Wire& lower_edge_hertz, const Wire& upper_edge_hertz,
                       const MelWeightMatrixOptions& options, Place place) {
  return Making("", "MelWeightMatrix")
      .in(num_mel_bins)
      .in(dft_length)
      .in(sample_rate)
      .in(lower_edge_hertz)
      .in(upper_edge_hertz)
      .set("output_datatype", options.output_datatype)
      .one(place);
}
Wire min(const Wires& data_0, Place place) { return Making("", "Min").in(data_0).one(place); }
Wire mish(const Wire& x, Place place) { return Making("", "Mish").in(x).one(place); }
Wire mod(const Wire& a, const Wire& b, const ModOptions& options, Place place) {
  return Making("", "Mod").in(a).in(b).set("fmod", options.fmod).one(place);
}
Wire mul(const Wire& a, const Wire& b, Place place) {
  return Making("", "Mul").in(a).in(b).one(place);
}
Wire multinomial(const Wire& input, const MultinomialOptions& options, Place place) {
  return Making("", "Multinomial")
      .in(input)
      .set("dtype", options.dtype)
      .set("sample_size", options.sample_size)
      .set("seed", options.seed)
      .one(place);
}
Wire neg(const Wire& x, Place place) { return Making("", "Neg").in(x).one(place); }
Wire negative_log_likelihood_loss(const Wire& input, const Wire& target,
                                  const NegativeLogLikelihoodLossOptions& options, Place place) {
  return Making("", "NegativeLogLikelihoodLoss")
      .in(input)
      .in(target)
      .in(options.weight)
      .set("ignore_index", options.ignore_index)
      .set("reduction", options.reduction)
      .one(place);
}
Wire non_max_suppression(const Wire& boxes, const Wire& scores,
                         const NonMaxSuppressionOptions& options, Place place) {
  return Making("", "NonMaxSuppression")
      .in(boxes)
      .in(scores)
      .in(options.max_output_boxes_per_class)
      .in(options.iou_threshold)
      .in(options.score_threshold)
      .set("center_point_box", options.center_point_box)
      .one(place);
}
Wire non_zero(const Wire& x, Place place) { return Making("", "NonZero").in(x).one(place); }
Wire not_(const Wire& x, Place place) { return Making("", "Not").in(x).one(place); }
Wire one_hot(const Wire& indices, const Wire& depth, const Wire& values,
             const OneHotOptions& options, Place place) {
  return Making("", "OneHot").in(indices).in(depth).in(values).set("axis", options.axis).one(place);
}
Wire optional(const Graph& graph, const OptionalOptions& options, Place place) {
  return Making("", "Optional")
      .within(graph)
      .in(options.input)
      .set("type", options.type)
      .one(place);
}
Wire optional_get_element(const Wire& input, Place place) {
  return Making("", "OptionalGetElement").in(input).one(place);
}
Wire optional_has_element(const Graph& graph, const OptionalHasElementOptions& options,
                          Place place) {
  return Making("", "OptionalHasElement").within(graph).in(options.input).one(place);
}
Wire or_(const Wire& a, const Wire& b, Place place) {
  return Making("", "Or").in(a).in(b).one(place);
}
Wire prelu(const Wire& x, const Wire& slope, Place place) {
  return Making("", "PRelu").in(x).in(slope).one(place);
}
Wire pad(const Wire& data, const Wire& pads, const PadOptions& options, Place place) {
  return Making("", "Pad")
      .in(data)
      .in(pads)
      .in(options.constant_value)
      .in(options.axes)
      .set("mode", options.mode)
      .one(place);
}
Wire pow(const Wire& x, const Wire& y, Place place) {
  return Making("", "Pow").in(x).in(y).one(place);
}
Wire qlinear_conv(const Wire& x, const Wire& x_scale, const Wire& x_zero_point, const Wire& w,
                  const Wire& w_scale, const Wire& w_zero_point, const Wire& y_scale,
                  const Wire& y_zero_point, const QLinearConvOptions& options, Place place) {
  return Making("", "QLinearConv")
      .in(x)
      .in(x_scale)
      .in(x_zero_point)
      .in(w)
      .in(w_scale)
      .in(w_zero_point)
      .in(y_scale)
      .in(y_zero_point)
      .in(options.b)
      .set("auto_pad", options.auto_pad)
      .set("dilations", options.dilations)
      .set("group", options.group)
      .set("kernel_shape", options.kernel_shape)
      .set("pads", options.pads)
      .set("strides", options.strides)
      .one(place);
}
Wire qlinear_matmul(const Wire& a, const Wire& a_scale, const Wire& a_zero_point, const Wire& b,
                    const Wire& b_scale, const Wire& b_zero_point, const Wire& y_scale,
                    const Wire& y_zero_point, Place place) {
  return Making("", "QLinearMatMul")
      .in(a)
      .in(a_scale)
      .in(a_zero_point)
      .in(b)
      .in(b_scale)
      .in(b_zero_point)
      .in(y_scale)
      .in(y_zero_point)
      .one(place);
}
Wire quantize_linear(const Wire& x, const Wire& y_scale, const QuantizeLinearOptions& options,
                     Place place) {
  return Making("", "QuantizeLinear")
      .in(x)
      .in(y_scale)
      .in(options.y_zero_point)
      .set("axis", options.axis)
      .set("block_size", options.block_size)
      .set("output_dtype", options.output_dtype)
      .set("precision", options.precision)
      .set("saturate", options.saturate)
      .one(place);
}
Wire rms_normalization(const Wire& x, const Wire& scale, const RMSNormalizationOptions& options,
                       Place place) {
  return Making("", "RMSNormalization")
      .in(x)
      .in(scale)
      .set("axis", options.axis)
      .set("epsilon", options.epsilon)
      .set("stash_type", options.stash_type)
      .one(place);
}
RNNOutputs rnn(const Wire& x, const Wire& w, const Wire& r, const RNNOptions& options,
               Place place) {
  const Wires wires = Making("", "RNN")
                          .in(x)
                          .in(w)
                          .in(r)
                          .in(options.b)
                          .in(options.sequence_lens)
                          .in(options.initial_h)
                          .set("activation_alpha", options.activation_alpha)
                          .set("activation_beta", options.activation_beta)
                          .set("activations", options.activations)
                          .set("clip", options.clip)
                          .set("direction", options.direction)
                          .set("hidden_size", options.hidden_size)
                          .set("layout", options.layout)
                          .outputs(2, place);
  return {wires[0], wires[1]};
}
Wire random_normal(const Graph& graph, const RandomNormalOptions& options, Place place) {
  return Making("", "RandomNormal")
      .within(graph)
      .set("dtype", options.dtype)
      .set("mean", options.mean)
      .set("scale", options.scale)
      .set("seed", options.seed)
      .set("shape", options.shape)
      .one(place);
}
Wire random_normal_like(const Wire& input, const RandomNormalLikeOptions& options, Place place) {
  return Making("", "RandomNormalLike")
      .in(input)
      .set("dtype", options.dtype)
      .set("mean", options.mean)
      .set("scale", options.scale)
      .set("seed", options.seed)
      .one(place);
}
Wire random_uniform(const Graph& graph, const RandomUniformOptions& options, Place place) {
  return Making("", "RandomUniform")
      .within(graph)
      .set("dtype", options.dtype)
      .set("high", options.high)
      .set("low", options.low)
      .set("seed", options.seed)
      .set("shape", options.shape)
      .one(place);
}
Wire random_uniform_like(const Wire& input, const RandomUniformLikeOptions& options, Place place) {
  return Making("", "RandomUniformLike")
      .in(input)
      .set("dtype", options.dtype)
      .set("high", options.high)
      .set("low", options.low)
      .set("seed", options.seed)
      .one(place);
}
Wire range(const Wire& start, const Wire& limit, const Wire& delta, const RangeOptions& options,
           Place place) {
  return Making("", "Range")
      .in(start)
      .in(limit)
      .in(delta)
      .set("stash_type", options.stash_type)
      .one(place);
}
Wire reciprocal(const Wire& x, Place place) { return Making("", "Reciprocal").in(x).one(place); }
Wire reduce_l1(const Wire& data, const ReduceL1Options& options, Place place) {
  return Making("", "ReduceL1")
      .in(data)
      .in(options.axes)
      .set("keepdims", options.keepdims)
      .set("noop_with_empty_axes", options.noop_with_empty_axes)
      .one(place);
}
Wire reduce_l2(const Wire& data, const ReduceL2Options& options, Place place) {
  return Making("", "ReduceL2")
      .in(data)
      .in(options.axes)
      .set("keepdims", options.keepdims)
      .set("noop_with_empty_axes", options.noop_with_empty_axes)
      .one(place);
}
Wire reduce_log_sum(const Wire& data, const ReduceLogSumOptions& options, Place place) {
  return Making("", "ReduceLogSum")
      .in(data)
      .in(options.axes)
      .set("keepdims", options.keepdims)
      .set("noop_with_empty_axes", options.noop_with_empty_axes)
      .one(place);
}
Wire reduce_log_sum_exp(const Wire& data, const ReduceLogSumExpOptions& options, Place place) {
  return Making("", "ReduceLogSumExp")
      .in(data)
      .in(options.axes)
      .set("keepdims", options.keepdims)
      .set("noop_with_empty_axes", options.noop_with_empty_axes)
      .one(place);
}
Wire reduce_max(const Wire& data, const ReduceMaxOptions& options, Place place) {
  return Making("", "ReduceMax")
      .in(data)
      .in(options.axes)
      .set("keepdims", options.keepdims)
      .set("noop_with_empty_axes", options.noop_with_empty_axes)
      .one(place);
}
Wire reduce_mean(const Wire& data, const ReduceMeanOptions& options, Place place) {
  return Making("", "ReduceMean")
      .in(data)
      .in(options.axes)
      .set("keepdims", options.keepdims)
      .set("noop_with_empty_axes", options.noop_with_empty_axes)
      .one(place);
}
Wire reduce_min(const Wire& data, const ReduceMinOptions& options, Place place) {
  return Making("", "ReduceMin")
      .in(data)
      .in(options.axes)
      .set("keepdims", options.keepdims)
      .set("noop_with_empty_axes", options.noop_with_empty_axes)
      .one(place);
}
Wire reduce_prod(const Wire& data, const ReduceProdOptions& options, Place place) {
  return Making("", "ReduceProd")
      .in(data)
      .in(options.axes)
      .set("keepdims", options.keepdims)
      .set("noop_with_empty_axes", options.noop_with_empty_axes)
      .one(place);
}
Wire reduce_sum(const Wire& data, const ReduceSumOptions& options, Place place) {
  return Making("", "ReduceSum")
      .in(data)
      .in(options.axes)
      .set("keepdims", options.keepdims)
      .set("noop_with_empty_axes", options.noop_with_empty_axes)
      .one(place);
}
Wire reduce_sum_square(const Wire& data, const ReduceSumSquareOptions& options, Place place) {
  return Making("", "ReduceSumSquare")
      .in(data)
      .in(options.axes)
      .set("keepdims", options.keepdims)
      .set("noop_with_empty_axes", options.noop_with_empty_axes)
      .one(place);
}
Wire regex_full_match(const Wire& x, const RegexFullMatchOptions& options, Place place) {
  return Making("", "RegexFullMatch").in(x).set("pattern", options.pattern).one(place);
}
Wire relu(const Wire& x, Place place) { return Making("", "Relu").in(x).one(place); }
Wire reshape(const Wire& data, const Wire& shape, const ReshapeOptions& options, Place place) {
  return Making("", "Reshape").in(data).in(shape).set("allowzero", options.allowzero).one(place);
}
Wire resize(const Wire& x, const ResizeOptions& options, Place place) {
  return Making("", "Resize")
      .in(x)
      .in(options.roi)
      .in(options.scales)
      .in(options.sizes)
      .set("antialias", options.antialias)
      .set("axes", options.axes)
      .set("coordinate_transformation_mode", options.coordinate_transformation_mode)
      .set("cubic_coeff_a", options.cubic_coeff_a)
      .set("exclude_outside", options.exclude_outside)
      .set("extrapolation_value", options.extrapolation_value)
      .set("keep_aspect_ratio_policy", options.keep_aspect_ratio_policy)
      .set("mode", options.mode)
      .set("nearest_mode", options.nearest_mode)
      .one(place);
}
Wire reverse_sequence(const Wire& input, const Wire& sequence_lens,
                      const ReverseSequenceOptions& options, Place place) {
  return Making("", "ReverseSequence")
      .in(input)
      .in(sequence_lens)
      .set("batch_axis", options.batch_axis)
      .set("time_axis", options.time_axis)
      .one(place);
}
Wire roi_align(const Wire& x, const Wire& rois, const Wire& batch_indices,
               const RoiAlignOptions& options, Place place) {
  return Making("", "RoiAlign")
      .in(x)
      .in(rois)
      .in(batch_indices)
      .set("coordinate_transformation_mode", options.coordinate_transformation_mode)
      .set("mode", options.mode)
      .set("output_height", options.output_height)
      .set("output_width", options.output_width)
      .set("sampling_ratio", options.sampling_ratio)
      .set("spatial_scale", options.spatial_scale)
      .one(place);
}
Wire rotary_embedding(const Wire& x, const Wire& cos_cache, const Wire& sin_cache,
                      const RotaryEmbeddingOptions& options, Place place) {
  return Making("", "RotaryEmbedding")
      .in(x)
      .in(cos_cache)
      .in(sin_cache)
      .in(options.position_ids)
      .set("interleaved", options.interleaved)
      .set("num_heads", options.num_heads)
      .set("rotary_embedding_dim", options.rotary_embedding_dim)
      .one(place);
}
Wire round(const Wire& x, Place place) { return Making("", "Round").in(x).one(place); }
Wire stft(const Wire& signal, const Wire& frame_step, const STFTOptions& options, Place place) {
  return Making("", "STFT")
      .in(signal)
      .in(frame_step)
      .in(options.window)
      .in(options.frame_length)
      .set("onesided", options.onesided)
      .one(place);
}
Wire scatter_elements(const Wire& data, const Wire& indices, const Wire& updates,
                      const ScatterElementsOptions& options, Place place) {
  return Making("", "ScatterElements")
      .in(data)
      .in(indices)
      .in(updates)
      .set("axis", options.axis)
      .set("reduction", options.reduction)
      .one(place);
}
Wire scatter_nd(const Wire& data, const Wire& indices, const Wire& updates,
                const ScatterNDOptions& options, Place place) {
  return Making("", "ScatterND")
      .in(data)
      .in(indices)
      .in(updates)
      .set("reduction", options.reduction)
      .one(place);
}
Wire selu(const Wire& x, const SeluOptions& options, Place place) {
  return Making("", "Selu")
      .in(x)
      .set("alpha", options.alpha)
      .set("gamma", options.gamma)
      .one(place);
}
Wire sequence_at(const Wire& input_sequence, const Wire& position, Place place) {
  return Making("", "SequenceAt").in(input_sequence).in(position).one(place);
}
Wire sequence_construct(const Wires& inputs, Place place) {
  return Making("", "SequenceConstruct").in(inputs).one(place);
}
Wire sequence_empty(const Graph& graph, const SequenceEmptyOptions& options, Place place) {
  return Making("", "SequenceEmpty").within(graph).set("dtype", options.dtype).one(place);
}
Wire sequence_erase(const Wire& input_sequence, const SequenceEraseOptions& options, Place place) {
  return Making("", "SequenceErase").in(input_sequence).in(options.position).one(place);
}
Wire sequence_insert(const Wire& input_sequence, const Wire& tensor,
                     const SequenceInsertOptions& options, Place place) {
  return Making("", "SequenceInsert").in(input_sequence).in(tensor).in(options.position).one(place);
}
Wire sequence_length(const Wire& input_sequence, Place place) {
  return Making("", "SequenceLength").in(input_sequence).one(place);
}
Wire shape(const Wire& data, const ShapeOptions& options, Place place) {
  return Making("", "Shape")
      .in(data)
      .set("end", options.end)
      .set("start", options.start)
      .one(place);
}
Wire shrink(const Wire& input, const ShrinkOptions& options, Place place) {
  return Making("", "Shrink")
      .in(input)
      .set("bias", options.bias)
      .set("lambd", options.lambd)
      .one(place);
}
Wire sigmoid(const Wire& x, Place place) { return Making("", "Sigmoid").in(x).one(place); }
Wire sign(const Wire& input, Place place) { return Making("", "Sign").in(input).one(place); }
SimplifiedLayerNormalizationOutputs simplified_layer_normalization(
    const Wire& x, const Wire& scale, const SimplifiedLayerNormalizationOptions& options,
    Place place) {
  const Wires wires = Making("", "SimplifiedLayerNormalization")
                          .in(x)
                          .in(scale)
                          .set("axis", options.axis)
                          .set("epsilon", options.epsilon)
                          .set("stash_type", options.stash_type)
                          .outputs(2, place);
  return {wires[0], wires[1]};
}
Wire sin(const Wire& input, Place place) { return Making("", "Sin").in(input).one(place); }
Wire sinh(const Wire& input, Place place) { return Making("", "Sinh").in(input).one(place); }
Wire size(const Wire& data, Place place) { return Making("", "Size").in(data).one(place); }
Wire slice(const Wire& data, const Wire& starts, const Wire& ends, const SliceOptions& options,
           Place place) {
  return Making("", "Slice")
      .in(data)
      .in(starts)
      .in(ends)
      .in(options.axes)
      .in(options.steps)
      .one(place);
}
Wire softmax(const Wire& input, const SoftmaxOptions& options, Place place) {
  return Making("", "Softmax").in(input).set("axis", options.axis).one(place);
}
SoftmaxCrossEntropyLossOutputs softmax_cross_entropy_loss(
    const Wire& scores, const Wire& labels, const SoftmaxCrossEntropyLossOptions& options,
    Place place) {
  const Wires wires = Making("", "SoftmaxCrossEntropyLoss")
                          .in(scores)
                          .in(labels)
                          .in(options.weights)
                          .set("ignore_index", options.ignore_index)
                          .set("reduction", options.reduction)
                          .outputs(2, place);
  return {wires[0], wires[1]};
}
Wire softplus(const Wire& x, Place place) { return Making("", "Softplus").in(x).one(place); }
Wire softsign(const Wire& input, Place place) {
  return Making("", "Softsign").in(input).one(place);
}
Wire space_to_depth(const Wire& input, const SpaceToDepthOptions& options, Place place) {
  return Making("", "SpaceToDepth")
      .in(input)
      .set("blocksize", options.blocksize)
      .set("mode", options.mode)
      .one(place);
}
Wire split_to_sequence(const Wire& input, const SplitToSequenceOptions& options, Place place) {
  return Making("", "SplitToSequence")
      .in(input)
      .in(options.split)
      .set("axis", options.axis)
      .set("keepdims", options.keepdims)
      .one(place);
}
Wire sqrt(const Wire& x, Place place) { return Making("", "Sqrt").in(x).one(place); }
Wire squeeze(const Wire& data, const SqueezeOptions& options, Place place) {
  return Making("", "Squeeze").in(data).in(options.axes).one(place);
}
Wire string_concat(const Wire& x, const Wire& y, Place place) {
  return Making("", "StringConcat").in(x).in(y).one(place);
}
Wire string_normalizer(const Wire& x, const StringNormalizerOptions& options, Place place) {
  return Making("", "StringNormalizer")
      .in(x)
      .set("case_change_action", options.case_change_action)
      .set("is_case_sensitive", options.is_case_sensitive)
      .set("locale", options.locale)
      .set("stopwords", options.stopwords)
      .one(place);
}
StringSplitOutputs string_split(const Wire& x, const StringSplitOptions& options, Place place) {
  const Wires wires = Making("", "StringSplit")
                          .in(x)
                          .set("delimiter", options.delimiter)
                          .set("maxsplit", options.maxsplit)
                          .outputs(2, place);
  return {wires[0], wires[1]};
}
Wire sub(const Wire& a, const Wire& b, Place place) {
  return Making("", "Sub").in(a).in(b).one(place);
}
Wire sum(const Wires& data_0, Place place) { return Making("", "Sum").in(data_0).one(place); }
Wire swiglu(const Wire& a, const Wire& b, const SwiGLUOptions& options, Place place) {
  return Making("", "SwiGLU").in(a).in(b).set("alpha", options.alpha).one(place);
}
Wire swish(const Wire& x, const SwishOptions& options, Place place) {
  return Making("", "Swish").in(x).set("alpha", options.alpha).one(place);
}
Wire tan(const Wire& input, Place place) { return Making("", "Tan").in(input).one(place); }
Wire tanh(const Wire& input, Place place) { return Making("", "Tanh").in(input).one(place); }
Wire tensor_scatter(const Wire& past_cache, const Wire& update, const TensorScatterOptions& options,
                    Place place) {
  return Making("", "TensorScatter")
      .in(past_cache)
      .in(update)
      .in(options.write_indices)
      .set("axis", options.axis)
      .set("mode", options.mode)
      .one(place);
}
Wire tf_idf_vectorizer(const Wire& x, const TfIdfVectorizerOptions& options, Place place) {
  return Making("", "TfIdfVectorizer")
      .in(x)
      .set("max_gram_length", options.max_gram_length)
      .set("max_skip_count", options.max_skip_count)
      .set("min_gram_length", options.min_gram_length)
      .set("mode", options.mode)
      .set("ngram_counts", options.ngram_counts)
      .set("ngram_indexes", options.ngram_indexes)
      .set("pool_int64s", options.pool_int64s)
      .set("pool_strings", options.pool_strings)
      .set("weights", options.weights)
      .one(place);
}
Wire thresholded_relu(const Wire& x, const ThresholdedReluOptions& options, Place place) {
  return Making("", "ThresholdedRelu").in(x).set("alpha", options.alpha).one(place);
}
Wire tile(const Wire& input, const Wire& repeats, Place place) {
  return Making("", "Tile").in(input).in(repeats).one(place);
}
TopKOutputs top_k(const Wire& x, const Wire& k, const TopKOptions& options, Place place) {
  const Wires wires = Making("", "TopK")
                          .in(x)
                          .in(k)
                          .set("axis", options.axis)
                          .set("largest", options.largest)
                          .set("sorted", options.sorted)
                          .outputs(2, place);
  return {wires[0], wires[1]};
}
Wire transpose(const Wire& data, const TransposeOptions& options, Place place) {
  return Making("", "Transpose").in(data).set("perm", options.perm).one(place);
}
Wire trilu(const Wire& input, const TriluOptions& options, Place place) {
  return Making("", "Trilu").in(input).in(options.k).set("upper", options.upper).one(place);
}
UniqueOutputs unique(const Wire& x, const UniqueOptions& options, Place place) {
  const Wires wires = Making("", "Unique")
                          .in(x)
                          .set("axis", options.axis)
                          .set("sorted", options.sorted)
                          .outputs(4, place);
  return {wires[0], wires[1], wires[2], wires[3]};
}
Wire unsqueeze(const Wire& data, const Wire& axes, Place place) {
  return Making("", "Unsqueeze").in(data).in(axes).one(place);
}
Wire where(const Wire& condition, const Wire& x, const Wire& y, Place place) {
  return Making("", "Where").in(condition).in(x).in(y).one(place);
}
Wire xor_(const Wire& a, const Wire& b, Place place) {
  return Making("", "Xor").in(a).in(b).one(place);
}
namespace ml {

Wire array_feature_extractor(const Wire& x, const Wire& y, Place place) {
  return Making("ai.onnx.ml", "ArrayFeatureExtractor").in(x).in(y).one(place);
}
Wire binarizer(const Wire& x, const BinarizerOptions& options, Place place) {
  return Making("ai.onnx.ml", "Binarizer").in(x).set("threshold", options.threshold).one(place);
}
Wire cast_map(const Wire& x, const CastMapOptions& options, Place place) {
  return Making("ai.onnx.ml", "CastMap")
      .in(x)
      .set("cast_to", options.cast_to)
      .set("map_form", options.map_form)
      .set("max_map", options.max_map)
      .one(place);
}
Wire category_mapper(const Wire& x, const CategoryMapperOptions& options, Place place) {
  return Making("ai.onnx.ml", "CategoryMapper")
      .in(x)
      .set("cats_int64s", options.cats_int64s)
      .set("cats_strings", options.cats_strings)
      .set("default_int64", options.default_int64)
      .set("default_string", options.default_string)
      .one(place);
}
Wire dict_vectorizer(const Wire& x, const DictVectorizerOptions& options, Place place) {
  return Making("ai.onnx.ml", "DictVectorizer")
      .in(x)
      .set("int64_vocabulary", options.int64_vocabulary)
      .set("string_vocabulary", options.string_vocabulary)
      .one(place);
}
Wire feature_vectorizer(const Wires& x, const FeatureVectorizerOptions& options, Place place) {
  return Making("ai.onnx.ml", "FeatureVectorizer")
      .in(x)
      .set("inputdimensions", options.inputdimensions)
      .one(place);
}
Wire imputer(const Wire& x, const ImputerOptions& options, Place place) {
  return Making("ai.onnx.ml", "Imputer")
      .in(x)
      .set("imputed_value_floats", options.imputed_value_floats)
      .set("imputed_value_int64s", options.imputed_value_int64s)
      .set("replaced_value_float", options.replaced_value_float)
      .set("replaced_value_int64", options.replaced_value_int64)
      .one(place);
}
Wire label_encoder(const Wire& x, const LabelEncoderOptions& options, Place place) {
  return Making("ai.onnx.ml", "LabelEncoder")
      .in(x)
      .set("default_float", options.default_float)
      .set("default_int64", options.default_int64)
      .set("default_string", options.default_string)
      .set("default_tensor", options.default_tensor)
      .set("keys_floats", options.keys_floats)
      .set("keys_int64s", options.keys_int64s)
      .set("keys_strings", options.keys_strings)
      .set("keys_tensor", options.keys_tensor)
      .set("values_floats", options.values_floats)
      .set("values_int64s", options.values_int64s)
      .set("values_strings", options.values_strings)
      .set("values_tensor", options.values_tensor)
      .one(place);
}
LinearClassifierOutputs linear_classifier(const Wire& x, const LinearClassifierOptions& options,
                                          Place place) {
  const Wires wires = Making("ai.onnx.ml", "LinearClassifier")
                          .in(x)
                          .set("classlabels_ints", options.classlabels_ints)
                          .set("classlabels_strings", options.classlabels_strings)
                          .set("coefficients", options.coefficients)
                          .set("intercepts", options.intercepts)
                          .set("multi_class", options.multi_class)
                          .set("post_transform", options.post_transform)
                          .outputs(2, place);
  return {wires[0], wires[1]};
}
Wire linear_regressor(const Wire& x, const LinearRegressorOptions& options, Place place) {
  return Making("ai.onnx.ml", "LinearRegressor")
      .in(x)
      .set("coefficients", options.coefficients)
      .set("intercepts", options.intercepts)
      .set("post_transform", options.post_transform)
      .set("targets", options.targets)
      .one(place);
}
Wire normalizer(const Wire& x, const NormalizerOptions& options, Place place) {
  return Making("ai.onnx.ml", "Normalizer").in(x).set("norm", options.norm).one(place);
}
Wire one_hot_encoder(const Wire& x, const OneHotEncoderOptions& options, Place place) {
  return Making("ai.onnx.ml", "OneHotEncoder")
      .in(x)
      .set("cats_int64s", options.cats_int64s)
      .set("cats_strings", options.cats_strings)
      .set("zeros", options.zeros)
      .one(place);
}
SVMClassifierOutputs svm_classifier(const Wire& x, const SVMClassifierOptions& options,
                                    Place place) {
  const Wires wires = Making("ai.onnx.ml", "SVMClassifier")
                          .in(x)
                          .set("classlabels_ints", options.classlabels_ints)
                          .set("classlabels_strings", options.classlabels_strings)
                          .set("coefficients", options.coefficients)
                          .set("kernel_params", options.kernel_params)
                          .set("kernel_type", options.kernel_type)
                          .set("post_transform", options.post_transform)
                          .set("prob_a", options.prob_a)
                          .set("prob_b", options.prob_b)
                          .set("rho", options.rho)
                          .set("support_vectors", options.support_vectors)
                          .set("vectors_per_class", options.vectors_per_class)
                          .outputs(2, place);
  return {wires[0], wires[1]};
}
Wire svm_regressor(const Wire& x, const SVMRegressorOptions& options, Place place) {
  return Making("ai.onnx.ml", "SVMRegressor")
      .in(x)
      .set("coefficients", options.coefficients)
      .set("kernel_params", options.kernel_params)
      .set("kernel_type", options.kernel_type)
      .set("n_supports", options.n_supports)
      .set("one_class", options.one_class)
      .set("post_transform", options.post_transform)
      .set("rho", options.rho)
      .set("support_vectors", options.support_vectors)
      .one(place);
}
Wire scaler(const Wire& x, const ScalerOptions& options, Place place) {
  return Making("ai.onnx.ml", "Scaler")
      .in(x)
      .set("offset", options.offset)
      .set("scale", options.scale)
      .one(place);
}
Wire tree_ensemble(const Wire& x, const TreeEnsembleOptions& options, Place place) {
  return Making("ai.onnx.ml", "TreeEnsemble")
      .in(x)
      .set("aggregate_function", options.aggregate_function)
      .set("leaf_targetids", options.leaf_targetids)
      .set("leaf_weights", options.leaf_weights)
      .set("membership_values", options.membership_values)
      .set("n_targets", options.n_targets)
      .set("nodes_falseleafs", options.nodes_falseleafs)
      .set("nodes_falsenodeids", options.nodes_falsenodeids)
      .set("nodes_featureids", options.nodes_featureids)
      .set("nodes_hitrates", options.nodes_hitrates)
      .set("nodes_missing_value_tracks_true", options.nodes_missing_value_tracks_true)
      .set("nodes_modes", options.nodes_modes)
      .set("nodes_splits", options.nodes_splits)
      .set("nodes_trueleafs", options.nodes_trueleafs)
      .set("nodes_truenodeids", options.nodes_truenodeids)
      .set("post_transform", options.post_transform)
      .set("tree_roots", options.tree_roots)
      .one(place);
}
Wire zip_map(const Wire& x, const ZipMapOptions& options, Place place) {
  return Making("ai.onnx.ml", "ZipMap")
      .in(x)
      .set("classlabels_int64s", options.classlabels_int64s)
      .set("classlabels_strings", options.classlabels_strings)
      .one(place);
}
}  // namespace ml

namespace preview {

Wire flex_attention(const Wire& q, const Wire& k, const Wire& v,
                    const FlexAttentionOptions& options, Place place) {
  return Making("ai.onnx.preview", "FlexAttention")
      .in(q)
      .in(k)
      .in(v)
      .set_body("prob_mod", options.prob_mod)
      .set("scale", options.scale)
      .set_body("score_mod", options.score_mod)
      .set("softmax_precision", options.softmax_precision)
      .one(place);
}
}  // namespace preview

namespace training {

Wires adagrad(const Wire& r, const Wire& t, const Wires& inputs, const AdagradOptions& options,
              size_t outputs, Place place) {
  return Making("ai.onnx.preview.training", "Adagrad")
      .in(r)
      .in(t)
      .in(inputs)
      .set("decay_factor", options.decay_factor)
      .set("epsilon", options.epsilon)
      .set("norm_coefficient", options.norm_coefficient)
      .outputs(outputs, place);
}
Wires adam(const Wire& r, const Wire& t, const Wires& inputs, const AdamOptions& options,
           size_t outputs, Place place) {
  return Making("ai.onnx.preview.training", "Adam")
      .in(r)
      .in(t)
      .in(inputs)
      .set("alpha", options.alpha)
      .set("beta", options.beta)
      .set("epsilon", options.epsilon)
      .set("norm_coefficient", options.norm_coefficient)
      .set("norm_coefficient_post", options.norm_coefficient_post)
      .outputs(outputs, place);
}
Wires gradient(const Wires& inputs, const GradientOptions& options, size_t outputs, Place place) {
  return Making("ai.onnx.preview.training", "Gradient")
      .in(inputs)
      .set("xs", options.xs)
      .set("y", options.y)
      .set("zs", options.zs)
      .outputs(outputs, place);
}
Wires momentum(const Wire& r, const Wire& t, const Wires& inputs, const MomentumOptions& options,
               size_t outputs, Place place) {
  return Making("ai.onnx.preview.training", "Momentum")
      .in(r)
      .in(t)
      .in(inputs)
      .set("alpha", options.alpha)
      .set("beta", options.beta)
      .set("mode", options.mode)
      .set("norm_coefficient", options.norm_coefficient)
      .outputs(outputs, place);
}
}  // namespace training

}  // namespace sardonyx::ops
