#include "view_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace sdx::cli {
namespace {

constexpr size_t kLongestBlock = 256, kLeastRepeats = 3, kLeastBlock = 3;

// "/encoder/layer.0/attention/MatMul" -> "encoder/layer.0/attention".
std::string path_of(const std::string& name) {
  const size_t last = name.rfind('/');
  if (last == std::string::npos) return "";
  std::string path = name.substr(0, last);
  path.erase(0, path.find_first_not_of('/'));
  return path;
}

// A path that only one node has says no more than its name.
void drop_lonely(std::vector<std::string>& paths) {
  std::map<std::string, size_t> members;
  for (const std::string& path : paths) {
    for (size_t at = 0; at != std::string::npos && !path.empty();) {
      at = path.find('/', at + 1);
      ++members[path.substr(0, at)];
    }
  }
  for (std::string& path : paths) {
    while (!path.empty() && members[path] < 2) {
      const size_t last = path.rfind('/');
      path.erase(last == std::string::npos ? 0 : last);
    }
  }
}

// How often the operators [at, at + size) follow one another without a break.
size_t repeats(const std::vector<std::string>& ops, size_t at, size_t size) {
  size_t count = 1;
  while (at + (count + 1) * size <= ops.size() &&
         std::equal(ops.begin() + long(at), ops.begin() + long(at + size),
                    ops.begin() + long(at + count * size))) {
    ++count;
  }
  return count;
}

// Runs of one block of operators after the other, the ones that cover most first.
void find_blocks(const std::vector<std::string>& ops, std::vector<std::string>& paths) {
  size_t run = 0;
  for (size_t at = 0; at < ops.size();) {
    size_t best_size = 0, best_count = 0;
    for (size_t size = kLeastBlock;
         size <= kLongestBlock && at + size * kLeastRepeats <= ops.size(); ++size) {
      const size_t count = repeats(ops, at, size);
      if (count < kLeastRepeats || count * size <= best_count * best_size) continue;
      best_size = size, best_count = count;
    }
    if (best_count == 0) {
      ++at;
      continue;
    }
    ++run;
    for (size_t i = 0; i < best_size * best_count; ++i)
      paths[at + i] = fmt::format("blocks {}/block {}", run, i / best_size + 1);
    at += best_size * best_count;
  }
}

}  // namespace

std::vector<std::string> groups_of(const std::vector<model::Node>& nodes) {
  std::vector<std::string> paths, ops;
  size_t named = 0;
  for (const model::Node& node : nodes) {
    paths.push_back(path_of(node.name));
    ops.push_back(node.op_type);
    named += paths.back().empty() ? 0 : 1;
  }
  if (2 * named < nodes.size()) {
    paths.assign(nodes.size(), "");
    find_blocks(ops, paths);
  }
  drop_lonely(paths);
  return paths;
}

}  // namespace sdx::cli
