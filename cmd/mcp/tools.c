/*
 * If a tool fails, that is its result, described for a model; only a call of an unknown tool is an
 * error of the protocol. Other results contain the object twice: as text, which every client shows,
 * and in structured form.
 */
#include "mcp/tools.h"

#include <stdlib.h>
#include <string.h>

#include "base/list.h"
#include "base/memory.h"
#include "mcp/answers.h"
#include "mcp/approvals.h"
#include "mcp/status.h"
#include "proc/environment.h"
#include "proc/libexec.h"
#include "transcript/blob.h"
#include "transcript/event_keys.h"
#include "workspace/workflow_file.h"

#define RUN_SCHEMA "{\"type\":\"object\",\"properties\":{\"run\":{\"type\":\"string\"," \
	"\"description\":\"its id\"}},\"required\":[\"run\"],\"additionalProperties\":false}"
/* Largest input value: inputs become arguments and variables, whose size the system limits. */
#define INPUT_MOST ((size_t)64 << 10)
/* Schema of the state of a run, see status_write(). */
#define STATE_SCHEMA "{\"type\":\"object\",\"properties\":{\"run\":{\"type\":\"string\"}," \
	"\"workflow\":{\"type\":\"string\"},\"status\":{\"type\":\"string\"}," \
	"\"isComplete\":{\"type\":\"boolean\"},\"pending\":{\"type\":\"array\",\"items\":{" \
	"\"type\":\"object\",\"properties\":{\"continueToken\":{\"type\":\"string\"}," \
	"\"prompt\":{\"type\":\"string\"},\"schema\":{},\"call\":{\"type\":\"string\"}," \
	"\"item\":{\"type\":\"integer\"},\"run\":{\"type\":\"string\"}," \
	"\"refused\":{\"type\":\"string\"}}," \
	"\"required\":[\"continueToken\",\"prompt\"]}},\"continueToken\":{\"type\":\"string\"}," \
	"\"prompt\":{\"type\":\"string\"},\"schema\":{},\"refused\":{\"type\":\"string\"}," \
	"\"output\":{\"type\":\"string\"}," \
	"\"outputUri\":{\"type\":\"string\"},\"error\":{\"type\":\"string\"}," \
	"\"waitsFor\":{\"type\":\"array\"},\"notes\":{\"type\":\"array\"}}," \
	"\"required\":[\"run\",\"status\",\"isComplete\",\"pending\"]}"

struct arguments {
	struct tools *tools;
	struct rpc_call *call;
	struct span values;  /* the arguments; .at NULL: none */
};

typedef int handle_tool(struct arguments *a, struct error *err);

static handle_tool list_workflows, inspect_workflow, start_workflow, continue_workflow, wait_workflow,
    cancel_workflow, resume_session, rewind_workflow, tools_record_checkpoint;

static const struct tool_entry {
	const char *name;
	handle_tool *handle;
	const char *description;
	const char *input;
	const char *output;
	const char *const *members;  /* names of its arguments; ends with NULL */
	bool reads;                  /* it changes nothing */
} entries[] = {
	{ "list_workflows", list_workflows, "Lists the workflows that can be started, and what they do.",
	    "{\"type\":\"object\",\"properties\":{},\"additionalProperties\":false}",
	    "{\"type\":\"object\",\"properties\":{\"workflows\":{\"type\":\"array\"}},"
	    "\"required\":[\"workflows\"]}", (const char *const[]){ NULL }, true },
	{ "inspect_workflow", inspect_workflow, "Tells what a workflow does, what it takes, and the "
	    "questions that its latest run has asked.",
	    "{\"type\":\"object\",\"properties\":{\"workflow\":{\"type\":\"string\"}},"
	    "\"required\":[\"workflow\"],\"additionalProperties\":false}",
	    "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"},"
	    "\"gates\":{\"type\":\"array\"}},\"required\":[\"name\",\"gates\"]}",
	    (const char *const[]){ "workflow", NULL }, true },
	{ "start_workflow", start_workflow, "Starts a workflow and runs it until it asks something or "
	    "ends. Do what `prompt` says, then give the answer with continue_workflow and the "
	    "continueToken; go on until isComplete is true. If several questions are pending, answer each.",
	    "{\"type\":\"object\",\"properties\":{\"workflow\":{\"type\":\"string\"},"
	    "\"input\":{\"description\":\"what it reads: text, or JSON\"},"
	    "\"inputs\":{\"type\":\"object\",\"description\":\"its named inputs\"}},"
	    "\"required\":[\"workflow\"],\"additionalProperties\":false}", STATE_SCHEMA,
	    (const char *const[]){ "workflow", "input", "inputs", NULL }, false },
	{ "continue_workflow", continue_workflow, "Gives the answer to a pending question and goes on to "
	    "the next one. The answer fits the question's schema if it has one, and is text otherwise. If "
	    "it is refused, the error says why and nothing has changed: mend it and call this again.",
	    "{\"type\":\"object\",\"properties\":{\"continueToken\":{\"type\":\"string\"},"
	    "\"answer\":{\"description\":\"text, or JSON that fits the schema\"}},"
	    "\"required\":[\"continueToken\",\"answer\"],\"additionalProperties\":false}", STATE_SCHEMA,
	    (const char *const[]){ "continueToken", "answer", NULL }, false },
	{ "wait_workflow", wait_workflow, "Waits for a run whose status is running until it asks "
	    "something or ends; one that waits for a person goes on once that has decided.", RUN_SCHEMA, STATE_SCHEMA, (const char *const[]){ "run", NULL }, true },
	{ "cancel_workflow", cancel_workflow, "Ends a run.", RUN_SCHEMA, STATE_SCHEMA,
	    (const char *const[]){ "run", NULL }, false },
	{ "resume_session", resume_session, "Takes over a run that was started elsewhere or before, by "
	    "its id, the beginning of it, or @NAME for the latest of a workflow; one that was cut off goes "
	    "on, without doing again what is done. Its pending questions have new tokens.",
	    RUN_SCHEMA, STATE_SCHEMA, (const char *const[]){ "run", NULL }, false },
	{ "rewind_workflow", rewind_workflow, "Starts a new run that takes over what a run has done before "
	    "one of its questions, and asks from there on anew. The run itself has ended, and stays as it is.",
	    "{\"type\":\"object\",\"properties\":{\"run\":{\"type\":\"string\"},"
	    "\"gate\":{\"type\":\"string\",\"description\":\"the call of the question\"}},"
	    "\"required\":[\"run\",\"gate\"],\"additionalProperties\":false}", STATE_SCHEMA,
	    (const char *const[]){ "run", "gate", NULL }, false },
	{ "checkpoint", tools_record_checkpoint,
	    "Records notes in a run that goes on: what you know and have done so "
	    "far. resume_session returns them.",
	    "{\"type\":\"object\",\"properties\":{\"run\":{\"type\":\"string\"},"
	    "\"notes\":{\"type\":\"string\"}},\"required\":[\"run\",\"notes\"],"
	    "\"additionalProperties\":false}", STATE_SCHEMA,
	    (const char *const[]){ "run", "notes", NULL }, false },
};

#define ENTRIES (sizeof entries / sizeof *entries)

/* ---- arguments ---- */

/* A text from the arguments, to be freed by the caller; NULL with *err: it is missing, or cannot be
 * passed to a program. */
static char *
text_argument(const struct arguments *a, const char *name, struct error *err)
{
	struct span value = span_member(a->values, name);
	struct buffer text = BUFFER_INIT;

	span_decode(value, &text);
	if (value.at != NULL && span_type(value) == 's' && strlen(buffer_string(&text)) == text.len)
		return buffer_take(&text);
	error_set(err, ERROR_INVALID_INPUT, name, "%s", value.at == NULL ? "is missing" :
	    span_type(value) != 's' ? "is to be a text" : "has a NUL");
	buffer_free(&text);
	return NULL;
}

/* Refuses arguments that the tool does not know. */
static int
check_arguments(const char *tool, const char *const *members, struct span values, struct error *err)
{
	for (struct span_walk member = span_walk(values); span_next(&member);)
		if (span_one_of(member.key, members) == NULL) {
			/* The name as it is between the quotes. */
			char *name = memory_copy(member.key.at + 1, member.key.len - 2);

			error_set(err, ERROR_INVALID_INPUT, name, "is no argument of %s", tool);
			free(name);
			return -1;
		}
	return 0;
}

/* Makes a request wait until its run asks something or ends. */
static struct waiter *
wait_for(struct arguments *a, struct led *led)
{
	return leading_wait(a->tools->leading, a->call, led);
}

/* ---- the tools ---- */

static void
write_workflow(const struct workflow_entry *e, struct writer *w)
{
	writer_member_string(w, "name", e->name);
	writer_member_string(w, "description", e->description);
	if (e->input != NULL)
		writer_member_span(w, "input", span_of(e->input, strlen(e->input)));
}

static int
list_workflows(struct arguments *a, struct error *err)
{
	const struct workflows *all = a->tools->workflows;
	struct buffer json = BUFFER_INIT;
	struct writer w;

	(void)err;
	writer_begin(&w, &json);
	writer_object(&w);
	writer_member_array(&w, "workflows");
	for (size_t i = 0; i < all->count; i++) {
		writer_object(&w);
		write_workflow(&all->list[i], &w);
		writer_object_end(&w);
	}
	writer_array_end(&w);
	writer_object_end(&w);
	rpc_tool_result(a->call, &json, false);
	buffer_free(&json);
	return 0;
}

/* What a workflow in a shell asks is not known before it runs: so the questions of its latest run
 * are listed. */
static int
write_gates(const struct leading *l, const char *run_id, struct writer *w, struct error *err)
{
	char *path = storage_transcript(&l->storage, run_id), *blobs = storage_blobs(&l->storage, run_id);
	struct buffer whole = BUFFER_INIT;
	struct event_view event;
	struct reader r;
	const char *line;
	size_t len;
	int got = reader_open(&r, path, err);

	if (got == 0) {
		while ((got = reader_next(&r, &line, &len, err)) == 1) {
			struct span question;

			if (event_view(line, len, &event) != 0 || event.type != EVENT_STEP_STARTED ||
			    span_member(event.payload, KEY_QUESTION).at == NULL)
				continue;
			/* A long question is in a blob. */
			buffer_clear(&whole);
			if (blob_inline(blobs, line, len, &whole, err) != 0 ||
			    event_view(whole.data, whole.len, &event) != 0)
				continue;
			question = span_member(event.payload, KEY_QUESTION);
			writer_object(w);
			writer_member_span(w, "call", span_member(event.payload, KEY_CALL));
			writer_member_span(w, "prompt", span_member(question, KEY_PROMPT));
			writer_member_span(w, "schema", span_member(question, KEY_SCHEMA));
			writer_object_end(w);
		}
		reader_close(&r);
		buffer_free(&whole);
	}
	free(blobs);
	free(path);
	return got;
}

static int
inspect_workflow(struct arguments *a, struct error *err)
{
	char *name = text_argument(a, "workflow", err);
	const struct workflow_entry *e = name != NULL ? workflows_find(a->tools->workflows, name, err) : NULL;
	struct buffer json = BUFFER_INIT, gates = BUFFER_INIT;
	struct writer w, list;
	char run_id[ID_SIZE] = "";
	int failed = e != NULL ? 0 : -1;

	if (failed == 0) {
		char *latest = memory_format("@%s", e->name);
		struct error none;

		writer_begin(&list, &gates);
		writer_array(&list);
		if (leading_resolve(a->tools->leading, latest, run_id, &none) == e)
			failed = write_gates(a->tools->leading, run_id, &list, err);
		else
			*run_id = '\0'; /* the workflow has not run yet */
		writer_array_end(&list);
		free(latest);
	}
	if (failed == 0) {
		writer_begin(&w, &json);
		writer_object(&w);
		write_workflow(e, &w);
		if (*run_id != '\0')
			writer_member_string(&w, "run", run_id);
		writer_member_buffer(&w, "gates", &gates);
		writer_object_end(&w);
		rpc_tool_result(a->call, &json, false);
	}
	buffer_free(&gates);
	buffer_free(&json);
	free(name);
	return failed;
}

/* Writes the input of a workflow: text with an LF, or JSON on one line. */
static void
make_input(struct span value, struct buffer *input)
{
	if (value.at == NULL)
		return;
	if (span_type(value) == 's')
		span_decode(value, input);
	else
		scan_minify(value, input);
	if (input->len == 0 || input->data[input->len - 1] != '\n')
		buffer_byte(input, '\n');
}

/* Writes a member as KEY=VALUE; false with *err if that is not possible. */
static bool
make_named_input(const struct span_walk *member, struct buffer *input, struct error *err)
{
	const char *wrong = NULL;
	size_t name_len;

	span_decode(member->key, input);
	name_len = input->len;
	if (!environment_name_valid(buffer_string(input), name_len))
		wrong = "is no name of letters, digits and _";
	else if (strchr("oa0", span_type(member->value)) != NULL)
		wrong = "is to be a text, a number, true or false";
	else if (member->value.len > INPUT_MOST)
		wrong = "is above 64 KiB: give it as the input";
	buffer_byte(input, '=');
	if (wrong == NULL)
		span_plain(member->value, input);
	if (wrong == NULL && strlen(input->data) != input->len)
		wrong = "has a NUL";
	if (wrong != NULL)
		error_set(err, ERROR_INVALID_INPUT, "inputs", "%.*s %s", (int)member->key.len,
		    member->key.at, wrong);
	return wrong == NULL;
}

/* Collects the named inputs of a workflow. all: it is an error if a member cannot be one; otherwise
 * such a member is only in the workflow's stdin. */
static int
add_inputs(struct span values, bool all, char ***argv, struct error *err)
{
	struct error none;

	if (values.at == NULL)
		return 0;
	if (span_type(values) != 'o' && all)
		return error_set(err, ERROR_INVALID_INPUT, "inputs", "is to be an object");
	for (struct span_walk member = span_walk(values); span_type(values) == 'o' && span_next(&member);) {
		struct buffer input = BUFFER_INIT;
		bool fits = make_named_input(&member, &input, all ? err : &none);

		if (fits) {
			list_add(argv, "--input");
			list_add(argv, buffer_string(&input));
		}
		buffer_free(&input);
		if (!fits && all)
			return -1;
	}
	return 0;
}

/* named: the inputs were given as a separate argument, so each of them must be possible. */
static struct led *
start_run(struct tools *t, const struct workflow_entry *e, struct span input, struct span inputs,
    bool named, struct error *err)
{
	char *program = libexec_sibling("awf-run"), **argv = NULL, id[ID_SIZE];
	struct environment environment;
	struct buffer text = BUFFER_INIT;
	struct led *led = NULL;

	id_new(id);
	workflow_file_environment(&environment);
	environment_set(&environment, "AWF_STORAGE", t->leading->storage.root);
	list_add(&argv, program);
	/* Options in the file come later, and replace these. */
	list_add(&argv, LED_WAIT);
	list_add(&argv, "--auto-resume");
	list_add(&argv, "--id");
	list_add(&argv, id);
	make_input(input, &text);
	if (add_inputs(inputs, named, &argv, err) == 0 &&
	    workflow_check_input(e, input, err) == 0 &&
	    workflow_file_options(e->path, &argv, &environment, err) == 0) {
		list_add(&argv, "--");
		list_add(&argv, e->path);
		led = leading_start(t->leading, id, e, argv, environment.list,
		    text.len > 0 ? span_of(text.data, text.len) : SPAN_NONE, err);
	}
	environment_free(&environment);
	list_free(argv);
	buffer_free(&text);
	free(program);
	return led;
}

static int
start_workflow(struct arguments *a, struct error *err)
{
	char *name = text_argument(a, "workflow", err);
	const struct workflow_entry *e = name != NULL ? workflows_find(a->tools->workflows, name, err) : NULL;
	struct led *led = NULL;

	if (e != NULL)
		led = start_run(a->tools, e, span_member(a->values, "input"), span_member(a->values, "inputs"),
		    true, err);
	free(name);
	if (led == NULL)
		return -1;
	wait_for(a, led);
	return 0;
}

/* Runs a workflow that is a tool of its own: its arguments become its stdin and, where possible,
 * named inputs. Without a schema, its argument is a text. */
static int
call_workflow(struct arguments *a, const struct workflow_entry *e, struct error *err)
{
	static const char *const members[] = { "input", NULL };
	struct span input = span_member(a->values, "input");
	struct led *led = NULL;

	if (e->schema != NULL)
		led = start_run(a->tools, e, a->values, a->values, false, err);
	else if (input.at != NULL && span_type(input) != 's')
		error_set(err, ERROR_INVALID_INPUT, "input", "is to be a text");
	else if (check_arguments(e->tool, members, a->values, err) == 0)
		led = start_run(a->tools, e, input, SPAN_NONE, false, err);
	if (led == NULL)
		return -1;
	wait_for(a, led)->cancels = true;
	return 0;
}

static int
continue_workflow(struct arguments *a, struct error *err)
{
	struct leading *l = a->tools->leading;
	char *token = text_argument(a, "continueToken", err);
	struct span answer = span_member(a->values, "answer");
	struct gate *g = token != NULL ? leading_find_gate(l, token, err) : NULL;

	free(token);
	if (g == NULL)
		return -1;
	if (answer.at == NULL)
		return error_set(err, ERROR_INVALID_INPUT, "answer", "is missing");
	return leading_answer(l, g, answer, a->call, err);
}

/* The run that the arguments name, if it is one of this session. */
static struct led *
led_argument(struct arguments *a, struct error *err)
{
	struct leading *l = a->tools->leading;
	char *run = text_argument(a, "run", err);
	struct led *led = run != NULL ? leading_find(l, run) : NULL;

	if (run != NULL && led == NULL)
		error_set(err, ERROR_BLOCKED, run, "belongs to another session: resume_session "
		    "takes it over");
	free(run);
	return led;
}

static int
wait_workflow(struct arguments *a, struct error *err)
{
	struct led *led = led_argument(a, err);

	if (led == NULL || leading_go_on(a->tools->leading, led, err) != 0)
		return -1;
	wait_for(a, led);
	return 0;
}

static int
cancel_workflow(struct arguments *a, struct error *err)
{
	struct led *led = led_argument(a, err);

	if (led == NULL || leading_cancel(a->tools->leading, led, err) != 0)
		return -1;
	wait_for(a, led)->for_end = true;
	return 0;
}

static int
resume_session(struct arguments *a, struct error *err)
{
	char *run = text_argument(a, "run", err);
	struct led *led = run != NULL ? leading_take_over(a->tools->leading, run, err) : NULL;

	free(run);
	if (led == NULL)
		return -1;
	wait_for(a, led)->takes_over = true;
	return 0;
}

static int
rewind_workflow(struct arguments *a, struct error *err)
{
	struct led *led = led_argument(a, err), *fork = NULL;
	char *gate = led != NULL ? text_argument(a, "gate", err) : NULL;

	if (gate != NULL && workflow_check(led->workflow, err) == 0)
		fork = leading_rewind(a->tools->leading, led, gate, err);
	free(gate);
	if (fork == NULL)
		return -1;
	wait_for(a, fork);
	return 0;
}

static int
tools_record_checkpoint(struct arguments *a, struct error *err)
{
	struct led *led = led_argument(a, err);
	char *notes = led != NULL ? text_argument(a, "notes", err) : NULL;
	struct buffer json = BUFFER_INIT;
	int failed = notes != NULL ? leading_note(a->tools->leading, led, notes, err) : -1;

	free(notes);
	if (failed != 0)
		return -1;
	status_write(a->tools->leading, led, false, &json);
	rpc_tool_result(a->call, &json, false);
	buffer_free(&json);
	return 0;
}

/* A client of RPC_MODERN calls the tool again with its user's answer; the tool itself was executed
 * by the first call. */
static int
go_on_with(struct arguments *a, struct span responses, struct span state, struct error *err)
{
	struct leading *l = a->tools->leading;
	char *run = span_text(state), *wait;
	struct led *led = run != NULL ? leading_find(l, run) : NULL;
	struct span_walk said = span_walk(responses);
	int failed;

	free(run);
	if (led == NULL)
		return error_set(err, ERROR_BLOCKED, "requestState", "names no run that this session leads");
	if (span_type(responses) != 'o' || !span_next(&said))
		return error_set(err, ERROR_INVALID_INPUT, "inputResponses", "has no answer");
	wait = span_text(said.key);
	failed = leading_decide(l, led, wait, said.value, a->call, err);
	free(wait);
	return failed;
}

/* ---- the table ---- */

static bool
is_free(const char *name)
{
	for (size_t i = 0; i < ENTRIES; i++)
		if (strcmp(entries[i].name, name) == 0)
			return false;
	return true;
}

static void
write_tool(struct writer *w, const char *name, const char *description, const char *input,
    const char *output, bool reads)
{
	writer_object(w);
	writer_member_string(w, "name", name);
	writer_member_string(w, "description", description);
	writer_member_span(w, "inputSchema", span_of(input, strlen(input)));
	writer_member_span(w, "outputSchema", span_of(output, strlen(output)));
	writer_member_object(w, "annotations");
	writer_member_bool(w, "readOnlyHint", reads);
	writer_object_end(w);
	writer_object_end(w);
}

void
tools_list(const struct tools *t, struct buffer *members)
{
	struct writer w;

	writer_begin(&w, members);
	writer_member_array(&w, "tools");
	for (size_t i = 0; i < ENTRIES; i++)
		write_tool(&w, entries[i].name, entries[i].description, entries[i].input, entries[i].output,
		    entries[i].reads);
	for (size_t i = 0; i < t->workflows->count; i++) {
		const struct workflow_entry *e = &t->workflows->list[i];

		if (e->description != NULL && is_free(e->tool))
			write_tool(&w, e->tool, e->description, e->input != NULL ? e->input :
			    "{\"type\":\"object\",\"properties\":{\"input\":{\"type\":\"string\"}},"
			    "\"additionalProperties\":false}", STATE_SCHEMA, false);
	}
	writer_array_end(&w);
}

void
tools_call(struct tools *t, struct rpc_call *call, struct span params)
{
	struct arguments a = { t, call, span_member(params, "arguments") };
	const struct workflow_entry *workflow = NULL;
	struct span state = span_member(params, "requestState"), name = span_member(params, "name");
	const struct tool_entry *e = NULL;
	struct error err = ERROR_INIT;
	int failed;

	for (size_t i = 0; i < ENTRIES; i++)
		if (span_is(name, entries[i].name))
			e = &entries[i];
	for (size_t i = 0; e == NULL && i < t->workflows->count; i++)
		if (t->workflows->list[i].description != NULL && span_is(name, t->workflows->list[i].tool))
			workflow = &t->workflows->list[i];
	if (e == NULL && workflow == NULL) {
		bool named = span_type(name) == 's';

		rpc_error(call, JSONRPC_PARAMS, SPAN_NONE, "%.*s: no such tool", named ? (int)name.len - 2 : 4,
		    named ? name.at + 1 : "name");
		return;
	}
	if (a.values.at != NULL && span_type(a.values) != 'o')
		failed = error_set(&err, ERROR_INVALID_INPUT, "arguments", "are to be an object");
	else if (call->modern && state.at != NULL)
		failed = go_on_with(&a, span_member(params, "inputResponses"), state, &err);
	else if (e != NULL)
		failed = check_arguments(e->name, e->members, a.values, &err) == 0 ? e->handle(&a, &err) : -1;
	else
		failed = call_workflow(&a, workflow, &err);
	if (failed != 0)
		status_refused(call, &err, NULL);
}
