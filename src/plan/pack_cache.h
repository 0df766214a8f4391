// PackCache: what kernels packed, kept in a file from one load of a model to the next.
//
// Weights are known by what they were packed from and how: never by a path or a promise, so a file
// that does not fit is not used, and nothing can come out of it but what packing would have made.
#pragma once

#include <mutex>
#include <set>
#include <vector>

#include "op/op.h"
#include "plan/pack_file.h"

namespace sdx::plan {

class PackCache {
 public:
  // The file at `path`, which need not exist, for weights packed at this level.
  PackCache(std::string path, Isa isa);

  // What `kernel` packs for the node: from the file, or packed now and kept for save().
  std::shared_ptr<const void> get(const Op::AnyKernel& kernel, const Node& use, const void* attrs,
                                  const Call& call, Pool& pool);
  // Writes the file anew if get() had to pack.
  void save();

  struct Report {
    std::string path;
    size_t read = 0, packed = 0;     // weights
    size_t read_bytes = 0;           // of those that were read
    bool written = false;            // the file now holds all of them
    std::vector<std::string> notes;  // why the file was not used, or could not be written
  };
  Report report() const;

 private:
  std::shared_ptr<const void> read(const PackEntry& entry, Pool& pool);

  const std::string path_, stamp_;
  mutable std::mutex mutex_;
  Report report_;
  bool give_up_ = false;  // the file cannot be written
  std::shared_ptr<const PackFile> file_;
  std::vector<PackEntry> used_;                      // of the file
  std::vector<PackEntry> fresh_;                     // not yet in the file
  std::vector<std::shared_ptr<const void>> owners_;  // of `fresh_`
};

// Where the packed weights of a model lie: in `folder`, or with "beside" in the model's own. "" if
// the model has no file to lie beside.
std::string pack_cache_path(const std::string& folder, const std::string& model, Isa isa,
                            bool optimize, bool strict);

}  // namespace sdx::plan
