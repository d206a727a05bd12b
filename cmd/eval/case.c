/* Everything is started by name (awf-run, awf-step, awf-diff): awf-run has put its own directory into PATH. */
#include "eval/case.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"
#include "eval/results.h"
#include "io/file.h"
#include "io/path.h"
#include "json/value.h"
#include "json/writer.h"
#include "model/cost.h"
#include "model/summary.h"
#include "proc/descendants.h"
#include "proc/environment.h"
#include "proc/process.h"
#include "proc/subprocess.h"
#include "schema/schema.h"
#include "storage/storage.h"

#define INPUT_LIMIT ((size_t)256 << 20)
#define WHY_MOST 500         /* bytes of what a check says */

/* A case on its way. */
struct trying {
	const struct eval_settings *s;
	struct span item;        /* of the state line: id, k, input … */
	struct storage storage;
	struct schema *schema;   /* NULL */
	char *directory;         /* for files with ids of runs */
	bool waits;
};

/* A variant in it. */
struct tried {
	const struct eval_variant *variant;
	enum eval_outcome outcome;
	bool failed;             /* the workflow has */
	char run[ID_SIZE];
	struct buffer result;    /* JSON */
	int64_t ms;              /* -1: not known */
	int64_t cost, paid;      /* nano-dollars; COST_UNKNOWN */
	char *error;             /* NULL */
	struct buffer verdicts;  /* JSON, of the checks so far */
};

/* ---- the workflow ---- */

/* What a program has printed, as a value: JSON; the data of a state line, a text of which may be JSON in turn;
 * otherwise text without its last LF. */
static void
case_value_of(const struct buffer *output, struct buffer *out)
{
	struct span text = span_trim(span_of(buffer_string(output), output->len)), data;
	struct buffer inner = BUFFER_INIT;
	size_t len = output->len, bad;

	if (text.len > 0 && utf8_valid(text.at, text.len) && scan_check(text.at, text.len, &bad) == NULL) {
		data = span_member(text, "data");
		if (data.at == NULL || span_path(text, "metadata", "run_id", NULL).at == NULL) {
			scan_minify(text, out);
		} else {
			span_plain(data, &inner);
			text = span_trim(span_of(buffer_string(&inner), inner.len));
			if (text.len > 0 && scan_check(text.at, text.len, &bad) == NULL)
				scan_minify(text, out);
			else
				scan_minify(data, out);
		}
		buffer_free(&inner);
		return;
	}
	while (len > 0 && output->data[len - 1] == '\n')
		len--;
	json_quote(out, buffer_string(output), len);
}

/* Appends a value as the text that a program reads: a string without its quotes. */
static void
case_write_input(struct span input, struct buffer *out)
{
	span_plain(input, out);
	if (out->len == 0 || out->data[out->len - 1] != '\n')
		buffer_byte(out, '\n');
}

/* The command line that runs the workflow of a variant. id_file: where its id is put; fork: NULL. */
static char **
case_workflow_words(const struct trying *t, const struct eval_variant *v, const char *id_file, const char *fork)
{
	char *const *workflow = v->workflow != NULL ? v->workflow : t->s->workflow;
	char **words = NULL;

	list_add(&words, "awf-run");
	if (t->s->check_failures)
		list_add(&words, "--try");
	list_take(&words, memory_format("--name=%s", v->name));
	list_take(&words, memory_format("--id-file=%s", id_file));
	for (char **variable = v->variables; variable != NULL && *variable != NULL; variable++)
		list_take(&words, memory_format("--env=%.*s", (int)strcspn(*variable, "="), *variable));
	for (char **input = v->inputs; input != NULL && *input != NULL; input++)
		list_take(&words, memory_format("--input=%s", *input));
	if (fork != NULL)
		list_take(&words, memory_format("--fork=%s", fork));
	list_add(&words, "--");
	for (; *workflow != NULL; workflow++)
		list_add(&words, *workflow);
	return words;
}

/* Runs the workflow. Returns its exit status; -1: *err. */
static int
case_run_workflow(const struct trying *t, struct tried *v, const char *fork, struct buffer *output, struct error *err)
{
	char *id_file = memory_format("%s/%s", t->directory, v->variant->name);
	char **words = case_workflow_words(t, v->variant, id_file, fork);
	struct buffer input = BUFFER_INIT, id = BUFFER_INIT;
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
		.input_len = input.len };
	unlink(id_file);
	v->run[0] = '\0';
	status = subprocesses_run(&p, 1, NULL, err) == 0 ? p.exit_code : -1;
	if (status == -1 && err->code == ERROR_NONE)
		*err = p.error;
	if (file_load(id_file, ID_SIZE + 1, &id, NULL) == 0 && id.len >= ID_SIZE - 1) {
		memcpy(v->run, id.data, ID_SIZE - 1);
		v->run[ID_SIZE - 1] = '\0';
	}
	free(v->error);
	v->error = status > 0 ? memory_text(p.error.message) : NULL;
	buffer_clear(output);
	buffer_append(output, p.output.data, p.output.len);
	subprocess_free(&p);
	environment_free(&environment);
	list_free(words);
	unlink(id_file);
	free(id_file);
	buffer_free(&input);
	buffer_free(&id);
	return status;
}

/* What all calls of a fork would have cost, had nothing been taken over: awf-diff knows, which follows what was
 * taken over to where it was made. */
static int64_t
case_cost_unforked(const char *original, const char *run)
{
	const char *const words[] = { "awf-diff", "--json", original, run, NULL };
	struct subprocess p = { .argv = (char *const *)(uintptr_t)words, .quiet = true };
	struct error ignored = ERROR_INIT;
	double dollars = 0;
	bool known = subprocesses_run(&p, 1, NULL, &ignored) == 0 && (p.exit_code == 0 || p.exit_code == 1);

	for (const char *at = buffer_string(&p.output), *end; known && (end = strchr(at, '\n')) != NULL; at = end + 1) {
		struct span line = span_of(at, (size_t)(end - at)), cost = span_path(line, "figures", "b", "cost", NULL);

		if (span_type(cost) == 'n' && span_member(line, "path").at != NULL)
			dollars += strtod(cost.at, NULL);
	}
	subprocess_free(&p);
	return known ? (int64_t)(dollars * 1e9 + 0.5) : COST_UNKNOWN;
}

/* Reads from the run's record how long it took, and what it cost. */
static void
case_read_figures(struct trying *t, struct tried *v, const char *original)
{
	char *path = storage_transcript(&t->storage, v->run);
	struct error ignored = ERROR_INIT;
	struct summary summary;
	struct cost cost;

	if (summary_read(&summary, path, &ignored) == 0) {
		struct span why = span_of(summary.error != NULL ? summary.error : "", summary.error != NULL ? strlen(summary.error) : 0);
		char *message = v->error != NULL ? span_text(span_member(why, "message")) : NULL;

		v->ms = summary.duration_ms;
		if (message != NULL) {
			free(v->error);
			v->error = message;
		}
		summary_free(&summary);
	}
	if (cost_begin(&cost, &ignored) == 0 && cost_read(&cost, path, &ignored) == 0)
		v->paid = v->cost = cost_sum(&cost);
	cost_free(&cost);
	if (original != NULL && v->paid != COST_UNKNOWN)
		v->cost = case_cost_unforked(original, v->run);
	free(path);
}

/* ---- checks ---- */

static void
case_write_dollars(struct writer *w, const char *key, int64_t nano)
{
	struct buffer text = BUFFER_INIT;

	if (nano == COST_UNKNOWN || nano < 0)
		return;
	buffer_format(&text, "%lld.%09lld", (long long)(nano / 1000000000), (long long)(nano % 1000000000));
	while (text.data[text.len - 1] == '0' && text.data[text.len - 2] != '.')
		text.len--;
	writer_member_span(w, key, span_of(text.data, text.len));
	buffer_free(&text);
}

/* What a check reads. */
static void
case_write_item(const struct trying *t, const struct tried *v, struct buffer *out)
{
	static const char *const members[] = { "id", "k", "input", "expected", "metadata", NULL };
	struct writer w;

	writer_begin(&w, out);
	writer_object(&w);
	for (const char *const *member = members; *member != NULL; member++)
		writer_member_span(&w, *member, span_member(t->item, *member));
	writer_member_string(&w, "variant", v->variant->name);
	writer_member_span(&w, "result", span_of(buffer_string(&v->result), v->result.len));
	writer_member_string(&w, "run", v->run);
	if (v->ms >= 0)
		writer_member_integer(&w, "ms", v->ms);
	case_write_dollars(&w, "cost_usd", v->cost);
	writer_member_string(&w, "error", v->error);
	writer_object_end(&w);
	buffer_byte(out, '\n');
}

static void
case_add_verdict(struct tried *v, const char *name, enum eval_outcome outcome, struct span score, const char *why)
{
	struct writer w;

	writer_begin(&w, &v->verdicts);
	w.comma = v->verdicts.len > 0;
	writer_object(&w);
	writer_member_string(&w, "check", name);
	writer_member_string(&w, "outcome", eval_outcome_words[outcome]);
	writer_member_span(&w, "score", score);
	if (why != NULL && *why != '\0') {
		writer_key(&w, "why");
		writer_bytes(&w, why, utf8_whole(why, strlen(why) < WHY_MOST ? strlen(why) : WHY_MOST));
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

/* Runs a check as a group of the evaluation: so what it asks a model is recorded, and not asked again; and a step
 * in it that fails is no answer of the check. */
static int
case_run_check(struct trying *t, struct tried *v, const struct eval_check *check, const struct buffer *item,
    struct error *err)
{
	char *name = memory_format("%s-%s", v->variant->name, check->name);
	const char *const words[] = { "awf-step", "-r", "-i", "json", "--each", name, "--", "awf-eval", EVAL_VERDICT_WORD,
		check->command, NULL };
	struct subprocess p = { .argv = (char *const *)(uintptr_t)words, .input = buffer_string(item), .input_len = item->len };
	int failed = subprocesses_run(&p, 1, NULL, err);

	if (failed == 0 && p.exit_code == STATUS_WAITING) {
		t->waits = true;
	} else if (failed == 0 && p.exit_code != 0) {
		case_add_verdict(v, check->name, EVAL_ERROR, SPAN_NONE, case_check_error(p.error.message));
	} else if (failed == 0) {
		struct span said = span_trim(span_of(buffer_string(&p.output), p.output.len));
		char *why = span_text(span_member(said, "why"));

		case_add_verdict(v, check->name, span_true(span_member(said, "pass")) ? EVAL_PASS : EVAL_FAIL,
		    span_member(said, "score"), why);
		free(why);
	}
	subprocess_free(&p);
	free(name);
	return failed;
}

static int
case_check(struct trying *t, struct tried *v, struct error *err)
{
	struct buffer item = BUFFER_INIT, why = BUFFER_INIT;
	int failed = 0;

	case_write_item(t, v, &item);
	for (size_t i = 0; failed == 0 && !t->waits && i < t->s->check_count; i++) {
		const struct eval_check *check = &t->s->checks[i];

		if (check->command != NULL) {
			failed = case_run_check(t, v, check, &item, err);
		} else if (strcmp(check->name, "schema") == 0) {
			bool valid = schema_check_bytes(t->schema, buffer_string(&v->result), v->result.len, &why) == 0;

			case_add_verdict(v, check->name, valid ? EVAL_PASS : EVAL_FAIL, SPAN_NONE, buffer_string(&why));
		} else {
			case_add_verdict(v, check->name, v->ms >= 0 && v->ms <= t->s->max_ms ? EVAL_PASS : EVAL_FAIL, SPAN_NONE,
			    NULL);
		}
	}
	buffer_free(&item);
	buffer_free(&why);
	return failed;
}

/* ---- variants ---- */

static void
case_write_variant(const struct tried *v, struct writer *w)
{
	writer_object(w);
	writer_member_string(w, "variant", v->variant->name);
	writer_member_string(w, "outcome", eval_outcome_words[v->outcome]);
	if (v->run[0] != '\0')
		writer_member_string(w, "run", v->run);
	if (v->ms >= 0)
		writer_member_integer(w, "ms", v->ms);
	case_write_dollars(w, "cost_usd", v->cost);
	case_write_dollars(w, "paid_usd", v->paid);
	writer_member_string(w, "error", v->error);
	writer_member_array(w, "checks");
	buffer_append(w->out, v->verdicts.data, v->verdicts.len);
	writer_array_end(w);
	writer_object_end(w);
}

/* Tries a variant. first: the run of the first variant; NULL: none. */
static int
case_try_variant(struct trying *t, struct tried *v, const char *first, struct error *err)
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
	if (status == STATUS_WAITING && fork != NULL) {
		free(fork);
		fork = NULL;
		status = case_run_workflow(t, v, NULL, &output, err);
	}
	if (status == STATUS_WAITING)
		t->waits = true;
	v->failed = status != 0;
	v->outcome = v->failed && !t->s->check_failures ? EVAL_ERROR : EVAL_PASS;
	if (status != -1 && !t->waits && v->run[0] != '\0')
		case_read_figures(t, v, fork);
	if (v->failed)
		buffer_text(&v->result, "null");
	else
		case_value_of(&output, &v->result);
	if (status == -1)
		failed = -1;
	else if (!t->waits && v->outcome == EVAL_PASS)
		failed = case_check(t, v, err);
	/* A workflow that failed has not passed if nobody says so. */
	if (v->failed && v->outcome == EVAL_PASS && t->s->check_count == 0)
		v->outcome = EVAL_FAIL;
	free(fork);
	buffer_free(&output);
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
		struct tried v = { .variant = &t->s->variants[i], .ms = -1, .cost = COST_UNKNOWN, .paid = COST_UNKNOWN };

		failed = case_try_variant(t, &v, *first != '\0' ? first : NULL, err);
		if (i == 0)
			memcpy(first, v.run, sizeof first);
		case_write_variant(&v, &w);
		buffer_free(&v.result);
		buffer_free(&v.verdicts);
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

/* ---- what a check says ---- */

/* A verdict that cannot be one is an error, lest a judge that answers in its own way passes everything. Only text may be
 * anything, as programs print what they have found. NULL, or what is wrong with it. */
static const char *
verdict_fault(struct span said, struct span pass, struct span score)
{
	const struct span number = span_type(said) == 'n' ? said : score;

	switch (span_type(said)) {
	case 'o':
		/* An approval, or another filter, passes on what the check reads. */
		if (span_member(said, "variant").at != NULL && span_member(said, "result").at != NULL)
			return NULL;
		if (pass.at == NULL && score.at == NULL)
			return "an object with neither pass nor score";
		if (pass.at != NULL && span_type(pass) != 't' && span_type(pass) != 'f')
			return "a pass that is neither true nor false";
		break;
	case 'a':
		return "an array";
	case '0':
		return "null";
	case 's':
		if (said.at[1] == '{')
			return "an object that is not JSON";
		break;
	default:
		break;
	}
	if (number.at != NULL && (span_type(number) != 'n' || strtod(number.at, NULL) < 0 || strtod(number.at, NULL) > 1))
		return "a score that is no number from 0 to 1";
	return NULL;
}

/* Prints the verdict: {"pass", "score", "why"}. passed: what the exit status of the command says. -1: *err. */
static int
verdict_print(const struct buffer *output, bool passed, struct error *err)
{
	struct buffer value = BUFFER_INIT, why = BUFFER_INIT, line = BUFFER_INIT;
	struct span said, score, pass;
	const char *fault;
	struct writer w;

	case_value_of(output, &value);
	said = span_of(buffer_string(&value), value.len);
	pass = span_member(said, "pass");
	score = span_member(said, "score");
	fault = passed ? verdict_fault(said, pass, score) : NULL;
	if (fault != NULL) {
		buffer_free(&value);
		return error_set(err, ERROR_EXIT_STATUS, NULL,
		    "printed %s, which is no verdict; if the exit status is to decide, discard the output (>/dev/null)", fault);
	}
	switch (span_type(said)) {
	case 'o':
		span_plain(span_member(said, "why"), &why);
		if (span_type(pass) == 't' || span_type(pass) == 'f')
			passed &= span_true(pass);
		else if (span_type(score) == 'n')
			passed &= strtod(score.at, NULL) >= 0.5;
		break;
	case 'n':
		score = said;
		passed &= strtod(said.at, NULL) >= 0.5;
		break;
	case 'f':
		passed = false;
		break;
	case 's':
		/* Python's word. */
		if (span_is(said, "False"))
			passed = false;
		else if (!passed)
			span_decode(said, &why);
		break;
	default:
		break;
	}
	writer_begin(&w, &line);
	writer_object(&w);
	writer_member_bool(&w, "pass", passed);
	writer_member_span(&w, "score", span_type(score) == 'n' ? score : SPAN_NONE);
	if (why.len > 0) {
		writer_key(&w, "why");
		writer_bytes(&w, why.data, utf8_whole(why.data, why.len < WHY_MOST ? why.len : WHY_MOST));
	}
	writer_object_end(&w);
	printf("%s\n", buffer_string(&line));
	buffer_free(&value);
	buffer_free(&why);
	buffer_free(&line);
	return 0;
}

int
eval_verdict_run(const char *command, struct error *err)
{
	struct buffer line = BUFFER_INIT, item = BUFFER_INIT;
	struct subprocess p = { .told_as = NULL };
	char *words[4];
	int status;

	signal(SIGPIPE, SIG_IGN);
	descendants_adopt();
	if (file_read(STDIN_FILENO, &line, INPUT_LIMIT) != 0)
		return error_errno(err, ERROR_SYSTEM, "stdin", "unable to read");
	span_plain(span_member(span_trim(span_of(buffer_string(&line), line.len)), "data"), &item);
	buffer_byte(&item, '\n');
	process_shell(words, command);
	p.argv = words;
	p.input = item.data;
	p.input_len = item.len;
	status = subprocesses_run(&p, 1, NULL, err) == 0 ? p.exit_code : -1;
	if (status == 0 || status == 1)
		status = verdict_print(&p.output, status == 0, err);
	else if (status != -1)
		error_set(err, ERROR_EXIT_STATUS, NULL, "%s", p.error.message);
	subprocess_free(&p);
	buffer_free(&line);
	buffer_free(&item);
	return status == 0 || status == STATUS_WAITING ? status : -1;
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
	struct trying t = { .s = s };
	struct buffer line = BUFFER_INIT;
	char *place = NULL;
	int failed = file_read(STDIN_FILENO, &line, INPUT_LIMIT) == 0 ? 0 :
	    error_errno(err, ERROR_SYSTEM, "stdin", "unable to read");

	signal(SIGPIPE, SIG_IGN);
	descendants_adopt();
	t.item = span_member(span_trim(span_of(buffer_string(&line), line.len)), "data");
	if (failed == 0 && (t.item.at == NULL || span_member(t.item, "id").at == NULL))
		failed = error_set(err, ERROR_INVALID_INPUT, "stdin", "is no case of an evaluation");
	if (failed == 0)
		failed = storage_locate(&t.storage, err);
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
	free(place);
	buffer_free(&line);
	return failed == 0 && t.waits ? STATUS_WAITING : failed;
}
