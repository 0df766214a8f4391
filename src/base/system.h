// What systems say and do in ways of their own, and no more than that: system.posix.cc asks Linux
// and its like, system.plain.cc makes do with the C++ library. Stacks
// (base/stack.h), mapped files and folders (bytes/) have such pairs of files too.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

namespace sdx::system {

// Memory at a multiple of `alignment`, of which `bytes` is a multiple. Throws std::bad_alloc.
std::shared_ptr<void> aligned_memory(size_t alignment, size_t bytes);

// Whole pages inside the range of a mapped file leave this process's memory; they are read again
// when they are needed.
void drop_pages(const void* begin, size_t bytes);

// Random bytes that no other process can guess; false if there are none to be had.
bool random_bytes(void* into, size_t bytes);

// The number of this process, which no other of this machine has now.
int process_number();

// `handler` is called in the child of every fork from now on.
void after_fork(void (*handler)());

// A descriptor of a new file to write bytes to, which processes that are started do not inherit;
// -1, and errno, if there is such a file already or there can be none.
int create_file(const char* path);
// Gives a file another name, in the place of a file that may have it; false, and errno, if not.
bool replace_file(const char* from, const char* to);

// The system and the kind of the processor, as "Linux x86_64", and the second of them alone.
std::string name();
std::string machine();

}  // namespace sdx::system
