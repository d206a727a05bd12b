/*
 * Whatever has come, each step looks at all that is led: there are few runs, and fewer questions.
 * A transcript wakes this up by its watch; that a run has died is asked for now and then.
 */
#define _GNU_SOURCE /* memfd_create() */
#include "gates/led.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/patience.h"
#include "base/text.h"
#include "proc/environment.h"
#include "proc/libexec.h"
#include "proc/process.h"
#include "proc/wait.h"
#include "run/deciding.h"
#include "run/workflow_file.h"
#include "transcript/blob.h"
#include "transcript/event_keys.h"

#define OUTPUT_SHOWN ((size_t)20000) /* bytes that an answer has itself */
#define CHECKPOINT "checkpoint"              /* the type of an event that has notes */
#define NOTES "notes"
#define RECORD_MS 10000                      /* that recording one may take */
#define ERRORS_SHOWN ((size_t)4096)  /* of what awf-run says */
#define DATA_SHOWN ((size_t)8192)    /* of what is to be approved */
#define ELICIT "elicitation/create"
/* Forms are flat. */
#define APPROVAL_SCHEMA "{\"type\":\"object\",\"properties\":{\"approve\":{\"type\":\"boolean\"," \
	"\"title\":\"Approve\",\"description\":\"yes: the run goes on with it; no: the call fails\"}," \
	"\"reason\":{\"type\":\"string\",\"title\":\"Reason\",\"description\":\"for the record\"}}," \
	"\"required\":[\"approve\"]}"

static struct led *
led_of(const struct leading *l, const struct followed *run)
{
	while (run->parent != NULL)
		run = run->parent;
	return leading_find(l, run->run_id);
}

static bool
has_ended(const struct led *led)
{
	return !led->again && (led->failed.code != ERROR_NONE || led->status != NULL ||
	    (led->run != NULL && led->run->end == RUN_DIED && led->pid == 0));
}

/* ---- what the transcripts tell ---- */

static void
add_gate(struct leading *l, struct led *led, struct followed *run, const char *line, size_t len)
{
	char *blobs = storage_blobs(&l->storage, run->run_id);
	struct buffer whole = BUFFER_INIT;
	struct event_view event;
	struct error err;

	/* A long question stands in a blob. */
	if (blob_inline(blobs, line, len, &whole, &err) == 0 &&
	    event_view(whole.data, whole.len, &event) == 0) {
		struct span question = span_member(event.payload, KEY_QUESTION);
		struct span schema = span_member(question, KEY_SCHEMA);
		struct gate *g = memory_zero(1, sizeof *g);

		g->led = led;
		g->run = run;
		g->fd = -1;
		g->call = span_text(span_member(event.payload, KEY_CALL));
		g->path = span_text(event.path);
		g->prompt = span_text(span_member(question, KEY_PROMPT));
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

static void
drop_connection(struct gate *g)
{
	if (g->fd != -1)
		line_input_free(&g->input);
	buffer_free(&g->answer);
	file_close(&g->fd);
}

/* A call has its end: the question, if it was one, is over. */
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
			drop_connection(g);
	}
}

/* Another attempt asks what is open anew. */
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
	led->attempts++;
}

static void
end_run(struct led *led, const struct event_view *event)
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
take_line(void *context, struct followed *run, const char *line, size_t len, struct error *err)
{
	struct leading *l = context;
	struct led *led = led_of(l, run);
	const struct event_place place = { run->reader.line_start, (uint32_t)len };
	struct event_view event;
	struct placed placed;

	(void)err;
	if (!model_line(&run->model, line, len, place, &event, &placed) || led == NULL)
		return 0;
	/* The first line of a run comes before leading_start() knows of it. */
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
		char *note = span_text(span_path(event.payload, KEY_DATA, NOTES, NULL));

		if (note != NULL)
			list_take(&led->notes, note);
	} else if (event.type == EVENT_RUN_COMPLETED && run == led->run) {
		end_run(led, &event);
	}
	return 0;
}

static void
warn(void *context, const struct error *warning)
{
	(void)context;
	(void)warning; /* that a run has died is seen by its end */
}

/* ---- beginning and end ---- */

static const struct follow_callbacks callbacks_of_lines = { .line = take_line, .warn = warn };

int
leading_begin(struct leading *l, struct error *err)
{
	static struct follow_callbacks callbacks;
	char *transcripts;
	int failed;

	*l = (struct leading){ .client = memory_text("an MCP client") };
	if (storage_locate(&l->storage, err) != 0 || storage_prepare(&l->storage, err) != 0)
		return -1;
	callbacks = callbacks_of_lines;
	callbacks.context = l;
	follow_begin(&l->follow, &callbacks, true);
	l->follow.level = MODEL_LIVE;
	follow_live(&l->follow);
	/* Where runs come to be. */
	transcripts = path_join(l->storage.root, "transcripts");
	failed = watch_add(&l->follow.watch, transcripts, err);
	free(transcripts);
	return failed;
}

static void
free_waiter(struct waiter *w)
{
	rpc_call_free(&w->call);
	free(w);
}

void
leading_end(struct leading *l)
{
	for (size_t i = 0; i < l->gate_count; i++) {
		struct gate *g = l->gates[i];
		char *const texts[] = { g->call, g->path, g->prompt, g->schema, g->refused };

		drop_connection(g);
		for (size_t t = 0; t < sizeof texts / sizeof *texts; t++)
			free(texts[t]);
		free(g);
	}
	for (size_t i = 0; i < l->count; i++) {
		struct led *led = l->list[i];
		char *const texts[] = { led->name, led->last, led->status, led->error, led->fork_at };

		for (size_t t = 0; t < sizeof texts / sizeof *texts; t++)
			free(texts[t]);
		list_free(led->notes);
		file_close(&led->ended_fd);
		file_close(&led->errors);
		free(led);
	}
	while (l->waiters != NULL) {
		struct waiter *w = l->waiters;

		l->waiters = w->next;
		free_waiter(w);
	}
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
add_led(struct leading *l, const char *run_id, const char *name)
{
	struct led *led = memory_zero(1, sizeof *led);

	led->ended_fd = led->errors = -1;
	led->name = memory_text(name);
	memcpy(led->run_id, run_id, ID_SIZE);
	l->list = memory_array(l->list, l->count + 1, sizeof *l->list);
	return l->list[l->count++] = led;
}

/* ---- starting ---- */

static int
start(struct led *led, char *const *argv, char *const *environment, struct span input,
    struct error *err)
{
	/* Files: nobody need read them, and awf-run keeps what the workflow prints into one. */
	int output = memfd_create("awf-output", MFD_CLOEXEC);
	struct process_spec spec = { .argv = argv, .environment = environment, .group = true,
		.in = input.at != NULL ? PROCESS_INPUT : PROCESS_NULL, .input = input.at,
		.input_len = input.len, .out = output };
	struct process process;
	int failed;

	file_close(&led->ended_fd);
	file_close(&led->errors);
	spec.err = led->errors = memfd_create("awf-errors", MFD_CLOEXEC);
	if (output == -1 || led->errors == -1)
		failed = error_errno(err, ERROR_SYSTEM, NULL, "unable to make a file in memory");
	else
		failed = process_start(&process, &spec, NULL, err);
	file_close(&output);
	if (failed != 0)
		return -1;
	led->pid = process.pid;
	led->ended_fd = wait_descriptor(process.pid);
	led->started = led->attempts;
	return 0;
}

struct led *
leading_start(struct leading *l, const char *run_id, const char *name, char *const *argv,
    char *const *environment, struct span input, struct error *err)
{
	struct led *led = add_led(l, run_id, name);

	if (start(led, argv, environment, input, err) == 0)
		return led;
	l->count--;
	file_close(&led->errors);
	free(led->name);
	free(led);
	return NULL;
}

static int
resume(struct leading *l, struct led *led, struct error *err)
{
	char *program = libexec_sibling("awf-run"), **argv = NULL;
	struct environment environment;
	int failed;

	workflow_file_environment(&environment);
	environment_set(&environment, "AWF_STORAGE", l->storage.root);
	list_add(&argv, program);
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
	failed = start(led, argv, environment.list, SPAN_NONE, err);
	environment_free(&environment);
	list_free(argv);
	free(program);
	return failed;
}

/* Resumes a run that is to be, or starts the fork, once who keeps it has gone. */
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
	return resume(l, led, err);
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

/* A run of the storage that nobody here leads yet. */
static struct led *
add_recorded(struct leading *l, const struct run_ref *ref, struct error *err)
{
	struct led *led = add_led(l, ref->run_id, "");

	led->run = follow_add(&l->follow, ref->path, ref->run_id, err);
	if (led->run != NULL)
		return led;
	l->count--;
	free(led->name);
	free(led);
	return NULL;
}

struct led *
leading_take_over(struct leading *l, const char *run, struct error *err)
{
	struct run_ref ref;
	struct led *led = NULL;

	if (storage_resolve(&l->storage, run, &ref, err) != 0)
		return NULL;
	if (!ref.in_storage)
		error_set(err, ERROR_USAGE, run, "is not a run of the storage %s", l->storage.root);
	else if ((led = leading_find(l, ref.run_id)) == NULL)
		led = add_recorded(l, &ref, err);
	run_ref_free(&ref);
	if (led == NULL || follow_read(&l->follow, err) != 0)
		return NULL;
	if (led->run != NULL && led->run->model.name != NULL) {
		free(led->name);
		led->name = memory_text(led->run->model.name);
	}
	/* One that has come to an end, but for success, goes on. */
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
	else if (!has_ended(led))
		error_set(err, ERROR_BLOCKED, led->run_id, "goes on: it can be rewound when it has ended "
		    "(cancel_workflow)");
	if (at == NULL || !has_ended(led))
		return NULL;
	fork = add_led(l, id_new(id), led->name);
	memcpy(fork->origin, led->run_id, sizeof fork->origin);
	fork->fork_at = memory_text(call);
	fork->again = true;
	return fork; /* resume_again() starts it */
}

/* Starts a program of AWF's that does something about a run. */
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
leading_cancel(struct leading *l, const struct led *led, struct error *err)
{
	const char *const arguments[] = { "cancel", led->run_id, NULL };
	struct process process;

	return start_other(l, "awf-ctl", arguments, SPAN_NONE, &process, err);
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
	writer_member_string(&w, NOTES, note);
	writer_object_end(&w);
	writer_object_end(&w);
	buffer_byte(&line, '\n');
	failed = start_other(l, "awf-record", arguments, span_of(line.data, line.len), &process, err);
	if (failed == 0 && (!wait_child(process.pid, RECORD_MS, &status) || process_exit_code(status) != 0))
		failed = error_set(err, ERROR_BLOCKED, led->run_id, "takes no notes: it has ended, or is masked");
	buffer_free(&line);
	return failed;
}

/* The last line that awf-run has said. */
static void
read_errors(struct led *led, char *text, size_t size)
{
	char said[ERRORS_SHOWN + 1];
	off_t end = lseek(led->errors, 0, SEEK_END);
	off_t from = end > (off_t)ERRORS_SHOWN ? end - (off_t)ERRORS_SHOWN : 0;
	ssize_t got = pread(led->errors, said, ERRORS_SHOWN, from);
	char *line;

	*text = '\0';
	if (got <= 0)
		return;
	said[got] = '\0';
	while (got > 0 && said[got - 1] == '\n')
		said[--got] = '\0';
	line = strrchr(said, '\n');
	snprintf(text, size, "%.*s", (int)size - 1, line != NULL ? line + 1 : said);
}

/* awf-run has ended. One that has begun nothing says why, unless another has been first to resume
 * the run. */
static void
reap(const struct leading *l, struct led *led)
{
	char text[sizeof led->failed.message], status_text[64];
	int status;

	if (led->pid == 0 || waitpid(led->pid, &status, WNOHANG) != led->pid)
		return;
	led->pid = 0;
	file_close(&led->ended_fd);
	if (led->attempts > led->started || led->again || storage_run_alive(&l->storage, led->run_id))
		return;
	read_errors(led, text, sizeof text);
	error_set(&led->failed, ERROR_SYSTEM, NULL, "%s", *text != '\0' ? text :
	    process_status_text(status, status_text, sizeof status_text));
}

/* Runs whose transcript has come to be. */
static int
look_for_runs(struct leading *l, struct error *err)
{
	for (size_t i = 0; i < l->count; i++) {
		struct led *led = l->list[i];
		char *path;

		if (led->run != NULL)
			continue;
		path = storage_transcript(&l->storage, led->run_id);
		if (access(path, F_OK) == 0)
			led->run = follow_add(&l->follow, path, led->run_id, err);
		free(path);
	}
	return 0;
}

/* ---- questions ---- */

bool
gate_answered(const struct gate *g)
{
	return g->sha256[0] != '\0' || g->given[0] != '\0';
}

static bool
is_pending(const struct gate *g)
{
	return !g->over && g->fd != -1 && !gate_answered(g);
}

/* Holds open those that nobody is connected to. */
static void
connect_gates(struct leading *l)
{
	for (size_t i = 0; i < l->gate_count; i++) {
		struct gate *g = l->gates[i];
		struct error none;
		char *directory;

		if (g->over || g->fd != -1 || gate_answered(g))
			continue;
		directory = storage_run_directory(&l->storage, g->run->run_id);
		g->fd = question_connect(directory, g->token, &none);
		if (g->fd != -1 && fcntl(g->fd, F_SETFL, O_NONBLOCK) == -1)
			file_close(&g->fd);
		if (g->fd != -1)
			line_input_begin(&g->input, g->fd, "a question");
		free(directory);
	}
}

/* Whether a call takes an answer is seen by what comes from it. */
static void
send_answer(struct gate *g)
{
	ssize_t sent = g->answer.len > 0 ? write(g->fd, g->answer.data, g->answer.len) : 0;

	if (sent > 0)
		buffer_drop(&g->answer, (size_t)sent);
}

struct gate *
leading_find_gate(const struct leading *l, const char *token, struct error *err)
{
	const struct led *led = NULL;

	for (size_t i = 0; i < l->gate_count; i++)
		if (strcmp(l->gates[i]->token, token) == 0)
			return l->gates[i];
	for (size_t i = 0; i < l->count && led == NULL; i++)
		if (strncmp(l->list[i]->run_id, token, 8) == 0 && token[8] == '-')
			led = l->list[i];
	if (led != NULL)
		error_set(err, ERROR_BLOCKED, token, "no question of run %.8s has this token: copy the "
		    "continueToken of a pending question exactly (wait_workflow tells them)", led->run_id);
	else
		error_set(err, ERROR_BLOCKED, token, "is a token of no run that this session leads: "
		    "resume_session with the run takes one over");
	return NULL;
}

/* ---- requests that wait ---- */

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

int
leading_answer(struct leading *l, struct gate *g, struct span answer, struct rpc_call *call,
    struct error *err)
{
	const char *taken = g->given[0] != '\0' ? g->given : g->sha256;
	struct open_question_answer given = { .by = l->client };
	struct buffer json = BUFFER_INIT;
	char sha256[DIGEST_SIZE];
	int result = 0;

	scan_minify(answer, &json);
	digest_sha256(json.data, json.len, sha256);
	if (gate_answered(g) && strcmp(taken, sha256) != 0)
		result = error_set(err, ERROR_BLOCKED, g->token, "this question has an answer already, which is "
		    "another one: nothing was changed");
	else if (!gate_answered(g) && (g->over || g->fd == -1))
		result = error_set(err, ERROR_BLOCKED, g->token, "nobody waits for the answer to this question "
		    "any more: resume_session with run %s tells the present ones", g->led->run_id);
	if (result == 0) {
		struct waiter *w = leading_wait(l, call, g->led);

		/* The answer to an answer can be lost: the same one again finds out how the run stands. */
		w->answered = g;
		if (!gate_answered(g)) {
			given.data = span_of(json.data, json.len);
			question_write_answer(&g->answer, &given);
			send_answer(g);
			memcpy(g->given, sha256, sizeof g->given);
		}
	}
	buffer_free(&json);
	return result;
}

/* What was refused; g: the question that is open still; NULL. */
static void
write_error(const struct error *err, const struct gate *g, struct buffer *json)
{
	struct writer out;

	writer_begin(&out, json);
	writer_object(&out);
	writer_member_object(&out, "error");
	writer_members_error(&out, err);
	writer_object_end(&out);
	if (g != NULL) {
		writer_member_string(&out, "continueToken", g->token);
		writer_member_string(&out, "prompt", g->prompt);
		if (g->schema != NULL)
			writer_member_span(&out, "schema", span_of(g->schema, strlen(g->schema)));
	}
	writer_object_end(&out);
}

/* Takes it out. An answer that it has given stays on its way. */
static void
drop_waiter(struct leading *l, struct waiter *w)
{
	struct waiter **at = &l->waiters;

	while (*at != w)
		at = &(*at)->next;
	*at = w->next;
	free_waiter(w);
}

void
leading_cancelled(struct leading *l, struct span id)
{
	struct error none;

	for (struct waiter *w = l->waiters; w != NULL; w = w->next)
		if (w->call.id != NULL && id.len == strlen(w->call.id) &&
		    memcmp(id.at, w->call.id, id.len) == 0) {
			if (w->cancels)
				leading_cancel(l, w->led, &none);
			drop_waiter(l, w);
			return;
		}
}

/* ---- what waits for a person ---- */

/* The first of it, or that which began to wait with this event; NULL: none. Those of child runs are
 * decided about elsewhere. */
static const struct waiting *
find_approval(const struct led *led, const char *wait)
{
	const struct waitings *waits = led->run != NULL ? &led->run->model.waits : NULL;

	for (size_t i = 0; waits != NULL && i < waits->count; i++) {
		const struct waiting *at = &waits->list[i];

		if (!at->over && at->what == WAITING_APPROVAL && (wait == NULL || strcmp(at->end, wait) == 0))
			return at;
	}
	return NULL;
}

/* The call that waits so, with its data. */
static int
open_approval(struct deciding *d, const struct leading *l, const struct led *led,
    const struct waiting *at, enum decision_verdict verdict, struct error *err)
{
	if (deciding_allowed(&l->storage, led->run_id, verdict, getpid(), err) != 0 ||
	    deciding_open(d, &l->storage, led->run_id, verdict, err) != 0 ||
	    deciding_find(d, at->call, false, err) != 0)
		return -1;
	if (strcmp(d->at->end, at->end) != 0)
		return error_set(err, ERROR_BLOCKED, at->call, "waits anew since it was asked about");
	return verdict == DECISION_APPROVED ? deciding_approve(d, err) : 0;
}

/* What the person is asked: the params of ELICIT. */
static void
write_approval(const struct led *led, const struct deciding *d, struct buffer *params)
{
	struct buffer text = BUFFER_INIT, data = BUFFER_INIT;
	size_t shown;
	struct writer w;

	data_raw(&d->results[0], &data);
	shown = data.len > DATA_SHOWN ? utf8_whole(data.data, DATA_SHOWN) : data.len;
	buffer_format(&text, "%s: %s waits for your approval of:\n\n", led->name, d->at->call);
	buffer_append(&text, buffer_string(&data), shown);
	if (shown < data.len)
		buffer_format(&text, "\n\n(%zu bytes more: awf-replay --state %s %s)", data.len - shown,
		    d->at->path, led->run_id);
	writer_begin(&w, params);
	writer_object(&w);
	writer_key(&w, "message");
	writer_bytes(&w, buffer_string(&text), text.len);
	writer_member_span(&w, "requestedSchema", span_of(APPROVAL_SCHEMA, strlen(APPROVAL_SCHEMA)));
	writer_object_end(&w);
	buffer_free(&data);
	buffer_free(&text);
}

/* Whether the request waits for a person, or its client is to ask one and has been told so. */
static bool
ask_person(struct leading *l, struct waiter *w)
{
	struct led *led = w->led;
	struct deciding d = DECIDING_INIT;
	struct buffer params = BUFFER_INIT;
	const struct waiting *at;
	struct error none;
	bool asks;

	if (!w->call.elicits || w->for_end || w->declined || led->again || led->status == NULL ||
	    strcmp(led->status, "waiting") != 0 || clock_monotonic() >= w->deadline)
		return false;
	if (led->asked[0] != '\0' && !w->call.modern)
		return true;
	at = find_approval(led, NULL);
	asks = at != NULL && open_approval(&d, l, led, at, DECISION_APPROVED, &none) == 0;
	if (asks) {
		write_approval(led, &d, &params);
		if (w->call.modern) {
			rpc_input_required(&w->call, at->end, ELICIT, &params, led->run_id);
			drop_waiter(l, w);
		} else {
			rpc_ask(at->end, ELICIT, &params);
			memcpy(led->asked, at->end, ID_SIZE);
		}
	}
	deciding_close(&d);
	buffer_free(&params);
	return asks;
}

/* Decides as a person has said, and goes on: 1, or 0: he decides nothing. */
static int
decide_as_said(struct leading *l, struct led *led, const char *wait, struct span said,
    struct error *err)
{
	struct span content = span_member(said, "content"), approve = span_member(content, "approve");
	enum decision_verdict verdict = span_true(approve) ? DECISION_APPROVED : DECISION_DENIED;
	struct deciding d = DECIDING_INIT;
	const struct waiting *at;
	char *reason;
	int failed;

	if (!span_is(span_member(said, "action"), "accept"))
		return 0;
	if (span_type(approve) != 't' && span_type(approve) != 'f')
		return error_set(err, ERROR_INVALID_INPUT, "approve", "is to be true or false");
	if (follow_read(&l->follow, err) != 0)
		return -1;
	at = find_approval(led, wait);
	if (at == NULL)
		return error_set(err, ERROR_BLOCKED, NULL, "what was asked about waits no more: "
		    "wait_workflow tells how the run stands");
	reason = span_text(span_member(content, "reason"));
	failed = open_approval(&d, l, led, at, verdict, err);
	if (failed == 0)
		failed = deciding_sign(&d, NULL, false, err);
	if (failed == 0) {
		d.decision.by = l->client;
		d.decision.reason = reason != NULL && *reason != '\0' ? reason : NULL;
		failed = deciding_record(&d, err);
	}
	deciding_close(&d);
	free(reason);
	return failed == 0 && leading_go_on(l, led, err) == 0 ? 1 : -1;
}

/* Whoever is told of what went wrong may not know yet which run it is. */
static int
decide(struct leading *l, struct led *led, const char *wait, struct span said, struct error *err)
{
	int decided = decide_as_said(l, led, wait, said, err);
	char text[sizeof err->place + sizeof err->message + 4];

	if (decided == -1) {
		error_text(err, text, sizeof text);
		error_set(err, err->code, NULL, "run %s: %s", led->run_id, text);
	}
	return decided;
}

int
leading_decide(struct leading *l, struct led *led, const char *wait, struct span said,
    struct rpc_call *call, struct error *err)
{
	int decided = decide(l, led, wait, said, err);

	if (decided == -1)
		return -1;
	leading_wait(l, call, led)->declined = decided == 0;
	return 0;
}

void
leading_said(struct leading *l, struct span id, struct span said)
{
	struct led *led = NULL;
	struct buffer json = BUFFER_INIT;
	struct error err = ERROR_INIT;
	char wait[ID_SIZE];
	int decided;

	for (size_t i = 0; i < l->count && led == NULL; i++)
		if (l->list[i]->asked[0] != '\0' && span_is(id, l->list[i]->asked))
			led = l->list[i];
	if (led == NULL)
		return; /* of a wait that is over */
	memcpy(wait, led->asked, sizeof wait);
	led->asked[0] = '\0';
	decided = decide(l, led, wait, said, &err);
	if (decided == -1)
		write_error(&err, NULL, &json);
	for (struct waiter *w = l->waiters, *next; w != NULL; w = next) {
		next = w->next;
		if (w->led != led || w->for_end)
			continue;
		w->declined |= decided == 0;
		if (decided == -1) {
			rpc_tool_result(&w->call, &json, true);
			drop_waiter(l, w);
		}
	}
	buffer_free(&json);
}

/* ---- answers to questions, and requests ---- */

/* An answer was not taken: whoever waits for what comes of it is told so. */
static void
refuse(struct leading *l, struct gate *g, const struct error *err)
{
	struct buffer json = BUFFER_INIT;

	write_error(err, g->over ? NULL : g, &json);
	for (struct waiter *w = l->waiters, *next; w != NULL; w = next) {
		next = w->next;
		if (w->answered == g) {
			rpc_tool_result(&w->call, &json, true);
			drop_waiter(l, w);
		}
	}
	free(g->refused);
	g->refused = memory_text(err->message);
	buffer_free(&json);
}

/* What has come from a question. */
static void
read_gate(struct leading *l, struct gate *g)
{
	struct error err = ERROR_INIT;
	bool answering = g->given[0] != '\0';
	const char *line;
	ssize_t got;
	size_t len;

	if (g->fd == -1)
		return;
	send_answer(g);
	got = line_input_read(&g->input);
	if (line_input_take(&g->input, &line, &len) == 1 && answering) {
		if (question_read_verdict(span_of(line, len), &err) == 0) {
			memcpy(g->sha256, g->given, sizeof g->sha256);
			g->over = true;
			drop_connection(g);
		} else {
			refuse(l, g, &err);
		}
		g->given[0] = '\0';
	} else if (got == 0 || (got == -1 && errno != EAGAIN && errno != EINTR)) {
		drop_connection(g);
		if (answering) {
			g->over = true;
			error_set(&err, ERROR_SYSTEM, NULL, QUESTION_GONE);
			refuse(l, g, &err);
		}
		g->given[0] = '\0';
	}
}

/* Whether the request knows now what it waits for. */
static bool
is_done(const struct leading *l, const struct waiter *w)
{
	if (clock_monotonic() >= w->deadline)
		return true;
	if (w->answered != NULL && w->answered->given[0] != '\0')
		return false;
	if (has_ended(w->led))
		return true;
	for (size_t i = 0; i < l->gate_count && !w->for_end; i++)
		if (l->gates[i]->led == w->led && is_pending(l->gates[i]))
			return true;
	return false;
}

static void
answer_waiters(struct leading *l)
{
	struct waiter *w = l->waiters;

	while (w != NULL) {
		struct waiter *next = w->next;
		struct buffer json = BUFFER_INIT;

		if (w->told < w->led->done) {
			w->told = w->led->done;
			rpc_progress(&w->call, w->told, w->led->last);
		}
		if (is_done(l, w) && !ask_person(l, w)) {
			led_state(l, w->led, w->takes_over, &json);
			rpc_tool_result(&w->call, &json, false);
			buffer_free(&json);
			drop_waiter(l, w);
		}
		w = next;
	}
}

/* ---- how a run stands ---- */

int
led_output(const struct leading *l, const struct led *led, struct buffer *out, struct error *err)
{
	char *blobs = storage_blobs(&l->storage, led->run_id);
	int failed = 0;

	if (led->stdout_sha256[0] != '\0')
		failed = blob_read(blobs, led->stdout_sha256, out, err);
	free(blobs);
	return failed;
}

static void
write_gate(const struct gate *g, struct writer *w)
{
	writer_member_string(w, "continueToken", g->token);
	writer_member_string(w, "prompt", g->prompt);
	if (g->schema != NULL)
		writer_member_span(w, "schema", span_of(g->schema, strlen(g->schema)));
	writer_member_string(w, "refused", g->refused);
}

static void
write_output(const struct leading *l, const struct led *led, struct writer *w)
{
	struct buffer text = BUFFER_INIT;
	char uri[64];
	struct error none;

	snprintf(uri, sizeof uri, "awf://runs/%s/output", led->run_id);
	if (led->stdout_bytes > (int64_t)OUTPUT_SHOWN) {
		writer_member_string(w, "outputUri", uri);
	} else if (led_output(l, led, &text, &none) == 0 && led->stdout_sha256[0] != '\0') {
		writer_key(w, "output");
		writer_bytes(w, buffer_string(&text), text.len);
	}
	buffer_free(&text);
}

/* What a run that has ended waits for, as nobody here can decide about it. */
static void
write_waits(const struct led *led, struct writer *w)
{
	const struct waitings *waits = &led->run->model.waits;

	writer_member_array(w, "waitsFor");
	for (size_t i = 0; i < waits->count; i++)
		if (!waits->list[i].over) {
			writer_object(w);
			writer_member_string(w, "call", waits->list[i].call);
			writer_member_string(w, "asks", waiting_word(waits->list[i].what));
			writer_object_end(w);
		}
	writer_array_end(w);
}

void
led_state(const struct leading *l, const struct led *led, bool with_notes, struct buffer *json)
{
	const struct gate *first = NULL;
	bool over = has_ended(led), waiting = led->status != NULL && strcmp(led->status, "waiting") == 0;
	struct writer w;

	for (size_t i = 0; i < l->gate_count && first == NULL; i++)
		if (l->gates[i]->led == led && is_pending(l->gates[i]))
			first = l->gates[i];
	writer_begin(&w, json);
	writer_object(&w);
	writer_member_string(&w, "run", led->run_id);
	writer_member_string(&w, "workflow", led->name);
	writer_member_string(&w, "status", led->failed.code != ERROR_NONE ? "failed" :
	    led->status != NULL ? led->status : over ? "died" : first != NULL ? "waiting" : "running");
	writer_member_bool(&w, "isComplete", over && !waiting && (led->status != NULL ||
	    led->failed.code != ERROR_NONE));
	writer_member_array(&w, "pending");
	for (size_t i = 0; i < l->gate_count; i++) {
		const struct gate *g = l->gates[i];

		if (g->led != led || !is_pending(g))
			continue;
		writer_object(&w);
		write_gate(g, &w);
		writer_member_string(&w, "call", g->call);
		writer_member_integer(&w, "item", g->iteration);
		if (g->run != led->run)
			writer_member_string(&w, "run", g->run->run_id);
		writer_object_end(&w);
	}
	writer_array_end(&w);
	if (first != NULL)
		write_gate(first, &w);
	if (led->failed.code != ERROR_NONE)
		writer_member_string(&w, "error", led->failed.message);
	else
		writer_member_string(&w, "error", led->error);
	if (waiting)
		write_waits(led, &w);
	if (over)
		write_output(l, led, &w);
	if (with_notes && led->notes != NULL) {
		writer_member_array(&w, NOTES);
		for (char *const *note = led->notes; *note != NULL; note++)
			writer_string(&w, *note);
		writer_array_end(&w);
	}
	writer_object_end(&w);
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
		goes_on |= !has_ended(l->list[i]);
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

		reap(l, led);
		if (resume_again(l, led, &led->failed) != 0 && led->failed.code == ERROR_NONE)
			return -1;
	}
	if (look_for_runs(l, err) != 0 || follow_read(&l->follow, err) != 0)
		return -1;
	if (clock_monotonic() >= l->look) {
		l->look = clock_monotonic() + FOLLOW_LOOK_MS;
		if (follow_check(&l->follow, err) != 0)
			return -1;
	}
	for (size_t i = 0; i < l->gate_count; i++)
		read_gate(l, l->gates[i]);
	connect_gates(l);
	answer_waiters(l);
	return 0;
}
