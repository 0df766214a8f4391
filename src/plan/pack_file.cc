#include "plan/pack_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <filesystem>

#include "base/aligned.h"
#include "base/endian.h"
#include "base/sha256.h"
#include "base/tensor.h"
#include "bytes/ours.h"

namespace sdx::plan {
namespace {

constexpr size_t kDigits = 64;
using Digits = std::array<char, kDigits>;
// The last letter tells the order of bytes: numbers and weights lie as this machine reads them.
constexpr std::array<char, 8> kMagic = {'S', 'D', 'X', 'P',
                                        'A', 'C', 'K', kMemoryIsLittle ? '1' : 'B'};

struct Header {
  std::array<char, 8> magic;
  uint64_t bytes, entries;
  Digits sum;
};
struct Record {
  Digits by_content, by_place, sum;
  uint64_t offset, bytes;
};
static_assert(std::is_trivially_copyable_v<Header> && std::is_trivially_copyable_v<Record>);

Digits digits_of(const std::string& text) {
  Digits digits = {};
  std::copy_n(text.begin(), std::min(text.size(), kDigits), digits.begin());
  return digits;
}
std::string text_of(const Digits& digits) {
  return {digits.begin(), std::find(digits.begin(), digits.end(), '\0')};
}

std::string sum_of(std::string_view stamp, uint64_t bytes, std::span<const Record> records) {
  Sha256 sum;
  const uint64_t size = stamp.size();
  sum.add(&size, sizeof size);
  sum.add(stamp.data(), stamp.size());
  sum.add(&bytes, sizeof bytes);
  sum.add(std::as_bytes(records));
  return sum.hex();
}

}  // namespace

Result<std::shared_ptr<const PackFile>> PackFile::open(const std::string& path,
                                                       std::string_view stamp) {
  const auto unusable = [&](std::string_view why) {
    return fail(std::string(kUnusable), "\"{}\" is not used: {}", path, why);
  };
  std::error_code problem;
  if (!std::filesystem::exists(path, problem) && !problem)
    return fail(std::string(kAbsent), "there is no \"{}\"", path);
  // Kernels read what it holds as they would read what they packed: the sums in it see accidents,
  // not forgery.
  if (const auto why = why_not_ours(path)) return unusable(*why);
  auto mapped = MappedFile::open(path, SIZE_MAX);
  if (!mapped) return unusable(mapped.error().what);
  const std::span<const std::byte> all = (*mapped)->bytes();
  Header header;
  if (all.size() < sizeof header) return unusable("it is cut short");
  std::memcpy(&header, all.data(), sizeof header);
  if (header.magic != kMagic) return unusable("it is not a file of packed weights");
  if (header.bytes != all.size()) return unusable("it is cut short");
  const auto behind = all.subspan(sizeof header);
  if (header.entries > behind.size() / sizeof(Record)) return unusable("it is damaged");
  std::vector<Record> records(size_t(header.entries));
  std::memcpy(records.data(), behind.data(), records.size() * sizeof(Record));
  if (sum_of(stamp, header.bytes, records) != text_of(header.sum))
    return unusable("it was written by another build of the engine, or is damaged");

  auto file = std::make_shared<PackFile>();
  file->file_ = *mapped;
  file->entries_.reserve(records.size());
  for (const Record& record : records) {
    if (record.offset % kAlignment != 0 || record.offset > all.size() ||
        record.bytes > all.size() - record.offset)
      return unusable("it is damaged");
    file->entries_.push_back({text_of(record.by_content), text_of(record.by_place),
                              text_of(record.sum),
                              all.subspan(size_t(record.offset), size_t(record.bytes))});
  }
  for (const PackEntry& entry : file->entries_) {
    file->by_content_.emplace(entry.by_content, &entry);
    if (!entry.by_place.empty()) file->by_place_.emplace(entry.by_place, &entry);
  }
  return std::shared_ptr<const PackFile>(std::move(file));
}

Status PackFile::write(const std::string& path, std::string_view stamp,
                       std::span<const PackEntry> entries) {
  std::vector<Record> records;
  size_t at = aligned_bytes(sizeof(Header) + entries.size() * sizeof(Record));
  const size_t first = at;
  for (const PackEntry& entry : entries) {
    records.push_back({digits_of(entry.by_content), digits_of(entry.by_place), digits_of(entry.sum),
                       at, entry.bytes.size()});
    at += aligned_bytes(entry.bytes.size());
  }
  const Header header{kMagic, at, entries.size(), digits_of(sum_of(stamp, at, records))};
  SDX_ASSIGN(const auto writer, FileWriter::create(path));
  const std::array<std::byte, kAlignment> zeros = {};
  const auto pad = [&](size_t written) {
    return writer->write(std::span(zeros).first(aligned_bytes(written) - written));
  };
  SDX_TRY(writer->write(std::as_bytes(std::span(&header, 1))));
  SDX_TRY(writer->write(std::as_bytes(std::span(records))));
  SDX_TRY(writer->write(
      std::span(zeros).first(first - sizeof header - records.size() * sizeof(Record))));
  for (const PackEntry& entry : entries) {
    SDX_TRY(writer->write(entry.bytes));
    SDX_TRY(pad(entry.bytes.size()));
  }
  SDX_TRY(writer->commit());
  // Whatever the process's mask allows: a file that others may write is not read again.
  std::error_code ignored;
  std::filesystem::permissions(
      path, std::filesystem::perms::group_write | std::filesystem::perms::others_write,
      std::filesystem::perm_options::remove, ignored);
  return ok();
}

}  // namespace sdx::plan
