// Literals from text: every element is read as its type and refused if it is none of its values.
#include <charconv>
#include <cmath>

#include "api/bridge.h"
#include "base/elem.h"
#include "builder/state.h"

namespace sardonyx {
namespace {

using sdx::DType;

struct Reader {
  DType type;
  std::string_view text;
  size_t at = 0;
  std::vector<std::string> elements;

  void space() {
    while (at < text.size() && (text[at] == ' ' || text[at] == '\n')) ++at;
  }
  sdx::Error wrong(std::string_view expected) const {
    return sdx::fail("SDX-W0010", "literal {}: expected {} at column {}", text, expected, at + 1);
  }
};

// "[[1, 2], [3, 4]]": one element, or a list of equally shaped ones.
sdx::Result<sdx::Dims> read(Reader& reader, size_t depth = 0) {
  reader.space();
  if (depth > 8) return reader.wrong("at most 8 nested lists");
  if (reader.at < reader.text.size() && reader.text[reader.at] == '[') {
    ++reader.at;
    sdx::Dims dims{0};
    reader.space();
    while (reader.at < reader.text.size() && reader.text[reader.at] != ']') {
      const size_t start = reader.at;
      SDX_ASSIGN(sdx::Dims item, read(reader, depth + 1));
      item.insert(item.begin(), dims[0]);
      if (dims[0] > 0 && item != dims) {
        reader.at = start;
        const sdx::Dims first(dims.begin() + 1, dims.end());
        return reader.wrong("another " + sdx::to_string(std::span<const int64_t>(first)));
      }
      dims = std::move(item);
      ++dims[0];
      reader.space();
      if (reader.at < reader.text.size() && reader.text[reader.at] == ',') ++reader.at;
      reader.space();
    }
    if (reader.at == reader.text.size()) return reader.wrong("']'");
    ++reader.at;
    return dims;
  }
  const size_t start = reader.at;
  if (reader.type == DType::string) {
    if (reader.at == reader.text.size() || reader.text[reader.at] != '"') {
      return reader.wrong("a string in quotes");
    }
    const size_t end = reader.text.find('"', start + 1);
    if (end == std::string_view::npos) return reader.wrong("a string that ends");
    reader.elements.emplace_back(reader.text.substr(start + 1, end - start - 1));
    reader.at = end + 1;
    return sdx::Dims{};
  }
  while (reader.at < reader.text.size() && reader.text[reader.at] != ',' &&
         reader.text[reader.at] != ']' && reader.text[reader.at] != ' ') {
    ++reader.at;
  }
  reader.elements.emplace_back(reader.text.substr(start, reader.at - start));
  if (reader.elements.back().empty()) return reader.wrong("an element");
  return sdx::Dims{};
}

template <class T>
sdx::Status parse(const std::string& text, T& into) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, into);
  if (error == std::errc() && stop == end) return sdx::ok();
  const std::string_view why =
      error == std::errc::result_out_of_range ? "is outside of the range" : "is not a value";
  return sdx::fail("SDX-W0010", "literal {} {} of {}", text, why,
                   sdx::short_name(sdx::dtype_of<T>));
}

// Types that C++ has none of are cast from a wider one; what does not fit does not come back.
sdx::Result<sdx::Tensor> elements(DType type, sdx::Dims dims,
                                  const std::vector<std::string>& texts);

sdx::Result<sdx::Tensor> narrowed(DType type, const sdx::Dims& dims,
                                  const std::vector<std::string>& texts) {
  const DType wide = sdx::is_integer(type) ? DType::i32 : DType::f32;
  if (!sdx::is_integer(type) && !sdx::is_float(type)) {
    return sdx::fail("SDX-W0010", "a literal of {} cannot be written as text",
                     sdx::short_name(type));
  }
  SDX_ASSIGN(const sdx::Tensor exact, elements(wide, dims, texts));
  const auto cast = [](const Value& value, DType to) {
    return eval("Cast", {value}, {{"to", static_cast<Type>(to)}})[0];
  };
  const Value narrow = cast(Bridge::out(exact), type);
  const sdx::Tensor back = Bridge::in(cast(narrow, wide)).tensor();
  for (size_t i = 0; i < texts.size(); ++i) {
    const bool fits = wide == DType::i32 ? back.data<int32_t>()[i] == exact.data<int32_t>()[i]
                                         : std::isfinite(back.data<float>()[i]) ==
                                               std::isfinite(exact.data<float>()[i]);
    if (!fits) {
      return sdx::fail("SDX-W0010", "literal {} is outside of the range of {}", texts[i],
                       sdx::short_name(type));
    }
  }
  return Bridge::in(narrow).tensor();
}

sdx::Result<sdx::Tensor> elements(DType type, sdx::Dims dims,
                                  const std::vector<std::string>& texts) {
  sdx::Tensor tensor = sdx::Tensor::make(type, std::move(dims));
  const auto fill = [&]<class T>(T*) -> sdx::Status {
    for (size_t i = 0; i < texts.size(); ++i) SDX_TRY(parse(texts[i], tensor.data<T>()[i]));
    return sdx::ok();
  };
  sdx::Status status = sdx::ok();
  switch (type) {
    case DType::f32:
      status = fill(static_cast<float*>(nullptr));
      break;
    case DType::f64:
      status = fill(static_cast<double*>(nullptr));
      break;
    case DType::i8:
      status = fill(static_cast<int8_t*>(nullptr));
      break;
    case DType::i16:
      status = fill(static_cast<int16_t*>(nullptr));
      break;
    case DType::i32:
      status = fill(static_cast<int32_t*>(nullptr));
      break;
    case DType::i64:
      status = fill(static_cast<int64_t*>(nullptr));
      break;
    case DType::u8:
      status = fill(static_cast<uint8_t*>(nullptr));
      break;
    case DType::u16:
      status = fill(static_cast<uint16_t*>(nullptr));
      break;
    case DType::u32:
      status = fill(static_cast<uint32_t*>(nullptr));
      break;
    case DType::u64:
      status = fill(static_cast<uint64_t*>(nullptr));
      break;
    case DType::boolean:
      for (size_t i = 0; i < texts.size(); ++i) {
        if (texts[i] != "true" && texts[i] != "false") {
          return sdx::fail("SDX-W0010", "literal {} is not a value of bool: true or false",
                           texts[i]);
        }
        tensor.data<bool>()[i] = texts[i] == "true";
      }
      break;
    case DType::string:
      std::copy(texts.begin(), texts.end(), tensor.data<std::string>());
      break;
    default:
      return narrowed(type, tensor.dims(), texts);
  }
  if (!status) return std::move(status).error();
  return tensor;
}

}  // namespace

Wire Graph::literal(Type type, std::string_view text, Place place) {
  Reader reader{static_cast<DType>(type), text, 0, {}};
  auto dims = read(reader);
  if (!dims) detail::refuse(std::move(dims).error(), place);
  reader.space();
  if (reader.at != text.size()) detail::refuse(reader.wrong("the end"), place);
  auto tensor = elements(reader.type, *std::move(dims), reader.elements);
  if (!tensor) detail::refuse(std::move(tensor).error(), place);
  return detail::Access::wire(state_,
                              state_->add_constant(state_->fresh("constant"), *std::move(tensor)));
}

}  // namespace sardonyx
