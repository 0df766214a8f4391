# arm64 on another machine: Debian's cross compiler, its libraries beside those of this machine (scripts/install_deps.sh arm64),
# and qemu for what is run. Programs start through arm64's own loader: with the cross package's C library, those with
# two threads would hang in qemu.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig)  # which find_package(OpenSSL) asks
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static;-E;LD_LIBRARY_PATH=/usr/lib/aarch64-linux-gnu;/usr/lib/aarch64-linux-gnu/ld-linux-aarch64.so.1)
if(SDX_STATIC)  # asks for no loader
  set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static)
endif()
