# One folder of src/ is one target, sdx_<folder>, with the include path of the folders it may see and of no other.
# HEADERS names what it starts from (precompiled.cmake). Its files are compiled in batches (batches.cmake), but those that
# are compiled once not if it is ALONE; batches reach across its own folders where it is ACROSS.
#
#   x.cc         compiled once
#   x.isa.cc     compiled once per instruction set, with SDX_ISA=portable|avx2|avx512|neon (see kernel/isa.h)
#   x.posix.cc   compiled for systems of that kind: posix, or plain and windows (see base/system.h)
#   x_test.cc    linked into the folder's test program, <folder>_test
#   x_bench.cc   linked into the folder's benchmark program, <folder>_bench

if(WIN32)
  set(SDX_SYSTEMS plain windows)
else()
  set(SDX_SYSTEMS posix)
endif()
# Leaves the files of other systems out of the list.
function(sdx_of_this_system name_of_list)
  set(others posix plain windows)
  list(REMOVE_ITEM others ${SDX_SYSTEMS})
  list(JOIN others "|" others)
  list(FILTER ${name_of_list} EXCLUDE REGEX "\\.(${others})\\.cc$")
  set(${name_of_list} ${${name_of_list}} PARENT_SCOPE)
endfunction()

set(SDX_ISAS portable)
set(SDX_FLAGS_ISA -O3)
if(SDX_SANITIZE)
  # Kernels are checked at one level: vectors as structs of 16 lanes, which the portable level has, would take many minutes
  # a file, and the other levels run the same code.
  set(SDX_FLAGS_ISA -O2 -fno-sanitize=all)
  set(SDX_CHECKED_ISA avx2)
endif()
set(SDX_FLAGS_portable "")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  list(APPEND SDX_ISAS avx2 avx512)
  set(SDX_FLAGS_avx2 -mavx2 -mfma -mf16c -mbmi2)
  set(SDX_FLAGS_avx512 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mavx2 -mfma -mf16c -mbmi2
      -mprefer-vector-width=512
      -Wno-uninitialized -Wno-maybe-uninitialized)  # g++ 12 warns inside its own avx512 headers
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  list(APPEND SDX_ISAS neon)
  # Scheduled before they get registers, loads of a tile's operands would all come first, and sums be spilled for them.
  set(SDX_FLAGS_neon -fno-schedule-insns)
endif()

# Code that runs once per model and not per element is compiled with less effort (COLD).
set(SDX_FLAGS_COLD $<$<CONFIG:Release>:-O1>)
if(SDX_OPTIMIZE)
  set(SDX_FLAGS_ISA "")
  set(SDX_FLAGS_COLD "")
endif()

function(sdx_folder name)
  cmake_parse_arguments(ARG "COLD;ALONE;ACROSS" "HEADERS" "DEPS;LINK" ${ARGN})
  set(dir ${CMAKE_SOURCE_DIR}/src/${name})
  # "#include <folder>/x.h" resolves through a directory that holds this folder alone.
  set(root ${CMAKE_BINARY_DIR}/road/${name})
  file(MAKE_DIRECTORY ${root})
  file(CREATE_LINK ${dir} ${root}/${name} SYMBOLIC)

  add_library(sdx_${name}_see INTERFACE)
  target_include_directories(sdx_${name}_see INTERFACE ${root})
  target_link_libraries(sdx_${name}_see INTERFACE fmt::fmt ${ARG_LINK})
  foreach(dep ${ARG_DEPS})
    target_link_libraries(sdx_${name}_see INTERFACE sdx_${dep}_see)
  endforeach()

  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${dir}/*.cc)
  sdx_of_this_system(sources)
  foreach(kind test bench isa)
    set(${kind}_sources ${sources})
  endforeach()
  list(FILTER test_sources INCLUDE REGEX "_test\\.cc$")
  list(FILTER bench_sources INCLUDE REGEX "_bench\\.cc$")
  list(FILTER isa_sources INCLUDE REGEX "\\.isa\\.cc$")
  list(FILTER sources EXCLUDE REGEX "(_test|_bench|\\.isa)\\.cc$")
  set_property(GLOBAL PROPERTY SDX_TESTS_${name} "${test_sources}")
  set_property(GLOBAL PROPERTY SDX_BENCHES_${name} "${bench_sources}")
  set_property(GLOBAL PROPERTY SDX_HEADERS_${name} "${ARG_HEADERS}")
  set_property(GLOBAL APPEND PROPERTY SDX_FOLDERS ${name})

  set(across "")
  if(ARG_ACROSS)
    set(across ACROSS)
  endif()
  if(sources)
    if(NOT ARG_ALONE)
      set(size 6)
      if(ARG_COLD)  # large batches take less, but an operator's should take seconds
        set(size 10)
      endif()
      sdx_batches(sources ${size} ${across} ${sources})
    endif()
    sdx_objects(sdx_${name} ${name} ${sources})
    sdx_precompile(sdx_${name} ${ARG_HEADERS})
    if(ARG_COLD)
      target_compile_options(sdx_${name} PRIVATE ${SDX_FLAGS_COLD})
    endif()
  endif()
  if(isa_sources AND SDX_FUZZ)
    sdx_kernels_of_gcc(sdx_${name} "${isa_sources}")
  elseif(isa_sources)
    sdx_batches(isa_sources 6 ${across} ${isa_sources})
    foreach(isa ${SDX_ISAS})
      sdx_objects(sdx_${name}_${isa} ${name} ${isa_sources})
      target_compile_definitions(sdx_${name}_${isa} PRIVATE SDX_ISA=${isa} SDX_ISA_${isa}=1)
      if(NOT isa STREQUAL "${SDX_CHECKED_ISA}")
        target_compile_options(sdx_${name}_${isa} PRIVATE ${SDX_FLAGS_ISA})
      endif()
      target_compile_options(sdx_${name}_${isa} PRIVATE ${SDX_FLAGS_${isa}})
    endforeach()
  endif()
endfunction()

function(sdx_objects target folder)
  add_library(${target} OBJECT ${ARGN})
  target_link_libraries(${target} PRIVATE sdx_${folder}_see)
  set_property(GLOBAL APPEND PROPERTY SDX_OBJECTS $<TARGET_OBJECTS:${target}>)
endfunction()

# All folders as one archive: what a user links.
function(sdx_library)
  get_property(objects GLOBAL PROPERTY SDX_OBJECTS)
  add_library(sardonyx STATIC ${objects})
  target_include_directories(sardonyx PUBLIC ${CMAKE_SOURCE_DIR}/include)
  target_link_libraries(sardonyx PUBLIC sdx_api_see fmt::fmt Threads::Threads)
endfunction()

# Tests run once and are compiled often.
set(SDX_FLAGS_TEST -O1)

function(sdx_tests)
  add_library(sdx_test_see INTERFACE)
  target_link_libraries(sdx_test_see INTERFACE sdx_op_see GTest::gtest)
  sdx_precompiled(test <gtest/gtest.h> <op/op.h> <algorithm> <functional> <set>)
  if(SDX_PRECOMPILED)
    target_compile_options(sdx_headers_test PRIVATE ${SDX_FLAGS_TEST})
  endif()
  get_property(folders GLOBAL PROPERTY SDX_FOLDERS)
  foreach(name ${folders})
    get_property(sources GLOBAL PROPERTY SDX_TESTS_${name})
    if(sources)
      add_executable(${name}_test ${sources})
      target_link_libraries(${name}_test PRIVATE sardonyx GTest::gtest_main mpfr gmp
                            nlohmann_json::nlohmann_json sdx_${name}_see)
      target_compile_definitions(${name}_test PRIVATE SDX_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
      target_compile_options(${name}_test PRIVATE -fPIC ${SDX_FLAGS_TEST})
      get_property(headers GLOBAL PROPERTY SDX_HEADERS_${name})
      if(headers STREQUAL op)
        # Compiled as the precompiled header is.
        set_target_properties(${name}_test PROPERTIES POSITION_INDEPENDENT_CODE OFF)
        sdx_precompile(${name}_test test)
      endif()
      add_test(NAME ${name} COMMAND ${name}_test --gtest_brief=1)
    endif()
  endforeach()
endfunction()

function(sdx_benchmarks)
  get_property(folders GLOBAL PROPERTY SDX_FOLDERS)
  foreach(name ${folders})
    get_property(sources GLOBAL PROPERTY SDX_BENCHES_${name})
    if(sources)
      add_executable(${name}_bench EXCLUDE_FROM_ALL ${sources})
      target_link_libraries(${name}_bench PRIVATE sardonyx benchmark::benchmark_main)
    endif()
  endforeach()
endfunction()

# plan/pack_stamp.h: made anew when code changes that could change how weights are packed.
function(sdx_pack_stamp)
  set(source ${CMAKE_SOURCE_DIR}/src)
  set(header ${CMAKE_BINARY_DIR}/stamp/plan/pack_stamp.h)
  set(script ${CMAKE_SOURCE_DIR}/cmake/pack_stamp.cmake)
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${source}/base/* ${source}/kernel/* ${source}/op/* ${source}/ops/*)
  list(FILTER files EXCLUDE REGEX "_(test|bench)\\.cc$")
  add_custom_command(OUTPUT ${header} DEPENDS ${files} ${script}
                     COMMAND ${CMAKE_COMMAND} -DSOURCE=${source} -DOUT=${header} -P ${script} VERBATIM)
  target_sources(sdx_plan PRIVATE ${header})
  target_include_directories(sdx_plan PRIVATE ${CMAKE_BINARY_DIR}/stamp)
endfunction()
