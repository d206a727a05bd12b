/*
 * libyaml's events are converted to JSON by recursive descent of limited depth: anchors, aliases,
 * tags and second documents are events, and are rejected with their line. The types of plain
 * scalars are determined here, as libyaml returns them all as text. The line of each key is noted
 * under its path (KEY/INDEX/KEY).
 */
#include "formats/yaml.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "base/text.h"

#define PLACE_LIMIT 256 /* longer paths have no line number */
#define DIGITS "0123456789"

struct reading {
	yaml_parser_t parser;
	const char *path;    /* ends with NUL */
	const char *bytes, *end; /* the document */
	int first_line;
	unsigned depth;
	json_t *lines;       /* NULL unless asked for */
	struct buffer at;    /* the path of the current value: "KEY/INDEX/" */
	struct error *err;
};

static json_t *read_node(struct reading *r, const yaml_event_t *event);

/* Sets an error for a line of the document, counted from 0. Returns NULL. */
static json_t *
yaml_set_error(struct reading *r, size_t mark, const char *why)
{
	char *place = memory_format("%s:%zu", r->path, (size_t)r->first_line + mark);

	error_set(r->err, ERROR_DEFINITION, place, "%s", why);
	free(place);
	return NULL;
}

/* Whether the indentation of a line, counted from 0, contains a tab. */
static bool
tab_indents(const struct reading *r, size_t line)
{
	const char *at = r->bytes;

	while (line-- > 0 && (at = memchr(at, '\n', (size_t)(r->end - at))) != NULL)
		at++;
	return at != NULL &&
	    memchr(at, '\t', text_prefix_of(at, (size_t)(r->end - at), " \t")) != NULL;
}

/* libyaml's error messages, and what is reported instead, in the author's terms. For something that
 * is not closed, the line where it begins is reported (`begins`). */
static const struct complaint {
	const char *problem, *context; /* context NULL: any */
	bool begins;
	const char *said;
} complaints[] = {
	{ "found character that cannot start any token", NULL, false,
	    "a text that begins so has to stand in quotes" },
	{ "did not find expected ',' or ']'", NULL, true, "a '[' without its ']', or a comma is missing" },
	{ "did not find expected ',' or '}'", NULL, true, "a '{' without its '}', or a comma is missing" },
	{ "did not find expected node content", NULL, false,
	    "a value is missing, or a bracket too many is there" },
	{ "found unexpected end of stream", "while scanning a quoted scalar", true,
	    "a text in quotes has no end" },
	{ "found unknown escape character", NULL, false,
	    "a \\ in double quotes begins an escape: single quotes leave it as it is" },
	{ "did not find expected key", NULL, false,
	    "neither KEY: VALUE, nor indented as the lines before it" },
	{ "could not find expected ':'", NULL, true, "a line without a colon, where KEY: VALUE is expected" },
	{ "mapping values are not allowed in this context", NULL, false,
	    "a second colon in the line, or a line before it without one: a text with ': ' in it stands in quotes" },
	{ "block sequence entries are not allowed in this context", NULL, false,
	    "a list of dashes begins on a line of its own" },
	{ "did not find expected '-' indicator", NULL, false,
	    "what follows a list of dashes begins with a dash, or is indented less" },
	{ "did not find expected alphabetic or numeric character", NULL, false,
	    "a text that begins with '&' or '*' has to stand in quotes" },
	{ "did not find expected comment or line break", NULL, false,
	    "behind '|' or '>' the text begins on the next line" },
	{ NULL, NULL, false, NULL }
};

static int
next_event(struct reading *r, yaml_event_t *event)
{
	if (yaml_parser_parse(&r->parser, event))
		return 0;
	const char *problem = r->parser.problem;

	const struct complaint *c = complaints;
	size_t line = r->parser.problem_mark.line;

	while (c->problem != NULL && (problem == NULL || strcmp(problem, c->problem) != 0 ||
	    (c->context != NULL && (r->parser.context == NULL || strcmp(r->parser.context, c->context) != 0))))
		c++;
	if (c->problem != NULL && c->begins)
		line = r->parser.context_mark.line;
	if (c->problem != NULL)
		problem = tab_indents(r, line) ? "a tab indents it, where YAML takes spaces alone" : c->said;
	yaml_set_error(r, line, problem != NULL ? problem : "not YAML");
	return -1;
}

/* ---- scalars ---- */

static bool
is_digits(const char *text, const char *digits)
{
	return *text != '\0' && text[strspn(text, digits)] == '\0';
}

/* [-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )? */
static bool
is_float(const char *text)
{
	size_t whole, fraction = 0;

	text += *text == '-' || *text == '+';
	text += whole = strspn(text, DIGITS);
	if (*text == '.') {
		text++;
		text += fraction = strspn(text, DIGITS);
	}
	if (whole + fraction == 0)
		return false;
	if (*text == 'e' || *text == 'E') {
		text++;
		text += *text == '-' || *text == '+';
		return is_digits(text, DIGITS);
	}
	return *text == '\0';
}

/* Converts the whole text, which is known to be a number; the locale is "C". base 0: a number with
 * a fraction; a decimal integer that is too large is read as such, too. */
static json_t *
number_of(struct reading *r, const char *text, int base, size_t line)
{
	double number;

	if (base != 0) {
		long long integer;

		errno = 0;
		integer = strtoll(text, NULL, base);
		if (errno == 0)
			return json_integer(integer);
	}
	number = base == 0 || base == 10 ? strtod(text, NULL) : INFINITY;
	return isfinite(number) ? json_real(number) :
	    yaml_set_error(r, line, "the number is too large");
}

/* YAML 1.2.2, section 10.3.2. */
static json_t *
plain_scalar(struct reading *r, const char *text, size_t len, size_t line)
{
	static const char *const nulls[] = { "", "~", "null", "Null", "NULL", NULL };
	static const char *const trues[] = { "true", "True", "TRUE", NULL };
	static const char *const falses[] = { "false", "False", "FALSE", NULL };
	static const char *const infinities[] = { ".inf", ".Inf", ".INF", ".nan", ".NaN",
		".NAN", NULL };
	const char *unsigned_text = text + (*text == '-' || *text == '+');

	if (text_index(text, nulls) != -1)
		return json_null();
	if (text_index(text, trues) != -1)
		return json_true();
	if (text_index(text, falses) != -1)
		return json_false();
	if (text_index(unsigned_text, infinities) != -1)
		return yaml_set_error(r, line, "infinities and NaN are not supported");
	if (is_digits(unsigned_text, DIGITS))
		return number_of(r, text, 10, line);
	if (strncmp(text, "0o", 2) == 0 && is_digits(text + 2, "01234567"))
		return number_of(r, text + 2, 8, line);
	if (strncmp(text, "0x", 2) == 0 && is_digits(text + 2, DIGITS "abcdefABCDEF"))
		return number_of(r, text + 2, 16, line);
	if (is_float(text))
		return number_of(r, text, 0, line);
	return json_stringn(text, len);
}

/* ---- collections ---- */

static json_t *
read_value(struct reading *r)
{
	yaml_event_t event;
	json_t *value;

	if (next_event(r, &event) != 0)
		return NULL;
	value = read_node(r, &event);
	yaml_event_delete(&event);
	return value;
}

/* Appends the name of a member or element to the current path, and notes the line of the event.
 * Returns the previous length of the path, to go back. */
static size_t
step_into(struct reading *r, const char *name, const yaml_event_t *event)
{
	size_t before = r->at.len;

	buffer_text(&r->at, name);
	if (r->lines != NULL && r->at.len <= PLACE_LIMIT)
		json_object_set_new(r->lines, r->at.data,
		    json_integer(r->first_line + (json_int_t)event->start_mark.line));
	buffer_byte(&r->at, '/');
	return before;
}

static json_t *
read_sequence(struct reading *r)
{
	json_t *array = json_array(), *value;
	yaml_event_t event;

	while (next_event(r, &event) == 0) {
		char index[24];
		size_t before;

		if (event.type == YAML_SEQUENCE_END_EVENT) {
			yaml_event_delete(&event);
			return array;
		}
		snprintf(index, sizeof index, "%zu", json_array_size(array));
		before = step_into(r, index, &event);
		value = read_node(r, &event);
		r->at.len = before;
		yaml_event_delete(&event);
		if (value == NULL)
			break;
		json_array_append_new(array, value);
	}
	json_decref(array);
	return NULL;
}

/* Reads a key, which is the event, and its value. */
static int
read_member(struct reading *r, const yaml_event_t *event, json_t *object)
{
	size_t line = event->start_mark.line, before;
	const char *key = (const char *)event->data.scalar.value;
	json_t *name, *value;

	if (event->type != YAML_SCALAR_EVENT) {
		yaml_set_error(r, line, "a key must be a text");
		return -1;
	}
	if (strlen(key) != event->data.scalar.length) {
		yaml_set_error(r, line, "a key must not hold NUL");
		return -1;
	}
	if (event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && strcmp(key, "<<") == 0) {
		yaml_set_error(r, line, "merge keys are not supported");
		return -1;
	}
	if (json_object_get(object, key) != NULL) {
		char *why = memory_format("'%s' is there twice", key);

		yaml_set_error(r, line, why);
		free(why);
		return -1;
	}
	name = read_node(r, event);
	if (name == NULL)
		return -1;
	json_decref(name);
	before = step_into(r, key, event);
	value = read_value(r);
	r->at.len = before;
	return value == NULL ? -1 : json_object_set_new(object, key, value);
}

static json_t *
read_mapping(struct reading *r)
{
	json_t *object = json_object();
	yaml_event_t event;
	int result = 0;

	while (result == 0 && next_event(r, &event) == 0) {
		if (event.type == YAML_MAPPING_END_EVENT) {
			yaml_event_delete(&event);
			return object;
		}
		result = read_member(r, &event, object);
		yaml_event_delete(&event);
	}
	json_decref(object);
	return NULL;
}

/* Reads the value that begins with the event, which the caller deletes. */
static json_t *
read_node(struct reading *r, const yaml_event_t *event)
{
	bool scalar = event->type == YAML_SCALAR_EVENT, sequence = event->type ==
	    YAML_SEQUENCE_START_EVENT;
	const yaml_char_t *anchor = scalar ? event->data.scalar.anchor : sequence ?
	    event->data.sequence_start.anchor : event->data.mapping_start.anchor;
	const yaml_char_t *tag = scalar ? event->data.scalar.tag : sequence ?
	    event->data.sequence_start.tag : event->data.mapping_start.tag;
	size_t line = event->start_mark.line;
	json_t *value;

	if (event->type == YAML_ALIAS_EVENT || anchor != NULL || tag != NULL)
		return yaml_set_error(r, line, "anchors, aliases and tags are not supported");
	if (scalar) {
		const char *text = (const char *)event->data.scalar.value;
		size_t len = event->data.scalar.length;

		if (event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
			return plain_scalar(r, text, len, line);
		value = json_stringn(text, len);
		return value != NULL ? value : yaml_set_error(r, line, "the text is not UTF-8");
	}
	if (r->depth >= YAML_DEPTH_LIMIT)
		return yaml_set_error(r, line, "nested too deeply");
	r->depth++;
	value = sequence ? read_sequence(r) : read_mapping(r);
	r->depth--;
	return value;
}

json_t *
yaml_parse(const char *bytes, size_t len, const char *path, int first_line, json_t **lines,
    struct error *err)
{
	struct reading r = { .path = path, .bytes = bytes, .end = bytes + len, .first_line = first_line, .err = err };
	json_t *value = NULL;
	bool done = false, failed = false;
	yaml_event_t event;

	if (len > YAML_SIZE_LIMIT)
		return yaml_set_error(&r, 0, "too large");
	if (!yaml_parser_initialize(&r.parser))
		return yaml_set_error(&r, 0, "out of memory");
	yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&r.parser, (const unsigned char *)bytes, len);
	r.lines = lines == NULL ? NULL : json_object();

	/* The events of a document, between the begin and the end of the stream. */
	while (!done && !failed) {
		if (next_event(&r, &event) != 0) {
			failed = true;
		} else if (event.type == YAML_STREAM_END_EVENT) {
			done = true;
		} else if (event.type == YAML_DOCUMENT_START_EVENT && value != NULL) {
			yaml_set_error(&r, event.start_mark.line, "more than one document");
			failed = true;
		} else if (event.type == YAML_DOCUMENT_START_EVENT) {
			value = read_value(&r);
			failed = value == NULL;
		}
		yaml_event_delete(&event);
	}
	if (failed) {
		json_decref(value);
		value = NULL;
	} else if (value == NULL) {
		value = json_null();
	}
	yaml_parser_delete(&r.parser);
	buffer_free(&r.at);
	if (lines != NULL)
		*lines = r.lines;
	return value;
}
