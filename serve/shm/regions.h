// Shared memory of the system (POSIX), where clients on the same machine leave tensors and find
// answers. Switched on by the operator alone.
//
// Regions are read and written through their descriptor and never mapped: a client that cuts its
// memory short gets an error, where a mapping would end the server; and a run sees one state of its
// inputs, whatever the client writes meanwhile.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "serve/oip/request.h"

namespace sardonyx::serve {

struct Region {
  std::string name, key;
  uint64_t offset = 0, bytes = 0;
};

class Regions {
 public:
  explicit Regions(bool on) : on_(on) {}
  Regions(const Regions&) = delete;
  Regions& operator=(const Regions&) = delete;
  bool on() const { return on_; }

  std::optional<Failure> add(const Region& region);
  std::optional<Failure> remove(std::string_view name);  // "": all of them
  Outcome<std::vector<Region>> list(std::string_view name) const;

  Outcome<Tensor> read(const SharedPlace& from, Type type, Dims dims, std::string_view input) const;
  std::optional<Failure> write(const SharedPlace& to, const OutputTensor& output) const;

 private:
  struct Open;
  Outcome<std::shared_ptr<const Open>> find(const SharedPlace& place) const;

  const bool on_;
  mutable std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const Open>, std::less<>> regions_;  // guarded by mutex_
};

// Of a reader that has none: tensors in shared memory are refused.
const Regions& no_regions();

}  // namespace sardonyx::serve
