/* Everything is started by name (awf-run, awf-step, awf-diff): awf-run has put its own directory into PATH. */
#define _GNU_SOURCE /* memmem() */
#include "eval/case.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "eval/look.h"
#include "eval/replace.h"
#include "eval/results.h"
#include "eval/verdict.h"
#include "io/file.h"
#include "io/path.h"
#include "json/value.h"
#include "json/writer.h"
#include "proc/descendants.h"
#include "proc/environment.h"
#include "proc/process.h"
#include "proc/subprocess.h"
#include "schema/schema.h"
#include "storage/run.h"
#include "storage/storage.h"

/* A case on its way. */
struct trying {
	const struct eval_settings *s;
	struct span item;        /* of the state line: id, k, input … */
	struct storage storage;
	struct schema *schema;   /* NULL */
	char *directory;         /* for files with ids of runs */
	int attempt;             /* of the evaluation's run */
	bool replays;
	char (*judges)[ID_SIZE]; /* the runs of the first variant's checks; "": none */
	bool waits;
};

/* A variant in it. */
struct tried {
	const struct eval_variant *variant;
	enum eval_outcome outcome;
	bool failed;             /* the workflow has */
	char run[ID_SIZE];
	struct buffer result;    /* JSON */
	struct buffer figures;   /* JSON: what the run's record says (eval/look.h) */
	char *error;             /* NULL */
	struct buffer verdicts;  /* JSON, of the checks so far */
};

/* ---- the workflow ---- */

/* Appends a value as the text that a program reads: a string without its quotes. */
static void
case_write_input(struct span input, struct buffer *out)
{
	span_plain(input, out);
	if (out->len == 0 || out->data[out->len - 1] != '\n')
		buffer_byte(out, '\n');
}

/* The words that start a child run, up to those for what it runs. id_file: where its id is put; fork: NULL. A replay has
 * the fork in its recording, and makes none. */
static char **
case_run_words(const struct trying *t, const char *name, const char *id_file, const char *fork)
{
	char **words = NULL;

	list_add(&words, "awf-run");
	list_take(&words, memory_format("--name=%s", name));
	list_take(&words, memory_format("--id-file=%s", id_file));
	if (fork != NULL && !t->replays)
		list_take(&words, memory_format("--fork=%s", fork));
	return words;
}

/* The command line that runs the workflow of a variant. */
static char **
case_workflow_words(const struct trying *t, const struct eval_variant *v, const char *id_file, const char *fork)
{
	char *const *workflow = v->workflow != NULL ? v->workflow : t->s->workflow;
	char **run = case_run_words(t, v->name, id_file, fork), **words = NULL;

	if (v->files != NULL && !t->replays) {
		list_add(&words, "awf-eval");
		list_add(&words, EVAL_REPLACING_WORD);
		for (char **file = v->files; *file != NULL; file++)
			list_add(&words, *file);
		list_add(&words, "--");
	}
	for (char **word = run; *word != NULL; word++)
		list_add(&words, *word);
	list_free(run);
	if (t->s->check_failures)
		list_add(&words, "--try");
	for (char **variable = v->variables; variable != NULL && *variable != NULL; variable++)
		list_take(&words, memory_format("--env=%.*s", (int)strcspn(*variable, "="), *variable));
	for (char **input = v->inputs; input != NULL && *input != NULL; input++)
		list_take(&words, memory_format("--input=%s", *input));
	list_add(&words, "--");
	for (; *workflow != NULL; workflow++)
		list_add(&words, *workflow);
	return words;
}

/* Reads the id that awf-run has written; "" if there is none. */
static void
case_take_id(const char *id_file, char run[ID_SIZE])
{
	struct buffer id = BUFFER_INIT;

	run[0] = '\0';
	if (file_load(id_file, ID_SIZE + 1, &id, NULL) == 0 && id.len >= ID_SIZE - 1) {
		memcpy(run, id.data, ID_SIZE - 1);
		run[ID_SIZE - 1] = '\0';
	}
	unlink(id_file);
	buffer_free(&id);
}

/* Which lines of a fork are passed on: that it makes again what differs is what it is for. */
static bool
case_passes(const void *context, const char *line, size_t len)
{
	static const char told[] = " made again instead of used from the record: ";

	(void)context;
	return memmem(line, len, told, sizeof told - 1) == NULL;
}

/* Runs the workflow. Returns its exit status; -1: *err. */
static int
case_run_workflow(const struct trying *t, struct tried *v, const char *fork, struct buffer *output, struct error *err)
{
	char *id_file = memory_format("%s/%s", t->directory, v->variant->name);
	char **words = case_workflow_words(t, v->variant, id_file, fork);
	struct buffer input = BUFFER_INIT;
	struct environment environment;
	struct subprocess p;
	int status;

	environment_begin(&environment);
	for (char **variable = v->variant->variables; variable != NULL && *variable != NULL; variable++) {
		char *name = memory_copy(*variable, strcspn(*variable, "="));

		environment_set(&environment, name, *variable + strlen(name) + 1);
		free(name);
	}
	case_write_input(span_member(t->item, "input"), &input);
	p = (struct subprocess){ .argv = words, .environment = environment.list, .input = buffer_string(&input),
		.input_len = input.len, .passes = fork != NULL ? case_passes : NULL };
	status = subprocesses_run(&p, 1, NULL, err) == 0 ? p.exit_code : -1;
	if (status == -1 && err->code == ERROR_NONE)
		*err = p.error;
	case_take_id(id_file, v->run);
	free(v->error);
	v->error = status > 0 ? memory_text(p.error.message) : NULL;
	buffer_clear(output);
	buffer_append(output, p.output.data, p.output.len);
	subprocess_free(&p);
	environment_free(&environment);
	list_free(words);
	free(id_file);
	buffer_free(&input);
	return status;
}

/* Asks by a step what the run's record says of it (eval/look.h). In a further attempt that is another step, which takes over
 * nothing from one before: there the run may have ended otherwise. */
static int
case_look(const struct trying *t, struct tried *v, struct error *err)
{
	char *name = t->attempt > 1 ? memory_format(EVAL_LOOK_STEP "-%d", t->attempt) : memory_text(EVAL_LOOK_STEP);
	const char *const words[] = { "awf-step", "-r", "-i", "json", "-O", "json", "--effects", "read", name, "--",
		"awf-eval", EVAL_LOOK_WORD, NULL };
	struct buffer asked = BUFFER_INIT;
	struct subprocess p;
	struct writer w;
	char *error;
	int failed;

	writer_begin(&w, &asked);
	writer_object(&w);
	writer_member_string(&w, "run", v->run);
	writer_object_end(&w);
	buffer_byte(&asked, '\n');
	p = (struct subprocess){ .argv = (char *const *)(uintptr_t)words, .input = asked.data, .input_len = asked.len };
	failed = subprocesses_run(&p, 1, NULL, err);
	if (failed == 0 && p.exit_code != 0)
		failed = error_set(err, ERROR_EXIT_STATUS, NULL, "%s", p.error.message);
	if (failed == 0)
		buffer_append(&v->figures, p.output.data, p.output.len);
	error = span_text(span_member(span_of(buffer_string(&v->figures), v->figures.len), "error"));
	if (error != NULL) {
		free(v->error);
		v->error = error;
	}
	subprocess_free(&p);
	buffer_free(&asked);
	free(name);
	return failed;
}

static struct span
case_figure(const struct tried *v, const char *name)
{
	return span_member(span_trim(span_of(buffer_string(&v->figures), v->figures.len)), name);
}

/* ---- checks ---- */

/* What a check reads. */
static void
case_write_item(const struct trying *t, const struct tried *v, struct buffer *out)
{
	static const char *const members[] = { "id", "k", "input", "expected", "metadata", NULL };
	static const char *const figures[] = { "run", "ms", "cost_usd", NULL };
	struct writer w;

	writer_begin(&w, out);
	writer_object(&w);
	for (const char *const *member = members; *member != NULL; member++)
		writer_member_span(&w, *member, span_member(t->item, *member));
	writer_member_string(&w, "variant", v->variant->name);
	writer_member_span(&w, "result", span_of(buffer_string(&v->result), v->result.len));
	for (const char *const *figure = figures; *figure != NULL; figure++)
		writer_member_span(&w, *figure, case_figure(v, *figure));
	writer_member_string(&w, "error", v->error);
	writer_object_end(&w);
	buffer_byte(out, '\n');
}

static void
case_add_verdict(struct tried *v, const char *name, enum eval_outcome outcome, struct span score, const char *why,
    const char *run)
{
	struct writer w;

	writer_begin(&w, &v->verdicts);
	w.comma = v->verdicts.len > 0;
	writer_object(&w);
	writer_member_string(&w, "check", name);
	writer_member_string(&w, "outcome", eval_outcome_words[outcome]);
	writer_member_span(&w, "score", score);
	if (*run != '\0')
		writer_member_string(&w, "run", run);
	if (why != NULL && *why != '\0') {
		writer_key(&w, "why");
		writer_bytes(&w, why, utf8_whole(why, strlen(why) < EVAL_WHY_MOST ? strlen(why) : EVAL_WHY_MOST));
	}
	writer_object_end(&w);
	if (outcome == EVAL_ERROR || (outcome == EVAL_FAIL && v->outcome == EVAL_PASS))
		v->outcome = outcome;
}

/* What eval_verdict_run() has said, of a message that the programs around it have each put their name before. */
static const char *
case_check_error(const char *message)
{
	static const char before[] = "awf-eval: ";

	for (const char *at = message; (at = strstr(at, before)) != NULL;)
		message = at += sizeof before - 1;
	return message;
}

/* The command line of a check. One that asks models is a child run, as then what they have answered can be taken over
 * from a run of the same check; any other is a group of the evaluation. In both a step that fails is no answer of the
 * check. fork: NULL. */
static char **
case_check_words(const struct trying *t, const struct eval_check *check, const char *name, const char *id_file,
    const char *fork, const struct buffer *item)
{
	static const char *const step[] = { "awf-step", "-r", "-i", "json", "--each", NULL };
	char **words = NULL;

	if (check->asks) {
		words = case_run_words(t, name, id_file, fork);
		if (fork != NULL)
			list_take(&words, memory_format("--input=" EVAL_VERDICT_INPUT "=%s", buffer_string(item)));
	} else {
		for (const char *const *word = step; *word != NULL; word++)
			list_add(&words, *word);
		list_add(&words, name);
	}
	list_add(&words, "--");
	list_add(&words, "awf-eval");
	list_add(&words, EVAL_VERDICT_WORD);
	list_add(&words, check->command);
	return words;
}

/* The run of the same check from which it may take over answers; NULL: none. To be freed. */
static char *
case_check_fork(const struct trying *t, const struct tried *v, const struct eval_check *check, const struct buffer *item)
{
	char *fork = NULL;

	if (t->s->reuse == NULL || !check->asks || item->len > EVAL_VERDICT_INPUT_MOST ||
	    memchr(item->data, '\0', item->len) != NULL)
		return NULL;
	fork = span_text(span_path(t->item, "checked", v->variant->name, check->name, NULL));
	if (fork == NULL && *t->s->reuse == '\0' && v->variant != t->s->variants && *t->judges[check - t->s->checks] != '\0')
		fork = memory_text(t->judges[check - t->s->checks]);
	return fork;
}

static int
case_run_check(struct trying *t, struct tried *v, const struct eval_check *check, const struct buffer *item,
    struct error *err)
{
	char *name = memory_format("%s-%s", v->variant->name, check->name), *id_file = path_join(t->directory, name);
	char *fork = case_check_fork(t, v, check, item), run[ID_SIZE] = "";
	struct subprocess p;
	int failed;

	for (bool again = true; again;) {
		char **words = case_check_words(t, check, name, id_file, fork, item);

		p = (struct subprocess){ .argv = words, .input = item->data, .input_len = item->len,
			.passes = fork != NULL ? case_passes : NULL };
		failed = subprocesses_run(&p, 1, NULL, err);
		list_free(words);
		case_take_id(id_file, run);
		/* Somebody would be asked whether a result may be taken over: then none is. */
		again = failed == 0 && p.exit_code == STATUS_WAITING && fork != NULL;
		free(fork);
		fork = NULL;
		if (again)
			subprocess_free(&p);
	}
	if (v->variant == t->s->variants)
		memcpy(t->judges[check - t->s->checks], run, ID_SIZE);
	if (failed == 0 && p.exit_code == STATUS_WAITING) {
		t->waits = true;
	} else if (failed == 0 && p.exit_code != 0) {
		case_add_verdict(v, check->name, EVAL_ERROR, SPAN_NONE, case_check_error(p.error.message), run);
	} else if (failed == 0) {
		struct span said = span_trim(span_of(buffer_string(&p.output), p.output.len));
		char *why = span_text(span_member(said, "why"));

		case_add_verdict(v, check->name, span_true(span_member(said, "pass")) ? EVAL_PASS : EVAL_FAIL,
		    span_member(said, "score"), why, run);
		free(why);
	}
	subprocess_free(&p);
	free(id_file);
	free(name);
	return failed;
}

static int
case_check(struct trying *t, struct tried *v, struct error *err)
{
	struct buffer item = BUFFER_INIT, why = BUFFER_INIT;
	long long ms;
	int failed = 0;

	case_write_item(t, v, &item);
	for (size_t i = 0; failed == 0 && !t->waits && i < t->s->check_count; i++) {
		const struct eval_check *check = &t->s->checks[i];

		if (check->command != NULL) {
			failed = case_run_check(t, v, check, &item, err);
		} else if (strcmp(check->name, "schema") == 0) {
			bool valid = schema_check_bytes(t->schema, buffer_string(&v->result), v->result.len, &why) == 0;

			case_add_verdict(v, check->name, valid ? EVAL_PASS : EVAL_FAIL, SPAN_NONE, buffer_string(&why), "");
		} else {
			case_add_verdict(v, check->name, span_integer(case_figure(v, "ms"), &ms) && ms <= t->s->max_ms ?
			    EVAL_PASS : EVAL_FAIL, SPAN_NONE, NULL, "");
		}
	}
	buffer_free(&item);
	buffer_free(&why);
	return failed;
}

/* ---- variants ---- */

static void
case_write_variant(const struct trying *t, const struct tried *v, struct writer *w)
{
	static const char *const figures[] = { "ms", "cost_usd", NULL };

	writer_object(w);
	writer_member_string(w, "variant", v->variant->name);
	writer_member_string(w, "outcome", eval_outcome_words[v->outcome]);
	if (v->run[0] != '\0')
		writer_member_string(w, "run", v->run);
	for (const char *const *figure = figures; *figure != NULL; figure++)
		writer_member_span(w, *figure, case_figure(v, *figure));
	writer_member_span(w, "paid_usd", t->s->recorded ? span_of("0", 1) : case_figure(v, "paid_usd"));
	writer_member_string(w, "error", v->error);
	writer_member_array(w, "checks");
	buffer_append(w->out, v->verdicts.data, v->verdicts.len);
	writer_array_end(w);
	writer_object_end(w);
}

/* Runs the workflow, and reads what its record says. first: the run of the first variant; NULL: none. */
static int
case_run_variant(struct trying *t, struct tried *v, const char *first, struct error *err)
{
	struct buffer output = BUFFER_INIT;
	char *fork = NULL;
	int status, failed = 0;

	if (t->s->reuse != NULL && *t->s->reuse != '\0')
		fork = span_text(span_path(t->item, "from", v->variant->name, NULL));
	else if (t->s->reuse != NULL && first != NULL)
		fork = memory_text(first);
	status = case_run_workflow(t, v, fork, &output, err);
	/* Somebody would be asked whether a result may be taken over: then none is. */
	if (status == STATUS_WAITING && fork != NULL)
		status = case_run_workflow(t, v, NULL, &output, err);
	if (status == STATUS_WAITING)
		t->waits = true;
	v->failed = status != 0;
	if (status == -1)
		failed = -1;
	else if (!t->waits && v->run[0] != '\0')
		failed = case_look(t, v, err);
	if (!v->failed)
		eval_value_of(&output, &v->result);
	free(fork);
	buffer_free(&output);
	return failed;
}

/* Takes the result from the run of an earlier evaluation. */
static int
case_take_variant(const struct trying *t, struct tried *v, struct error *err)
{
	struct span printed;
	int failed;

	v->failed = true;
	if (!span_copy(span_path(t->item, "from", v->variant->name, NULL), v->run, sizeof v->run)) {
		v->run[0] = '\0';
		v->error = memory_text("was not tried in the evaluation that is checked");
		return 0;
	}
	failed = case_look(t, v, err);
	printed = span_path(t->item, "printed", v->variant->name, NULL);
	v->failed = failed != 0 || span_true(case_figure(v, "failed")) || printed.at == NULL;
	if (!v->failed)
		buffer_append(&v->result, printed.at, printed.len);
	else if (v->error == NULL)
		v->error = memory_text("what it printed was not kept, or is no text");
	return failed;
}

/* Tries a variant. first: the run of the first variant; NULL: none. */
static int
case_try_variant(struct trying *t, struct tried *v, const char *first, struct error *err)
{
	int failed = t->s->recorded ? case_take_variant(t, v, err) : case_run_variant(t, v, first, err);

	v->outcome = v->failed && !(t->s->check_failures && v->run[0] != '\0') ? EVAL_ERROR : EVAL_PASS;
	if (v->failed)
		buffer_text(&v->result, "null");
	if (failed == 0 && !t->waits && v->outcome == EVAL_PASS)
		failed = case_check(t, v, err);
	/* A workflow that failed has not passed if nobody says so. */
	if (v->failed && v->outcome == EVAL_PASS && t->s->check_count == 0)
		v->outcome = EVAL_FAIL;
	return failed;
}

static int
case_try_variants(struct trying *t, struct error *err)
{
	struct buffer line = BUFFER_INIT;
	char first[ID_SIZE] = "";
	struct writer w;
	int failed = 0;

	writer_begin(&w, &line);
	writer_object(&w);
	writer_member_span(&w, "id", span_member(t->item, "id"));
	writer_member_span(&w, "k", span_member(t->item, "k"));
	writer_member_span(&w, "cluster", span_member(t->item, "cluster"));
	writer_member_array(&w, "variants");
	for (size_t i = 0; failed == 0 && !t->waits && i < t->s->variant_count; i++) {
		struct tried v = { .variant = &t->s->variants[i] };

		failed = case_try_variant(t, &v, *first != '\0' ? first : NULL, err);
		if (i == 0)
			memcpy(first, v.run, sizeof first);
		case_write_variant(t, &v, &w);
		buffer_free(&v.result);
		buffer_free(&v.verdicts);
		buffer_free(&v.figures);
		free(v.error);
	}
	writer_array_end(&w);
	writer_object_end(&w);
	if (failed == 0 && !t->waits)
		printf("%s\n", buffer_string(&line));
	buffer_free(&line);
	return failed;
}

struct schema *
eval_schema_load(const char *path, struct error *err)
{
	json_t *document = value_load(path, ERROR_DEFINITION, err);
	struct schema *schema = document != NULL ? schema_compile(document, SCHEMA_TYPOS, path, err) : NULL;

	json_decref(document);
	return schema;
}

char *
eval_make_directory(const struct storage *storage, struct error *err)
{
	const char *run = environment_text("AWF_RUN_ID");
	char *around = storage_run_directory(storage, run != NULL ? run : ""), *made = path_join(around, "awf-eval.XXXXXX");

	if (mkdtemp(made) == NULL) {
		error_errno(err, ERROR_SYSTEM, made, "unable to make");
		free(made);
		made = NULL;
	}
	free(around);
	return made;
}

int
eval_case_run(const struct eval_settings *s, struct error *err)
{
	struct trying t = { .s = s, .replays = run_environment_recreated(),
		.judges = memory_zero(s->check_count + 1, sizeof *t.judges) };
	struct run run;
	struct buffer line = BUFFER_INIT;
	char *place = NULL;
	int failed = file_read(STDIN_FILENO, &line, EVAL_INPUT_LIMIT) == 0 ? 0 :
	    error_errno(err, ERROR_SYSTEM, "stdin", "unable to read");

	signal(SIGPIPE, SIG_IGN);
	descendants_adopt();
	t.item = span_member(span_trim(span_of(buffer_string(&line), line.len)), "data");
	if (failed == 0 && (t.item.at == NULL || span_member(t.item, "id").at == NULL))
		failed = error_set(err, ERROR_INVALID_INPUT, "stdin", "is no case of an evaluation");
	if (failed == 0)
		failed = storage_locate(&t.storage, err);
	if (failed == 0 && (failed = run_enter(&run, err)) == 0) {
		t.attempt = run.attempt;
		run_close(&run);
	}
	if (failed == 0 && s->schema != NULL && (t.schema = eval_schema_load(s->schema, err)) == NULL)
		failed = -1;
	if (failed == 0 && (t.directory = place = eval_make_directory(&t.storage, err)) == NULL)
		failed = -1;
	if (failed == 0)
		failed = case_try_variants(&t, err);
	if (t.directory != NULL)
		rmdir(t.directory);
	schema_free(t.schema);
	storage_close(&t.storage);
	free(t.judges);
	free(place);
	buffer_free(&line);
	return failed == 0 && t.waits ? STATUS_WAITING : failed;
}
