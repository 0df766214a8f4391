#include "serve/shm/regions.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "serve/http/body.h"

namespace sardonyx::serve {
namespace {

constexpr size_t kMostRegions = 4096;

Failure wrong(const std::string& what) { return {Kind::bad_request, "SDX-V0160: " + what}; }

Failure off() {
  return {Kind::unimplemented, "SDX-V0152: this server has no shared memory; --shared-memory"};
}

// The whole of it, or false.
bool read_all(int fd, char* to, size_t bytes, uint64_t at) {
  while (bytes > 0) {
    const ssize_t count = ::pread(fd, to, bytes, static_cast<off_t>(at));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    to += count;
    at += static_cast<uint64_t>(count);
    bytes -= static_cast<size_t>(count);
  }
  return true;
}

bool write_all(int fd, std::string_view bytes, uint64_t at) {
  while (!bytes.empty()) {
    const ssize_t count = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    at += static_cast<uint64_t>(count);
    bytes.remove_prefix(static_cast<size_t>(count));
  }
  return true;
}

// One name in the system's folder of shared memory, and nothing that leads out of it.
bool good_key(std::string_view key) {
  if (!key.empty() && key.front() == '/') key.remove_prefix(1);
  return !key.empty() && key.size() < 255 && key != "." && key != ".." &&
         key.find('/') == std::string_view::npos && key.find('\0') == std::string_view::npos;
}

uint64_t size_of(int fd) {
  struct stat about {};
  return fstat(fd, &about) == 0 && S_ISREG(about.st_mode) ? static_cast<uint64_t>(about.st_size)
                                                          : 0;
}

}  // namespace

const Regions& no_regions() {
  static const Regions none(false);
  return none;
}

struct Regions::Open {
  Open(Region region, int fd) : region(std::move(region)), fd(fd) {}
  ~Open() { ::close(fd); }
  Open(const Open&) = delete;
  Open& operator=(const Open&) = delete;
  const Region region;
  const int fd;
};

std::optional<Failure> Regions::add(const Region& region) {
  if (!on_) return off();
  if (region.name.empty() || region.name.size() > 256) return wrong("a region needs a name");
  if (!good_key(region.key)) return wrong("\"" + region.key + "\" is no key of shared memory");
  const std::string key = region.key.front() == '/' ? region.key : "/" + region.key;
  const int fd = shm_open(key.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0);
  if (fd < 0) return wrong("shared memory " + region.key + ": " + std::strerror(errno));
  auto open = std::make_shared<const Open>(region, fd);
  const uint64_t size = size_of(fd);
  if (region.bytes == 0 || region.offset > size || region.bytes > size - region.offset) {
    return wrong("region \"" + region.name + "\" is " + std::to_string(region.bytes) +
                 " bytes from " + std::to_string(region.offset) + "; shared memory " + region.key +
                 " has " + std::to_string(size));
  }
  const std::lock_guard lock(mutex_);
  if (regions_.size() >= kMostRegions)
    return Failure{Kind::overloaded, "SDX-V0161: over 4096 regions of shared memory", 1};
  if (!regions_.emplace(region.name, std::move(open)).second)
    return wrong("region \"" + region.name + "\" is registered already");
  return std::nullopt;
}

std::optional<Failure> Regions::remove(std::string_view name) {
  if (!on_) return off();
  const std::lock_guard lock(mutex_);
  if (name.empty()) {
    regions_.clear();
  } else if (const auto at = regions_.find(name); at != regions_.end()) {
    regions_.erase(at);
  }
  return std::nullopt;  // what is not there is not registered any more, which is what was asked for
}

Outcome<std::vector<Region>> Regions::list(std::string_view name) const {
  if (!on_) return off();
  const std::lock_guard lock(mutex_);
  std::vector<Region> all;
  for (const auto& [key, open] : regions_) {
    if (name.empty() || key == name) all.push_back(open->region);
  }
  if (!name.empty() && all.empty()) {
    return Failure{Kind::not_found,
                   "SDX-V0162: there is no region \"" + std::string(name) + "\" of shared memory"};
  }
  return all;
}

Outcome<std::shared_ptr<const Regions::Open>> Regions::find(const SharedPlace& place) const {
  if (!on_) return off();
  std::shared_ptr<const Open> open;
  {
    const std::lock_guard lock(mutex_);
    const auto at = regions_.find(place.region);
    if (at == regions_.end())
      return wrong("there is no region \"" + place.region + "\" of shared memory");
    open = at->second;
  }
  if (place.offset > open->region.bytes || place.bytes > open->region.bytes - place.offset) {
    return wrong(std::to_string(place.bytes) + " bytes from " + std::to_string(place.offset) +
                 " do not lie in region \"" + place.region + "\" of " +
                 std::to_string(open->region.bytes));
  }
  return open;
}

Outcome<Tensor> Regions::read(const SharedPlace& from, Type type, Dims dims,
                              std::string_view input) const {
  const auto open = find(from);
  if (!open) return open.failure();
  const auto cut_short = wrong("region \"" + from.region + "\" is shorter than it was");
  const uint64_t at = (*open)->region.offset + from.offset;
  // The promised bytes are asked for only once they are known to be there.
  if (size_of((*open)->fd) < at + from.bytes) return cut_short;
  Body body;
  body.reserve(from.bytes);
  if (!read_all((*open)->fd, body.room().data(), from.bytes, at)) return cut_short;
  body.wrote(from.bytes);
  return tensor_of_bytes(type, std::move(dims), body.view(), input, false);
}

std::optional<Failure> Regions::write(const SharedPlace& to, const OutputTensor& output) const {
  const auto open = find(to);
  if (!open) return open.failure();
  const Tensor& tensor = output.tensor;
  const bool strings = tensor.type() == Type::string;
  const std::string text = strings ? string_bytes(tensor) : "";
  const std::string_view bytes =
      strings ? std::string_view(text)
              : std::string_view(static_cast<const char*>(tensor.data()),
                                 packed_bytes(tensor.type(), tensor.count()));
  if (bytes.size() > to.bytes) {
    return wrong("output \"" + output.name + "\" has " + std::to_string(bytes.size()) +
                 " bytes, and its place in region \"" + to.region + "\" " +
                 std::to_string(to.bytes));
  }
  const uint64_t at = (*open)->region.offset + to.offset;
  if (size_of((*open)->fd) < at + bytes.size() || !write_all((*open)->fd, bytes, at))
    return wrong("region \"" + to.region + "\" is shorter than it was");
  return std::nullopt;
}

}  // namespace sardonyx::serve
