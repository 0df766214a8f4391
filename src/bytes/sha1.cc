#include "bytes/sha1.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

namespace sdx {
namespace {

void add_block(std::array<uint32_t, 5>& state, const std::byte* block) {
  uint32_t w[80];
  for (int i = 0; i < 16; ++i) {
    w[i] = 0;
    for (int j = 0; j < 4; ++j) w[i] = w[i] << 8 | static_cast<uint32_t>(block[4 * i + j]);
  }
  for (int i = 16; i < 80; ++i) w[i] = std::rotl(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);

  auto [a, b, c, d, e] = state;
  for (int i = 0; i < 80; ++i) {
    uint32_t f = 0;
    uint32_t k = 0;
    if (i < 20) {
      f = (b & c) | (~b & d);
      k = 0x5a827999;
    } else if (i < 40) {
      f = b ^ c ^ d;
      k = 0x6ed9eba1;
    } else if (i < 60) {
      f = (b & c) | (b & d) | (c & d);
      k = 0x8f1bbcdc;
    } else {
      f = b ^ c ^ d;
      k = 0xca62c1d6;
    }
    const uint32_t next = std::rotl(a, 5) + f + e + k + w[i];
    e = d;
    d = c;
    c = std::rotl(b, 30);
    b = a;
    a = next;
  }
  state[0] += a;
  state[1] += b;
  state[2] += c;
  state[3] += d;
  state[4] += e;
}

}  // namespace

std::string sha1_hex(std::span<const std::byte> bytes) {
  std::array<uint32_t, 5> state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  size_t done = 0;
  for (; bytes.size() - done >= 64; done += 64) add_block(state, bytes.data() + done);

  // The rest, a one bit, zeros, and the length in bits as a big-endian number at the end of a
  // block.
  const size_t rest = bytes.size() - done;
  std::array<std::byte, 128> tail = {};
  if (rest > 0) std::memcpy(tail.data(), bytes.data() + done, rest);
  tail[rest] = std::byte{0x80};
  const size_t tail_size = rest < 56 ? 64 : 128;
  const uint64_t bits = uint64_t{bytes.size()} * 8;
  for (size_t i = 0; i < 8; ++i) {
    tail[tail_size - 1 - i] = static_cast<std::byte>(bits >> (8 * i));
  }
  add_block(state, tail.data());
  if (tail_size == 128) add_block(state, tail.data() + 64);
  return fmt::format("{:08x}{:08x}{:08x}{:08x}{:08x}", state[0], state[1], state[2], state[3],
                     state[4]);
}

}  // namespace sdx
