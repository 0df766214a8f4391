#include "run/guard.h"

#include <gtest/gtest.h>

namespace sdx::run {
namespace {

// An arena of 32 floats: input at 0, output at 8, scratch at 16; 4 elements each.
struct Arena {
  std::vector<float> memory = std::vector<float>(32, 1);
  Dims dims{4};
  std::vector<View> ins{{DType::f32, dims, memory.data(), 4}};
  std::vector<View> outs{{DType::f32, dims, memory.data() + 8, 4}};

  Args args() {
    Args args;
    args.ins = ins;
    args.outs = outs;
    args.scratch = std::as_writable_bytes(std::span(memory.data() + 16, 4));
    return args;
  }
  Guard guard() {
    return Guard({{"the arena", reinterpret_cast<std::byte*>(memory.data()), 32 * 4, true}});
  }
  // "ok", or the code of what the guard says.
  std::string verdict(const std::function<void(float* in, float* out, float* scratch)>& kernel) {
    const Args given = args();
    const Status status = guard().run(given, true, [&] {
      kernel(given.in(0).data<float>(), given.out().data<float>(), memory.data() + 16);
      return ok();
    });
    return status ? "ok" : std::string(status.error().code);
  }
};

TEST(Guard, a_kernel_that_keeps_its_contract_passes_and_its_result_stays) {
  Arena arena;
  EXPECT_EQ(arena.verdict([](float* in, float* out, float* scratch) {
    for (int i = 0; i < 4; ++i) scratch[i] = in[i] * 2;
    for (int i = 0; i < 4; ++i) out[i] = scratch[i] + 1;
  }),
            "ok");
  EXPECT_EQ(arena.memory[8], 3);
  EXPECT_EQ(arena.memory[12], 1);  // a neighbour
}

TEST(Guard, an_output_in_the_place_of_an_input_passes) {
  Arena arena;
  arena.outs[0].raw = arena.memory.data();
  EXPECT_EQ(arena.verdict([](float* in, float* out, float*) {
    for (int i = 0; i < 4; ++i) out[i] = in[i] + 1;
  }),
            "ok");
  EXPECT_EQ(arena.memory[0], 2);
}

TEST(Guard, a_byte_beside_the_output_is_noticed) {
  Arena arena;
  EXPECT_EQ(arena.verdict([](float*, float* out, float*) { std::fill_n(out, 5, 2.f); }),
            "SDX-R0050");
}

TEST(Guard, a_byte_that_is_written_back_as_it_was_is_noticed_too) {
  Arena arena;
  EXPECT_EQ(arena.verdict([](float*, float* out, float*) { std::fill_n(out, 5, 1.f); }),
            "SDX-R0050");
}

TEST(Guard, an_input_that_is_changed_is_noticed) {
  Arena arena;
  EXPECT_EQ(arena.verdict([](float* in, float* out, float*) {
    std::fill_n(out, 4, 0.f);
    in[3] = 7;
  }),
            "SDX-R0050");
}

TEST(Guard, a_constant_outside_of_the_arena_that_is_changed_is_noticed) {
  Arena arena;
  std::vector<float> constant(4, 1);
  arena.ins[0].raw = constant.data();
  EXPECT_EQ(arena.verdict([](float* in, float* out, float*) {
    std::fill_n(out, 4, 0.f);
    in[3] = 7;
  }),
            "SDX-R0052");
}

TEST(Guard, a_result_that_depends_on_old_memory_is_noticed) {
  for (const int from : {8, 16, 24}) {  // the output before it is written, scratch, another's bytes
    Arena arena;
    EXPECT_EQ(arena.verdict([&](float*, float* out, float*) {
      const float stale = arena.memory[size_t(from)];
      std::fill_n(out, 4, stale);
    }),
              "SDX-R0051")
        << from;
  }
}

TEST(Guard, an_output_that_is_not_written_whole_is_noticed) {
  Arena arena;
  EXPECT_EQ(arena.verdict([](float*, float* out, float*) { std::fill_n(out, 3, 2.f); }),
            "SDX-R0051");
}

TEST(Guard, steps_follow_each_other_and_what_one_leaves_is_watched_by_the_next) {
  Arena arena;
  Guard guard = arena.guard();
  const auto step = [&](size_t from, size_t to, float more, size_t also) {
    arena.ins[0].raw = arena.memory.data() + from;
    arena.outs[0].raw = arena.memory.data() + to;
    return guard.run(arena.args(), true, [&] {
      for (size_t i = 0; i < 4; ++i) arena.memory[to + i] = arena.memory[from + i] + more;
      if (also != 0) arena.memory[also] = 9;
      return ok();
    });
  };
  EXPECT_TRUE(step(0, 8, 1, 0));
  EXPECT_TRUE(step(8, 24, 2, 0));
  EXPECT_TRUE(step(24, 24, 3, 0));  // in place
  EXPECT_TRUE(guard.run_apart([] { return ok(); }));
  EXPECT_EQ(arena.memory[8], 2);
  EXPECT_EQ(arena.memory[24], 7);
  EXPECT_EQ(arena.memory[16], 1) << "scratch memory is as it was";
  const Status status = step(0, 24, 1, 8);  // the first one's result
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, "SDX-R0050");
}

TEST(Guard, a_step_with_memory_of_its_own_leaves_the_arena_alone) {
  Arena arena;
  EXPECT_TRUE(arena.guard().run_apart([] { return ok(); }));
  const Status status = arena.guard().run_apart([&] {
    arena.memory[30] = 5;
    return ok();
  });
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, "SDX-R0050");
}

}  // namespace
}  // namespace sdx::run
