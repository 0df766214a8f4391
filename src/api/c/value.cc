// Values of the C interface.
#include <cstring>
#include <span>

#include "api/bridge.h"
#include "api/c/boxes.h"

using sardonyx::Bridge;
using sardonyx::Dims;
using sardonyx::Map;
using sardonyx::Sequence;
using sardonyx::Tensor;
using sardonyx::Type;
using sardonyx::Value;
using namespace sardonyx_c;  // NOLINT: the interface's functions are global by nature

namespace {

Type type_from(int32_t number) {
  if (!sdx::valid(number)) fail("SDX-A0104", fmt::format("no element type {}", number));
  return static_cast<Type>(number);
}

Dims dims_from(const int64_t* dims, size_t rank) {
  if (rank == 0) return {};
  if (rank > 64) fail("SDX-A0104", fmt::format("{} dimensions; at most 64", rank));
  needed(dims, "dims");
  return {dims, dims + rank};
}

void hand_out(Value value, sardonyx_value** into) {
  *into = keep<sardonyx_value>(std::make_shared<ValueBox>(std::move(value)));
}

const Value& item_of(const Value& value, size_t i) {
  if (const auto* items = std::get_if<Sequence>(&value)) {
    if (i < items->size()) return (*items)[i];
    fail("SDX-A0105", fmt::format("item {} of a sequence of {}", i, items->size()));
  }
  if (const auto* items = std::get_if<Map>(&value)) {
    if (i < items->size()) return std::next(items->begin(), static_cast<ptrdiff_t>(i))->second;
    fail("SDX-A0105", fmt::format("item {} of a map of {}", i, items->size()));
  }
  fail("SDX-A0106", "the value has no items: it is neither a sequence nor a map");
}

}  // namespace

const Tensor& sardonyx_c::tensor_of(const ValueBox& box) {
  const auto* tensor = std::get_if<Tensor>(&box.value);
  if (tensor == nullptr) fail("SDX-A0106", "the value is not a tensor");
  return *tensor;
}

const char* sardonyx_type_name(int32_t type) {
  return sdx::valid(type) ? sdx::short_name(static_cast<sdx::DType>(type)).data() : "";
}

sardonyx_error* sardonyx_tensor_new(int32_t type, const int64_t* dims, size_t rank,
                                    sardonyx_value** tensor) {
  return guarded([&] {
    needed(tensor, "the place for the tensor");
    hand_out(Tensor(type_from(type), dims_from(dims, rank)), tensor);
  });
}

sardonyx_error* sardonyx_tensor_over(int32_t type, const int64_t* dims, size_t rank, void* data,
                                     size_t bytes, void (*release)(void*, void*), void* context,
                                     sardonyx_value** tensor) {
  return guarded([&] {
    needed(tensor, "the place for the tensor");
    const auto element = static_cast<sdx::DType>(type_from(type));
    if (element == sdx::DType::string) {
      fail("SDX-A0104", "strings have no memory of the caller; see sardonyx_tensor_of_strings");
    }
    Dims shape = dims_from(dims, rank);
    const auto count = sdx::element_count(shape);
    if (!count) throw Bridge::error(count.error());
    if (bytes < sdx::bytes_for(element, *count)) {
      fail("SDX-A0103",
           fmt::format("{} bytes for {}{}, which takes {}", bytes, sdx::short_name(element),
                       sdx::to_string(shape), sdx::bytes_for(element, *count)));
    }
    if (*count > 0) needed(data, "data");
    const size_t alignment = std::min<size_t>(std::max<size_t>(sdx::bits(element) / 8, 1), 8);
    if (reinterpret_cast<uintptr_t>(data) % alignment != 0) {
      fail("SDX-A0103", fmt::format("elements of {} must start at a multiple of {} bytes",
                                    sdx::short_name(element), alignment));
    }
    // Armed last: if no tensor comes of this, the memory stays the caller's alone.
    struct Lent {
      ~Lent() {
        if (release != nullptr) release(data, context);
      }
      void (*release)(void*, void*) = nullptr;
      void *data = nullptr, *context = nullptr;
    };
    const auto lent = std::make_shared<Lent>();
    hand_out(Bridge::out(sdx::Tensor::over(element, std::move(shape), lent, data)), tensor);
    lent->data = data;
    lent->context = context;
    lent->release = release;
  });
}

sardonyx_error* sardonyx_tensor_of_strings(const int64_t* dims, size_t rank,
                                           const char* const* strings, const size_t* lengths,
                                           size_t count, sardonyx_value** tensor) {
  return guarded([&] {
    needed(tensor, "the place for the tensor");
    Tensor made(Type::string, dims_from(dims, rank));
    if (made.count() != count) {
      fail("SDX-A0103", fmt::format("{} strings for the shape {}, which has {}", count,
                                    sdx::to_string(made.dims()), made.count()));
    }
    if (count > 0) needed(strings, "strings");
    const std::span<std::string> texts = made.values<std::string>();
    for (size_t i = 0; i < count; ++i) {
      needed(strings[i], "a string");
      texts[i] = lengths == nullptr ? std::string(strings[i]) : std::string(strings[i], lengths[i]);
    }
    hand_out(std::move(made), tensor);
  });
}

sardonyx_error* sardonyx_sequence_new(sardonyx_value* const* items, size_t count,
                                      sardonyx_value** sequence) {
  return guarded([&] {
    needed(sequence, "the place for the sequence");
    if (count > 0) needed(items, "items");
    Sequence made;
    for (size_t i = 0; i < count; ++i) made.push_back(get(items[i])->value);
    hand_out(std::move(made), sequence);
  });
}

sardonyx_error* sardonyx_map_new(const int64_t* keys, const char* const* string_keys,
                                 sardonyx_value* const* items, size_t count, sardonyx_value** map) {
  return guarded([&] {
    needed(map, "the place for the map");
    if ((keys == nullptr) == (string_keys == nullptr) && count > 0) {
      misused("a map needs one of `keys` and `string_keys`");
    }
    if (count > 0) needed(items, "items");
    Map made;
    for (size_t i = 0; i < count; ++i) {
      Map::key_type key;
      if (keys != nullptr) {
        key = keys[i];
      } else {
        key = std::string(needed(string_keys[i], "a key"));
      }
      if (!made.emplace(std::move(key), get(items[i])->value).second) {
        fail("SDX-A0105", fmt::format("key {} of the map stands there twice", i));
      }
    }
    hand_out(std::move(made), map);
  });
}

sardonyx_error* sardonyx_none_new(sardonyx_value** none) {
  return guarded([&] { hand_out(Value(), needed(none, "the place for the value")); });
}

void sardonyx_value_release(sardonyx_value* value) { drop(value); }

sardonyx_error* sardonyx_value_kind(const sardonyx_value* value, int32_t* kind) {
  return guarded([&] { *needed(kind, "kind") = static_cast<int32_t>(get(value)->value.index()); });
}

sardonyx_error* sardonyx_tensor_type(const sardonyx_value* tensor, int32_t* type) {
  return guarded(
      [&] { *needed(type, "type") = static_cast<int32_t>(tensor_of(*get(tensor)).type()); });
}

sardonyx_error* sardonyx_tensor_shape(const sardonyx_value* tensor, const int64_t** dims,
                                      size_t* rank) {
  return guarded([&] {
    const auto box = get(tensor);
    const Dims& found = tensor_of(*box).dims();
    *needed(rank, "rank") = found.size();
    *needed(dims, "dims") = found.data();
  });
}

sardonyx_error* sardonyx_tensor_count(const sardonyx_value* tensor, size_t* count) {
  return guarded([&] { *needed(count, "count") = tensor_of(*get(tensor)).count(); });
}

sardonyx_error* sardonyx_tensor_data(const sardonyx_value* tensor, void** data, size_t* bytes) {
  return guarded([&] {
    const auto box = get(tensor);
    const Tensor& found = tensor_of(*box);
    if (found.type() == Type::string) {
      fail("SDX-A0106", "strings are read one by one, by sardonyx_tensor_string");
    }
    *needed(data, "data") = const_cast<void*>(found.data());
    if (bytes != nullptr) *bytes = found.bytes();
  });
}

sardonyx_error* sardonyx_tensor_string(const sardonyx_value* tensor, size_t i, const char** text,
                                       size_t* length) {
  return guarded([&] {
    const auto box = get(tensor);
    const auto texts = tensor_of(*box).values<std::string>();
    if (i >= texts.size()) {
      fail("SDX-A0105", fmt::format("element {} of a tensor of {}", i, texts.size()));
    }
    *needed(text, "text") = texts[i].c_str();
    if (length != nullptr) *length = texts[i].size();
  });
}

sardonyx_error* sardonyx_tensor_digest(const sardonyx_value* tensor, char digest[65]) {
  return guarded([&] {
    const std::string text = tensor_of(*get(tensor)).digest();
    std::memcpy(needed(digest, "digest"), text.c_str(), text.size() + 1);
  });
}

sardonyx_error* sardonyx_value_size(const sardonyx_value* value, size_t* size) {
  return guarded([&] {
    const auto box = get(value);
    if (const auto* items = std::get_if<Sequence>(&box->value)) {
      *needed(size, "size") = items->size();
    } else if (const auto* map = std::get_if<Map>(&box->value)) {
      *needed(size, "size") = map->size();
    } else {
      item_of(box->value, 0);
    }
  });
}

sardonyx_error* sardonyx_value_item(const sardonyx_value* value, size_t i, sardonyx_value** item) {
  return guarded([&] {
    needed(item, "the place for the item");
    const auto box = get(value);
    hand_out(item_of(box->value, i), item);
  });
}

sardonyx_error* sardonyx_map_key(const sardonyx_value* map, size_t i, int64_t* number,
                                 const char** text) {
  return guarded([&] {
    needed(number, "number");
    needed(text, "text");
    const auto box = get(map);
    const auto* items = std::get_if<Map>(&box->value);
    if (items == nullptr) fail("SDX-A0106", "the value is not a map");
    item_of(box->value, i);
    const Map::key_type& key = std::next(items->begin(), static_cast<ptrdiff_t>(i))->first;
    const auto* name = std::get_if<std::string>(&key);
    *text = name == nullptr ? nullptr : name->c_str();
    *number = name == nullptr ? std::get<int64_t>(key) : 0;
  });
}
