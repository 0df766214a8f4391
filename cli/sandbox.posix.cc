#include "sandbox.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <initializer_list>

namespace sdx::cli {
namespace {

constexpr uint64_t kReadFile = LANDLOCK_ACCESS_FS_READ_FILE;
constexpr uint64_t kRead = kReadFile | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr uint64_t kWrite = kRead | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_MAKE_REG |
                            LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |
                            LANDLOCK_ACCESS_FS_REMOVE_DIR;
// All that the first version of landlock knows.
constexpr uint64_t kEverything = (uint64_t{LANDLOCK_ACCESS_FS_MAKE_SYM} << 1) - 1;

Error refused(std::string_view what) {
  return fail("SDX-C0080", "--sandbox: {}: {}", what, std::strerror(errno));
}

// Lets the rules say what may be done beneath a path; a path that is not there needs no rule.
Status allow(int rules, const std::string& path, uint64_t access) {
  const int at = ::open(path.c_str(), O_PATH | O_CLOEXEC);
  if (at < 0) return ok();
  struct stat info {};
  const bool is_folder = ::fstat(at, &info) == 0 && S_ISDIR(info.st_mode);
  landlock_path_beneath_attr rule{};
  rule.allowed_access = is_folder ? access : access & kReadFile;
  rule.parent_fd = at;
  const long added = ::syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
  ::close(at);
  return added == 0 ? ok() : Status(refused(path));
}

Status close_files(const Sandbox& sandbox) {
  landlock_ruleset_attr all{};
  all.handled_access_fs = kEverything;
  const auto rules = int(::syscall(SYS_landlock_create_ruleset, &all, sizeof all, 0));
  if (rules < 0) return refused("this system has no landlock");
  Status status;
  for (const std::string& path : sandbox.readable) {
    if (status) status = allow(rules, path, kRead);
  }
  for (const std::string& path : sandbox.writable) {
    if (status) status = allow(rules, path, kWrite);
  }
  if (status && ::syscall(SYS_landlock_restrict_self, rules, 0) != 0) status = refused("landlock");
  ::close(rules);
  return status;
}

// Calls that reading, computing and writing need. clone is looked at apart: it may start threads.
constexpr int kAllowed[] = {
    SYS_read,
    SYS_write,
    SYS_readv,
    SYS_writev,
    SYS_pread64,
    SYS_pwrite64,
    SYS_openat,
    SYS_close,
    SYS_fstat,
    SYS_newfstatat,
    SYS_statx,
    SYS_lseek,
    SYS_mmap,
    SYS_munmap,
    SYS_mprotect,
    SYS_mremap,
    SYS_madvise,
    SYS_mincore,
    SYS_brk,
    SYS_futex,
    SYS_set_robust_list,
    SYS_rseq,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_sigaltstack,
    SYS_sched_getaffinity,
    SYS_sched_yield,
    SYS_clock_gettime,
    SYS_clock_nanosleep,
    SYS_nanosleep,
    SYS_gettimeofday,
    SYS_getrandom,
    SYS_exit,
    SYS_exit_group,
    SYS_getpid,
    SYS_gettid,
    SYS_getuid,
    SYS_geteuid,
    SYS_getgid,
    SYS_getegid,
    SYS_uname,
    SYS_fcntl,
    SYS_ioctl,
#ifdef SYS_renameat
    SYS_renameat,
#endif
    SYS_renameat2,
    SYS_unlinkat,
    SYS_mkdirat,
    SYS_fsync,
    SYS_fdatasync,
    SYS_ftruncate,
    SYS_fallocate,
    SYS_fchmod,
    SYS_getdents64,
    SYS_faccessat,
    SYS_faccessat2,
    SYS_readlinkat,
    SYS_getcwd,
    SYS_umask,
    SYS_sysinfo,
    SYS_membarrier,
    SYS_dup,
    SYS_dup3,
    SYS_restart_syscall,
    SYS_getrlimit,
    SYS_prlimit64,
    SYS_copy_file_range,
    SYS_sync_file_range,
#if defined(__x86_64__)
    SYS_open,
    SYS_stat,
    SYS_lstat,
    SYS_access,
    SYS_readlink,
    SYS_rename,
    SYS_unlink,
    SYS_mkdir,
    SYS_rmdir,
    SYS_arch_prctl,
    SYS_time,
    SYS_dup2,
    SYS_chmod,
#endif
};
// And those of a server whose sockets are open.
constexpr int kServing[] = {
    SYS_accept4,         SYS_recvfrom,    SYS_sendto,      SYS_recvmsg,         SYS_sendmsg,
    SYS_shutdown,        SYS_getsockname, SYS_getpeername, SYS_getsockopt,      SYS_setsockopt,
    SYS_epoll_create1,   SYS_epoll_ctl,   SYS_epoll_pwait, SYS_eventfd2,        SYS_timerfd_create,
    SYS_timerfd_settime, SYS_ppoll,       SYS_pipe2,       SYS_rt_sigtimedwait, SYS_signalfd4,
#if defined(__x86_64__)
    SYS_epoll_wait,      SYS_poll,
#endif
};

#if defined(__x86_64__)
constexpr uint32_t kArch = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kArch = AUDIT_ARCH_AARCH64;
#else
constexpr uint32_t kArch = 0;  // no filter was tried on such a machine: refused by name
#endif

Status close_calls(bool serves) {
  if (kArch == 0) {
    errno = ENOSYS;
    return refused("calls are filtered on x86-64 and arm64 only");
  }
  std::vector<sock_filter> program;
  const auto step = [&](uint16_t code, uint32_t k, uint8_t yes = 0, uint8_t no = 0) {
    program.push_back({code, yes, no, k});
  };
  const auto allow_if = [&](int call) {
    step(BPF_JMP | BPF_JEQ | BPF_K, uint32_t(call), 0, 1);
    step(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  };
  step(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch));
  step(BPF_JMP | BPF_JEQ | BPF_K, kArch, 1, 0);
  step(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
  step(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr));
  for (const int call : kAllowed) allow_if(call);
  for (const int call : kServing) {
    if (serves) allow_if(call);
  }
  // The C library starts threads by clone3, whose arguments a filter cannot see, and by clone where
  // there is no clone3.
  step(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1);
  step(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS);
  // A signal may go to a thread of this process; which one it names the system checks.
  step(BPF_JMP | BPF_JEQ | BPF_K, SYS_tgkill, 0, 4);
  step(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args));
  step(BPF_JMP | BPF_JEQ | BPF_K, uint32_t(::getpid()), 0, 1);
  step(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  step(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
  step(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3);
  step(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args));
  step(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1);
  step(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  step(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
  sock_fprog filter{};
  filter.len = uint16_t(program.size());
  filter.filter = program.data();
  if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) != 0)
    return refused("this system has no seccomp filters");
  return ok();
}

}  // namespace

Status enter(const Sandbox& sandbox) {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return refused("no_new_privs");
  SDX_TRY(close_files(sandbox));
  return close_calls(sandbox.serves);
}

}  // namespace sdx::cli
