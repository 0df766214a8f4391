// fuzz_replay [--changes N] PATH...: every file, and every file of a folder, through every target;
// and N changes of each, for a machine without clang. Ends with a signal, as libFuzzer would, where
// a target breaks; the bytes that did it are then in the file "broken.onnx".
#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <vector>

#include "fuzz.h"
#include "mutate.h"

namespace {

char current[512];  // the file and the target at work
sdx::fuzz::Bytes input;

void tell(int signal) {
  const char* parts[] = {"signal in ", current, "\n"};
  for (const char* part : parts) {
    if (write(2, part, std::strlen(part)) < 0) break;
  }
  const int file = open("broken.onnx", O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (write(file, input.data(), input.size()) < 0) close(file);
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

void test(const std::string& path, sdx::fuzz::Bytes bytes) {
  input = bytes;
  for (const sdx::fuzz::Target& target : sdx::fuzz::targets()) {
    std::snprintf(current, sizeof(current), "%s (%s)", path.c_str(), target.name.data());
    sdx::fuzz::test(target, bytes);
  }
}

void test_changes(const std::string& path, sdx::fuzz::Bytes bytes, size_t changes) {
  const auto model = sdx::fuzz::read(bytes);
  if (model == nullptr) return;
  sdx::fuzz::Random random(sdx::fuzz::hash(bytes) + changes);
  for (size_t i = 0; i < changes; ++i) {
    sdx::model::Model changed = *model;
    sdx::fuzz::Mutator mutator(random.next());
    for (size_t n = 1 + random.below(4); n > 0; --n) mutator.mutate(changed);
    const std::string written = sdx::model::write(changed);
    test(path, {reinterpret_cast<const uint8_t*>(written.data()), written.size()});
  }
}

}  // namespace

int main(int argc, char** argv) {
  namespace fs = std::filesystem;
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) std::signal(signal, tell);
  std::set<std::string> files;
  size_t changes = 0;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--changes" && i + 1 < argc) {
      changes = std::stoul(argv[++i]);
    } else if (fs::is_directory(argv[i])) {
      for (const auto& entry : fs::directory_iterator(argv[i])) files.insert(entry.path());
    } else {
      files.insert(argv[i]);
    }
  }
  for (const std::string& path : files) {
    std::ifstream file(path, std::ios::binary);
    const std::vector<uint8_t> bytes(std::istreambuf_iterator<char>(file), {});
    test(path, bytes);
    test_changes(path, bytes, changes);
  }
  std::printf("%zu files\n", files.size());
  return files.empty() ? 1 : 0;
}
