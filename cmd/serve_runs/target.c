/*
 * The text is split at separators first, then each part is decoded in place: an escaped separator
 * does not separate.
 */
#include "serve_runs/target.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

static const struct refusal bad_target = { 400, "invalid_input",
	"what is asked for must be a path that begins with a slash" };
static const struct refusal bad_escape = { 400, "invalid_input",
	"an escape in the URL is none, or of a character that has no place there" };
static const struct refusal too_deep = { 404, "not_found", "there is nothing of this name" };
static const struct refusal too_many = { 400, "invalid_input", "too many parameters" };
static const struct refusal twice = { 400, "invalid_input", "a parameter is given twice" };

static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes %-escapes; false if one is invalid. plus: + means a space, as in parameters. */
static bool
target_decode_percent(char *text, bool plus)
{
	char *out = text;

	for (const char *at = text; *at != '\0'; at++) {
		unsigned char c = (unsigned char)*at;

		if (c == '%') {
			int high = hex_digit(at[1]), low = high != -1 ? hex_digit(at[2]) : -1;

			if (low == -1)
				return false;
			c = (unsigned char)(high << 4 | low);
			at += 2;
		} else if (c == '+' && plus) {
			c = ' ';
		}
		if (c < ' ' || c == 0x7f)
			return false;
		*out++ = (char)c;
	}
	*out = '\0';
	return utf8_valid(text, strlen(text));
}

static const struct refusal *
read_parameters(struct target *t, char *at)
{
	while (at != NULL && *at != '\0') {
		char *next = strchr(at, '&'), *value;

		if (next != NULL)
			*next++ = '\0';
		if ((value = strchr(at, '=')) != NULL)
			*value++ = '\0';
		else
			value = at + strlen(at);
		if (*at != '\0') {
			if (!target_decode_percent(at, true) || !target_decode_percent(value, true))
				return &bad_escape;
			if (target_parameter(t, at) != NULL)
				return &twice;
			if (t->parameter_count == TARGET_PARAMETERS)
				return &too_many;
			t->parameters[t->parameter_count].name = at;
			t->parameters[t->parameter_count++].value = value;
		}
		at = next;
	}
	return NULL;
}

const struct refusal *
target_read(struct target *t, struct span raw)
{
	char *at, *query;

	*t = (struct target){ .text = memory_copy(raw.at, raw.len) };
	if (*t->text != '/' || strchr(t->text, '#') != NULL)
		return &bad_target;
	query = strchr(t->text, '?');
	if (query != NULL)
		*query++ = '\0';
	for (at = t->text; at != NULL && at[1] != '\0';) {
		char *segment = at + 1;

		at = strchr(segment, '/');
		if (at != NULL)
			*at = '\0';
		if (t->segment_count == TARGET_SEGMENTS)
			return &too_deep;
		if (!target_decode_percent(segment, false))
			return &bad_escape;
		t->segments[t->segment_count++] = segment;
		/* A slash at the end of the path is ignored. */
		if (at != NULL && at[1] == '\0')
			break;
	}
	return read_parameters(t, query);
}

const char *
target_parameter(const struct target *t, const char *name)
{
	for (size_t i = 0; i < t->parameter_count; i++)
		if (strcmp(t->parameters[i].name, name) == 0)
			return t->parameters[i].value;
	return NULL;
}

bool
target_number(const struct target *t, const char *name, int64_t most, int64_t *value)
{
	const char *text = target_parameter(t, name);
	int64_t number = 0;

	if (text == NULL)
		return true;
	if (*text == '\0' || strlen(text) > 18)
		return false;
	for (; *text != '\0'; text++) {
		if (*text < '0' || *text > '9')
			return false;
		number = number * 10 + (*text - '0');
	}
	if (number > most)
		return false;
	*value = number;
	return true;
}

const char *
target_unknown(const struct target *t, const char *words)
{
	for (size_t i = 0; i < t->parameter_count; i++) {
		size_t len = strlen(t->parameters[i].name);
		const char *at = words;

		while ((at = strstr(at, t->parameters[i].name)) != NULL &&
		    ((at > words && at[-1] != ' ') || at[len] != ' '))
			at++;
		if (at == NULL || strchr(t->parameters[i].name, ' ') != NULL)
			return t->parameters[i].name;
	}
	return NULL;
}

void
target_free(struct target *t)
{
	free(t->text);
	*t = (struct target){ .text = NULL };
}
