#include "deflated.h"

#ifdef SDX_WITH_ZLIB
#include <zlib.h>

#include <algorithm>
#endif

namespace sdx::cli {

#ifdef SDX_WITH_ZLIB

uint32_t crc_of(std::span<const std::byte> bytes, uint32_t crc) {
  return static_cast<uint32_t>(
      crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

Status inflate_into(std::span<const std::byte> packed, std::span<std::byte> into, bool all) {
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return broken("no memory to inflate it");
  size_t taken = 0, given = 0;
  int state = Z_OK;
  // zlib counts in 32 bits.
  constexpr size_t kMost = size_t{1} << 30;
  while (state == Z_OK && (all || given < into.size())) {
    const size_t in = std::min(packed.size() - taken, kMost),
                 out = std::min(into.size() - given, kMost);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data() + taken));
    stream.next_out = reinterpret_cast<Bytef*>(into.data() + given);
    stream.avail_in = static_cast<uInt>(in);
    stream.avail_out = static_cast<uInt>(out);
    state = inflate(&stream, Z_NO_FLUSH);
    taken += in - stream.avail_in;
    given += out - stream.avail_out;
  }
  inflateEnd(&stream);
  const bool good = state == Z_STREAM_END || (!all && state == Z_OK);
  if (!good || given != into.size()) return broken("an array cannot be inflated");
  return ok();
}

#else

uint32_t crc_of(std::span<const std::byte> bytes, uint32_t crc) {
  crc = ~crc;
  for (const std::byte byte : bytes) {
    crc ^= static_cast<uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xedb88320u : 0);
  }
  return ~crc;
}

Status inflate_into(std::span<const std::byte>, std::span<std::byte>, bool) {
  Error error = fail("SDX-C0177", "the array is compressed, and this build has no zlib");
  error.help = "numpy.savez writes arrays as they are";
  return error;
}

#endif

}  // namespace sdx::cli
