# What nearly every file of the road includes is compiled once, as a precompiled header, and reused by the folders that
# see it anyway. Files include what they use all the same: the fuzzers' build does without (SDX_PRECOMPILED=OFF).
# The compiler's cache takes no part in making them: it would find a header's older form beside it, and take what that
# includes for what this one does.
#
#   sdx_precompiled(op <op/op.h>)   the header set "op", built with the include path of src/op
#   sdx_precompiled(kernel_avx2 SEES kernel <kernel/gemm/tile.h>)   and one of another name than the folder's
#   sdx_precompile(target op)       `target` starts from it

option(SDX_PRECOMPILED "compile common headers once" ON)
if(SDX_FUZZ)
  set(SDX_PRECOMPILED OFF)
endif()

function(sdx_precompiled name)
  if(NOT SDX_PRECOMPILED)
    return()
  endif()
  cmake_parse_arguments(ARG "" "SEES" "" ${ARGN})
  if(NOT ARG_SEES)
    set(ARG_SEES ${name})
  endif()
  set(empty ${CMAKE_BINARY_DIR}/precompiled/${name}.cc)
  file(CONFIGURE OUTPUT ${empty} CONTENT "// Carries a precompiled header.\n")
  add_library(sdx_headers_${name} OBJECT ${empty})
  set_target_properties(sdx_headers_${name} PROPERTIES CXX_COMPILER_LAUNCHER "")
  target_link_libraries(sdx_headers_${name} PRIVATE sdx_${ARG_SEES}_see)
  target_precompile_headers(sdx_headers_${name} PRIVATE ${ARG_UNPARSED_ARGUMENTS})
endfunction()

function(sdx_precompile target name)
  if(SDX_PRECOMPILED)
    target_precompile_headers(${target} REUSE_FROM sdx_headers_${name})
  endif()
endfunction()
