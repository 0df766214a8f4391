// checksum: tells whether bytes are still those that were written, at the speed of memory.
//
// SHA-256 of all bytes would take longer than packing the weights anew. Each megabyte is taken by
// eight lanes of 64 bits, lane = rotate((lane ^ word) * odd), which the hash of the whole then
// covers with SHA-256. A step is a bijection of the lane for every word and of the word for every
// lane, so damage inside of one word is always seen, and other damage with a chance of 1 - 2^-64.
// It is no defence against forgery: whoever can write the file could as well write the model.
#pragma once

#include <span>
#include <string>

#include "kernel/pool.h"

namespace sdx::plan {

// 64 hexadecimal digits; the same for any number of threads.
std::string checksum(std::span<const std::byte> bytes, Pool& pool);

}  // namespace sdx::plan
