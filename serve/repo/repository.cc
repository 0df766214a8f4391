#include "serve/repo/repository.h"

#include <malloc.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "serve/log.h"
#include "serve/yaml/yaml.h"

namespace sardonyx::serve {
namespace {

namespace fs = std::filesystem;

bool is_model(const fs::path& path) {
  return path.extension() == ".onnx" || path.extension() == ".onnxtxt";
}
bool hidden(const fs::path& path) { return path.filename().string().starts_with("."); }

std::optional<int64_t> version_number(const std::string& text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 1) return std::nullopt;
  return number;
}

// Identity, size and time of a file: they change when it is replaced or written to.
std::string stamp_of(const fs::path& path) {
  struct stat about {
  }, link{};
  if (::stat(path.c_str(), &about) != 0 || ::lstat(path.c_str(), &link) != 0) return "gone;";
  std::ostringstream text;
  // Of the entry itself too: a file in the place of a link to it is another one.
  text << link.st_ino << ',' << about.st_ino << ',' << about.st_size << ',' << about.st_mtim.tv_sec
       << '.' << about.st_mtim.tv_nsec << ';';
  return text.str();
}

std::string folder_stamp(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const bool packed = entry.path().extension() == ".sdxpack";  // written by loading itself
    if (entry.is_regular_file(error) && !hidden(entry.path()) && !packed)
      files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  std::string stamp;
  for (const fs::path& file : files) stamp += file.filename().string() + ':' + stamp_of(file);
  return stamp;
}

// "model.onnx", or the only model there is.
std::optional<fs::path> model_in(const fs::path& folder) {
  std::vector<fs::path> models;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (!entry.is_regular_file(error) || hidden(entry.path()) || !is_model(entry.path())) continue;
    if (entry.path().stem() == "model") return entry.path();
    models.push_back(entry.path());
  }
  if (models.size() != 1) return std::nullopt;
  return models.front();
}

std::string content_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

Repository::Repository(std::string folder, std::map<std::string, ModelSettings> settings,
                       ModelSettings defaults, size_t workers, size_t working_memory)
    : folder_(std::move(folder)),
      settings_(std::move(settings)),
      defaults_(std::move(defaults)),
      workers_(workers),
      budget_(std::make_shared<Budget>(working_memory)) {}

Outcome<ModelSettings> Repository::settings_of(const std::string& name) const {
  const auto listed = settings_.find(name);
  ModelSettings settings = listed == settings_.end() ? defaults_ : listed->second;
  std::error_code error;
  for (const char* file_name : {"config.json", "config.yaml"}) {
    const fs::path file = fs::path(folder_) / name / file_name;
    if (!fs::exists(file, error)) continue;
    const auto text = read_settings_text(content_of(file), file_name);
    auto read =
        text ? read_model_settings(text->dump(), settings) : Outcome<ModelSettings>(text.failure());
    if (!read) return Failure{Kind::unavailable, file.string() + ": " + read.failure().message};
    settings = *read;
  }
  if (const auto given = given_settings_.find(name); given != given_settings_.end()) {
    return read_model_settings(given->second, settings);
  }
  return settings;
}

std::vector<Repository::Found> Repository::look(std::map<std::string, std::string>& wrong) const {
  std::vector<Found> all;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder_, error)) {
    const fs::path& path = entry.path();
    if (hidden(path)) continue;
    const bool folder = entry.is_directory(error);
    if (!folder && !is_model(path)) continue;
    const std::string name = folder ? path.filename().string() : path.stem().string();
    if (unloaded_.contains(name)) continue;
    const auto settings = settings_of(name);
    if (!settings) {
      wrong[name] = settings.failure().message;
      continue;
    }
    const std::string config = text_of(*settings) + settings->sha256;
    if (!folder) {
      all.push_back({name, "1", path.string(), config + stamp_of(path), *settings});
      continue;
    }
    std::vector<std::pair<int64_t, fs::path>> versions;
    if (const auto model = model_in(path)) versions.emplace_back(1, *model);
    for (const auto& inner : fs::directory_iterator(path, error)) {
      const auto number = version_number(inner.path().filename().string());
      if (!number || !inner.is_directory(error)) continue;
      if (const auto model = model_in(inner.path())) versions.emplace_back(*number, *model);
    }
    std::sort(versions.begin(), versions.end());
    const auto listed = [&](int64_t number) {
      return std::find(settings->versions.begin(), settings->versions.end(), number) !=
             settings->versions.end();
    };
    if (!settings->versions.empty()) {
      std::erase_if(versions, [&](const auto& version) { return !listed(version.first); });
    } else if (settings->latest > 0 && versions.size() > settings->latest) {
      versions.erase(versions.begin(), versions.end() - static_cast<ptrdiff_t>(settings->latest));
    }
    for (const auto& [number, model] : versions) {
      all.push_back({name, std::to_string(number), model.string(),
                     config + folder_stamp(model.parent_path()), *settings});
    }
  }
  return all;
}

void Repository::scan() {
  const std::lock_guard lock(scan_mutex_);
  std::map<std::string, std::string> wrong;
  std::set<std::pair<std::string, std::string>> present;
  for (const Found& found : look(wrong)) {
    present.emplace(found.name, found.version);
    std::string& stamp = stamps_[{found.name, found.version}];
    if (stamp == found.stamp) continue;
    stamp = found.stamp;
    load_one(found);
  }
  // A model whose settings cannot be read goes on with those it has.
  for (const auto& [name, reason] : wrong) {
    for (const auto& [key, stamp] : stamps_) {
      if (key.first == name) present.insert(key);
    }
    if (stamps_.lower_bound({name, ""}) == stamps_.end())
      publish(name, 1, {name, "1", "UNAVAILABLE", reason, nullptr});
    present.emplace(name, "1");
  }
  withdraw(present);
  let_go();
  scanned_ = true;
}

void Repository::load_one(const Found& found) {
  const int64_t version = *version_number(found.version);
  const auto before = find(found.name, found.version);
  Entry entry{found.name, found.version, "LOADING", "", before ? *before : nullptr};
  if (!before) publish(found.name, version, entry);
  const auto start = Clock::now();
  auto loaded =
      ServedModel::load(found.name, found.version, found.path, found.settings, workers_, budget_);
  const double ms = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  if (loaded) {
    if (entry.model) retired_.push_back(entry.model);
    entry.model = *loaded;
    entry.state = "READY";
    log(Level::info, "model loaded",
        {{"model", found.name}, {"version", found.version}, {"ms", std::to_string(ms)}});
  } else {
    entry.state = entry.model ? "READY" : "UNAVAILABLE";
    entry.reason = loaded.failure().message;
    log(Level::error, "model refused",
        {{"model", found.name}, {"version", found.version}, {"reason", entry.reason}});
  }
  publish(found.name, version, std::move(entry));
}

void Repository::publish(const std::string& name, int64_t version, Entry entry) {
  const std::lock_guard lock(mutex_);
  auto table = std::make_shared<Table>(*table_);
  Named& named = (*table)[name];
  if (entry.model) named.labels = entry.model->settings().labels;
  named.versions[version] = std::move(entry);
  table_ = std::move(table);
}

// A newer version takes over before an older one goes: this comes after all loading.
void Repository::withdraw(const std::set<std::pair<std::string, std::string>>& present) {
  for (auto at = stamps_.begin(); at != stamps_.end();) {
    if (present.contains(at->first)) {
      ++at;
      continue;
    }
    const auto& [name, version] = at->first;
    const std::lock_guard lock(mutex_);
    auto table = std::make_shared<Table>(*table_);
    Named& named = (*table)[name];
    const auto entry = named.versions.find(*version_number(version));
    if (entry != named.versions.end()) {
      if (entry->second.model) retired_.push_back(entry->second.model);
      named.versions.erase(entry);
    }
    if (named.versions.empty()) table->erase(name);
    table_ = std::move(table);
    log(Level::info, "model withdrawn", {{"model", name}, {"version", version}});
    at = stamps_.erase(at);
  }
}

// Here rather than where the last request ends: giving back a large model's memory takes a while.
void Repository::let_go() {
  const size_t gone =
      std::erase_if(retired_, [](const auto& model) { return model.use_count() == 1; });
  if (gone > 0) malloc_trim(0);
}

Outcome<std::shared_ptr<ServedModel>> Repository::find(std::string_view name,
                                                       std::string_view version) const {
  std::shared_ptr<const Table> table;
  {
    const std::lock_guard lock(mutex_);
    table = table_;
  }
  const auto named = table->find(name);
  if (named == table->end()) {
    return Failure{Kind::not_found, "SDX-V0430: there is no model \"" + std::string(name) + "\""};
  }
  const auto& versions = named->second.versions;
  const auto& labels = named->second.labels;
  if (const auto label = labels.find(version.empty() ? "default" : std::string(version));
      label != labels.end()) {
    version = label->second;
  }
  const Entry* entry = nullptr;
  if (version.empty()) {
    for (auto at = versions.rbegin(); at != versions.rend() && entry == nullptr; ++at) {
      if (at->second.model) entry = &at->second;
    }
    if (entry == nullptr && !versions.empty()) entry = &versions.rbegin()->second;
  } else if (const auto number = version_number(std::string(version))) {
    const auto at = versions.find(*number);
    if (at != versions.end()) entry = &at->second;
  }
  if (entry == nullptr) {
    return Failure{Kind::not_found, "SDX-V0431: model \"" + std::string(name) +
                                        "\" has no version \"" + std::string(version) + "\""};
  }
  if (!entry->model) {
    return Failure{Kind::unavailable,
                   "SDX-V0432: model \"" + std::string(name) + "\" is not ready: " +
                       (entry->reason.empty() ? "it is being loaded" : entry->reason),
                   1};
  }
  return entry->model;
}

std::vector<Entry> Repository::index() const {
  std::shared_ptr<const Table> table;
  {
    const std::lock_guard lock(mutex_);
    table = table_;
  }
  std::vector<Entry> entries;
  for (const auto& [name, named] : *table) {
    for (const auto& [number, entry] : named.versions) entries.push_back(entry);
  }
  return entries;
}

bool Repository::all_ready() const {
  if (!scanned_) return false;
  const std::vector<Entry> entries = index();
  return std::all_of(entries.begin(), entries.end(),
                     [](const Entry& entry) { return entry.model != nullptr; });
}

std::optional<Failure> Repository::load(const std::string& name, const std::string& settings) {
  if (!settings.empty()) {
    if (const auto read = read_model_settings(settings, defaults_); !read) return read.failure();
  }
  {
    const std::lock_guard lock(scan_mutex_);
    unloaded_.erase(name);
    if (!settings.empty()) given_settings_[name] = settings;
    // What failed before is tried again.
    for (auto& [key, stamp] : stamps_) {
      const auto served = find(key.first, key.second);
      if (key.first == name && !served) stamp.clear();
    }
  }
  scan();
  const auto found = find(name, "");
  if (!found) return found.failure();
  const std::vector<Entry> entries = index();
  for (const Entry& entry : entries) {
    if (entry.name == name && !entry.reason.empty())
      return Failure{Kind::bad_request, entry.reason};
  }
  return std::nullopt;
}

std::optional<Failure> Repository::unload(const std::string& name) {
  const auto found = find(name, "");
  if (!found && found.failure().kind == Kind::not_found) return found.failure();
  {
    const std::lock_guard lock(scan_mutex_);
    unloaded_.insert(name);
  }
  scan();
  return std::nullopt;
}

}  // namespace sardonyx::serve
