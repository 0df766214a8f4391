#include "base/keyed.h"

#include <array>
#include <bit>
#include <chrono>
#include <cstring>

#include "base/system.h"

namespace sdx {
namespace {

struct State {
  uint64_t a, b, c, d;

  void round() {
    a += b, b = std::rotl(b, 13) ^ a, a = std::rotl(a, 32);
    c += d, d = std::rotl(d, 16) ^ c;
    a += d, d = std::rotl(d, 21) ^ a;
    c += b, b = std::rotl(b, 17) ^ c, c = std::rotl(c, 32);
  }
  void take(uint64_t word) {
    d ^= word;
    round();
    a ^= word;
  }
};

// From the system; without it, from what differs between processes: the clock, and where the loader
// put the stack.
HashKey drawn() {
  HashKey key{};
  if (system::random_bytes(&key, sizeof key)) return key;
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  const std::array<uint64_t, 3> seeds{uint64_t(now), uint64_t(reinterpret_cast<uintptr_t>(&key)),
                                      uint64_t(system::process_number())};
  const std::string_view bytes(reinterpret_cast<const char*>(seeds.data()), sizeof seeds);
  return {keyed_hash(bytes, {1, 2}), keyed_hash(bytes, {3, 4})};
}

// Drawn before main, and so before a sandbox is closed.
const HashKey process_key = drawn();

}  // namespace

const HashKey& process_hash_key() { return process_key; }

uint64_t keyed_hash(std::string_view bytes, const HashKey& key) {
  State state{key.k0 ^ 0x736f6d6570736575, key.k1 ^ 0x646f72616e646f6d, key.k0 ^ 0x6c7967656e657261,
              key.k1 ^ 0x7465646279746573};
  uint64_t word = 0;
  size_t at = 0;
  for (; at + sizeof word <= bytes.size(); at += sizeof word) {
    std::memcpy(&word, bytes.data() + at, sizeof word);
    state.take(word);
  }
  word = uint64_t(bytes.size()) << 56;
  for (size_t i = 0; at + i < bytes.size(); ++i) {
    word |= uint64_t(static_cast<unsigned char>(bytes[at + i])) << 8 * i;
  }
  state.take(word);
  state.c ^= 0xff;
  for (int i = 0; i < 3; ++i) state.round();
  return state.a ^ state.b ^ state.c ^ state.d;
}

}  // namespace sdx
