/*
 * Why it is done this way:
 *
 *  - Through a read-only bind mount connect() still reaches sockets of the host; through an
 *    overlay it does not, as an overlay has its own inodes. So everything is an overlay of two
 *    lower directories, the host's and an empty one.
 *  - In a user namespace the kernel does not bind a directory without the mounts below it (that
 *    could reveal what they cover). So a directory with mounts below it, / above all, is
 *    created, and its entries are shown one by one.
 *  - The host's tree is moved to a directory first (pivot_root), and unmounted last, so that no
 *    link on the way leads from the new tree to the host's.
 *  - Lower directories are bound to a fixed name first: a path in an overlay's options would have
 *    to be escaped, and may be too long.
 */
#define _GNU_SOURCE
#include "isolate/overlay.h"

#ifndef AWF_PORTABLE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/memory.h"
#include "io/file.h"
#include "isolate/mounts.h"

#define STAGE "/.awf-isolate"
#define HOST STAGE "/host"
#define LOWER STAGE "/lower"
#define EMPTY STAGE "/empty"
#define UPPER STAGE "/upper"
#define LAST_PID "/proc/sys/kernel/ns_last_pid"
#define CGROUP_LIMIT "/proc/sys/user/max_cgroup_namespaces"

#define SEEN "lowerdir=" LOWER ":" EMPTY
#define CHANGED "lowerdir=" LOWER ",upperdir=" UPPER "/upper,workdir=" UPPER "/work,userxattr"

#define SAFE (MS_NOSUID | MS_NODEV)

static char *
host_path(const char *path)
{
	return memory_format("%s%s", HOST, path);
}

/* Binds a file of the host, or a directory with all mounts below it, at target. */
static int
bind_host(const char *source, const char *target, unsigned long flags)
{
	char *path = host_path(source);
	int failed = mount(path, target, NULL, MS_BIND | flags, NULL);

	free(path);
	return failed;
}

static int
bind_file(const char *source, const char *target)
{
	int fd = open(target, O_CREAT | O_WRONLY | O_CLOEXEC, 0644);

	if (fd < 0)
		return -1;
	close(fd);
	return bind_host(source, target, 0);
}

/* Mounts an overlay whose lower directory is one of the host; -1 with errno. */
static int
overlay_mount(const char *source, const char *target, const char *options, unsigned long flags)
{
	int failed, reason;

	if (bind_host(source, LOWER, 0) != 0)
		return -1;
	failed = mount("overlay", target, "overlay", SAFE | flags, options);
	reason = errno;
	umount2(LOWER, MNT_DETACH);
	errno = reason;
	return failed;
}

static int overlay_show_path(const struct overlay_plan *plan, const char *source,
    const char *target, dev_t needed, struct error *err);

/* Shows an entry of a directory that is created. Sockets, pipes and devices are skipped; private
 * directories are made later. */
static int
show_entry(const struct overlay_plan *plan, const char *source, const char *target, dev_t needed,
    struct error *err)
{
	/* In /, these are not copied but made here. */
	static const char *const own[] = { "/dev", "/proc", "/sys", STAGE };
	char *path = host_path(source), *text;
	struct stat st;
	int failed = 0;
	bool passed_over = lstat(path, &st) != 0;

	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		passed_over |= strcmp(target, own[i]) == 0;
	passed_over |= S_ISLNK(st.st_mode) && overlay_plan_has_file(plan, target);
	if (passed_over) {
		free(path);
		return 0;
	}
	if (S_ISLNK(st.st_mode)) {
		text = memory_zero((size_t)st.st_size + 1, 1);
		failed = readlink(path, text, (size_t)st.st_size) != (ssize_t)st.st_size ||
		    symlink(text, target) != 0;
		free(text);
	} else if (S_ISREG(st.st_mode)) {
		failed = bind_file(source, target) != 0 || mount_close(target) != 0;
	} else if (S_ISDIR(st.st_mode)) {
		failed = mkdir(target, 0755) != 0 && errno != EEXIST;
	}
	free(path);
	if (failed)
		return isolate_refused(err, "show %s", source);
	return S_ISDIR(st.st_mode) && !overlay_plan_private(plan, target) ?
	    overlay_show_path(plan, source, target, needed, err) : 0;
}

/* Shows all entries of a directory; one that the user cannot read stays empty. */
static int
show_divided(const struct overlay_plan *plan, const char *source, const char *target,
    const struct stat *st, dev_t needed, struct error *err)
{
	char *path = host_path(source);
	DIR *directory = opendir(path);
	struct dirent *entry;
	int failed = 0;

	free(path);
	while (failed == 0 && directory != NULL && (entry = readdir(directory)) != NULL) {
		char *from, *to;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		from = path_join(source, entry->d_name);
		to = path_join(target, entry->d_name);
		failed = show_entry(plan, from, to, needed, err);
		free(from);
		free(to);
	}
	if (directory != NULL)
		closedir(directory);
	if (failed == 0 && chmod(target, st->st_mode & 07777) != 0)
		return isolate_refused(err, "set the mode of %s", target);
	return failed;
}

/* Shows a directory or file of the host, read-only. If it is on another file system than `needed`,
 * an error is ignored. */
static int
overlay_show_path(const struct overlay_plan *plan, const char *source, const char *target,
    dev_t needed, struct error *err)
{
	char *path = host_path(source);
	struct stat st;
	int failed = stat(path, &st);

	free(path);
	if (failed != 0)
		return 0;
	if (S_ISREG(st.st_mode))
		failed = bind_file(source, target) != 0 || mount_close(target) != 0;
	else if (overlay_plan_divides(plan, source))
		return show_divided(plan, source, target, &st, needed, err);
	else
		failed = overlay_mount(source, target, SEEN, MS_RDONLY) != 0 && st.st_dev == needed;
	/* A mount point may have appeared in it after the plan was made. */
	if (failed != 0 && errno == EINVAL && S_ISDIR(st.st_mode))
		return show_divided(plan, source, target, &st, needed, err);
	return failed == 0 ? 0 : isolate_refused(err, "lay a read-only overlay over %s", source);
}

static int
show_all(const struct overlay_plan *plan, const char *source, const char *target, struct error *err)
{
	char *path = host_path(source);
	struct stat st = { 0 };
	int failed = stat(path, &st);

	free(path);
	return failed == 0 ? overlay_show_path(plan, source, target, st.st_dev, err) : 0;
}

/* Checks that changes can be stored at UPPER: to mark removed entries, an overlay needs extended
 * attributes, which tmpfs has since Linux 6.6. */
static int
show_changed(const char *source, const char *target)
{
	if (setxattr(UPPER "/upper", "user.overlay.test", "y", 1, 0) != 0)
		return -1;
	removexattr(UPPER "/upper", "user.overlay.test");
	return overlay_mount(source, target, CHANGED, 0);
}

static int
show_workspace(const struct overlay_plan *plan, const struct overlay_place *place,
    struct error *err)
{
	if (plan->scratch != NULL) {
		if (bind_host(plan->scratch, UPPER, 0) != 0)
			return isolate_refused(err, "use %s", plan->scratch);
		if (show_changed(place->source, place->target) == 0)
			return 0;
		umount2(UPPER, MNT_DETACH);
	}
	if (mount_memory(UPPER, "mode=0755") != 0 ||
	    mkdir(UPPER "/upper", 0755) != 0 || mkdir(UPPER "/work", 0755) != 0)
		return isolate_refused(err, "mount memory for changes of the workspace");
	if (show_changed(place->source, place->target) == 0)
		return 0;
	if (errno == EINVAL && overlay_plan_divides(plan, place->source))
		return isolate_refused(err, "lay an overlay over %s, in which something is mounted",
		    place->source);
	return isolate_refused(err, "lay a writable overlay over %s", place->source);
}

static int
make_target(const struct overlay_place *place, struct error *err)
{
	char *path, *parent;
	struct stat st;
	int failed;

	if (stat(place->target, &st) == 0)
		return 0;
	parent = path_directory(place->target);
	failed = directory_make(parent, 0755, err);
	free(parent);
	if (failed != 0)
		return -1;
	path = host_path(place->source != NULL ? place->source : place->target);
	if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
		failed = mkdir(place->target, 0755);
	free(path);
	return failed == 0 ? 0 : isolate_refused(err, "make %s", place->target);
}

static int
show_place(const struct overlay_plan *plan, const struct overlay_place *place, struct error *err)
{
	char options[32], *real;
	struct stat st;
	int failed;

	if (place->kind != OVERLAY_ALIAS && make_target(place, err) != 0)
		return -1;
	switch (place->kind) {
	case OVERLAY_VISIBLE:
		/* The file may be visible already, in its directory. */
		if (stat(place->target, &st) == 0 && S_ISREG(st.st_mode))
			return 0;
		return show_all(plan, place->source, place->target, err);
	case OVERLAY_PRIVATE:
		snprintf(options, sizeof options, "mode=%04o", (unsigned)place->mode);
		if (mount_memory(place->target, options) != 0)
			return isolate_refused(err, "mount a private %s", place->target);
		return 0;
	case OVERLAY_WORKSPACE:
		return show_workspace(plan, place, err);
	case OVERLAY_WRITABLE:
		if (bind_host(place->source, place->target, MS_REC) != 0)
			return isolate_refused(err, "mount %s", place->source);
		return 0;
	case OVERLAY_FILE:
		failed = stat(place->target, &st) == 0 ? bind_host(place->source, place->target, 0) :
		    bind_file(place->source, place->target);
		if (failed != 0 || mount_close(place->target) != 0)
			return isolate_refused(err, "show another %s", place->target);
		return 0;
	case OVERLAY_ALIAS:
		/* Skip it if its links are visible already. If the name cannot be made, it is only
		 * missing. */
		real = realpath(place->target, NULL);
		if ((real == NULL || strcmp(real, place->source) != 0) && make_target(place, NULL) == 0)
			show_all(plan, place->source, place->target, NULL);
		free(real);
	}
	return 0;
}

static int
make_proc(pid_t first_pid, struct error *err)
{
	DIR *directory;
	struct dirent *entry;
	struct stat st;
	char text[32];
	int failed;

	if (mkdir("/proc", 0555) != 0 || mount_proc() != 0)
		return isolate_refused(err, "mount /proc");
	/* The next process in this namespace gets the pid after this one, or the next free one. */
	snprintf(text, sizeof text, "%ld", (long)first_pid - 1);
	if (first_pid != 0 && setting_write(LAST_PID, text) != 0)
		return isolate_refused(err, "choose a pid in " LAST_PID);
	/* Control groups belong to the machine: a process that makes a cgroup namespace may mount
	 * them, and could then kill all processes in a group of the user. */
	if (setting_write(CGROUP_LIMIT, "0") != 0 && errno != ENOENT)
		return isolate_refused(err, "write " CGROUP_LIMIT);

	/* The user may be allowed to write kernel settings. So everything in /proc that does not
	 * belong to a process becomes read-only. */
	directory = opendir("/proc");
	failed = directory == NULL;
	while (!failed && (entry = readdir(directory)) != NULL) {
		char *path = path_join("/proc", entry->d_name);

		if (*entry->d_name != '.' && !isdigit((unsigned char)*entry->d_name) &&
		    lstat(path, &st) == 0 &&
		    (S_ISDIR(st.st_mode) || (S_ISREG(st.st_mode) && (st.st_mode & 0222) != 0)))
			failed = mount(path, path, NULL, MS_BIND, NULL) != 0 ||
			    mount_close(path) != 0;
		free(path);
	}
	if (directory != NULL)
		closedir(directory);
	return failed ? isolate_refused(err, "make /proc read-only") : 0;
}

static int
make_sys_and_dev(struct error *err)
{
	static const char *const nodes[] = {
		"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty",
	};
	static const char *const links[][2] = {
		{ "/proc/self/fd", "/dev/fd" }, { "/proc/self/fd/0", "/dev/stdin" },
		{ "/proc/self/fd/1", "/dev/stdout" }, { "/proc/self/fd/2", "/dev/stderr" },
		{ "pts/ptmx", "/dev/ptmx" },
	};
	int failed;

	/* /sys cannot contain sockets. */
	if (access(HOST "/sys", F_OK) == 0 && (mkdir("/sys", 0555) != 0 ||
	    bind_host("/sys", "/sys", MS_REC) != 0 ||
	    mounts_close("/sys") != 0))
		return isolate_refused(err, "mount /sys");

	failed = mkdir("/dev", 0755) != 0 ||
	    mount("tmpfs", "/dev", "tmpfs", MS_NOSUID | MS_NOEXEC, "mode=0755") != 0 ||
	    mkdir("/dev/shm", 01777) != 0 || mkdir("/dev/pts", 0755) != 0;

	for (size_t i = 0; !failed && i < sizeof nodes / sizeof *nodes; i++)
		failed = bind_file(nodes[i], nodes[i]) != 0;
	for (size_t i = 0; !failed && i < sizeof links / sizeof *links; i++)
		failed = symlink(links[i][0], links[i][1]) != 0;
	if (failed || mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
	    "newinstance,ptmxmode=0666,mode=0620") != 0)
		return isolate_refused(err, "make /dev");
	return 0;
}

/* Makes an empty tree the root, with the host's tree at HOST. */
static int
enter_stage(const char *base, struct error *err)
{
	char *stage = path_join(base, &STAGE[1]), *host = path_join(base, &HOST[1]);
	int failed = mounts_part() != 0 || mount_memory(base, "mode=0755") != 0 ||
	    mkdir(stage, 0755) != 0 || mount_memory(stage, "mode=0755") != 0 || mkdir(host, 0755) != 0;

	if (failed)
		isolate_refused(err, "mount an empty file system");
	else if ((failed = (int)syscall(SYS_pivot_root, base, host)) != 0)
		isolate_refused(err, "change the root");
	free(stage);
	free(host);
	if (failed)
		return -1;
	if (chdir("/") != 0 || mkdir(LOWER, 0755) != 0 || mkdir(EMPTY, 0755) != 0 ||
	    mkdir(UPPER, 0755) != 0)
		return isolate_refused(err, "prepare the new root");
	/* Test once whether overlays are available, to report that as one error. */
	if (mount("overlay", LOWER, "overlay", MS_RDONLY, SEEN) != 0 || umount(LOWER) != 0)
		return isolate_refused(err, "mount an overlay");
	return 0;
}

int
overlay_view(const struct overlay_plan *plan, pid_t first_pid, struct error *err)
{
	mode_t mask = umask(0);
	int failed = enter_stage(plan->source, err) != 0 || show_all(plan, "/", "/", err) != 0 ||
	    make_proc(first_pid, err) != 0 || make_sys_and_dev(err) != 0;

	for (size_t i = 0; !failed && i < plan->count; i++)
		failed = show_place(plan, &plan->places[i], err) != 0;
	if (!failed && (umount2(STAGE, MNT_DETACH) != 0 || rmdir(STAGE) != 0 ||
	    mount_close("/dev") != 0 || mount_close("/") != 0))
		failed = isolate_refused(err, "let go of the machine's file system");
	umask(mask);
	return failed ? -1 : 0;
}
#endif
