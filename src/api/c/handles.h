// Handles: what C sees of an object is a number in the shape of a pointer, never an address, so
// that a null, stale, mistaken or invented handle is found out instead of followed.
#pragma once

#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "sardonyx/sardonyx.h"
#include "sardonyx/sardonyx_c.h"

namespace sardonyx_c {

using sardonyx::Error;

[[noreturn]] inline void fail(const char* code, std::string message) {
  throw Error(code, std::move(message), {}, {});
}

// What stands behind a kind of handle, and its name in messages.
template <class Handle>
struct Behind;

struct ValueBox;
struct ModelBox;
struct SessionBox;
struct CallBox;
struct StopBox;
struct StreamBox;

template <>
struct Behind<sardonyx_error> {
  using Object = Error;
  static constexpr std::string_view kName = "an error";
};
template <>
struct Behind<sardonyx_value> {
  using Object = ValueBox;
  static constexpr std::string_view kName = "a value";
};
template <>
struct Behind<sardonyx_model> {
  using Object = ModelBox;
  static constexpr std::string_view kName = "a model";
};
template <>
struct Behind<sardonyx_session> {
  using Object = SessionBox;
  static constexpr std::string_view kName = "a session";
};

template <>
struct Behind<sardonyx_stream> {
  using Object = StreamBox;
  static constexpr std::string_view kName = "a stream";
};
template <>
struct Behind<sardonyx_stop> {
  using Object = StopBox;
  static constexpr std::string_view kName = "a stop";
};
template <>
struct Behind<sardonyx_call> {
  using Object = CallBox;
  static constexpr std::string_view kName = "a call";
};

// The table of all handles; `kind` is the address of Behind<Handle>::kName.
void* keep_object(const void* kind, std::shared_ptr<void> object);
std::shared_ptr<void> find_object(const void* kind, const void* handle);
void drop_object(const void* kind, const void* handle);
[[noreturn]] void misused(std::string_view what);  // SDX-A0101
// Kept from the start, for when there is no memory to make an error with.
sardonyx_error* out_of_memory();

template <class Handle>
Handle* keep(std::shared_ptr<typename Behind<Handle>::Object> object) {
  return static_cast<Handle*>(keep_object(&Behind<Handle>::kName, std::move(object)));
}

// Null if the handle is not one of this kind.
template <class Handle>
std::shared_ptr<typename Behind<Handle>::Object> find(const Handle* handle) {
  return std::static_pointer_cast<typename Behind<Handle>::Object>(
      find_object(&Behind<Handle>::kName, handle));
}

// The object, kept alive while the caller holds it.
template <class Handle>
std::shared_ptr<typename Behind<Handle>::Object> get(const Handle* handle) {
  auto object = find(handle);
  if (object == nullptr) {
    const std::string name(Behind<Handle>::kName);
    misused(handle == nullptr ? "NULL in place of " + name
                              : "a handle that is not (or no longer) " + name);
  }
  return object;
}

template <class Handle>
void drop(const Handle* handle) {
  if (handle != nullptr) drop_object(&Behind<Handle>::kName, handle);
}

// A pointer that the caller must give.
template <class T>
T* needed(T* pointer, std::string_view name) {
  if (pointer == nullptr) misused("NULL in place of " + std::string(name));
  return pointer;
}

sardonyx_error* error_handle(Error error) noexcept;

// Runs the body of a function of the interface; whatever it throws becomes an error.
template <class Body>
sardonyx_error* guarded(Body&& body) noexcept {
  try {
    body();
    return nullptr;
  } catch (const Error& error) {
    return error_handle(error);
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  } catch (const std::exception& error) {
    return error_handle(Error("SDX-A0100", error.what(), {}, {}));
  } catch (...) {
    return error_handle(Error("SDX-A0100", "an unknown exception", {}, {}));
  }
}

}  // namespace sardonyx_c
