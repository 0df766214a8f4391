// Account: the memory that a session and the sessions of its subgraphs hold together. Subgraphs
// nest and follow one another, and each keeps its arena for its next run: what none of them takes
// too much of may be too much all the same.
#pragma once

#include <cstddef>
#include <unordered_set>

namespace sdx::run {

class Session;

struct Account {
  size_t values = 0;  // bytes of values whose size only running told, and that operators keep
  size_t arenas = 0;  // bytes of arenas
  std::unordered_set<Session*> inner;  // sessions of subgraphs

  size_t held() const { return values + arenas; }
};

}  // namespace sdx::run
