// Files are read, not mapped: nothing can be taken from them later.
#include "bytes/shortened.h"

namespace sdx {

void survive_shortened_files() {}
Status no_file_lost() { return ok(); }
void note_mapped_file(const void*, size_t, const char*) {}
void forget_mapped_file(const void*) {}

}  // namespace sdx
