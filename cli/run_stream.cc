// sardonyx run --stream: rows of an input as they come, from a pipe or out of files.
//
// A row is one position along the axis: the elements of all other axes, row-major, as raw bytes of
// the input's type. Rows of the output leave in the same form.
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "api/streaming.h"
#include "base/endian.h"
#include "stream/rows.h"
#include "streaming.h"

namespace sdx::cli {
namespace {

using stream::Flow;

// Reads until `count` bytes are there or the input has ended.
Result<size_t> read_all(void* into, size_t count) {
  size_t done = 0;
  while (done < count) {
    const ssize_t got = ::read(STDIN_FILENO, static_cast<char*>(into) + done, count - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail("SDX-C0082", "stdin cannot be read: {}", std::strerror(errno));
    if (got == 0) break;
    done += size_t(got);
  }
  return done;
}

// [rows, others...] to rows along `axis`, or back.
Tensor moved(const Tensor& from, size_t axis, bool to_front) {
  const Dims& dims = from.dims();
  size_t outer = 1, inner = 1;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (i != axis) (i < axis ? outer : inner) *= size_t(dims[i]);
  }
  Tensor to = Tensor::make(from.type(), dims);
  const auto rows = size_t(dims[axis]);
  const size_t bytes = inner * (bits(from.type()) / 8);
  for (size_t row = 0; row < rows; ++row) {
    for (size_t o = 0; o < outer; ++o) {
      const size_t along = (o * rows + row) * bytes, front = (row * outer + o) * bytes;
      std::memcpy(to.data<std::byte>() + (to_front ? front : along),
                  from.data<std::byte>() + (to_front ? along : front), bytes);
    }
  }
  return to;
}

class Run {
 public:
  Run(const StreamRun& wanted, stream::Stream& stream, std::vector<Tensor> inputs, size_t piped)
      : wanted_(wanted), stream_(stream), inputs_(std::move(inputs)), piped_(piped) {}

  Status run() {
    const typed::Graph& graph = stream_.source()->graph();
    const Fact& fact = graph.fact(graph.inputs()[piped_]);
    Dims dims;
    size_t axis = 0, elements = 1;
    for (size_t i = 0; i < fact.rank(); ++i) {
      const bool along = fact.dim(i) == Dim::symbol(stream_.source()->axis());
      if (along) axis = i;
      if (!along && !fact.dim(i).is_const())
        return fail("SDX-C0083", "the size {} of the piped input is not known; --set gives it",
                    fact.dim(i).text());
      dims.push_back(along ? 0 : fact.dim(i).value());
      if (!along) elements *= size_t(fact.dim(i).value());
    }
    const size_t row = elements * (bits(fact.type) / 8);
    for (;;) {
      dims[axis] = wanted_.chunk;
      Tensor chunk = Tensor::make(fact.type, dims);
      SDX_ASSIGN(const size_t got, read_all(chunk.raw(), chunk.bytes()));
      if (got % row != 0)
        return fail("SDX-C0084", "stdin ends within a row: {} bytes of {}", got % row, row);
      const bool last = got < chunk.bytes();
      if (last) {
        dims[axis] = int64_t(got / row);
        Tensor rest = Tensor::make(fact.type, dims);
        std::memcpy(rest.raw(), chunk.raw(), got);
        chunk = std::move(rest);
      }
      if constexpr (!kMemoryIsLittle) turn_elements(chunk.type(), chunk.raw(), chunk.bytes());
      inputs_[piped_] = moved(chunk, axis, false);
      SDX_ASSIGN(const auto rows, stream_.push(inputs_));
      SDX_TRY(write(rows));
      if (last) break;
    }
    SDX_ASSIGN(const auto rest, stream_.finish());
    return write(rest);
  }

 private:
  Status write(std::span<const Tensor> results) {
    const stream::Flows& flows = stream_.model()->flows();
    const auto& outputs = flows.graph.outputs();
    for (size_t i = 0; i < results.size(); ++i) {
      const bool named = wanted_.outputs.empty()
                             ? i == 0
                             : std::find(wanted_.outputs.begin(), wanted_.outputs.end(),
                                         outputs[i].name) != wanted_.outputs.end();
      if (!named || results[i].empty()) continue;
      const Flow& flow = flows.at(outputs[i].outlet);
      const Tensor rows = flow.moves() ? moved(results[i], flow.axis, true) : results[i];
      std::shared_ptr<void> held;
      const std::byte* bytes = elements_for_file(rows.type(), rows.raw(), rows.bytes(), held);
      if (std::fwrite(bytes, 1, rows.bytes(), stdout) != rows.bytes() || std::fflush(stdout) != 0)
        return fail("SDX-C0085", "stdout cannot be written: {}", std::strerror(errno));
    }
    return ok();
  }

  const StreamRun& wanted_;
  stream::Stream& stream_;
  std::vector<Tensor> inputs_;
  const size_t piped_;
};

// All rows of files, in chunks; the outputs joined.
Result<std::vector<Value>> run_files(const StreamRun& wanted, stream::Stream& stream,
                                     const std::vector<Tensor>& inputs) {
  const typed::Graph& graph = stream.source()->graph();
  const Dim symbol = Dim::symbol(stream.source()->axis());
  std::vector<std::optional<size_t>> axes(inputs.size());
  int64_t rows = 0;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Fact& fact = graph.fact(graph.inputs()[i]);
    for (size_t axis = 0; axis < fact.rank() && axis < inputs[i].rank(); ++axis) {
      if (!(fact.dim(axis) == symbol)) continue;
      axes[i] = axis;
      rows = inputs[i].dims()[axis];
    }
  }
  std::vector<std::vector<Tensor>> parts(graph.outputs().size());
  const auto take = [&](std::span<const Tensor> results) {
    for (size_t i = 0; i < results.size(); ++i) {
      if (!results[i].empty()) parts[i].push_back(results[i].copy());
    }
  };
  for (int64_t at = 0; at < rows; at += wanted.chunk) {
    std::vector<Tensor> piece = inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (axes[i])
        piece[i] = stream::rows_of(inputs[i], *axes[i], at, std::min(rows, at + wanted.chunk));
    }
    SDX_ASSIGN(const auto results, stream.push(piece));
    take(results);
  }
  SDX_ASSIGN(const auto rest, stream.finish());
  take(rest);
  const stream::Flows& flows = stream.model()->flows();
  std::vector<Value> joined;
  for (size_t i = 0; i < parts.size(); ++i) {
    const Flow& flow = flows.at(flows.graph.outputs()[i].outlet);
    joined.emplace_back(flow.moves() ? stream::joined(parts[i], flow.axis) : parts[i].back());
  }
  return joined;
}

}  // namespace

Result<std::vector<Value>> run_stream(const StreamRun& wanted, const EngineFlags& engine,
                                      const InputFlags& inputs) {
  if (wanted.chunk < 1) return fail("SDX-C0081", "--chunk is {}, expected 1 or more", wanted.chunk);
  SDX_ASSIGN(const auto model, engine.limits.read(wanted.model));
  SDX_ASSIGN(CompileOptions options, engine.options());
  InputFlags files = inputs;
  std::string piped;
  for (const std::string& text : inputs.files) {
    if (!text.ends_with("=-")) continue;
    if (!piped.empty()) return fail("SDX-C0086", "only one input can be read from stdin");
    piped = text.substr(0, text.size() - 2);
  }
  std::erase_if(files.files, [](const std::string& text) { return text.ends_with("=-"); });
  SDX_TRY(files.complete(*model, options));
  // A size for the axis itself says how many rows to draw.
  const auto drawn = options.set.find(wanted.axis);
  const int64_t rows = drawn == options.set.end() ? 1 : drawn->second;
  if (drawn != options.set.end()) options.set.erase(drawn);
  Result<std::shared_ptr<const stream::Source>> made = stream_source(model, wanted.axis, options);
  if (!made) return std::move(made).error().in(wanted.model);
  const typed::Graph& graph = (*made)->graph();
  std::optional<size_t> at;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    if (graph.node(graph.inputs()[i].node).use.name == piped) at = i;
  }
  if (!piped.empty() && !at) return fail("SDX-C0036", "the model has no input \"{}\"", piped);
  // All inputs but the piped one come from files or are drawn.
  typed::Graph others;
  for (size_t i = 0; i < graph.inputs().size(); ++i) {
    Fact fact = graph.fact(graph.inputs()[i]);
    for (size_t axis = 0; fact.shape && axis < fact.rank(); ++axis)
      (*fact.shape)[axis] = fact.dim(axis).bind({{(*made)->axis(), rows}});
    if (i != at) others.source(graph.node(graph.inputs()[i].node).use.name, std::move(fact));
  }
  SDX_ASSIGN(const std::vector<Value> values, files.values(*model, others));
  std::vector<Tensor> tensors;
  for (const Value& value : values) {
    if (!value.is_tensor()) return fail("SDX-C0087", "streams take tensors only");
    tensors.push_back(value.tensor());
  }
  if (at) tensors.insert(tensors.begin() + ptrdiff_t(*at), Tensor());
  stream::Stream stream(*made);
  if (!at) return run_files(wanted, stream, tensors);
  Status status = Run(wanted, stream, std::move(tensors), *at).run();
  if (!status) return std::move(status).error().in(wanted.model);
  return std::vector<Value>();
}

}  // namespace sdx::cli
