// Col2Im.
#include "kernel/window/overlap_add.h"
#include "ops/noise.h"
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

// How blocks lie on the image, along each of its axes.
struct Places {
  SmallInts image, block, dilation, pad, stride;
  SmallInts blocks;  // how many fit
  int64_t block_area = 1, block_count = 1;
};

Result<Places> places_of(const Col2Im& a, Args& args) {
  Places p;
  p.image = SmallInts::of(args.in(1));
  p.block = SmallInts::of(args.in(2));
  const size_t axes = p.image.size();
  const auto or_default = [&](const std::vector<int64_t>& list, size_t i, int64_t fallback) {
    return list.empty() ? fallback : list[i];
  };
  for (size_t i = 0; i < axes; ++i) {
    constexpr int64_t kMost = int64_t{1} << 30;  // sizes above lie beyond every image
    const int64_t after = a.pads.empty() ? 0 : a.pads[axes + i];
    p.dilation.push_back(or_default(a.dilations, i, 1));
    p.pad.push_back(or_default(a.pads, i, 0));
    p.stride.push_back(or_default(a.strides, i, 1));
    for (const int64_t size :
         {p.dilation[i], p.block[i], p.image[i], p.pad[i], after, p.stride[i]}) {
      if (size < -kMost || size > kMost) {
        return fail("SDX-T0231", "axis {} has a block, dilation, pad or stride of {}, at most {}",
                    i, size, kMost);
      }
    }
    const int64_t extent = p.dilation[i] * (p.block[i] - 1) + 1;
    const int64_t room = p.image[i] + p.pad[i] + after - extent;
    p.blocks.push_back(room < 0 ? 0 : room / p.stride[i] + 1);
    if (__builtin_mul_overflow(p.block_area, p.block[i], &p.block_area) ||
        __builtin_mul_overflow(p.block_count, p.blocks[i], &p.block_count)) {
      return fail("SDX-T0231", "blocks of {} are too many", to_string(p.block));
    }
  }
  const int64_t given = args.in(0).dims[2];
  if (p.block_count != given) {
    return fail("SDX-T0231", "the image has room for {} blocks {}, the input has {}", p.block_count,
                to_string(p.blocks), given);
  }
  return p;
}

// Each pixel is the sum, from 0, of the column elements that land on it, in the order of their
// place in the block.
template <class T, class C, class Load, class Store>
Status add_up(const Col2Im& a, Args& args, Load in, Store out) {
  const View &x = args.in(0), &y = args.out();
  SDX_ASSIGN(const Places p, places_of(a, args));
  const size_t axes = p.image.size();
  const size_t pixels = split_at(y.dims, 0, 2).inner, planes = size_t(y.dims[0] * y.dims[1]);
  const auto some = [&](size_t begin, size_t end, int) {
    for (size_t at = begin; at < end; ++at) {
      const size_t plane = at / pixels, pixel = at % pixels;
      C sum(0);
      for (int64_t place = 0; place < p.block_area; ++place) {
        // The block that has `place` on this pixel, if its position is a whole number of strides.
        int64_t column = 0, unit = 1;
        bool hit = true;
        for (size_t i = axes, rest_pixel = pixel, rest_place = size_t(place); i-- > 0 && hit;) {
          const int64_t offset = int64_t(rest_place % size_t(p.block[i])) * p.dilation[i];
          const int64_t start = int64_t(rest_pixel % size_t(p.image[i])) + p.pad[i] - offset;
          hit = start >= 0 && start % p.stride[i] == 0 && start / p.stride[i] < p.blocks[i];
          column += start / p.stride[i] * unit;
          unit *= p.blocks[i];
          rest_pixel /= size_t(p.image[i]);
          rest_place /= size_t(p.block[i]);
        }
        if (hit) {
          const size_t row = plane * size_t(p.block_area) + size_t(place);
          sum = sum + in(x.data<T>()[row * size_t(p.block_count) + size_t(column)]);
        }
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

// One or two axes in float (kernel/window/overlap_add.h).
bool fits(const Col2Im&, const Call& call) {
  return call.in[0].type == DType::f32 && call.out[0].rank() >= 3 && call.out[0].rank() <= 4;
}

size_t scratch(const Col2Im& a, const Call& call) {
  const Fact& y = call.out[0];
  const auto size = [&](size_t axis) {
    return y.dim(axis).is_const() ? std::max<int64_t>(0, y.dim(axis).value()) : 0;
  };
  OverlapShape s{};
  s.image[0] = y.rank() == 4 ? size(2) : 1;
  s.image[1] = size(y.rank() - 1);
  s.stride[1] = a.strides.empty() ? 1 : a.strides.back();
  return size_t(call.threads) * s.staged_size() * sizeof(float);
}

Status run(const Col2Im& a, Args& args) {
  SDX_ASSIGN(const Places p, places_of(a, args));
  if (p.block_area <= 0) return reference(a, args);
  const View &x = args.in(0), &y = args.out();
  OverlapShape s{{1, 1}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {1, 1}};
  for (size_t i = 0, to = 2 - p.image.size(); i < p.image.size(); ++i, ++to) {
    s.image[to] = p.image[i];
    s.block[to] = p.block[i];
    s.blocks[to] = p.blocks[i];
    s.dilation[to] = p.dilation[i];
    s.pad[to] = p.pad[i];
    s.stride[to] = p.stride[i];
  }
  const size_t pixels = size_t(s.image[0] * s.image[1]), staged = s.staged_size();
  if (args.scratch.size() < size_t(args.pool->threads()) * staged * sizeof(float)) {
    return reference(a, args);  // the image's size was not known when room was made
  }
  const auto planes = size_t(y.dims[0] * y.dims[1]);
  const auto add = SDX_PICK(overlap_add, args.isa);
  const size_t together = s.planes_together();
  args.pool->parallel(planes, together, [&](size_t begin, size_t end, int thread) {
    float* rows = reinterpret_cast<float*>(args.scratch.data()) + size_t(thread) * staged;
    for (size_t plane = begin; plane < end; plane += together) {
      add(s, x.data<float>() + plane * size_t(p.block_area * p.block_count),
          y.data<float>() + plane * pixels, std::min(together, end - plane), rows);
    }
  });
  return ok();
}

constexpr Kernel<Col2Im> kKernels[] = {
    {.name = "col2im_f32", .fits = fits, .run = run, .scratch = scratch}};

Case image_case(std::string name, AttrMap attrs, Dims columns, std::vector<int64_t> image,
                std::vector<int64_t> block) {
  const auto axes = int64_t(image.size());
  return {.name = std::move(name),
          .opset = 18,
          .attrs = std::move(attrs),
          .inputs = {noise(std::move(columns)), Tensor::of<int64_t>({axes}, std::move(image)),
                     Tensor::of<int64_t>({axes}, std::move(block))}};
}

std::vector<Case> cases() {
  using Ints = std::vector<int64_t>;
  return {
      image_case("blocks_side_by_side", {{"strides", Ints{2, 2}}}, {1, 12, 35}, {10, 14}, {2, 2}),
      image_case("padded_and_dilated",
                 {{"strides", Ints{1, 2}}, {"pads", Ints{1, 2, 0, 3}}, {"dilations", Ints{2, 1}}},
                 {2, 18, 42}, {9, 11}, {3, 3}),
      image_case("every_third_column", {{"strides", Ints{2, 3}}, {"pads", Ints{0, 2, 1, 1}}},
                 {1, 40, 35}, {10, 20}, {2, 4}),
      image_case("strides_as_wide_as_the_image", {{"strides", Ints{1, 5}}}, {1, 8, 4}, {5, 5},
                 {2, 2}),
      image_case("one_axis", {{"pads", Ints{1, 1}}}, {1, 6, 19}, {19}, {3}),
      image_case("no_images", {}, {0, 4, 4}, {3, 3}, {2, 2}),
      {.name = "overlapping_blocks_add_up",
       .opset = 18,
       .attrs = {},
       .inputs = {Tensor::of<int32_t>({1, 2, 2}, {1, 2, 3, 4}), Tensor::of<int64_t>({2}, {1, 3}),
                  Tensor::of<int64_t>({2}, {1, 2})},
       .expected = {Tensor::of<int32_t>({1, 1, 1, 3}, {1, 5, 4})}}};
}

constexpr OpOf<Col2Im> kCol2Im{
    .name = "Col2Im",
    .doc = "Columns of blocks put back into an image; what overlaps is added.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .kernels = kKernels,
    .cases = cases,
};

}  // namespace

extern const Op col2im = erase<kCol2Im>();

}  // namespace sdx::ops
