#include "model/tensor.h"

#include <algorithm>
#include <array>

#include "base/endian.h"
#include "base/pages.h"
#include "bytes/external.h"
#include "bytes/wire.h"
#include "model/walk.h"

namespace sdx::model {
namespace {

enum class Storage {
  none,
  float_data,
  int32_data,
  string_data,
  int64_data,
  double_data,
  uint64_data,
  raw,
  external
};

constexpr std::array<std::string_view, 9> kStorageNames = {
    "no field",    "float_data",  "int32_data", "string_data",  "int64_data",
    "double_data", "uint64_data", "raw_data",   "external data"};
std::string_view name(Storage storage) { return kStorageNames[static_cast<size_t>(storage)]; }

// The typed field that the protocol assigns to an element type.
Storage typed_field(DType type) {
  switch (type) {
    case DType::f32:
    case DType::c64:
      return Storage::float_data;
    case DType::f64:
    case DType::c128:
      return Storage::double_data;
    case DType::i64:
      return Storage::int64_data;
    case DType::u32:
    case DType::u64:
      return Storage::uint64_data;
    case DType::string:
      return Storage::string_data;
    default:
      return Storage::int32_data;
  }
}

Result<Storage> storage_of(const TensorData& t) {
  Storage used = Storage::none;
  const std::pair<Storage, bool> fields[] = {
      {Storage::float_data, !t.float_data.empty()},
      {Storage::int32_data, !t.int32_data.empty()},
      {Storage::string_data, !t.string_data.empty()},
      {Storage::int64_data, !t.int64_data.empty()},
      {Storage::double_data, !t.double_data.empty()},
      {Storage::uint64_data, !t.uint64_data.empty()},
      {Storage::raw, !t.raw_data.empty()},
      {Storage::external, t.data_location == DataLocation::external}};
  for (const auto& [storage, filled] : fields) {
    if (!filled) continue;
    if (used != Storage::none) {
      return fail("SDX-M0103", "the elements stand in both {} and {}", name(used), name(storage));
    }
    used = storage;
  }
  const bool raw = used == Storage::raw || used == Storage::external;
  if (raw && t.dtype() == DType::string) {
    return fail("SDX-M0106", "strings stand in {}; they can stand only in string_data", name(used));
  }
  if (used != Storage::none && !raw && used != typed_field(t.dtype())) {
    return fail("SDX-M0103", "elements of type {} stand in {}; expected {} or raw_data",
                onnx_name(t.dtype()), name(used), name(typed_field(t.dtype())));
  }
  return used;
}

// What an int32_data entry may be for an element type: small integers their value, small floats
// their encoding (which some writers sign-extend), 2- and 4-bit types a byte of packed elements.
bool fits(DType type, int64_t entry) {
  const size_t width =
      type == DType::f6e2m3 || type == DType::f6e3m2 ? 6 : std::max<size_t>(bits(type), 8);
  const int64_t half = int64_t{1} << (width - 1);
  const bool packed = bits(type) < 6;
  if (type == DType::boolean) return entry == 0 || entry == 1;
  if (is_integer(type) && !packed) {
    return is_signed(type) ? entry >= -half && entry < half : entry >= 0 && entry < 2 * half;
  }
  return entry >= -half && entry < 2 * half;
}

Error wrong_size(const TensorData& t, std::string_view field, size_t found, size_t expected,
                 std::string_view unit) {
  return fail("SDX-M0104", "{} holds {} {}; shape {} of {} needs {}", field, found, unit,
              to_string(t.dims), onnx_name(t.dtype()), expected);
}

// Varints into elements of the type.
Result<Payload> decode(const TensorData& t, Storage storage, const Payload& field, size_t count) {
  const DType type = t.dtype();
  const bool packed = bits(type) < 6;  // each entry holds a byte of elements
  const size_t expected = packed ? bytes_for(type, count) : count;
  const auto ends = [](std::byte b) { return static_cast<uint8_t>(b) < 0x80; };
  const auto entries =
      static_cast<size_t>(std::count_if(field.bytes.begin(), field.bytes.end(), ends));
  if (entries != expected) return wrong_size(t, name(storage), entries, expected, "entries");

  const size_t size = bytes_for(type, count);
  const std::shared_ptr<void> memory = allocate_aligned(size);
  std::memset(memory.get(), 0, size);
  WireReader in(field.bytes);
  for (size_t i = 0; i < entries; ++i) {
    uint64_t entry = 0;
    if (!in.varint(entry)) return in.error();
    if (storage == Storage::int32_data) {
      entry = static_cast<uint64_t>(int64_t{static_cast<int32_t>(entry)});
      if (!fits(type, static_cast<int64_t>(entry))) {
        return fail("SDX-M0105", "entry {} of int32_data is {}, which {} cannot hold", i,
                    static_cast<int64_t>(entry), onnx_name(type));
      }
    } else if (type == DType::u32 && entry >> 32 != 0) {
      return fail("SDX-M0105", "entry {} of uint64_data is {}, which uint32 cannot hold", i, entry);
    }
    set_bits(packed ? DType::u8 : type, memory.get(), i, entry);
  }
  if constexpr (!kMemoryIsLittle) turn_elements(type, memory.get(), size);
  return Payload{{static_cast<const std::byte*>(memory.get()), size}, memory};
}

Result<Payload> read_external(const TensorData& t, size_t size) {
  if (t.files == nullptr) {
    return fail("SDX-M0108",
                "external data: the model was not read from a folder, so there is nowhere to look");
  }
  std::vector<std::pair<std::string_view, std::string_view>> entries;
  for (const StringEntry& entry : t.external_data) entries.emplace_back(entry.key, entry.value);
  SDX_ASSIGN(const ExternalPlace place, external_place(entries));
  SDX_ASSIGN(auto found, t.files->read(place, size));
  return Payload{found.bytes, std::move(found.owner)};
}

// Checks all but the elements, which `storage` then names.
Status check(const TensorData& t, Storage& storage, size_t& count) {
  if (!valid(t.data_type))
    return fail("SDX-M0102", "element type {} is not one of ONNX's", t.data_type);
  if (t.segment)
    return fail("SDX-M0107",
                "the tensor is one segment of a larger one, which no version of ONNX joins");
  SDX_ASSIGN(count, element_count(t.dims));
  SDX_ASSIGN(storage, storage_of(t));
  if (storage == Storage::none && count != 0)
    return wrong_size(t, "the tensor", 0, count, "elements");
  return ok();
}

Result<Payload> find_data(const TensorData& t) {
  Storage storage = Storage::none;
  size_t count = 0;
  SDX_TRY(check(t, storage, count));
  if (t.dtype() == DType::string) return fail("SDX-M0106", "strings have no raw form");
  const size_t size = bytes_for(t.dtype(), count);
  Payload data;
  switch (storage) {
    case Storage::int32_data:
      return decode(t, storage, t.int32_data, count);
    case Storage::int64_data:
      return decode(t, storage, t.int64_data, count);
    case Storage::uint64_data:
      return decode(t, storage, t.uint64_data, count);
    case Storage::external: {
      SDX_ASSIGN(data, read_external(t, size));
      break;
    }
    case Storage::float_data:
      data = t.float_data;
      break;
    case Storage::double_data:
      data = t.double_data;
      break;
    default:
      data = t.raw_data;
  }
  if (data.size() != size) return wrong_size(t, name(storage), data.size(), size, "bytes");
  if (t.dtype() == DType::boolean) {
    const auto bad = std::find_if(data.bytes.begin(), data.bytes.end(),
                                  [](std::byte b) { return b > std::byte{1}; });
    if (bad != data.bytes.end()) {
      return fail("SDX-M0105", "element {} of a bool tensor is {}; expected 0 or 1",
                  bad - data.bytes.begin(), static_cast<int>(*bad));
    }
  }
  return data;
}

Result<Tensor> make_tensor(const TensorData& t) {
  if (t.dtype() == DType::string) {
    Storage storage = Storage::none;
    size_t count = 0;
    SDX_TRY(check(t, storage, count));
    if (t.string_data.size() != count) {
      return wrong_size(t, "string_data", t.string_data.size(), count, "strings");
    }
    return Tensor::of<std::string>(t.dims, t.string_data);
  }
  SDX_ASSIGN(Payload data, find_data(t));
  const size_t alignment = number_bytes(t.dtype());
  if (!kMemoryIsLittle && alignment > 1) {
    const std::shared_ptr<void> memory = turned_elements(t.dtype(), data.bytes.data(), data.size());
    return Tensor::over(t.dtype(), t.dims, memory, memory.get());
  }
  if (reinterpret_cast<uintptr_t>(data.bytes.data()) % alignment != 0) {
    const std::shared_ptr<void> memory = allocate_aligned(data.size());
    std::memcpy(memory.get(), data.bytes.data(), data.size());
    release_pages(data.bytes.data(), data.size());  // the copy is what will be read
    return Tensor::over(t.dtype(), t.dims, memory, memory.get());
  }
  return Tensor::over(t.dtype(), t.dims, std::move(data.owner), data.bytes.data());
}

std::string place(const TensorData& t) { return fmt::format("tensor \"{}\"", t.name); }

}  // namespace

Result<Payload> data_of(const TensorData& t) {
  auto data = find_data(t);
  if (!data) return std::move(data).error().in(place(t));
  return data;
}

Result<Tensor> to_tensor(const TensorData& t) {
  auto tensor = make_tensor(t);
  if (!tensor) return std::move(tensor).error().in(place(t));
  return tensor;
}

TensorData from_tensor(const Tensor& tensor, std::string name) {
  TensorData t;
  t.dims = tensor.dims();
  t.data_type = static_cast<int32_t>(tensor.type());
  t.name = std::move(name);
  if (tensor.type() == DType::string) {
    const auto strings = tensor.values<std::string>();
    t.string_data.assign(strings.begin(), strings.end());
  } else {
    const auto held = std::make_shared<const Tensor>(tensor);  // keeps the tensor's memory
    std::shared_ptr<void> copy;
    const std::byte* bytes = elements_for_file(held->type(), held->raw(), held->bytes(), copy);
    std::shared_ptr<const void> owner = held;
    if (copy != nullptr) owner = copy;
    set(t, &TensorData::raw_data, {{bytes, held->bytes()}, owner});
  }
  return t;
}

Status embed_external(Model& model) {
  return each_tensor(model, [](TensorData& t) -> Status {
    if (t.data_location != DataLocation::external) return ok();
    SDX_ASSIGN(Payload data, data_of(t));
    set(t, &TensorData::raw_data, std::move(data));
    t.external_data.clear();
    t.data_location = DataLocation::in_message;
    t.present &= ~(uint32_t{1} << number_of(&TensorData::data_location));
    t.files.reset();
    return ok();
  });
}

}  // namespace sdx::model
