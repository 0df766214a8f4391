#include "ops/elementwise/samples.h"

#include <cmath>

#include "kernel/random/philox.h"

namespace sdx::ops {
namespace {

constexpr size_t kCount = 1100;  // more than a tile, and no multiple of a register
constexpr double kSpecial[] = {0,     -0.0, 1,        -1,        .5,  -.5,  1.5,
                               2.5,   -2.5, INFINITY, -INFINITY, NAN, 3e38, -3e38,
                               1e-45, 1e-8, 88.8,     -104,      127, -128};

// Input `slot`: special values, every pair of which meets in two inputs; numbers around zero; any
// bits.
Tensor sample(DType type, size_t slot, size_t count = kCount) {
  Tensor x = Tensor::make(type, {int64_t(count)});
  const Philox random(slot + 1);
  constexpr size_t kSpecials = std::size(kSpecial);
  for (size_t i = 0; i < count; ++i) {
    if (type == DType::string) {
      x.data<std::string>()[i] = std::string(random.block(i)[0] % 3, 'a');
    } else if (type == DType::boolean) {
      x.data<uint8_t>()[i] = random.block(i)[0] % 2;
    } else if (i < kSpecials * kSpecials && is_float(type)) {
      set_f64(type, x.raw(), i, kSpecial[(slot == 0 ? i : i / kSpecials) % kSpecials]);
    } else if (i % 2 == 0) {
      set_f64(type, x.raw(), i,
              std::floor(random.uniform(i) * 120 - 60) / (is_float(type) ? 10 : 1));
    } else {
      const auto words = random.block(i);
      set_bits(type, x.raw(), i, uint64_t{words[0]} << 32 | words[1]);
    }
  }
  return x;
}

}  // namespace

std::vector<Case> with_samples(std::span<const Version> history, std::vector<Case> cases,
                               AttrMap attrs, unsigned singles) {
  const auto folded = fold(history);
  if (!folded) return cases;
  const Signature& newest = folded->back();
  const auto types = newest.types.find(newest.inputs[0].type);
  if (types == newest.types.end()) return cases;
  for (const std::string& spelled : types->second) {
    const auto type = dtype_from_onnx(spelled.substr(7, spelled.size() - 8));
    if (!type || is_complex(*type)) continue;
    Case many{.name = fmt::format("samples_of_{}", short_name(*type)),
              .opset = newest.since,
              .attrs = attrs,
              .inputs = {}};
    for (const Formal& formal : newest.inputs) {
      if (formal.option == Formal::Option::optional) break;
      many.inputs.emplace_back(sample(*type, many.inputs.size()));
      if (formal.option == Formal::Option::variadic)
        many.inputs.emplace_back(sample(*type, many.inputs.size()));
    }
    cases.push_back(many);
    if (*type == DType::string || many.inputs.size() < 2) continue;
    for (size_t slot = 0; slot < 2; ++slot) {
      if ((singles >> slot & 1) == 0) continue;
      Case one = many;
      one.name += slot == 0 ? "_one_against_many" : "_many_against_one";
      Tensor single = Tensor::make(*type, {});
      set_f64(*type, single.raw(), 0, -1.75);
      one.inputs[slot] = single;
      cases.push_back(std::move(one));
    }
    if (newest.inputs[0].option != Formal::Option::variadic) continue;
    Case three = many;
    three.name += "_and_a_third";
    three.inputs.emplace_back(sample(*type, 2, 1));
    cases.push_back(std::move(three));
  }
  return cases;
}

}  // namespace sdx::ops
