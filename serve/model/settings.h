// What may be said of one model; all of it may be left out.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "serve/failure.h"

namespace sardonyx::serve {

struct ModelSettings {
  int threads = 0;         // of one run; 0: the CPUs this process may use
  size_t concurrency = 0;  // runs at a time; 0: as many as there are workers
  size_t queue = 4096;     // requests that wait at most; more are answered 429
  bool batching = true;    // where the graph is proved row-wise
  size_t most_rows = 64;   // of one batch
  bool strict = false;     // numerics strict
  size_t arena_bytes = 0;  // most working memory of a run; 0: the machine's
  bool warm_up = true;
  std::vector<std::pair<std::string, std::string>> states;  // output -> input, within a sequence
  int64_t timeout_us = 0;                                   // of requests that say none; 0: none
  size_t latest = 1;                          // versions that are served, the newest ones; 0: all
  std::vector<int64_t> versions;              // these instead, if not empty
  std::map<std::string, std::string> labels;  // "stable" -> "2"
  std::string sha256;                         // of the model's file; another file is refused
  std::string pack_cache;                     // as Options::pack_cache
};

// The settings of a JSON object's text, on top of `base`. Unknown names are refused.
Outcome<ModelSettings> read_model_settings(std::string_view json, ModelSettings base);
std::string text_of(const ModelSettings& settings);  // as JSON

}  // namespace sardonyx::serve
