/*
 * A fork(2), and a pipe on which the new process reports its result as the bytes of a struct error
 * (both processes are the same program). If awf-run is started inside of another run, it overwrites
 * that run's id in the memory of its initial environment: AWF finds the processes of a run by
 * /proc/PID/environ, which shows that memory. Descriptors without close-on-exec were not opened by
 * awf-run, and are closed.
 */
#include "run/detach.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/file.h"
#include "proc/descendants.h"
#include "proc/process.h"
#include "system/descriptor.h"

static int
close_inherited(int fd, void *context)
{
	(void)context;
	if (fcntl(fd, F_GETFD) == 0)
		close(fd);
	return 0;
}

/* Separates the new process from the run that started it. */
static void
detach_new_process(const char *run_id)
{
	char *value = getenv("AWF_RUN_ID");
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	descendants_detach();
	/* Otherwise /proc/PID/environ would show the id of the outer run. */
	if (value != NULL && strlen(value) == strlen(run_id))
		memcpy(value, run_id, strlen(run_id) + 1);

	/* Nobody reads its output, and what is typed on the terminal is not for it. */
	if (isatty(STDIN_FILENO))
		dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	if (null > STDERR_FILENO)
		close(null);

	/* Close descriptors that were inherited, such as those of <(…). */
	descriptor_each(STDERR_FILENO + 1, close_inherited, NULL);
}

int
detach_fork(struct detachment *d, const char *run_id, struct error *err)
{
	int ends[2];
	pid_t pid;

	/* Whoever ends the leftover processes of a run sees in /proc that this one is detached. */
	if (!process_all_are_listed())
		return error_set(err, ERROR_SYSTEM, "--detach", "/proc is not mounted: without it a run "
		    "that goes on by itself cannot be told from what is left over");
	if (descriptor_pipe(ends) != 0)
		return error_errno(err, ERROR_SYSTEM, NULL, "unable to make a pipe");
	pid = fork();
	if (pid < 0)
		error_errno(err, ERROR_SYSTEM, NULL, "unable to fork");
	if (pid == 0)
		detach_new_process(run_id);
	close(ends[pid == 0 ? 0 : 1]);
	d->report = ends[pid == 0 ? 1 : 0];
	if (pid < 0)
		close(d->report);
	return pid < 0 ? -1 : pid > 0;
}

void
detach_tell(struct detachment *d, const struct error *why)
{
	const struct error none = ERROR_INIT;

	/* If the old process has ended, the write fails; that does no harm. */
	file_write(d->report, why != NULL ? why : &none, sizeof none);
	close(d->report);
}

int
detach_wait(struct detachment *d, struct error *err)
{
	struct error told = ERROR_INIT;
	size_t had = 0;
	ssize_t got = 1;

	while (had < sizeof told && (got > 0 || (got < 0 && errno == EINTR))) {
		got = read(d->report, (char *)&told + had, sizeof told - had);
		had += got > 0 ? (size_t)got : 0;
	}
	close(d->report);
	if (had < sizeof told)
		return error_set(err, ERROR_SYSTEM, NULL, "the detached process was killed");
	if (told.code == ERROR_NONE)
		return 0;
	*err = told;
	return -1;
}
