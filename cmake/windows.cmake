# Windows, on another machine: Debian's mingw-w64 with POSIX threads, libraries of headers alone, and wine for what is run.
# The program is one file.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_C_COMPILER x86_64-w64-mingw32-gcc-posix)
set(CMAKE_CXX_COMPILER x86_64-w64-mingw32-g++-posix)
set(CMAKE_RC_COMPILER x86_64-w64-mingw32-windres)
set(CMAKE_CROSSCOMPILING_EMULATOR wine)
set(CMAKE_FIND_ROOT_PATH /usr/x86_64-w64-mingw32)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
# Its g++ takes the stack for aligned to more than the 16 bytes that Windows promises.
set(CMAKE_CXX_FLAGS_INIT -Wa,-muse-unaligned-vector-move)
# A thread's stack is as large as the program's file says.
set(CMAKE_EXE_LINKER_FLAGS_INIT -Wl,--stack,16777216)
include(${CMAKE_CURRENT_LIST_DIR}/headers_alone.cmake)
