/*
 * Mount operations for a process in its own mount namespace. They return -1 with errno unless
 * noted otherwise.
 */
#ifndef AWF_ISOLATE_MOUNTS_H
#define AWF_ISOLATE_MOUNTS_H

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
