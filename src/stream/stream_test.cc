// What a stream promises beside its bits: errors that leave it intact, copies, saved states,
// several at once, no memory per push.
#include "stream/stream.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "stream/models.h"
#include "stream/pulsed.h"

namespace {
std::atomic<size_t> allocations{0};
}  // namespace

// Counted for the test of memory.
void* operator new(size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(size == 0 ? 1 : size);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace sdx::stream {
namespace {

struct Opened {
  typed::Graph graph;
  std::shared_ptr<const Source> source;
  Status status;
};

// x: f32[1, 2, T], and what `build` makes of it.
template <class Build>
Opened opened(Build build, Shape shape = {1, 2, Dim::symbol("T")}) {
  Opened made;
  Network n(made.graph);
  const Outlet x = made.graph.source("x", Fact::tensor(DType::f32, std::move(shape)));
  made.graph.output("y", build(n, x));
  made.status = n.b.status();
  if (!made.status) return made;
  auto source = Source::make(made.graph, "T", plain_settings(), std::make_shared<Pool>(2));
  if (source) {
    made.source = *source;
  } else {
    made.status = source.error();
  }
  return made;
}

Outlet causal(Network& n, Outlet x) { return n.conv(n.conv(x, 2, 3, 3, 2, 4), 3, 2, 4, 1, 3); }
Outlet looks_ahead(Network& n, Outlet x) { return n.conv(x, 2, 2, 5, 1, 2, 2); }

std::string refusal(const Opened& made) {
  EXPECT_TRUE(made.status) << made.status.error().text();
  const auto model = made.source->at({});
  if (model) return "";
  EXPECT_EQ(model.error().code, "SDX-S0010");
  return model.error().text();
}

TEST(Stream, gives_what_is_certain_and_withholds_nothing) {
  const Opened made = opened(looks_ahead);
  Stream stream(made.source);
  const auto rows = [&](int64_t count) {
    const Tensor chunk = noise(DType::f32, {1, 2, count}, 3);
    const auto results = stream.push(std::span(&chunk, 1));
    EXPECT_TRUE(results);
    return (*results)[0].dims()[2];
  };
  EXPECT_EQ(rows(1), 0);
  EXPECT_EQ(rows(1), 0);
  EXPECT_EQ(rows(1), 1);
  EXPECT_EQ(rows(4), 4);
  EXPECT_EQ(rows(0), 0);
  const auto rest = stream.finish();
  ASSERT_TRUE(rest);
  EXPECT_EQ((*rest)[0].dims()[2], 2);
}

TEST(Stream, an_error_leaves_it_as_it_was) {
  const Opened made = opened(causal);
  const Tensor x = noise(DType::f32, {1, 2, 20}, 3);
  const auto all = whole(made.graph, {x});
  ASSERT_TRUE(all);
  Stream stream(made.source);
  std::vector<Tensor> parts;
  for (int64_t at = 0; at < 20; at += 5) {
    const Tensor wrong[] = {noise(DType::f32, {1, 3, 5}, 3), noise(DType::f64, {1, 2, 5}, 3),
                            noise(DType::f32, {2, 5}, 3), Tensor()};
    for (const Tensor& bad : wrong) EXPECT_FALSE(stream.push(std::span(&bad, 1)));
    EXPECT_EQ(stream.push({}).error().code, "SDX-S0020");
    run::RunOptions late;
    late.deadline = run::RunOptions::Clock::now();
    const Tensor chunk = rows_of(x, 2, at, at + 5);
    const auto stopped = stream.push(std::span(&chunk, 1), late);
    ASSERT_FALSE(stopped);
    EXPECT_EQ(stopped.error().code, "SDX-R0031");
    const auto results = stream.push(std::span(&chunk, 1));
    ASSERT_TRUE(results) << results.error().text();
    parts.push_back((*results)[0].copy());
  }
  const auto rest = stream.finish();
  ASSERT_TRUE(rest);
  parts.push_back((*rest)[0].copy());
  EXPECT_TRUE(joined(parts, 2) == (*all)[0].tensor());
  EXPECT_EQ(stream.push(std::span(&x, 1)).error().code, "SDX-S0027");
  EXPECT_EQ(stream.finish().error().code, "SDX-S0027");
  stream.reset();
  const auto again = streamed(stream, {x}, {2}, 20, {6});
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->outputs[0] == (*all)[0].tensor());
}

TEST(Stream, forks_and_saved_states_go_on_by_themselves) {
  const Opened made = opened([](Network& n, Outlet x) {
    const Outlet y = n.recurrent("GRU", n.b.transpose(looks_ahead(n, x), {2, 0, 1}), 2, 4);
    return n.b.op("CumSum", {y, n.b.ints({0})});
  });
  ASSERT_TRUE(made.status) << made.status.error().text();
  const Tensor x = noise(DType::f32, {1, 2, 40}, 3), other = noise(DType::f32, {1, 2, 40}, 4);
  const auto go_on = [](Stream& stream, const Tensor& from) {
    std::vector<Tensor> parts;
    for (int64_t at = 15; at < 40; at += 5) {
      const Tensor chunk = rows_of(from, 2, at, at + 5);
      parts.push_back((*stream.push(std::span(&chunk, 1)))[0].copy());
    }
    parts.push_back((*stream.finish())[0].copy());
    return joined(parts, 0);
  };
  Stream stream(made.source);
  for (int64_t at = 0; at < 15; at += 5) {
    const Tensor chunk = rows_of(x, 2, at, at + 5);
    ASSERT_TRUE(stream.push(std::span(&chunk, 1)));
  }
  const std::string saved = stream.save();
  Stream fork = stream.fork(), restored(made.source), restored_fork(made.source);
  ASSERT_TRUE(restored.restore(saved));
  Stream second = restored.fork();
  const Tensor expected = go_on(stream, x), elsewhere = go_on(fork, other);
  EXPECT_FALSE(expected == elsewhere);
  EXPECT_TRUE(go_on(restored, x) == expected);
  EXPECT_TRUE(go_on(second, other) == elsewhere);
  const auto all = whole(made.graph, {x});
  EXPECT_TRUE(rows_of((*all)[0].tensor(), 0, 13, 40) == expected);
}

TEST(Stream, a_state_of_another_model_or_a_damaged_one_is_refused) {
  const Opened made = opened(causal), other = opened(looks_ahead);
  Stream stream(made.source), another(other.source);
  const Tensor x = noise(DType::f32, {1, 2, 20}, 3);
  ASSERT_TRUE(stream.push(std::span(&x, 1)));
  const std::string saved = stream.save();
  EXPECT_EQ(another.restore(saved).error().code, "SDX-S0042");
  EXPECT_EQ(another.restore("").error().code, "SDX-S0041");
  for (size_t size = 8; size < saved.size(); size += 7)
    EXPECT_FALSE(another.restore(saved.substr(0, size)));
  for (size_t size = 0; size < saved.size(); size += 11)
    EXPECT_FALSE(stream.fork().restore(saved.substr(0, size)));
  for (size_t at = 16; at < saved.size(); at += 5) {
    std::string bent = saved;
    bent[at] = char(bent[at] ^ 0x41);
    Stream copy = stream.fork();
    if (copy.restore(bent)) (void)copy.push(std::span(&x, 1));  // must not crash
  }
  EXPECT_EQ(stream.rows(), 20);
}

TEST(Stream, several_at_once_get_the_bits_of_each_alone) {
  const Opened made = opened(causal);
  constexpr size_t kStreams = 9;
  std::vector<Stream> together(kStreams, Stream(made.source)), alone = together;
  std::vector<Stream*> all;
  for (Stream& stream : together) all.push_back(&stream);
  for (uint64_t round = 0; round < 6; ++round) {
    std::vector<Tensor> chunks;
    for (size_t i = 0; i < kStreams; ++i)
      chunks.push_back(noise(DType::f32, {1, 2, int64_t(1 + (i + round) % 4)}, 10 * round + i));
    std::vector<std::span<const Tensor>> inputs, results(kStreams);
    for (const Tensor& chunk : chunks) inputs.emplace_back(&chunk, 1);
    ASSERT_TRUE(push_all(all, inputs, results));
    for (size_t i = 0; i < kStreams; ++i)
      EXPECT_TRUE((*alone[i].push(inputs[i]))[0] == results[i][0]);
  }
  Stream* twice[] = {&together[0], &together[0]};
  const Tensor chunk = noise(DType::f32, {1, 2, 1}, 3);
  const std::span<const Tensor> inputs[] = {{&chunk, 1}, {&chunk, 1}};
  std::span<const Tensor> results[2];
  EXPECT_EQ(push_all(twice, inputs, results).error().code, "SDX-S0031");
}

TEST(Stream, sizes_that_are_open_are_those_of_the_first_push) {
  const Opened made = opened(causal, {Dim::symbol("N"), 2, Dim::symbol("T")});
  for (const int64_t batch : {1, 3}) {
    const Tensor x = noise(DType::f32, {batch, 2, 30}, 3);
    Stream stream(made.source);
    const auto got = streamed(stream, {x}, {2}, 30, {4});
    ASSERT_TRUE(got) << got.error().text();
    EXPECT_TRUE(got->outputs[0] == (*whole(made.graph, {x}))[0].tensor());
  }
}

TEST(Stream, fixed_inputs_come_with_the_first_push_and_stay) {
  typed::Graph graph;
  Network n(graph);
  const Outlet x = graph.source("x", Fact::tensor(DType::f32, {Dim::symbol("T"), 1, 3}));
  const Outlet h = graph.source("h", Fact::tensor(DType::f32, {1, 1, 4}));
  const auto outs = n.b.ops("GRU", {x, n.weight({1, 12, 3}), n.weight({1, 12, 4}), {}, {}, h},
                            {{"hidden_size", int64_t{4}}}, 2);
  graph.output("y", outs[0]);
  graph.output("last", outs[1]);
  ASSERT_TRUE(n.b.status());
  const auto source = Source::make(graph, "T", plain_settings(), std::make_shared<Pool>(1));
  const Tensor xs = noise(DType::f32, {12, 1, 3}, 1), hs = noise(DType::f32, {1, 1, 4}, 2);
  Stream stream(*source);
  const Tensor without[] = {rows_of(xs, 0, 0, 4), Tensor()};
  EXPECT_EQ(stream.push(without).error().code, "SDX-S0022");
  const auto got = streamed(stream, {xs, hs}, {0, SIZE_MAX}, 12, {5});
  ASSERT_TRUE(got) << got.error().text();
  const auto all = whole(graph, {xs, hs});
  EXPECT_TRUE(got->outputs[0] == (*all)[0].tensor());
  EXPECT_TRUE(got->outputs[1] == (*all)[1].tensor());
  stream.reset();
  const Tensor first[] = {without[0], hs},
               changed[] = {without[0], noise(DType::f32, {1, 1, 4}, 9)};
  ASSERT_TRUE(stream.push(first));
  EXPECT_TRUE(stream.push(without));
  EXPECT_EQ(stream.push(changed).error().code, "SDX-S0024");
}

TEST(Stream, what_cannot_be_streamed_is_named_with_its_reason) {
  const auto op = [](const char* name, AttrMap attrs) {
    return opened([&](Network& n, Outlet x) { return n.b.op(name, {x}, attrs); });
  };
  EXPECT_NE(refusal(op("Softmax", {{"axis", int64_t{2}}})).find("depends on other rows"),
            std::string::npos);
  EXPECT_NE(refusal(opened([](Network& n, Outlet x) {
              return n.b.sub(x, n.b.mean(x, {2}));
            })).find("known at the stream's end only"),
            std::string::npos);
  EXPECT_NE(refusal(opened([](Network& n, Outlet x) {
              const Outlet rows = n.b.transpose(x, {2, 0, 1});
              return n.b.op("RNN", {rows, n.weight({1, 3, 2}), n.weight({1, 3, 3})},
                            {{"hidden_size", int64_t{3}}, {"direction", std::string("reverse")}});
            })).find("from the stream's end"),
            std::string::npos);
  EXPECT_NE(refusal(opened([](Network& n, Outlet x) {
              const Outlet rows = n.b.transpose(x, {0, 2, 1});
              return n.b.op("Attention", {rows, rows, rows},
                            {{"q_num_heads", int64_t{1}}, {"kv_num_heads", int64_t{1}}});
            })).find("full attention"),
            std::string::npos);
  EXPECT_NE(refusal(opened([](Network& n, Outlet x) {
              return n.b.op("MatMul", {n.b.transpose(x, {0, 2, 1}), x});
            })).find("depend on the stream's length"),
            std::string::npos);
  EXPECT_NE(refusal(opened([](Network& n, Outlet x) {
              return n.b.op("Slice", {x, n.b.ints({-1}), n.b.ints({INT64_MIN}), n.b.ints({2}),
                                      n.b.ints({-1})});
            })).find("backwards"),
            std::string::npos);
}

TEST(Stream, an_axis_that_no_input_has_is_an_error_that_lists_those_there_are) {
  const Opened made = opened(causal);
  const auto none = Source::make(made.graph, "S", plain_settings(), std::make_shared<Pool>(1));
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, "SDX-S0003");
  EXPECT_NE(none.error().help.find("T"), std::string::npos);
}

TEST(Stream, a_pulse_that_is_no_multiple_is_refused) {
  const Opened made = opened([](Network& n, Outlet x) { return n.conv(x, 2, 2, 3, 1, 2, 0, 2); });
  const auto flows = made.source->flows({});
  const Report report(*flows);
  EXPECT_EQ(report.multiple(), 2);
  EXPECT_EQ(report.cost(3).error().code, "SDX-S0032");
  EXPECT_EQ(make_pulsed(*flows, 5).error().code, "SDX-S0032");
  EXPECT_EQ(make_pulsed(*flows, 0).error().code, "SDX-S0050");
}

TEST(Stream, long_pushes_run_in_pieces) {
  const Opened made = opened(looks_ahead);
  const Tensor x = noise(DType::f32, {1, 2, 10000}, 3);
  Stream stream(made.source);
  const auto got = streamed(stream, {x}, {2}, 10000, {10000});
  ASSERT_TRUE(got) << got.error().text();
  EXPECT_TRUE(got->outputs[0] == (*whole(made.graph, {x}))[0].tensor());
}

TEST(Stream, a_hundred_thousand_pushes_take_no_memory) {
  const Opened made = opened([](Network& n, Outlet x) {
    return n.conv(looks_ahead(n, x), 2, 3, 3, 2, 4, 0, 2);  // a row every second push
  });
  Stream stream(made.source);
  const Tensor chunk = noise(DType::f32, {1, 2, 1}, 3);
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(stream.push(std::span(&chunk, 1)));
  const size_t before = allocations, bytes = stream.state_bytes();
  for (int i = 0; i < 100'000; ++i) {
    const auto results = stream.push(std::span(&chunk, 1));
    if (!results) FAIL() << results.error().text();
  }
  EXPECT_EQ(allocations - before, 0u);
  EXPECT_EQ(stream.state_bytes(), bytes);
}

}  // namespace
}  // namespace sdx::stream
