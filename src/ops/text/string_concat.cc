// StringConcat.
#include "ops/elementwise/broadcast.h"

namespace sdx::ops {
namespace {

struct StringConcat {};

constexpr Version kHistory[] = {{20, "(X: T, Y: T) -> (Z: T) T in string"}};

Result<StringConcat> read(const Node&, const Facts&) { return StringConcat{}; }

Result<Facts> infer(const StringConcat&, const Facts& in) {
  if (!in[0].has_rank() || !in[1].has_rank()) return Facts{Fact::tensor(DType::string)};
  SDX_ASSIGN(Shape shape, broadcast(*in[0].shape, *in[1].shape));
  return Facts{Fact::tensor(DType::string, std::move(shape))};
}

Status reference(const StringConcat&, Args& args) {
  const View &x = args.in(0), &y = args.in(1), &z = args.out();
  const Broadcast<2> walk(z.dims, {x.dims, y.dims});
  walk.pieces(0, walk.count(), [&](size_t at, const auto& from, size_t length) {
    for (size_t i = 0; i < length; ++i) {
      z.data<std::string>()[at + i] = x.data<std::string>()[from[0] + i * walk.step(0)] +
                                      y.data<std::string>()[from[1] + i * walk.step(1)];
    }
  });
  return ok();
}

std::vector<Case> cases() {
  return {{.name = "broadcasts",
           .opset = 20,
           .attrs = {},
           .inputs = {Tensor::of<std::string>({2, 1}, {"a", "b"}),
                      Tensor::of<std::string>({2}, {"", "\xc3\xa9"})},
           .expected = {Tensor::of<std::string>({2, 2}, {"a", "a\xc3\xa9", "b", "b\xc3\xa9"})}}};
}

constexpr OpOf<StringConcat> kStringConcat{
    .name = "StringConcat",
    .doc = "Strings joined element by element.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .cases = cases,
};

}  // namespace

extern const Op string_concat = erase<kStringConcat>();

}  // namespace sdx::ops
