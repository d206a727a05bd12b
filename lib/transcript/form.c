/*
 * Checks a line recursively, guided by the event table: a shape lists the members of an object, and
 * what each must be.
 */
#include "transcript/form.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/invariant.h"
#include "json/bytes.h"
#include "transcript/event_keys.h"
#include "transcript/event_table.h"
#include "transcript/seal.h"

struct cursor {
	const char *line, *at, *end;
	struct form *form;
	struct form_fault *fault;
};

static bool
form_set_fault(struct cursor *c, enum form_rule rule, const char *at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static bool
form_set_fault(struct cursor *c, enum form_rule rule, const char *at, const char *format, ...)
{
	char text[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	INVARIANT(at >= c->line && at <= c->end);
	c->fault->rule = rule;
	c->fault->at = (size_t)(at - c->line);
	error_set(&c->fault->what, ERROR_SCHEMA, NULL, "%s", text);
	return false;
}

static bool
form_refuse_member(struct cursor *c, const struct event_member *member, const char *wanted)
{
	return form_set_fault(c, FORM_SCHEMA, c->at, "\"%s\" is not %s", member->key, wanted);
}

static void
skip_space(struct cursor *c)
{
	while (c->at < c->end &&
	    (*c->at == ' ' || *c->at == '\t' || *c->at == '\n' || *c->at == '\r'))
		c->at++;
}

static bool
form_accept_byte(struct cursor *c, char byte)
{
	skip_space(c);
	if (c->at == c->end || *c->at != byte)
		return false;
	c->at++;
	skip_space(c);
	return true;
}

/* Checks a value of any kind as JSON. */
static bool
is_any(struct cursor *c, struct span *value)
{
	size_t end, bad;
	const char *why = scan_value(c->at, (size_t)(c->end - c->at), SCAN_LINE_DEPTH, &end, &bad);

	if (why != NULL)
		return form_set_fault(c, FORM_JSON, c->at + bad, "%s", why);
	*value = span_of(c->at, end);
	c->at += end;
	INVARIANT(c->at <= c->end);
	return true;
}

static bool
form_next_is(const struct cursor *c, char byte)
{
	return c->at < c->end && *c->at == byte;
}

/* Whether the first byte of the value is one of the bytes of `first`, which tell its type. */
static bool
is_a(struct cursor *c, const struct event_member *member, const char *first, const char *wanted,
    struct span *value)
{
	if (c->at < c->end && (*c->at == first[0] || *c->at == first[1]))
		return is_any(c, value);
	return form_refuse_member(c, member, wanted);
}

static bool
is_integer(struct cursor *c, const struct event_member *member, struct span *value)
{
	const char *at = c->at;

	if (at < c->end && *at == '-')
		at++;
	if (at == c->end || *at < '0' || *at > '9')
		return form_refuse_member(c, member, "a whole number");
	if (!is_any(c, value))
		return false;
	for (; at < c->at; at++) {
		if (*at < '0' || *at > '9') {
			c->at = value->at;
			return form_set_fault(c, FORM_NOTATION, c->at,
			    "\"%s\" is not written as a whole number", member->key);
		}
	}
	return true;
}

/* The text of a string token of exactly len bytes between its quotes, or NULL. */
static const char *
token_of(const struct cursor *c, size_t len)
{
	if ((size_t)(c->end - c->at) < len + 2 || *c->at != '"' || c->at[len + 1] != '"')
		return NULL;
	return c->at + 1;
}

static bool
form_accept_token(struct cursor *c, size_t len, struct span *value)
{
	*value = span_of(c->at, len + 2);
	c->at += len + 2;
	INVARIANT(c->at <= c->end);
	return true;
}

static inline bool
all_digits(const char *at, size_t len)
{
	unsigned wrong = 0;

	for (size_t i = 0; i < len; i++)
		wrong |= (unsigned char)(at[i] - '0') > 9;
	return wrong == 0;
}

/* Whether the bytes from `from` to `stop` are hex digits; both are inside a line that ends at
 * `end`. */
static inline bool
is_hex(const char *from, const char *stop, const char *end)
{
	return bytes_not_hex(from, end) == stop;
}

static bool
is_all_hex(const char *at, size_t len, const char *end)
{
	return is_hex(at, at + len, end);
}

static bool
is_uuid(const char *at, size_t len, const char *end)
{
	return at[8] == '-' && at[13] == '-' && at[18] == '-' && at[23] == '-' && at[14] == '4' &&
	    (at[19] == '8' || at[19] == '9' || at[19] == 'a' || at[19] == 'b') &&
	    is_hex(at, at + 8, end) && is_hex(at + 9, at + 13, end) && is_hex(at + 14, at + 18, end) &&
	    is_hex(at + 19, at + 23, end) && is_hex(at + 24, at + len, end);
}

static int
two_digits(const char *at)
{
	return (at[0] - '0') * 10 + (at[1] - '0');
}

/* Checks a time such as 2026-11-21T08:15:30.123456Z: the separators, then the numbers. */
static bool
is_time(const char *at, size_t len, const char *end)
{
	int month, day;

	(void)len, (void)end;
	if (at[4] != '-' || at[7] != '-' || at[10] != 'T' || at[13] != ':' || at[16] != ':' ||
	    at[19] != '.' || at[26] != 'Z' || !all_digits(at, 4) || !all_digits(at + 5, 2) ||
	    !all_digits(at + 8, 2) || !all_digits(at + 11, 2) || !all_digits(at + 14, 2) ||
	    !all_digits(at + 17, 2) || !all_digits(at + 20, 6))
		return false;
	month = two_digits(at + 5);
	day = two_digits(at + 8);
	return month >= 1 && month <= 12 && day >= 1 && day <= 31 && two_digits(at + 11) <= 23 &&
	    two_digits(at + 14) <= 59 && two_digits(at + 17) <= 60;
}

static inline bool
name_byte(char byte)
{
	unsigned char letter = (unsigned char)(byte | 0x20);

	return (letter >= 'a' && letter <= 'z') || (byte >= '0' && byte <= '9') || byte == '_' ||
	    byte == '-';
}

static bool
is_path(struct cursor *c, const struct event_member *member, struct span *value)
{
	const char *at;

	if (!form_next_is(c, '"'))
		return form_refuse_member(c, member, "a string");
	at = c->at + 1;
	while (at < c->end && (name_byte(*at) ||
	    (*at == '.' && name_byte(at[-1]) && at + 1 < c->end && name_byte(at[1]))))
		at++;
	if (at == c->end || *at != '"')
		return form_refuse_member(c, member, "names separated by dots");
	*value = span_of(c->at, (size_t)(at + 1 - c->at));
	c->at = at + 1;
	return true;
}

static bool
is_positive(struct cursor *c, const struct event_member *member, struct span *value)
{
	return form_next_is(c, '-') || form_next_is(c, '0') ? form_refuse_member(c, member, "1 or more") :
	    is_integer(c, member, value);
}

static bool
is_word(struct cursor *c, const struct event_member *member, struct span *value)
{
	for (const char *const *word = member->words; *word != NULL; word++) {
		const size_t len = strlen(*word);
		const char *text = token_of(c, len);

		if (text && memcmp(text, *word, len) == 0)
			return form_accept_token(c, len, value);
	}
	return form_refuse_member(c, member, "one of the words that awf-transcript(5) lists");
}

/* Kinds of values that are known by their first byte, one of two, or are a text of one length in a
 * notation of its own. */
static const struct notation {
	const char *wanted, *first;
	size_t len;
	bool (*fits)(const char *at, size_t len, const char *end);
} notations[KIND_PAYLOAD + 1] = {
	[KIND_OBJECT] = { "an object", "{", 0, NULL },
	[KIND_ARRAY] = { "an array", "[", 0, NULL },
	[KIND_TEXT] = { "a string", "\"", 0, NULL },
	[KIND_BOOL] = { "true or false", "tf", 0, NULL },
	[KIND_UUID] = { "a UUID, version 4, in lower case", NULL, ID_SIZE - 1, is_uuid },
	[KIND_DIGEST] = { "a digest of 64 lower-case hex digits", NULL, DIGEST_SIZE - 1, is_all_hex },
	[KIND_SIGNATURE] = { "a signature of 128 lower-case hex digits", NULL, SEAL_SIGNATURE, is_all_hex },
	[KIND_TIME] = { "a time as 2026-11-21T08:15:30.123456Z", NULL, CLOCK_TEXT_SIZE - 1, is_time },
};

static bool check_object(struct cursor *c, const struct event_shape *shape);

/* Checks one value: that of the member, or an element if the member is a list. */
static bool
check_one(struct cursor *c, const struct event_member *member, struct span *value)
{
	const struct notation *notation = &notations[member->kind];
	const char *start = c->at, *text;
	long long seq;

	if (member->shape != NULL && (member->kind == KIND_OBJECT || !form_next_is(c, '"'))) {
		if (!check_object(c, member->shape))
			return false;
		*value = span_of(start, (size_t)(c->at - start));
		return true;
	}
	switch (member->kind) {
	case KIND_ANY:
		break;
	case KIND_OBJECT:
	case KIND_ARRAY:
	case KIND_TEXT:
	case KIND_BOOL:
		return is_a(c, member, notation->first, notation->wanted, value);
	case KIND_UUID:
	case KIND_DIGEST:
	case KIND_SIGNATURE:
	case KIND_TIME:
		text = token_of(c, notation->len);
		if (text == NULL || !notation->fits(text, notation->len, c->end))
			return form_refuse_member(c, member, notation->wanted);
		return form_accept_token(c, notation->len, value);
	case KIND_INTEGER:
		return is_integer(c, member, value);
	case KIND_COUNT:
		return form_next_is(c, '-') ? form_refuse_member(c, member, "0 or more") :
		    is_integer(c, member, value);
	case KIND_POSITIVE:
		return is_positive(c, member, value);
	case KIND_SEQ:
		if (!is_positive(c, member, value))
			return false;
		if (!span_integer(*value, &seq)) {
			c->at = start;
			return form_refuse_member(c, member, "a number of 63 bits");
		}
		c->form->seq = seq;
		return true;
	case KIND_PATH:
		return is_path(c, member, value);
	case KIND_POINTER:
		if (!form_next_is(c, '"') || c->end - c->at < 2 || c->at[1] != '/')
			return form_refuse_member(c, member, "a JSON pointer");
		break;
	case KIND_WORD:
		return is_word(c, member, value);
	case KIND_TYPE:
		if (!is_a(c, member, "\"", "a string", value))
			return false;
		c->form->type = event_type_from_name(value->at + 1, value->len - 2);
		return true;
	case KIND_PAYLOAD:
		if (c->form->type == EVENT_TYPES)
			return is_a(c, member, "{n", "an object", value);
		if (!check_object(c, event_table[c->form->type].payload))
			return false;
		*value = span_of(start, (size_t)(c->at - start));
		return true;
	}
	return is_any(c, value);
}

static bool
check_list(struct cursor *c, const struct event_member *member, struct span *value)
{
	const char *start = c->at;
	struct span element;

	if (!form_next_is(c, '['))
		return form_refuse_member(c, member, "an array");
	c->at++;
	skip_space(c);
	if (form_next_is(c, ']') && (member->flags & MEMBER_NOT_EMPTY)) {
		c->at = start;
		return form_refuse_member(c, member, "an array of one or more");
	}
	if (!form_next_is(c, ']')) {
		do {
			if (!check_one(c, member, &element))
				return false;
		} while (form_accept_byte(c, ','));
	}
	skip_space(c);
	if (!form_next_is(c, ']'))
		return form_set_fault(c, FORM_JSON, c->at, "expected ',' or ']'");
	c->at++;
	*value = span_of(start, (size_t)(c->at - start));
	return true;
}

static inline bool
key_is_next(const struct cursor *c, const struct event_member *member)
{
	size_t len = member->len;

	return (size_t)(c->end - c->at) > len + 1 && c->at[0] == '"' && c->at[1] == member->key[0] &&
	    c->at[len + 1] == '"' && memcmp(c->at + 1, member->key, len) == 0;
}

/* Finds the member whose key comes next; NULL: not a member of the shape, whose keys need no
 * escapes. Writers keep the order, so the search starts at `first`. */
static const struct event_member *
find_member(const struct cursor *c, const struct event_shape *shape, size_t first)
{
	const struct event_member *members = shape->members;

	for (size_t i = first; i < shape->count; i++)
		if (key_is_next(c, &members[i]))
			return &members[i];
	for (size_t i = 0; i < first; i++)
		if (key_is_next(c, &members[i]))
			return &members[i];
	return NULL;
}

/* Checks one member. *members_seen has a bit for each member that was met; the search in the
 * table starts at *next, as writers keep the order. */
static bool
check_member(struct cursor *c, const struct event_shape *shape, size_t *next,
    uint64_t *members_seen)
{
	const struct event_member *member = find_member(c, shape, *next);
	struct span key = SPAN_NONE, other, *value;
	size_t index;

	if (member != NULL) {
		key = span_of(c->at, member->len + 2);
		c->at += key.len;
	} else if (!form_next_is(c, '"')) {
		return form_set_fault(c, FORM_JSON, c->at, "expected a key");
	} else if (!is_any(c, &key)) {
		return false;
	}
	if (!form_accept_byte(c, ':'))
		return form_set_fault(c, FORM_JSON, c->at, "expected ':'");
	if (member == NULL) {
		if (c->form->unknown_key.at == NULL)
			c->form->unknown_key = key;
		return is_any(c, &other);
	}
	index = (size_t)(member - shape->members);
	*next = index + 1;
	if (*members_seen >> index & 1)
		return form_set_fault(c, FORM_NOTATION, key.at, "\"%s\" stands twice in %s",
		    member->key, shape->name);
	if (shape->ordered && *members_seen >> index != 0)
		return form_set_fault(c, FORM_NOTATION, key.at, "\"%s\" is out of order",
		    member->key);
	INVARIANT(index < shape->count && shape->count <= 64);
	INVARIANT(member->into + sizeof(struct span) <= sizeof(struct form));
	*members_seen |= UINT64_C(1) << index;

	value = (struct span *)(void *)((char *)c->form + member->into);
	if ((member->flags & MEMBER_NULLABLE) && form_next_is(c, 'n'))
		return is_any(c, value);
	return member->flags & MEMBER_LIST ? check_list(c, member, value) :
	    check_one(c, member, value);
}

static bool
check_object(struct cursor *c, const struct event_shape *shape)
{
	const char *start = c->at;
	uint64_t members_seen = 0;
	size_t next = 0;

	if (!form_next_is(c, '{'))
		return form_set_fault(c, FORM_SCHEMA, c->at, "%s is not an object", shape->name);
	c->at++;
	skip_space(c);
	if (!form_next_is(c, '}')) {
		do {
			if (!check_member(c, shape, &next, &members_seen))
				return false;
		} while (form_accept_byte(c, ','));
	}
	skip_space(c);
	if (!form_next_is(c, '}'))
		return form_set_fault(c, FORM_JSON, c->at, "expected ',' or '}'");
	c->at++;
	for (size_t i = 0; i < shape->count; i++) {
		if ((shape->members[i].flags & MEMBER_REQUIRED) && !(members_seen >> i & 1))
			return form_set_fault(c, FORM_SCHEMA, start, "\"%s\" is missing in %s",
			    shape->members[i].key, shape->name);
	}
	return true;
}

/* For a line that is not JSON, this message comes before any other. */
static int
form_check_json(struct cursor *c)
{
	size_t len = (size_t)(c->end - c->line), bad;
	const char *why = scan_within(c->line, len, SCAN_LINE_DEPTH, &bad);

	if (why != NULL)
		form_set_fault(c, FORM_JSON, c->line + bad, "%s", why);
	return -1;
}

static bool
is_within(struct span value, const char *line, size_t len)
{
	return value.at >= line && value.at + value.len <= line + len;
}

/* What must be true of a line that has passed; callers rely on it. */
static bool
form_holds(const struct form *form, const char *line, size_t len)
{
	return form->seq > 0 && is_within(form->timestamp, line, len) &&
	    form->timestamp.len == CLOCK_TEXT_SIZE - 1 + 2 && is_within(form->event_id, line, len) &&
	    form->event_id.len == ID_SIZE - 1 + 2 && is_within(form->run_id, line, len) &&
	    form->run_id.len == ID_SIZE - 1 + 2 && is_within(form->parent_event_id, line, len) &&
	    is_within(form->type_name, line, len) && is_within(form->path, line, len) &&
	    is_within(form->payload, line, len) && (!form->foreign || form->type == EVENT_TYPES);
}

int
form_check(const char *line, size_t len, struct form *form, struct form_fault *found)
{
	static const char first[] = "{\"seq\":", last[] = "\"prev\":\"";
	struct cursor c = { line, line, line + len, form, found };

	memset(form, 0, sizeof *form);
	form->type = EVENT_TYPES;
	skip_space(&c);
	if (!check_object(&c, &event_line))
		return form_check_json(&c);
	skip_space(&c);
	if (c.at != c.end) {
		form_set_fault(&c, FORM_JSON, c.at, "something follows the object");
		return form_check_json(&c);
	}
	/* The payload has the form of its type, but readers must not treat the event as one of that
	 * type. */
	form->foreign = event_is_foreign(form->type, form->payload);
	if (form->foreign)
		form->type = EVENT_TYPES;
	if (memcmp(line, first, sizeof first - 1) != 0) {
		form_set_fault(&c, FORM_NOTATION, line, "\"seq\" is not the first key");
		return -1;
	}
	if (memcmp(line + len - 64 - 2 - (sizeof last - 1), last, sizeof last - 1) != 0) {
		form_set_fault(&c, FORM_NOTATION, line, "\"prev\" is not the last key");
		return -1;
	}
	INVARIANT(form_holds(form, line, len));
	return 0;
}

/* Checks that the text is one object of a shape, and nothing else. */
static int
check_alone(const char *text, size_t len, const struct event_shape *shape, struct form_fault *found)
{
	struct form form;
	struct cursor c = { text, text, text + len, &form, found };

	memset(&form, 0, sizeof form);
	skip_space(&c);
	if (!check_object(&c, shape))
		return form_check_json(&c);
	skip_space(&c);
	if (c.at == c.end)
		return 0;
	form_set_fault(&c, FORM_JSON, c.at, "something follows the object");
	return -1;
}

int
form_check_answer(const char *line, size_t len, struct form_fault *found)
{
	return check_alone(line, len, &event_answer, found);
}

int
form_check_tool(const char *payload, size_t len, struct form_fault *found)
{
	return check_alone(payload, len, &event_tool, found);
}

int
form_check_payload(enum event_type type, const char *payload, size_t len,
    struct form_fault *found)
{
	static const struct event_shape any = { .name = "its payload" };

	return check_alone(payload, len, type == EVENT_TYPES ? &any : event_table[type].payload, found);
}

void
form_link(struct span link, struct span *event_id, struct span *run_id)
{
	INVARIANT(link.at != NULL && link.len > 0);
	*event_id = link.at[0] == '"' ? link : span_member(link, KEY_EVENT_ID);
	*run_id = link.at[0] == '"' ? SPAN_NONE : span_member(link, KEY_RUN_ID);
}
