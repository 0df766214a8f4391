// MaxUnpool.
#include <algorithm>
#include <cstring>

#include "ops/pool/pool.h"

namespace sdx::ops {
namespace {

struct MaxUnpool {
  Window window;
};

constexpr Version kHistory[] = {
    {9,
     "(X: T1, I: T2, output_shape?: T2) -> (output: T1) {kernel_shape!: ints, pads: ints, strides: "
     "ints} T1 in floats T2 "
     "in i64"},
    {11, ""},
    {22, "T1 += bf16"},
};

Result<MaxUnpool> read(const Node& node, const Facts& in) {
  SDX_ASSIGN(Window window, read_pool_window(node, in[0]));
  return MaxUnpool{std::move(window)};
}

// The size of the tensor that the indices count in: the one that MaxPool of this window has shrunk
// to `in`.
Dim unpooled(const Window& w, size_t i, const Dim& in) {
  return (in - Dim(1)) * Dim(w.strides[i]) + Dim(w.kernel[i] - w.begin[i] - w.end[i]);
}

Result<Facts> infer(const MaxUnpool& a, const Facts& in) {
  const Fact& x = in[0];
  Shape shape(a.window.spatial + 2, Dim::unknown());
  if (x.is_concrete() && in[1].is_concrete() && x.dims() != in[1].dims()) {
    return fail("SDX-T0338", "X has shape {}, its indices {}", to_string(x.dims()),
                to_string(in[1].dims()));
  }
  if (in.size() > 2 && in[2].present()) {
    if (const auto dims = in[2].integers()) {
      if (dims->size() != shape.size()) {
        return fail("SDX-T0338", "output_shape has {} elements, expected {}", dims->size(),
                    shape.size());
      }
      return Facts{Fact::tensor(x.type, *dims)};
    }
    return Facts{Fact::tensor(x.type, std::move(shape))};
  }
  for (size_t i = 0; x.has_rank() && i < shape.size(); ++i) {
    shape[i] = i < 2 ? x.dim(i) : unpooled(a.window, i - 2, x.dim(i));
  }
  return Facts{Fact::tensor(x.type, std::move(shape))};
}

// Zeros, and each x where its index says. Without output_shape the index counts in the output
// itself; with it, in the tensor of the size that the window implies, which lies in the output's
// corner. Of equal indices the last one wins.
Status reference(const MaxUnpool& a, Args& args) {
  const View &x = args.in(0), &indices = args.in(1);
  View y = args.out();
  if (args.has(2)) {
    const auto dims = args.in(2).values<const int64_t>();
    if (dims.size() != x.rank()) {
      return fail("SDX-T0338", "output_shape has {} elements, expected {}", dims.size(), x.rank());
    }
    if (!y.present()) {
      SDX_TRY(element_count(dims));
      SDX_ASSIGN(y, args.make(0, Dims(dims.begin(), dims.end())));
    }
  }
  Dims source(x.dims.begin(), x.dims.end());
  for (size_t i = 2; i < source.size(); ++i) {
    source[i] = unpooled(a.window, i - 2, source[i]).value();
    if (source[i] < 0)
      return fail("SDX-T0334", "spatial axis {} unpools to a negative size", i - 2);
  }
  SDX_ASSIGN(const size_t total, element_count(source));
  if (indices.count != x.count)
    return fail("SDX-R0310", "{} indices for {} elements", indices.count, x.count);
  const size_t bytes = bits(x.type) / 8;
  std::memset(y.raw, 0, y.count * bytes);
  const bool alike = std::ranges::equal(source, y.dims);  // then an index is a place
  const auto put = [&](size_t to, size_t i) {
    if (bytes == 4) {
      y.data<uint32_t>()[to] = x.data<uint32_t>()[i];
    } else {
      std::memcpy(y.data<char>() + to * bytes, x.data<char>() + i * bytes, bytes);
    }
  };
  for (size_t i = 0; i < x.count; ++i) {
    const int64_t index = indices.data<int64_t>()[i];
    if (index < 0 || size_t(index) >= total) {
      return fail("SDX-R0311", "index {} is outside of the {} elements of {}", index, total,
                  to_string(source));
    }
    if (alike) {
      put(size_t(index), i);
      continue;
    }
    size_t rest = size_t(index), to = 0, step = 1;
    bool inside = true;
    for (size_t axis = source.size(); axis-- > 0;) {
      const auto at = int64_t(rest % size_t(source[axis]));
      rest /= size_t(source[axis]);
      inside = inside && at < y.dims[axis];
      to += size_t(at) * step;
      step *= size_t(y.dims[axis]);
    }
    if (inside) put(to, i);
  }
  return ok();
}

std::vector<Case> cases() {
  const Tensor x = Tensor::of<float>({1, 1, 2}, {5, 6}),
               index = Tensor::of<int64_t>({1, 1, 2}, {1, 2});
  const std::vector<int64_t> two{2};
  return {{.name = "zeros_between",
           .opset = 9,
           .attrs = {{"kernel_shape", two}, {"strides", two}},
           .inputs = {x, index},
           .expected = {Tensor::of<float>({1, 1, 4}, {0, 5, 6, 0})}},
          {.name = "into_a_larger_output",
           .opset = 11,
           .attrs = {{"kernel_shape", two}, {"strides", two}},
           .inputs = {x, index, Tensor::of<int64_t>({3}, {1, 1, 5})},
           .expected = {Tensor::of<float>({1, 1, 5}, {0, 5, 6, 0, 0})}}};
}

constexpr OpOf<MaxUnpool> kMaxUnpool{
    .name = "MaxUnpool",
    .doc = "The partial inverse of MaxPool: its maxima at their places, zeros elsewhere.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .cases = cases,
};

}  // namespace

extern const Op max_unpool = erase<kMaxUnpool>();

}  // namespace sdx::ops
