// Files that are shortened while they are mapped: the system raises SIGBUS where their pages were,
// which ends the process. A program that calls survive_shortened_files() once gets zeros there
// instead, and the loss is noted: what is read or run from then on ends with an error that names
// the file. The handler belongs to the whole process, so a library does not install it unasked.
#pragma once

#include <cstddef>

#include "base/result.h"

namespace sdx {

void survive_shortened_files();

// The error if a mapped file has been shortened.
Status no_file_lost();

// For MappedFile: where a file is mapped. `name` must live as long as the mapping.
void note_mapped_file(const void* begin, size_t bytes, const char* name);
void forget_mapped_file(const void* begin);

}  // namespace sdx
