#include "plan/pack_cache.h"

#include <algorithm>
#include <filesystem>

#include "base/pages.h"
#include "base/sha256.h"
#include "base/slab.h"
#include "plan/checksum.h"
#include "plan/pack_stamp.h"

namespace sdx::plan {
namespace {

// Text and numbers into a hash, each with its length, so that no two lists look alike.
class Name {
 public:
  void add(std::string_view text) {
    add(text.size());
    hash_.add(text.data(), text.size());
  }
  void add(uint64_t number) { hash_.add(&number, sizeof number); }
  std::string hex() { return hash_.hex(); }

 private:
  Sha256 hash_;
};

std::span<const std::byte> bytes_of(const Tensor& tensor) {
  return {static_cast<const std::byte*>(tensor.raw()), tensor.bytes()};
}

void add_shape(Name& name, const Tensor& tensor) {
  name.add(uint64_t(tensor.type()));
  name.add(tensor.dims().size());
  for (const int64_t d : tensor.dims()) name.add(uint64_t(d));
}

// False if the attribute cannot be told by its content.
bool add_attribute(Name& name, const AttrValue& value, Pool& pool) {
  name.add(value.index());
  return std::visit(
      [&]<class T>(const T& x) {
        if constexpr (std::is_same_v<T, int64_t>) {
          name.add(uint64_t(x));
        } else if constexpr (std::is_same_v<T, float>) {
          name.add(std::bit_cast<uint32_t>(x));
        } else if constexpr (std::is_same_v<T, std::string>) {
          name.add(x);
        } else if constexpr (std::is_same_v<T, std::vector<int64_t>>) {
          name.add(x.size());
          for (const int64_t i : x) name.add(uint64_t(i));
        } else if constexpr (std::is_same_v<T, std::vector<float>>) {
          name.add(x.size());
          for (const float f : x) name.add(std::bit_cast<uint32_t>(f));
        } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
          name.add(x.size());
          for (const std::string& s : x) name.add(s);
        } else if constexpr (std::is_same_v<T, Tensor>) {
          if (x.type() == DType::string) return false;
          add_shape(name, x);
          name.add(checksum(bytes_of(x), pool));
        } else {
          return false;
        }
        return true;
      },
      value);
}

// Smaller constants are told by their content at once: that costs less than asking where they lie.
constexpr size_t kSmall = 4096;

// The constants as their content, or as their place in settled files. "" if they cannot be told.
std::string name_of(const Op::AnyKernel& kernel, const Node& use, const Call& call, bool by_place,
                    Pool& pool) {
  Name name;
  name.add(use.op->domain);
  name.add(use.op->name);
  name.add(kernel.name);
  bool told = true;
  each_attribute(use, [&](const std::string& key, const AttrValue& value) {
    name.add(key);
    told = told && add_attribute(name, value, pool);
  });
  if (!told) return "";
  for (const Facts* facts : {&call.in, &call.out}) {
    name.add(facts->size());
    for (const Fact& fact : *facts) name.add(uint64_t(fact.type));
  }
  for (const Fact& fact : call.in) {
    name.add(fact.value != nullptr);
    if (fact.value == nullptr) continue;
    const Tensor& tensor = *fact.value;
    if (tensor.type() == DType::string) return "";
    add_shape(name, tensor);
    if (!by_place || tensor.bytes() < kSmall) {
      name.add(checksum(bytes_of(tensor), pool));
      continue;
    }
    const auto place = mapped_place(tensor.raw(), tensor.bytes());
    if (!place || !place->file.settled) return "";
    for (const uint64_t number : {place->file.device, place->file.inode, place->file.bytes,
                                  uint64_t(place->file.modified_ns),
                                  uint64_t(place->file.changed_ns), uint64_t(place->offset)})
      name.add(number);
  }
  return name.hex();
}

}  // namespace

PackCache::PackCache(std::string path, Isa isa)
    : path_(std::move(path)), stamp_(fmt::format("{} {}", isa_name(isa), kPackStamp)) {
  report_.path = path_;
  auto file = PackFile::open(path_, stamp_);
  if (file) {
    file_ = *std::move(file);
  } else if (file.error().code != PackFile::kAbsent) {
    report_.notes.push_back(file.error().what);
  }
}

// The weights, if they are still those that were written.
std::shared_ptr<const void> PackCache::read(const PackEntry& entry, Pool& pool) {
  const bool seen = std::any_of(used_.begin(), used_.end(), [&](const PackEntry& other) {
    return other.by_content == entry.by_content;
  });
  if (seen) return {file_, entry.bytes.data()};
  if (checksum(entry.bytes, pool) != entry.sum) {
    report_.notes.push_back(fmt::format("\"{}\" is damaged: a sum differs", path_));
    return nullptr;
  }
  ++report_.read;
  report_.read_bytes += entry.bytes.size();
  used_.push_back(entry);
  return {file_, entry.bytes.data()};
}

std::shared_ptr<const void> PackCache::get(const Op::AnyKernel& kernel, const Node& use,
                                           const void* attrs, const Call& call, Pool& pool) {
  if (kernel.packs == 0) return kernel.pack(attrs, call, pool);  // tables for these shapes
  const std::lock_guard lock(mutex_);
  const std::string by_place = name_of(kernel, use, call, true, pool);
  const PackEntry* entry = file_ && !by_place.empty() ? file_->by_place(by_place) : nullptr;
  std::string by_content;
  if (entry == nullptr) {
    by_content = name_of(kernel, use, call, false, pool);
    if (file_ && !by_content.empty()) entry = file_->by_content(by_content);
  }
  if (entry != nullptr) {
    by_content = entry->by_content;
    if (auto packed = read(*entry, pool)) return packed;
  }
  for (size_t i = 0; i < fresh_.size(); ++i) {
    if (fresh_[i].by_content == by_content) return owners_[i];
  }
  const LastingRecord record;
  std::shared_ptr<const void> packed = kernel.pack(attrs, call, pool);
  ++report_.packed;
  const size_t bytes = record.bytes_of(packed.get());
  if (give_up_ || by_content.empty() || bytes == 0) return packed;
  const std::span all(static_cast<const std::byte*>(packed.get()), bytes);
  fresh_.push_back({by_content, by_place, checksum(all, pool), all});
  owners_.push_back(packed);
  return packed;
}

void PackCache::save() {
  const std::lock_guard lock(mutex_);
  if (fresh_.empty()) return;
  std::vector<PackEntry> all;
  std::set<std::string> names;
  for (const auto* entries : {&used_, &fresh_}) {
    for (const PackEntry& entry : *entries) {
      if (names.insert(entry.by_content).second) all.push_back(entry);
    }
  }
  std::error_code ignored;  // writing says what is wrong
  std::filesystem::create_directories(folder_of(path_), ignored);
  const Status written = PackFile::write(path_, stamp_, all);
  if (!written) {
    report_.notes.push_back(fmt::format("packed weights are not kept: {}", written.error().what));
    give_up_ = true;
  }
  report_.written = bool(written);
  // What is in the file now need not be held here; plans hold what they use.
  if (auto file = PackFile::open(path_, stamp_); written && file) {
    file_ = *std::move(file);
    used_.clear();
    for (const PackEntry& entry : all) {
      if (const PackEntry* again = file_->by_content(entry.by_content)) used_.push_back(*again);
    }
  }
  fresh_.clear();
  owners_.clear();
}

PackCache::Report PackCache::report() const {
  const std::lock_guard lock(mutex_);
  return report_;
}

std::string pack_cache_path(const std::string& folder, const std::string& model, Isa isa,
                            bool optimize, bool strict) {
  namespace fs = std::filesystem;
  std::string name = model.empty() ? "model" : fs::path(model).filename().string();
  const bool beside = folder == "beside";
  if (beside && model.empty()) return "";
  if (!beside) {
    // Models of one name from different folders shall not push each other out.
    std::error_code ignored;
    Sha256 whole;
    const std::string from = fs::absolute(fs::path(model), ignored).string();
    whole.add(from.data(), from.size());
    name += "." + whole.hex().substr(0, 8);
  }
  name += fmt::format(".{}{}{}.sdxpack", isa_name(isa), optimize ? "" : ".plain",
                      strict ? ".strict" : "");
  return ((beside ? fs::path(folder_of(model)) : fs::path(folder)) / name).string();
}

}  // namespace sdx::plan
