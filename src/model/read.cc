#include <algorithm>
#include <array>
#include <bit>
#include <unordered_set>

#include "base/endian.h"
#include "base/tensor.h"
#include "bytes/external.h"
#include "bytes/wire.h"
#include "model/fields.h"
#include "model/io.h"
#include "model/text.h"

namespace sdx::model {
namespace {

template <class T>
inline constexpr bool kIsMessage = std::is_base_of_v<Message, T>;

// Decodes one document. A step that fails returns false; `error` then says why, and the path to the
// field is completed while the calls return.
class Decoder {
 public:
  Decoder(const Limits& limits, std::shared_ptr<const void> owner,
          std::shared_ptr<ExternalFiles> files)
      : limits_(limits), owner_(std::move(owner)), files_(std::move(files)) {}

  template <class M>
  bool message(std::span<const std::byte> bytes, size_t origin, size_t depth, M& m) {
    WireReader in(bytes, origin);
    if (depth == 0) return over(in, "messages stand within each other, depth", limits_.depth);
    if (++messages_ > limits_.messages) return over(in, "messages", limits_.messages);
    if (std::is_same_v<M, Node> && ++nodes_ > limits_.nodes) {
      return over(in, "nodes", limits_.nodes);
    }
    if constexpr (std::is_same_v<M, Graph>) make_room(in, depth, m);
    while (!in.at_end()) {
      const size_t start = in.offset();
      uint32_t number = 0;
      WireType type = WireType::varint;
      if (!in.tag(number, type)) return malformed(in);
      bool known = false;
      bool good = true;
      each_field<M>([&](const auto& field) {
        if (field.number != number) return;
        known = true;
        good = read(in, type, depth, field, m);
      });
      if (!good) return false;
      if (known) continue;
      if (!in.skip(number, type, depth)) return malformed(in);
      const auto kept = bytes.subspan(start - origin, in.offset() - start);
      m.unknown.append(reinterpret_cast<const char*>(kept.data()), kept.size());
    }
    if constexpr (std::is_same_v<M, TensorData>) {
      if (m.data_location == DataLocation::external) m.files = files_;
      return measure(in, m);
    }
    if constexpr (std::is_same_v<M, Shape>) {
      if (m.dim.size() > limits_.rank) return over(in, "dimensions of a shape", limits_.rank);
    }
    return true;
  }

  Error error(std::string_view document) && {
    error_->where.push_back(fmt::format("{}{}{}", document, path_.empty() ? "" : ".", path_));
    return *std::move(error_);
  }

 private:
  // Room for a graph's lists, counted beforehand: lists that grow take up to twice what they hold.
  // A graph that stands in pieces is read on without, unless a piece is longer than all before it.
  void make_room(WireReader in, size_t depth, Graph& graph) {
    std::array<size_t, 32> counts{};
    while (!in.at_end()) {
      uint32_t number = 0;
      WireType type = WireType::varint;
      if (!in.tag(number, type) || !in.skip(number, type, depth)) return;  // told when it is read
      if (number < counts.size()) ++counts[number];
    }
    each_field<Graph>([&](const auto& field) {
      auto& list = graph.*field.member;
      if constexpr (requires { list.emplace_back().unknown; }) {
        const size_t count = std::min(counts[field.number], limits_.messages - messages_);
        if (count > list.size()) list.reserve(list.size() + count);
      }
    });
  }

  // What the tensor's dimensions ask for, whether or not the file holds it. Dimensions that make no
  // sense ask for nothing; whoever wants the elements refuses them.
  bool measure(const WireReader& in, const TensorData& t) {
    if (t.dims.size() > limits_.rank) return over(in, "dimensions of a tensor", limits_.rank);
    const auto count = element_count(t.dims);
    if (!count || t.dtype() == DType::undefined) return true;
    const size_t bytes = bytes_for(t.dtype(), *count);
    if (bytes > limits_.tensor_bytes) return over(in, "bytes of a tensor", limits_.tensor_bytes);
    if (bytes > limits_.total_bytes - std::min(tensor_bytes_, limits_.total_bytes)) {
      return over(in, "bytes of all tensors", limits_.total_bytes);
    }
    tensor_bytes_ += bytes;
    return true;
  }

  template <class F, class M>
  bool read(WireReader& in, WireType type, size_t depth, const F& field, M& m) {
    auto& member = m.*field.member;
    bool good = false;
    size_t index = 0;
    bool repeated = false;
    if constexpr (kIsOneOf<F>) {
      using A = typename F::Alternative;
      if (!std::holds_alternative<A>(member)) member.template emplace<A>();
      good = value(in, type, depth, field.rule, std::get<A>(member));
    } else {
      if constexpr (requires { member.emplace_back(); } &&
                    !std::is_same_v<typename F::Value, std::string>) {
        index = member.size();
        repeated = true;
      }
      good = value(in, type, depth, field.rule, member);
      m.present |= uint32_t{1} << field.number;
    }
    if (good) return true;
    const std::string step =
        repeated ? fmt::format("{}[{}]", field.name, index) : std::string(field.name);
    path_ = path_.empty() ? step : step + "." + path_;
    return false;
  }

  template <class T>
  requires(std::is_integral_v<T> || std::is_enum_v<T>) bool value(WireReader& in, WireType type,
                                                                  size_t, Rule, T& out) {
    uint64_t number = 0;
    if (!expect(in, type, WireType::varint) || !in.varint(number)) return malformed(in);
    out = static_cast<T>(number);  // protobuf keeps the low 32 bits of a longer int32
    return true;
  }

  bool value(WireReader& in, WireType type, size_t, Rule, float& out) {
    uint32_t bits = 0;
    if (!expect(in, type, WireType::fixed32) || !in.fixed32(bits)) return malformed(in);
    out = std::bit_cast<float>(bits);
    return true;
  }

  bool value(WireReader& in, WireType type, size_t, Rule rule, std::string& out) {
    std::span<const std::byte> bytes;
    if (!expect(in, type, WireType::bytes) || !in.bytes(bytes)) return malformed(in);
    const size_t most = rule == Rule::name ? limits_.name_bytes : limits_.string_bytes;
    if (bytes.size() > most) return over(in, "bytes of a string", most);
    out.assign(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return true;
  }

  // Packed elements normally stand in one piece and are kept where they are. Pieces, or elements
  // one by one, which protobuf allows too, are gathered into a buffer.
  bool value(WireReader& in, WireType type, size_t, Rule rule, Payload& out) {
    if (rule == Rule::plain) {
      if (!expect(in, type, WireType::bytes) || !in.bytes(out.bytes)) return malformed(in);
      out.owner = owner_;
      return true;
    }
    const WireType single = rule == Rule::fixed32   ? WireType::fixed32
                            : rule == Rule::fixed64 ? WireType::fixed64
                                                    : WireType::varint;
    if (type == single) {
      uint64_t number = 0;
      uint32_t narrow = 0;
      std::string encoded;
      if (single == WireType::fixed32) {
        if (!in.fixed32(narrow)) return malformed(in);
        append_little(narrow, encoded);
      } else if (single == WireType::fixed64) {
        if (!in.fixed64(number)) return malformed(in);
        append_little(number, encoded);
      } else {
        if (!in.varint(number)) return malformed(in);
        for (; number >= 0x80; number >>= 7) encoded.push_back(static_cast<char>(number | 0x80));
        encoded.push_back(static_cast<char>(number));
      }
      gather(std::as_bytes(std::span(encoded)), out);
      return true;
    }
    std::span<const std::byte> bytes;
    if (!expect(in, type, WireType::bytes) || !in.bytes(bytes)) return malformed(in);
    const size_t unit = rule == Rule::fixed32 ? 4 : rule == Rule::fixed64 ? 8 : 1;
    const bool cut =
        rule == Rule::varint && !bytes.empty() && static_cast<uint8_t>(bytes.back()) >= 0x80;
    if (bytes.size() % unit != 0 || cut) {
      return stop(fail("SDX-B0202", "malformed protobuf at byte {}: packed elements end within one",
                       in.offset()));
    }
    if (out.empty()) {
      out = {bytes, owner_};
    } else {
      gather(bytes, out);
    }
    return true;
  }

  void gather(std::span<const std::byte> piece, Payload& out) {
    if (!gathered_.contains(out.owner.get())) {
      auto buffer = std::make_shared<std::string>(reinterpret_cast<const char*>(out.bytes.data()),
                                                  out.size());
      gathered_.insert(buffer.get());
      out.owner = std::move(buffer);
    }
    // Only this decoder knows the buffer so far.
    auto& buffer = *const_cast<std::string*>(static_cast<const std::string*>(out.owner.get()));
    buffer.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    out.bytes = std::as_bytes(std::span(buffer));
  }

  // Repeated numbers: one, or a packed run of them.
  template <class T>
  requires std::is_arithmetic_v<T>
  bool value(WireReader& in, WireType type, size_t depth, Rule rule, std::vector<T>& out) {
    constexpr WireType kSingle = std::is_floating_point_v<T> ? WireType::fixed32 : WireType::varint;
    if (type != WireType::bytes)
      return count(in) && value(in, type, depth, rule, out.emplace_back());
    std::span<const std::byte> bytes;
    if (!in.bytes(bytes)) return malformed(in);
    WireReader run(bytes, in.offset() - bytes.size());
    while (!run.at_end()) {
      if (!count(run) || !value(run, kSingle, depth, rule, out.emplace_back())) return false;
    }
    return true;
  }

  bool value(WireReader& in, WireType type, size_t depth, Rule rule,
             std::vector<std::string>& out) {
    return count(in) && value(in, type, depth, rule, out.emplace_back());
  }

  template <class M>
  requires kIsMessage<M>
  bool value(WireReader& in, WireType type, size_t depth, Rule, M& out) {
    std::span<const std::byte> bytes;
    if (!expect(in, type, WireType::bytes) || !in.bytes(bytes)) return malformed(in);
    return message(bytes, in.offset() - bytes.size(), depth - 1, out);
  }
  template <class M>
  requires kIsMessage<M>
  bool value(WireReader& in, WireType type, size_t depth, Rule rule, std::vector<M>& out) {
    return value(in, type, depth, rule, out.emplace_back());
  }
  // A singular message that stands twice is merged, as protobuf does.
  template <class M>
  bool value(WireReader& in, WireType type, size_t depth, Rule rule, std::optional<M>& out) {
    return value(in, type, depth, rule, out ? *out : out.emplace());
  }
  template <class M>
  bool value(WireReader& in, WireType type, size_t depth, Rule rule, Box<M>& out) {
    return value(in, type, depth, rule, out ? *out : out.emplace());
  }

  bool count(const WireReader& in) {
    return ++elements_ <= limits_.elements || over(in, "elements of lists", limits_.elements);
  }
  bool expect(const WireReader& in, WireType found, WireType expected) {
    return found == expected || stop(fail("SDX-B0203", "at byte {}: the field is {}, expected {}",
                                          in.offset(), sdx::name(found), sdx::name(expected)));
  }
  bool over(const WireReader& in, std::string_view what, size_t limit) {
    return stop(fail("SDX-B0204", "at byte {}: more than {} {}", in.offset(), limit, what));
  }
  bool malformed(const WireReader& in) { return error_ ? false : stop(in.error()); }
  bool stop(Error error) {
    error_ = std::move(error);
    return false;
  }

  const Limits& limits_;
  std::shared_ptr<const void> owner_;
  std::shared_ptr<ExternalFiles> files_;
  std::unordered_set<const void*> gathered_;  // buffers made by gather
  size_t messages_ = 0;
  size_t tensor_bytes_ = 0;
  size_t nodes_ = 0;
  size_t elements_ = 0;
  std::optional<Error> error_;
  std::string path_;
};

template <class M>
Status decode(const Payload& payload, const Limits& limits, std::shared_ptr<ExternalFiles> files,
              M& out) {
  if (payload.size() > limits.file_bytes) {
    return fail("SDX-M0020", "{} bytes; the limit is {}", payload.size(), limits.file_bytes);
  }
  if (std::is_same_v<M, Model> && payload.empty())
    return fail("SDX-M0001", "no model: there are no bytes");
  Decoder decoder(limits, payload.owner, std::move(files));
  if (!decoder.message(payload.bytes, 0, limits.depth, out))
    return std::move(decoder).error(kMessageName<M>);
  return ok();
}

Payload copy_of(std::span<const std::byte> bytes) {
  auto copy = std::make_shared<std::vector<std::byte>>(bytes.begin(), bytes.end());
  return {*copy, copy};
}

template <class M>
Status decode_file(const std::string& path, const Limits& limits, M& out) {
  SDX_ASSIGN(const auto file, MappedFile::open(path, limits.file_bytes));
  SDX_ASSIGN(auto files, ExternalFiles::open(folder_of(path), limits.external_file_bytes));
  if (Status status = decode({file->bytes(), file}, limits, std::move(files), out); !status) {
    return std::move(status).error().in(path);
  }
  return ok();
}

}  // namespace

Result<std::shared_ptr<const Model>> read_file(const std::string& path, const Limits& limits) {
  auto model = std::make_shared<Model>();
  if (is_text_path(path)) {
    SDX_ASSIGN(const auto file, MappedFile::open(path, limits.file_bytes));
    SDX_ASSIGN(auto files, ExternalFiles::open(folder_of(path), limits.external_file_bytes));
    const std::string_view text(reinterpret_cast<const char*>(file->bytes().data()),
                                file->bytes().size());
    SDX_ASSIGN(*model, parse_text(text, limits, path, std::move(files)));
  } else {
    SDX_TRY(decode_file(path, limits, *model));
  }
  model->path = path;
  return std::shared_ptr<const Model>(std::move(model));
}

Result<std::shared_ptr<const Model>> read_shared(const Payload& payload, const Limits& limits,
                                                 const std::string& folder) {
  std::shared_ptr<ExternalFiles> files;
  if (!folder.empty()) {
    SDX_ASSIGN(files, ExternalFiles::open(folder, limits.external_file_bytes));
  }
  auto model = std::make_shared<Model>();
  SDX_TRY(decode(payload, limits, std::move(files), *model));
  return std::shared_ptr<const Model>(std::move(model));
}

Result<std::shared_ptr<const Model>> read_bytes(std::span<const std::byte> bytes,
                                                const Limits& limits, const std::string& folder) {
  return read_shared(copy_of(bytes), limits, folder);
}

template <class M>
Result<M> read_message_file(const std::string& path, const Limits& limits) {
  M message;
  SDX_TRY(decode_file(path, limits, message));
  return message;
}

template <class M>
Result<M> read_message(std::span<const std::byte> bytes, const Limits& limits) {
  M message;
  SDX_TRY(decode(copy_of(bytes), limits, nullptr, message));
  return message;
}

#define SDX_READ(M)                                                                       \
  template Result<M> read_message_file<M>(const std::string& path, const Limits& limits); \
  template Result<M> read_message<M>(std::span<const std::byte> bytes, const Limits& limits);
SDX_READ(TensorData)
SDX_READ(SparseTensorData)
SDX_READ(SequenceData)
SDX_READ(MapData)
SDX_READ(OptionalData)
SDX_READ(Type)
SDX_READ(ValueInfo)
SDX_READ(Graph)
SDX_READ(Node)
SDX_READ(Attribute)
SDX_READ(Function)
SDX_READ(OperatorSet)
#undef SDX_READ

}  // namespace sdx::model
