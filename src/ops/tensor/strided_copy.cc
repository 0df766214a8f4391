#include "ops/tensor/strided_copy.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <type_traits>

#include "base/elem.h"
#include "kernel/turn/columns.h"
#include "kernel/turn/stream.h"
#include "kernel/turn/turn.h"

namespace sdx {

void Loops::add(int64_t n, int64_t from, int64_t to) {
  if (n <= 0) empty_ = true;
  if (n <= 1 || empty_) return;
  if (rank_ > 0) {
    Loop& outer = loops_[rank_ - 1];
    if (outer.from == n * from && outer.to == n * to) {
      outer = {outer.n * size_t(n), from, to};
      return;
    }
  }
  if (rank_ == loops_.size()) {
    empty_ = true;
    return;
  }
  loops_[rank_++] = {size_t(n), from, to};
}

namespace {

struct Bytes16 {
  uint64_t half[2];
};

// A piece of work below this size is not worth another thread.
constexpr size_t kGrainBytes = size_t{1} << 16;

// Steps through the outer loops in order, keeping both positions.
class Odometer {
 public:
  Odometer(std::span<const Loops::Loop> loops, size_t index) : loops_(loops) {
    for (size_t i = loops.size(); i-- > 0; index /= loops[i].n) {
      at_[i] = index % loops[i].n;
      from += int64_t(at_[i]) * loops[i].from;
      to += int64_t(at_[i]) * loops[i].to;
    }
  }
  void next() {
    for (size_t i = loops_.size(); i-- > 0;) {
      from += loops_[i].from;
      to += loops_[i].to;
      if (++at_[i] < loops_[i].n) return;
      from -= int64_t(loops_[i].n) * loops_[i].from;
      to -= int64_t(loops_[i].n) * loops_[i].to;
      at_[i] = 0;
    }
  }
  int64_t from = 0, to = 0;

 private:
  std::span<const Loops::Loop> loops_;
  std::array<size_t, 48> at_;
};

size_t iterations(std::span<const Loops::Loop> loops) {
  size_t n = 1;
  for (const Loops::Loop& loop : loops) n *= loop.n;
  return n;
}

template <class Body>
void share(Pool* pool, size_t n, size_t bytes_each, Body&& body) {
  const size_t grain = std::max<size_t>(1, kGrainBytes / std::max<size_t>(1, bytes_each));
  if (pool == nullptr || n <= grain) return body(0, n, 0);
  pool->parallel(n, grain, body);
}

// Outputs of at least this size leave no room for others in the last cache.
constexpr size_t kStreamBytes = size_t{24} << 20;

// Rows that are contiguous on both sides.
template <class T>
void copy_runs(std::span<const Loops::Loop> outer, size_t run, const T* from, T* to, Pool* pool,
               Isa isa) {
  if (outer.empty()) {
    share(pool, run, sizeof(T), [&](size_t begin, size_t end, int) {
      std::memcpy(to + begin, from + begin, (end - begin) * sizeof(T));
    });
    return;
  }
  constexpr size_t kLongRun = 2048;
  if (run * sizeof(T) >= kLongRun && iterations(outer) * run * sizeof(T) >= kStreamBytes) {
    share(pool, iterations(outer), run * sizeof(T), [&](size_t begin, size_t end, int) {
      Odometer at(outer, begin);
      for (size_t i = begin; i < end; ++i, at.next()) {
        SDX_PICK(stream_copy, isa)
        (reinterpret_cast<char*>(to + at.to), reinterpret_cast<const char*>(from + at.from),
         run * sizeof(T));
      }
      SDX_PICK(stream_end, isa)();
    });
    return;
  }
  share(pool, iterations(outer), run * sizeof(T), [&](size_t begin, size_t end, int) {
    // The innermost of the outer loops is a plain one: a step of the odometer takes longer than a
    // short run.
    const Loops::Loop last = outer.back();
    const auto each = [&](auto copy) {
      Odometer at(outer.first(outer.size() - 1), begin / last.n);
      for (size_t i = begin, k = begin % last.n; i < end; k = 0, at.next()) {
        const size_t stop = std::min(last.n, k + end - i);
        i += stop - k;
        for (; k < stop; ++k)
          copy(to + at.to + int64_t(k) * last.to, from + at.from + int64_t(k) * last.from);
      }
    };
    // A call of memcpy costs more than a few moves, and of a length that is known it needs none.
    switch (const size_t bytes = run * sizeof(T); bytes) {
      case 8:
        return each([](T* y, const T* x) { std::memcpy(y, x, 8); });
      case 12:
        return each([](T* y, const T* x) { std::memcpy(y, x, 12); });
      case 16:
        return each([](T* y, const T* x) { std::memcpy(y, x, 16); });
      case 32:
        return each([](T* y, const T* x) { std::memcpy(y, x, 32); });
      case 64:
        return each([](T* y, const T* x) { std::memcpy(y, x, 64); });
      case 128:
        return each([](T* y, const T* x) { std::memcpy(y, x, 128); });
      default:
        if (bytes > 32) return each([&](T* y, const T* x) { std::memcpy(y, x, bytes); });
        return each([&](T* y, const T* x) {
          for (size_t j = 0; j < run; ++j) y[j] = x[j];
        });
    }
  });
}

// Short runs of which each is written many times, one behind the other: what is written already is
// copied, twice as much each time, as long as it is in the first cache.
template <class T>
void copy_repeated(std::span<const Loops::Loop> outer, size_t run, size_t times, const T* from,
                   T* to, Pool* pool) {
  constexpr size_t kMost = 4096 / sizeof(T);
  const auto one = [=](const T* x, T* y, size_t n) {
    std::memcpy(y, x, run * sizeof(T));
    for (size_t done = run, some = run; done < n; done += some) {
      some = std::min(done < kMost ? done : some, n - done);
      std::memcpy(y + done, y, some * sizeof(T));
    }
  };
  if (outer.empty()) {
    share(pool, times, run * sizeof(T),
          [&](size_t begin, size_t end, int) { one(from, to + begin * run, (end - begin) * run); });
    return;
  }
  share(pool, iterations(outer), run * times * sizeof(T), [&](size_t begin, size_t end, int) {
    Odometer at(outer, begin);
    for (size_t i = begin; i < end; ++i, at.next()) one(from + at.from, to + at.to, run * times);
  });
}

// The innermost loop writes contiguously, loop `j` reads contiguously: tiles keep both sides' lines
// in the cache.
template <class T>
void copy_transposed(std::span<const Loops::Loop> loops, size_t j, const T* from, T* to, Pool* pool,
                     Isa isa) {
  const Loops::Loop column = loops.back(), row = loops[j];
  const TurnBlock whole_tile = turn_block(sizeof(T), row.n, column.n);
  std::array<Loops::Loop, 48> outer;
  size_t outers = 0;
  for (size_t i = 0; i + 1 < loops.size(); ++i) {
    if (i != j) outer[outers++] = loops[i];
  }
  const auto whole = [](size_t n, size_t tile) { return (n + tile - 1) / tile; };
  const size_t bands = whole(row.n, whole_tile.rows),
               stretches = whole(column.n, whole_tile.columns);
  outer[outers++] = {bands, int64_t(whole_tile.rows), int64_t(whole_tile.rows) * row.to};
  outer[outers++] = {stretches, int64_t(whole_tile.columns) * column.from,
                     int64_t(whole_tile.columns)};
  const std::span<const Loops::Loop> nest(outer.data(), outers);
  const size_t tiles = iterations(nest);
  const auto aligned = [](int64_t bytes) { return bytes % 64 == 0; };
  bool stream = iterations(loops) * sizeof(T) >= kStreamBytes &&
                aligned(int64_t(reinterpret_cast<uintptr_t>(to)));
  for (const Loops::Loop& loop : loops.first(loops.size() - 1))
    stream &= aligned(loop.to * int64_t(sizeof(T)));
  const auto turn = SDX_PICK(turn, isa);
  const size_t bytes =
      std::min(row.n, whole_tile.rows) * std::min(column.n, whole_tile.columns) * sizeof(T);
  share(pool, tiles, bytes, [&](size_t begin, size_t end, int) {
    Odometer at(nest, begin);
    for (size_t i = begin; i < end; ++i, at.next()) {
      Turn tile;
      tile.from = reinterpret_cast<const char*>(from + at.from);
      tile.from_column = column.from * int64_t(sizeof(T));
      tile.to = reinterpret_cast<char*>(to + at.to);
      tile.to_row = row.to * int64_t(sizeof(T));
      tile.rows = std::min(whole_tile.rows, row.n - i / stretches % bands * whole_tile.rows);
      tile.columns = std::min(whole_tile.columns, column.n - i % stretches * whole_tile.columns);
      tile.stream = stream;
      turn(sizeof(T), tile);
    }
  });
}

// The two innermost loops are over a few planes and over their pixels, in either order: planes
// become the channels of pixels, or channels planes. some(x, y, how many pixels) does that.
template <class T, class Some>
void each_plane(std::span<const Loops::Loop> loops, const Loops::Loop& pixels, size_t planes,
                const T* from, T* to, Pool* pool, Some some) {
  const auto outer = loops.first(loops.size() - 2);
  if (outer.empty()) {
    share(pool, pixels.n, planes * sizeof(T), [&](size_t begin, size_t end, int) {
      some(from + int64_t(begin) * pixels.from, to + int64_t(begin) * pixels.to, end - begin);
    });
    return;
  }
  share(pool, iterations(outer), pixels.n * planes * sizeof(T), [&](size_t begin, size_t end, int) {
    Odometer at(outer, begin);
    for (size_t i = begin; i < end; ++i, at.next()) some(from + at.from, to + at.to, pixels.n);
  });
}

bool are_few(size_t planes) { return planes >= 2 && planes <= kMostColumns; }

// By the kernel of a few columns; false if the loops are others.
template <class T>
bool copy_columns(std::span<const Loops::Loop> loops, const T* from, T* to, Pool* pool, Isa isa) {
  if (sizeof(T) > 8 || loops.size() < 2) return false;
  const Loops::Loop &inner = loops.back(), &next = loops[loops.size() - 2];
  const auto planes_of = [](auto* first, const Loops::Loop& loop, int64_t step) {
    std::array<decltype(first), kMostColumns> at{};
    for (size_t c = 0; c < loop.n; ++c) at[c] = first + int64_t(c) * step;
    return at;
  };
  if (are_few(inner.n) && inner.to == 1 && next.from == 1 && next.to == int64_t(inner.n)) {
    each_plane(loops, next, inner.n, from, to, pool, [&](const T* x, T* y, size_t n) {
      const auto at = planes_of(x, inner, inner.from);
      const void* columns[] = {at[0], at[1], at[2], at[3]};
      SDX_PICK(join_columns, isa)(sizeof(T), inner.n, columns, y, n);
    });
    return true;
  }
  if (are_few(next.n) && next.from == 1 && inner.to == 1 && inner.from == int64_t(next.n)) {
    each_plane(loops, inner, next.n, from, to, pool, [&](const T* x, T* y, size_t n) {
      const auto at = planes_of(y, next, next.to);
      void* columns[] = {at[0], at[1], at[2], at[3]};
      SDX_PICK(deal_columns, isa)(sizeof(T), next.n, x, columns, n);
    });
    return true;
  }
  return false;
}

// n times the same; a line of the cache at a time, which is all that the compiler is told.
template <class T>
void repeat(T* to, size_t n, const T& value) {
  size_t i = 0;
  if constexpr (std::is_trivially_copyable_v<T>) {
    constexpr size_t kTogether = 64 / sizeof(T);
    std::array<T, kTogether> some;
    some.fill(value);
    for (; i + kTogether <= n; i += kTogether) std::memcpy(to + i, some.data(), sizeof some);
  }
  for (; i < n; ++i) to[i] = value;
}

template <class T>
void copy_any(std::span<const Loops::Loop> loops, const T* from, T* to, Pool* pool) {
  const Loops::Loop inner = loops.back();
  const auto outer = loops.first(loops.size() - 1);
  const auto row = [&](const T* x, T* y, size_t n) {
    if (inner.from == 0 && inner.to == 1) {
      repeat(y, n, *x);
    } else {
      for (size_t k = 0; k < n; ++k) y[int64_t(k) * inner.to] = x[int64_t(k) * inner.from];
    }
  };
  if (outer.empty()) {
    share(pool, inner.n, sizeof(T), [&](size_t begin, size_t end, int) {
      row(from + int64_t(begin) * inner.from, to + int64_t(begin) * inner.to, end - begin);
    });
    return;
  }
  share(pool, iterations(outer), inner.n * sizeof(T), [&](size_t begin, size_t end, int) {
    Odometer at(outer, begin);
    for (size_t i = begin; i < end; ++i, at.next()) row(from + at.from, to + at.to, inner.n);
  });
}

// The same loops with one of them further inside.
struct Ordered {
  std::array<Loops::Loop, 48> all;
  size_t count;
  std::span<const Loops::Loop> loops() const { return {all.data(), count}; }
};
Ordered moved(std::span<const Loops::Loop> loops, size_t from, size_t to) {
  Ordered order{{}, loops.size()};
  std::copy(loops.begin(), loops.end(), order.all.begin());
  std::rotate(order.all.begin() + long(from), order.all.begin() + long(from) + 1,
              order.all.begin() + long(to) + 1);
  return order;
}

template <class T>
void copy(std::span<const Loops::Loop> loops, const T* from, T* to, Pool* pool, Isa isa);

// A short run as one element, where all places are multiples of its size.
template <class T>
bool copy_widened(std::span<const Loops::Loop> loops, const T* from, T* to, Pool* pool, Isa isa) {
  const auto run = int64_t(loops.back().n);
  const auto as = [&]<class Wide>() {
    if (sizeof(Wide) <= sizeof(T) || size_t(run) * sizeof(T) != sizeof(Wide)) return false;
    const auto apart = [](const void* p) { return reinterpret_cast<uintptr_t>(p) % sizeof(Wide); };
    if (apart(from) != 0 || apart(to) != 0) return false;
    std::array<Loops::Loop, 48> fewer;
    const auto outer = loops.first(loops.size() - 1);
    for (size_t i = 0; i < outer.size(); ++i) {
      if (outer[i].from % run != 0 || outer[i].to % run != 0) return false;
      fewer[i] = {outer[i].n, outer[i].from / run, outer[i].to / run};
    }
    copy(std::span<const Loops::Loop>(fewer.data(), outer.size()),
         reinterpret_cast<const Wide*>(from), reinterpret_cast<Wide*>(to), pool, isa);
    return true;
  };
  if constexpr (sizeof(T) < 8) {
    return as.template operator()<uint16_t>() || as.template operator()<uint32_t>() ||
           as.template operator()<uint64_t>();
  }
  return false;
}

template <class T>
void copy(std::span<const Loops::Loop> loops, const T* from, T* to, Pool* pool, Isa isa) {
  if (loops.empty()) {
    *to = *from;
    return;
  }
  const Loops::Loop inner = loops.back();
  if (inner.from == 1 && inner.to == 1) {
    constexpr size_t kShortBytes = 1024;
    if (loops.size() > 1 && inner.n * sizeof(T) <= kShortBytes) {
      const Loops::Loop& again = loops[loops.size() - 2];
      if (again.from == 0 && again.to == int64_t(inner.n) && again.n >= 4) {
        return copy_repeated(loops.first(loops.size() - 2), inner.n, again.n, from, to, pool);
      }
    }
    if (copy_widened(loops, from, to, pool, isa)) return;
    return copy_runs(loops.first(loops.size() - 1), inner.n, from, to, pool, isa);
  }
  if (copy_columns(loops, from, to, pool, isa)) return;
  // Pixels of which each goes to few planes, where other loops stand between: squares of an image
  // that become channels.
  for (size_t j = loops.size() - 1; j-- > 0 && inner.to == 1;) {
    if (loops[j].from != 1 || inner.from != int64_t(loops[j].n) || !are_few(loops[j].n)) continue;
    if (copy_columns(moved(loops, j, loops.size() - 2).loops(), from, to, pool, isa)) return;
  }
  if (inner.to == 1 && inner.from != 0 && inner.n >= 4) {
    for (size_t j = loops.size() - 1; j-- > 0;) {
      if (loops[j].from != 1 || loops[j].n < 4) continue;
      if constexpr (sizeof(T) <= 8) return copy_transposed(loops, j, from, to, pool, isa);
    }
  }
  if (inner.n >= 8 || loops.size() == 1) return copy_any(loops, from, to, pool);
  // A short innermost loop costs more in stepping than in moving: the tightest long one goes inside
  // instead.
  size_t best = loops.size() - 1;
  const auto spread = [&](size_t i) { return std::abs(loops[i].from) + std::abs(loops[i].to); };
  for (size_t i = 0; i + 1 < loops.size(); ++i) {
    if (loops[i].n >= 8 && (best == loops.size() - 1 || spread(i) < spread(best))) best = i;
  }
  copy_any(moved(loops, best, loops.size() - 1).loops(), from, to, pool);
}

// Packed elements share bytes, so one thread moves them.
void copy_packed(std::span<const Loops::Loop> loops, DType type, const void* from,
                 int64_t from_start, void* to, int64_t to_start) {
  const size_t width = bits(type);
  size_t done = 0;
  if (loops.size() == 1 && loops[0].from == 1 && loops[0].to == 1 &&
      size_t(from_start) * width % 8 == 0 && size_t(to_start) * width % 8 == 0) {
    const size_t bytes =
        loops[0].n * width / 24 * 3;  // whole bytes that hold whole elements, for 6 bits too
    std::memcpy(static_cast<uint8_t*>(to) + size_t(to_start) * width / 8,
                static_cast<const uint8_t*>(from) + size_t(from_start) * width / 8, bytes);
    done = bytes * 8 / width;
  }
  Odometer at(loops, done);
  for (size_t i = done, n = iterations(loops); i < n; ++i, at.next()) {
    set_bits(type, to, size_t(to_start + at.to),
             get_bits(type, from, size_t(from_start + at.from)));
  }
}

// f(T*) with T of the element's size; strings as std::string.
template <class F>
void by_size(DType type, F&& f) {
  if (type == DType::string) return f.template operator()<std::string>();
  switch (bits(type)) {
    case 8:
      return f.template operator()<uint8_t>();
    case 16:
      return f.template operator()<uint16_t>();
    case 32:
      return f.template operator()<uint32_t>();
    case 64:
      return f.template operator()<uint64_t>();
    default:
      return f.template operator()<Bytes16>();
  }
}

}  // namespace

void strided_copy(const Loops& loops, DType type, const void* from, int64_t from_start, void* to,
                  int64_t to_start, Pool* pool, Isa isa) {
  if (loops.empty()) return;
  if (type != DType::string && is_packed(type)) {
    return copy_packed(loops.loops(), type, from, from_start, to, to_start);
  }
  by_size(type, [&]<class T>() {
    const T* x = static_cast<const T*>(from) + from_start;
    T* y = static_cast<T*>(to) + to_start;
    if constexpr (std::is_same_v<T, std::string>) {
      Odometer at(loops.loops(), 0);
      for (size_t i = 0, n = iterations(loops.loops()); i < n; ++i, at.next())
        y[at.to] = x[at.from];
    } else {
      copy(loops.loops(), x, y, pool, isa);
    }
  });
}

void flat_copy(DType type, const void* from, size_t from_start, void* to, size_t to_start,
               size_t count, Pool* pool, Isa isa) {
  Loops loops;
  loops.add(int64_t(count), 1, 1);
  strided_copy(loops, type, from, int64_t(from_start), to, int64_t(to_start), pool, isa);
}

void fill(DType type, const void* value, void* to, size_t count, Pool* pool, Isa isa) {
  Loops loops;
  loops.add(int64_t(count), 0, 1);
  strided_copy(loops, type, value, 0, to, 0, pool, isa);
}

void clear_tail(DType type, void* data, size_t count) {
  if (type == DType::string || !is_packed(type) || count == 0) return;
  const size_t bytes = bytes_for(type, count);
  static_cast<uint8_t*>(data)[bytes - 1] = 0;
}

}  // namespace sdx
