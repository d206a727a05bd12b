/*
 * The body is parsed once, and member names are compared after decoding, so that a member cannot be
 * repeated by writing its name with an escape.
 */
#include "serve/body.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"

static bool
is_kind(struct span value, enum body_kind kind)
{
	char type = span_type(value);

	return kind == BODY_ANY || (kind == BODY_TEXT ? type == 's' : type == 't' || type == 'f');
}

/* Texts are passed on as C strings, so one that contains a NUL is refused. */
static bool
has_nul(struct span value)
{
	struct buffer text = BUFFER_INIT;
	bool found;

	span_decode(value, &text);
	found = text.len > 0 && memchr(text.data, '\0', text.len) != NULL;
	buffer_free(&text);
	return found;
}

bool
body_read(struct request *r, const struct body_member *members, size_t count, struct span *values)
{
	static const char *const meant[] = { [BODY_TEXT] = "a text", [BODY_BOOLEAN] = "true or false" };
	struct span body = span_of(buffer_string(&r->connection->body), r->connection->body.len);
	const char *wrong;
	size_t bad;

	for (size_t i = 0; i < count; i++)
		values[i] = SPAN_NONE;
	wrong = scan_within(body.at, body.len, SCAN_STATE_DEPTH, &bad);
	if (wrong != NULL) {
		request_error(r, 400, "invalid_input", "the body is no JSON: %s at byte %zu", wrong, bad + 1);
		return false;
	}
	body = span_trim(body);
	if (span_type(body) != 'o') {
		request_error(r, 400, "invalid_input", "the body is no object");
		return false;
	}
	for (struct span_walk member = span_walk(body); span_next(&member);) {
		size_t i = 0;

		while (i < count && !span_is(member.key, members[i].name))
			i++;
		if (i == count) {
			char *name = span_text(member.key);

			request_error(r, 400, "invalid_input", "'%.64s' is no member that is known here", name);
			free(name);
			return false;
		}
		if (values[i].at != NULL) {
			request_error(r, 400, "invalid_input", "'%s' stands twice", members[i].name);
			return false;
		}
		if (!is_kind(member.value, members[i].kind)) {
			request_error(r, 400, "invalid_input", "'%s' is to be %s", members[i].name,
			    meant[members[i].kind]);
			return false;
		}
		if (members[i].kind == BODY_TEXT && has_nul(member.value)) {
			request_error(r, 400, "invalid_input", "'%s' holds a NUL", members[i].name);
			return false;
		}
		values[i] = member.value;
	}
	return true;
}
