#include <bit>

#include "bytes/file.h"
#include "bytes/wire.h"
#include "model/fields.h"
#include "model/io.h"

namespace sdx::model {
namespace {

// Length-delimited messages carry their size first, so a document is passed over twice with the
// same code: once with `Sizes`, which finds each message's size, and once with `Output`, which uses
// them in the same order.
class Sizes {
 public:
  void tag(uint32_t field, WireType) { total_ += tag_size(field); }
  void varint(uint64_t value) { total_ += varint_size(value); }
  void fixed32(uint32_t) { total_ += 4; }
  void raw(const void*, size_t size) { total_ += size; }
  template <class Body>
  void nested(Body&& body) {
    const size_t slot = sizes.size();
    const size_t before = total_;
    sizes.push_back(0);
    body();
    sizes[slot] = total_ - before;
    total_ += varint_size(sizes[slot]);
  }

  std::vector<size_t> sizes;

 private:
  size_t total_ = 0;
};

class Output {
 public:
  Output(ByteSink& sink, std::vector<size_t> sizes) : wire_(sink), sizes_(std::move(sizes)) {}
  void tag(uint32_t field, WireType type) { wire_.tag(field, type); }
  void varint(uint64_t value) { wire_.varint(value); }
  void fixed32(uint32_t value) { wire_.fixed32(value); }
  void raw(const void* data, size_t size) { wire_.raw(data, size); }
  template <class Body>
  void nested(Body&& body) {
    wire_.varint(sizes_[next_++]);
    body();
  }
  Status finish() { return wire_.finish(); }

 private:
  WireWriter wire_;
  std::vector<size_t> sizes_;
  size_t next_ = 0;
};

// One singular or repeated field; `always`: even if the value is the default.
template <class Out, class T>
requires(std::is_integral_v<T> || std::is_enum_v<T>) void put(Out& out, uint32_t number,
                                                              const T& value, bool always) {
  if (!always && value == T{}) return;
  out.tag(number, WireType::varint);
  out.varint(static_cast<uint64_t>(static_cast<int64_t>(value)));
}
template <class Out>
void put(Out& out, uint32_t number, float value, bool always) {
  const auto bits = std::bit_cast<uint32_t>(value);
  if (!always && bits == 0) return;
  out.tag(number, WireType::fixed32);
  out.fixed32(bits);
}
template <class Out>
void put(Out& out, uint32_t number, const std::string& value, bool always) {
  if (!always && value.empty()) return;
  out.tag(number, WireType::bytes);
  out.varint(value.size());
  out.raw(value.data(), value.size());
}
template <class Out>
void put(Out& out, uint32_t number, const Payload& value, bool always) {
  if (!always && value.empty()) return;
  out.tag(number, WireType::bytes);
  out.varint(value.size());
  out.raw(value.bytes.data(), value.size());
}
template <class Out, class M>
requires std::is_base_of_v<Message, M>
void put(Out& out, uint32_t number, const M& value, bool);
template <class Out, class T>
void put(Out& out, uint32_t number, const std::vector<T>& values, bool) {
  for (const T& value : values) put(out, number, value, true);
}
template <class Out, class M>
void put(Out& out, uint32_t number, const std::optional<M>& value, bool) {
  if (value) put(out, number, *value, true);
}
template <class Out, class M>
void put(Out& out, uint32_t number, const Box<M>& value, bool) {
  if (value) put(out, number, *value, true);
}

template <class Out, class M>
void put_fields(Out& out, const M& m) {
  each_field<M>([&](const auto& field) {
    using F = std::remove_cvref_t<decltype(field)>;
    const auto& member = m.*field.member;
    if constexpr (kIsOneOf<F>) {
      if (const auto* value = std::get_if<typename F::Alternative>(&member)) {
        put(out, field.number, *value, true);
      }
    } else {
      // An empty packed field is not written even if it was: it says nothing.
      const bool packed = field.rule >= Rule::fixed32;
      put(out, field.number, member, !packed && (m.present >> field.number & 1) != 0);
    }
  });
  out.raw(m.unknown.data(), m.unknown.size());
}

template <class Out, class M>
requires std::is_base_of_v<Message, M>
void put(Out& out, uint32_t number, const M& value, bool) {
  out.tag(number, WireType::bytes);
  out.nested([&] { put_fields(out, value); });
}

template <class M>
Status encode(const M& message, ByteSink& sink) {
  Sizes sizes;
  put_fields(sizes, message);
  Output out(sink, std::move(sizes.sizes));
  put_fields(out, message);
  return out.finish();
}

}  // namespace

template <class M>
std::string write(const M& message) {
  struct Text : ByteSink {
    Status put(std::span<const std::byte> bytes) override {
      text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      return ok();
    }
    std::string text;
  } sink;
  (void)encode(message, sink);  // appending to a string cannot fail
  return std::move(sink.text);
}

template <class M>
Status write_file(const M& message, const std::string& path) {
  SDX_ASSIGN(const auto file, FileWriter::create(path));
  struct ToFile : ByteSink {
    explicit ToFile(FileWriter& to) : file(to) {}
    Status put(std::span<const std::byte> bytes) override { return file.write(bytes); }
    FileWriter& file;
  } sink(*file);
  SDX_TRY(encode(message, sink));
  return file->commit();
}

#define SDX_WRITE(M)                               \
  template std::string write<M>(const M& message); \
  template Status write_file<M>(const M& message, const std::string& path);
SDX_WRITE(Model)
SDX_WRITE(TensorData)
SDX_WRITE(SparseTensorData)
SDX_WRITE(SequenceData)
SDX_WRITE(MapData)
SDX_WRITE(OptionalData)
SDX_WRITE(Type)
SDX_WRITE(ValueInfo)
SDX_WRITE(Graph)
SDX_WRITE(Node)
SDX_WRITE(Attribute)
SDX_WRITE(Function)
SDX_WRITE(OperatorSet)
#undef SDX_WRITE

}  // namespace sdx::model
