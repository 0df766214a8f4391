# Writes one file that holds several, as batches.cmake asks.
#   cmake -DROOT=source-folder -DOUT=batch.cc "-DFILES=src/a.cc;src/b.cc" -P batch.cmake
set(headers "")
set(text "")
foreach(file ${FILES})
  file(READ ${ROOT}/${file} content)
  # Headers come first, so that none meets what a file before it has named; not those that depend on the machine.
  if(NOT content MATCHES "\n#if")
    string(REGEX MATCHALL "\n#include [^\n]*" included "\n${content}")
    string(REPLACE ";" "" included "${included}")
    string(APPEND headers "${included}")
  endif()
  string(REGEX REPLACE "[^a-zA-Z0-9]" "_" name ${file})
  # One line stays one line: the compiler's messages name the file and line that people edit.
  string(REPLACE "\nnamespace {\n" "\nnamespace { namespace in_${name} {\n" content "${content}")
  string(REPLACE "\n}  // namespace\n" "\n} } using namespace in_${name};\n" content "${content}")
  string(APPEND text "#line 1 \"${file}\"\n${content}")
endforeach()
file(WRITE ${OUT} "${headers}\n${text}")
