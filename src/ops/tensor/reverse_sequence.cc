// ReverseSequence.
#include "ops/tensor/ints.h"
#include "ops/tensor/pick.h"

namespace sdx::ops {
namespace {

struct ReverseSequence {
  bool time_first;  // axes are [time, batch, ...], otherwise [batch, time, ...]
};

constexpr Version kHistory[] = {
    {10,
     "(input: T, sequence_lens: i64) -> (Y: T) {batch_axis: int = 1, time_axis: int = 0} T in all"},
    {28, "T += bf16"},
};

Result<ReverseSequence> read(const Node& node, const Facts&) {
  const int64_t time = node.i("time_axis"), batch = node.i("batch_axis");
  if (!((time == 0 && batch == 1) || (time == 1 && batch == 0))) {
    return fail("SDX-T0229", "time_axis {} and batch_axis {} must be 0 and 1 or 1 and 0", time,
                batch);
  }
  return ReverseSequence{time == 0};
}

Result<Facts> infer(const ReverseSequence& a, const Facts& in) {
  if (in[0].has_rank() && in[0].rank() < 2) {
    return fail("SDX-T0229", "the input must have at least 2 dimensions, not {}", in[0].text());
  }
  if (in[0].has_rank() && in[1].has_rank()) {
    const Dim& batch = in[0].dim(a.time_first ? 1 : 0);
    if (in[1].rank() != 1 ||
        (batch.is_const() && in[1].dim(0).is_const() && !(batch == in[1].dim(0)))) {
      return fail("SDX-T0229", "sequence_lens {} must have one element per batch of {}",
                  in[1].text(), in[0].text());
    }
  }
  return Facts{like(in[0])};
}

Status reference(const ReverseSequence& a, Args& args) {
  const View &x = args.in(0), &lengths = args.in(1), &y = args.out();
  const size_t inner = split_at(x.dims, 0, 2).inner;
  const int64_t times = x.dims[a.time_first ? 0 : 1];
  for (size_t i = 0; i < lengths.count; ++i) {
    const int64_t length = lengths.data<int64_t>()[i];
    if (length < 0 || length > times) {
      return fail("SDX-R0104", "sequence {} has a length of {}, the time axis has {}", i, length,
                  times);
    }
  }
  share_rows(
      args.pool, size_t(x.dims[0] * x.dims[1]), inner, x.type, [&](size_t begin, size_t end) {
        for (size_t i = begin; i < end; ++i) {
          const size_t row = i / size_t(x.dims[1]), column = i % size_t(x.dims[1]);
          const size_t batch = a.time_first ? column : row;
          size_t time = a.time_first ? row : column;
          const auto length = size_t(lengths.data<int64_t>()[batch]);
          if (time < length) time = length - 1 - time;
          const size_t from =
              a.time_first ? time * size_t(x.dims[1]) + batch : batch * size_t(x.dims[1]) + time;
          copy_row(x.type, x.raw, from * inner, y.raw, i * inner, inner);
        }
      });
  return ok();
}

std::vector<Case> cases() {
  return {{.name = "reverses_each_batch_up_to_its_length",
           .opset = 10,
           .attrs = {{"time_axis", int64_t{1}}, {"batch_axis", int64_t{0}}},
           .inputs = {Tensor::of<std::string>({2, 3}, {"a", "b", "c", "d", "e", "f"}),
                      Tensor::of<int64_t>({2}, {2, 3})},
           .expected = {Tensor::of<std::string>({2, 3}, {"b", "a", "c", "f", "e", "d"})}}};
}

constexpr OpOf<ReverseSequence> kReverseSequence{
    .name = "ReverseSequence",
    .doc = "Each sequence of a batch reversed up to its length.",
    .history = kHistory,
    .read = read,
    .infer = infer,
    .reference = reference,
    .cases = cases,
};

}  // namespace

extern const Op reverse_sequence = erase<kReverseSequence>();

}  // namespace sdx::ops
