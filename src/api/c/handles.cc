#include "api/c/handles.h"

#include <array>
#include <atomic>
#include <mutex>
#include <unordered_map>

namespace sardonyx_c {
namespace {

struct Entry {
  const void* kind;
  std::shared_ptr<void> object;
};

// Handles are spread over tables with a lock each, so that threads seldom meet.
struct Shard {
  std::mutex mutex;
  std::unordered_map<uintptr_t, Entry> entries;
};
constexpr size_t kShards = 16;

// Never destroyed: other threads may still hold handles when the process ends.
std::array<Shard, kShards>& shards() {
  static auto* const table = new std::array<Shard, kShards>;
  return *table;
}

Shard& shard_of(uintptr_t handle) { return shards()[handle >> 8 & (kShards - 1)]; }

// An odd factor makes numbers that come in sequence differ in all their bits and never repeat, so
// that small integers and addresses are unlikely to be handles.
uintptr_t next_handle() {
  static std::atomic<uintptr_t> counter{1};
  constexpr auto kFactor = static_cast<uintptr_t>(0x9E3779B97F4A7C15u);
  return counter.fetch_add(1, std::memory_order_relaxed) * kFactor;
}

}  // namespace

void* keep_object(const void* kind, std::shared_ptr<void> object) {
  const uintptr_t handle = next_handle();
  Shard& shard = shard_of(handle);
  const std::lock_guard lock(shard.mutex);
  shard.entries.emplace(handle, Entry{kind, std::move(object)});
  return reinterpret_cast<void*>(handle);  // NOLINT: never followed
}

std::shared_ptr<void> find_object(const void* kind, const void* handle) {
  const auto number = reinterpret_cast<uintptr_t>(handle);
  Shard& shard = shard_of(number);
  const std::lock_guard lock(shard.mutex);
  const auto at = shard.entries.find(number);
  if (at == shard.entries.end() || at->second.kind != kind) return nullptr;
  return at->second.object;
}

void drop_object(const void* kind, const void* handle) {
  std::shared_ptr<void> last;  // freed after the lock: its release function may call back
  const auto number = reinterpret_cast<uintptr_t>(handle);
  Shard& shard = shard_of(number);
  const std::lock_guard lock(shard.mutex);
  const auto at = shard.entries.find(number);
  if (at == shard.entries.end() || at->second.kind != kind) return;
  last = std::move(at->second.object);
  shard.entries.erase(at);
}

void misused(std::string_view what) {
  throw Error("SDX-A0101", std::string(what), {}, "release a handle once, after its last use");
}

sardonyx_error* error_handle(Error error) noexcept {
  try {
    return keep<sardonyx_error>(std::make_shared<Error>(std::move(error)));
  } catch (...) {
    return out_of_memory();
  }
}

sardonyx_error* out_of_memory() {
  // The address of this object is no handle's number in practice, and releasing it does nothing.
  static const char place = 0;
  return reinterpret_cast<sardonyx_error*>(const_cast<char*>(&place));
}

}  // namespace sardonyx_c

using sardonyx::Error;
using sardonyx_c::find;

namespace {

// Texts of an error live as long as its handle, which the caller holds.
template <class Member>
const char* text_of(const sardonyx_error* handle, const char* without_memory, Member member) {
  if (handle == sardonyx_c::out_of_memory()) return without_memory;
  const std::shared_ptr<Error> error = find(handle);
  return error == nullptr ? "" : member(*error);
}

}  // namespace

const char* sardonyx_error_code(const sardonyx_error* error) {
  return text_of(error, "SDX-A0102", [](const Error& e) { return e.code().c_str(); });
}

const char* sardonyx_error_message(const sardonyx_error* error) {
  return text_of(error, "out of memory", [](const Error& e) { return e.message().c_str(); });
}

size_t sardonyx_error_places(const sardonyx_error* error) {
  const auto found = find(error);
  return found == nullptr ? 0 : found->where().size();
}

const char* sardonyx_error_place(const sardonyx_error* error, size_t i) {
  const auto found = find(error);
  return found == nullptr || i >= found->where().size() ? "" : found->where()[i].c_str();
}

const char* sardonyx_error_help(const sardonyx_error* error) {
  return text_of(error, "", [](const Error& e) { return e.help().c_str(); });
}

const char* sardonyx_error_text(const sardonyx_error* error) {
  return text_of(error, "error[SDX-A0102]: out of memory", [](const Error& e) { return e.what(); });
}

void sardonyx_error_release(sardonyx_error* error) { sardonyx_c::drop(error); }
