#include "npz.h"

#include <algorithm>
#include <concepts>

#include "base/endian.h"
#include "base/fitting.h"
#include "deflated.h"
#include "npy.h"

namespace sdx::cli {
namespace {

constexpr uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50,
                   kEnd64 = 0x06064b50, kEnd64Locator = 0x07064b50;
constexpr size_t kLocalSize = 30, kCentralSize = 46, kEndSize = 22, kEnd64Size = 56,
                 kLocatorSize = 20;
constexpr uint32_t kOpen32 = 0xffffffff;  // "the number stands in the 64-bit field"
constexpr uint16_t kStored = 0, kDeflated = 8, kEncrypted = 1;

// Little-endian numbers at checked places.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}
  size_t size() const { return bytes_.size(); }
  bool has(uint64_t at, uint64_t count) const {
    return at <= bytes_.size() && count <= bytes_.size() - at;
  }
  template <class T>
  T number(uint64_t at) const {
    T value = 0;
    for (size_t i = 0; i < sizeof(T); ++i) {
      const auto byte = static_cast<T>(std::to_integer<uint8_t>(bytes_[size_t(at) + i]));
      value = static_cast<T>(value | static_cast<T>(byte << (8 * i)));
    }
    return value;
  }
  std::string text(uint64_t at, size_t count) const {
    return {reinterpret_cast<const char*>(bytes_.data()) + at, count};
  }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace

Result<Npz> Npz::open(const std::string& path) {
  Npz npz;
  SDX_ASSIGN(npz.file_, MappedFile::open(path, fitting(uint64_t{64} << 30)));
  if (Status status = npz.read_directory(); !status) return std::move(status).error().in(path);
  return npz;
}

Status Npz::read_directory() {
  const Reader zip(file_->bytes());
  if (zip.size() < kEndSize) return broken("it has no directory");
  // The end record is the last thing but for a comment of at most 64 KB.
  uint64_t end = zip.size() - kEndSize;
  const uint64_t first = end > 0xffff ? end - 0xffff : 0;
  while (zip.number<uint32_t>(end) != kEnd) {
    if (end == first) return broken("it has no directory");
    --end;
  }
  uint64_t count = zip.number<uint16_t>(end + 10), at = zip.number<uint32_t>(end + 16);
  if ((count == 0xffff || at == kOpen32) && end >= kLocatorSize &&
      zip.number<uint32_t>(end - kLocatorSize) == kEnd64Locator) {
    const auto end64 = zip.number<uint64_t>(end - kLocatorSize + 8);
    if (!zip.has(end64, kEnd64Size) || zip.number<uint32_t>(end64) != kEnd64)
      return broken("its 64-bit directory is cut off");
    count = zip.number<uint64_t>(end64 + 32);
    at = zip.number<uint64_t>(end64 + 48);
  }
  for (uint64_t i = 0; i < count; ++i) {
    if (!zip.has(at, kCentralSize) || zip.number<uint32_t>(at) != kCentral)
      return broken("its directory is cut off");
    Entry entry{.at = zip.number<uint32_t>(at + 42),
                .packed = zip.number<uint32_t>(at + 20),
                .size = zip.number<uint32_t>(at + 24),
                .crc = zip.number<uint32_t>(at + 16),
                .method = zip.number<uint16_t>(at + 10),
                .flags = zip.number<uint16_t>(at + 8)};
    const size_t name = zip.number<uint16_t>(at + 28), extra = zip.number<uint16_t>(at + 30),
                 comment = zip.number<uint16_t>(at + 32);
    if (!zip.has(at + kCentralSize, name + extra + comment))
      return broken("its directory is cut off");
    // Numbers beyond 32 bits stand in field 1, those that are needed, in this order.
    uint64_t field = at + kCentralSize + name;
    for (const uint64_t stop = field + extra; stop - field >= 4;) {
      const size_t length = zip.number<uint16_t>(field + 2);
      if (length > stop - field - 4) break;
      uint64_t from = field + 4;
      for (uint64_t* value : {&entry.size, &entry.packed, &entry.at}) {
        if (zip.number<uint16_t>(field) != 1 || *value != kOpen32 || from + 8 > field + 4 + length)
          continue;
        *value = zip.number<uint64_t>(from);
        from += 8;
      }
      field += 4 + length;
    }
    std::string array = zip.text(at + kCentralSize, name);
    if (!array.ends_with(".npy")) return broken(fmt::format("it holds \"{}\"", array));
    array.resize(array.size() - 4);
    if (!entries_.emplace(array, entry).second)
      return broken(fmt::format("it holds \"{}\" twice", array));
    names_.push_back(array);
    at += kCentralSize + name + extra + comment;
  }
  return ok();
}

Result<Tensor> Npz::read(const std::string& name) const {
  Result<Tensor> tensor = unpacked(entries_.at(name));
  if (!tensor)
    return std::move(tensor).error().in(fmt::format("{}: array \"{}\"", file_->name(), name));
  return tensor;
}

Result<Tensor> Npz::unpacked(const Entry& entry) const {
  const Reader zip(file_->bytes());
  if (!zip.has(entry.at, kLocalSize) || zip.number<uint32_t>(entry.at) != kLocal)
    return broken("the array is not where the directory says");
  const uint64_t start = entry.at + kLocalSize + zip.number<uint16_t>(entry.at + 26) +
                         zip.number<uint16_t>(entry.at + 28);
  if (!zip.has(start, entry.packed)) return broken("the array is cut off");
  if ((entry.flags & kEncrypted) != 0) return broken("it is encrypted");
  const auto packed = file_->bytes().subspan(size_t(start), size_t(entry.packed));
  if (entry.method == kStored) {
    if (entry.packed != entry.size) return broken("a stored array has two sizes");
    if (crc_of(packed) != entry.crc) return broken("the array's checksum is wrong");
    return parse_npy(packed, file_);
  }
  if (entry.method != kDeflated)
    return broken(fmt::format("compression method {} is not known", entry.method));
  // Deflate shrinks by at most a factor of 1032: a larger claim is no reason to take memory.
  if (entry.size / 1040 > entry.packed) return broken("the array's size cannot be right");
  must_fit(double(entry.size) / 8);
  const auto size = size_t(entry.size);
  // Nor is one that its own header contradicts.
  constexpr size_t kLongestHeader = size_t{1} << 16;
  std::vector<std::byte> beginning(std::min(size, kLongestHeader));
  SDX_TRY(inflate_into(packed, beginning, false));
  SDX_TRY(check_npy(beginning, size));
  const std::shared_ptr<void> memory = allocate_aligned(size);
  const std::span<std::byte> bytes(static_cast<std::byte*>(memory.get()), size);
  SDX_TRY(inflate_into(packed, bytes));
  if (crc_of(bytes) != entry.crc) return broken("the array's checksum is wrong");
  return parse_npy(bytes, memory);
}

namespace {

// Little-endian numbers one after the other.
class Record {
 public:
  template <std::unsigned_integral T>
  Record& add(T value) {
    for (size_t i = 0; i < sizeof(T); ++i) text_ += static_cast<char>(value >> (8 * i) & 0xff);
    return *this;
  }
  Record& add(std::string_view text) {
    text_ += text;
    return *this;
  }
  std::span<const std::byte> bytes() const { return std::as_bytes(std::span(text_)); }
  size_t size() const { return text_.size(); }

 private:
  std::string text_;
};

}  // namespace

Status write_npz(const std::vector<std::pair<std::string, Tensor>>& arrays,
                 const std::string& path) {
  SDX_ASSIGN(const auto file, FileWriter::create(path));
  constexpr uint16_t kVersion = 20, kUtf8 = 1 << 11;
  constexpr uint32_t kDate = 0x00210000;  // 1980-01-01, so that equal results are equal files
  Record directory;
  uint64_t at = 0;
  for (const auto& [name, tensor] : arrays) {
    SDX_ASSIGN(const std::string header, npy_header(tensor));
    std::shared_ptr<void> held;
    const std::span elements(elements_for_file(tensor.type(), tensor.raw(), tensor.bytes(), held),
                             tensor.bytes());
    const std::string entry = name + ".npy";
    const uint64_t size = header.size() + elements.size();
    if (at + kLocalSize + entry.size() + size > kOpen32 || entry.size() > 0xffff ||
        arrays.size() >= 0xffff) {
      Error error = fail("SDX-C0027", "the results do not fit in one archive");
      error.help = "--format npy writes a file for each";
      return error;
    }
    const uint32_t crc = crc_of(elements, crc_of(std::as_bytes(std::span(header))));
    Record common;
    common.add(kVersion).add(kUtf8).add(kStored).add(kDate).add(crc);
    common.add(uint32_t(size)).add(uint32_t(size)).add(uint16_t(entry.size())).add(uint16_t{0});
    Record local;
    local.add(kLocal);
    SDX_TRY(file->write(local.bytes()));
    SDX_TRY(file->write(common.bytes()));
    SDX_TRY(file->write(std::as_bytes(std::span(entry))));
    SDX_TRY(file->write(std::as_bytes(std::span(header))));
    SDX_TRY(file->write(elements));
    directory.add(kCentral).add(kVersion);
    directory.add(
        std::string_view(reinterpret_cast<const char*>(common.bytes().data()), common.size()));
    directory.add(uint16_t{0}).add(uint16_t{0}).add(uint16_t{0}).add(uint32_t{0});
    directory.add(uint32_t(at)).add(entry);
    at += kLocalSize + entry.size() + size;
  }
  SDX_TRY(file->write(directory.bytes()));
  Record end;
  const auto count = uint16_t(arrays.size());
  end.add(kEnd).add(uint16_t{0}).add(uint16_t{0}).add(count).add(count);
  end.add(uint32_t(directory.size())).add(uint32_t(at)).add(uint16_t{0});
  SDX_TRY(file->write(end.bytes()));
  return file->commit();
}

}  // namespace sdx::cli
