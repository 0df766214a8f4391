# The fuzz targets run the kernels as everybody else does: compiled by g++, with its flags and without sanitizers. They
# are those of the ordinary build.
function(sdx_kernels_of_gcc target sources)
  set(build ${CMAKE_SOURCE_DIR}/build)
  set(objects "")
  set(targets "")
  set(SDX_BATCHES ON)  # as that build has it
  sdx_batches(compiled 6 ACROSS ${sources})
  foreach(isa ${SDX_ISAS})
    list(APPEND targets ${target}_${isa})
    foreach(source ${compiled})
      string(REPLACE ${CMAKE_BINARY_DIR}/ "" source ${source})
      string(REPLACE ${CMAKE_SOURCE_DIR}/ "" source ${source})
      list(APPEND objects ${build}/CMakeFiles/${target}_${isa}.dir/${source}.o)
    endforeach()
  endforeach()
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/kernel/*.h)
  add_custom_command(OUTPUT ${objects}
    COMMAND ${CMAKE_COMMAND} -E chdir ${CMAKE_SOURCE_DIR} ${CMAKE_COMMAND} --preset release
    COMMAND ${CMAKE_COMMAND} --build ${build} --target ${targets}
    DEPENDS ${sources} ${headers} USES_TERMINAL COMMENT "Building the kernels with g++")
  add_custom_target(${target}_of_gcc DEPENDS ${objects})
  set_source_files_properties(${objects} PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
  set_property(GLOBAL APPEND PROPERTY SDX_OBJECTS ${objects})
  set_property(GLOBAL APPEND PROPERTY SDX_INSIDE_OBJECTS ${objects})
endfunction()
