/*
 * Locks on files; all of the project's stand here. There are two kinds, and neither knows
 * of the other:
 *
 *   - A process's (fcntl(2)), on bytes or the whole, by which processes tell that they live:
 *     the kernel frees it with the process, others see who has it, and no child inherits it.
 *     Closing any descriptor of the file frees it too, so whoever holds one opens the file
 *     once.
 *   - An open file's (flock(2), and fcntl(2) on bytes): it is held as long as that is open
 *     anywhere, in a child too, and two opens exclude each other within one process.
 *
 * Nothing here is waited for without the caller's saying how long. A lock that cannot be had
 * leaves the file as it was.
 */
#ifndef AWF_IO_LOCK_H
#define AWF_IO_LOCK_H

#include <stdbool.h>
#include <sys/types.h>

/* Bytes of a file; a length of 0 takes in all from start on, those to come too. */
struct lock_range { off_t start, len; };

#define LOCK_WHOLE ((struct lock_range){ 0, 0 })

/* ---- of a process ---- */

/* Without waiting. -1 with errno: EAGAIN or EACCES if another process has it. */
int lock_take(int fd, struct lock_range range);
/* Waits until it is had; once *stop (may be NULL) is not 0, for nothing more: -1 with EINTR
 * then, if another still has it. */
int lock_wait(int fd, struct lock_range range, const volatile int *stop);
void lock_release(int fd, struct lock_range range);
/* Whether another process has it: 1, 0, or -1 with errno. *pid (may be NULL) is that process
 * then, 0 if it cannot be told, as of another pid namespace. */
int lock_look(int fd, struct lock_range range, pid_t *pid);

/* Whether writers to a descriptor lock it for one another: what has several at most within a
 * pipeline or a file. Not a device: the lock on /dev/null would be everybody's. */
bool lock_applies(int fd);

/* ---- of an open file ---- */

/* Without waiting. -1 with errno: EWOULDBLOCK if it is held elsewhere. */
int lock_file_take(int fd);
/* Waits; -1 with errno, EINTR after a signal. */
int lock_file_wait(int fd);
/* The same, but others may share it. */
int lock_file_share(int fd);
/* Each tries until the time is over: -1 with errno, EWOULDBLOCK then. */
int lock_file_within(int fd, int timeout_ms);
int lock_file_share_within(int fd, int timeout_ms);
void lock_file_release(int fd);
/* On bytes; the three above do not exclude it. */
int lock_file_take_range(int fd, struct lock_range range);
void lock_file_release_range(int fd, struct lock_range range);
/* Whether it is held elsewhere: 1, 0, or -1 with errno. */
int lock_file_look_range(int fd, struct lock_range range);

/* Whether anybody has this file open for writing, of a descriptor that is for reading alone: 1, 0,
 * or -1 where nobody can tell (not on Linux, nor of another user's file). The program ignores SIGIO,
 * which comes of who opens it for that just then. */
int lock_written(int fd);

/* Whether path still names the file that is open: who has locked a file and then finds
 * it so has locked what the name stands for. */
bool lock_named(int fd, const char *path);

#endif
