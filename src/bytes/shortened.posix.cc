#include "bytes/shortened.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>

namespace sdx {
namespace {

// A table that the handler reads without a lock; models of more files than this are not covered.
struct Slot {
  std::atomic<uintptr_t> begin = 0;
  std::atomic<size_t> bytes = 0;
  std::atomic<const char*> name = nullptr;
};
std::array<Slot, 4096> slots;

std::array<char, 1024> lost_name = {};
std::atomic<int> lost = 0;  // 1: being written, 2: there

void note_lost(const char* name) {
  int none = 0;
  if (!lost.compare_exchange_strong(none, 1)) return;
  for (size_t i = 0; i + 1 < lost_name.size() && name[i] != '\0'; ++i) lost_name[i] = name[i];
  lost = 2;
}

void on_bus_error(int, siginfo_t* info, void*) {
  const auto at = reinterpret_cast<uintptr_t>(info->si_addr);
  for (const Slot& slot : slots) {
    const uintptr_t begin = slot.begin;
    const size_t bytes = slot.bytes;
    if (begin == 0 || at < begin || at - begin >= bytes) continue;
    const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
    const uintptr_t from = at / page * page, to = (begin + bytes + page - 1) / page * page;
    const void* zeros = ::mmap(reinterpret_cast<void*>(from), to - from, PROT_READ,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (zeros == MAP_FAILED) break;
    note_lost(slot.name);
    return;  // and the read goes on
  }
  ::signal(SIGBUS, SIG_DFL);  // somebody else's: it happens again, and ends the process
}

}  // namespace

void survive_shortened_files() {
  struct sigaction action = {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGBUS, &action, nullptr);
}

Status no_file_lost() {
  if (lost != 2) return ok();
  return fail("SDX-B0006", "\"{}\" was shortened while it was in use", lost_name.data());
}

void note_mapped_file(const void* begin, size_t bytes, const char* name) {
  for (Slot& slot : slots) {
    const char* nobody = nullptr;
    if (!slot.name.compare_exchange_strong(nobody, name)) continue;
    slot.bytes = bytes;
    slot.begin = reinterpret_cast<uintptr_t>(begin);
    return;
  }
}

void forget_mapped_file(const void* begin) {
  for (Slot& slot : slots) {
    if (slot.begin != reinterpret_cast<uintptr_t>(begin)) continue;
    slot.begin = 0;
    slot.bytes = 0;
    slot.name = nullptr;
    return;
  }
}

}  // namespace sdx
