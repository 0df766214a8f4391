// Numbers as Cast writes them into strings and reads them from there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace sdx {

// The shortest decimal text that reads back as x: "0.1", "-3.0", "1e-05"; "NaN", "INF", "-INF".
std::string number_text(float x);
std::string number_text(double x);

// Plain and scientific notation, "INF", "+INF", "-INF" and "NaN" in any case, surrounding blanks
// allowed.
Result<float> parse_f32(std::string_view text);
Result<double> parse_f64(std::string_view text);
// Integers exactly; other numbers are truncated towards zero and saturate.
Result<int64_t> parse_i64(std::string_view text);
Result<uint64_t> parse_u64(std::string_view text);

}  // namespace sdx
