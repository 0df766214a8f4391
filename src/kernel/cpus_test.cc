#include "kernel/cpus.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace sdx {
namespace {

namespace fs = std::filesystem;

class Cgroups : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::temp_directory_path() / ("sdx_cgroups_" + std::to_string(::getpid()));
    fs::remove_all(root_);
  }
  void TearDown() override { fs::remove_all(root_); }
  void put(const std::string& file, const std::string& text) const {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text << "\n";
  }
  std::optional<double> ask(const std::string& membership) const {
    return cgroup_cpus(membership, root_);
  }
  fs::path root_;
};

TEST_F(Cgroups, of_version_2_allow_the_least_on_the_way_to_the_root) {
  put("a/cpu.max", "150000 100000");
  put("a/b/cpu.max", "max 100000");
  put("a/b/c/cpu.max", "400000 100000");
  EXPECT_EQ(ask("0::/a/b/c\n"), 1.5);
  EXPECT_EQ(ask("0::/a/b\n"), 1.5);
  EXPECT_EQ(ask("0::/other\n"), std::nullopt);
}

TEST_F(Cgroups, of_a_container_are_the_root) {
  put("cpu.max", "50000 100000");
  EXPECT_EQ(ask("0::/\n"), 0.5);
  EXPECT_EQ(ask("0::/docker/0123\n"), 0.5);
}

TEST_F(Cgroups, of_version_1_give_quota_and_period) {
  put("cpu/job/cpu.cfs_quota_us", "250000");
  put("cpu/job/cpu.cfs_period_us", "100000");
  put("cpu/cpu.cfs_quota_us", "-1");
  put("cpu/cpu.cfs_period_us", "100000");
  EXPECT_EQ(ask("5:memory:/job\n4:cpu:/job\n0::/\n"), 2.5);
  EXPECT_EQ(ask("4:cpu:/\n"), std::nullopt);
  EXPECT_EQ(ask("4:cpuset:/job\n"), std::nullopt);
  put("cpu,cpuacct/x/cpu.cfs_quota_us", "100000");
  put("cpu,cpuacct/x/cpu.cfs_period_us", "50000");
  EXPECT_EQ(ask("3:cpu,cpuacct:/x\n"), 2.0);
}

TEST_F(Cgroups, that_make_no_sense_say_nothing) {
  put("cpu.max", "0 0");
  put("a/cpu.max", "many few");
  put("b/cpu.max", "");
  for (const char* membership : {"", "0", "0:", "0::", "0::/a", "0::/b", ":::", "\n\n", "0::a/b"})
    EXPECT_EQ(ask(membership), std::nullopt) << membership;
}

TEST(Cpus, are_at_least_one) { EXPECT_GE(allowed_cpus(), 1); }

}  // namespace
}  // namespace sdx
