// Requests that a server has recorded are verified by `sardonyx verify` too, where there is a
// server: the program that holds one says how.
#pragma once

#include <string>

namespace sdx::cli {

// The exit code for FILE, with MODEL in the place of the recorded one unless empty.
using VerifyRecord = int (*)(const std::string& file, const std::string& model);
void verify_records_by(VerifyRecord verify);

}  // namespace sdx::cli
