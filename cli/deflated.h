// What an archive needs of compression: sums, and packed bytes unpacked. zlib does both; a build
// without it (SDX_ZLIB=OFF) sums by itself and reads archives whose arrays are stored as they are,
// which numpy.savez writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"

namespace sdx::cli {

inline Error broken(std::string_view why) { return fail("SDX-C0026", "not an .npz file: {}", why); }

// The CRC-32 of bytes that follow those with the sum `crc`.
uint32_t crc_of(std::span<const std::byte> bytes, uint32_t crc = 0);

// All of what was packed, or as much of its beginning as there is room for.
Status inflate_into(std::span<const std::byte> packed, std::span<std::byte> into, bool all = true);

}  // namespace sdx::cli
