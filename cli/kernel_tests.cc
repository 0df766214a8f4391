#include "kernel_tests.h"

#include <fmt/format.h>

namespace sdx::cli {
namespace {

struct Covered {
  std::string_view operation, kernel, example;
};

// Written by scripts/kernel_tests.py from the names of ops_test's tests; a test compares.
constexpr Covered kCovered[] = {
#include "kernel_tests.inc"
};

}  // namespace

std::string test_of(std::string_view operation, std::string_view kernel) {
  for (const Covered& covered : kCovered) {
    if (covered.operation == operation && covered.kernel == kernel)
      return fmt::format("{}.{}/{}", operation, covered.example, kernel);
  }
  return "";
}

}  // namespace sdx::cli
