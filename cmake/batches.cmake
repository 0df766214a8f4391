# Files that are compiled together, which halves the time: headers are read once, and what they all instantiate is
# compiled once. Files of a folder name things alike (each operator has its read, its infer and its kHistory), which an
# unnamed namespace keeps apart only in files of their own. A batch is therefore made from its files, with a name for each
# inside of the unnamed namespace (batch.cmake).
#
#   sdx_batches(result 6 a.cc b.cc ...)   `result`: files to compile in place of these
#
# A file with definitions of its own stays alone, and one with the property SDX_ALONE. Batches do not reach across folders,
# so that a new file moves few others; with ACROSS after the size they do, where folders hold few files each.

include(CMakeDependentOption)
cmake_dependent_option(SDX_BATCHES "compile files of a folder together" ON
                       "CMAKE_BUILD_TYPE STREQUAL Release;NOT SDX_FUZZ;NOT SDX_SANITIZE" OFF)

function(sdx_batches result size)
  cmake_parse_arguments(ARG "ACROSS" "" "" ${ARGN})
  set(compiled ${ARG_UNPARSED_ARGUMENTS})
  if(SDX_BATCHES)
    set(compiled "")
    set(batch "")
    set(batch_folder "")
    foreach(source ${ARG_UNPARSED_ARGUMENTS} "")  # the last one ends the last batch
      get_filename_component(folder "${source}" DIRECTORY)
      if(ARG_ACROSS AND source)
        set(folder across)
      endif()
      list(LENGTH batch length)
      if(batch AND (length EQUAL size OR NOT folder STREQUAL batch_folder))
        sdx_batch(file ${batch})
        list(APPEND compiled ${file})
        set(batch "")
      endif()
      if(NOT source)
        break()
      endif()
      get_source_file_property(definitions ${source} COMPILE_DEFINITIONS)
      get_source_file_property(alone ${source} SDX_ALONE)
      if(definitions OR alone)
        list(APPEND compiled ${source})
        continue()
      endif()
      list(APPEND batch ${source})
      set(batch_folder ${folder})
    endforeach()
  endif()
  set(${result} ${compiled} PARENT_SCOPE)
endfunction()

# One batch, named after its first file.
function(sdx_batch result)
  if(ARGC EQUAL 2)
    set(${result} ${ARGN} PARENT_SCOPE)
    return()
  endif()
  set(files "")
  foreach(source ${ARGN})
    file(RELATIVE_PATH file ${CMAKE_SOURCE_DIR} ${source})
    list(APPEND files ${file})
  endforeach()
  list(GET files 0 first)
  string(REGEX REPLACE "\\.cc$" "_and_more.cc" out ${CMAKE_CURRENT_BINARY_DIR}/batches/${first})
  set(script ${CMAKE_SOURCE_DIR}/cmake/batch.cmake)
  add_custom_command(OUTPUT ${out} DEPENDS ${ARGN} ${script} VERBATIM
                     COMMAND ${CMAKE_COMMAND} -DROOT=${CMAKE_SOURCE_DIR} -DOUT=${out} "-DFILES=${files}" -P ${script})
  set(${result} ${out} PARENT_SCOPE)
endfunction()
