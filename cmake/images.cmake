# Image formats beyond BMP and PNM are decoded by the usual libraries, as far as they are there when this is built.
#
#   sdx_image_format(JPEG jpeglib.h jpeg)   defines SDX_WITH_JPEG and adds to SDX_IMAGE_LIBRARIES

set(SDX_IMAGE_LIBRARIES "")
set(sdx_image_definitions "")

macro(sdx_image_format format header library)
  find_path(SDX_${format}_INCLUDE ${header} PATH_SUFFIXES ${ARGN})
  find_library(SDX_${format}_LIBRARY ${library})
  mark_as_advanced(SDX_${format}_INCLUDE SDX_${format}_LIBRARY)
  if(SDX_${format}_INCLUDE AND SDX_${format}_LIBRARY)
    list(APPEND sdx_image_definitions SDX_WITH_${format})
    list(APPEND SDX_IMAGE_LIBRARIES ${SDX_${format}_LIBRARY})
    string(TOLOWER ${format} file)
    set(source ${CMAKE_SOURCE_DIR}/src/ops/image/${file}.cc)
    set_source_files_properties(${source} PROPERTIES COMPILE_DEFINITIONS SDX_WITH_${format})
    # Naming a folder that the compiler searches anyway would change the order of its own headers.
    if(NOT SDX_${format}_INCLUDE IN_LIST CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES)
      set_source_files_properties(${source} PROPERTIES INCLUDE_DIRECTORIES ${SDX_${format}_INCLUDE})
    endif()
  else()
    message(STATUS "no ${library}: ImageDecoder will not read ${format}")
  endif()
endmacro()

if(SDX_IMAGES)
  sdx_image_format(JPEG jpeglib.h jpeg)
  sdx_image_format(PNG png.h png)
  if(NOT SDX_STATIC)  # Debian's archive of it asks for six more
    sdx_image_format(TIFF tiffio.h tiff)
  endif()
  sdx_image_format(WEBP webp/decode.h webp)
  sdx_image_format(JPEG2000 openjpeg.h openjp2 openjpeg-2.5 openjpeg-2.4)
  if(SDX_STATIC)  # an archive does not say that PNG needs zlib
    find_library(SDX_ZLIB_OF_PNG z REQUIRED)
    list(APPEND SDX_IMAGE_LIBRARIES ${SDX_ZLIB_OF_PNG})
  endif()
endif()
set_source_files_properties(${CMAKE_SOURCE_DIR}/src/ops/image/decode.cc PROPERTIES
  COMPILE_DEFINITIONS "${sdx_image_definitions}")
