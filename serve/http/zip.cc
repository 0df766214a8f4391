#include "serve/http/zip.h"

#include <zlib.h>

#include <algorithm>

namespace sardonyx::serve {

Outcome<Body> unzipped(std::string_view bytes, size_t most) {
  z_stream stream{};
  if (inflateInit2(&stream, 15 + 32) != Z_OK)
    return Failure{Kind::unavailable, "SDX-V0130: out of memory"};
  const std::unique_ptr<z_stream, int (*)(z_stream*)> end(&stream, inflateEnd);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  size_t left = bytes.size();
  Body body;
  while (true) {
    body.reserve(std::min(most + 1, std::max<size_t>(body.size() * 2, 64 << 10)));
    stream.avail_in = static_cast<uInt>(std::min<size_t>(left, 1 << 30));
    const uInt given = stream.avail_in;
    stream.next_out = reinterpret_cast<Bytef*>(body.room().data());
    const auto room = static_cast<uInt>(std::min<size_t>(body.room().size(), 1 << 30));
    stream.avail_out = room;
    const int result = inflate(&stream, Z_NO_FLUSH);
    left -= given - stream.avail_in;
    body.wrote(room - stream.avail_out);
    if (body.size() > most) {
      return Failure{Kind::too_large,
                     "SDX-V0131: a compressed body of over " + std::to_string(most) + " bytes"};
    }
    if (result == Z_STREAM_END) break;
    if ((result != Z_OK && result != Z_BUF_ERROR) || (left == 0 && stream.avail_out > 0)) {
      return Failure{Kind::bad_request, "SDX-V0132: the compressed body is damaged"};
    }
  }
  if (left > 0) return Failure{Kind::bad_request, "SDX-V0133: bytes after the compressed body"};
  return body;
}

std::string zipped(std::string_view bytes) {
  z_stream stream{};
  if (deflateInit2(&stream, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) return "";
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int result = deflate(&stream, Z_FINISH);
  out.resize(result == Z_STREAM_END ? stream.total_out : 0);
  deflateEnd(&stream);
  return out;
}

}  // namespace sardonyx::serve
