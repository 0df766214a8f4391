#include "api/digest.h"

#include "base/endian.h"
#include "base/sha256.h"

namespace sdx {

std::string digest(const Tensor& tensor) {
  Sha256 sha;
  if (tensor.type() == DType::string) {
    for (const std::string& text : tensor.values<std::string>()) {
      const uint64_t bytes = text.size(), size = load_little<uint64_t>(&bytes);
      sha.add(&size, sizeof size);
      sha.add(text.data(), text.size());
    }
    return sha.hex();
  }
  const size_t used_bits = tensor.count() * bits(tensor.type()) % 8;
  if (used_bits == 0) {
    std::shared_ptr<void> held;
    sha.add(elements_for_file(tensor.type(), tensor.raw(), tensor.bytes(), held), tensor.bytes());
    return sha.hex();
  }
  sha.add(tensor.raw(), tensor.bytes() - 1);
  const auto last =
      static_cast<uint8_t>(tensor.data<uint8_t>()[tensor.bytes() - 1] & ((1U << used_bits) - 1));
  sha.add(&last, 1);
  return sha.hex();
}

static void add_lines(const std::string& name, const Value& value, std::vector<DigestLine>& lines) {
  const auto empty = [&](const char* type) {
    lines.push_back({name, type, "[0]", Sha256().hex()});
  };
  if (value.is_none()) {
    empty("none");
  } else if (value.is_tensor()) {
    const Tensor& tensor = value.tensor();
    lines.push_back(
        {name, std::string(short_name(tensor.type())), to_string(tensor.dims()), digest(tensor)});
  } else if (value.is_sequence()) {
    const Sequence& items = value.sequence();
    if (items.empty()) empty("seq");
    for (size_t i = 0; i < items.size(); ++i)
      add_lines(fmt::format("{}[{}]", name, i), items[i], lines);
  } else {
    if (value.map().empty()) empty("map");
    for (const auto& [key, item] : value.map()) {
      const bool number = std::holds_alternative<int64_t>(key);
      add_lines(number ? fmt::format("{}[{}]", name, std::get<int64_t>(key))
                       : fmt::format("{}[\"{}\"]", name, std::get<std::string>(key)),
                item, lines);
    }
  }
}

std::vector<DigestLine> digest(const std::string& name, const Value& value) {
  std::vector<DigestLine> lines;
  add_lines(name, value, lines);
  return lines;
}

}  // namespace sdx
