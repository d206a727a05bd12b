/*
 * The calls that views are made of, in a mount namespace of one's own. -1 with errno, unless
 * something else is said.
 */
#ifndef AWF_ISOLATE_MOUNTS_H
#define AWF_ISOLATE_MOUNTS_H

/* What is mounted from now on is not seen in the namespace that this one was made in. */
int mounts_part(void);
/* Makes the mount at a path read-only, and its set-user-ID bits count for nothing. Where
 * mount_setattr(2) is lacking (Linux before 5.12) or a filter refuses it, by mount(2). */
int mount_close(const char *path);
/* The same of all that is mounted below, too. */
int mounts_close(const char *path);
/* Calls use(point, context) for each place where something is mounted, as /proc tells of this
 * process; ends with the first that is not 0, and returns that. */
int mounts_each(int (*use)(const char *point, void *context), void *context);
/* An empty file system in memory, without devices; options as of tmpfs(5). */
int mount_memory(const char *path, const char *options);
/* Of this PID namespace. */
int mount_proc(void);
/* Writes a file of /proc. */
int setting_write(const char *path, const char *text);

#endif
