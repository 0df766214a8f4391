// The module is the library itself: the linker takes from it what CMakeLists.txt exports.
#include <sardonyx/sardonyx_c.h>

static_assert(sizeof(size_t) == 4, "sardonyx.mjs reads sizes and pointers of four bytes");
static_assert(sizeof(sardonyx_port) == 40 && offsetof(sardonyx_port, rank) == 24,
              "sardonyx.mjs knows where the members are");
static_assert(sizeof(sardonyx_options) == 44, "sardonyx.mjs knows how large it is");
