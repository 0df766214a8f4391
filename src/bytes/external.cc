#include "bytes/external.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "bytes/sha1.h"

namespace sdx {
namespace {

Result<uint64_t> number(std::string_view key, std::string_view text) {
  uint64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size()) {
    return fail("SDX-B0301", "external data: {} \"{}\" is not a number of bytes", key, text);
  }
  return value;
}

// The components of a relative path without "." and empty ones; ".." and absolute paths are
// refused.
Result<std::vector<std::string>> components(const std::string& location) {
  const auto refuse = [&](std::string_view why) {
    return fail("SDX-B0302", "external data: location \"{}\" {}", location, why);
  };
  if (location.find('\0') != std::string::npos) return refuse("contains a zero byte");
  if (location.starts_with('/')) return refuse("is an absolute path; it must be relative");
  std::vector<std::string> parts;
  for (size_t at = 0; at <= location.size();) {
    const size_t slash = std::min(location.find('/', at), location.size());
    std::string part = location.substr(at, slash - at);
    if (part == "..") return refuse("leads out of the model's folder");
    if (!part.empty() && part != ".") parts.push_back(std::move(part));
    at = slash + 1;
  }
  if (parts.empty()) return refuse("names no file");
  return parts;
}

}  // namespace

Result<ExternalPlace> external_place(
    std::span<const std::pair<std::string_view, std::string_view>> entries) {
  ExternalPlace place;
  std::vector<std::string_view> seen;
  for (const auto& [key, value] : entries) {
    if (std::find(seen.begin(), seen.end(), key) != seen.end()) {
      return fail("SDX-B0301", "external data: key \"{}\" stands twice", key);
    }
    seen.push_back(key);
    if (key == "location") {
      place.location = value;
    } else if (key == "offset") {
      SDX_ASSIGN(place.offset, number(key, value));
    } else if (key == "length") {
      SDX_ASSIGN(place.length, number(key, value));
    } else if (key == "checksum") {
      place.checksum = value;
      std::transform(value.begin(), value.end(), place.checksum.begin(),
                     [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    } else if (key !=
               "basepath") {  // written by loaders for themselves; the model's folder decides
      return fail("SDX-B0301", "external data: unknown key \"{}\"", key);
    }
  }
  if (place.location.empty()) return fail("SDX-B0301", "external data: no location is given");
  return place;
}

Result<std::shared_ptr<ExternalFiles>> ExternalFiles::open(const std::string& folder,
                                                           size_t most_bytes) {
  SDX_ASSIGN(auto opened, Folder::open(folder));
  return std::shared_ptr<ExternalFiles>(new ExternalFiles(std::move(opened), most_bytes));
}

Result<std::shared_ptr<const MappedFile>> ExternalFiles::file(const std::string& location) {
  SDX_ASSIGN(const std::vector<std::string> parts, components(location));
  return folder_->file(parts, location, most_bytes_);
}

Result<ExternalFiles::Bytes> ExternalFiles::read(const ExternalPlace& place, uint64_t size) {
  const std::lock_guard lock(mutex_);
  auto found = opened_.find(place.location);
  if (found == opened_.end()) {
    SDX_ASSIGN(auto file, file(place.location));
    found = opened_.emplace(place.location, Opened{std::move(file), {}}).first;
  }
  Opened& opened = found->second;
  const std::span<const std::byte> all = opened.file->bytes();
  if (place.length && *place.length != size) {
    return fail("SDX-B0305", "external data: \"{}\": length is {}, the tensor needs {} bytes",
                place.location, *place.length, size);
  }
  if (place.offset > all.size() || size > all.size() - place.offset) {
    return fail("SDX-B0305",
                "external data: {} bytes at offset {} reach beyond the {} bytes of \"{}\"", size,
                place.offset, all.size(), place.location);
  }
  if (!place.checksum.empty()) {
    if (opened.checksum.empty()) opened.checksum = sha1_hex(all);
    if (opened.checksum != place.checksum) {
      return fail("SDX-B0306", "external data: \"{}\" has checksum {}, the model says {}",
                  place.location, opened.checksum, place.checksum);
    }
  }
  return Bytes{all.subspan(size_t(place.offset), size_t(size)), opened.file};
}

}  // namespace sdx
