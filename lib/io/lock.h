/*
 * All file locks of AWF. There are two kinds, which do not affect each other:
 *
 *   - A process lock (fcntl(2)), on some bytes or the whole file, which shows that a process is
 *     alive: the kernel releases it when the process ends, other processes can see who holds it,
 *     and children do not inherit it. Closing any descriptor of the file releases it, so the
 *     holder must open the file only once.
 *   - An open-file lock (flock(2), and fcntl(2) on bytes): it is held as long as the file is open
 *     anywhere, also in a child, and two opens exclude each other within one process.
 *
 * No function waits longer than the caller says. Failing to get a lock does not change the file.
 */
#ifndef AWF_IO_LOCK_H
#define AWF_IO_LOCK_H

#include <stdbool.h>
#include <sys/types.h>

/* A range of bytes; length 0: everything from start on, even bytes that are added later. */
struct lock_range { off_t start, len; };

#define LOCK_WHOLE ((struct lock_range){ 0, 0 })

/* ---- of a process ---- */

/* Takes the lock without waiting. -1 with errno: EAGAIN or EACCES if another process has it. */
int lock_take(int fd, struct lock_range range);
/* Waits for the lock. When *stop (may be NULL) is not 0, it stops waiting: -1 with EINTR, if
 * another process still has the lock. */
int lock_wait(int fd, struct lock_range range, const volatile int *stop);
void lock_release(int fd, struct lock_range range);
/* Whether another process has the lock: 1, 0, or -1 with errno. *pid (may be NULL) is set to that
 * process, or to 0 if it is in another pid namespace. */
int lock_look(int fd, struct lock_range range, pid_t *pid);

/* Whether several processes that write to a descriptor should lock it: yes for pipes and files. Not
 * for devices: for example, all programs would share one lock on /dev/null. */
bool lock_applies(int fd);

/* ---- of an open file ---- */

/* Takes the lock without waiting. -1 with errno: EWOULDBLOCK if somebody else has it. */
int lock_file_take(int fd);
/* Waits for the lock; -1 with errno: EINTR after a signal. */
int lock_file_wait(int fd);
/* The same for a shared lock. */
int lock_file_share(int fd);
/* Try until the time is over: then -1 with EWOULDBLOCK. Other errors: -1 with errno. */
int lock_file_within(int fd, int timeout_ms);
int lock_file_share_within(int fd, int timeout_ms);
void lock_file_release(int fd);
/* Locks bytes; independent of the locks above. */
int lock_file_take_range(int fd, struct lock_range range);
void lock_file_release_range(int fd, struct lock_range range);
/* Whether somebody else has locked these bytes: 1, 0, or -1 with errno. */
int lock_file_look_range(int fd, struct lock_range range);

/* Whether any process has this file open for writing; fd must be open read-only. 1, 0, or -1 if
 * that cannot be determined (not on Linux, or another user's file). The program must ignore
 * SIGIO, which is sent if a process opens the file for writing at that moment. */
int lock_written(int fd);

/* Whether path still names the open file. Check this after locking a file, to make sure that
 * the locked file is the current one of that name. */
bool lock_named(int fd, const char *path);

#endif
