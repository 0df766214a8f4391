// MinCut: parts vertices into two sides so that the edges which lead from the first to the second
// weigh least.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace sdx::rewrite {

class MinCut {
 public:
  static constexpr uint32_t kFirst = 0, kSecond = 1;  // one vertex that is fixed on each side
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max() / 4;

  uint32_t vertex();
  // Costs `weight` if `from` is on the first side and `to` on the second.
  void edge(uint32_t from, uint32_t to, int64_t weight);
  // Which vertices are on the first side; of several best answers the one with the fewest.
  std::vector<bool> first_side();

 private:
  struct Edge {
    uint32_t to, next;
    int64_t room;
  };
  bool layers();
  int64_t push();

  static constexpr uint32_t kNone = UINT32_MAX;
  std::vector<Edge> edges_;  // each with its reverse behind it
  std::vector<uint32_t> first_ = {kNone, kNone}, now_, depth_;
};

}  // namespace sdx::rewrite
