# riscv64, on another machine: Debian's cross compiler and what it brings, libraries of headers alone, and qemu for what
# is run. The program is one static file at the portable level.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR riscv64)
set(CMAKE_C_COMPILER riscv64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER riscv64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE riscv64-linux-gnu)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-riscv64-static)
# Its g++ 12 calls a library to exchange a single byte.
set(CMAKE_CXX_STANDARD_LIBRARIES -latomic)
# What bookworm does not have for it is left out.
foreach(part SDX_RE2 SDX_IMAGES SDX_ZLIB SDX_SERVE)
  set(${part} OFF CACHE STRING "no library")
endforeach()
set(SDX_FMT_HEADERS ON CACHE BOOL "no library")
set(SDX_STATIC ON CACHE BOOL "no library")
