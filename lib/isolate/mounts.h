/*
 * The calls that views are made of, in a mount namespace of one's own. -1 with errno, unless
 * something else is said.
 */
#ifndef AWF_ISOLATE_MOUNTS_H
#define AWF_ISOLATE_MOUNTS_H

/* What is mounted from now on is not seen in the namespace that this one was made in. */
int mounts_part(void);
/* Makes a mount read-only, and its set-user-ID bits count for nothing: a path, from the open
 * directory at; flags as of mount_setattr(2), AT_RECURSIVE for all that is mounted below. */
int mount_close(int at, const char *path, unsigned flags);
/* An empty file system in memory, without devices; options as of tmpfs(5). */
int mount_memory(const char *path, const char *options);
/* Of this PID namespace. */
int mount_proc(void);
/* Writes a file of /proc. */
int setting_write(const char *path, const char *text);

#endif
