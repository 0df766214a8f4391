#include "model/text_fields.h"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <limits>

#include "base/endian.h"

namespace sdx::model {
namespace {

template <class T>
bool shortest(T value, std::string& out) {
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  if (std::isnan(value)) {
    const bool negative = std::signbit(value);
    out += negative ? "-nan" : "nan";
    const T back = std::copysign(std::numeric_limits<T>::quiet_NaN(), negative ? T{-1} : T{1});
    return std::bit_cast<Bits>(back) == std::bit_cast<Bits>(value);
  }
  char digits[40];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  out.append(digits, static_cast<size_t>(end - digits));
  return true;
}

template <class T>
void print_real(T value, std::string& out) {
  const size_t start = out.size();
  if (shortest(value, out)) return;
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
  out.resize(start);
  out += fmt::format("{:#x}", std::bit_cast<Bits>(value));
}

class FieldsPrinter {
 public:
  explicit FieldsPrinter(std::string& out) : out_(out) {}

  template <class M>
  [[gnu::noinline]] void fields(const M& m, uint32_t carried, uint32_t cleared) {
    bool first = true;
    const auto separate = [&] {
      if (!first) out_ += ", ";
      first = false;
    };
    each_field<M>([&](const auto& field) {
      using F = std::remove_cvref_t<decltype(field)>;
      const auto& member = m.*field.member;
      if ((cleared >> field.number & 1) != 0) {
        separate();
        (out_ += '-') += field.name;
        return;
      }
      if ((carried >> field.number & 1) != 0) return;
      if constexpr (kIsOneOf<F>) {
        const auto* value = std::get_if<typename F::Alternative>(&member);
        if (value == nullptr) return;
        separate();
        (out_ += field.name) += ": ";
        put(*value, field.rule);
      } else {
        if (!text_detail::says(member, (m.present >> field.number & 1) != 0, field.rule)) return;
        separate();
        (out_ += field.name) += ": ";
        put(member, field.rule);
      }
    });
    if (m.unknown.empty()) return;
    separate();
    out_ += "unknown: ";
    print_escaped(m.unknown, out_);
  }

 private:
  template <class T>
  requires(std::is_integral_v<T> || std::is_enum_v<T>) void put(const T& value, Rule) {
    const fmt::format_int digits(static_cast<int64_t>(value));
    out_.append(digits.data(), digits.size());
  }
  void put(float value, Rule) { print_real(value, out_); }
  void put(const std::string& value, Rule) { print_escaped(value, out_); }
  [[gnu::noinline]] void put(const Payload& value, Rule rule) {
    const size_t start = out_.size();
    const char* separator = "[";
    const auto next = [&] { out_ += std::exchange(separator, ", "); };
    bool listed = rule != Rule::plain;
    if (rule == Rule::fixed32) {
      each<float>(value, [&](float x) { next(), print_real(x, out_); });
    } else if (rule == Rule::fixed64) {
      each<double>(value, [&](double x) { next(), print_real(x, out_); });
    } else if (rule == Rule::varint) {
      listed = unpack(value, [&](uint64_t x) { next(), put(static_cast<int64_t>(x), rule); });
    }
    if (listed) {
      out_ += ']';
      return;
    }
    out_.resize(start);
    print_escaped({reinterpret_cast<const char*>(value.bytes.data()), value.size()}, out_);
  }
  template <class T, class Visit>
  static void each(const Payload& value, Visit&& visit) {
    for (size_t at = 0; at + sizeof(T) <= value.size(); at += sizeof(T)) {
      visit(load_little<T>(value.bytes.data() + at));
    }
  }
  template <class T>
  void put(const std::vector<T>& values, Rule rule) {
    out_ += '[';
    for (size_t i = 0; i < values.size(); ++i) {
      if (i > 0) out_ += ", ";
      put(values[i], rule);
    }
    out_ += ']';
  }
  template <class M>
  requires std::is_base_of_v<Message, M>
  void put(const M& message, Rule) {
    out_ += '{';
    fields(message, 0, 0);
    out_ += '}';
  }
  template <class M>
  void put(const std::optional<M>& message, Rule rule) {
    put(*message, rule);
  }
  template <class M>
  void put(const Box<M>& message, Rule rule) {
    put(*message, rule);
  }

  std::string& out_;
};

class FieldsParser {
 public:
  explicit FieldsParser(Lexer& in) : in_(in) {}

  template <class M>
  [[gnu::noinline]] Status fields(M& m) {
    for (bool first = true; !in_.line_ended() && !ahead('}'); first = false) {
      if (!first && !in_.take_here(",")) return in_.unexpected("\",\"");
      const bool clear = in_.take_here("-");
      in_.skip_blanks();
      const size_t start = in_.at();
      SDX_ASSIGN(const std::string_view name, in_.need_identifier());
      if (!clear && !in_.take_here(":")) return in_.unexpected("\":\"");
      if (name == "unknown" && !clear) {
        SDX_ASSIGN(m.unknown, in_.escaped_string());
        continue;
      }
      bool known = false;
      Status status;
      each_field<M>([&](const auto& field) {
        if (field.name != name) return;
        known = true;
        status = clear ? forget(field, m) : read(field, m);
      });
      if (!known) {
        in_.go_to(start);
        return fail("SDX-M0102", "{} has no field \"{}\"", kMessageName<M>, name);
      }
      SDX_TRY(std::move(status));
    }
    return ok();
  }

 private:
  bool ahead(char c) {
    in_.skip_blanks();
    return in_.at() < in_.text().size() && in_.text()[in_.at()] == c;
  }

  // Compiled once per type, not per field.
  template <class T>
  [[gnu::noinline]] static void clear(T& value) {
    value = {};
  }
  template <class F, class M>
  Status forget(const F& field, M& m) {
    clear(m.*field.member);
    if constexpr (!kIsOneOf<F>) m.present &= ~(uint32_t{1} << field.number);
    return ok();
  }
  template <class F, class M>
  Status read(const F& field, M& m) {
    if constexpr (kIsOneOf<F>) {
      return get((m.*field.member).template emplace<typename F::Alternative>(), field.rule);
    } else {
      clear(m.*field.member);
      m.present |= uint32_t{1} << field.number;
      return get(m.*field.member, field.rule);
    }
  }

  template <class T>
  requires(std::is_integral_v<T> || std::is_enum_v<T>) Status get(T& value, Rule) {
    in_.skip_blanks();
    SDX_ASSIGN(const int64_t number, in_.integer());
    if constexpr (std::is_enum_v<T> || sizeof(T) == 4) {
      if (number != static_cast<int32_t>(number)) return in_.unexpected("a number of 32 bits");
    }
    value = static_cast<T>(number);
    return ok();
  }
  template <class T>
  requires std::is_floating_point_v<T> Status get(T& value, Rule) {
    if (in_.take_here("0x")) {
      using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
      Bits bits = 0;
      const std::string_view rest = in_.text().substr(in_.at());
      const auto [end, bad] = std::from_chars(rest.data(), rest.data() + rest.size(), bits, 16);
      if (bad != std::errc{}) return in_.unexpected("the bits of a number");
      in_.go_to(in_.at() + static_cast<size_t>(end - rest.data()));
      value = std::bit_cast<T>(bits);
      return ok();
    }
    SDX_ASSIGN(value, in_.real<T>());
    return ok();
  }
  [[gnu::noinline]] Status get(std::string& value, Rule rule) {
    const size_t start = in_.at();
    SDX_ASSIGN(value, in_.escaped_string());
    const size_t most = rule == Rule::name ? in_.limits.name_bytes : in_.limits.string_bytes;
    if (value.size() <= most) return ok();
    in_.go_to(start);
    return fail("SDX-M0101", "a string of {} bytes; the limit is {}", value.size(), most);
  }
  [[gnu::noinline]] Status get(Payload& value, Rule rule) {
    std::string bytes;
    if (ahead('"')) {
      SDX_ASSIGN(bytes, in_.escaped_string());
      const size_t unit = rule == Rule::fixed32 ? 4 : rule == Rule::fixed64 ? 8 : 1;
      const bool cut = rule == Rule::varint && !bytes.empty() && (bytes.back() & 0x80) != 0;
      if (bytes.size() % unit != 0 || cut) return in_.unexpected("whole numbers of packed bytes");
    } else if (rule == Rule::fixed32) {
      SDX_TRY(numbers<float>(bytes));
    } else if (rule == Rule::fixed64) {
      SDX_TRY(numbers<double>(bytes));
    } else if (rule == Rule::varint) {
      std::vector<int64_t> list;
      SDX_TRY(get(list, rule));
      for (const int64_t number : list) pack(static_cast<uint64_t>(number), bytes);
    } else {
      return in_.unexpected("a quoted string");
    }
    value = owned(std::move(bytes));
    return ok();
  }
  template <class T>
  Status numbers(std::string& bytes) {
    std::vector<T> list;
    SDX_TRY(get(list, Rule::plain));
    for (const T number : list) append_little(number, bytes);
    return ok();
  }
  template <class T>
  [[gnu::noinline]] Status get(std::vector<T>& values, Rule rule) {
    if (!in_.take_here("[")) return in_.unexpected("\"[\"");
    while (!in_.take_here("]")) {
      if (!values.empty() && !in_.take_here(",")) return in_.unexpected("\",\" or \"]\"");
      SDX_TRY(get(values.emplace_back(), rule));
    }
    return ok();
  }
  template <class M>
  requires std::is_base_of_v<Message, M>
  [[gnu::noinline]] Status get(M& message, Rule) {
    if (!in_.take_here("{")) return in_.unexpected("\"{\"");
    SDX_TRY(in_.descend());
    SDX_TRY(fields(message));
    in_.ascend();
    return in_.take_here("}") ? ok() : in_.unexpected("\"}\"");
  }
  template <class M>
  [[gnu::noinline]] Status get(std::optional<M>& message, Rule rule) {
    return get(message.emplace(), rule);
  }
  template <class M>
  [[gnu::noinline]] Status get(Box<M>& message, Rule rule) {
    return get(message.emplace(), rule);
  }

  Lexer& in_;
};

}  // namespace

bool print_number(float value, std::string& out) { return shortest(value, out); }
bool print_number(double value, std::string& out) { return shortest(value, out); }

bool is_readable(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    const auto byte = static_cast<uint8_t>(text[i]);
    if (byte < 0x80) {
      if ((byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7f) return false;
      ++i;
      continue;
    }
    const size_t length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
    if (byte < 0xc2 || byte > 0xf4 || i + length > text.size()) return false;
    const auto second = static_cast<uint8_t>(text[i + 1]);
    // Neither longer than needed, nor a surrogate, nor beyond U+10FFFF.
    if ((byte == 0xe0 && second < 0xa0) || (byte == 0xed && second >= 0xa0) ||
        (byte == 0xf0 && second < 0x90) || (byte == 0xf4 && second >= 0x90)) {
      return false;
    }
    for (size_t k = 1; k < length; ++k) {
      if ((static_cast<uint8_t>(text[i + k]) & 0xc0) != 0x80) return false;
    }
    i += length;
  }
  return true;
}

void print_escaped(std::string_view text, std::string& out) {
  const bool readable = is_readable(text);
  out += '"';
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7f || (byte >= 0x80 && !readable)) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  out += '"';
}

void pack(uint64_t value, std::string& out) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

Payload owned(std::string bytes) {
  auto held = std::make_shared<const std::string>(std::move(bytes));
  return {std::as_bytes(std::span(*held)), held};
}

template <class M>
std::string print_fields(const M& message, uint32_t carried, uint32_t cleared) {
  std::string out;
  FieldsPrinter(out).fields(message, carried, cleared);
  return out;
}

template <class M>
Status parse_fields(Lexer& in, M& message) {
  return FieldsParser(in).fields(message);
}

#define SDX_FIELDS(M)                                                                         \
  template std::string print_fields<M>(const M& message, uint32_t carried, uint32_t cleared); \
  template Status parse_fields<M>(Lexer & in, M & message);
SDX_FIELDS(Model)
SDX_FIELDS(Graph)
SDX_FIELDS(Function)
SDX_FIELDS(Node)
SDX_FIELDS(Attribute)
SDX_FIELDS(ValueInfo)
SDX_FIELDS(TensorData)
SDX_FIELDS(SparseTensorData)
#undef SDX_FIELDS

}  // namespace sdx::model
