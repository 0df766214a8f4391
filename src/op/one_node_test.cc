#include "op/one_node.h"

#include <gtest/gtest.h>

namespace sdx {
namespace {

// y = x + 1, by a reference and by a kernel that wants scratch memory and a packed one.
struct AddOne {};

Status reference(const AddOne&, Args& args) {
  SDX_ASSIGN(const View y, args.make(0, {args.in(0).dims.begin(), args.in(0).dims.end()}));
  for (size_t i = 0; i < y.count; ++i) y.data<float>()[i] = args.in(0).data<float>()[i] + 1;
  return ok();
}

int times_packed = 0;

constexpr Kernel<AddOne> kKernels[] = {
    {.name = "add_packed",
     .fits = [](const AddOne&, const Call&) { return true; },
     .run = [](const AddOne&, Args& args) -> Status {
       if (args.scratch.size() != 64) return fail("SDX-TEST", "{} bytes", args.scratch.size());
       const float one = *static_cast<const float*>(args.packed);
       for (size_t i = 0; i < args.out().count; ++i)
         args.out().data<float>()[i] = args.in(0).data<float>()[i] + one;
       return ok();
     },
     .scratch = [](const AddOne&, const Call&) -> size_t { return 64; },
     .pack = [](const AddOne&, const Call&, Pool&) -> std::shared_ptr<const void> {
       ++times_packed;
       return std::make_shared<const float>(1.0F);
     }}};

constexpr OpOf<AddOne> kAddOne = {
    .name = "AddOne",
    .doc = "y = x + 1",
    .history = {},
    .read = [](const Node&, const Facts&) -> Result<AddOne> { return AddOne{}; },
    .infer = [](const AddOne&, const Facts& in) -> Result<Facts> { return Facts{in[0]}; },
    .reference = reference,
    .kernels = kKernels};
constexpr Op add_one = erase<kAddOne>();

struct Addition {
  const Op::AnyKernel* kernel;
  const void* packed = nullptr;
  bool made_before = true;  // the output's memory is there when the node runs

  Result<Value> operator()() const {
    const std::vector<Value> inputs = {Tensor::of<float>({2}, {1, 2})};
    std::vector<Value> results(1);
    const Facts facts = {fact_of(inputs[0])};
    if (made_before) results[0] = Tensor::make(DType::f32, {2});
    const std::vector<View> ins = views_of(inputs), outs = views_of(results);
    Pool pool(1);
    LateValues late(inputs, results, facts);
    const AddOne attrs;
    const Call call{facts, facts, Isa::portable, 1};
    SDX_TRY(run_one({add_one, &attrs, kernel, call, ins, outs, pool, late, packed}));
    return results[0];
  }
};

const Value kWanted = Tensor::of<float>({2}, {2, 3});

TEST(OneNode, is_its_reference_where_no_kernel_is_named) {
  const auto y = Addition{.kernel = nullptr, .made_before = false}();
  ASSERT_TRUE(y) << y.error().text();
  EXPECT_TRUE(equal(*y, kWanted));
}

TEST(OneNode, gives_its_kernel_the_scratch_memory_and_the_packed_inputs_it_asks_for) {
  times_packed = 0;
  const auto y = Addition{.kernel = &add_one.kernels[0]}();
  ASSERT_TRUE(y) << y.error().text();
  EXPECT_TRUE(equal(*y, kWanted));
  EXPECT_EQ(times_packed, 1);
}

TEST(OneNode, takes_what_was_packed_before) {
  times_packed = 0;
  const float one = 1;
  const auto y = Addition{.kernel = &add_one.kernels[0], .packed = &one}();
  ASSERT_TRUE(y) << y.error().text();
  EXPECT_TRUE(equal(*y, kWanted));
  EXPECT_EQ(times_packed, 0);
}

TEST(OneNode, refuses_an_output_that_no_memory_could_hold) {
  const std::vector<Value> inputs;
  std::vector<Value> results(1);
  const Facts facts = {Fact::tensor(DType::f32)};
  LateValues late(inputs, results, facts);
  EXPECT_FALSE(late.make(0, {INT64_MAX, INT64_MAX}));
}

}  // namespace
}  // namespace sdx
