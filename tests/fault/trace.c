/*
 * Preloaded, appends a line to the file $TRACE for what the program $TRACED does that
 * matters to the order of things: "line TYPE" (a line of a transcript is written),
 * "stdout", "sync line", "sync file", "sync directory", "rename", "rename directory",
 * "run NAME". With TRACE_SLOW a sync of a line takes 0.2 s, and is told when it is done.
 */
#define _GNU_SOURCE /* RTLD_NEXT, memmem(), program_invocation_short_name */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ISO C knows no conversion from void * to a function. */
#define REAL(name, function) \
	((*(void **)&(function) = dlsym(RTLD_NEXT, name)) != NULL ? (void)0 : abort())

static void
note(const char *what, const char *name, size_t len)
{
	const char *path = getenv("TRACE"), *traced = getenv("TRACED");
	bool wanted = path != NULL && traced != NULL &&
	    strcmp(traced, program_invocation_short_name) == 0;
	FILE *file = wanted ? fopen(path, "ae") : NULL;

	if (file == NULL)
		return;
	fprintf(file, "%s %.*s\n", what, (int)len, name);
	fclose(file);
}

ssize_t
write(int fd, const void *bytes, size_t len)
{
	static const char head[] = "{\"seq\":", key[] = "\"type\":\"";
	ssize_t (*function)(int, const void *, size_t);
	const char *type = len < sizeof head || memcmp(bytes, head, sizeof head - 1) != 0 ? NULL :
	    memmem(bytes, len, key, sizeof key - 1);

	REAL("write", function);
	if (type != NULL) {
		type += sizeof key - 1;
		note("line", type, strcspn(type, "\""));
	} else if (fd == STDOUT_FILENO) {
		note("stdout", "", 0);
	}
	return function(fd, bytes, len);
}

int
fdatasync(int fd)
{
	int (*function)(int);

	REAL("fdatasync", function);
	if (getenv("TRACE_SLOW") != NULL)
		usleep(200000);
	note("sync", "line", 4);
	return function(fd);
}

int
fsync(int fd)
{
	int (*function)(int);
	struct stat status;
	bool directory = fstat(fd, &status) == 0 && S_ISDIR(status.st_mode);

	REAL("fsync", function);
	note("sync", directory ? "directory" : "file", sizeof "directory");
	return function(fd);
}

int
rename(const char *from, const char *to)
{
	int (*function)(const char *, const char *);
	struct stat status;
	bool directory = stat(from, &status) == 0 && S_ISDIR(status.st_mode);

	REAL("rename", function);
	note("rename", "directory", directory ? strlen("directory") : 0);
	return function(from, to);
}

int
posix_spawn(pid_t *restrict pid, const char *restrict path,
    const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *restrict attributes,
    char *const argv[restrict], char *const environment[restrict])
{
	int (*function)(pid_t *, const char *, const posix_spawn_file_actions_t *,
	    const posix_spawnattr_t *, char *const[], char *const[]);
	const char *slash = strrchr(path, '/');
	const char *name = slash == NULL ? path : slash + 1;

	REAL("posix_spawn", function);
	note("run", name, strlen(name));
	return function(pid, path, actions, attributes, argv, environment);
}
