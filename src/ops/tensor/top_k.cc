// TopK.
#include "ops/tensor/top_k.h"

#include <bit>
#include <functional>
#include <numeric>

#include "base/aligned.h"
#include "base/fitting.h"
#include "kernel/rows/keys.h"
#include "ops/noise.h"
#include "ops/tensor/ints.h"
#include "ops/tensor/order.h"
#include "ops/tensor/pick.h"

namespace sdx::ops {
namespace {

constexpr Version kHistory[] = {
    {1, "(X: T) -> (Values: T, Indices: I) {axis: int = -1, k!: int} T in floats I in i64"},
    {10, "(X: T, K: i64) {-k}"},
    {11, "{largest: int = 1, sorted: int = 1} T += ints uints"},  // with sorted = 0 any order may
                                                                  // be given: the sorted one is
    {24, "T += bf16"},
};

Result<TopK> read(const Node& node, const Facts&) {
  TopK a{node.i("axis"), std::nullopt, node.i_or("largest", 1) != 0};
  if (node.has("k")) a.k = {node.i("k")};
  return a;
}

Result<Facts> infer(const TopK& a, const Facts& in) {
  if (!in[0].has_rank()) return Facts{Fact::tensor(in[0].type), Fact::tensor(DType::i64)};
  SDX_ASSIGN(const size_t axis, resolve_axis(a.axis, in[0].rank()));
  const auto k = known_dims(a.k, in, 1);
  if (k && k->size() != 1) return fail("SDX-T0228", "K has {} elements, not one", k->size());
  const Dim& n = in[0].dim(axis);
  if (k && (*k)[0].is_const() &&
      ((*k)[0].value() < 0 || (n.is_const() && (*k)[0].value() > n.value()))) {
    return fail("SDX-T0228", "K is {}, axis {} has {} elements", (*k)[0].value(), axis, n.text());
  }
  Fact values = like(in[0]);
  (*values.shape)[axis] = k ? (*k)[0] : Dim::unknown();
  return Facts{values, like(values, DType::i64)};
}

// Element i of a lane before element j in the answer: the better value, or the lower index among
// equals.
template <class T>
struct Better {
  const T* lane;
  size_t stride;
  bool largest;
  bool operator()(uint32_t i, uint32_t j) const {
    int order;
    if constexpr (std::is_integral_v<T>) {
      order = compare_values(lane[i * stride], lane[j * stride]);
    } else {
      order = compare_values(load(lane[i * stride]), load(lane[j * stride]));
    }
    if (order != 0) return largest ? order > 0 : order < 0;
    return i < j;
  }
};

template <class F>
bool visit_numbers(DType type, F&& f) {
  return visit_floats(type, f) || visit_integers(type, f);
}

// What there is to do: lanes along the axis, and k of each; no k if nobody reads the answer.
struct Lanes {
  AxisSplit at;
  size_t k = 0;
};
Result<Lanes> lanes_of(const TopK& a, Args& args) {
  const View& x = args.in(0);
  SDX_ASSIGN(const size_t axis, resolve_axis(a.axis, x.rank()));
  const AxisSplit at = split_at(x.dims, axis);
  if (at.size > std::numeric_limits<uint32_t>::max())
    return fail("SDX-R0103", "an axis of {} elements is too long", at.size);
  const View& sized = args.wants(0) ? args.out(0) : args.out(1);
  return Lanes{at, sized.present() ? size_t(sized.dims[axis]) : 0};
}

Status reference(const TopK& a, Args& args) {
  const View& x = args.in(0);
  SDX_ASSIGN(const Lanes lanes, lanes_of(a, args));
  const AxisSplit& at = lanes.at;
  std::vector<uint32_t> order(at.size);
  visit_numbers(x.type, [&]<class T>() {
    for (size_t lane = 0; lane < at.outer * at.inner; ++lane) {
      const size_t outer = lane / at.inner, inner = lane % at.inner;
      const T* from = x.data<T>() + outer * at.size * at.inner + inner;
      std::iota(order.begin(), order.end(), uint32_t{0});
      std::sort(order.begin(), order.end(), Better<T>{from, at.inner, a.largest});
      for (size_t i = 0; i < lanes.k; ++i) {
        const size_t to = (outer * lanes.k + i) * at.inner + inner;
        if (args.wants(0)) args.out(0).data<T>()[to] = from[order[i] * at.inner];
        if (args.wants(1)) args.out(1).data<int64_t>()[to] = order[i];
      }
    }
  });
  return ok();
}

// The kernel turns elements into integers in the order of the answer and finds the k greatest of
// those: -0 as +0, every NaN as the one that stands above all numbers.
template <class T>
auto key_of(T value, bool largest) {
  using Key = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;
  using Bits = std::make_unsigned_t<Key>;
  Key key;
  if constexpr (std::is_same_v<T, uint64_t> || std::is_same_v<T, uint32_t>) {
    key = Key(value ^ (T(1) << (8 * sizeof(T) - 1)));
  } else if constexpr (std::is_integral_v<T>) {
    key = Key(value);  // NOLINT(bugprone-signed-char-misuse): negative keys are meant
  } else {
    const auto x = load(value);
    const Bits nan = std::bit_cast<Bits>(std::numeric_limits<Compute<T>>::quiet_NaN());
    const Bits bits = x != x ? nan : std::bit_cast<Bits>(x == 0 ? Compute<T>(0) : x);
    key = Key(bits ^ ((Bits(0) - (bits >> (8 * sizeof(Bits) - 1))) >> 1));
  }
  return largest ? key : Key(~key);
}
template <class T>
using KeyOf = decltype(key_of(T(), true));

// A key and where it stands; of equal keys the lower index is the greater.
template <class Key>
struct Candidate {
  Key key;
  uint32_t low;
  uint32_t index() const { return ~low; }
  auto operator<=>(const Candidate&) const = default;  // NOLINT(modernize-use-nullptr): no pointer
};
template <>
struct Candidate<int32_t> {
  uint64_t both;
  Candidate() = default;
  Candidate(int32_t key, uint32_t low) : both(uint64_t(uint32_t(key) ^ 1u << 31) << 32 | low) {}
  uint32_t index() const { return ~uint32_t(both); }
  auto operator<=>(const Candidate&) const = default;  // NOLINT(modernize-use-nullptr): no pointer
};

// Where the next key above the bar may be.
size_t next_above(const int32_t* keys, size_t from, size_t n, int32_t bar, Isa isa) {
  return SDX_PICK(next_above, isa)(keys, from, n, bar);
}
size_t next_above(const int64_t* keys, size_t from, size_t n, int64_t bar, Isa) {
  while (from < n && keys[from] <= bar) ++from;
  return from;
}

// The k greatest of n keys, greatest first, into `best`, which has room for n: what is not above
// the k-th of those before it is passed over.
template <class Key>
void select(const Key* keys, size_t n, size_t k, Candidate<Key>* best, Isa isa) {
  constexpr size_t kTogether = 16;
  const size_t most = k * 8 < n ? 2 * k + 2 * kTogether : n;
  size_t count = 0, i = 0;
  Key bar = 0;  // of the k-th best, once there are so many
  bool barred = false;
  const auto keep = [&] {
    std::nth_element(best, best + (k - 1), best + count, std::greater<>());
    count = k;
  };
  while (i < n) {
    if (barred) i = next_above(keys, i, n, bar, isa);
    for (const size_t end = std::min(n, i + kTogether); i < end; ++i) {
      if (barred && keys[i] <= bar) continue;
      best[count++] = Candidate<Key>{keys[i], ~uint32_t(i)};
      if (k == 1) bar = keys[i], barred = true;
    }
    if (most < n && count + kTogether > most) {
      keep();
      bar = keys[best[k - 1].index()];
      barred = true;
    }
  }
  if (count > k) keep();
  std::sort(best, best + k, std::greater<>());
}

// Lanes whose elements do not lie one behind the other are turned some at a time.
size_t lanes_together(const AxisSplit& at) { return std::min<size_t>(at.inner, 16); }

template <class T>
size_t bytes_per_thread(const AxisSplit& at) {
  return aligned_bytes(at.size * sizeof(Candidate<KeyOf<T>>) +
                       at.size * lanes_together(at) * sizeof(KeyOf<T>));
}

template <class T>
void select_lanes(const TopK& a, Args& args, const AxisSplit& at, size_t k, size_t begin,
                  size_t end, std::byte* scratch) {
  using Key = KeyOf<T>;
  auto* best = reinterpret_cast<Candidate<Key>*>(scratch);
  auto* keys = reinterpret_cast<Key*>(best + at.size);
  while (begin < end) {
    const size_t outer = begin / at.inner, inner = begin % at.inner;
    const size_t lanes = std::min({lanes_together(at), at.inner - inner, end - begin});
    const T* from = args.in(0).data<T>() + outer * at.size * at.inner + inner;
    if constexpr (std::is_same_v<T, float>) {
      if (at.inner == 1) SDX_PICK(order_keys, args.isa)(from, at.size, a.largest, keys);
    }
    for (size_t i = 0; i < at.size && (at.inner != 1 || !std::is_same_v<T, float>); ++i) {
      for (size_t j = 0; j < lanes; ++j)
        keys[j * at.size + i] = key_of(from[i * at.inner + j], a.largest);
    }
    for (size_t j = 0; j < lanes; ++j) {
      select(keys + j * at.size, at.size, k, best, args.isa);
      for (size_t i = 0; i < k; ++i) {
        const size_t to = (outer * k + i) * at.inner + inner + j, index = best[i].index();
        if (args.wants(0)) args.out(0).data<T>()[to] = from[index * at.inner + j];
        if (args.wants(1)) args.out(1).data<int64_t>()[to] = int64_t(index);
      }
    }
    begin += lanes;
  }
}

bool fits_keys(const TopK& a, const Call& call) {
  return resolve_axis(a.axis, call.in[0].rank()).ok();
}
size_t scratch_keys(const TopK& a, const Call& call) {
  const auto axis = resolve_axis(a.axis, call.in[0].rank());
  if (!axis) return 0;
  const Dims dims = call.in[0].dims();
  const AxisSplit at = split_at(dims, *axis);
  must_fit(double(call.threads) * double(at.size) * double(16 + 8 * lanes_together(at)));
  size_t bytes = 0;
  visit_numbers(call.in[0].type, [&]<class T>() { bytes = bytes_per_thread<T>(at); });
  return bytes * size_t(call.threads);
}
Status run_keys(const TopK& a, Args& args) {
  const View& x = args.in(0);
  SDX_ASSIGN(const Lanes lanes, lanes_of(a, args));
  const AxisSplit& at = lanes.at;
  if (lanes.k == 0) return ok();
  visit_numbers(x.type, [&]<class T>() {
    const size_t bytes = bytes_per_thread<T>(at);
    args.pool->parallel(at.outer * at.inner,
                        std::max<size_t>(1, 4096 / std::max<size_t>(1, at.size)),
                        [&](size_t begin, size_t end, int thread) {
                          select_lanes<T>(a, args, at, lanes.k, begin, end,
                                          args.scratch.data() + size_t(thread) * bytes);
                        });
  });
  return ok();
}

constexpr Kernel<TopK> kKernels[] = {{"keys", fits_keys, run_keys, scratch_keys}};

std::vector<Case> cases() {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const auto of = [](std::string name, Tensor x, int64_t axis, int64_t k, bool largest) {
    return Case{.name = std::move(name),
                .opset = 24,
                .attrs = {{"axis", axis}, {"largest", int64_t{largest}}},
                .inputs = {std::move(x), Tensor::of<int64_t>({1}, {k})},
                .outputs = 2};
  };
  return {
      of("few_of_many", noise({3, 700}), 1, 5, true),
      of("the_greatest_alone", noise({3, 700}), 1, 1, true),
      of("most_of_many", noise({3, 300}), 1, 120, false),
      of("all", noise({2, 65}), 1, 65, true),
      of("none", noise({2, 65}), 1, 0, true),
      of("along_columns", noise({2, 131, 37}), 1, 7, false),
      of("many_equals", noise(DType::i32, {5, 400}, 1, -3, 3), 1, 20, true),
      of("many_equal_bytes", noise(DType::u8, {2, 400, 3}, 1, 0, 9), 1, 30, false),
      of("doubles", noise(DType::f64, {3, 300}), 1, 9, true),
      of("long_integers", noise(DType::i64, {3, 300}, 1, -1e15, 1e15), 1, 9, false),
      of("halves", noise(DType::f16, {3, 300}), 1, 9, true),
      of("bfloats", noise(DType::bf16, {300, 5}), 0, 50, false),
      {.name = "opset1_has_k_as_an_attribute",
       .opset = 1,
       .attrs = {{"k", int64_t{2}}, {"axis", int64_t{0}}},
       .inputs = {Tensor::of<float>({3}, {1, 3, 2})},
       .expected = {Tensor::of<float>({2}, {3, 2}), Tensor::of<int64_t>({2}, {1, 2})},
       .outputs = 2},
      {.name = "nan_is_largest_and_ties_go_by_index",
       .opset = 11,
       .attrs = {},
       .inputs = {Tensor::of<float>({5}, {0, nan, -0.0f, 5, nan}), Tensor::of<int64_t>({1}, {5})},
       .expected = {Tensor::of<float>({5}, {nan, nan, 5, 0, -0.0f}),
                    Tensor::of<int64_t>({5}, {1, 4, 3, 0, 2})},
       .outputs = 2}};
}

constexpr OpOf<TopK> kTopK{
    .name = "TopK",
    .doc = "The k largest or smallest elements along an axis, best first, and where they stand.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .kernels = kKernels,
    .cases = cases,
};

}  // namespace

extern const Op top_k = erase<kTopK>();

}  // namespace sdx::ops
