/*
 * awf-mask-patterns: masks what matches patterns in events that pass through it, for awf-run
 * --mask. Strings are matched decoded, so that a secret is found however it is written in JSON.
 * Members that identify an event are not changed.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../program.h"
#include "base/digest.h"
#include "base/memory.h"
#include "base/options.h"
#include "io/terminal.h"
#include "json/line_input.h"
#include "json/writer.h"
#include "patterns.h"
#include "transcript/event_keys.h"
#include "transcript/redaction.h"

#define PROGRAM "awf-mask-patterns"
#define USAGE PROGRAM " FILE <events >masked"

static const struct option_spec none[] = { { OPTION_END, 0, NULL, NULL, NULL } };

/* An event that is being masked. */
struct work {
	struct patterns *patterns;
	bool step;             /* it belongs to a call of a step */
	const char **binary;   /* values that are bytes in base64, in the order of the line */
	size_t binary_count, binary_next;
	struct span refused;   /* key of a member that contains a secret and cannot be masked */
	struct buffer *out;
};

static void put_value(struct work *w, struct span value, bool data, enum cut cut);

/* Writes a string, or a number in data; if something in it is masked, as a string. */
static void
put_scalar(struct work *w, struct span value, enum cut cut)
{
	struct buffer text = BUFFER_INIT, masked = BUFFER_INIT;

	if (span_type(value) == 's')
		span_decode(value, &text);
	else
		buffer_append(&text, value.at, value.len);
	if (patterns_mask(w->patterns, buffer_string(&text), text.len, cut, &masked))
		json_quote(w->out, masked.data, masked.len);
	else
		buffer_append(w->out, value.at, value.len);
	buffer_free(&text);
	buffer_free(&masked);
}

/* Writes bytes that are not UTF-8, as base64. */
static void
put_bytes(struct work *w, struct span value)
{
	struct buffer code = BUFFER_INIT, bytes = BUFFER_INIT, masked = BUFFER_INIT;

	span_decode(value, &code);
	if (base64_decode(buffer_string(&code), code.len, &bytes) == -1 ||
	    !patterns_mask(w->patterns, buffer_string(&bytes), bytes.len, CUT_NOWHERE, &masked)) {
		buffer_append(w->out, value.at, value.len);
	} else {
		buffer_byte(w->out, '"');
		base64_encode(masked.data, masked.len, w->out);
		buffer_byte(w->out, '"');
	}
	buffer_free(&code);
	buffer_free(&bytes);
	buffer_free(&masked);
}

/* Writes a key in data. Keys must be unique, so a masked one gets the number of the member. */
static void
put_key(struct work *w, struct span object, struct span key, size_t number)
{
	struct buffer text = BUFFER_INIT, masked = BUFFER_INIT;
	bool taken;

	span_decode(key, &text);
	if (patterns_mask(w->patterns, buffer_string(&text), text.len, CUT_NOWHERE, &masked)) {
		buffer_format(&masked, " %zu", number);
		do {
			taken = false;
			for (struct span_walk member = span_walk(object); !taken && span_next(&member);) {
				buffer_clear(&text);
				span_decode(member.key, &text);
				taken = text.len == masked.len &&
				    memcmp(buffer_string(&text), masked.data, text.len) == 0;
			}
			if (taken)
				buffer_byte(&masked, '\'');
		} while (taken);
		json_quote(w->out, masked.data, masked.len);
	} else {
		buffer_append(w->out, key.at, key.len);
	}
	buffer_free(&text);
	buffer_free(&masked);
}

/* Identifiers are not changed; those that come from outside of AWF are checked for secrets. */
static void
put_fixed(struct work *w, struct span key, struct span value)
{
	static const char *const foreign[] = { KEY_PATH, KEY_CALL, KEY_CALL_ID, KEY_TOOL_ID };
	struct buffer text = BUFFER_INIT;

	buffer_append(w->out, value.at, value.len);
	for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
		if (!span_is(key, foreign[i]))
			continue;
		span_decode(value, &text);
		if (patterns_found(w->patterns, buffer_string(&text), text.len))
			w->refused = key;
	}
	buffer_free(&text);
}

static void
put_object(struct work *w, struct span object, bool data)
{
	size_t number = 0;

	buffer_byte(w->out, '{');
	for (struct span_walk member = span_walk(object); span_next(&member);) {
		struct span key = member.key;

		if (number++ > 0)
			buffer_byte(w->out, ',');
		if (data)
			put_key(w, object, key, number);
		else
			buffer_append(w->out, key.at, key.len);
		buffer_byte(w->out, ':');
		if (data)
			put_value(w, member.value, true, CUT_NOWHERE);
		else if (redaction_is_fixed(key, w->step))
			put_fixed(w, key, member.value);
		else /* awf-step truncates stderr at its beginning, and messages at their end */
			put_value(w, member.value, redaction_is_data(key),
			    span_is(key, KEY_STDERR) ? CUT_BEGIN :
			    span_is(key, KEY_MESSAGE) ? CUT_END : CUT_NOWHERE);
	}
	buffer_byte(w->out, '}');
}

static void
put_value(struct work *w, struct span value, bool data, enum cut cut)
{
	bool comma = false;

	switch (span_type(value)) {
	case 'o':
		put_object(w, value, data);
		return;
	case 'a':
		buffer_byte(w->out, '[');
		for (struct span_walk element = span_walk(value); span_next(&element);) {
			if (comma)
				buffer_byte(w->out, ',');
			comma = true;
			put_value(w, element.value, data, CUT_NOWHERE);
		}
		buffer_byte(w->out, ']');
		return;
	case 's':
		if (w->binary_next < w->binary_count && value.at == w->binary[w->binary_next]) {
			w->binary_next++;
			put_bytes(w, value);
		} else {
			put_scalar(w, value, cut);
		}
		return;
	case 'n':
		if (data) {
			put_scalar(w, value, cut);
			return;
		}
		break;
	}
	buffer_append(w->out, value.at, value.len);
}

/* Writes the event of a line with its payload masked. */
static int
mask_line(struct patterns *p, const char *line, size_t len, int64_t number, struct buffer *out,
    struct error *err)
{
	static const char step[] = "\"step.";
	struct work w = { .patterns = p, .out = out };
	struct buffer minified = BUFFER_INIT;
	struct span event, type;
	size_t bad;
	const char *why = scan_within(line, len, SCAN_LINE_DEPTH, &bad);
	char place[64], separator = '{';

	snprintf(place, sizeof place, "stdin:%lld", (long long)number);
	if (why != NULL)
		return error_set(err, ERROR_INVALID_INPUT, place, "byte %zu: %s", bad + 1, why);
	if (span_type(span_of(line, len)) != 'o')
		return error_set(err, ERROR_INVALID_INPUT, place, "is no object");
	scan_minify(span_of(line, len), &minified);
	event = span_of(minified.data, minified.len);
	type = span_member(event, KEY_TYPE);
	w.step = type.len > sizeof step && memcmp(type.at, step, sizeof step - 1) == 0;
	for (struct span_walk ref = span_walk(span_member(event, KEY_REFS)); span_next(&ref);) {
		char *at = span_text(span_member(ref.value, KEY_AT));

		w.binary = memory_array(w.binary, w.binary_count + 1, sizeof *w.binary);
		w.binary[w.binary_count++] = at != NULL ? pointer_find(event, at).at : NULL;
		free(at);
	}

	for (struct span_walk member = span_walk(event); span_next(&member);) {
		buffer_byte(out, separator);
		separator = ',';
		buffer_append(out, member.key.at, member.key.len);
		buffer_byte(out, ':');
		if (span_is(member.key, KEY_PAYLOAD))
			put_value(&w, member.value, false, CUT_NOWHERE);
		else
			put_fixed(&w, member.key, member.value);
	}
	buffer_text(out, separator == '{' ? "{}\n" : "}\n");
	if (w.refused.at != NULL)
		error_set(err, ERROR_SYSTEM, place, "a secret is in %.*s, which cannot be masked",
		    (int)w.refused.len, w.refused.at);
	free(w.binary);
	buffer_free(&minified);
	return w.refused.at != NULL ? -1 : 0;
}

/* Each line is written before the next one is read. */
static int
mask_copy_lines(const char *path, struct error *err)
{
	struct patterns patterns;
	struct line_input input;
	struct buffer out = BUFFER_INIT;
	const char *line;
	size_t len;
	int got = patterns_load(&patterns, path, err) == 0 ? 1 : -1;

	line_input_begin(&input, STDIN_FILENO, "stdin");
	while (got == 1 && (got = line_input_next(&input, &line, &len, err)) == 1) {
		buffer_clear(&out);
		if (mask_line(&patterns, line, len, input.lines, &out, err) == -1)
			got = -1;
		else if (terminal_write_json(STDOUT_FILENO, out.data, out.len) == -1)
			got = error_errno(err, ERROR_SYSTEM, "stdout", "unable to write");
	}
	if (got == 0 && line_input_unfinished(&input) > 0)
		got = error_set(err, ERROR_INVALID_INPUT, "stdin", "the last line has no end");
	line_input_free(&input);
	patterns_free(&patterns);
	buffer_free(&out);
	return got;
}

/* Returns OPTION_END and the file, or what options_next() returned. */
static int
mask_read_options(int argc, char **argv, const char **path, struct error *err)
{
	struct options o;
	int id;

	options_begin(&o, none, argc, argv);
	while ((id = options_next(&o, err)) == OPTION_WORD) {
		if (*path != NULL)
			return error_set(err, ERROR_USAGE, o.value, "one FILE only");
		*path = o.value;
	}
	if (id == OPTION_END && *path == NULL)
		return error_set(err, ERROR_USAGE, NULL, "no FILE of patterns given (see --help)");
	return id;
}

int
main(int argc, char **argv)
{
	struct error err = ERROR_INIT;
	const char *path = NULL;

	program_begin();
	switch (mask_read_options(argc, argv, &path, &err)) {
	case OPTION_HELP:
		options_help(stdout, USAGE, none, OPTION_HELP);
		return program_end(PROGRAM, STATUS_OK);
	case OPTION_VERSION:
		return program_end(PROGRAM, program_version(PROGRAM));
	case OPTION_END:
		if (mask_copy_lines(path, &err) == 0)
			return STATUS_OK;
	}
	return program_fail(PROGRAM, &err);
}
