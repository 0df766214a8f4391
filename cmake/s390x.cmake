# s390x, the order of whose bytes is the other one, on another machine: Debian's cross compiler and what it brings, libraries of headers alone, and qemu for what
# is run. The program is one static file at the portable level.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR s390x)
set(CMAKE_C_COMPILER s390x-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER s390x-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE s390x-linux-gnu)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-s390x-static)
# g++ could keep floats as doubles here, which would change answers.
set(CMAKE_CXX_FLAGS_INIT -fexcess-precision=fast)
# What bookworm does not have for it is left out.
foreach(part SDX_RE2 SDX_IMAGES SDX_ZLIB SDX_SERVE)
  set(${part} OFF CACHE STRING "no library")
endforeach()
set(SDX_FMT_HEADERS ON CACHE BOOL "no library")
set(SDX_STATIC ON CACHE BOOL "no library")
