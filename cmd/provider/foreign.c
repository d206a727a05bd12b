/*
 * Two walks through the messages. The first finds the ids that have to change, and gives each a
 * form of its digest that the server takes and that no other id of the request has. The second
 * copies the messages with these ids, and with another `api` in the blocks that only another model
 * understands, which every program leaves out then.
 */
#include "foreign.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/map.h"
#include "base/memory.h"
#include "json/writer.h"
#include "transcript/event_keys.h"

#define DIGITS 43     /* of a SHA-256 in base 62 */
#define USUAL_DIGITS 19
#define SALTS 1000    /* forms of one id that are tried */

struct fitting {
	const struct foreign *f;
	regex_t ids;
	struct map fitted;    /* token of an id: index in forms */
	struct map kept;      /* tokens of ids that go out as they are, and of forms */
	char **forms;
	size_t count;
};

/* Who gave a message of the model. */
enum giver { GIVER_OWN, GIVER_OTHER, GIVER_UNKNOWN };

static enum giver
giver_of(const struct foreign *f, struct span message)
{
	struct span from = span_member(message, KEY_FROM);

	if (from.at == NULL)
		return GIVER_UNKNOWN;
	return span_is(from, f->own) ? GIVER_OWN : GIVER_OTHER;
}

/* Whether what only the giver of a message understands is left out. */
static bool
is_for_others(const struct foreign *f, struct span message)
{
	return giver_of(f, message) == GIVER_OTHER ||
	    (!f->echoes && span_is(span_member(message, KEY_ROLE), "assistant"));
}

/* The id of a call, or of a result, that goes out as such; what an API ran itself, and said in its
 * own form, keeps its own. */
static struct span
id_of(struct span block)
{
	if (span_path(block, KEY_RAW, "type", NULL).at != NULL)
		return SPAN_NONE;
	return span_member(block, KEY_TOOL_ID);
}

static bool
is_taken(const struct fitting *t, const char *id)
{
	return regexec(&t->ids, id, 0, NULL, 0) == 0;
}

/* The digits of a digest, least first. */
static void
write_digits(const char *text, char digits[DIGITS + 1])
{
	static const char all[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
	unsigned char bytes[DIGEST_BYTES];
	struct digest d;
	char hex[DIGEST_SIZE];

	digest_begin(&d);
	digest_add(&d, text, strlen(text));
	digest_end(&d, hex);
	for (size_t i = 0; i < sizeof bytes; i++) {
		char two[] = { hex[2 * i], hex[2 * i + 1], '\0' };

		bytes[i] = (unsigned char)strtoul(two, NULL, 16);
	}
	for (size_t digit = 0; digit < DIGITS; digit++) {
		unsigned rest = 0;

		for (size_t i = 0; i < sizeof bytes; i++) {
			rest = rest << 8 | bytes[i];
			bytes[i] = (unsigned char)(rest / 62);
			rest %= 62;
		}
		digits[digit] = all[rest];
	}
	digits[DIGITS] = '\0';
}

/* A form that the server takes: call_ and digits, or digits alone, as many as it takes. NULL: it
 * takes none. */
static char *
form_of(const struct fitting *t, const char *id, int salt)
{
	char digits[DIGITS + 1];
	char *salted = salt == 0 ? memory_text(id) : memory_format("%s %d", id, salt);

	write_digits(salted, digits);
	free(salted);
	for (int count = USUAL_DIGITS; count > 3; count--) {
		char *form = memory_format("call_%.*s", count, digits);

		if (is_taken(t, form))
			return form;
		free(form);
	}
	for (int count = DIGITS; count > 0; count--) {
		char *form = memory_format("%.*s", count, digits);

		if (is_taken(t, form))
			return form;
		free(form);
	}
	return NULL;
}

/* Gives an id a form that nothing else in the request has. */
static void
fit_id(struct fitting *t, struct span id)
{
	char *text = span_text(id), *form;
	struct buffer token = BUFFER_INIT;

	for (int salt = 0; salt < SALTS; salt++) {
		form = form_of(t, text, salt);
		if (form == NULL)
			break;
		buffer_clear(&token);
		json_quote(&token, form, strlen(form));
		if (map_get(&t->kept, token.data, token.len) == NULL) {
			map_put(&t->kept, token.data, token.len, 1);
			map_put(&t->fitted, id.at, id.len, t->count);
			t->forms = memory_array(t->forms, t->count + 1, sizeof *t->forms);
			t->forms[t->count++] = form;
			break;
		}
		free(form);
	}
	buffer_free(&token);
	free(text);
}

/* Lists the ids that have to change; the others are kept. A result goes by its call. */
static void
find_ids(struct fitting *t, struct span messages)
{
	struct map calls = MAP_INIT; /* token: whether it is kept */

	for (int results = 0; results < 2; results++)
		for (struct span_walk message = span_walk(messages); span_next(&message);)
			for (struct span_walk block = span_walk(span_member(message.value, KEY_BLOCKS));
			    span_next(&block);) {
				struct span id = id_of(block.value);
				const bool result = span_is(span_member(block.value, KEY_TYPE), "tool_result");
				char *text = result != (results == 1) ? NULL : span_text(id);
				bool keeps;

				if (text == NULL || map_get(&calls, id.at, id.len) != NULL) {
					free(text);
					continue;
				}
				keeps = is_taken(t, text) ||
				    (!result && giver_of(t->f, message.value) == GIVER_OWN);
				map_put(&calls, id.at, id.len, keeps);
				if (keeps)
					map_put(&t->kept, id.at, id.len, 1);
				free(text);
			}
	/* In the order of the conversation, so that later ids do not change the form of earlier
	 * ones. */
	for (struct span_walk message = span_walk(messages); span_next(&message);)
		for (struct span_walk block = span_walk(span_member(message.value, KEY_BLOCKS));
		    span_next(&block);) {
			struct span id = id_of(block.value);
			const size_t *keeps = id.at == NULL ? NULL : map_get(&calls, id.at, id.len);

			if (keeps != NULL && *keeps == 0 && map_get(&t->fitted, id.at, id.len) == NULL)
				fit_id(t, id);
		}
	map_free(&calls);
}

static void
copy_block(const struct fitting *t, struct span block, bool others, struct writer *w)
{
	struct span id = id_of(block);
	const size_t *form = id.at == NULL || t->forms == NULL ? NULL : map_get(&t->fitted, id.at, id.len);

	if (form == NULL && !(others && span_member(block, KEY_API).at != NULL)) {
		writer_span(w, block);
		return;
	}
	writer_object(w);
	for (struct span_walk member = span_walk(block); span_next(&member);)
		if (form != NULL && span_is(member.key, KEY_TOOL_ID))
			writer_member_string(w, KEY_TOOL_ID, t->forms[*form]);
		else if (others && span_is(member.key, KEY_API))
			writer_member_string(w, KEY_API, ""); /* nobody's */
		else
			writer_raw_member(w, member.key, member.value);
	writer_object_end(w);
}

static void
copy_message(const struct fitting *t, struct span message, struct writer *w)
{
	const bool others = is_for_others(t->f, message);

	writer_object(w);
	for (struct span_walk member = span_walk(message); span_next(&member);) {
		if (!span_is(member.key, KEY_BLOCKS)) {
			writer_raw_member(w, member.key, member.value);
			continue;
		}
		writer_member_array(w, KEY_BLOCKS);
		for (struct span_walk block = span_walk(member.value); span_next(&block);)
			copy_block(t, block.value, others, w);
		writer_array_end(w);
	}
	writer_object_end(w);
}

bool
foreign_write(const struct foreign *f, struct span messages, struct buffer *out)
{
	struct fitting t = { .f = f, .fitted = MAP_INIT, .kept = MAP_INIT };
	char *pattern = f->ids == NULL ? NULL : memory_format("^(%s)$", f->ids);
	bool changes;
	struct writer w;

	if (pattern != NULL && regcomp(&t.ids, pattern, REG_EXTENDED | REG_NOSUB) == 0) {
		find_ids(&t, messages);
		regfree(&t.ids);
	}
	free(pattern);
	changes = t.count > 0;
	for (struct span_walk message = span_walk(messages); span_next(&message);)
		changes = changes || is_for_others(f, message.value);
	if (changes) {
		writer_begin(&w, out);
		writer_array(&w);
		for (struct span_walk message = span_walk(messages); span_next(&message);)
			copy_message(&t, message.value, &w);
		writer_array_end(&w);
	}
	for (size_t i = 0; i < t.count; i++)
		free(t.forms[i]);
	free(t.forms);
	map_free(&t.fitted);
	map_free(&t.kept);
	return changes;
}
