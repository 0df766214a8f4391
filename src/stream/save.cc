// A stream's state as bytes: the model's fingerprint, where the stream is, and what it keeps.
#include "base/endian.h"
#include "stream/stream.h"

namespace sdx::stream {
namespace {

constexpr std::string_view kMagic = "SDXSTRM2";

class StateWriter {
 public:
  void number(int64_t value) { append_little(value, bytes); }
  void text(std::string_view words) {
    number(int64_t(words.size()));
    bytes.append(words);
  }
  void numbers(std::span<const int64_t> values) {
    number(int64_t(values.size()));
    for (const int64_t value : values) number(value);
  }
  void tensor(const Tensor& tensor) {
    number(int64_t(tensor.type()));
    if (tensor.empty()) return;
    numbers(tensor.dims());
    if (tensor.type() == DType::string) {
      for (const std::string& words : tensor.values<std::string>()) text(words);
    } else {
      std::shared_ptr<void> held;
      const std::byte* elements =
          elements_for_file(tensor.type(), tensor.raw(), tensor.bytes(), held);
      bytes.append(reinterpret_cast<const char*>(elements), tensor.bytes());
    }
  }
  std::string bytes;
};

// Trusts nothing: a length beyond the bytes that are left is an error.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : left_(bytes) {}

  Result<std::string_view> take(size_t count) {
    if (count > left_.size())
      return fail("SDX-S0040", "the saved stream ends {} bytes early", count - left_.size());
    const std::string_view taken = left_.substr(0, count);
    left_.remove_prefix(count);
    return taken;
  }
  Result<int64_t> number() {
    SDX_ASSIGN(const std::string_view bytes, take(sizeof(int64_t)));
    return load_little<int64_t>(bytes.data());
  }
  Result<size_t> size() {
    SDX_ASSIGN(const int64_t value, number());
    if (value < 0 || size_t(value) > left_.size())
      return fail("SDX-S0040", "the saved stream has {} where a size of at most {} stands", value,
                  left_.size());
    return size_t(value);
  }
  Result<std::string_view> text() {
    SDX_ASSIGN(const size_t count, size());
    return take(count);
  }
  Result<std::vector<int64_t>> numbers() {
    SDX_ASSIGN(const size_t count, size());
    std::vector<int64_t> values;
    for (size_t i = 0; i < count; ++i) {
      SDX_ASSIGN(const int64_t value, number());
      values.push_back(value);
    }
    return values;
  }
  Result<Tensor> tensor() {
    SDX_ASSIGN(const int64_t type, number());
    if (type == int64_t(DType::undefined)) return Tensor();
    if (!valid(type)) return fail("SDX-S0040", "the saved stream has an element type {}", type);
    SDX_ASSIGN(const std::vector<int64_t> dims, numbers());
    SDX_ASSIGN(const size_t count, element_count(dims));
    if (DType(type) == DType::string) {
      if (count > left_.size()) return fail("SDX-S0040", "the saved stream ends early");
      Tensor strings = Tensor::make(DType::string, dims);
      for (size_t i = 0; i < count; ++i) {
        SDX_ASSIGN(const std::string_view words, text());
        strings.data<std::string>()[i] = words;
      }
      return strings;
    }
    SDX_ASSIGN(const std::string_view bytes, take(bytes_for(DType(type), count)));
    Tensor tensor = Tensor::make(DType(type), dims);
    if (!bytes.empty()) std::memcpy(tensor.raw(), bytes.data(), bytes.size());
    if constexpr (!kMemoryIsLittle) turn_elements(tensor.type(), tensor.raw(), tensor.bytes());
    return tensor;
  }
  bool done() const { return left_.empty(); }

 private:
  std::string_view left_;
};

}  // namespace

std::string Stream::save() const {
  StateWriter out;
  out.bytes = kMagic;
  out.number(model_ ? 1 : 0);
  if (!model_) return std::move(out.bytes);
  out.number(int64_t(others_.size()));
  for (const auto& [name, value] : others_) {
    out.text(name);
    out.number(value);
  }
  out.text(model_->fingerprint());
  out.number(finished_ ? 1 : 0);
  out.number(at_->rows);
  out.numbers(at_->certain);
  out.numbers(at_->kept);
  for (const Tensor& tensor : fixed_) out.tensor(tensor);
  for (const Held& held : state_) out.tensor(held.tensor);
  return std::move(out.bytes);
}

Status Stream::restore(std::string_view saved) {
  Reader in(saved);
  SDX_ASSIGN(const std::string_view magic, in.take(std::min(kMagic.size(), saved.size())));
  if (magic != kMagic) return fail("SDX-S0041", "these bytes are no saved stream");
  Stream made(source_);
  SDX_ASSIGN(const int64_t begun, in.number());
  if (begun == 0) {
    *this = std::move(made);
    return ok();
  }
  Bindings others;
  SDX_ASSIGN(const size_t count, in.size());
  for (size_t i = 0; i < count; ++i) {
    SDX_ASSIGN(const std::string_view name, in.text());
    SDX_ASSIGN(others[std::string(name)], in.number());
  }
  const auto other_model = [] {
    return fail("SDX-S0042", "the saved stream is one of another model");
  };
  for (const std::string& name : source_->others()) {
    if (!others.contains(name)) return other_model();
  }
  if (others.size() != source_->others().size()) return other_model();
  SDX_TRY(made.start(std::move(others)));
  SDX_ASSIGN(const std::string_view fingerprint, in.text());
  if (fingerprint != made.model_->fingerprint()) return other_model();
  SDX_ASSIGN(const int64_t finished, in.number());
  made.finished_ = finished != 0;
  SDX_ASSIGN(made.at_->rows, in.number());
  SDX_ASSIGN(made.at_->certain, in.numbers());
  SDX_ASSIGN(made.at_->kept, in.numbers());
  const Flows& flows = made.model_->flows();
  // Only what a stream of this model can be after so many rows is taken.
  const auto damaged = [] { return fail("SDX-S0043", "the saved stream is damaged"); };
  if (made.at_->rows < 0 || made.at_->rows > (int64_t{1} << 60) ||
      made.at_->certain.size() != flows.count() || made.at_->kept.size() != flows.count())
    return damaged();
  for (Tensor& tensor : made.fixed_) {
    SDX_ASSIGN(tensor, in.tensor());
  }
  for (Held& held : made.state_) {
    SDX_ASSIGN(const Tensor tensor, in.tensor());
    if (tensor.empty()) continue;
    held = Spares().take(tensor.type(), tensor.dims());
    if (tensor.type() == DType::string) {
      held.tensor = tensor;
    } else if (tensor.bytes() > 0) {
      std::memcpy(held.tensor.raw(), tensor.raw(), tensor.bytes());
    }
  }
  if (!in.done()) return damaged();
  for (uint32_t id = 0; id < flows.graph.size() && !made.finished_; ++id) {
    for (uint32_t slot = 0; slot < flows.wires[id].size(); ++slot) {
      if (!flows.wires[id][slot].moves()) continue;
      const size_t wire = flows.wire({id, slot});
      const int64_t certain = made.at_->certain[wire], kept = made.at_->kept[wire];
      const Tensor& held = made.state_[wire].tensor;
      if (kept < 0 || kept > certain || (held.empty() != (kept == certain))) return damaged();
      if (held.empty()) continue;
      const Fact fact = kept_fact(flows, {id, slot}, certain - kept);
      if (held.type() != fact.type || held.dims() != fact.dims()) return damaged();
    }
  }
  *this = std::move(made);
  return ok();
}

}  // namespace sdx::stream
