/* The item is the data of a state line, the line itself, or, in a check that is a fork, the input that was given to it: its
 * standard input is that of the run it was forked from. */
#include "eval/verdict.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "io/file.h"
#include "json/scan.h"
#include "json/writer.h"
#include "proc/descendants.h"
#include "proc/environment.h"
#include "proc/process.h"
#include "proc/subprocess.h"

void
eval_value_of(const struct buffer *output, struct buffer *out)
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

	eval_value_of(output, &value);
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
		writer_bytes(&w, why.data, utf8_whole(why.data, why.len < EVAL_WHY_MOST ? why.len : EVAL_WHY_MOST));
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
	const char *given = environment_text("AWF_INPUT_" EVAL_VERDICT_INPUT);
	struct buffer line = BUFFER_INIT, item = BUFFER_INIT;
	struct subprocess p = { .told_as = NULL };
	struct span read, data;
	char *words[4];
	int status;

	signal(SIGPIPE, SIG_IGN);
	descendants_adopt();
	if (file_read(STDIN_FILENO, &line, EVAL_INPUT_LIMIT) != 0)
		return error_errno(err, ERROR_SYSTEM, "stdin", "unable to read");
	read = span_trim(span_of(buffer_string(&line), line.len));
	data = span_member(read, "data");
	if (given != NULL)
		buffer_text(&item, given);
	else if (data.at != NULL)
		span_plain(data, &item);
	else
		buffer_append(&item, read.at, read.len);
	if (item.len == 0 || item.data[item.len - 1] != '\n')
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
