#include "words.h"

#include <algorithm>
#include <cctype>
#include <vector>

namespace sdx::cli {
namespace {

constexpr size_t kMostListed = 12;

// Levenshtein's distance, letters of either case being equal.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t swapped = diagonal + (lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, swapped});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string listed(std::span<const std::string> names) {
  if (names.empty()) return "none";
  std::string text;
  const size_t shown = std::min(names.size(), kMostListed);
  for (size_t i = 0; i < shown; ++i) {
    if (i > 0) text += i + 1 == names.size() ? " and " : ", ";
    text += fmt::format("\"{}\"", names[i]);
  }
  if (shown < names.size()) text += fmt::format(" and {} more", names.size() - shown);
  return text;
}

std::string nearest(std::string_view name, std::span<const std::string> names) {
  constexpr size_t kLongest = 256;  // the distance costs the product of the lengths
  std::string best;
  size_t least = std::max<size_t>(name.size() / 3, 1) + 1;
  for (const std::string& candidate : names) {
    if (name.size() > kLongest || candidate.size() > kLongest) continue;
    const size_t d = distance(name, candidate);
    if (d < least) least = d, best = candidate;
  }
  return best;
}

Error not_among(std::string_view code, std::string_view problem, std::string_view name,
                std::span<const std::string> names) {
  Error error = fail(code, "{} \"{}\"; there {} {}", problem, name,
                     names.size() == 1 ? "is" : "are", listed(names));
  if (const std::string meant = nearest(name, names); !meant.empty()) {
    error.help = fmt::format("did you mean \"{}\"?", meant);
  }
  return error;
}

}  // namespace sdx::cli
