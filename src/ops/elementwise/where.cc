// Where.
#include "kernel/elementwise/numbers.h"
#include "op/layout.h"
#include "ops/elementwise/broadcast.h"

namespace sdx::ops {
namespace {

struct Where {};

constexpr Version kHistory[] = {
    {9, "(condition: B, X: T, Y: T) -> (output: T) B in bool T in all"},
    {16, "T += bf16"},
};

Result<Where> read(const Node&, const Facts&) { return Where{}; }

Result<Facts> infer(const Where&, const Facts& in) {
  Fact out = Fact::tensor(in[1].type);
  SDX_ASSIGN(out.shape, broadcast_all(in));
  if (is_integer(out.type)) {
    track<3>(out, in, [](const auto& d) -> std::optional<Dim> {
      if (!d[0]->is_const()) return std::nullopt;
      return d[0]->value() != 0 ? *d[1] : *d[2];
    });
  }
  return Facts{std::move(out)};
}

// output[i] = condition[i] ? x[i] : y[i]; elements move as they are. `loop`: the kernel for
// elements of this size, or null.
template <class T>
void range(const Args& args, ChooseLoop loop, size_t begin, size_t end) {
  const Broadcast<3> walk(args.out().dims, {args.in(0).dims, args.in(1).dims, args.in(2).dims});
  const uint8_t* condition = args.in(0).data<uint8_t>();
  const T *x = args.in(1).data<T>(), *y = args.in(2).data<T>();
  T* out = args.out().data<T>();
  walk.pieces(begin, end, [&](size_t at, const auto& from, size_t length) {
    if (loop != nullptr && walk.step(0) == 1) {
      return loop(condition + from[0], x + from[1], walk.step(1), y + from[2], walk.step(2),
                  out + at, length);
    }
    for (size_t i = 0; i < length; ++i) {
      out[at + i] = condition[from[0] + i * walk.step(0)] != 0 ? x[from[1] + i * walk.step(1)]
                                                               : y[from[2] + i * walk.step(2)];
    }
  });
}

void over_sizes(Args& args, ChooseLoop loop, auto&& spread) {
  const auto run = [&]<class T>(T) {
    spread([&](size_t begin, size_t end, int) { range<T>(args, loop, begin, end); });
  };
  if (args.out().type == DType::string) return run(std::string());
  switch (bits(args.out().type)) {
    case 8:
      return run(uint8_t());
    case 16:
      return run(uint16_t());
    case 32:
      return run(uint32_t());
    case 64:
      return run(uint64_t());
    default:
      return run(std::complex<double>());
  }
}

Status reference(const Where&, Args& args) {
  over_sizes(args, nullptr, [&](auto&& body) { body(0, args.out().count, 0); });
  return ok();
}

constexpr Kernel<Where> kKernels[] = {
    {"threads", [](const Where&, const Call&) { return true; },
     [](const Where&, Args& args) {
       const bool moves = args.out().type != DType::string;
       const ChooseLoop loop =
           moves ? SDX_PICK(choose_loop, args.isa)(bits(args.out().type) / 8) : nullptr;
       over_sizes(args, loop,
                  [&](auto&& body) { args.pool->parallel(args.out().count, kElementGrain, body); });
       return ok();
     }},
};

std::vector<Case> cases() {
  return {{.name = "strings_broadcast",
           .opset = 9,
           .attrs = {},
           .inputs = {Tensor::of<bool>({2, 1}, {true, false}),
                      Tensor::of<std::string>({2}, {"a", "b"}), Tensor::of<std::string>({}, {"c"})},
           .expected = {Tensor::of<std::string>({2, 2}, {"a", "b", "c", "c"})}},
          {.name = "complex",
           .opset = 9,
           .attrs = {},
           .inputs = {Tensor::of<bool>({2}, {true, false}),
                      Tensor::of<std::complex<double>>({1}, {{1, 2}}),
                      Tensor::of<std::complex<double>>({1}, {{3, 4}})},
           .expected = {Tensor::of<std::complex<double>>({2}, {{1, 2}, {3, 4}})}}};
}

constexpr OpOf<Where> kWhere{
    .name = "Where",
    .doc = "The element of X where the condition holds, else the one of Y.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .kernels = kKernels,
    .cases = cases,
    .inplace = true,
    .by_equality = true,
    .layout = each_element<Where>,
};

}  // namespace

extern const Op where = erase<kWhere>();

}  // namespace sdx::ops
