#include "ops/tensor/columns.h"

#include <algorithm>
#include <array>

#include "base/dtype.h"
#include "kernel/turn/columns.h"

namespace sdx::ops {
namespace {

// Bytes of a row of each part, which the kernel takes for one element; 0 if it cannot.
size_t common_bytes(std::span<const View> parts, const View& whole, size_t rows) {
  if (parts.size() < 2 || parts.size() > kMostColumns || rows < 2) return 0;
  if (whole.type == DType::string || bits(whole.type) < 8) return 0;
  const size_t bytes = parts[0].count / rows * (bits(whole.type) / 8);
  if (bytes == 0 || bytes > 8 || (bytes & (bytes - 1)) != 0) return 0;
  const auto fits = [bytes](const View& x) {
    return x.raw != nullptr && reinterpret_cast<uintptr_t>(x.raw) % bytes == 0;
  };
  const auto alike = [&](const View& x) { return x.count == parts[0].count && fits(x); };
  return fits(whole) && std::all_of(parts.begin(), parts.end(), alike) ? bytes : 0;
}

// run(size, columns, where each part's rows lie, where the whole's do, rows), by all threads.
template <class Run>
bool each_stretch(std::span<const View> parts, const View& whole, size_t rows, Args& args,
                  Run run) {
  const size_t bytes = common_bytes(parts, whole, rows), columns = parts.size();
  if (bytes == 0) return false;
  const auto stretch = [&](size_t begin, size_t end, int) {
    std::array<void*, kMostColumns> at{};
    for (size_t i = 0; i < columns; ++i) at[i] = parts[i].data<std::byte>() + begin * bytes;
    run(bytes, columns, at.data(), whole.data<std::byte>() + begin * bytes * columns, end - begin);
  };
  constexpr size_t kGrainBytes = size_t{1} << 16;
  if (args.pool == nullptr) {
    stretch(0, rows, 0);
  } else {
    args.pool->parallel(rows, kGrainBytes / (bytes * columns), stretch);
  }
  return true;
}

}  // namespace

bool join_narrow(std::span<const View> parts, const View& whole, size_t rows, Args& args) {
  return each_stretch(parts, whole, rows, args,
                      [&](size_t size, size_t n, void* const* from, void* to, size_t count) {
                        SDX_PICK(join_columns, args.isa)(size, n, from, to, count);
                      });
}

bool split_narrow(const View& whole, std::span<const View> parts, size_t rows, Args& args) {
  return each_stretch(parts, whole, rows, args,
                      [&](size_t size, size_t n, void* const* to, void* from, size_t count) {
                        SDX_PICK(deal_columns, args.isa)(size, n, from, to, count);
                      });
}

}  // namespace sdx::ops
