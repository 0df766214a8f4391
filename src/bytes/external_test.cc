#include "bytes/external.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace sdx {
namespace {

namespace fs = std::filesystem;

class External : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "sdx_external.XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    folder_ = root_ / "model";
    fs::create_directories(folder_ / "sub");
    write(folder_ / "w.bin", "0123456789");
    write(folder_ / "sub" / "w.bin", "abcdef");
    write(root_ / "secret", "secret");
    auto files = ExternalFiles::open(folder_.string(), 1 << 20);
    ASSERT_TRUE(files);
    files_ = *files;
  }
  void TearDown() override { fs::remove_all(root_); }

  static void write(const fs::path& path, std::string_view text) { std::ofstream(path) << text; }
  std::string code(const std::string& location, uint64_t offset = 0, uint64_t size = 1,
                   std::optional<uint64_t> length = {}, std::string checksum = {}) {
    const auto read = files_->read({location, offset, length, std::move(checksum)}, size);
    return read ? "" : read.error().code;
  }

  fs::path root_, folder_;
  std::shared_ptr<ExternalFiles> files_;
};

TEST_F(External, bytes_come_from_the_place_named) {
  const auto read = files_->read({"w.bin", 3, 4, {}}, 4);
  ASSERT_TRUE(read);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(read->bytes.data()), 4), "3456");
  EXPECT_EQ(code("./sub//w.bin", 0, 6), "");
  EXPECT_EQ(code("w.bin", 10, 0), "");
}

TEST_F(External, one_file_is_mapped_once) {
  const auto a = files_->read({"w.bin", 0, 2, {}}, 2);
  const auto b = files_->read({"w.bin", 2, 2, {}}, 2);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->owner, b->owner);
  EXPECT_EQ(a->bytes.data() + 2, b->bytes.data());
}

TEST_F(External, a_mapping_outlives_the_replacement_of_its_file) {
  ASSERT_EQ(code("w.bin"), "");
  write(folder_ / "new", "XXXXXXXXXX");
  fs::rename(folder_ / "new", folder_ / "w.bin");
  const auto read = files_->read({"w.bin", 0, {}, {}}, 1);
  ASSERT_TRUE(read);
  EXPECT_EQ(static_cast<char>(read->bytes[0]), '0');
}

TEST_F(External, places_outside_the_folder_are_refused) {
  for (const std::string location :
       {"../secret", "sub/../../secret", "sub/..", "..", ".", "", "/", "/etc/passwd", "./"}) {
    EXPECT_EQ(code(location), "SDX-B0302") << location;
  }
  EXPECT_EQ(code((root_ / "secret").string()), "SDX-B0302");
  EXPECT_EQ(code(std::string("w.bin\0x", 7)), "SDX-B0302");
}

TEST_F(External, links_and_special_files_are_refused) {
  fs::create_symlink(root_ / "secret", folder_ / "link");
  fs::create_symlink("w.bin", folder_ / "inner_link");
  fs::create_directory_symlink(root_, folder_ / "folder_link");
  fs::create_hard_link(root_ / "secret", folder_ / "hard");
  ASSERT_EQ(::mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(code("link"), "SDX-B0303");
  EXPECT_EQ(code("inner_link"), "SDX-B0303");
  EXPECT_EQ(code("folder_link/secret"), "SDX-B0303");
  EXPECT_EQ(code("hard"), "SDX-B0303");
  EXPECT_EQ(code("pipe"), "SDX-B0002");
  EXPECT_EQ(code("sub"), "SDX-B0002");
  EXPECT_EQ(code("absent"), "SDX-B0304");
  EXPECT_EQ(code("w.bin/x"), "SDX-B0304");
}

TEST_F(External, ranges_outside_the_file_are_refused) {
  EXPECT_EQ(code("w.bin", 0, 11), "SDX-B0305");
  EXPECT_EQ(code("w.bin", 11, 0), "SDX-B0305");
  EXPECT_EQ(code("w.bin", ~uint64_t{0}, 1), "SDX-B0305");
  EXPECT_EQ(code("w.bin", ~uint64_t{0} - 3, 8), "SDX-B0305");
  EXPECT_EQ(code("w.bin", 8, ~uint64_t{0} - 4), "SDX-B0305");
  EXPECT_EQ(code("w.bin", 0, 4, 5), "SDX-B0305");
}

TEST_F(External, a_checksum_is_verified) {
  EXPECT_EQ(code("w.bin", 0, 1, {}, "87acec17cd9dcd20a716cc2cf67417b71c8a7016"), "");
  EXPECT_EQ(code("w.bin", 0, 1, {}, "87acec17cd9dcd20a716cc2cf67417b71c8a7017"), "SDX-B0306");
}

TEST_F(External, a_file_over_the_limit_is_refused) {
  ASSERT_EQ(::truncate((folder_ / "w.bin").c_str(), (1 << 20) + 1), 0);
  EXPECT_EQ(code("w.bin"), "SDX-B0003");
}

TEST(ExternalPlace, keys_are_read_strictly) {
  using Entries = std::vector<std::pair<std::string_view, std::string_view>>;
  const auto good = external_place(
      Entries{{"location", "w"}, {"offset", "4096"}, {"length", "8"}, {"basepath", "/x"}});
  ASSERT_TRUE(good);
  EXPECT_EQ(good->location, "w");
  EXPECT_EQ(good->offset, 4096u);
  EXPECT_EQ(good->length, 8u);
  for (const Entries& bad :
       {Entries{}, Entries{{"location", ""}}, Entries{{"location", "w"}, {"location", "v"}},
        Entries{{"location", "w"}, {"offset", "-1"}}, Entries{{"location", "w"}, {"offset", "+1"}},
        Entries{{"location", "w"}, {"offset", ""}}, Entries{{"location", "w"}, {"offset", "1 "}},
        Entries{{"location", "w"}, {"length", "0x10"}},
        Entries{{"location", "w"}, {"length", "1e3"}},
        Entries{{"location", "w"}, {"length", "18446744073709551616"}},
        Entries{{"location", "w"}, {"ofset", "1"}}}) {
    EXPECT_FALSE(external_place(bad));
  }
}

}  // namespace
}  // namespace sdx
