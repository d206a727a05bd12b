/*
 * Reads the transcripts of this session's runs, and starts the programs that start, resume and end
 * runs.
 *
 * There are few runs and few questions, so after any event all of them are examined. A watch of the
 * transcripts wakes this program; whether a run has died is checked now and then.
 */
#include "mcp/led.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/patience.h"
#include "io/file.h"
#include "proc/environment.h"
#include "proc/libexec.h"
#include "proc/process.h"
#include "proc/wait.h"
#include "transcript/blob.h"
#include "transcript/event_keys.h"
#include "workspace/workflow_file.h"

#define CHECKPOINT "checkpoint"      /* type of the event that contains a note */
#define RECORD_MS 10000              /* time limit for recording a note */

static struct led *
led_of(const struct leading *l, const struct followed *run)
{
	while (run->parent != NULL)
		run = run->parent;
	return leading_find(l, run->run_id);
}

bool
led_has_ended(const struct led *led)
{
	return !led->again && (led->failed.code != ERROR_NONE || led->status != NULL ||
	    (led->run != NULL && led->run->end == RUN_DIED && led->pid == 0));
}

const struct waiting *
leading_attended(const struct leading *l, const struct led *led, struct attended_walk *walk)
{
	if (led_has_ended(led) || led->again)
		return NULL;
	for (; walk->run < l->follow.count; walk->run++, walk->wait = 0) {
		walk->in = l->follow.runs[walk->run];
		if (walk->in->end != RUN_GOING || led_of(l, walk->in) != led)
			continue;
		while (walk->wait < walk->in->model.waits.count) {
			const struct waiting *at = &walk->in->model.waits.list[walk->wait++];

			if (at->attended && !at->over && at->what != WAITING_TIME)
				return at;
		}
	}
	return NULL;
}

bool
led_attends(const struct leading *l, const struct led *led)
{
	struct attended_walk walk = { .run = 0 };

	return leading_attended(l, led, &walk) != NULL;
}

/* ---- questions, and waiting requests ---- */

bool
gate_answered(const struct gate *g)
{
	return g->sha256[0] != '\0' || g->given[0] != '\0';
}

bool
gate_pending(const struct gate *g)
{
	return !g->over && g->fd != -1 && !gate_answered(g);
}

void
gate_disconnect(struct gate *g)
{
	if (g->fd != -1)
		line_input_free(&g->input);
	buffer_free(&g->answer);
	file_close(&g->fd);
}

struct waiter *
leading_wait(struct leading *l, struct rpc_call *call, struct led *led)
{
	struct waiter *w = memory_zero(1, sizeof *w), **last = &l->waiters;

	w->call = *call;
	*call = (struct rpc_call){ .id = NULL };
	w->led = led;
	w->deadline = clock_monotonic() + GATE_WAIT_MS;
	while (*last != NULL)
		last = &(*last)->next;
	return *last = w;
}

void
waiter_drop(struct leading *l, struct waiter *w)
{
	struct waiter **at = &l->waiters;

	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
	rpc_call_free(&w->call);
	free(w);
}

/* ---- reading the transcripts ---- */

static void
add_gate(struct leading *l, struct led *led, struct followed *run, const char *line, size_t len)
{
	char *blobs = storage_blobs(&l->storage, run->run_id);
	struct buffer whole = BUFFER_INIT;
	struct event_view event;
	struct error err;

	/* Load the whole line: a long question is in a blob. */
	if (blob_inline(blobs, line, len, &whole, &err) == 0 &&
	    event_view(whole.data, whole.len, &event) == 0) {
		struct span question = span_member(event.payload, KEY_QUESTION);
		struct span schema = span_member(question, KEY_SCHEMA), prompt = span_member(question, KEY_PROMPT);
		struct gate *g = memory_zero(1, sizeof *g);

		g->led = led;
		g->run = run;
		g->fd = -1;
		g->call = span_text(span_member(event.payload, KEY_CALL));
		g->path = span_text(event.path);
		g->prompt = memory_copy(prompt.at, prompt.len);
		g->iteration = event.iteration;
		if (schema.at != NULL)
			g->schema = memory_copy(schema.at, schema.len);
		event_copy_id(event.event_id, g->start);
		question_token(run->run_id, g->start, g->token);
		l->gates = memory_array(l->gates, l->gate_count + 1, sizeof *l->gates);
		l->gates[l->gate_count++] = g;
	}
	buffer_free(&whole);
	free(blobs);
}

/* A call has ended; if it was a question, that is closed. */
static void
end_gate(struct leading *l, struct followed *run, const struct event_view *event)
{
	struct span result = span_member(event->payload, KEY_RESULT);

	for (size_t i = 0; i < l->gate_count; i++) {
		struct gate *g = l->gates[i];

		if (g->run != run || !span_is(event->parent_event_id, g->start))
			continue;
		g->over = true;
		g->waits = span_is(span_path(event->payload, KEY_APPROVAL, KEY_ASKS, NULL), "completion");
		if (result.at != NULL && g->sha256[0] == '\0')
			digest_sha256(result.at, result.len, g->sha256);
		if (g->given[0] == '\0')
			gate_disconnect(g);
	}
}

/* A further attempt asks open questions again. */
static void
begin_attempt(struct leading *l, struct led *led, struct followed *run)
{
	for (size_t i = 0; i < l->gate_count; i++)
		if (l->gates[i]->run == run)
			l->gates[i]->over = true;
	if (run != led->run)
		return;
	free(led->status);
	free(led->error);
	led->status = led->error = NULL;
	led->stdout_sha256[0] = led->asked[0] = '\0';
	led->failed.code = ERROR_NONE;
	led->again = false; /* if another process, such as the resumer, was faster */
	led->attempts++;
}

static void
led_record_run_end(struct led *led, const struct event_view *event)
{
	struct span printed = span_member(event->payload, KEY_STDOUT);
	long long bytes = 0;

	free(led->status);
	free(led->error);
	led->status = span_text(span_member(event->payload, KEY_STATUS));
	led->error = span_text(span_path(event->payload, KEY_ERROR, KEY_MESSAGE, NULL));
	if (!span_copy(span_member(printed, KEY_SHA256), led->stdout_sha256, sizeof led->stdout_sha256))
		led->stdout_sha256[0] = '\0';
	span_integer(span_member(printed, KEY_BYTES), &bytes);
	led->stdout_bytes = bytes;
}

static int
led_read_line(void *context, struct followed *run, const char *line, size_t len, struct error *err)
{
	struct leading *l = context;
	struct led *led = led_of(l, run);
	const struct event_place place = { run->reader.line_start, (uint32_t)len };
	struct event_view event;
	struct placed placed;

	(void)err;
	if (!model_line(&run->model, line, len, place, &event, &placed) || led == NULL)
		return 0;
	/* The run that leading_start() is just starting: its first line may arrive before led->run
	 * is set. */
	if (led->run == NULL)
		led->run = run;
	if (event.type == EVENT_RUN_STARTED) {
		begin_attempt(l, led, run);
	} else if (event.type == EVENT_STEP_STARTED) {
		if (span_member(event.payload, KEY_QUESTION).at != NULL)
			add_gate(l, led, run, line, len);
	} else if (event.type == EVENT_STEP_COMPLETED && !event_decides(&event)) {
		end_gate(l, run, &event);
		led->done++;
		free(led->last);
		led->last = span_text(event.path);
	} else if (run == led->run && span_is(event.type_name, CHECKPOINT)) {
		char *note = span_text(span_path(event.payload, KEY_DATA, LED_NOTES, NULL));

		if (note != NULL)
			list_take(&led->notes, note);
	} else if (event.type == EVENT_RUN_COMPLETED && run == led->run) {
		led_record_run_end(led, &event);
	}
	return 0;
}

static void
led_ignore_warning(void *context, const struct error *warning)
{
	(void)context;
	(void)warning; /* that a run has died is handled elsewhere */
}

/* ---- beginning and end ---- */

int
leading_begin(struct leading *l, const struct workflows *workflows, struct error *err)
{
	char *transcripts;
	int failed;

	*l = (struct leading){ .workflows = workflows, .client = memory_text("an MCP client") };
	if (storage_locate(&l->storage, err) != 0 || storage_prepare(&l->storage, err) != 0)
		return -1;
	l->callbacks = (struct follow_callbacks){ .context = l, .line = led_read_line,
	    .warn = led_ignore_warning };
	follow_begin(&l->follow, &l->callbacks, true);
	l->follow.level = MODEL_LIVE;
	follow_live(&l->follow);
	/* The directory in which transcripts of new runs appear. */
	transcripts = path_join(l->storage.root, "transcripts");
	failed = watch_add(&l->follow.watch, transcripts, err);
	free(transcripts);
	return failed;
}

void
leading_end(struct leading *l)
{
	for (size_t i = 0; i < l->gate_count; i++) {
		struct gate *g = l->gates[i];
		char *const texts[] = { g->call, g->path, g->prompt, g->schema, g->refused };

		gate_disconnect(g);
		for (size_t t = 0; t < sizeof texts / sizeof *texts; t++)
			free(texts[t]);
		free(g);
	}
	for (size_t i = 0; i < l->count; i++) {
		struct led *led = l->list[i];
		char *const texts[] = { led->last, led->status, led->error, led->fork_at };

		for (size_t t = 0; t < sizeof texts / sizeof *texts; t++)
			free(texts[t]);
		list_free(led->notes);
		file_close(&led->ended_fd);
		drain_close(&led->drain);
		free(led);
	}
	while (l->waiters != NULL)
		waiter_drop(l, l->waiters);
	follow_end(&l->follow);
	storage_close(&l->storage);
	free(l->gates);
	free(l->list);
	free(l->client);
}

struct led *
leading_find(const struct leading *l, const char *run_id)
{
	for (size_t i = 0; i < l->count; i++)
		if (strcmp(l->list[i]->run_id, run_id) == 0)
			return l->list[i];
	return NULL;
}

static struct led *
add_led(struct leading *l, const char *run_id, const struct workflow_entry *workflow)
{
	struct led *led = memory_zero(1, sizeof *led);

	led->ended_fd = -1;
	led->drain = (struct drain)DRAIN_NONE;
	led->workflow = workflow;
	memcpy(led->run_id, run_id, ID_SIZE);
	l->list = memory_array(l->list, l->count + 1, sizeof *l->list);
	return l->list[l->count++] = led;
}

/* ---- starting ---- */

static int
led_start(struct led *led, char *const *argv, char *const *environment, struct span input,
    struct error *err)
{
	struct process_spec spec = { .argv = argv, .environment = environment, .group = true,
		.in = input.at != NULL ? PROCESS_INPUT : PROCESS_NULL, .input = input.at,
		.input_len = input.len };
	struct process process;
	int failed;

	if (workflow_check(led->workflow, err) != 0)
		return -1;
	file_close(&led->ended_fd);
	drain_close(&led->drain);
	if (drain_start(&led->drain, err) != 0)
		return -1;
	spec.out = led->drain.out;
	spec.err = led->drain.err;
	failed = process_start(&process, &spec, NULL, err);
	drain_given(&led->drain);
	if (failed != 0)
		return -1;
	led->pid = process.pid;
	led->ended_fd = wait_descriptor(process.pid);
	led->started = led->attempts;
	return 0;
}

struct led *
leading_start(struct leading *l, const char *run_id, const struct workflow_entry *workflow,
    char *const *argv, char *const *environment, struct span input, struct error *err)
{
	struct led *led = add_led(l, run_id, workflow);

	if (led_start(led, argv, environment, input, err) == 0)
		return led;
	l->count--;
	drain_close(&led->drain);
	free(led);
	return NULL;
}

static int
led_start_resumed_run(struct leading *l, struct led *led, struct error *err)
{
	char *program = libexec_sibling("awf-run"), **argv = NULL;
	struct environment environment;
	int failed;

	workflow_file_environment(&environment);
	environment_set(&environment, "AWF_STORAGE", l->storage.root);
	list_add(&argv, program);
	list_add(&argv, LED_WAIT);
	if (led->fork_at != NULL) {
		const char *const words[] = { "--id", led->run_id, "--fork", led->origin, "--at", led->fork_at };

		for (size_t i = 0; i < sizeof words / sizeof *words; i++)
			list_add(&argv, words[i]);
		free(led->fork_at);
		led->fork_at = NULL;
	} else {
		list_add(&argv, "--resume");
		list_add(&argv, led->run_id);
	}
	failed = led_start(led, argv, environment.list, SPAN_NONE, err);
	environment_free(&environment);
	list_free(argv);
	free(program);
	return failed;
}

/* Resumes a run, or starts its fork, after the process that owns the run has ended. */
static int
resume_again(struct leading *l, struct led *led, struct error *err)
{
	const char *kept = led->fork_at != NULL ? led->origin : led->run_id;

	if (!led->again || led->pid != 0 || storage_run_alive(&l->storage, kept))
		return 0;
	led->again = false;
	free(led->status);
	free(led->error);
	led->status = led->error = NULL;
	return led_start_resumed_run(l, led, err);
}

int
leading_go_on(struct leading *l, struct led *led, struct error *err)
{
	const struct waitings *waits = led->run != NULL ? &led->run->model.waits : NULL;

	if (follow_read(&l->follow, err) != 0)
		return -1;
	if (waits == NULL || led->status == NULL || strcmp(led->status, "waiting") != 0 || led->again)
		return 0;
	for (size_t i = 0; i < waits->count; i++)
		if (!waits->list[i].over)
			return 0;
	led->again = true;
	return resume_again(l, led, err);
}

/* Whether a name is that of the workflow, with or without .awf; "" means any workflow. */
static bool
is_named(const char *name, const char *asked)
{
	size_t len = strlen(asked);

	return len == 0 || (name != NULL && strncmp(name, asked, len) == 0 &&
	    (name[len] == '\0' || strcmp(name + len, ".awf") == 0));
}

/* Finds the latest run of this name that a workflow of the directory has made; returns the
 * workflow. */
static const struct workflow_entry *
find_latest(const struct leading *l, const char *name, char run_id[ID_SIZE], struct error *err)
{
	const struct workflow_entry *found = NULL;
	struct run_entry *runs = NULL;
	size_t count = 0;
	struct error none;

	if (storage_list(&l->storage, &runs, &count, err) != 0)
		return NULL;
	for (size_t i = 0; i < count && found == NULL; i++) {
		char *called;

		found = workflows_of_run(l->workflows, &l->storage, runs[i].run_id, &called, &none);
		if (!is_named(called, name))
			found = NULL;
		if (found != NULL)
			memcpy(run_id, runs[i].run_id, ID_SIZE);
		free(called);
	}
	free(runs);
	if (found == NULL)
		error_set(err, ERROR_BLOCKED, *name != '\0' ? name : "@", "has no run that a workflow of %s "
		    "made", l->workflows->directory);
	return found;
}

const struct workflow_entry *
leading_resolve(const struct leading *l, const char *argument, char run_id[ID_SIZE], struct error *err)
{
	const struct workflow_entry *found = NULL;
	struct run_ref ref;

	if (*argument == '@')
		return find_latest(l, argument + 1, run_id, err);
	if (storage_resolve(&l->storage, argument, &ref, err) != 0)
		return NULL;
	if (!ref.in_storage)
		error_set(err, ERROR_USAGE, argument, "is not a run of the storage %s", l->storage.root);
	else
		found = workflows_of_run(l->workflows, &l->storage, ref.run_id, NULL, err);
	memcpy(run_id, ref.run_id, ID_SIZE);
	run_ref_free(&ref);
	return found;
}

struct led *
leading_take_over(struct leading *l, const char *run, struct error *err)
{
	char run_id[ID_SIZE];
	const struct workflow_entry *workflow = leading_resolve(l, run, run_id, err);
	struct led *led;

	if (workflow == NULL || workflow_check(workflow, err) != 0)
		return NULL;
	led = leading_find(l, run_id);
	if (led == NULL) {
		char *path = storage_transcript(&l->storage, run_id);

		led = add_led(l, run_id, workflow);
		led->run = follow_add(&l->follow, path, run_id, err);
		free(path);
		if (led->run == NULL) {
			l->count--;
			free(led);
			return NULL;
		}
	}
	if (follow_read(&l->follow, err) != 0)
		return NULL;
	/* A run that has ended is resumed, unless it was successful. */
	led->again = led->status != NULL ? strcmp(led->status, "success") != 0 :
	    led->pid == 0 && !storage_run_alive(&l->storage, led->run_id);
	return resume_again(l, led, err) == 0 ? led : NULL;
}

struct led *
leading_rewind(struct leading *l, const struct led *led, const char *call, struct error *err)
{
	const struct gate *at = NULL;
	struct led *fork;
	char id[ID_SIZE];

	for (size_t i = 0; i < l->gate_count && at == NULL; i++) {
		const struct gate *g = l->gates[i];

		if (led->run != NULL && g->run == led->run &&
		    (strcmp(g->call, call) == 0 || strcmp(g->path, call) == 0))
			at = g;
	}
	if (at == NULL)
		error_set(err, ERROR_USAGE, call, "is no question that run %s has asked itself: give the "
		    "`call` of one (inspect_workflow tells them)", led->run_id);
	else if (!led_has_ended(led))
		error_set(err, ERROR_BLOCKED, led->run_id, "goes on: it can be rewound when it has ended "
		    "(cancel_workflow)");
	if (at == NULL || !led_has_ended(led))
		return NULL;
	fork = add_led(l, id_new(id), led->workflow);
	memcpy(fork->origin, led->run_id, sizeof fork->origin);
	fork->fork_at = memory_text(call);
	fork->again = true;
	return fork; /* resume_again() starts it when the run has no process any more */
}

/* Starts one of AWF's programs for a run. */
static int
start_other(const struct leading *l, const char *name, const char *const *arguments,
    struct span input, struct process *process, struct error *err)
{
	char *program = libexec_sibling(name), **argv = NULL;
	struct environment environment;
	struct process_spec spec = { .group = true, .in = input.at != NULL ? PROCESS_INPUT : PROCESS_NULL,
		.input = input.at, .input_len = input.len, .out = PROCESS_NULL, .err = PROCESS_NULL };
	int failed;

	workflow_file_environment(&environment);
	environment_set(&environment, "AWF_STORAGE", l->storage.root);
	list_add(&argv, program);
	for (; *arguments != NULL; arguments++)
		list_add(&argv, *arguments);
	spec.argv = argv;
	spec.environment = environment.list;
	failed = process_start(process, &spec, NULL, err);
	environment_free(&environment);
	list_free(argv);
	free(program);
	return failed;
}

int
leading_cancel(struct leading *l, struct led *led, struct error *err)
{
	const char *const arguments[] = { "cancel", led->run_id, NULL };
	struct process process;

	if (led->cancelling != 0)
		return 0; /* awf-ctl is ending it already */
	if (start_other(l, "awf-ctl", arguments, SPAN_NONE, &process, err) != 0)
		return -1;
	led->cancelling = process.pid;
	return 0;
}

int
leading_note(struct leading *l, const struct led *led, const char *note, struct error *err)
{
	const char *const arguments[] = { "--quiet", led->run_id, NULL };
	struct buffer line = BUFFER_INIT;
	struct process process;
	struct writer w;
	int status = 0, failed;

	writer_begin(&w, &line);
	writer_object(&w);
	writer_member_string(&w, "type", CHECKPOINT);
	writer_member_object(&w, "payload");
	writer_member_string(&w, LED_NOTES, note);
	writer_object_end(&w);
	writer_object_end(&w);
	buffer_byte(&line, '\n');
	failed = start_other(l, "awf-record", arguments, span_of(line.data, line.len), &process, err);
	if (failed == 0 && (!wait_child(process.pid, RECORD_MS, &status) || process_exit_code(status) != 0))
		failed = error_set(err, ERROR_BLOCKED, led->run_id, "cannot record notes: it has "
		    "ended, or is masked");
	buffer_free(&line);
	return failed;
}

/* awf-run has ended. If it has not begun a run, its message says why; unless another process has
 * resumed the run before. */
static void
led_reap_run(const struct leading *l, struct led *led)
{
	char text[sizeof led->failed.message], status_text[64];
	int status;

	if (led->cancelling != 0 && waitpid(led->cancelling, &status, WNOHANG) == led->cancelling)
		led->cancelling = 0;
	if (led->pid == 0 || waitpid(led->pid, &status, WNOHANG) != led->pid)
		return;
	led->pid = 0;
	file_close(&led->ended_fd);
	if (led->attempts > led->started || led->again || storage_run_alive(&l->storage, led->run_id))
		return;
	drain_last_line(&led->drain, text, sizeof text);
	error_set(&led->failed, ERROR_SYSTEM, NULL, "%s", *text != '\0' ? text :
	    process_status_text(status, status_text, sizeof status_text));
}

/* Finds the transcripts of runs that have begun. */
static void
led_follow_new_runs(struct leading *l)
{
	for (size_t i = 0; i < l->count; i++) {
		struct led *led = l->list[i];
		struct error none; /* if it fails, it is tried again later */
		char *path;

		if (led->run != NULL)
			continue;
		path = storage_transcript(&l->storage, led->run_id);
		if (access(path, F_OK) == 0)
			led->run = follow_add(&l->follow, path, led->run_id, &none);
		free(path);
	}
}

/* ---- the loop ---- */

size_t
leading_polls(const struct leading *l, struct pollfd **fds, size_t from, int64_t *deadline)
{
	size_t count = from;
	int64_t look = clock_monotonic() + FOLLOW_LOOK_MS;
	bool goes_on = false;

	*fds = memory_array(*fds, from + 1 + l->gate_count + l->count, sizeof **fds);
	(*fds)[count++] = (struct pollfd){ .fd = l->follow.watch.fd, .events = POLLIN };
	for (size_t i = 0; i < l->gate_count; i++)
		(*fds)[count++] = (struct pollfd){ .fd = l->gates[i]->fd,
			.events = (short)(POLLIN | (l->gates[i]->answer.len > 0 ? POLLOUT : 0)) };
	for (size_t i = 0; i < l->count; i++) {
		(*fds)[count++] = (struct pollfd){ .fd = l->list[i]->ended_fd, .events = POLLIN };
		goes_on |= !led_has_ended(l->list[i]) || l->list[i]->cancelling != 0;
	}
	*deadline = goes_on ? look : 0;
	for (const struct waiter *w = l->waiters; w != NULL; w = w->next)
		if (*deadline == 0 || w->deadline < *deadline)
			*deadline = w->deadline;
	return count;
}

int
leading_step(struct leading *l, struct error *err)
{
	watch_drain(&l->follow.watch);
	for (size_t i = 0; i < l->count; i++) {
		struct led *led = l->list[i];

		led_reap_run(l, led);
		if (resume_again(l, led, &led->failed) != 0 && led->failed.code == ERROR_NONE)
			return -1;
	}
	led_follow_new_runs(l);
	if (follow_read(&l->follow, err) != 0)
		return -1;
	if (clock_monotonic() >= l->look) {
		l->look = clock_monotonic() + FOLLOW_LOOK_MS;
		if (follow_check(&l->follow, err) != 0)
			return -1;
	}
	return 0;
}
