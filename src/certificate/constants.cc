#include "certificate/constants.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "kernel/conv/blocked/conv_blocked.h"

namespace sdx::certificate {
namespace {

constexpr size_t kSmall = 1 << 12, kMostCompared = 1 << 22, kMostWays = 24;

bool can_compare(const Tensor& old, const Tensor& made) {
  return old.type() == made.type() && old.type() != DType::string && !is_packed(old.type()) &&
         old.count() > 0 && made.count() <= kMostCompared;
}

// visit(place in old, place in made) for every element of old, until one is false; stride[axis of
// old]: how far apart its neighbours along that axis lie in made.
bool every_element(const Tensor& old, const std::vector<size_t>& stride,
                   const std::function<bool(size_t, size_t)>& visit) {
  std::vector<size_t> index(old.dims().size(), 0);
  size_t place = 0;
  for (size_t i = 0; i < old.count(); ++i) {
    if (!visit(i, place)) return false;
    for (size_t axis = index.size(); axis-- > 0;) {
      place += stride[axis];
      if (++index[axis] < size_t(old.dims()[axis])) break;
      place -= stride[axis] * index[axis];
      index[axis] = 0;
    }
  }
  return true;
}

bool holds(const Tensor& old, const Tensor& made, const StoredAxes& axes) {
  std::vector<size_t> stride(old.dims().size(), 0);
  size_t step = 1;
  for (size_t i = axes.size(); i-- > 0; step *= size_t(made.dims()[i])) {
    if (axes[i]) stride[*axes[i]] = step;
  }
  const size_t size = bytes_for(old.type(), 1);
  const auto *from = static_cast<const char*>(old.raw()),
             *to = static_cast<const char*>(made.raw());
  return every_element(old, stride, [&](size_t i, size_t j) {
    return std::memcmp(from + i * size, to + j * size, size) == 0;
  });
}

// Gives axes[at ...] every meaning that the sizes allow.
void assign(const Tensor& old, const Tensor& made, size_t at, std::vector<bool>& used,
            StoredAxes& axes, std::vector<StoredAxes>& found) {
  if (found.size() >= kMostWays) return;
  if (at == axes.size()) {
    for (size_t i = 0; i < used.size(); ++i) {
      if (!used[i] && old.dims()[i] != 1) return;
    }
    if (holds(old, made, axes)) found.push_back(axes);
    return;
  }
  if (made.dims()[at] == 1) {
    axes[at] = std::nullopt;
    assign(old, made, at + 1, used, axes, found);
  }
  for (size_t i = 0; i < used.size(); ++i) {
    if (used[i] || old.dims()[i] != made.dims()[at] || old.dims()[i] == 1) continue;
    used[i] = true;
    axes[at] = i;
    assign(old, made, at + 1, used, axes, found);
    used[i] = false;
  }
}

}  // namespace

size_t TensorNumbers::of(const Tensor& tensor) {
  const auto [at, fresh] = shared_.try_emplace({tensor.raw(), tensor.type(), tensor.dims()}, next_);
  if (!fresh) return at->second;
  kept_.push_back(tensor);
  const bool small = tensor.type() != DType::string && tensor.bytes() <= kSmall;
  if (small) {
    std::string bytes(static_cast<const char*>(tensor.raw()), tensor.bytes());
    const auto [same, is_new] =
        small_.try_emplace({std::move(bytes), tensor.type(), tensor.dims()}, next_);
    if (!is_new) return at->second = same->second;
  }
  return next_++;
}

bool is_zero(const Tensor& tensor) {
  if (tensor.type() == DType::string || tensor.bytes() > kSmall) return false;
  const auto* bytes = static_cast<const char*>(tensor.raw());
  return std::all_of(bytes, bytes + tensor.bytes(), [](char byte) { return byte == 0; });
}

std::vector<StoredAxes> moves_between(const Tensor& old, const Tensor& made) {
  std::vector<StoredAxes> found;
  if (!can_compare(old, made) || old.count() != made.count()) return found;
  std::vector<bool> used(old.dims().size(), false);
  StoredAxes axes(made.dims().size());
  assign(old, made, 0, used, axes, found);
  return found;
}

bool is_blocked_form(const Tensor& old, const Tensor& made) {
  const Dims &was = old.dims(), &is = made.dims();
  if (!can_compare(old, made) || was.size() != 4 || is.size() != 5 ||
      is[4] != int64_t(kBlockLanes) || is[0] != was[0] || is[2] != was[2] || is[3] != was[3] ||
      is[1] != int64_t(channel_blocks(size_t(was[1]))))
    return false;
  const size_t size = bytes_for(old.type(), 1), plane = size_t(was[2] * was[3]);
  const auto *from = static_cast<const char*>(old.raw()),
             *to = static_cast<const char*>(made.raw());
  for (size_t i = 0; i < old.count(); ++i) {
    const size_t position = i % plane, channel = i / plane % size_t(was[1]);
    const size_t block = i / plane / size_t(was[1]) * size_t(is[1]) + channel / kBlockLanes;
    const size_t j = (block * plane + position) * kBlockLanes + channel % kBlockLanes;
    if (std::memcmp(from + i * size, to + j * size, size) != 0) return false;
  }
  return true;
}

}  // namespace sdx::certificate
