/*
 * Two children made by fork() tell what came of them in shared memory, and write to files.
 * They run at once, but for in the workspace itself. Signals are blocked and taken by
 * sigwaitinfo(2), so that they end both. The replays are compared with each other before one
 * of them is with the recording: chance would show there as well, and be taken for something
 * else.
 */
#include "inspect/determinism.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/copytree.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "inspect/against.h"
#include "inspect/replay.h"
#include "inspect/unseen.h"
#include "proc/process.h"

#define SHOWN_COLUMNS 72

/* What a replay's process tells. */
struct told {
	struct replay_end end;
	struct error error;
	bool done;
};

struct pair {
	struct replay_env_spec specs[2];
	pid_t pids[2];          /* 0: it does not run */
	struct told *told;      /* two, shared with their processes */
	sigset_t before;
};

/* ---- two processes ---- */

/* Its stdout and stderr are files beside its transcript. */
static int
redirect(const struct replay_env_spec *spec, const char *name, int fd, struct error *err)
{
	char *path = path_join(spec->place, name);
	int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int failed = file < 0 || dup2(file, fd) < 0 ?
	    error_errno(err, ERROR_SYSTEM, path, "unable to make the file") : 0;

	if (file >= 0)
		close(file);
	free(path);
	return failed;
}

static _Noreturn void
replay_in_child(const struct pair *p, int i)
{
	struct told *told = &p->told[i];
	const struct replay_env_spec *spec = &p->specs[i];

#ifdef __linux__
	prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
	sigprocmask(SIG_SETMASK, &p->before, NULL);
	told->done = redirect(spec, "stdout", STDOUT_FILENO, &told->error) == 0 &&
	    redirect(spec, "stderr", STDERR_FILENO, &told->error) == 0 &&
	    replay_run(spec, &told->end, &told->error) == 0;
	_exit(STATUS_OK);
}

static int
start(struct pair *p, int i, struct error *err)
{
	fflush(NULL);
	p->pids[i] = fork();
	if (p->pids[i] == 0)
		replay_in_child(p, i);
	if (p->pids[i] < 0) {
		p->pids[i] = 0;
		return error_errno(err, ERROR_SYSTEM, NULL, "unable to fork");
	}
	return 0;
}

static void
signal_all(const struct pair *p, int number)
{
	for (int i = 0; i < 2; i++)
		if (p->pids[i] > 0)
			kill(p->pids[i], number);
}

static void
reap(struct pair *p)
{
	char text[64];
	int status;

	for (int i = 0; i < 2; i++)
		if (p->pids[i] > 0 && waitpid(p->pids[i], &status, WNOHANG) == p->pids[i]) {
			p->pids[i] = 0;
			if (status != 0)
				error_set(&p->told[i].error, ERROR_SYSTEM, p->specs[i].place,
				    "the replay was ended: %s",
				    process_status_text(status, text, sizeof text));
		}
}

/* Waits for those that run; a signal that would end this process is passed on first.
 * Returns the last such signal. */
static int
wait_for_all(struct pair *p, const sigset_t *signals)
{
	int passed = 0, number;

	while (p->pids[0] > 0 || p->pids[1] > 0) {
		number = sigwaitinfo(signals, NULL);
		if (number == SIGCHLD)
			reap(p);
		else if (number > 0)
			signal_all(p, passed = number);
	}
	return passed;
}

/* Makes both replays: at once, unless they share the workspace itself. */
static int
run_both(struct pair *p, int *signal_number, struct error *err)
{
	static const int numbers[] = { SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM };
	bool at_once = p->specs[0].isolation != ISOLATION_NONE;
	struct sigaction action;
	sigset_t signals;
	int failed;

	sigemptyset(&signals);
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		if (sigaction(numbers[i], NULL, &action) == 0 &&
		    (action.sa_handler != SIG_IGN || numbers[i] == SIGCHLD))
			sigaddset(&signals, numbers[i]);
	sigprocmask(SIG_BLOCK, &signals, &p->before);
	failed = start(p, 0, err);
	if (!at_once)
		*signal_number = wait_for_all(p, &signals);
	if (failed == 0 && *signal_number == 0)
		failed = start(p, 1, err);
	if (failed != 0)
		signal_all(p, SIGTERM);
	if (*signal_number == 0)
		*signal_number = wait_for_all(p, &signals);
	sigprocmask(SIG_SETMASK, &p->before, NULL);
	for (int i = 0; failed == 0 && i < 2 && *signal_number == 0; i++) {
		*signal_number = p->told[i].end.signal_number;
		if (*signal_number == 0 && !p->told[i].done) {
			*err = p->told[i].error;
			failed = -1;
		}
	}
	return failed;
}

/* ---- comparison ---- */

/* The first line in which two streams differ, from 1; 0: they do not. */
static long
first_difference(FILE *streams[2], char *lines[2])
{
	size_t sizes[2] = { 0, 0 };

	for (long number = 1;; number++) {
		ssize_t lens[2];

		for (int i = 0; i < 2; i++)
			lens[i] = getline(&lines[i], &sizes[i], streams[i]);
		if (lens[0] < 0 && lens[1] < 0)
			return 0;
		if (lens[0] == lens[1] && memcmp(lines[0], lines[1], (size_t)lens[0]) == 0)
			continue;
		for (int i = 0; i < 2; i++)
			if (lens[i] < 0) {
				free(lines[i]);
				lines[i] = NULL;
			}
		return number;
	}
}

/* The call that a state line is of; nothing of any other line. */
static void
tell_call(struct buffer *text, const char *line)
{
	struct span metadata = span_member(span_trim(span_of(line, strlen(line))), "metadata");
	struct buffer call = BUFFER_INIT;

	span_decode(span_member(metadata, "call"), &call);
	if (call.len > 0) {
		buffer_text(text, ", of ");
		text_visible(text, call.data, call.len, SHOWN_COLUMNS);
		buffer_byte(text, ',');
	}
	buffer_free(&call);
}

static void
tell_lines(struct determinism *d, long number, char *const lines[2])
{
	static const char *const names[] = { "first replay", "second replay" };
	size_t from = 0;

	buffer_format(&d->text, "line %ld of standard output", number);
	if (lines[0] != NULL)
		tell_call(&d->text, lines[0]);
	buffer_text(&d->text, " differs\n");
	while (lines[0] != NULL && lines[1] != NULL && lines[0][from] != '\0' &&
	    lines[0][from] == lines[1][from])
		from++;
	for (int i = 0; i < 2; i++) {
		buffer_format(&d->text, "  %s: ", names[i]);
		if (lines[i] != NULL)
			difference_excerpt(span_of(lines[i], strlen(lines[i])), from, &d->text);
		else
			buffer_text(&d->text, "(its end)");
		buffer_byte(&d->text, '\n');
	}
}

/* What a replay wrote, unless the workflow put something else in the file's place. */
static FILE *
open_output(const char *place, struct error *err)
{
	char *path = path_join(place, "stdout");
	int fd = file_open_plain(path, O_RDONLY, 0);
	struct stat status;
	FILE *stream = NULL;

	if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
		stream = fdopen(fd, "r");
	else if (fd >= 0)
		errno = EINVAL;
	if (stream == NULL) {
		error_errno(err, ERROR_SYSTEM, path, "unable to read what the replay wrote");
		if (fd >= 0)
			close(fd);
	}
	free(path);
	return stream;
}

static int
compare_output(struct pair *p, struct determinism *d, struct error *err)
{
	FILE *streams[2] = { NULL, NULL };
	char *lines[2] = { NULL, NULL };
	long number = -1;

	for (int i = 0; i < 2; i++)
		streams[i] = open_output(p->specs[i].place, err);
	if (streams[0] != NULL && streams[1] != NULL)
		number = first_difference(streams, lines);
	if (number > 0)
		tell_lines(d, number, lines);
	for (int i = 0; i < 2; i++) {
		if (streams[i] != NULL)
			fclose(streams[i]);
		free(lines[i]);
	}
	return number < 0 ? -1 : number > 0;
}

/* Without namespaces the paths differ in which the two ran, so what is recorded of
 * those is not compared. What differs first in causal order may do so because a step did
 * something else that no event leads to: it is told in the order of time, call by call. */
static int
compare_events(struct pair *p, char *const transcripts[2], struct determinism *d,
    struct error *err)
{
	const int attempt = p->specs[0].source->attempt;
	struct difference by_call;
	int differ;

	if (p->specs[0].isolation != ISOLATION_NAMESPACES)
		return against_recording(transcripts[0], transcripts[1], attempt, &d->difference, err);
	differ = canonical_compare(transcripts[0], transcripts[1], &d->difference, err);
	if (differ != 1)
		return differ;
	memset(&by_call, 0, sizeof by_call);
	differ = against_recording(transcripts[0], transcripts[1], attempt, &by_call, err);
	if (differ == 1) {
		difference_free(&d->difference);
		d->difference = by_call;
	} else {
		difference_free(&by_call);
	}
	return differ == -1 ? -1 : 1;
}

static int
compare(struct pair *p, struct determinism *d, struct error *err)
{
	const struct source *s = p->specs[0].source;
	char *transcripts[2] = { replay_transcript(&p->specs[0]), replay_transcript(&p->specs[1]) };
	int differ = compare_events(p, transcripts, d, err);

	if (differ == 1) {
		d->verdict = DETERMINISM_REPLAYS_DIFFER;
		difference_text(&d->difference, "first replay", "second replay", &d->text);
	}
	/* Where the replays come to something else than the recording did, their state lines tell
	 * the time of day: which step it was says more than that. */
	if (differ == 0) {
		difference_free(&d->difference);
		differ = against_recording(s->transcript, transcripts[0], s->attempt, &d->difference, err);
		if (differ == 1) {
			d->verdict = DETERMINISM_RECORDING_DIFFERS;
			difference_text(&d->difference, "recording", "replays", &d->text);
			unseen_tell(&p->specs[0], &d->difference, &d->text);
		}
	}
	if (differ == 0 && (differ = compare_output(p, d, err)) == 1)
		d->verdict = DETERMINISM_OUTPUT_DIFFERS;
	free(transcripts[0]);
	free(transcripts[1]);
	return differ < 0 ? -1 : 0;
}

int
determinism_check(const struct replay_env_spec *common, const struct storage *storage,
    struct determinism *d, struct error *err)
{
	struct pair p = { .pids = { 0, 0 } };
	size_t size = 2 * sizeof *p.told;
	int failed = 0;

	memset(d, 0, sizeof *d);
	p.told = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (p.told == MAP_FAILED)
		return error_errno(err, ERROR_SYSTEM, NULL, "unable to get memory");
	for (int i = 0; failed == 0 && i < 2; i++) {
		p.specs[i] = *common;
		p.specs[i].place = d->places[i] = replay_place(storage, err);
		p.specs[i].second = i == 1;
		failed = d->places[i] != NULL ? 0 : -1;
	}
	if (failed == 0)
		failed = run_both(&p, &d->signal_number, err);
	if (failed == 0 && d->signal_number != 0)
		d->verdict = DETERMINISM_ENDED;
	else if (failed == 0)
		failed = compare(&p, d, err);
	/* Replays that differ are kept, to be looked at. */
	for (int i = 0; i < 2 && (failed != 0 || d->verdict == DETERMINISM_AGREES ||
	    d->verdict == DETERMINISM_ENDED); i++) {
		if (d->places[i] != NULL)
			copytree_remove(d->places[i], NULL);
		free(d->places[i]);
		d->places[i] = NULL;
	}
	munmap(p.told, size);
	return failed;
}

void
determinism_free(struct determinism *d)
{
	difference_free(&d->difference);
	buffer_free(&d->text);
	free(d->places[0]);
	free(d->places[1]);
}
