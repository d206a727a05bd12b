/*
 * Included before all else in what a portable build compiles (make PORTABLE=1), on this machine: takes
 * away what other systems lack, which the C library here has. A file that needs it does not compile.
 * (What would be found by the linker is in tests/portable.symbols.)
 */
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* _GNU_SOURCE comes too late from here on: the headers have been read without it. These are behind it
 * here, and in macOS and the BSDs. */
extern void *memmem(const void *text, size_t len, const void *sought, size_t sought_len);
extern char *strcasestr(const char *text, const char *sought);
extern int mkostemp(char *template, int flags);

/* Of POSIX.1-2024, which macOS has too. */
#ifndef F_OFD_SETLK
#define F_OFD_GETLK 36
#define F_OFD_SETLK 37
#define F_OFD_SETLKW 38
#endif

/* Linux alone. */
#undef SOCK_CLOEXEC /* macOS has neither of the two; the BSDs have both */
#undef SOCK_NONBLOCK
#undef MSG_CMSG_CLOEXEC
#undef SO_PEERCRED
#undef SO_PASSCRED
#undef SCM_CREDENTIALS
#undef MAP_POPULATE
#undef __WALL
#undef __WCLONE
#undef SIGPWR
#undef SIGSTKFLT
#undef P_PIDFD
#undef O_TMPFILE
#undef O_PATH
#undef F_SETLEASE
#undef F_SETPIPE_SZ
