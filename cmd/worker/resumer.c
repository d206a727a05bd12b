/*
 * A run is looked at when its file has changed, when the next time has come that it waits for, and
 * from time to time while its last attempt has no end, as that may have been killed.
 */
#include "worker/resumer.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/invariant.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/patience.h"
#include "decide/due.h"
#include "io/file.h"
#include "model/summary.h"
#include "model/watch.h"
#include "proc/environment.h"
#include "proc/last_words.h"
#include "proc/libexec.h"
#include "proc/process.h"
#include "proc/wait.h"
#include "storage/resumes.h"
#include "workspace/workflow_file.h"

#define FAILURES_TRIED 3
#define SECOND INT64_C(1000000)
#define JITTER_STEP INT64_C(4000) /* µs; by the first byte of a run's id, so at most a second */
#define STDERR_MOST ((size_t)64 << 10)

struct candidate {
	char run_id[ID_SIZE];
	bool there;              /* its file was found in this look */
	int64_t changed;         /* time of its file when it was looked at, µs since 1970 */
	int64_t again;           /* when it is to be looked at again; 0: when its file changes */
	pid_t pid;               /* of awf-run; 0: none */
	int ended_fd;            /* becomes readable when that has ended; -1: not available */
	int errors;              /* what that has printed: a file without a name; -1 */
	int64_t attempt;         /* the last one before that */
};

struct resumer {
	const struct resumer_spec *spec;
	char *directory;
	int lock;                /* -1: another resumer works */
	struct candidate *list;
	size_t count;
	struct watch watch;
};

/* ---- starting and ending ---- */

static size_t
count_running(const struct resumer *r)
{
	size_t running = 0;

	for (size_t i = 0; i < r->count; i++)
		running += r->list[i].pid != 0;
	return running;
}

/* A file for the messages of awf-run, which no name leads to any more. */
static int
resumer_open_errors(const struct resumer *r, const struct candidate *c)
{
	char *path = memory_format("%s/.%s", r->directory, c->run_id);
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	unlink(path);
	free(path);
	return fd;
}

static void
resumer_start_run(struct resumer *r, struct candidate *c)
{
	char *awf_run = libexec_sibling("awf-run");
	char *argv[] = { awf_run, (char *)"--wait=0", (char *)"--auto-resume", (char *)"--resume", c->run_id,
		NULL };
	struct environment environment;
	struct process process;
	struct process_spec spec = { .argv = argv, .in = PROCESS_NULL, .group = true };
	int out = file_open_unnamed(r->directory); /* so that awf-run keeps what is printed */
	struct error err;

	INVARIANT(r->lock != -1 && c->pid == 0 && c->errors == -1 && count_running(r) < r->spec->most);
	workflow_file_environment(&environment);
	environment_set(&environment, "AWF_STORAGE", r->spec->storage->root);
	spec.environment = environment.list;
	spec.out = out != -1 ? out : PROCESS_NULL;
	spec.err = c->errors = resumer_open_errors(r, c);
	if (c->errors == -1)
		spec.err = PROCESS_INHERIT;
	if (process_start(&process, &spec, NULL, &err) == 0) {
		c->pid = process.pid;
		c->ended_fd = wait_descriptor(process.pid);
	} else {
		file_close(&c->errors);
		c->again = clock_wall() + (int64_t)JOB_PAUSE_MS * 1000;
		r->spec->warn(&err);
	}
	file_close(&out);
	environment_free(&environment);
	free(awf_run);
}

/* When a run that could not be resumed so often is tried again; 0: not any more. */
static int64_t
resumer_next_try(long long count)
{
	return count < FAILURES_TRIED ? clock_wall() + (RESUME_PAUSE_MS * 1000 << (3 * count - 3)) : 0;
}

/* Records why the run could not be resumed, and when to try again. */
static void
resumer_note_failure(struct resumer *r, struct candidate *c, int exit_code)
{
	struct buffer text = BUFFER_INIT, words = BUFFER_INIT;
	struct resume_failures f;
	struct error err;
	char bytes[4096];
	ssize_t got;

	if (c->errors != -1 && lseek(c->errors, 0, SEEK_SET) == 0)
		while (text.len < STDERR_MOST && (got = read(c->errors, bytes, sizeof bytes)) > 0)
			buffer_append(&text, bytes, (size_t)got);
	last_words(buffer_string(&text), text.len, &words);
	if (words.len == 0)
		buffer_format(&words, "awf-run ended with status %d", exit_code);
	if (resumes_add_failure(r->spec->storage, c->run_id, buffer_string(&words), resumer_next_try, &f,
	    &err) == -1)
		r->spec->warn(&err);
	INVARIANT((f.next == 0) == (f.count >= FAILURES_TRIED));
	c->again = f.next;
	r->spec->told(c->run_id, f.message);
	free(f.message);
	buffer_free(&words);
	buffer_free(&text);
}

static void
resumer_end_run(struct resumer *r, struct candidate *c, int wait_status)
{
	const int exit_code = process_exit_code(wait_status);
	char *path = storage_transcript(r->spec->storage, c->run_id);
	struct due due = { .attempt = c->attempt };
	struct summary summary;
	struct error ignored;

	c->pid = 0;
	file_close(&c->ended_fd);
	c->changed = 0; /* look at it again */
	due_read(&due, r->spec->storage, c->run_id, false, &ignored);
	if (due.attempt > c->attempt && summary_read_ends(&summary, path, &ignored) == 0) {
		r->spec->told(c->run_id, summary.status);
		summary_free(&summary);
	} else if (exit_code != 0) {
		resumer_note_failure(r, c, exit_code);
	}
	file_close(&c->errors);
	free(path);
}

static void
resumer_reap_runs(struct resumer *r)
{
	for (size_t i = 0; i < r->count; i++) {
		int wait_status;

		if (r->list[i].pid != 0 && waitpid(r->list[i].pid, &wait_status, WNOHANG) == r->list[i].pid)
			resumer_end_run(r, &r->list[i], wait_status);
	}
}

/* ---- looking ---- */

/* Whether the clock shows a time after that of the file. A machine without a clock of its own shows an earlier
 * time after a boot, until it has got the time from the network. */
static bool
clock_is_set(int64_t now, int64_t changed)
{
	return now + SECOND >= changed;
}

/* Whether there is no such run any more; what cannot be looked at may be there. */
static bool
transcript_is_gone(const struct storage *s, const char *run_id)
{
	char *path = storage_transcript(s, run_id);
	struct stat status;
	const bool gone = stat(path, &status) == -1 && errno == ENOENT;

	free(path);
	return gone;
}

/* Starts the run if it is due. */
static void
resumer_look_at(struct resumer *r, struct candidate *c, int64_t changed)
{
	const int64_t now = clock_wall(), jitter = (int64_t)(unsigned char)c->run_id[0] * JITTER_STEP;
	struct resume_failures f;
	struct error err;
	struct due due;
	bool news;

	if (!clock_is_set(now, changed)) {
		c->again = now + SECOND;
		return;
	}
	news = c->changed != changed;
	c->changed = changed;
	c->again = 0;
	if (due_read(&due, r->spec->storage, c->run_id, false, &err) == -1) {
		if (news)
			r->spec->warn(&err);
		if (transcript_is_gone(r->spec->storage, c->run_id))
			resumes_remove(r->spec->storage, c->run_id);
		else
			c->again = now + RESUME_LOOK_MS * 1000;
		return;
	}
	if (!due.waits) {
		/* It is alive; or has died, or ended for good, and its awf-run was killed before it
		 * could remove the file. */
		if (storage_run_alive(r->spec->storage, c->run_id))
			c->again = now + RESUME_LOOK_MS * 1000;
		else if (due.ended)
			resumes_remove(r->spec->storage, c->run_id);
		return;
	}
	resumes_read_failures(r->spec->storage, c->run_id, &f);
	free(f.message);
	if (f.count > 0 && (f.next == 0 || f.next > now)) {
		c->again = f.next;
	} else if (due.ready) {
		c->attempt = due.attempt;
		resumer_start_run(r, c);
	} else if (due.next != 0) {
		c->again = due.next + jitter;
	}
}

static struct candidate *
candidate_find(struct resumer *r, const char *run_id)
{
	for (size_t i = 0; i < r->count; i++)
		if (strcmp(r->list[i].run_id, run_id) == 0)
			return &r->list[i];
	r->list = memory_array(r->list, r->count + 1, sizeof *r->list);
	r->list[r->count] = (struct candidate){ .ended_fd = -1, .errors = -1 };
	memcpy(r->list[r->count].run_id, run_id, ID_SIZE);
	return &r->list[r->count++];
}

/* Examines the runs whose files have changed or whose time has come. -1: the directory cannot be
 * read. */
static int
resumer_look(struct resumer *r, struct error *err)
{
	DIR *directory = storage_opendir(r->directory);
	const struct dirent *entry;
	const int64_t now = clock_wall();
	struct stat status;

	if (directory == NULL)
		return error_errno(err, ERROR_SYSTEM, r->directory, "unable to read the directory");
	for (size_t i = 0; i < r->count; i++)
		r->list[i].there = r->list[i].pid != 0;
	while ((entry = readdir(directory)) != NULL) {
		struct candidate *c;
		int64_t changed;

		if (!id_valid(entry->d_name, strlen(entry->d_name)) ||
		    fstatat(dirfd(directory), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == -1 ||
		    !S_ISREG(status.st_mode))
			continue;
		c = candidate_find(r, entry->d_name);
		c->there = true;
		changed = clock_of(&status.st_mtim);
		if (c->pid == 0 && (c->changed != changed || (c->again != 0 && c->again <= now)) &&
		    count_running(r) < r->spec->most)
			resumer_look_at(r, c, changed);
	}
	closedir(directory);
	for (size_t i = 0; i < r->count;) {
		INVARIANT(r->list[i].there || (r->list[i].pid == 0 && r->list[i].ended_fd == -1));
		if (r->list[i].there)
			i++;
		else
			r->list[i] = r->list[--r->count];
	}
	return 0;
}

/* ---- the loop ---- */

/* Waits until something may have changed. False: the process that started this one is gone. */
static bool
resumer_wait(struct resumer *r)
{
	struct pollfd *fds = memory_zero(r->count + 3, sizeof *fds);
	int64_t now = clock_wall(), wait = RESUME_LOOK_MS;
	/* Who is due while there is no room is looked at when one of the others has ended. */
	const bool room = count_running(r) < r->spec->most;
	struct error ignored;
	bool alone;

	fds[1] = (struct pollfd){ r->watch.fd, POLLIN, 0 };
	fds[2] = (struct pollfd){ r->spec->parent, POLLIN, 0 };
	for (size_t i = 0; i < r->count; i++) {
		const struct candidate *c = &r->list[i];
		int64_t left = (c->again - now) / 1000 + 1;

		fds[i + 3] = (struct pollfd){ c->pid != 0 ? c->ended_fd : -1, POLLIN, 0 };
		if (c->pid == 0 && c->again != 0 && room && left < wait)
			wait = left > 1 ? left : 1;
	}
	if (r->watch.fd == -1 && wait > JOB_LOOK_MS)
		wait = JOB_LOOK_MS;
	if (interrupts_wait(r->spec->interrupts, fds, r->count + 3, clock_monotonic() + wait, &ignored) == -1)
		fds[1].revents = fds[2].revents = 0;
	if (fds[1].revents != 0)
		watch_drain(&r->watch);
	alone = fds[2].revents != 0;
	free(fds);
	return !alone;
}

/* Works until a signal comes. The resumed runs then go on, since each has its own awf-run. */
static int
resumer_work(struct resumer *r, struct error *err)
{
	const volatile int *signal_number = r->spec->interrupts->signal_number;

	while (*signal_number == 0) {
		resumer_reap_runs(r);
		if (r->lock == -1 && (r->lock = resumes_take_lock(r->spec->storage)) == -1 && errno != EWOULDBLOCK)
			return error_errno(err, ERROR_SYSTEM, r->directory, "unable to lock");
		if (r->lock == -1 && r->spec->once)
			return 0;
		if (r->lock != -1 && resumer_look(r, err) == -1)
			return -1;
		if (r->spec->once && count_running(r) == 0)
			return 0;
		if (!resumer_wait(r))
			break;
	}
	return 0;
}

int
resumer_run(const struct resumer_spec *spec, struct error *err)
{
	struct resumer r = { .spec = spec, .directory = resumes_directory(spec->storage), .lock = -1 };
	int failed = storage_make_directory(r.directory, !spec->storage->disposable, err);

	watch_open(&r.watch);
	if (failed == 0)
		failed = watch_add_files(&r.watch, r.directory, err);
	if (failed == 0)
		failed = resumer_work(&r, err);
	watch_close(&r.watch);
	for (size_t i = 0; i < r.count; i++) {
		file_close(&r.list[i].ended_fd);
		file_close(&r.list[i].errors);
	}
	file_close(&r.lock);
	free(r.list);
	free(r.directory);
	return failed;
}
