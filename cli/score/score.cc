#include "score/score.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <map>
#include <mutex>
#include <thread>

#include "base/printable.h"
#include "bounds.h"
#include "kernel/cpus.h"
#include "progress.h"
#include "score/merge.h"
#include "score/part.h"

namespace sdx::cli {
namespace {

using namespace score;

struct ScoreFlags {
  std::string model, out, shard;
  std::vector<std::string> inputs, same, outputs, merge;
  int64_t batch = 0, part_rows = 65536;
  int workers = 1;
  EngineFlags engine;
};

struct Shard {
  size_t index = 0, count = 1;
};

Result<Shard> shard_of(const std::string& text) {
  Shard shard;
  if (text.empty()) return shard;
  const size_t slash = text.find('/');
  const auto number = [&](size_t from, size_t to, size_t& value) {
    const auto [end, error] = std::from_chars(text.data() + from, text.data() + to, value);
    return error == std::errc{} && end == text.data() + to;
  };
  if (slash == std::string::npos || !number(0, slash, shard.index) ||
      !number(slash + 1, text.size(), shard.count) || shard.index >= shard.count) {
    return fail("SDX-C0160", "--shard {}: not of the form I/N with I from 0 to N-1", text);
  }
  return shard;
}

// What is left to do, taken piece by piece by workers.
class Work {
 public:
  Work(const ScoreFlags& flags, const RowModel& model, const Job& job)
      : flags_(flags), model_(model), job_(job), progress_("scoring", "rows") {}

  // Reads what the sources are, and lists the parts that this shard has to score. A source that
  // cannot be read is named, and the others go on.
  Status plan(Shard shard) {
    std::vector<Error> broken;  // manifests that were half written: as good as none
    SDX_ASSIGN(const std::vector<Part> manifests, score::manifests(job_, flags_.out, broken));
    std::map<size_t, std::map<int64_t, const Part*>> made;
    for (const Part& part : manifests) made[part.source][part.first] = &part;
    size_t number = 0;
    for (size_t i = 0; i < job_.sources.size(); ++i) {
      const auto source = Source::open(job_.sources[i], model_.ports.inputs);
      if (!source) {
        wrong(source.error());
        continue;
      }
      const Stamp& stamp = (*source)->stamp;
      for (const auto& [first, part] : made[i]) {
        if (part->stamp != stamp) forget(*part, flags_.out);
      }
      for (Part& part : parts_of(job_, i, stamp)) {
        if (number++ % shard.count != shard.index) continue;
        const auto there = made[i].find(part.first);
        if (there != made[i].end() && there->second->stamp == stamp &&
            there->second->rows == part.rows && files_are_there(*there->second, flags_.out)) {
          ++skipped_;
          continue;
        }
        rows_ += part.rows;
        parts_.push_back(std::move(part));
      }
    }
    return ok();
  }

  void run() {
    std::vector<std::thread> threads;
    const size_t workers =
        std::min(size_t(std::min(flags_.workers, most_threads())), parts_.size());
    for (size_t i = 1; i < workers; ++i) threads.emplace_back([this] { work(); });
    work();
    for (std::thread& thread : threads) thread.join();
    progress_.finish();
  }

  size_t failures() const { return failures_; }
  size_t skipped() const { return skipped_; }
  size_t scored() const { return scored_; }

 private:
  void work() {
    run::Session session(model_.compiled);
    Pace pace(flags_.batch);
    std::shared_ptr<const Source> source;
    for (size_t i = next_++; i < parts_.size(); i = next_++) {
      const Part& part = parts_[i];
      if (Status status = one(session, pace, source, part); !status) {
        wrong(status.error());
      } else {
        ++scored_;
      }
      const std::lock_guard lock(mutex_);
      done_ += part.rows;
      progress_.at(size_t(done_), size_t(rows_), part.name());
    }
  }

  Status one(run::Session& session, Pace& pace, std::shared_ptr<const Source>& source,
             const Part& part) try {
    const std::string& path = job_.sources[part.source];
    if (source == nullptr || source->path != path) {
      source = nullptr;  // before the next one is read
      SDX_ASSIGN(source, Source::open(path, model_.ports.inputs));
    }
    if (source->stamp != part.stamp)
      return fail("SDX-C0161", "{}: {} changed while it was read", part.name(), path);
    return score_part(model_, session, *source, job_, part, pace, flags_.out);
  } catch (const std::bad_alloc&) {
    return fail("SDX-C0162", "{}: not enough memory for it", part.name());
  }

  void wrong(const Error& error) {
    const std::lock_guard lock(mutex_);
    ++failures_;
    progress_.clear();
    report(error);
  }

  const ScoreFlags& flags_;
  const RowModel& model_;
  const Job& job_;
  std::vector<Part> parts_;
  int64_t rows_ = 0, done_ = 0;
  std::atomic<size_t> next_ = 0, scored_ = 0;
  size_t failures_ = 0, skipped_ = 0;
  std::mutex mutex_;
  Progress progress_;
};

int show_merged(const Result<Merged>& merged) {
  if (!merged) return report(merged.error());
  for (const Error& error : merged->wrong) report(error);
  if (!merged->wrong.empty()) return kWrong;
  for (const std::string& line : merged->lines) std::printf("%s\n", printable(line).c_str());
  std::fprintf(stderr, "%zu parts, %lld rows\n", merged->parts,
               static_cast<long long>(merged->rows));
  return kOk;
}

Result<Job> job_of(const ScoreFlags& flags, const RowModel& model) {
  Job job;
  job.model = model.sha256;
  job.numerics = flags.engine.numerics;
  job.part_rows = flags.part_rows;
  for (size_t i = 0; i < model.names.size(); ++i)
    job.outputs.push_back({model.names[i], std::string(short_name(model.types[i]))});
  SDX_ASSIGN(job.sources, files_of(flags.inputs));
  return job;
}

int run(const ScoreFlags& given) {
  if (!given.merge.empty()) return show_merged(merge(given.merge));
  ScoreFlags flags = given;
  const auto prepared = [&]() -> Result<std::pair<RowModel, Job>> {
    if (flags.model.empty() || flags.out.empty())
      return fail("SDX-C0163", "score takes MODEL --input DATA --out DIR, or --merge DIR");
    // Workers share the CPUs.
    if (flags.engine.threads == 0 && flags.workers > 1)
      flags.engine.threads = std::max(1, int(std::thread::hardware_concurrency()) / flags.workers);
    SDX_ASSIGN(RowModel model,
               RowModel::load(flags.model, flags.engine, flags.same, flags.outputs));
    SDX_ASSIGN(Job job, job_of(flags, model));
    SDX_TRY(begin(job, flags.out));
    return std::pair(std::move(model), std::move(job));
  };
  const Result<Shard> shard = shard_of(flags.shard);
  if (!shard) return report(shard.error());
  const auto ready = prepared();
  if (!ready) return report(ready.error());
  Work work(flags, ready->first, ready->second);
  if (const Status status = work.plan(*shard); !status) return report(status.error());
  work.run();
  std::fprintf(stderr, "%zu parts scored, %zu were finished before, %zu failed\n", work.scored(),
               work.skipped(), work.failures());
  if (work.failures() > 0) return kWrong;
  return shard->count > 1 ? kOk : show_merged(merge({flags.out}));
}

}  // namespace

Command score_command(CommandLine program) {
  const CommandLine app = program.command(
      "score", "rows of many files through a model, in parts; a rerun goes on where one ended");
  auto flags = std::make_shared<ScoreFlags>();
  app.option("model", flags->model, "an .onnx file, or its text (.txt)");
  app.option("--input", flags->inputs,
             "rows: an .npy, .npz or .csv file, a folder of them, or @LIST, a file that names one "
             "on each line")
      .take_all();
  app.option("--out", flags->out, "the job's folder: parts, manifests, job.json");
  app.option("--shard", flags->shard, "I/N: every N-th part only, from I = 0 on");
  app.option("--merge", flags->merge,
             "check that these folders hold every row once, and print the digest")
      .take_all()
      .called("DIR");
  app.option("--outputs", flags->outputs, "compute only these outputs: NAME,NAME")
      .separated_by(',');
  app.option("--same", flags->same, "NAME=FILE.npy: an input that has no rows").take_all();
  app.option(
         "--batch", flags->batch,
         "rows of one run, which never change a bit; unless given, what turns out fastest of 4, "
         "16 and 64")
      .positive();
  app.option("--part-rows", flags->part_rows, "rows of a part; 0: each file is one")
      .not_negative()
      .show_default();
  app.option("--workers", flags->workers, "parts at a time").positive().show_default();
  flags->engine.add_to(app);
  return {app, [flags] { return run(*flags); }};
}

}  // namespace sdx::cli
