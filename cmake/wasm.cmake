# WebAssembly, by Debian's emscripten: libraries of headers alone, and node for what is run. The program is one file of
# JavaScript and one of WebAssembly; it has 32-bit addresses and one thread.
set(EMSCRIPTEN_SYSTEM_PROCESSOR wasm32)
include(/usr/share/emscripten/cmake/Modules/Platform/Emscripten.cmake)
set(CMAKE_CROSSCOMPILING_EMULATOR node)
set(CCACHE "" CACHE STRING "it does not know this compiler")
# WebAssembly's own exceptions and vectors of 16 bytes, which browsers have had since 2023; its C++ library is of 2021
# and lacks what src/base/libcxx13.h adds.
set(CMAKE_C_FLAGS_INIT "-fwasm-exceptions -msimd128")
set(CMAKE_CXX_FLAGS_INIT "-fwasm-exceptions -msimd128 -Wshorten-64-to-32 -include ${CMAKE_CURRENT_LIST_DIR}/../src/base/libcxx13.h")
# Its linker is in part a program for node, and a node that is not Debian's does not find Debian's modules by itself.
set(CMAKE_CXX_LINKER_LAUNCHER ${CMAKE_COMMAND} -E env NODE_PATH=/usr/share/nodejs)
include(${CMAKE_CURRENT_LIST_DIR}/headers_alone.cmake)
