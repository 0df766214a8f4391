#include "model/text_tensor.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/endian.h"
#include "model/text_fields.h"

namespace sdx::model {
namespace {

// The typed field that holds elements of a type, and how it is packed.
enum class Store { none, floats, doubles, int32s, int64s, uint64s, strings };

Store store_of(DType type) {
  switch (type) {
    case DType::undefined:
      return Store::none;
    case DType::f32:
    case DType::c64:
      return Store::floats;
    case DType::f64:
    case DType::c128:
      return Store::doubles;
    case DType::i64:
      return Store::int64s;
    case DType::u32:
    case DType::u64:
      return Store::uint64s;
    case DType::string:
      return Store::strings;
    default:
      return Store::int32s;
  }
}

template <class T, class Visit>
void each_raw(std::span<const std::byte> bytes, Visit&& visit) {
  for (size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    visit(load_little<T>(bytes.data() + at));
  }
}

template <class T>
void print_whole(T value, std::string& out) {
  const fmt::format_int digits(value);
  out.append(digits.data(), digits.size());
}

// Appends the numbers, each followed by ", "; false if they would come back as other bits.
template <class T>
bool print_reals(std::span<const std::byte> bytes, std::string& out) {
  bool exact = bytes.size() % sizeof(T) == 0;
  each_raw<T>(bytes, [&](T value) {
    exact = print_number(value, out) && exact;
    out += ", ";
  });
  return exact;
}

template <class T>
bool print_raw_wholes(std::span<const std::byte> bytes, std::string& out) {
  each_raw<T>(bytes, [&](T value) {
    print_whole(value, out);
    out += ", ";
  });
  return bytes.size() % sizeof(T) == 0;
}

bool print_raw(DType type, std::span<const std::byte> bytes, std::string& out) {
  const Store store = store_of(type);
  if (store == Store::floats) return print_reals<float>(bytes, out);
  if (store == Store::doubles) return print_reals<double>(bytes, out);
  if (store == Store::none || store == Store::strings) return false;
  const bool negative = is_signed(type) && is_integer(type) && !is_packed(type);
  switch (number_bytes(type)) {
    case 1:
      return negative ? print_raw_wholes<int8_t>(bytes, out)
                      : print_raw_wholes<uint8_t>(bytes, out);
    case 2:
      return negative ? print_raw_wholes<int16_t>(bytes, out)
                      : print_raw_wholes<uint16_t>(bytes, out);
    case 4:
      return negative ? print_raw_wholes<int32_t>(bytes, out)
                      : print_raw_wholes<uint32_t>(bytes, out);
    default:
      return negative ? print_raw_wholes<int64_t>(bytes, out)
                      : print_raw_wholes<uint64_t>(bytes, out);
  }
}

// Of varints: canonical, and within what parse_elements takes.
bool print_packed(Store store, const Payload& payload, std::string& out) {
  bool good = true;
  const bool canonical = unpack(payload, [&](uint64_t value) {
    if (store == Store::uint64s) {
      print_whole(value, out);
    } else {
      const auto number = static_cast<int64_t>(value);
      good = good && (store == Store::int64s || number == static_cast<int32_t>(number));
      print_whole(number, out);
    }
    out += ", ";
  });
  return canonical && good;
}

struct Typed {
  const Payload* payload = nullptr;
  uint32_t bit = 0;
};
Typed typed_field(const TensorData& t, Store store) {
  switch (store) {
    case Store::floats:
      return {&t.float_data, bits_of(&TensorData::float_data)};
    case Store::doubles:
      return {&t.double_data, bits_of(&TensorData::double_data)};
    case Store::int32s:
      return {&t.int32_data, bits_of(&TensorData::int32_data)};
    case Store::int64s:
      return {&t.int64_data, bits_of(&TensorData::int64_data)};
    case Store::uint64s:
      return {&t.uint64_data, bits_of(&TensorData::uint64_data)};
    default:
      return {};
  }
}

}  // namespace

void print_quoted(std::string_view text, std::string& out) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  out += '"';
}

void print_entries(const StringEntries& entries, std::string& out) {
  for (size_t i = 0; i < entries.size(); ++i) {
    if (i > 0) out += ", ";
    print_quoted(entries[i].key, out);
    out += ": ";
    print_quoted(entries[i].value, out);
  }
}

Status parse_entries(Lexer& in, StringEntries& entries) {
  do {
    StringEntry entry;
    SDX_ASSIGN(std::string key, in.string());
    SDX_TRY(in.expect(":"));
    SDX_ASSIGN(std::string value, in.string());
    set(entry, &StringEntry::key, std::move(key));
    set(entry, &StringEntry::value, std::move(value));
    entries.push_back(std::move(entry));
  } while (in.take(","));
  return ok();
}

bool carried_whole(const StringEntries& entries) {
  return std::all_of(entries.begin(), entries.end(), [](const StringEntry& entry) {
    return given(entry, &StringEntry::key) && given(entry, &StringEntry::value) &&
           entry.unknown.empty() && is_readable(entry.key) && is_readable(entry.value);
  });
}

PrintedElements print_elements(const TensorData& tensor, std::string& out) {
  if (tensor.data_location == DataLocation::external && !tensor.external_data.empty() &&
      carried_whole(tensor.external_data)) {
    out += '[';
    print_entries(tensor.external_data, out);
    out += ']';
    return {bits_of(&TensorData::external_data, &TensorData::data_location)};
  }
  const DType type = tensor.dtype();
  const Store store = store_of(type);
  const Typed field = typed_field(tensor, store);
  const size_t start = out.size();
  PrintedElements printed;
  const auto nothing = [&](bool good) {
    if (!good) out.resize(start);
    return !good;
  };
  out += '{';
  if (store == Store::strings) {
    printed.carried = bits_of(&TensorData::string_data);
    if (!std::all_of(tensor.string_data.begin(), tensor.string_data.end(), is_readable)) {
      printed.carried = 0;
    } else {
      for (const std::string& text : tensor.string_data) {
        print_quoted(text, out);
        out += ", ";
      }
    }
  } else if (given(tensor, &TensorData::raw_data) &&
             (field.payload == nullptr || field.payload->empty())) {
    if (!nothing(print_raw(type, tensor.raw_data.bytes, out))) {
      printed = {bits_of(&TensorData::raw_data), true};
    } else {
      out += '{';
    }
  } else if (field.payload != nullptr) {
    const bool exact = store == Store::floats    ? print_reals<float>(field.payload->bytes, out)
                       : store == Store::doubles ? print_reals<double>(field.payload->bytes, out)
                                                 : print_packed(store, *field.payload, out);
    if (!nothing(exact)) {
      printed.carried = field.bit;
    } else {
      out += '{';
    }
  }
  if (out.ends_with(", ")) out.resize(out.size() - 2);
  out += '}';
  return printed;
}

Status parse_elements(Lexer& in, TensorData& tensor) {
  if (in.take("[")) {
    set(tensor, &TensorData::data_location, DataLocation::external);
    SDX_TRY(parse_entries(in, tensor.external_data));
    return in.expect("]");
  }
  SDX_TRY(in.expect("{"));
  const Store store = store_of(tensor.dtype());
  std::string bytes;
  if (!in.take("}")) {
    do {
      switch (store) {
        case Store::none:
          return in.unexpected("\"}\": the element type is not known");
        case Store::floats: {
          SDX_ASSIGN(const float value, in.real<float>());
          append_little(value, bytes);
          break;
        }
        case Store::doubles: {
          SDX_ASSIGN(const double value, in.real<double>());
          append_little(value, bytes);
          break;
        }
        case Store::int32s: {
          const size_t start = (in.skip(), in.at());
          SDX_ASSIGN(const int64_t value, in.integer());
          if (value != static_cast<int32_t>(value)) {
            in.go_to(start);
            return in.unexpected("a number of 32 bits");
          }
          pack(static_cast<uint64_t>(value), bytes);
          break;
        }
        case Store::int64s: {
          SDX_ASSIGN(const int64_t value, in.integer());
          pack(static_cast<uint64_t>(value), bytes);
          break;
        }
        case Store::uint64s: {
          SDX_ASSIGN(const uint64_t value, in.unsigned_integer());
          pack(value, bytes);
          break;
        }
        case Store::strings: {
          SDX_ASSIGN(std::string value, in.string());
          tensor.string_data.push_back(std::move(value));
          break;
        }
      }
    } while (in.take(","));
    SDX_TRY(in.expect("}"));
  }
  if (const Typed field = typed_field(tensor, store); field.payload != nullptr && !bytes.empty()) {
    const_cast<Payload&>(*field.payload) = owned(std::move(bytes));
  }
  return ok();
}

Status make_raw(TensorData& tensor) {
  const DType type = tensor.dtype();
  const Store store = store_of(type);
  const Typed field = typed_field(tensor, store);
  if (field.payload == nullptr) {
    return fail("SDX-M0101", "elements of type {} do not stand in raw_data", onnx_name(type));
  }
  auto& payload = const_cast<Payload&>(*field.payload);
  if (store == Store::floats || store == Store::doubles) {
    set(tensor, &TensorData::raw_data, std::exchange(payload, {}));
    return ok();
  }
  const size_t width = number_bytes(type);
  std::string bytes;
  bool fits = true;
  unpack(payload, [&](uint64_t value) {
    const size_t unused = 64 - 8 * width;
    fits = fits && (value << unused >> unused == value ||
                    static_cast<int64_t>(value << unused) >> unused == static_cast<int64_t>(value));
    append_little(value, bytes, width);
  });
  if (!fits) return fail("SDX-M0101", "an element is wider than its type {}", onnx_name(type));
  payload = {};
  set(tensor, &TensorData::raw_data, owned(std::move(bytes)));
  return ok();
}

}  // namespace sdx::model
