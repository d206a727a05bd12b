/*
 * Mount operations for a process in its own mount namespace. They return -1 with errno unless
 * noted otherwise.
 */
#ifndef AWF_ISOLATE_MOUNTS_H
#define AWF_ISOLATE_MOUNTS_H

#include <stdint.h>

/* Of mount_setattr(2); headers before Linux 5.12 do not have it. */
struct mount_attributes { uint64_t set, clear, propagation, user_namespace; };
#define MOUNTS_READ_ONLY UINT64_C(1)
#define MOUNTS_NOSUID UINT64_C(2)
#define MOUNTS_IDMAP UINT64_C(0x100000)
#define MOUNTS_RECURSIVE 0x8000U /* in flags: all mounts below it too */
int mounts_set(int directory, const char *path, unsigned flags, const struct mount_attributes *a);
/* A copy of the mount that is open, with all below it, which is mounted nowhere: its descriptor. */
int mounts_clone(int open);
/* Mounts such a copy at what is open. */
int mounts_place(int clone, int at);

/* Gives this process a mount namespace of its own: its later mounts are not visible in the parent
 * namespace. */
int mounts_part(void);
/* Makes the mount at a path read-only and nosuid: with mount_setattr(2), or with mount(2) if that
 * is missing (Linux before 5.12) or refused by a filter. */
int mount_close(const char *path);
/* The same for the mount at a path and all mounts below it. */
int mounts_close(const char *path);
/* Calls use(point, context) for each mount point in /proc/self/mountinfo, until it returns a value
 * other than 0, which is returned. */
int mounts_each(int (*use)(const char *point, void *context), void *context);
/* Mounts a tmpfs without devices; options as in tmpfs(5). */
int mount_memory(const char *path, const char *options);
/* Mounts /proc of this PID namespace. */
int mount_proc(void);
/* Writes a file of /proc. */
int setting_write(const char *path, const char *text);

#endif
