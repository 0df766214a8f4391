// Which test holds a kernel to its operator's reference, for reports that trace a model down to it.
#pragma once

#include <string>
#include <string_view>

namespace sdx::cli {

// "Softmax.long_rows/softmax_f32" of ops_test, which runs it at every level of the machine; empty
// if there is none. The kernel "reference" is held to expected values.
std::string test_of(std::string_view operation, std::string_view kernel);

}  // namespace sdx::cli
