#include "kernel/turn/stream.h"

#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace sdx::SDX_ISA {
namespace {

constexpr size_t kLine = 64;

#if defined(SDX_ISA_avx512)
void stream_line(char* to, const char* from) {
  _mm512_stream_si512(reinterpret_cast<__m512i*>(to), _mm512_loadu_si512(from));
}
#elif defined(SDX_ISA_avx2)
void stream_line(char* to, const char* from) {
  const auto* in = reinterpret_cast<const __m256i*>(from);
  const __m256i a = _mm256_loadu_si256(in), b = _mm256_loadu_si256(in + 1);
  _mm256_stream_si256(reinterpret_cast<__m256i*>(to), a);
  _mm256_stream_si256(reinterpret_cast<__m256i*>(to) + 1, b);
}
#elif defined(__x86_64__)
void stream_line(char* to, const char* from) {
  for (size_t i = 0; i < kLine; i += 16) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + i),
                     _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i)));
  }
}
#else
void stream_line(char* to, const char* from) { std::memcpy(to, from, kLine); }
#endif

}  // namespace

void stream_copy(char* to, const char* from, size_t bytes) {
  const size_t behind = reinterpret_cast<uintptr_t>(to) % kLine;
  const size_t head = behind == 0 ? 0 : kLine - behind;
  if (bytes < head + kLine) {
    std::memcpy(to, from, bytes);
    return;
  }
  std::memcpy(to, from, head);
  size_t at = head;
  for (; at + kLine <= bytes; at += kLine) stream_line(to + at, from + at);
  std::memcpy(to + at, from + at, bytes - at);
}

void stream_end() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

}  // namespace sdx::SDX_ISA
