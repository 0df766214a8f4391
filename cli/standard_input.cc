#include "standard_input.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include "model/text.h"

namespace sdx::cli {
namespace {

Result<std::shared_ptr<const std::string>> all_of_it(size_t most_bytes) {
  static std::shared_ptr<const std::string> kept;
  if (kept != nullptr) return kept;
  auto all = std::make_shared<std::string>();
  std::vector<char> block(size_t{1} << 20);
  for (size_t got; (got = std::fread(block.data(), 1, block.size(), stdin)) > 0;) {
    if (all->size() + got > most_bytes)
      return fail("SDX-C0009", "standard input is longer than {} bytes", most_bytes);
    all->append(block.data(), got);
  }
  if (std::ferror(stdin) != 0)
    return fail("SDX-C0009", "standard input could not be read: {}", std::strerror(errno));
  kept = std::move(all);
  return kept;
}

}  // namespace

Result<std::shared_ptr<const model::Model>> read_standard_input(const model::Limits& limits) {
  SDX_ASSIGN(const auto all, all_of_it(limits.file_bytes));
  const size_t first = all->find_first_not_of(" \t\r\n");
  if (first != std::string::npos && (*all)[first] == '<') {
    SDX_ASSIGN(model::Model read, model::parse_text(*all, limits, "standard input"));
    return std::make_shared<const model::Model>(std::move(read));
  }
  auto read = model::read_shared({std::as_bytes(std::span(*all)), all}, limits);
  if (!read) return std::move(read).error().in("standard input");
  return read;
}

}  // namespace sdx::cli
