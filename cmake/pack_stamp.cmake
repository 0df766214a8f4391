# Writes what tells the layouts of one build's packed weights from another's: a hash of all code that could decide them.
#   cmake -DSOURCE=src -DOUT=pack_stamp.h -P pack_stamp.cmake
file(GLOB_RECURSE files RELATIVE ${SOURCE} ${SOURCE}/base/* ${SOURCE}/kernel/* ${SOURCE}/op/* ${SOURCE}/ops/*)
list(FILTER files EXCLUDE REGEX "_(test|bench)\\.cc$")
list(SORT files)
set(all "")
foreach(file ${files})
  file(SHA256 ${SOURCE}/${file} hash)
  string(APPEND all "${file} ${hash}\n")
endforeach()
string(SHA256 stamp "${all}")
file(WRITE ${OUT} "#pragma once\n\n#include <string_view>\n\nnamespace sdx::plan {\ninline constexpr std::string_view kPackStamp = \"${stamp}\";\n}\n")
