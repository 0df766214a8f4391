#include "plan/memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <random>

#include "plan/offsets.h"
#include "typed/text.h"

namespace sdx::plan {
namespace {

bool overlap(const Block& a, const Block& b) {
  return a.first <= b.last && b.first <= a.last && a.offset < b.offset + b.bytes &&
         b.offset < a.offset + a.bytes;
}

// A chain of steps with a residual: what a network's blocks look like.
TEST(Memory, a_residual_network_needs_no_more_than_what_lives) {
  std::vector<Block> blocks;
  for (size_t i = 0; i < 12; ++i) {
    const size_t s = 4 * i, side = 96 * 1024, hidden = 4 * side;
    blocks.push_back({side, s, s + 4});        // the residual, read by the last step
    blocks.push_back({side, s + 1, s + 2});    // normalised
    blocks.push_back({hidden, s + 2, s + 3});  // widened
    blocks.push_back({1024, s + 3, s + 3});    // scratch
  }
  EXPECT_EQ(assign_offsets(blocks), most_live_bytes(blocks));
}

TEST(Memory, as_many_wires_at_once_as_a_file_can_have_are_placed_soon_and_apart) {
  std::mt19937 random(3);
  std::vector<Block> blocks;
  constexpr size_t kWires = 100000;
  for (size_t i = 0; i < kWires; ++i)  // half of them live until the end
    blocks.push_back({64 * (1 + random() % 8), i, i % 2 == 0 ? kWires : i + 1 + random() % 100});
  const auto start = std::chrono::steady_clock::now();
  const size_t total = assign_offsets(blocks);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
  EXPECT_LE(total, 2 * most_live_bytes(blocks));
  // Of those alive at the end, in the order of memory, each ends before the next begins.
  std::vector<Block> last;
  for (const Block& block : blocks) {
    if (block.last == kWires) last.push_back(block);
  }
  std::sort(last.begin(), last.end(),
            [](const Block& a, const Block& b) { return a.offset < b.offset; });
  for (size_t i = 1; i < last.size(); ++i)
    ASSERT_LE(last[i - 1].offset + last[i - 1].bytes, last[i].offset);
}

TEST(Memory, blocks_alive_together_never_overlap_and_little_is_wasted) {
  std::mt19937 random(7);
  double worst = 1, sum = 0;
  constexpr int kNetworks = 200;
  for (int round = 0; round < kNetworks; ++round) {
    std::vector<Block> blocks;
    const size_t steps = 5 + random() % 60;
    for (size_t s = 0; s < steps; ++s) {
      const size_t bytes = 64 * (1 + random() % 64) * (1 + random() % 16);
      const size_t life = random() % 4 == 0 ? random() % steps : 1 + random() % 2;
      blocks.push_back({bytes, s, std::min(steps, s + life)});
    }
    const size_t total = assign_offsets(blocks);
    for (size_t i = 0; i < blocks.size(); ++i) {
      EXPECT_LE(blocks[i].offset + blocks[i].bytes, total);
      for (size_t j = 0; j < i; ++j) EXPECT_FALSE(overlap(blocks[i], blocks[j]));
    }
    const double waste = double(total) / double(most_live_bytes(blocks));
    worst = std::max(worst, waste);
    sum += waste;
  }
  EXPECT_LE(sum / kNetworks, 1.04);
  EXPECT_LE(worst, 1.25);
}

TEST(Memory, no_blocks_need_no_memory) {
  std::vector<Block> none, empty{{0, 0, 3}};
  EXPECT_EQ(assign_offsets(none), 0u);
  EXPECT_EQ(assign_offsets(empty), 0u);
}

Plan planned(const char* text) {
  auto graph = typed::parse(text);
  EXPECT_TRUE(graph.ok());
  Pool pool(1);
  auto plan = choose_steps(*std::move(graph), {}, pool, nullptr);
  EXPECT_TRUE(plan.ok());
  place_wires(*plan, lay_out(*plan));
  return *std::move(plan);
}

TEST(Memory, what_is_joined_along_the_first_axis_is_computed_in_its_place) {
  const Plan plan = planned(R"(graph "g" {
      %x = input : f32[1,16,2]
      %1 = Exp.13 (%x)
      %2 = Neg.13 (%x)
      %3 = Abs.13 (%2)
      %4 = Concat.13 {axis=1} (%1, %x, %3)
      %5 = Softmax.13 {axis=1} (%4)
      output "y" = %5
    })");
  const auto place = [&](uint32_t node) { return plan.places[node][0]; };
  EXPECT_EQ(place(1).kind, Place::Kind::arena);
  EXPECT_EQ(place(1).offset, place(4).offset);
  EXPECT_EQ(place(3).offset, place(4).offset + 256);
  EXPECT_EQ(place(2).offset, place(3).offset);  // taken over by Abs
}

TEST(Memory, parts_that_lie_apart_in_the_result_or_are_not_aligned_are_copied) {
  const Plan plan = planned(R"(graph "g" {
      %x = input : f32[2,16]
      %1 = Exp.13 (%x)
      %2 = Concat.13 {axis=1} (%1, %x)
      %3 = Softmax.13 {axis=1} (%2)
      output "y" = %3
      %z = input : f32[3]
      %4 = Exp.13 (%z)
      %5 = Concat.13 {axis=0} (%z, %4)
      %6 = Softmax.13 {axis=0} (%5)
      output "w" = %6
    })");
  for (uint32_t id = 0; id < plan.graph.size(); ++id) {
    const typed::Node& node = plan.graph.node(id);
    if (node.kind != typed::Node::Kind::op || node.op().name != "Exp") continue;
    const auto joined = plan.graph.successors()[id][0][0];
    const size_t at = plan.places[id][0].offset, into = plan.places[joined][0].offset;
    const size_t bytes = bytes_for(DType::f32, size_t(node.outputs[0].dims()[0]));
    EXPECT_TRUE(at + bytes <= into || into + 2 * bytes <= at) << at << " in " << into;
  }
}

}  // namespace
}  // namespace sdx::plan
