# The library as other projects find it: one archive, one shared library, headers, a CMake package and a pkg-config file.
# Nothing in it names the place where it was installed, so the whole prefix may move.
include(GNUInstallDirs)

function(sdx_shared_library)
  get_property(objects GLOBAL PROPERTY SDX_OBJECTS)
  add_library(sardonyx_shared SHARED ${objects})
  set_target_properties(sardonyx_shared PROPERTIES OUTPUT_NAME sardonyx VERSION ${PROJECT_VERSION}
                        SOVERSION ${PROJECT_VERSION_MAJOR} LINK_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/exports.map)
  target_include_directories(sardonyx_shared PUBLIC ${CMAKE_SOURCE_DIR}/include)
  target_link_libraries(sardonyx_shared PRIVATE sdx_api_see fmt::fmt Threads::Threads)
  target_link_options(sardonyx_shared PRIVATE
    LINKER:--version-script=${CMAKE_SOURCE_DIR}/cmake/exports.map,--no-undefined,--as-needed)
endfunction()

function(sdx_install)
  # What the archive needs, by name, as a linker finds it anywhere.
  set(needed "")
  foreach(library ${SDX_RE2_LIBRARY} ${SDX_IMAGE_LIBRARIES})
    get_filename_component(name ${library} NAME_WE)
    string(REGEX REPLACE "^lib" "-l" name ${name})
    list(APPEND needed ${name})
  endforeach()
  # fmt and threads come by find_dependency, the others by their names.
  set(SDX_NEEDED "${needed}")
  list(PREPEND needed -lfmt)
  list(APPEND needed -lpthread)
  string(REPLACE ";" " " SDX_NEEDED_WORDS "${needed}")

  set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Sardonyx)
  set(pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  file(RELATIVE_PATH SDX_UP_FROM_PACKAGE /prefix/${package_dir} /prefix)
  file(RELATIVE_PATH SDX_UP_FROM_PKGCONFIG /prefix/${pkgconfig_dir} /prefix)
  include(CMakePackageConfigHelpers)
  write_basic_package_version_file(${CMAKE_BINARY_DIR}/SardonyxConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  configure_file(${CMAKE_SOURCE_DIR}/cmake/SardonyxConfig.cmake.in ${CMAKE_BINARY_DIR}/SardonyxConfig.cmake @ONLY)
  configure_file(${CMAKE_SOURCE_DIR}/cmake/sardonyx.pc.in ${CMAKE_BINARY_DIR}/sardonyx.pc @ONLY)

  install(TARGETS sardonyx ARCHIVE COMPONENT dev)
  install(TARGETS sardonyx_shared LIBRARY COMPONENT library NAMELINK_COMPONENT dev)
  install(DIRECTORY include/sardonyx TYPE INCLUDE COMPONENT dev FILES_MATCHING PATTERN "*.h")
  install(FILES ${CMAKE_BINARY_DIR}/SardonyxConfig.cmake ${CMAKE_BINARY_DIR}/SardonyxConfigVersion.cmake
          DESTINATION ${package_dir} COMPONENT dev)
  install(FILES ${CMAKE_BINARY_DIR}/sardonyx.pc DESTINATION ${pkgconfig_dir} COMPONENT dev)
  install(TARGETS sardonyx_cli RUNTIME COMPONENT tools)
  # The manual page and the shells' completions, which the program prints.
  install(FILES ${CMAKE_BINARY_DIR}/share/sardonyx.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tools)
  install(FILES ${CMAKE_BINARY_DIR}/share/bash RENAME sardonyx
          DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT tools)
  install(FILES ${CMAKE_BINARY_DIR}/share/zsh RENAME _sardonyx
          DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT tools)
  install(FILES ${CMAKE_BINARY_DIR}/share/fish RENAME sardonyx.fish
          DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT tools)
  # Where `make proofs` has built it.
  install(PROGRAMS ${CMAKE_BINARY_DIR}/proofs/sardonyx-check-plan TYPE BIN COMPONENT tools OPTIONAL)
endfunction()
