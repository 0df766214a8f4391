// Pad and CenterCropPad.
#include "ops/tensor/pad.h"

#include "op/layout.h"
#include "op/streaming.h"
#include "ops/tensor/ints.h"
#include "ops/tensor/pick.h"
#include "ops/tensor/strided_copy.h"
#include "ops/tensor/track.h"

namespace sdx::ops {
namespace {

using Mode = Pad::Mode;

// One axis of the result: `begin` elements are put before (or, negative, taken from the front of)
// `n` elements.
struct Border {
  Mode mode;
  int64_t begin, end, n;

  // The element that stands at position `at`; -1: the constant. Cropping comes before padding.
  int64_t source(int64_t at) const {
    const int64_t first = std::max<int64_t>(0, -begin),
                  count = n - first - std::max<int64_t>(0, -end);
    int64_t i = at - std::max<int64_t>(0, begin);
    if (i >= 0 && i < count) return first + i;
    switch (mode) {
      case Mode::constant:
        return -1;
      case Mode::edge:
        i = std::clamp<int64_t>(i, 0, count - 1);
        break;
      case Mode::wrap:
        i = (i % count + count) % count;
        break;
      case Mode::reflect: {
        if (count == 1) return first;
        const int64_t period = 2 * (count - 1);
        i = (i % period + period) % period;
        if (i >= count) i = period - i;
        break;
      }
    }
    return first + i;
  }
};

// Equal elements of any type; few of them without a call.
struct Filler {
  DType type;
  const void* constant;
  Isa isa;
  size_t size = type == DType::string ? 0 : bits(type);

  template <class T>
  void few(void* to, size_t begin, size_t count) const {
    std::fill_n(static_cast<T*>(to) + begin, count, *static_cast<const T*>(constant));
  }
  void fill(void* to, size_t begin, size_t count) const {
    if (count <= 16) {
      if (size == 32) return few<uint32_t>(to, begin, count);
      if (size == 8) return few<uint8_t>(to, begin, count);
      if (size == 16) return few<uint16_t>(to, begin, count);
      if (size == 64) return few<uint64_t>(to, begin, count);
    }
    Loops loops;
    loops.add(int64_t(count), 0, 1);
    strided_copy(loops, type, constant, 0, to, int64_t(begin), nullptr, isa);
  }
};

// Row by row: the innermost axis that is padded is a border, a run that is copied whole, and a
// border; what lies behind that axis moves with its elements.
void pad_rows(const View& x, const View& y, std::span<const int64_t> begins,
              std::span<const int64_t> ends, Mode mode, const void* constant, Pool* pool, Isa isa) {
  size_t rank = y.rank(), each = 1;
  clear_tail(y.type, y.raw, y.count);
  if (y.count == 0) return;
  if (rank == 0) return copy_element(x.type, x.raw, 0, y.raw, 0);
  for (; rank > 1 && begins[rank - 1] == 0 && ends[rank - 1] == 0; --rank)
    each *= size_t(y.dims[rank - 1]);
  const SmallInts strides = strides_of(x.dims);
  const auto border = [&](size_t axis) {
    return Border{mode, begins[axis], ends[axis], x.dims[axis]};
  };
  const Border inner = border(rank - 1);
  const size_t width = size_t(y.dims[rank - 1]);
  const int64_t left = std::clamp<int64_t>(inner.begin, 0, int64_t(width));
  const int64_t first = std::max<int64_t>(0, -inner.begin);
  const int64_t run = std::clamp<int64_t>(inner.n - first - std::max<int64_t>(0, -inner.end), 0,
                                          int64_t(width) - left);
  const size_t line = width * each;
  // The elements that stand in the borders of the innermost axis, before and behind the run.
  SmallInts sources;
  for (int64_t i = 0; mode != Mode::constant && i < int64_t(width); ++i) {
    if (i == left) i += run;
    if (i < int64_t(width)) sources.push_back(inner.source(i));
  }
  const RowCopy copy_some(x.type);
  const Filler filler{y.type, constant, isa};
  share_rows(pool, y.count / line, line, y.type, [&](size_t row, size_t last) {
    SmallInts at(rank - 1);
    for (size_t axis = rank - 1, rest = row; axis-- > 0; rest /= size_t(y.dims[axis]))
      at[axis] = int64_t(rest % size_t(y.dims[axis]));
    // Where the first `axis` axes put the row in the input; -1: in the constant. The axes from
    // `changed` on are to be looked at again.
    SmallInts bases(rank);
    for (size_t changed = 0; row < last; ++row) {
      for (size_t axis = changed; axis < rank - 1; ++axis) {
        const int64_t source = border(axis).source(at[axis]);
        bases[axis + 1] = bases[axis] < 0 || source < 0 ? -1 : bases[axis] + source * strides[axis];
      }
      const int64_t base = bases[rank - 1];
      for (changed = rank - 1; changed-- > 0;) {
        if (++at[changed] < y.dims[changed]) break;
        at[changed] = 0;
      }
      if (changed > rank) changed = 0;  // there is one row, or this was the last
      const auto copy = [&](int64_t from, size_t to, size_t count) {
        copy_some(x.raw, size_t(base) + size_t(from) * each, y.raw, row * line + to * each,
                  count * each);
      };
      if (base < 0) {
        filler.fill(y.raw, row * line, line);
        continue;
      }
      const auto behind = size_t(left + run);
      if (run > 0) copy(first, size_t(left), size_t(run));
      if (mode == Mode::constant) {
        filler.fill(y.raw, row * line, size_t(left) * each);
        filler.fill(y.raw, row * line + behind * each, (width - behind) * each);
        continue;
      }
      if (each == 1 && bits(x.type) == 32) {  // most often, and without a call for each
        const uint32_t* from = static_cast<const uint32_t*>(x.raw) + base;
        uint32_t* to = static_cast<uint32_t*>(y.raw) + row * line;
        for (size_t i = 0; i < sources.size(); ++i)
          to[i < size_t(left) ? i : i + size_t(run)] = from[sources[i]];
        continue;
      }
      for (size_t i = 0; i < sources.size(); ++i)
        copy(sources[i], i < size_t(left) ? i : i + size_t(run), 1);
    }
  });
}

// One element of any type; zero, false or the empty string to begin with.
struct Element {
  alignas(16) std::byte bytes[16] = {};
  std::string text;
  const void* data(DType type) const {
    return type == DType::string ? static_cast<const void*>(&text) : bytes;
  }
};

constexpr Version kPadHistory[] = {
    {1,
     "(data: T) -> (output: T) {mode: string = \"constant\", paddings!: ints, value: float = 0} T "
     "in floats"},
    {2, "{pads!: ints, -paddings}"},
    {11, "(data: T, pads: i64, constant_value?: T) {-pads, -value} T += ints uints"},
    {13, "T += bf16 bool c128 c64 string"},
    {18, "(data: T, pads: i64, constant_value?: T, axes?: Tind) Tind in i32 i64"},
    {19, ""},  // wrap
    {21, "T += f8 i4 u4"},
    {23, "T += f4e2m1"},
    {24, "T += f8e8m0"},
    {25, "T += i2 u2"},
};

Result<Pad> read_pad(const Node& node, const Facts&) {
  Pad a{Mode::constant, attr_ints(node, node.opset < 2 ? "paddings" : "pads"),
        node.f_or("value", 0)};
  const std::string& mode = node.s("mode");
  if (mode == "reflect") {
    a.mode = Mode::reflect;
  } else if (mode == "edge") {
    a.mode = Mode::edge;
  } else if (mode == "wrap" && node.opset >= 19) {
    a.mode = Mode::wrap;
  } else if (mode != "constant") {
    return fail("SDX-T0222", "mode \"{}\" is not defined in opset {}", mode, node.opset);
  }
  return a;
}

// All axes in order, if none are given.
SmallInts all_axes(size_t rank) {
  SmallInts axes;
  for (size_t i = 0; i < rank; ++i) axes.push_back(int64_t(i));
  return axes;
}

Status reference_pad(const Pad& a, Args& args) {
  const View &x = args.in(0), &y = args.out();
  const SmallInts pads = run_ints(a.pads, args, 1);
  SmallInts axes = args.has(3) ? SmallInts::of(args.in(3)) : all_axes(x.rank());
  SDX_ASSIGN(axes, resolve_axes(axes, x.rank()));
  if (pads.size() != 2 * axes.size()) {
    return fail("SDX-T0222", "pads has {} elements for {} axes", pads.size(), axes.size());
  }
  SmallInts begins(x.rank()), ends(x.rank());
  for (size_t i = 0; i < axes.size(); ++i) {
    begins[size_t(axes[i])] = pads[i];
    ends[size_t(axes[i])] = pads[axes.size() + i];
  }
  for (size_t i = 0; i < x.rank(); ++i) {
    constexpr int64_t kMost = int64_t{1} << 48;  // more than any tensor has
    for (const int64_t pad : {begins[i], ends[i]}) {
      if (pad < -kMost || pad > kMost)
        return fail("SDX-T0222", "axis {} is padded by {}, at most {}", i, pad, kMost);
    }
    const int64_t left =
        x.dims[i] - std::max<int64_t>(0, -begins[i]) - std::max<int64_t>(0, -ends[i]);
    if (a.mode != Mode::constant && left <= 0 && y.dims[i] > 0) {
      return fail("SDX-T0222", "axis {} has no element to pad with", i);
    }
  }
  Element zero;
  if (a.value != 0) set_f64(x.type, zero.bytes, 0, a.value);
  const void* constant = args.has(2) && args.in(2).count > 0 ? args.in(2).raw : zero.data(x.type);
  pad_rows(x, y, begins, ends, a.mode, constant, args.pool, args.isa);
  return ok();
}

Result<Facts> infer_pad(const Pad& a, const Facts& in) {
  if (!in[0].has_rank()) return Facts{Fact::tensor(in[0].type)};
  const auto pads = known_dims(a.pads, in, 1);
  SmallInts axes = all_axes(in[0].rank());
  if (in.size() > 3 && in[3].present()) {
    const MaybeInts some = in[3].constant_integers();
    if (!some) return Facts{unknown_like(in[0])};
    SDX_ASSIGN(axes, resolve_axes(*some, in[0].rank()));
  }
  Facts out{like(in[0])};
  if (pads && pads->size() != 2 * axes.size()) {
    return fail("SDX-T0222", "pads has {} elements for {} axes", pads->size(), axes.size());
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    Dim& dim = (*out[0].shape)[size_t(axes[i])];
    const Dim before = dim;
    dim = pads ? dim + (*pads)[i] + (*pads)[axes.size() + i] : Dim::unknown();
    if (dim.is_const() && dim.value() < 0) {
      return fail("SDX-T0222", "pads {} and {} leave axis {} of size {} with {}", (*pads)[i].text(),
                  (*pads)[axes.size() + i].text(), axes[i], before.text(), dim.value());
    }
  }
  track(a, reference_pad, 0b101, in, out);
  return out;
}

std::optional<Relaid> layout(const Pad& a, const Relay& asked) {
  const size_t rank = asked.layout.rank();
  if (asked.from != 0 || (a.value != 0 && asked.x().type != DType::f32)) return std::nullopt;
  const std::optional<Borders> borders = known_borders(a, rank, asked.in);
  if (!borders) return std::nullopt;
  std::vector<int64_t> begins = borders->begins, ends = borders->ends;
  if (const auto channels = asked.layout.blocked;
      channels && (begins[*channels] != 0 || ends[*channels] != 0)) {
    return std::nullopt;
  }
  begins = asked.layout.stored<int64_t>(begins, 0);
  ends = asked.layout.stored<int64_t>(ends, 0);
  begins.insert(begins.end(), ends.begin(), ends.end());
  Relaid made = Relaid::newest(asked, *asked.use.op);
  made.use.attrs["mode"] = asked.use.s("mode");
  made.inputs.push_back(Operand::of(begins));
  if (asked.in.size() > 2 && asked.in[2].present()) {
    made.inputs.push_back({.input = 2, .layout = {}});
  } else if (a.value != 0) {
    made.inputs.push_back({.layout = {}, .constant = Tensor::scalar(a.value)});
  }
  return made;
}

std::vector<Case> cases_pad() {
  const Tensor x = Tensor::of<float>({3}, {1, 2, 3});
  return {{.name = "opset1_calls_them_paddings",
           .opset = 1,
           .attrs = {{"paddings", std::vector<int64_t>{1, -1}}, {"value", 9.0f}},
           .inputs = {x},
           .expected = {Tensor::of<float>({3}, {9, 1, 2})}},
          {.name = "reflect_goes_to_and_fro",
           .opset = 2,
           .attrs = {{"pads", std::vector<int64_t>{3, 5}}, {"mode", std::string("reflect")}},
           .inputs = {x},
           .expected = {Tensor::of<float>({11}, {2, 3, 2, 1, 2, 3, 2, 1, 2, 3, 2})}},
          {.name = "images_with_channels_last",
           .opset = 19,
           .attrs = {{"mode", std::string("edge")}},
           .inputs = {Tensor::of<float>({1, 2, 2}, {1, 2, 3, 4}),
                      Tensor::of<int64_t>({6}, {0, 1, 0, 0, 1, 0})},
           .expected = {Tensor::of<float>({1, 4, 2}, {1, 2, 1, 2, 3, 4, 3, 4})}},
          {.name = "bytes_around_volumes",
           .opset = 13,
           .attrs = {},
           .inputs = {Tensor::of<uint8_t>({1, 2, 2}, {1, 2, 3, 4}),
                      Tensor::of<int64_t>({6}, {0, 1, 0, 1, 0, 2}), Tensor::scalar<uint8_t>(9)},
           .expected = {Tensor::of<uint8_t>({2, 3, 4}, {9, 9, 9, 9, 1, 2, 9, 9, 3, 4, 9, 9,
                                                        9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9})}},
          {.name = "wrap_repeats_what_cropping_left",
           .opset = 19,
           .attrs = {{"mode", std::string("wrap")}},
           .inputs = {x, Tensor::of<int64_t>({2}, {-1, 3})},
           .expected = {Tensor::of<float>({5}, {2, 3, 2, 3, 2})}}};
}

Streaming stream_pad(const Pad& a, const Streamed& s) {
  if (!s.only_first()) return Streaming::refuse("how much it pads depends on the length");
  const auto pads = known_ints(a.pads, s.in, 1);
  MaybeInts axes;
  if (s.in.size() > 3 && s.in[3].present()) axes = s.in[3].constant_integers();
  if (!pads || (s.in.size() > 3 && s.in[3].present() && !axes))
    return Streaming::refuse("how much it pads is known at run time only");
  const size_t count = pads->size() / 2;
  std::vector<int64_t> rest = *pads;
  Streaming how = Streaming::of(Streaming::Kind::pad);
  for (size_t i = 0; i < count; ++i) {
    const auto axis = resolve_axis(axes ? (*axes)[i] : int64_t(i), s.in[0].rank());
    if (!axis || *axis != *s.axes[0]) continue;
    how.before = std::exchange(rest[i], 0);
    how.after = std::exchange(rest[count + i], 0);
  }
  if (how.before == 0 && how.after == 0) return Streaming::ask();
  if (how.before < 0 || how.after < 0)
    return Streaming::refuse("it cuts rows off instead of padding");
  if (a.mode == Mode::wrap) return Streaming::refuse("it pads with rows from the other end");
  how.mode = a.mode == Mode::edge      ? Streaming::Mode::edge
             : a.mode == Mode::reflect ? Streaming::Mode::reflect
                                       : Streaming::Mode::constant;
  if (s.in.size() > 2 && s.in[2].present()) how.value_input = 2;
  how.value = a.value;
  how.other_axes = std::any_of(rest.begin(), rest.end(), [](int64_t pad) { return pad != 0; });
  if (a.pads) {
    how.attrs.emplace(s.use.opset < 2 ? "paddings" : "pads", rest);
  } else {
    how.constants.emplace_back(
        1, Tensor::of<int64_t>({int64_t(rest.size())}, std::span<const int64_t>(rest)));
  }
  return how;
}

constexpr OpOf<Pad> kPad{
    .name = "Pad",
    .doc =
        "Elements put before and after, or with negative pads taken away: a constant, the edge, a "
        "mirror or a torus.",
    .history = kPadHistory,
    .read = read_pad,
    .infer = infer_pad,
    .reference = reference_pad,
    .cases = cases_pad,
    .layout = layout,
    .stream = stream_pad,
};

struct CenterCropPad {
  MaybeInts axes;
};

constexpr Version kCenterHistory[] = {
    {18,
     "(input_data: T, shape: Tind) -> (output_data: T) {axes: ints} T in all bf16 Tind in i32 i64"},
};

Result<CenterCropPad> read_center(const Node& node, const Facts&) {
  return CenterCropPad{attr_ints(node, "axes")};
}

Status reference_center(const CenterCropPad&, Args& args) {
  const View &x = args.in(0), &y = args.out();
  SmallInts begins(x.rank()), ends(x.rank());
  for (size_t i = 0; i < x.rank(); ++i) {
    // Both halves are rounded towards zero at the front.
    const int64_t more = y.dims[i] - x.dims[i];
    begins[i] = more / 2;
    ends[i] = more - more / 2;
  }
  const Element zero;
  pad_rows(x, y, begins, ends, Mode::constant, zero.data(x.type), args.pool, args.isa);
  return ok();
}

Result<Facts> infer_center(const CenterCropPad& a, const Facts& in) {
  if (!in[0].has_rank()) return Facts{Fact::tensor(in[0].type)};
  SmallInts axes = all_axes(in[0].rank());
  if (a.axes) {
    SDX_ASSIGN(axes, resolve_axes(*a.axes, in[0].rank()));
  }
  const auto sizes = in[1].integers();
  if (sizes && sizes->size() != axes.size()) {
    return fail("SDX-T0223", "shape has {} elements for {} axes", sizes->size(), axes.size());
  }
  if (sizes) SDX_TRY(no_negative(*sizes));
  Facts out{like(in[0])};
  for (size_t i = 0; i < axes.size(); ++i) {
    (*out[0].shape)[size_t(axes[i])] = sizes ? (*sizes)[i] : Dim::unknown();
  }
  return out;
}

std::vector<Case> cases_center() {
  return {{.name = "crops_and_pads_at_once",
           .opset = 18,
           .attrs = {},
           .inputs = {Tensor::of<int16_t>({4, 1}, {1, 2, 3, 4}), Tensor::of<int64_t>({2}, {1, 4})},
           .expected = {Tensor::of<int16_t>({1, 4}, {0, 2, 0, 0})}}};
}

constexpr OpOf<CenterCropPad> kCenterCropPad{
    .name = "CenterCropPad",
    .doc = "The middle of the input, cropped or padded with zeros to the given sizes.",
    .history = kCenterHistory,
    .read = read_center,
    .infer = infer_center,
    .reference = reference_center,
    .cases = cases_center,
};

}  // namespace

std::optional<Borders> known_borders(const Pad& a, size_t rank, const Facts& in) {
  const MaybeInts pads = known_ints(a.pads, in, 1);
  SmallInts axes = all_axes(rank);
  if (in.size() > 3 && in[3].present()) {
    const MaybeInts some = in[3].constant_integers();
    if (!some) return std::nullopt;
    const Result<SmallInts> resolved = resolve_axes(*some, rank);
    if (!resolved) return std::nullopt;
    axes = *resolved;
  }
  if (!pads || pads->size() != 2 * axes.size()) return std::nullopt;
  Borders borders{std::vector<int64_t>(rank, 0), std::vector<int64_t>(rank, 0)};
  for (size_t i = 0; i < axes.size(); ++i) {
    borders.begins[size_t(axes[i])] = (*pads)[i];
    borders.ends[size_t(axes[i])] = (*pads)[axes.size() + i];
  }
  return borders;
}

extern const Op center_crop_pad = erase<kCenterCropPad>();
extern const Op pad = erase<kPad>();

}  // namespace sdx::ops
