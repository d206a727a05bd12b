/*
 * The text for the command's stdin is made right after the run's end was recorded, so that it also
 * tells an error in recording it. The command is started later, with the whole text stored for it,
 * so that this process need not write to a pipe while it waits.
 */
#include "run/notice.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/patience.h"
#include "base/text.h"
#include "io/config.h"
#include "io/file.h"
#include "io/polling.h"
#include "json/writer.h"
#include "model/cost.h"
#include "proc/descendants.h"
#include "proc/guardian.h"
#include "start/supervise.h"
#include "transcript/event_keys.h"

bool
notice_wanted(const struct settings *s)
{
	return s->on_complete != NULL || s->on_failure != NULL;
}

static void
write_or_null(struct writer *w, const char *key, const char *text)
{
	writer_key(w, key);
	writer_string(w, text);
}

void
notice_write(struct buffer *out, const struct run *run, const struct conclusion *e,
    const struct outcome *outcome, int64_t cost)
{
	char started[CLOCK_TEXT_SIZE];
	struct writer w;

	writer_begin(&w, out);
	writer_object(&w);
	writer_member_string(&w, KEY_RUN_ID, run->id);
	writer_member_string(&w, KEY_NAME, run->name);
	writer_member_integer(&w, KEY_ATTEMPT, run->attempt);
	writer_member_string(&w, KEY_STATUS, e->status);
	writer_member_integer(&w, KEY_EXIT_CODE, e->exit_code);
	run_write_error(&w, &e->error);
	write_or_null(&w, "step", *e->step != '\0' ? e->step : NULL);
	writer_member_string(&w, "started", clock_text(run->started_wall, started));
	writer_member_integer(&w, KEY_DURATION_MS, clock_monotonic() - run->started_monotonic);
	writer_key(&w, KEY_USAGE);
	writer_raw(&w, outcome->usage.data, outcome->usage.len);
	cost_write(&w, cost);
	write_or_null(&w, "transcript", run->keep_transcript ? run->transcript.path : NULL);
	writer_object_end(&w);
	buffer_byte(out, '\n');
}

/* Waits until the command ends, a signal arrives, or its time is over (*err). Returns the signal
 * with which to end it: the one that arrived, else SIGTERM. */
static int
wait_for(struct guardian *g, struct error *err)
{
	int64_t deadline = clock_monotonic() + NOTIFY_LIMIT_MS, left;
	char limit[32];
	int number;

	while (g->state == GUARDIAN_RUNNING && (left = deadline - clock_monotonic()) > 0) {
		number = signals_wait(g->report, (int)left);
		if (poll_now(g->report, POLLIN) != 0) {
			guardian_read(g);
		} else if (number != 0) {
			error_set(err, ERROR_CANCELLED, NULL, "cancelled by signal %d (%s)", number,
			    strsignal(number));
			return number;
		}
	}
	if (g->state == GUARDIAN_RUNNING)
		error_set(err, ERROR_TIMEOUT, NULL, "not done after %s",
		    duration_text(NOTIFY_LIMIT_MS, limit, sizeof limit));
	else if (g->state == GUARDIAN_LOST)
		error_set(err, ERROR_SYSTEM, NULL, "the process of AWF that watches over the command was killed");
	return SIGTERM;
}

/* Runs a command with the text (at most 64 KiB) as its stdin; out is its stdout (a descriptor or
 * PROCESS_…), stderr is this process's. environment ends with NULL. A guardian ends processes that
 * the command leaves behind. The caller has blocked the signals that cancel a run (supervise.h); if
 * one arrives, the command is ended. Returns -1 with *err, without a place, if the command could
 * not be run, failed, or took too long. */
static int
notice_run_command(const char *command, struct span text, int out, char *const *environment,
    struct error *err)
{
	char *argv[4];
	const struct process_spec spec = { .argv = argv, .environment = environment,
		.in = PROCESS_INPUT, .input = text.at, .input_len = text.len,
		.out = out, .err = PROCESS_INHERIT };
	struct guardian g;
	char status[64];
	int number, unused;

	*err = (struct error)ERROR_INIT;
	process_shell(argv, command);
	signals_drop(); /* discard pending signals: they were meant for the run */
	if (guardian_start(&g, &spec, NULL, &unused, err) != 0)
		return -1;
	number = wait_for(&g, err);
	if (g.state != GUARDIAN_ALONE)
		descendants_end(getpid(), number, NULL);
	guardian_close(&g);
	if (err->code != ERROR_NONE)
		return -1;
	if (process_exit_code(g.wait_status) == 0)
		return 0;
	return error_set(err, ERROR_EXIT_STATUS, NULL, "%s",
	    process_status_text(g.wait_status, status, sizeof status));
}

int
notice_send(const struct settings *s, const struct conclusion *e,
    const struct buffer *summary, int out, char *const *environment, struct error *err)
{
	const bool success = strcmp(e->status, "success") == 0;
	const char *command = success ? s->on_complete : s->on_failure;
	struct error why;

	/* A run that waits for a person has not ended: it goes on after the decision. */
	if (command == NULL || strcmp(e->status, "waiting") == 0 ||
	    notice_run_command(command, span_of(summary->data, summary->len), out, environment,
	    &why) == 0)
		return 0;
	return error_set(err, why.code, success ? "--on-complete" : "--on-failure", "%s", why.message);
}

int
notify_read(struct notify *n, struct error *err)
{
	static const char *const words[] = { "failed", "success", "waiting", NULL };
	bool *const on[] = { &n->failed, &n->success, &n->waiting };
	char *list = NULL, *rest, *word, *path;
	int failed, at;

	*n = (struct notify){ .command = NULL };
	failed = config_read(CONFIG_NOTIFY, &n->command, err);
	if (failed == 0)
		failed = config_read(CONFIG_NOTIFY_ON, &list, err);
	n->failed = n->waiting = list == NULL;
	for (rest = list; failed == 0 && (word = strsep(&rest, ", \t")) != NULL;) {
		if (*word == '\0')
			continue;
		at = text_index(word, words);
		if (at != -1) {
			*on[at] = true;
			continue;
		}
		path = path_config(CONFIG_FILE);
		failed = error_set(err, ERROR_DEFINITION, path, "notify_on: '%s' is none of failed, success, "
		    "waiting", word);
		free(path);
	}
	free(list);
	if (failed != 0)
		notify_free(n);
	return failed;
}

bool
notify_wants(const struct notify *n, const char *status)
{
	if (n->command == NULL)
		return false;
	if (strcmp(status, "success") == 0)
		return n->success;
	return strcmp(status, "waiting") == 0 ? n->waiting : n->failed;
}

int
notify_send(const struct notify *n, const struct buffer *summary, char *const *environment,
    struct error *err)
{
	struct error why;

	if (notice_run_command(n->command, span_of(summary->data, summary->len), STDERR_FILENO,
	    environment, &why) == 0)
		return 0;
	return error_set(err, why.code, "notify", "%s", why.message);
}

void
notify_free(struct notify *n)
{
	free(n->command);
	n->command = NULL;
}
