// Col2Im.
#include "ops/tensor/ints.h"

namespace sdx::ops {
namespace {

struct Col2Im {
  std::vector<int64_t> dilations, pads, strides;  // empty: ones, zeros, ones
};

constexpr Version kHistory[] = {
    {18,
     "(input: T, image_shape: i64, block_shape: i64) -> (output: T) {dilations: ints, pads: ints, "
     "strides: ints} "
     "T in all bf16"},
};

Result<Col2Im> read(const Node& node, const Facts& in) {
  if (in[0].type == DType::string) return unsupported_type("Col2Im", in[0].type);
  Col2Im a{node.ints_or_empty("dilations"), node.ints_or_empty("pads"),
           node.ints_or_empty("strides")};
  for (const auto* list : {&a.dilations, &a.strides}) {
    for (const int64_t value : *list) {
      if (value <= 0)
        return fail("SDX-T0231", "dilations and strides must be positive: {}", to_string(*list));
    }
  }
  return a;
}

Status check_sizes(const Col2Im& a, size_t image, size_t block) {
  if (image != block || (!a.dilations.empty() && a.dilations.size() != image) ||
      (!a.strides.empty() && a.strides.size() != image) ||
      (!a.pads.empty() && a.pads.size() != 2 * image)) {
    return fail("SDX-T0231",
                "image_shape has {} axes, block_shape {}, dilations {}, strides {}, pads {}", image,
                block, a.dilations.size(), a.strides.size(), a.pads.size());
  }
  return ok();
}

Result<Facts> infer(const Col2Im& a, const Facts& in) {
  const auto image = in[1].integers(), block = in[2].integers();
  if (in[0].has_rank() && in[0].rank() != 3)
    return fail("SDX-T0231", "the input must have 3 dimensions, not {}", in[0].text());
  if (!image) {
    Fact out = unknown_dims(in[0].type, in[1]);
    if (out.has_rank()) out.shape->resize(out.rank() + 2, Dim::unknown());
    return Facts{std::move(out)};
  }
  Shape shape{in[0].has_rank() ? in[0].dim(0) : Dim::unknown(), Dim::unknown()};
  if (block) {
    SDX_TRY(check_sizes(a, image->size(), block->size()));
    const Dim area = product(*block);
    if (area.is_const() && area.value() <= 0)
      return fail("SDX-T0231", "block_shape {} is empty", to_string(*block));
    if (in[0].has_rank()) {
      const Dim& columns = in[0].dim(1);
      if (columns.is_const() && area.is_const() && columns.value() % area.value() != 0) {
        return fail("SDX-T0231", "{} columns are not a multiple of the block's {} elements",
                    columns.value(), area.value());
      }
      shape[1] = floor_div(columns, area);
    }
  }
  shape.insert(shape.end(), image->begin(), image->end());
  return Facts{Fact::tensor(in[0].type, std::move(shape))};
}

// Each pixel is the sum, from 0, of the column elements that land on it, in the order of their
// place in the block.
template <class T, class C, class Load, class Store>
Status add_up(const Col2Im& a, Args& args, Load in, Store out) {
  const View &x = args.in(0), &y = args.out();
  const SmallInts image = SmallInts::of(args.in(1)), block = SmallInts::of(args.in(2));
  const size_t axes = image.size();
  const auto or_default = [&](const std::vector<int64_t>& list, size_t i, int64_t fallback) {
    return list.empty() ? fallback : list[i];
  };
  SmallInts blocks;  // how many fit along each axis
  int64_t block_area = 1, block_count = 1;
  for (size_t i = 0; i < axes; ++i) {
    constexpr int64_t kMost = int64_t{1} << 30;  // sizes above lie beyond every image
    const int64_t after = a.pads.empty() ? 0 : a.pads[axes + i];
    for (const int64_t size : {or_default(a.dilations, i, 1), block[i], image[i],
                               or_default(a.pads, i, 0), after, or_default(a.strides, i, 1)}) {
      if (size < -kMost || size > kMost) {
        return fail("SDX-T0231", "axis {} has a block, dilation, pad or stride of {}, at most {}",
                    i, size, kMost);
      }
    }
    const int64_t extent = or_default(a.dilations, i, 1) * (block[i] - 1) + 1;
    const int64_t room = image[i] + or_default(a.pads, i, 0) + after - extent;
    blocks.push_back(room < 0 ? 0 : room / or_default(a.strides, i, 1) + 1);
    if (__builtin_mul_overflow(block_area, block[i], &block_area) ||
        __builtin_mul_overflow(block_count, blocks[i], &block_count)) {
      return fail("SDX-T0231", "blocks of {} are too many", to_string(block));
    }
  }
  if (block_count != x.dims[2]) {
    return fail("SDX-T0231", "the image has room for {} blocks {}, the input has {}", block_count,
                to_string(blocks), x.dims[2]);
  }
  const size_t pixels = split_at(y.dims, 0, 2).inner, planes = size_t(y.dims[0] * y.dims[1]);
  const auto some = [&](size_t begin, size_t end, int) {
    for (size_t at = begin; at < end; ++at) {
      const size_t plane = at / pixels, pixel = at % pixels;
      C sum(0);
      for (int64_t place = 0; place < block_area; ++place) {
        // The block that has `place` on this pixel, if its position is a whole number of strides.
        int64_t column = 0, unit = 1;
        bool hit = true;
        for (size_t i = axes, rest_pixel = pixel, rest_place = size_t(place); i-- > 0 && hit;) {
          const int64_t offset =
              int64_t(rest_place % size_t(block[i])) * or_default(a.dilations, i, 1);
          const int64_t start =
              int64_t(rest_pixel % size_t(image[i])) + or_default(a.pads, i, 0) - offset;
          const int64_t stride = or_default(a.strides, i, 1);
          hit = start >= 0 && start % stride == 0 && start / stride < blocks[i];
          column += start / stride * unit;
          unit *= blocks[i];
          rest_pixel /= size_t(image[i]);
          rest_place /= size_t(block[i]);
        }
        if (hit)
          sum = sum +
                in(x.data<T>()[(plane * size_t(block_area) + size_t(place)) * size_t(block_count) +
                               size_t(column)]);
      }
      y.data<T>()[at] = out(sum);
    }
  };
  if (args.pool == nullptr) {
    some(0, y.count, 0);
  } else {
    args.pool->parallel(planes * pixels, 1024, some);
  }
  return ok();
}

Status reference(const Col2Im& a, Args& args) {
  const DType type = args.in(0).type;
  Status status;
  const auto same = [](auto v) { return v; };
  if (type == DType::c64)
    return add_up<std::complex<float>, std::complex<float>>(a, args, same, same);
  if (type == DType::c128)
    return add_up<std::complex<double>, std::complex<double>>(a, args, same, same);
  if (type == DType::boolean) {
    return add_up<bool, uint64_t>(
        a, args, [](bool v) { return uint64_t(v); }, [](uint64_t v) { return v != 0; });
  }
  visit_integers(type, [&]<class T>() {
    status = add_up<T, uint64_t>(
        a, args, [](T v) { return uint64_t(v); }, [](uint64_t v) { return T(v); });
  });
  visit_floats(type, [&]<class T>() {
    status = add_up<T, Compute<T>>(
        a, args, [](T v) { return load(v); }, [](Compute<T> v) { return store<T>(v); });
  });
  return status;
}

std::vector<Case> cases() {
  return {{.name = "overlapping_blocks_add_up",
           .opset = 18,
           .attrs = {},
           .inputs = {Tensor::of<int32_t>({1, 2, 2}, {1, 2, 3, 4}),
                      Tensor::of<int64_t>({2}, {1, 3}), Tensor::of<int64_t>({2}, {1, 2})},
           .expected = {Tensor::of<int32_t>({1, 1, 1, 3}, {1, 5, 4})}}};
}

constexpr OpOf<Col2Im> kCol2Im{
    .name = "Col2Im",
    .doc = "Columns of blocks put back into an image; what overlaps is added.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .cases = cases,
};

}  // namespace

extern const Op col2im = erase<kCol2Im>();

}  // namespace sdx::ops
