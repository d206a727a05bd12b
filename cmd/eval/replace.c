/* All files are opened before the first one is mounted, so that two can be exchanged. A process that executes another
 * program loses the capabilities that it has in its user namespace, unless it is root there as outside. */
#ifdef __linux__
#define _GNU_SOURCE /* unshare, O_PATH */
#endif
#include "eval/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/memory.h"
#include "io/file.h"
#include "proc/message.h"

#define FILES_MOST 100

static int
replace_check_file(const char *path, const char *word, struct error *err)
{
	struct stat status;

	if (stat(path, &status) != 0)
		return error_errno(err, ERROR_USAGE, "--variant", "--with %s: unable to look at %s", word, path);
	if (!S_ISREG(status.st_mode))
		return error_set(err, ERROR_USAGE, "--variant", "--with %s: %s is no file", word, path);
	return access(path, R_OK) == 0 ? 0 :
	    error_errno(err, ERROR_USAGE, "--variant", "--with %s: unable to read %s", word, path);
}

#ifdef __linux__
#include <sched.h>
#include <sys/mount.h>

/* Maps an id to itself. */
static bool
replace_map(const char *file, unsigned long id)
{
	char text[64];
	const int fd = open(file, O_WRONLY | O_CLOEXEC), len = snprintf(text, sizeof text, "%lu %lu 1", id, id);
	const bool written = fd != -1 && write(fd, text, (size_t)len) == len;

	if (fd != -1)
		close(fd);
	return written;
}

static bool
replace_deny_groups(void)
{
	const int fd = open("/proc/self/setgroups", O_WRONLY | O_CLOEXEC);
	const bool written = fd == -1 ? errno == ENOENT : write(fd, "deny", 4) == 4;

	if (fd != -1)
		close(fd);
	return written;
}

/* Gives this process a mount namespace of its own, in a user namespace where it may not mount otherwise. */
static int
replace_part(struct error *err)
{
	const unsigned long uid = geteuid(), gid = getegid();

	if (unshare(CLONE_NEWNS) != 0 && (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0 || !replace_deny_groups() ||
	    !replace_map("/proc/self/uid_map", uid) || !replace_map("/proc/self/gid_map", gid)))
		return error_errno(err, ERROR_SYSTEM, "--with", "unable to make a mount namespace");
	return mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) == 0 ? 0 :
	    error_errno(err, ERROR_SYSTEM, "--with", "unable to make a mount namespace");
}

/* Mounts files over others; words end with "--" or NULL. What was opened in another namespace cannot be mounted. */
static int
replace_mount(char *const *words, struct error *err)
{
	int fds[FILES_MOST], failed = replace_part(err);
	size_t count = 0;

	for (; failed == 0 && words[count] != NULL && strcmp(words[count], "--") != 0; count++) {
		const char *other = strchr(words[count], '=');

		if (count == FILES_MOST)
			return error_set(err, ERROR_USAGE, "--with", "is given more than %d times", FILES_MOST);
		fds[count] = other == NULL ? -1 : open(other + 1, O_PATH | O_CLOEXEC);
		if (fds[count] == -1)
			failed = error_errno(err, ERROR_SYSTEM, "--with", "%s: unable to open", words[count]);
	}
	for (size_t i = 0; failed == 0 && i < count; i++) {
		char *file = memory_copy(words[i], strcspn(words[i], "=")), source[64];

		snprintf(source, sizeof source, "/proc/self/fd/%d", fds[i]);
		if (mount(source, file, NULL, MS_BIND, NULL) != 0)
			failed = error_errno(err, ERROR_SYSTEM, "--with", "%s: unable to replace the file", words[i]);
		free(file);
	}
	for (size_t i = 0; i < count; i++)
		file_close(&fds[i]);
	return failed;
}
#else
static int
replace_mount(char *const *words, struct error *err)
{
	return error_set(err, ERROR_SYSTEM, "--with", "%s: only Linux can replace files", *words);
}
#endif

int
eval_replace_check(char *const *files, struct error *err)
{
	pid_t pid;
	int status;

	for (char *const *word = files; *word != NULL; word++) {
		char *file = memory_copy(*word, strcspn(*word, "="));
		int failed = replace_check_file(file, *word, err);

		free(file);
		if (failed != 0 || replace_check_file(strchr(*word, '=') + 1, *word, err) != 0)
			return -1;
	}
	/* Whether the system allows it is seen in a process that ends. */
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		if (replace_mount(files, err) == 0)
			_exit(0);
		message_print("awf-eval", "%s: %s", err->place, err->message);
		_exit(1);
	}
	if (pid == -1)
		return error_errno(err, ERROR_SYSTEM, NULL, "unable to fork");
	while (waitpid(pid, &status, 0) == -1 && errno == EINTR)
		;
	return status == 0 ? 0 : error_set(err, ERROR_SYSTEM, "--variant", "files cannot be replaced here");
}

int
eval_replace_exec(char **words, struct error *err)
{
	char **command = words;

	while (*command != NULL && strcmp(*command, "--") != 0)
		command++;
	if (*command == NULL || command[1] == NULL)
		return error_set(err, ERROR_USAGE, EVAL_REPLACING_WORD, "takes FILE=OTHER ... -- COMMAND");
	if (replace_mount(words, err) != 0)
		return -1;
	execvp(command[1], command + 1);
	return error_errno(err, ERROR_SYSTEM, command[1], "unable to execute");
}
