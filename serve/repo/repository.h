// Repository: a folder of models, looked at again and again. What is new or has changed is loaded,
// warmed up and put in the place of what was there, which goes when its last request is answered;
// what does not load leaves the old one in place, with the reason.
//
//   DIR/NAME.onnx               one version, "1"
//   DIR/NAME/model.onnx         the same, with room for files of external data
//   DIR/NAME/3/model.onnx       version 3 (any one .onnx file in the folder)
//   DIR/NAME/config.json        settings, if any (or config.yaml)
//
// Names that begin with a dot are not looked at: a model is published by renaming it.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "serve/model/served_model.h"

namespace sardonyx::serve {

struct Entry {
  std::string name, version;
  std::string state;   // "READY", "LOADING", "UNAVAILABLE"
  std::string reason;  // of one that is not ready, or whose newer files were refused
  std::shared_ptr<ServedModel> model;
};

class Repository {
 public:
  Repository(std::string folder, std::map<std::string, ModelSettings> settings,
             ModelSettings defaults, size_t workers, size_t working_memory = 0);

  // Looks at the folder and loads what has changed; in one thread at a time.
  void scan();
  bool scanned() const { return scanned_; }  // once at least
  bool all_ready() const;

  // An empty version is the newest one, or that of the label "default".
  Outcome<std::shared_ptr<ServedModel>> find(std::string_view name, std::string_view version) const;
  std::vector<Entry> index() const;
  const Budget& budget() const { return *budget_; }

  // Model control: what is unloaded stays so until it is loaded. `settings`: JSON, or "".
  std::optional<Failure> load(const std::string& name, const std::string& settings);
  std::optional<Failure> unload(const std::string& name);

 private:
  struct Found {
    std::string name, version, path, stamp;
    ModelSettings settings;
  };
  struct Named {
    std::map<int64_t, Entry> versions;
    std::map<std::string, std::string> labels;
  };
  using Table = std::map<std::string, Named, std::less<>>;

  std::vector<Found> look(std::map<std::string, std::string>& wrong) const;
  Outcome<ModelSettings> settings_of(const std::string& name) const;
  void load_one(const Found& found);
  void publish(const std::string& name, int64_t version, Entry entry);
  void withdraw(const std::set<std::pair<std::string, std::string>>& present);
  void let_go();

  const std::string folder_;
  const std::map<std::string, ModelSettings> settings_;
  const ModelSettings defaults_;
  const size_t workers_;
  const std::shared_ptr<Budget> budget_;  // of all models' runs
  std::atomic<bool> scanned_{false};
  std::mutex scan_mutex_;  // one scan at a time; guards the next four
  std::map<std::pair<std::string, std::string>, std::string> stamps_;
  std::map<std::string, std::string> given_settings_;  // by `load`
  std::set<std::string> unloaded_;
  std::vector<std::shared_ptr<ServedModel>> retired_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Table> table_ = std::make_shared<Table>();  // guarded by mutex_
};

}  // namespace sardonyx::serve
