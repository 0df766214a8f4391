// Packed weights kept on disk: used where they are right, and no answer ever depends on them.
#include "plan/pack_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "api/digest.h"
#include "api/engine.h"
#include "plan/checksum.h"

namespace sdx {
namespace {

namespace fs = std::filesystem;
using Report = plan::PackCache::Report;

// A folder of its own with a model whose weights lie in a file beside it.
class PackCacheTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() /
              fmt::format("sdx_packs_{}_{}", ::getpid(),
                          testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    write_model("[\"N\",64]");
    write_weights(1);
  }
  void TearDown() override {
    fs::permissions(folder_, fs::perms::owner_all);
    fs::remove_all(folder_);
  }

  void write_model(const std::string& shape) const {
    std::ofstream(model()) << R"(<ir_version: 9, opset_import: ["" : 17]>
main (float)" << shape << R"( x) => (float["N",48] z)
<float[64,96] a = ["location": "w.bin", "offset": "0", "length": "24576"],
 float[96,48] b = ["location": "w.bin", "offset": "24576", "length": "18432"]>
{
  y = MatMul(x, a)
  z = MatMul(y, b)
}
)";
  }
  void write_weights(int seed) const {
    std::vector<float> weights(64 * 96 + 96 * 48);
    for (size_t i = 0; i < weights.size(); ++i)
      weights[i] = float((i * 7 + size_t(seed)) % 31) - 15;
    std::ofstream(weights_file(), std::ios::binary)
        .write(reinterpret_cast<const char*>(weights.data()),
               std::streamsize(weights.size() * sizeof(float)));
    settle();
  }
  // Files whose times are those of this moment are not told by their times.
  void settle() const {
    while (true) {
      struct stat info = {};
      ASSERT_EQ(::stat(weights_file().c_str(), &info), 0);
      struct timespec now = {};
      ::clock_gettime(CLOCK_REALTIME, &now);
      if (now.tv_sec - info.st_ctim.tv_sec > settled_after_) return;
      ::usleep(50'000);
    }
  }

  std::string model() const { return folder_ / "m.onnxtxt"; }
  std::string weights_file() const { return folder_ / "w.bin"; }
  std::string packs(Isa isa = native_isa()) const {
    return folder_ / fmt::format("m.onnxtxt.{}.sdxpack", isa_name(isa));
  }

  // Loads and runs; gives the output's digest, and how the weights came to be.
  std::string run(Report& report, CompileOptions options = {}) const {
    options.threads = 2;
    if (options.pack_cache.empty()) options.pack_cache = "beside";
    const auto read = model::read_file(model());
    if (!read) return read.error().text();
    const auto compiled = compile(*read, options);
    if (!compiled) return compiled.error().text();
    Tensor x = Tensor::make(DType::f32, {3, 64});
    for (size_t i = 0; i < x.count(); ++i) x.data<float>()[i] = float(i % 5);
    run::Session session(*compiled);
    const auto outputs = session.run(std::vector<Value>{x});
    if (!outputs) return outputs.error().text();
    report = (*compiled)->settings().plan.cache->report();
    return digest("", outputs->front())[0].text();
  }
  std::string run() const {
    Report ignored;
    return run(ignored);
  }

  fs::path folder_;
  time_t settled_after_ = -1;  // do not wait
};

TEST_F(PackCacheTest, the_second_load_reads_what_the_first_wrote) {
  for (const char* shape : {"[\"N\",64]", "[3,64]"}) {
    write_model(shape);
    fs::remove(packs());
    Report first, second;
    const std::string before = run(first), after = run(second);
    EXPECT_EQ(before, after);
    EXPECT_EQ(first.packed, 2);
    EXPECT_EQ(first.read, 0);
    EXPECT_TRUE(first.written);
    EXPECT_EQ(second.packed, 0) << shape;
    EXPECT_EQ(second.read, 2);
    EXPECT_FALSE(second.written);
    EXPECT_TRUE(first.notes.empty() && second.notes.empty());
  }
}

TEST_F(PackCacheTest, files_at_rest_are_known_by_their_state_and_others_by_their_content) {
  settled_after_ = 2;
  settle();
  Report report;
  const std::string before = run(report);
  // The same bytes in a new file: content decides.
  fs::copy_file(weights_file(), folder_ / "copy");
  fs::rename(folder_ / "copy", weights_file());
  EXPECT_EQ(run(report), before);
  EXPECT_EQ(report.read, 2);
  // Other bytes of the same size and with the old time of modification.
  struct stat old = {};
  ASSERT_EQ(::stat(weights_file().c_str(), &old), 0);
  settled_after_ = -1;
  write_weights(2);
  const struct timespec times[] = {old.st_atim, old.st_mtim};
  ASSERT_EQ(::utimensat(AT_FDCWD, weights_file().c_str(), times, 0), 0);
  const std::string changed = run(report);
  EXPECT_NE(changed, before);
  EXPECT_EQ(report.packed, 2);
  EXPECT_TRUE(report.written);
  EXPECT_EQ(run(report), changed);
  EXPECT_EQ(report.read, 2);
}

TEST_F(PackCacheTest, any_damaged_byte_is_seen_and_the_file_is_written_anew) {
  const std::string before = run();
  const auto size = fs::file_size(packs());
  for (size_t at = 3; at < size; at += size / 23) {
    {
      std::fstream file(packs(), std::ios::in | std::ios::out | std::ios::binary);
      file.seekg(std::streamoff(at));
      const char byte = char(file.get() ^ 0x10);
      file.seekp(std::streamoff(at));
      file.put(byte);
    }
    Report report;
    EXPECT_EQ(run(report), before) << at;
    if (report.read == 2) continue;  // padding between weights
    EXPECT_FALSE(report.notes.empty()) << at;
    EXPECT_TRUE(report.written) << at;
    EXPECT_EQ(run(report), before);
    EXPECT_EQ(report.read, 2) << at;
    EXPECT_TRUE(report.notes.empty());
  }
}

TEST_F(PackCacheTest, a_file_cut_short_or_of_another_kind_is_written_anew) {
  const std::string before = run();
  const auto size = fs::file_size(packs());
  for (const size_t left :
       {size_t{0}, size_t{20}, size_t{300}, size_t(size) / 2, size_t(size) - 1}) {
    fs::resize_file(packs(), left);
    Report report;
    EXPECT_EQ(run(report), before);
    EXPECT_EQ(report.packed, 2);
    ASSERT_EQ(report.notes.size(), 1);
    EXPECT_NE(report.notes[0].find("is not used"), std::string::npos) << report.notes[0];
    EXPECT_EQ(fs::file_size(packs()), size);
  }
}

TEST_F(PackCacheTest, each_level_and_each_kind_of_rewriting_has_a_file_of_its_own) {
  const std::string before = run();
  CompileOptions portable, plain;
  portable.isa = Isa::portable;
  plain.optimize = false;
  Report report;
  for (const CompileOptions& options : {portable, plain}) {
    EXPECT_EQ(run(report, options), before);
    EXPECT_EQ(report.read, 0);
    EXPECT_EQ(run(report, options), before);
    EXPECT_EQ(report.read, 2);
  }
  if (native_isa() == Isa::portable) return;
  // Under another level's name it is still not believed.
  fs::rename(packs(), packs(Isa::portable));
  EXPECT_EQ(run(report, portable), before);
  EXPECT_EQ(report.packed, 2);
  EXPECT_EQ(report.notes.size(), 1);
}

TEST_F(PackCacheTest, a_folder_that_cannot_be_written_costs_nothing_but_a_note) {
  const std::string before = run();
  CompileOptions options;
  options.pack_cache = weights_file() + "/folder";  // beneath a file: not even root may
  Report report;
  EXPECT_EQ(run(report, options), before);
  EXPECT_EQ(report.packed, 2);
  EXPECT_FALSE(report.written);
  ASSERT_FALSE(report.notes.empty());
  EXPECT_NE(report.notes.back().find("packed weights are not kept"), std::string::npos);
  // What lies in a folder that is only readable is used.
  fs::permissions(folder_, fs::perms::owner_read | fs::perms::owner_exec);
  EXPECT_EQ(run(report), before);
  EXPECT_EQ(report.read, 2);
  EXPECT_TRUE(report.notes.empty());
}

TEST_F(PackCacheTest, processes_may_load_at_once) {
  const std::string before = run();
  for (int round = 0; round < 4; ++round) {
    fs::remove(packs());
    std::vector<pid_t> children;
    for (int i = 0; i < 3; ++i) {
      const pid_t child = ::fork();
      if (child == 0) ::_exit(run() == before ? 0 : 1);
      children.push_back(child);
    }
    for (const pid_t child : children) {
      int status = 0;
      ASSERT_EQ(::waitpid(child, &status, 0), child);
      EXPECT_EQ(status, 0);
    }
    Report report;
    EXPECT_EQ(run(report), before);
    EXPECT_EQ(report.read, 2);
  }
  // Nothing half-written is left.
  EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 3);
}

TEST_F(PackCacheTest, a_folder_is_made_and_keeps_models_of_one_name_apart) {
  CompileOptions options;
  options.pack_cache = folder_ / "some" / "where";
  Report report;
  const std::string before = run(report, options);
  EXPECT_TRUE(report.written) << testing::PrintToString(report.notes);
  EXPECT_EQ(run(report, options), before);
  EXPECT_EQ(report.read, 2);
  EXPECT_NE(plan::pack_cache_path("d", "/a/m.onnx", Isa::avx2, true, false),
            plan::pack_cache_path("d", "/b/m.onnx", Isa::avx2, true, false));
  EXPECT_EQ(plan::pack_cache_path("beside", "/a/m.onnx", Isa::avx2, true, true),
            "/a/m.onnx.avx2.strict.sdxpack");
}

TEST_F(PackCacheTest, a_model_without_a_file_has_nothing_beside_it) {
  auto read = model::read_file(model());
  ASSERT_TRUE(read);
  model::Model copy = **read;
  copy.path.clear();
  CompileOptions options;
  options.pack_cache = "beside";
  const auto compiled = compile(std::make_shared<const model::Model>(std::move(copy)), options);
  ASSERT_FALSE(compiled);
  EXPECT_EQ(compiled.error().code, "SDX-A0007");
}

TEST(Checksum, depends_on_every_byte_and_not_on_the_threads) {
  std::vector<std::byte> bytes((3 << 20) + 77);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = std::byte(i * 31 >> 3);
  Pool one(1), three(3);
  const std::string before = plan::checksum(bytes, one);
  EXPECT_EQ(plan::checksum(bytes, three), before);
  for (size_t at = 0; at < bytes.size(); at += 99'991) {
    bytes[at] ^= std::byte{0x80};
    EXPECT_NE(plan::checksum(bytes, one), before) << at;
    bytes[at] ^= std::byte{0x80};
  }
  bytes.push_back({});
  EXPECT_NE(plan::checksum(bytes, one), before);
}

}  // namespace
}  // namespace sdx
