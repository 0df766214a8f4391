// Generated graphs, in several chunkings: joined pushes are the whole run's bits, no row comes
// later than it must.
#include "stream/generated.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>

namespace sdx::stream {
namespace {

size_t graphs() {
  const char* given = std::getenv("SDX_STREAM_GRAPHS");
  return given != nullptr ? size_t(std::atoll(given)) : 240;
}

const Flow& flow_of(const Flows& flows, size_t output) {
  return flows.at(flows.graph.outputs()[output].outlet);
}

// Rows that two tensors have in common, from the first on.
int64_t common(const Tensor& a, const Tensor& b, size_t axis) {
  const int64_t least = std::min(a.dims()[axis], b.dims()[axis]);
  int64_t same = 0;
  while (same < least && rows_of(a, axis, same, same + 1) == rows_of(b, axis, same, same + 1))
    ++same;
  return same;
}

struct Counts {
  size_t ran = 0, refused = 0, too_short = 0, kept_open = 0;
};

// [1, channels, rows] for inputs along the axis, [1, 1, 1] for fixed ones.
struct Inputs {
  std::vector<Tensor> tensors;
  std::vector<size_t> axes;
  int64_t rows;

  Inputs(const typed::Graph& graph, int64_t length, uint64_t seed) : rows(length) {
    for (const Outlet input : graph.inputs()) {
      Dims dims;
      for (const Dim& dim : *graph.fact(input).shape)
        dims.push_back(dim.is_const() ? dim.value() : length);
      axes.push_back(dims[2] == length ? 2 : SIZE_MAX);
      tensors.push_back(noise(DType::f32, dims, seed + tensors.size()));
    }
  }
  std::vector<Tensor> changed_from(int64_t row) const {
    std::vector<Tensor> others;
    for (size_t i = 0; i < tensors.size(); ++i) {
      others.push_back(tensors[i].copy());
      for (int64_t c = 0; axes[i] == 2 && c < tensors[i].dims()[1]; ++c) {
        for (int64_t t = row; t < rows; ++t)
          others[i].data<float>()[c * rows + t] = std::numeric_limits<float>::quiet_NaN();
      }
    }
    return others;
  }
  std::vector<Tensor> first(int64_t count) const {
    std::vector<Tensor> others;
    for (size_t i = 0; i < tensors.size(); ++i)
      others.push_back(axes[i] == 2 ? rows_of(tensors[i], 2, 0, count) : tensors[i]);
    return others;
  }
};

// A row in the first quarter of what the node gives changes with the last quarter of the input,
// however long it is.
void expect_needs_the_end(const Flows& flows) {
  typed::Graph graph = flows.graph;
  const Outlet refused{flows.refused.front().node, 0};
  graph.output("refused", refused);
  size_t tried = 0;
  for (const int64_t least : {48, 96, 192}) {
    int64_t length = least;
    while (length < least + 40 && !whole(graph, Inputs(graph, length, 3).tensors)) ++length;
    const Inputs x(graph, length, 3);
    const auto all = whole(graph, x.tensors),
               changed = whole(graph, x.changed_from(length * 3 / 4));
    if (!all || !changed) continue;  // a length that the graph cannot have
    ++tried;
    const Tensor &a = all->back().tensor(), &b = changed->back().tensor();
    size_t axis = 0;
    while (axis < a.rank() && graph.fact(refused).dim(axis).is_const()) ++axis;
    ASSERT_LT(axis, a.rank());
    EXPECT_LT(common(a, b, axis), a.dims()[axis] / 4 + 1)
        << "of " << length << " rows: " << flows.refused.front().reason;
  }
  EXPECT_GT(tried, 1u);
}

// What later input may still change, is not certain: with other rows behind row n, or with none,
// the whole run agrees up to the certain rows and no further.
void expect_least_delay(const Flows& flows, const typed::Graph& graph, const Inputs& x,
                        const std::vector<Value>& all, int64_t n, Counts& counts) {
  const int64_t rows = x.rows;
  Position from(flows), to(flows);
  advance(flows, from, n, nullptr, to);
  const auto changed = whole(graph, x.changed_from(n));
  ASSERT_TRUE(changed) << changed.error().text();
  const auto ended = whole(graph, x.first(n));
  for (size_t i = 0; i < all.size(); ++i) {
    const Flow& flow = flow_of(flows, i);
    if (!flow.moves()) continue;
    const int64_t certain = to.certain[flows.wire(flows.graph.outputs()[i].outlet)];
    int64_t same = common(all[i].tensor(), (*changed)[i].tensor(), flow.axis);
    EXPECT_LE(certain, same) << "rows were given that later input changes";
    if (!ended) continue;
    same = std::min(same, common(all[i].tensor(), (*ended)[i].tensor(), flow.axis));
    EXPECT_EQ(certain, same) << "after " << n << " of " << rows << " rows";
    counts.kept_open += certain < all[i].tensor().dims()[flow.axis];
  }
}

void check(uint64_t seed, Counts& counts) {
  const bool refused = seed % 12 == 0;
  Generator::Made made = Generator(seed, refused).run();
  SCOPED_TRACE(fmt::format("graph {}: {}", seed, made.text));
  if (!made.status) return void(++counts.too_short);
  auto source = Source::make(made.graph, "T", plain_settings(), std::make_shared<Pool>(1));
  ASSERT_TRUE(source) << source.error().text();
  const auto model = (*source)->at({});
  EXPECT_EQ(bool(model), !refused) << (model ? "" : model.error().text());
  if (!model) {
    EXPECT_EQ(model.error().code, "SDX-S0010") << model.error().text();
    const auto flows = (*source)->flows({});
    ASSERT_TRUE(flows);
    expect_needs_the_end(*flows);
    ++counts.refused;
    return;
  }
  const Flows& flows = (*model)->flows();
  std::optional<std::vector<Value>> all;
  std::optional<Inputs> x;
  int64_t rows = 0;
  // Frames of k rows need a length that divides.
  for (const int64_t length : {int64_t(37 + seed % 30), int64_t{72}, int64_t{144}}) {
    x.emplace(made.graph, length, seed + 1000);
    auto run = whole(made.graph, x->tensors);
    rows = length;
    if (run) {
      all = *std::move(run);
      break;
    }
    // The stream says at its end what the whole says; but of a signal that is shorter than a frame
    // it has no frames, where STFT refuses it.
    Stream stream(*source);
    const bool framed = made.text.find("STFT") != std::string::npos;
    EXPECT_TRUE(framed || !streamed(stream, x->tensors, x->axes, rows, {7}));
  }
  if (!all) return void(++counts.too_short);
  ++counts.ran;
  const std::vector<int64_t> chunkings[] = {{1}, {3}, {8}, {1, 5, 2, 9, 1, 1, 13, 4, 3, 6}, {rows}};
  for (const auto& chunks : chunkings) {
    SCOPED_TRACE(fmt::format("chunks from {}", chunks[0]));
    Stream stream(*source);
    const auto got = streamed(stream, x->tensors, x->axes, rows, chunks);
    ASSERT_TRUE(got) << got.error().text();
    for (size_t i = 0; i < all->size(); ++i) {
      ASSERT_EQ(got->outputs[i].dims(), (*all)[i].tensor().dims());
      ASSERT_TRUE(got->outputs[i] == (*all)[i].tensor()) << "output " << i;
    }
  }
  expect_least_delay(flows, made.graph, *x, *all, rows / 2 + int64_t(seed % 5), counts);
}

TEST(Stream, joined_pushes_of_generated_graphs_are_the_whole_run) {
  Counts counts;
  size_t failed = 0;
  for (uint64_t seed = 1; seed <= graphs() && failed < 10; ++seed) {
    const int before =
        testing::UnitTest::GetInstance()->current_test_info()->result()->total_part_count();
    check(seed, counts);
    failed += testing::UnitTest::GetInstance()->current_test_info()->result()->total_part_count() >
              before;
  }
  std::printf(
      "%zu graphs ran in 5 chunkings, %zu refused, %zu without a valid length; %zu ends open\n",
      counts.ran, counts.refused, counts.too_short, counts.kept_open);
  EXPECT_GT(counts.ran, graphs() * 3 / 4);
  EXPECT_GT(counts.refused, graphs() / 20);
}

}  // namespace
}  // namespace sdx::stream
