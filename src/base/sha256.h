// SHA-256 (FIPS 180-4), fed piece by piece: the hash that digests of outputs print.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace sdx {

class Sha256 {
 public:
  void add(std::span<const std::byte> bytes);
  void add(const void* data, size_t size) { add({static_cast<const std::byte*>(data), size}); }
  // 64 lower-case hexadecimal digits of all that was added. Ends the object's use.
  std::string hex();

 private:
  void block(const uint8_t* bytes);

  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<uint8_t, 64> held_ = {};
  size_t held_size_ = 0;
  uint64_t total_ = 0;
};

inline std::string sha256_of(std::span<const std::byte> bytes) {
  Sha256 sha;
  sha.add(bytes);
  return sha.hex();
}

}  // namespace sdx
