# For targets of which Debian has a compiler and no libraries: those that are headers alone come from this machine, in a
# folder of their own, for the rest of /usr/include is another system's. What the others are for is left out.
foreach(part SDX_RE2 SDX_IMAGES SDX_ZLIB SDX_SERVE)
  set(${part} OFF CACHE STRING "no library")
endforeach()
set(SDX_STATIC ON CACHE BOOL "no library")
set(SDX_HEADERS ${CMAKE_BINARY_DIR}/headers CACHE PATH "no library")
file(MAKE_DIRECTORY ${SDX_HEADERS})
foreach(folder fmt CLI nlohmann)
  file(CREATE_LINK /usr/include/${folder} ${SDX_HEADERS}/${folder} SYMBOLIC)
endforeach()
