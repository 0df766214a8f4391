// Scoring: the rows of many files through one model, in parts that any number of processes and
// machines may share, and one digest for all of it (docs/scaling.md).
//
// A job is a folder that its processes share, or one folder for each of them:
//   job.json                       the model's SHA-256, the outputs, the sources, rows of a part
//   part-00002-000000065536.0.npy  the first output for source 2 from its row 65536 on
//   part-00002-000000065536.json   its manifest, written last: a part without one is not finished
//
// Files appear whole or not at all and are on the disk before the manifest that speaks of them. The
// digest of an output is the SHA-256 of its elements over all parts in order, so it depends neither
// on how rows were parted nor on who scored them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/tensor.h"

namespace sdx::cli::score {

struct Job {
  std::string model;     // SHA-256
  std::string numerics;  // "standard" or "strict": the one option that can change bits
  struct Output {
    std::string name, type;
    bool operator==(const Output&) const = default;
  };
  std::vector<Output> outputs;
  std::vector<std::string> sources;  // in the order of the rows
  int64_t part_rows = 0;             // 0: a source is one part

  std::string text() const;
  static Result<Job> parse(const std::string& text);
  bool operator==(const Job&) const = default;
};

// What a source looked like when it was read.
struct Stamp {
  int64_t rows = 0;
  uint64_t bytes = 0;
  int64_t changed = 0;  // nanoseconds since 1970
  bool operator==(const Stamp&) const = default;
};

struct Part {
  size_t source = 0;
  int64_t first = 0, rows = 0;  // of the source
  Stamp stamp;
  struct Made {
    std::string file;
    Dims shape;
    uint64_t bytes = 0;  // of the file
    std::string sha256;  // of the file
  };
  std::vector<Made> outputs;  // in the job's order; none if there are no rows

  std::string name() const;
  std::string text(const Job& job) const;
  // An error unless it is a whole manifest of this job.
  static Result<Part> parse(const std::string& text, const Job& job);
};

// The parts of a source, one even if it has no rows.
std::vector<Part> parts_of(const Job& job, size_t source, const Stamp& stamp);

// Makes the folder and puts job.json there; if one is there already, it must say the same.
Status begin(const Job& job, const std::string& folder);
Result<Job> read_job(const std::string& folder);
// Whether the files that a manifest speaks of have their sizes.
bool files_are_there(const Part& part, const std::string& folder);
void forget(const Part& part, const std::string& folder);  // takes its manifest away
// Every manifest of the folder that can be read, and the names of those that cannot.
Result<std::vector<Part>> manifests(const Job& job, const std::string& folder,
                                    std::vector<Error>& broken);

// A file that stands on the disk, under its name, when this returns.
Status write_whole(const std::string& path, const std::string& text);
// The names of a folder's files, in order.
Result<std::vector<std::string>> names_in(const std::string& folder);
Result<std::string> read_text(const std::string& path);

}  // namespace sdx::cli::score
