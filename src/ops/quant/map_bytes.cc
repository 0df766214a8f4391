// MapBytes: a function of one byte, written down as its 256 answers; made by a rewrite.
#include <algorithm>

#include "kernel/quant/map.h"
#include "op/layout.h"
#include "ops/common.h"
#include "ops/noise.h"
#include "ops/quant/quantised_elementwise.h"

namespace sdx::ops {
namespace {

// Entry i is the answer to the byte whose bits are those of the unsigned i, and as many bits.
constexpr Version kHistory[] = {{1, "(x: T) -> (y: T) {table!: ints} T in u8 i8"}};

Result<MapBytes> read(const Node& node, const Facts&) {
  const auto& table = node.get<std::vector<int64_t>>("table");
  MapBytes a;
  if (table.size() != a.table.size()) {
    return fail("SDX-O0014", "a table of {} answers, expected one for each of {} bytes",
                table.size(), a.table.size());
  }
  std::transform(table.begin(), table.end(), a.table.begin(), [](int64_t y) { return uint8_t(y); });
  return a;
}

Result<Facts> infer(const MapBytes&, const Facts& in) {
  return Facts{in[0].has_rank() ? Fact::tensor(in[0].type, *in[0].shape)
                                : Fact::tensor(in[0].type)};
}

// y[i] = table[x[i]]
Status reference(const MapBytes& a, Args& args) {
  for (size_t i = 0; i < args.out().count; ++i)
    args.out().data<uint8_t>()[i] = a.table[args.in(0).data<uint8_t>()[i]];
  return ok();
}

Status run(const MapBytes& a, Args& args) {
  constexpr size_t kGrain = 1 << 16;
  const auto map = SDX_PICK(map_bytes, args.isa);
  const uint8_t* x = args.in(0).data<uint8_t>();
  args.pool->parallel(args.out().count, kGrain, [&](size_t begin, size_t end, int) {
    map(x + begin, args.out().data<uint8_t>() + begin, end - begin, a.table.data());
  });
  return ok();
}

constexpr Kernel<MapBytes> kKernels[] = {
    {.name = "map_bytes", .fits = [](const MapBytes&, const Call&) { return true; }, .run = run},
};

std::vector<int64_t> some_table() {
  std::vector<int64_t> table(256);
  for (size_t i = 0; i < table.size(); ++i) table[i] = int64_t(i * 167 + 13) % 256;
  return table;
}

std::vector<Case> cases() {
  return {{.name = "a_table_of_bytes",
           .opset = 1,
           .attrs = {{"table", some_table()}},
           .inputs = {Tensor::of<uint8_t>({4}, {0, 1, 2, 255})},
           .expected = {Tensor::of<uint8_t>({4}, {13, 180, 91, 102})}},
          {.name = "long_signed_tensors",
           .opset = 1,
           .attrs = {{"table", some_table()}},
           .inputs = {noise(DType::i8, {3, 1021}, 1, -128, 128)}},
          {.name = "nothing",
           .opset = 1,
           .attrs = {{"table", some_table()}},
           .inputs = {Tensor::make(DType::u8, {0, 11})}}};
}

constexpr OpOf<MapBytes> kMapBytes{
    .name = "MapBytes",
    .doc = "A function of one byte, written down as its 256 answers.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .kernels = kKernels,
    .cases = cases,
    .domain = "sardonyx",
    .layout = each_element<MapBytes>,
};

}  // namespace

extern const Op map_bytes = erase<kMapBytes>();

}  // namespace sdx::ops
