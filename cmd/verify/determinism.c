/*
 * Two children made by fork() tell what came of them in shared memory, and write to files.
 * They run at once, but for in the workspace itself. Signals are blocked and taken by
 * sigwaitinfo(2), so that they end both. The replays are compared with each other before one
 * of them is with the recording: chance would show there as well, and be taken for something
 * else.
 *
 * The run first, then its children one after another, and theirs: each run once, kept in a
 * map. A child that no replay can repeat (it was cancelled, timed out or never ended) is a
 * warning, no fault.
 */
#ifdef __linux__
#define _GNU_SOURCE /* sched_setaffinity */
#endif
#include "verify/determinism.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#ifdef __linux__
#include <sched.h>
#include <sys/prctl.h>
#endif
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/terminal.h"
#include "proc/message.h"
#include "program.h"

#include "base/map.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/copytree.h"
#include "io/file.h"
#include "proc/interrupts.h"
#include "proc/process.h"
#include "rerun/against.h"
#include "rerun/replay.h"
#include "rerun/unseen.h"

#define PROGRAM "awf-verify"
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

/* One processor less, where there are several. */
static void
leave_processor(void)
{
#ifdef __linux__
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof set, &set) != 0 || CPU_COUNT(&set) < 2)
		return;
	for (size_t i = CPU_SETSIZE; i-- > 0;)
		if (CPU_ISSET(i, &set)) {
			CPU_CLR(i, &set);
			break;
		}
	sched_setaffinity(0, sizeof set, &set);
#endif
}

/* Its stdout and stderr are files beside its transcript. */
static int
determinism_redirect_fd(const struct replay_env_spec *spec, const char *name, int fd,
    struct error *err)
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

static int
determinism_start_replay(struct pair *p, int i, struct error *err)
{
	const struct replay_env_spec *spec = &p->specs[i];
	struct told *told = &p->told[i];

	fflush(NULL);
	p->pids[i] = fork();
	if (p->pids[i] < 0) {
		p->pids[i] = 0;
		return error_errno(err, ERROR_SYSTEM, NULL, "unable to fork");
	}
	if (p->pids[i] > 0)
		return 0;
#ifdef __linux__
	prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
	sigprocmask(SIG_SETMASK, &p->before, NULL);
	if (spec->second)
		leave_processor();
	told->done = determinism_redirect_fd(spec, "stdout", STDOUT_FILENO, &told->error) == 0 &&
	    determinism_redirect_fd(spec, "stderr", STDERR_FILENO, &told->error) == 0 &&
	    replay_run(spec, &told->end, &told->error) == 0;
	_exit(STATUS_OK);
}

static void
signal_all(const struct pair *p, int number)
{
	for (int i = 0; i < 2; i++)
		if (p->pids[i] > 0)
			kill(p->pids[i], number);
}

/* Waits for those that run; a signal that would end this process is passed on first.
 * Returns the last such signal. */
static int
wait_for_all(struct pair *p, const sigset_t *signals)
{
	int passed = 0, status;
	char text[64];

	while (p->pids[0] > 0 || p->pids[1] > 0) {
		int number = sigwaitinfo(signals, NULL);

		if (number > 0 && number != SIGCHLD)
			signal_all(p, passed = number);
		for (int i = 0; number == SIGCHLD && i < 2; i++) {
			if (p->pids[i] <= 0 || waitpid(p->pids[i], &status, WNOHANG) != p->pids[i])
				continue;
			p->pids[i] = 0;
			if (status != 0)
				error_set(&p->told[i].error, ERROR_SYSTEM, p->specs[i].place,
				    "the replay was ended: %s",
				    process_status_text(status, text, sizeof text));
		}
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
	failed = determinism_start_replay(p, 0, err);
	if (!at_once)
		*signal_number = wait_for_all(p, &signals);
	if (failed == 0 && *signal_number == 0)
		failed = determinism_start_replay(p, 1, err);
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

/* The first line in which two streams differ, from 1; 0: they do not. Where one has ended its
 * line is NULL. */
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

/* If it is a state line, of which call. */
static void
determinism_describe_lines(struct buffer *text, long number, char *const lines[2])
{
	static const char *const names[] = { "first replay", "second replay" };
	struct buffer call = BUFFER_INIT;
	size_t from = 0;

	buffer_format(text, "line %ld of standard output", number);
	if (lines[0] != NULL)
		span_decode(span_path(span_trim(span_of(lines[0], strlen(lines[0]))), "metadata", "call",
		    NULL), &call);
	if (call.len > 0) {
		buffer_text(text, ", of ");
		text_visible(text, call.data, call.len, SHOWN_COLUMNS);
		buffer_byte(text, ',');
	}
	buffer_free(&call);
	buffer_text(text, " differs\n");
	while (lines[0] != NULL && lines[1] != NULL && lines[0][from] != '\0' &&
	    lines[0][from] == lines[1][from])
		from++;
	for (int i = 0; i < 2; i++) {
		buffer_format(text, "  %s: ", names[i]);
		if (lines[i] != NULL)
			difference_excerpt(span_of(lines[i], strlen(lines[i])), from, text);
		else
			buffer_text(text, "(its end)");
		buffer_byte(text, '\n');
	}
}

/* What the replays wrote, unless a workflow put something else in the file's place. 1: that
 * differs, and *text tells how; -1: *err. */
static int
compare_output(const struct pair *p, struct buffer *text, struct error *err)
{
	FILE *streams[2] = { NULL, NULL };
	char *lines[2] = { NULL, NULL };
	long number = -1;

	for (int i = 0; i < 2; i++) {
		char *path = path_join(p->specs[i].place, "stdout");
		int fd = file_open_plain(path, O_RDONLY, 0);
		struct stat status;

		if (fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
			streams[i] = fdopen(fd, "r");
		else if (fd >= 0)
			errno = EINVAL;
		if (streams[i] == NULL) {
			error_errno(err, ERROR_SYSTEM, path, "unable to read what the replay wrote");
			file_close(&fd);
		}
		free(path);
	}
	if (streams[0] != NULL && streams[1] != NULL)
		number = first_difference(streams, lines);
	if (number > 0)
		determinism_describe_lines(text, number, lines);
	for (int i = 0; i < 2; i++) {
		if (streams[i] != NULL)
			fclose(streams[i]);
		free(lines[i]);
	}
	return number < 0 ? -1 : number > 0;
}

/* Without namespaces the paths differ in which the two ran, so what is recorded of
 * those is not compared. What differs first in causal order may do so because a step did
 * something else that no event leads to: it is told in the order of time, call by call.
 * 1: *text tells how; -1: *err. */
static int
compare_events(const struct pair *p, char *const transcripts[2], struct buffer *text,
    struct error *err)
{
	const int attempt = p->specs[0].source->attempt;
	bool whole = p->specs[0].isolation == ISOLATION_NAMESPACES;
	struct difference first = { .kind = DIFFERENCE_VALUE }, by_call = first;
	int differ = 1, told = 0;

	if (whole)
		differ = canonical_compare(transcripts[0], transcripts[1], &first, err);
	if (differ == 1)
		told = against_recording(transcripts[0], transcripts[1], attempt, &by_call, err);
	if (!whole || told < 0)
		differ = told;
	if (differ == 1)
		difference_text(told == 1 ? &by_call : &first, "first replay", "second replay", text);
	difference_free(&first);
	difference_free(&by_call);
	return differ;
}

/* What is to be said of how they come out, NULL: they agree with each other and with the
 * recording; *text has more. -1: *err. */
static int
determinism_compare_replays(const struct pair *p, const char **verdict, struct buffer *text,
    struct error *err)
{
	const struct source *s = p->specs[0].source;
	char *transcripts[2] = { replay_transcript(&p->specs[0]), replay_transcript(&p->specs[1]) };
	struct difference d;
	int differ = compare_events(p, transcripts, text, err);

	if (differ == 1)
		*verdict = "the replays differ";
	/* Where the replays come to something else than the recording did, their state lines tell
	 * the time of day: which step it was says more than that. */
	if (differ == 0) {
		differ = against_recording(s->transcript, transcripts[0], s->attempt, &d, err);
		if (differ == 1) {
			*verdict = "the replays agree, the recording differs";
			difference_text(&d, "recording", "replays", text);
			unseen_tell(&p->specs[0], &d, text);
		}
		difference_free(&d);
	}
	if (differ == 0 && (differ = compare_output(p, text, err)) == 1)
		*verdict = "the replays differ";
	free(transcripts[0]);
	free(transcripts[1]);
	return differ < 0 ? -1 : 0;
}

/* ---- runs ---- */

struct checking {
	const struct determinism_spec *spec;
	struct map seen;   /* runs: records could name each other in a circle */
	int status;        /* the greatest so far */
};

static void
determinism_raise_status(struct checking *c, int status)
{
	if (status > c->status)
		c->status = status;
}

/* -1: it could not be replayed, or compared. */
static int
check_one(struct checking *c, const struct source *source, const char *who, struct error *err)
{
	struct pair p = { .pids = { 0, 0 } };
	size_t size = 2 * sizeof *p.told;
	char *places[2] = { NULL, NULL }; /* of the replays, each with files stdout and stderr */
	struct buffer text = BUFFER_INIT, lines = BUFFER_INIT;
	const char *verdict = NULL;
	int failed = 0, signal_number = 0;

	p.told = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (p.told == MAP_FAILED)
		return error_errno(err, ERROR_SYSTEM, NULL, "unable to get memory");
	for (int i = 0; failed == 0 && i < 2; i++) {
		places[i] = replay_place(c->spec->storage, err);
		p.specs[i] = (struct replay_env_spec){ .source = source, .isolation = c->spec->isolation,
			.visible = c->spec->visible, .place = places[i], .second = i == 1 };
		failed = places[i] != NULL ? 0 : -1;
	}
	if (failed == 0)
		failed = run_both(&p, &signal_number, err);
	if (failed == 0 && signal_number == 0)
		failed = determinism_compare_replays(&p, &verdict, &text, err);
	/* Replays that differ are kept, to be looked at. */
	for (int i = 0; i < 2 && verdict == NULL; i++)
		if (places[i] != NULL)
			copytree_remove(places[i], NULL);
	munmap(p.told, size);
	if (failed == 0 && signal_number != 0)
		signals_die(signal_number);

	if (verdict != NULL) {
		buffer_format(&lines, PROGRAM ": %s: %s: %s  the replays are kept in %s and %s\n", who, verdict,
		    buffer_string(&text), places[0], places[1]);
		message_print_lines(buffer_string(&lines));
		buffer_free(&lines);
		determinism_raise_status(c, STATUS_WORK);
	} else if (failed == 0 && c->spec->verbose) {
		char *remark = replay_env_remark(source, c->spec->isolation);

		if (remark)
			terminal_printf("%s: %s\n", who, remark);
		terminal_printf("%s: two replays agree with the recording\n", who);
		free(remark);
	}
	buffer_free(&text);
	free(places[0]);
	free(places[1]);
	return failed;
}

static void
check_children(struct checking *c, const struct source *parent)
{
	/* Ways to end that no replay can repeat. */
	static const struct { const char *status, *why; } ends[] = {
		{ "", "it never ended" }, { "cancelled", "it was cancelled" },
		{ "timeout", "a time limit ended it" },
	};

	for (size_t i = 0; i < parent->child_count; i++) {
		const char *run_id = parent->children[i], *why = NULL;
		struct error err = ERROR_INIT, named;
		struct source child;
		bool opened;

		if (map_get(&c->seen, run_id, strlen(run_id)) != NULL)
			continue;
		map_put(&c->seen, run_id, strlen(run_id), 0);
		opened = source_open_child(&child, parent, run_id, &err) == 0;
		for (size_t e = 0; opened && e < sizeof ends / sizeof *ends; e++)
			if (strcmp(child.status, ends[e].status) == 0)
				why = ends[e].why;
		if (!opened && err.code == ERROR_USAGE)
			why = err.message;
		if (why != NULL && !c->spec->quiet)
			message_print(PROGRAM, "%s: warning: child run %s is not replayed: %s",
			    parent->name, run_id, why);
		if (!opened && why == NULL)
			determinism_raise_status(c, program_fail(PROGRAM, &err));
		if (opened && why == NULL) {
			char *who = memory_format("%s (child run %s)", child.name, child.run_id);
			char text[sizeof err.place + sizeof err.message + 4];

			if (check_one(c, &child, who, &err) == 0) {
				check_children(c, &child);
			} else {
				error_set(&named, err.code, who, "%s", error_text(&err, text, sizeof text));
				determinism_raise_status(c, program_fail(PROGRAM, &named));
			}
			free(who);
		}
		source_close(&child);
	}
}

int
determinism_check(const struct determinism_spec *spec, const char *argument)
{
	struct checking c = { .spec = spec, .seen = MAP_INIT };
	struct error err = ERROR_INIT;
	struct source source;

	if (source_open(&source, spec->storage, argument, &err) != 0 ||
	    check_one(&c, &source, source.name, &err) != 0) {
		determinism_raise_status(&c, program_fail(PROGRAM, &err));
	} else {
		map_put(&c.seen, source.run_id, strlen(source.run_id), 0);
		check_children(&c, &source);
	}
	source_close(&source);
	map_free(&c.seen);
	return c.status;
}
