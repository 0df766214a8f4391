// SHA-1, for the checksums that ONNX's external data may carry; it finds damage, not attackers.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace sdx {

// 40 lower-case hexadecimal digits.
std::string sha1_hex(std::span<const std::byte> bytes);

}  // namespace sdx
