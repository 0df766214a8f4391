// What a process in the sandbox can still do, and what it cannot. Each test enters it in a child.
#include "sandbox.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <thread>

namespace sdx::cli {
namespace {

namespace fs = std::filesystem;

class SandboxTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "sdx_sandbox.XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    for (const char* folder : {"in", "out", "else"}) fs::create_directory(root_ / folder);
    std::ofstream(root_ / "in" / "given") << "text";
    std::ofstream(root_ / "else" / "secret") << "text";
  }
  void TearDown() override { fs::remove_all(root_); }

  // The exit code of a child that entered the sandbox and did this; 77 if there is none here.
  template <class Work>
  int inside(const Work& work) {
    const pid_t child = ::fork();
    if (child == 0) {
      Sandbox sandbox;
      sandbox.readable = {(root_ / "in").string()};
      sandbox.writable = {(root_ / "out").string()};
      if (!enter(sandbox)) ::_exit(77);
      ::_exit(work());
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  bool opens(const char* folder, const char* name, int flags) const {
    return ::open((root_ / folder / name).c_str(), flags, 0600) >= 0;
  }
  fs::path root_;
};

#define SKIP_WITHOUT_SANDBOX() \
  if (inside([] { return 0; }) == 77) GTEST_SKIP() << "this system has no landlock or no seccomp"

TEST_F(SandboxTest, reads_what_it_was_given_and_nothing_else) {
  SKIP_WITHOUT_SANDBOX();
  EXPECT_EQ(inside([&] { return opens("in", "given", O_RDONLY) ? 0 : 1; }), 0);
  EXPECT_EQ(inside([&] { return opens("else", "secret", O_RDONLY) ? 1 : 0; }), 0);
  EXPECT_EQ(inside([&] { return ::open("/etc/passwd", O_RDONLY) >= 0 ? 1 : 0; }), 0);
}

TEST_F(SandboxTest, writes_where_it_may_and_nowhere_else) {
  SKIP_WITHOUT_SANDBOX();
  EXPECT_EQ(inside([&] { return opens("out", "made", O_WRONLY | O_CREAT) ? 0 : 1; }), 0);
  EXPECT_EQ(inside([&] { return opens("in", "made", O_WRONLY | O_CREAT) ? 1 : 0; }), 0);
  EXPECT_EQ(inside([&] { return opens("in", "given", O_WRONLY) ? 1 : 0; }), 0);
}

TEST_F(SandboxTest, starts_threads_but_no_process_and_no_program) {
  SKIP_WITHOUT_SANDBOX();
  EXPECT_EQ(inside([] {
              int done = 1;
              std::thread([&] { done = 0; }).join();
              return done;
            }),
            0);
  EXPECT_EQ(inside([] { return ::fork() == -1 && errno == EPERM ? 0 : 1; }), 0);
  EXPECT_EQ(inside([] {
              char name[] = "/bin/true";
              char* const words[] = {name, nullptr};
              char* const nothing[] = {nullptr};
              ::execve(name, words, nothing);
              return errno == EPERM ? 0 : 1;
            }),
            0);
}

TEST_F(SandboxTest, reaches_no_network_and_no_other_process) {
  SKIP_WITHOUT_SANDBOX();
  EXPECT_EQ(inside([] { return ::socket(AF_INET, SOCK_STREAM, 0) == -1 ? 0 : 1; }), 0);
  EXPECT_EQ(inside([] { return ::kill(::getppid(), 0) == -1 ? 0 : 1; }), 0);
}

}  // namespace
}  // namespace sdx::cli
