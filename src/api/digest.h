// Digest: the line that identifies an output on any machine: its name, type, shape and the SHA-256
// of its elements.
//
// Hashed are the bytes that TensorProto.raw_data would hold: row-major, little-endian, sub-byte
// types packed from the least significant bit with zeros in the unused bits of the last byte. A
// string is hashed as its length in 8 little-endian bytes and then its bytes. A sequence gives one
// line per element, NAME[0] and so on, a map one per key in ascending order, NAME[7] or
// NAME["key"]. An empty sequence or map, and an optional without a value, give one line with the
// type seq, map or none, the shape [0] and the hash of no bytes.
#pragma once

#include <string>
#include <vector>

#include "base/tensor.h"

namespace sdx {

struct DigestLine {
  std::string name, type, shape, sha256;
  std::string text() const { return name + ' ' + type + ' ' + shape + ' ' + sha256; }
};
std::vector<DigestLine> digest(const std::string& name, const Value& value);

// Of one tensor's elements.
std::string digest(const Tensor& tensor);

}  // namespace sdx
