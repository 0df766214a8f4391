#include "score/merge.h"

#include <algorithm>
#include <map>

#include "api/digest.h"
#include "base/endian.h"
#include "base/fitting.h"
#include "base/sha256.h"
#include "bytes/file.h"
#include "npy.h"
#include "progress.h"
#include "score/job.h"

namespace sdx::cli::score {
namespace {

struct Found {
  Part part;
  std::string folder;
};

Error unfinished(const std::string& source, int64_t first, int64_t end) {
  return fail("SDX-C0150", "{}: rows {} to {} are not finished", source, first, end);
}

// The parts of a source in the order of their rows: each row in exactly one of them. A part that
// several folders have is taken once.
std::vector<Found> in_order(const Job& job, size_t source, std::vector<Found> found,
                            std::vector<Error>& wrong) {
  std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
    return std::pair(a.part.first, b.part.rows) < std::pair(b.part.first, a.part.rows);
  });
  const std::string& name = job.sources[source];
  if (found.empty()) {
    wrong.push_back(fail("SDX-C0150", "no part of source {}, {}, is finished", source, name));
    return {};
  }
  std::vector<Found> chain;
  int64_t next = 0;
  const Stamp& stamp = found[0].part.stamp;
  for (Found& one : found) {
    const Part& part = one.part;
    if (part.stamp != stamp) {
      wrong.push_back(fail("SDX-C0151", "{} changed between parts: {} is of {} rows, {} of {}",
                           name, found[0].part.name(), stamp.rows, part.name(), part.stamp.rows));
      return {};
    }
    const bool twice = !chain.empty() && part.first == chain.back().part.first &&
                       part.rows == chain.back().part.rows;
    if (twice) continue;
    if (part.first < next)
      wrong.push_back(fail("SDX-C0152", "{}: rows {} to {} are in two parts", name, part.first,
                           std::min(next, part.first + part.rows)));
    if (part.first > next) wrong.push_back(unfinished(name, next, part.first));
    next = std::max(next, part.first + part.rows);
    chain.push_back(std::move(one));
  }
  if (next < stamp.rows) wrong.push_back(unfinished(name, next, stamp.rows));
  return chain;
}

// One output over all parts.
struct Total {
  Sha256 hash;
  Dims shape;
};

Status add_file(const Found& found, size_t output, const Job& job, Total& total) {
  const Part::Made& made = found.part.outputs[output];
  const std::string path = found.folder + "/" + made.file;
  const auto added = [&]() -> Status {
    SDX_ASSIGN(const auto file, MappedFile::open(path, fitting(uint64_t{1} << 46)));
    Sha256 whole;
    whole.add(file->bytes());
    if (file->bytes().size() != made.bytes || whole.hex() != made.sha256)
      return fail("SDX-C0153",
                  "the file is not the one that its manifest speaks of: {} bytes, "
                  "SHA-256 {}",
                  made.bytes, made.sha256);
    SDX_ASSIGN(const Tensor tensor, parse_npy(file->bytes(), file));
    if (tensor.dims() != made.shape || short_name(tensor.type()) != job.outputs[output].type)
      return fail("SDX-C0154", "the file is {}{}, its manifest says {}{}",
                  short_name(tensor.type()), to_string(tensor.dims()), job.outputs[output].type,
                  to_string(made.shape));
    Dims& shape = total.shape;
    if (shape.empty()) shape = made.shape, shape[0] = 0;
    if (!std::equal(shape.begin() + 1, shape.end(), made.shape.begin() + 1, made.shape.end()))
      return fail("SDX-C0155", "rows of {}, in the parts before it they are of {}",
                  to_string(made.shape), to_string(shape));
    shape[0] += found.part.rows;
    std::shared_ptr<void> held;
    total.hash.add(elements_for_file(tensor.type(), tensor.raw(), tensor.bytes(), held),
                   tensor.bytes());
    return ok();
  };
  Status status = added();
  if (!status) return std::move(status).error().in(path);
  return ok();
}

}  // namespace

Result<Merged> merge(const std::vector<std::string>& folders) {
  SDX_ASSIGN(const Job job, read_job(folders[0]));
  Merged merged;
  std::map<size_t, std::vector<Found>> by_source;
  for (const std::string& folder : folders) {
    SDX_ASSIGN(const Job other, read_job(folder));
    if (!(other == job))
      return fail("SDX-C0156", "{} and {} hold different jobs", folders[0], folder);
    SDX_ASSIGN(std::vector<Part> parts, manifests(job, folder, merged.wrong));
    for (Part& part : parts) {
      const size_t source = part.source;
      by_source[source].push_back({std::move(part), folder});
    }
  }
  std::vector<Found> all;
  for (size_t source = 0; source < job.sources.size(); ++source) {
    for (Found& one : in_order(job, source, std::move(by_source[source]), merged.wrong))
      all.push_back(std::move(one));
  }
  std::vector<Total> totals(job.outputs.size());
  Progress progress("checking", "parts");
  for (const Found& found : all) {
    for (size_t i = 0; i < found.part.outputs.size(); ++i) {
      if (Status status = add_file(found, i, job, totals[i]); !status)
        merged.wrong.push_back(std::move(status).error());
    }
    merged.rows += found.part.rows;
    progress.at(++merged.parts, all.size(), found.part.name());
  }
  if (!merged.wrong.empty()) return merged;
  for (size_t i = 0; i < totals.size(); ++i) {
    if (totals[i].shape.empty()) totals[i].shape = {0};
    merged.lines.push_back(DigestLine{job.outputs[i].name, job.outputs[i].type,
                                      to_string(totals[i].shape), totals[i].hash.hex()}
                               .text());
  }
  return merged;
}

}  // namespace sdx::cli::score
