/*
 * libyaml's events are read by recursive descent, whose depth is limited, straight into JSON:
 * anchors, aliases, tags and second documents are events, and refused where they stand. Plain
 * scalars are told apart by hand, as libyaml leaves them text. Where a key stands is noted by
 * its path (KEY/INDEX/KEY).
 */
#include "agent/yaml.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/buffer.h"
#include "base/memory.h"

#define PLACE_LIMIT 256 /* bytes of a place whose line is noted */

struct reading {
	yaml_parser_t parser;
	const char *path;
	int first_line;
	unsigned depth;
	json_t *lines;       /* NULL unless asked for */
	struct buffer at;    /* where in the document: "KEY/INDEX/" */
	struct error *err;
};

static json_t *read_node(struct reading *r, const yaml_event_t *event);

/* Always NULL, so that it can be returned. mark is counted from 0. */
static json_t *
refuse(struct reading *r, size_t mark, const char *why)
{
	char *place = memory_format("%s:%zu", r->path, (size_t)r->first_line + mark);

	error_set(r->err, ERROR_DEFINITION, place, "%s", why);
	free(place);
	return NULL;
}

static int
next_event(struct reading *r, yaml_event_t *event)
{
	if (yaml_parser_parse(&r->parser, event))
		return 0;
	refuse(r, r->parser.problem_mark.line,
	    r->parser.problem != NULL ? r->parser.problem : "not YAML");
	return -1;
}

static bool
is_one_of(const char *text, const char *const *words)
{
	for (; *words != NULL; words++)
		if (strcmp(text, *words) == 0)
			return true;
	return false;
}

static bool
is_digits(const char *text, const char *digits)
{
	return *text != '\0' && text[strspn(text, digits)] == '\0';
}

/* [-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )? */
static bool
is_float(const char *text)
{
	static const char digits[] = "0123456789";
	size_t whole, fraction = 0;

	text += *text == '-' || *text == '+';
	text += whole = strspn(text, digits);
	if (*text == '.') {
		text++;
		text += fraction = strspn(text, digits);
	}
	if (whole + fraction == 0)
		return false;
	if (*text == 'e' || *text == 'E') {
		text++;
		text += *text == '-' || *text == '+';
		return is_digits(text, digits);
	}
	return *text == '\0';
}

/* strtod() and strtoll() take all of what was recognised; the locale is "C". */
static json_t *
float_of(struct reading *r, const char *text, size_t line)
{
	double number = strtod(text, NULL);

	return isfinite(number) ? json_real(number) : refuse(r, line, "the number is too large");
}

static json_t *
integer_of(struct reading *r, const char *text, int base, size_t line)
{
	long long number;

	errno = 0;
	number = strtoll(text, NULL, base);
	if (errno == 0)
		return json_integer(number);
	return base == 10 ? float_of(r, text, line)
	    : refuse(r, line, "the number is too large");
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

	if (is_one_of(text, nulls))
		return json_null();
	if (is_one_of(text, trues))
		return json_true();
	if (is_one_of(text, falses))
		return json_false();
	if (is_one_of(unsigned_text, infinities))
		return refuse(r, line, "infinities and NaN are not supported");
	if (is_digits(unsigned_text, "0123456789"))
		return integer_of(r, text, 10, line);
	if (strncmp(text, "0o", 2) == 0 && is_digits(text + 2, "01234567"))
		return integer_of(r, text + 2, 8, line);
	if (strncmp(text, "0x", 2) == 0 && is_digits(text + 2, "0123456789abcdefABCDEF"))
		return integer_of(r, text + 2, 16, line);
	if (is_float(text))
		return float_of(r, text, line);
	return json_stringn(text, len);
}

static json_t *
read_scalar(struct reading *r, const yaml_event_t *event)
{
	const char *text = (const char *)event->data.scalar.value;
	size_t len = event->data.scalar.length, line = event->start_mark.line;
	json_t *value;

	if (event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
		return plain_scalar(r, text, len, line);
	value = json_stringn(text, len);
	return value != NULL ? value : refuse(r, line, "the text is not UTF-8");
}

/* Notes the line of the value of a key, or of an element, and goes there. Returns how
 * far the way was before. */
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

static void
step_back(struct reading *r, size_t before)
{
	r->at.len = before;
}

static json_t *
read_element(struct reading *r, size_t index, const yaml_event_t *event)
{
	char name[24];
	size_t before;
	json_t *value;

	snprintf(name, sizeof name, "%zu", index);
	before = step_into(r, name, event);
	value = read_node(r, event);
	step_back(r, before);
	return value;
}

static json_t *
read_sequence(struct reading *r)
{
	json_t *array = json_array(), *value;
	yaml_event_t event;

	while (next_event(r, &event) == 0) {
		if (event.type == YAML_SEQUENCE_END_EVENT) {
			yaml_event_delete(&event);
			return array;
		}
		value = read_element(r, json_array_size(array), &event);
		yaml_event_delete(&event);
		if (value == NULL)
			break;
		json_array_append_new(array, value);
	}
	json_decref(array);
	return NULL;
}

static void
refuse_twice(struct reading *r, size_t line, const char *key)
{
	char *why = memory_format("'%s' is there twice", key);

	refuse(r, line, why);
	free(why);
}

/* Whether the event can be a key of the object, which it must be new to. */
static bool
is_key(struct reading *r, const yaml_event_t *event, const json_t *object)
{
	size_t line = event->start_mark.line;
	const char *key = (const char *)event->data.scalar.value;
	bool plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;

	if (event->type != YAML_SCALAR_EVENT)
		refuse(r, line, "a key must be a text");
	else if (strlen(key) != event->data.scalar.length)
		refuse(r, line, "a key must not hold NUL");
	else if (plain && strcmp(key, "<<") == 0)
		refuse(r, line, "merge keys are not supported");
	else if (json_object_get(object, key) != NULL)
		refuse_twice(r, line, key);
	else
		return true;
	return false;
}

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

/* One key and its value, whose first event is the key's. */
static int
read_member(struct reading *r, const yaml_event_t *event, json_t *object)
{
	const char *key = (const char *)event->data.scalar.value;
	json_t *name, *value;
	size_t before;

	if (!is_key(r, event, object))
		return -1;
	name = read_node(r, event);
	if (name == NULL)
		return -1;
	json_decref(name);
	before = step_into(r, key, event);
	value = read_value(r);
	step_back(r, before);
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

static json_t *
read_collection(struct reading *r, const yaml_event_t *event)
{
	json_t *value;

	if (r->depth >= YAML_DEPTH_LIMIT)
		return refuse(r, event->start_mark.line, "nested too deeply");
	r->depth++;
	value = event->type == YAML_MAPPING_START_EVENT ? read_mapping(r) : read_sequence(r);
	r->depth--;
	return value;
}

static bool
has_properties(const yaml_char_t *anchor, const yaml_char_t *tag)
{
	return anchor != NULL || tag != NULL;
}

static bool
is_decorated(const yaml_event_t *event)
{
	switch (event->type) {
	case YAML_ALIAS_EVENT:
		return true;
	case YAML_SCALAR_EVENT:
		return has_properties(event->data.scalar.anchor, event->data.scalar.tag);
	case YAML_SEQUENCE_START_EVENT:
		return has_properties(event->data.sequence_start.anchor,
		    event->data.sequence_start.tag);
	default:
		return has_properties(event->data.mapping_start.anchor,
		    event->data.mapping_start.tag);
	}
}

/* The value that begins with the event, which stays the caller's. */
static json_t *
read_node(struct reading *r, const yaml_event_t *event)
{
	if (is_decorated(event))
		return refuse(r, event->start_mark.line,
		    "anchors, aliases and tags are not supported");
	return event->type == YAML_SCALAR_EVENT ? read_scalar(r, event)
	    : read_collection(r, event);
}

/* The document of a stream, which begins and ends around it. */
static json_t *
read_document(struct reading *r)
{
	yaml_event_t event;
	yaml_event_type_t type;
	json_t *value = NULL;
	size_t line;

	while (next_event(r, &event) == 0) {
		type = event.type;
		line = event.start_mark.line;
		yaml_event_delete(&event);
		if (type == YAML_STREAM_END_EVENT)
			return value != NULL ? value : json_null();
		if (type != YAML_DOCUMENT_START_EVENT)
			continue;
		if (value != NULL) {
			refuse(r, line, "more than one document");
			break;
		}
		value = read_value(r);
		if (value == NULL)
			break;
	}
	json_decref(value);
	return NULL;
}

json_t *
yaml_parse(const char *bytes, size_t len, const char *path, int first_line, json_t **lines,
    struct error *err)
{
	struct reading r = { .path = path, .first_line = first_line, .err = err };
	json_t *value;

	if (len > YAML_SIZE_LIMIT)
		return refuse(&r, 0, "too large");
	if (!yaml_parser_initialize(&r.parser))
		return refuse(&r, 0, "out of memory");
	yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&r.parser, (const unsigned char *)bytes, len);
	r.lines = lines == NULL ? NULL : json_object();
	value = read_document(&r);
	yaml_parser_delete(&r.parser);
	buffer_free(&r.at);
	if (lines != NULL)
		*lines = r.lines;
	return value;
}
