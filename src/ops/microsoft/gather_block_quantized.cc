// GatherBlockQuantized: rows of an embedding table whose elements are a few bits, dequantised as
// they are taken.
#include "ops/microsoft/block_weights.h"
#include "ops/noise.h"

namespace sdx::ops::microsoft {
namespace {

struct GatherQuantized {
  size_t gather, quantised;  // axes
  size_t block, bits;
  size_t per_byte;  // elements in one byte of u8 data; 1 for data of 4-bit types and of 8 bits
};

constexpr Version kHistory[] = {
    {1,
     "(data: T1, indices: Tind, scales: T2, zero_points?: T1) -> (output: T2) {bits: int = 4, "
     "block_size: int = 128, gather_axis: int = 0, quantize_axis: int = 1} T1 in i4 u4 u8 T2 in "
     "f32 f16 bf16 Tind in i32 i64"}};

Result<GatherQuantized> read(const Node& node, const Facts& in) {
  if (!in[0].has_rank()) return fail("SDX-T0111", "the rank of the data must be known");
  const int64_t bits = node.i("bits"), block = node.i("block_size");
  const bool bytes = in[0].type == DType::u8;
  if (bytes ? bits != 2 && bits != 4 && bits != 8 : bits != 4)
    return fail("SDX-T1063", "bits is {} for data of {}", bits, short_name(in[0].type));
  SDX_TRY(check_block_size(block));
  SDX_ASSIGN(const size_t gather, resolve_axis(node.i("gather_axis"), in[0].rank()));
  SDX_ASSIGN(const size_t quantised, resolve_axis(node.i("quantize_axis"), in[0].rank()));
  if (gather == quantised || (bytes && (gather != 0 || quantised + 1 != in[0].rank()))) {
    return fail("SDX-T1086",
                "gather_axis {} and quantize_axis {}: they must differ, and be the first and the "
                "last of bytes",
                gather, quantised);
  }
  return GatherQuantized{gather, quantised, size_t(block), size_t(bits),
                         bytes ? 8 / size_t(bits) : 1};
}

Result<Facts> infer(const GatherQuantized& a, const Facts& in) {
  const auto elements = int64_t(a.per_byte), block = int64_t(a.block);
  for (size_t i = 2; i < in.size(); ++i) {
    if (!in[i].present() || !in[i].has_rank()) continue;
    bool fits = in[i].rank() == in[0].rank();
    for (size_t axis = 0; fits && axis < in[0].rank(); ++axis) {
      Dim want = in[0].dim(axis);
      if (axis == a.quantised) {
        want = ceil_div(want * Dim(elements), Dim(block));
        if (i == 3) want = ceil_div(want, Dim(elements));
      }
      fits = !want.is_const() || !in[i].dim(axis).is_const() || want == in[i].dim(axis);
    }
    if (!fits) {
      return fail("SDX-T0312", "{} is {}, which does not go with data {} in blocks of {}",
                  i == 2 ? "scales" : "zero_points", in[i].text(), in[0].text(), block);
    }
  }
  if (!in[1].has_rank()) return Facts{Fact::tensor(in[2].type)};
  Shape shape;
  for (size_t axis = 0; axis < in[0].rank(); ++axis) {
    if (axis == a.gather) {
      shape.insert(shape.end(), in[1].shape->begin(), in[1].shape->end());
    } else {
      shape.push_back(axis == a.quantised ? in[0].dim(axis) * Dim(elements) : in[0].dim(axis));
    }
  }
  return Facts{Fact::tensor(in[2].type, std::move(shape))};
}

// Element i of a tensor of a.bits each; of bytes, the first is in the lowest bits.
int64_t element(const GatherQuantized& a, const View& data, size_t row, size_t width, size_t i) {
  if (data.type != DType::u8) return get_i64(data.type, data.raw, row * width + i);
  const size_t bytes = (width + a.per_byte - 1) / a.per_byte;
  const unsigned byte = data.data<uint8_t>()[row * bytes + i / a.per_byte];
  return int64_t(byte >> (i % a.per_byte * a.bits) & ((1u << a.bits) - 1));
}

// y = (q - zero point) * scale of the element's block, in float, rounded once. Without zero points
// that of i4 and u4 is 0, that of bytes the middle of the range.
Status reference(const GatherQuantized& a, Args& args) {
  const View &data = args.in(0), &indices = args.in(1), &scales = args.in(2), &y = args.out();
  const auto limit = data.dims[a.gather];
  for (size_t i = 0; i < indices.count; ++i) {
    const int64_t index = get_i64(indices.type, indices.raw, i);
    if (index < -limit || index >= limit)
      return fail("SDX-R0506", "index {} is not in an axis of {}", index, limit);
  }
  // Axes before and behind the gathered one, and within them the quantised one.
  const AxisSplit at = split_at(data.dims, a.gather);
  const size_t inner = at.inner * (a.quantised > a.gather ? a.per_byte : 1);
  const auto strides = [&](std::span<const int64_t> dims, size_t scaled) {
    std::vector<size_t> steps(dims.size(), 1);
    for (size_t axis = dims.size() - 1; axis-- > 0;) {
      const size_t next = axis + 1 == a.quantised ? scaled : size_t(dims[axis + 1]);
      steps[axis] = steps[axis + 1] * next;
    }
    return steps;
  };
  const size_t width = size_t(data.dims[a.quantised]) * a.per_byte;
  const size_t blocks = size_t(scales.dims[a.quantised]);
  const std::vector<size_t> data_step = strides(data.dims, width),
                            scale_step = strides(scales.dims, blocks);
  args.pool->parallel(
      at.outer * indices.count, 1 + 1024 / (inner + 1), [&](size_t begin, size_t end, int) {
        for (size_t row = begin; row < end; ++row) {
          const size_t outer = row / indices.count;
          int64_t index = get_i64(indices.type, indices.raw, row % indices.count);
          if (index < 0) index += limit;
          for (size_t i = 0; i < inner; ++i) {
            // The element's place in the data, axis by axis, and from it the block's.
            size_t place = (outer * at.size + size_t(index)) * inner + i, scale = 0;
            const size_t flat = place;
            for (size_t axis = 0; axis < data.dims.size(); ++axis) {
              const size_t coordinate = place / data_step[axis];
              place %= data_step[axis];
              scale += (axis == a.quantised ? coordinate / a.block : coordinate) * scale_step[axis];
            }
            const int64_t q = element(a, data, flat / width, width, flat % width);
            int64_t zero = data.type == DType::u8 ? int64_t{1} << (a.bits - 1) : 0;
            if (args.has(3)) zero = element(a, args.in(3), scale / blocks, blocks, scale % blocks);
            const double value =
                double(float(q - zero) * float(get_f64(scales.type, scales.raw, scale)));
            set_f64(y.type, y.raw, row * inner + i, value);
          }
        }
      });
  return ok();
}

std::vector<Case> cases() {
  const auto attrs = [](int64_t bits, int64_t block) {
    return AttrMap{{"bits", bits}, {"block_size", block}};
  };
  Tensor data = Tensor::make(DType::u8, {2, 8});
  std::memset(data.raw(), 0x98, 16);  // 0 and 1
  Tensor expected = Tensor::make(DType::f32, {1, 16});
  for (size_t i = 1; i < 16; i += 2) expected.data<float>()[i] = 5;
  return {
      {.name = "the_first_element_is_in_the_low_bits",
       .opset = 1,
       .attrs = attrs(4, 16),
       .inputs = {data, Tensor::of<int64_t>({1}, {1}), Tensor::of<float>({2, 1}, {2, 5})},
       .expected = {expected}},
      {.name = "bytes_with_zero_points",
       .opset = 1,
       .attrs = attrs(8, 16),
       .inputs = {noise(DType::u8, {5, 40}, 1, 0, 256), Tensor::of<int32_t>({2, 2}, {4, 0, -1, 3}),
                  noise(DType::f16, {5, 3}, 2), noise(DType::u8, {5, 3}, 3, 0, 256)}},
      {.name = "four_bit_integers_along_another_axis",
       .opset = 1,
       .attrs = {{"block_size", int64_t{16}},
                 {"gather_axis", int64_t{1}},
                 {"quantize_axis", int64_t{0}}},
       .inputs = {noise(DType::i4, {20, 3, 2}, 1, -8, 8), Tensor::of<int64_t>({2}, {2, 0}),
                  noise({2, 3, 2}, 2), noise(DType::i4, {2, 3, 2}, 3, -8, 8)}},
      {.name = "two_bits",
       .opset = 1,
       .attrs = {{"bits", int64_t{2}}, {"block_size", int64_t{16}}, {"quantize_axis", int64_t{2}}},
       .inputs = {noise(DType::u8, {3, 2, 8}, 1, 0, 256), Tensor::of<int64_t>({}, {1}),
                  noise({3, 2, 2}, 2), noise(DType::u8, {3, 2, 1}, 3, 0, 256)}}};
}

constexpr OpOf<GatherQuantized> kGather{
    .name = "GatherBlockQuantized",
    .doc = "Gather from a quantised tensor, dequantised by the scale of each block.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .cases = cases,
    .domain = "com.microsoft",
};

}  // namespace

extern const Op gather_block_quantized = erase<kGather>();

}  // namespace sdx::ops::microsoft
