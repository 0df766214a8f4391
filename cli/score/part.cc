#include "score/part.h"

#include <algorithm>
#include <chrono>

#include "base/endian.h"
#include "base/sha256.h"
#include "bounds.h"
#include "bytes/file.h"
#include "npy.h"
#include "system.h"

namespace sdx::cli::score {
namespace {

// An .npy file of a known number of rows, written as they come.
class RowFile {
 public:
  static Result<RowFile> create(const std::string& path, const Tensor& first, int64_t rows) {
    RowFile file;
    file.shape_ = first.dims();
    file.shape_[0] = rows;
    // The header names the shape alone: no memory is taken for it.
    SDX_ASSIGN(const std::string header,
               npy_header(Tensor::over(first.type(), file.shape_, nullptr, nullptr)));
    SDX_ASSIGN(file.writer_, FileWriter::create(path));
    SDX_TRY(file.add({reinterpret_cast<const std::byte*>(header.data()), header.size()}));
    return file;
  }
  const Dims& shape() const { return shape_; }
  Status add(std::span<const std::byte> bytes) {
    hash_.add(bytes);
    bytes_ += bytes.size();
    return writer_->write(bytes);
  }
  // On the disk, under its name.
  Result<Part::Made> finish(const std::string& path) {
    SDX_TRY(writer_->commit());
    SDX_TRY(sync(path));
    return Part::Made{path.substr(path.rfind('/') + 1), shape_, bytes_, hash_.hex()};
  }

 private:
  std::unique_ptr<FileWriter> writer_;
  Dims shape_;
  Sha256 hash_;
  uint64_t bytes_ = 0;
};

Tensor rows_of(const Tensor& all, int64_t first, int64_t count) {
  Dims dims = all.dims();
  const size_t row = dims[0] == 0 ? 0 : all.count() / size_t(dims[0]);
  dims[0] = count;
  if (all.type() != DType::string)
    return all.part(bytes_for(all.type(), row * size_t(first)), all.type(), std::move(dims));
  const std::string* from = all.data<std::string>() + row * size_t(first);
  return Tensor::of<std::string>(std::move(dims), std::span(from, row * size_t(count)));
}

class PartRun {
 public:
  PartRun(const RowModel& model, run::Session& session, const Source& source, const Job& job,
          Part part, std::string folder)
      : model_(model),
        session_(session),
        source_(source),
        job_(job),
        part_(std::move(part)),
        path_(std::move(folder) + "/" + part_.name()) {}

  Status run(Pace& pace) {
    for (int64_t done = 0, batch = 0; done < part_.rows; done += batch) {
      batch = model_.ports.most_rows != 0 ? model_.ports.most_rows : pace.rows();
      batch = std::min(batch, part_.rows - done);
      const auto begin = std::chrono::steady_clock::now();
      SDX_TRY(run_rows(part_.first + done, batch));
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
      pace.took(batch, seconds.count());
    }
    for (size_t i = 0; i < files_.size(); ++i) {
      SDX_ASSIGN(Part::Made made, files_[i].finish(file_name(i)));
      part_.outputs.push_back(std::move(made));
    }
    return write_whole(path_ + ".json", part_.text(job_));
  }

 private:
  std::string file_name(size_t output) const { return fmt::format("{}.{}.npy", path_, output); }

  Status run_rows(int64_t first, int64_t count) {
    std::vector<Value> inputs = model_.values;
    for (size_t i = 0; i < model_.ports.inputs.size(); ++i)
      inputs[model_.ports.input_at[i]] = Value(rows_of(source_.tensors[i], first, count));
    run::RunOptions options;
    options.wanted = &model_.wanted;
    options.deadline = deadline();
    SDX_ASSIGN(const std::vector<Value> outputs, session_.run(inputs, options));
    for (size_t i = 0; i < model_.outputs.size(); ++i)
      SDX_TRY(add(i, outputs[model_.outputs[i]].tensor(), count));
    return ok();
  }

  Status add(size_t output, const Tensor& tensor, int64_t count) {
    if (tensor.rank() == 0 || tensor.dims()[0] != count)
      return fail("SDX-C0140", "output \"{}\" is {} for {} rows", model_.names[output],
                  to_string(tensor.dims()), count);
    if (output == files_.size()) {
      SDX_ASSIGN(RowFile file, RowFile::create(file_name(output), tensor, part_.rows));
      files_.push_back(std::move(file));
    }
    const Dims& shape = files_[output].shape();
    if (!std::equal(shape.begin() + 1, shape.end(), tensor.dims().begin() + 1, tensor.dims().end()))
      return fail("SDX-C0140", "output \"{}\" is {}, for rows before it was {}",
                  model_.names[output], to_string(tensor.dims()), to_string(shape));
    std::shared_ptr<void> held;
    return files_[output].add(
        {elements_for_file(tensor.type(), tensor.raw(), tensor.bytes(), held), tensor.bytes()});
  }

  const RowModel& model_;
  run::Session& session_;
  const Source& source_;
  const Job& job_;
  Part part_;
  std::string path_;
  std::vector<RowFile> files_;
};

}  // namespace

Status score_part(const RowModel& model, run::Session& session, const Source& source,
                  const Job& job, Part part, Pace& pace, const std::string& folder) {
  const std::string name = fmt::format("{}: {}, rows {} to {}", part.name(), source.path,
                                       part.first, part.first + part.rows);
  Status status = PartRun(model, session, source, job, std::move(part), folder).run(pace);
  if (!status) return std::move(status).error().in(name);
  return ok();
}

}  // namespace sdx::cli::score
