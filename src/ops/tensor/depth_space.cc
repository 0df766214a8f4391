// DepthToSpace and SpaceToDepth.
#include "ops/tensor/ints.h"
#include "ops/tensor/strided_copy.h"

namespace sdx::ops {
namespace {

struct Blocks {
  int64_t size;
  bool channel_first;  // mode CRD: channels are numbered (channel, row, column), in DCR (row,
                       // column, channel)
};

constexpr Version kToSpaceHistory[] = {
    {1, "(input: T) -> (output: T) {blocksize!: int} T in all"},
    {11, "{mode: string = \"DCR\"}"},
    {13, "T += bf16"},
    {28, ""},
};
constexpr Version kToDepthHistory[] = {
    {1, "(input: T) -> (output: T) {blocksize!: int} T in all"},
    {13, "T += bf16"},
    {28, "{mode: string = \"DCR\"}"},
};

Result<Blocks> read(const Node& node, const Facts&) {
  constexpr int64_t kMostSize = 1 << 24;  // whose square is a size
  if (node.i("blocksize") <= 0 || node.i("blocksize") > kMostSize)
    return fail("SDX-T0225", "blocksize is {}", node.i("blocksize"));
  const std::string mode = node.has("mode") ? node.s("mode") : "DCR";
  if (mode != "DCR" && mode != "CRD")
    return fail("SDX-T0225", "mode \"{}\" is not DCR or CRD", mode);
  return Blocks{node.i("blocksize"), mode == "CRD"};
}

// deep[n, (c, i, j), h, w] = wide[n, c, h * size + i, w * size + j]; the loops follow what is
// written.
void move(const Blocks& a, const View& deep, const View& wide, bool to_space, const Args& args) {
  const int64_t b = a.size, c = wide.dims[1], h = deep.dims[2], w = deep.dims[3];
  const int64_t plane = h * w, channel = a.channel_first ? b * b * plane : plane;
  const int64_t block = a.channel_first ? plane : c * plane;
  struct Axis {
    int64_t n, deep, wide;
  };
  const Axis batch{wide.dims[0], c * b * b * plane, c * b * b * plane},
      channels{c, channel, plane * b * b}, rows{h, w, w * b * b}, row_in_block{b, b * block, w * b},
      columns{w, 1, b}, column_in_block{b, block, 1};
  const std::array<Axis, 6> spatial{batch, channels, rows, row_in_block, columns, column_in_block};
  const std::array<Axis, 6> dcr{batch, row_in_block, column_in_block, channels, rows, columns};
  const std::array<Axis, 6> crd{batch, channels, row_in_block, column_in_block, rows, columns};
  Loops loops;
  for (const Axis& axis : to_space ? spatial : a.channel_first ? crd : dcr) {
    loops.add(axis.n, to_space ? axis.deep : axis.wide, to_space ? axis.wide : axis.deep);
  }
  strided_copy(loops, deep.type, args.in(0).raw, 0, args.out().raw, 0, args.pool, args.isa);
}

Status to_space(const Blocks& a, Args& args) {
  move(a, args.in(0), args.out(), true, args);
  return ok();
}
Status to_depth(const Blocks& a, Args& args) {
  move(a, args.out(), args.in(0), false, args);
  return ok();
}

Status check_divisible(const Dim& dim, int64_t by, size_t axis) {
  if (!dim.is_const() || dim.value() % by == 0) return ok();
  return fail("SDX-T0225", "dimension {} is {}, which {} does not divide", axis, dim.value(), by);
}

template <bool kToSpace>
Result<Facts> infer(const Blocks& a, const Facts& in) {
  if (!in[0].has_rank()) return Facts{Fact::tensor(in[0].type, Shape(4, Dim::unknown()))};
  if (in[0].rank() != 4)
    return fail("SDX-T0225", "the input must have 4 dimensions, not {}", in[0].text());
  const Shape& x = *in[0].shape;
  const int64_t b = a.size;
  if (kToSpace) {
    SDX_TRY(check_divisible(x[1], b * b, 1));
    return Facts{
        Fact::tensor(in[0].type, {x[0], floor_div(x[1], b * b), x[2] * Dim(b), x[3] * Dim(b)})};
  }
  SDX_TRY(check_divisible(x[2], b, 2));
  SDX_TRY(check_divisible(x[3], b, 3));
  return Facts{
      Fact::tensor(in[0].type, {x[0], x[1] * Dim(b * b), floor_div(x[2], b), floor_div(x[3], b)})};
}

std::vector<Case> cases_to_space() {
  return {{.name = "opset1_is_depth_column_row",
           .opset = 1,
           .attrs = {{"blocksize", int64_t{2}}},
           .inputs = {Tensor::of<uint8_t>({1, 8, 1, 1}, {0, 1, 2, 3, 4, 5, 6, 7})},
           .expected = {Tensor::of<uint8_t>({1, 2, 2, 2}, {0, 2, 4, 6, 1, 3, 5, 7})}}};
}
std::vector<Case> cases_to_depth() {
  return {{.name = "opset28_can_put_channels_first",
           .opset = 28,
           .attrs = {{"blocksize", int64_t{2}}, {"mode", std::string("CRD")}},
           .inputs = {Tensor::of<uint8_t>({1, 2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7})},
           .expected = {Tensor::of<uint8_t>({1, 8, 1, 1}, {0, 1, 2, 3, 4, 5, 6, 7})}}};
}

constexpr OpOf<Blocks> kDepthToSpace{
    .name = "DepthToSpace",
    .doc = "Channels moved into square blocks of the image.",
    .history = kToSpaceHistory,
    .read = read,
    .infer = infer<true>,
    .reference = to_space,
    .cases = cases_to_space,
};
constexpr OpOf<Blocks> kSpaceToDepth{
    .name = "SpaceToDepth",
    .doc = "Square blocks of the image moved into channels.",
    .history = kToDepthHistory,
    .read = read,
    .infer = infer<false>,
    .reference = to_depth,
    .cases = cases_to_depth,
};

}  // namespace

extern const Op depth_to_space = erase<kDepthToSpace>();
extern const Op space_to_depth = erase<kSpaceToDepth>();

}  // namespace sdx::ops
