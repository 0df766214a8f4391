#include "plan/checksum.h"

#include <array>
#include <bit>
#include <cstring>
#include <vector>

#include "base/sha256.h"

namespace sdx::plan {
namespace {

constexpr size_t kBlock = 1 << 20;
constexpr size_t kLanes = 8;
using Lanes = std::array<uint64_t, kLanes>;

void step(Lanes& lanes, const std::byte* from) {
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;
  for (size_t i = 0; i < kLanes; ++i) {
    uint64_t word;
    std::memcpy(&word, from + i * sizeof word, sizeof word);
    lanes[i] = std::rotl((lanes[i] ^ word) * kOdd, 29);
  }
}

Lanes lanes_of(std::span<const std::byte> bytes) {
  Lanes lanes = {1, 2, 3, 4, 5, 6, 7, 8};
  size_t at = 0;
  for (; at + sizeof(Lanes) <= bytes.size(); at += sizeof(Lanes)) step(lanes, bytes.data() + at);
  if (at < bytes.size()) {
    std::array<std::byte, sizeof(Lanes)> rest = {};
    std::memcpy(rest.data(), bytes.data() + at, bytes.size() - at);
    step(lanes, rest.data());
  }
  return lanes;
}

}  // namespace

std::string checksum(std::span<const std::byte> bytes, Pool& pool) {
  std::vector<Lanes> blocks((bytes.size() + kBlock - 1) / kBlock);
  pool.parallel(blocks.size(), 1, [&](size_t begin, size_t end, int) {
    for (size_t i = begin; i < end; ++i) {
      const auto rest = bytes.subspan(i * kBlock);
      blocks[i] = lanes_of(rest.first(std::min(kBlock, rest.size())));
    }
  });
  Sha256 all;
  const uint64_t size = bytes.size();
  all.add(&size, sizeof size);
  all.add(std::as_bytes(std::span(blocks)));
  return all.hex();
}

}  // namespace sdx::plan
