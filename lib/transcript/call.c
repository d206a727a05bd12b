/*
 * A call keeps the id of its last event. If the caller names the parent of an event, that event is
 * not part of the chain, and the chain stays as it is. Links that were collected are written with
 * the next event of the chain, as its causes besides its parent.
 */
#include "transcript/call.h"

#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "base/memory.h"
#include "base/text.h"
#include "json/writer.h"
#include "transcript/event_keys.h"

#define NAME_SIZE 129 /* room for the longest name and a NUL */

/* Whether ids are valid, or "" for none, and the path is that of the call. */
static bool
call_holds(const struct call *c)
{
	return c->transcript != NULL && c->path != NULL &&
	    (c->last[0] == '\0' || id_valid(c->last, strlen(c->last))) &&
	    (c->next[0] == '\0' || id_valid(c->next, strlen(c->next))) &&
	    (c->raw_count == 0 || c->raws != NULL);
}

int
call_event(struct call *c, enum event_type type, const char *parent,
    const struct buffer *payload, char id[ID_SIZE], struct error *err)
{
	struct event e = { .type = type, .path = c->path, .iteration = c->iteration };

	INVARIANT(call_holds(c));
	INVARIANT(parent == NULL || id_valid(parent, strlen(parent)));
	if (c->next[0] != '\0')
		e.event_id = c->next;
	e.parent_event_id = parent != NULL ? parent : c->last[0] != '\0' ? c->last : NULL;
	if (payload != NULL && payload->len > 0)
		e.payload = span_of(payload->data, payload->len);
	if (parent == NULL || strcmp(parent, c->last) == 0)
		e.links = span_of(c->links.data, c->links.len);
	e.raws = c->raws;
	e.raw_count = c->raw_count;
	int result = transcript_append(c->transcript, &e, err);
	if (parent == NULL)
		buffer_clear(&c->links);
	c->next[0] = '\0';
	c->raw_count = 0;
	if (result == -1)
		return -1;
	if (id != NULL)
		memcpy(id, e.id, ID_SIZE);
	if (parent == NULL)
		memcpy(c->last, e.id, ID_SIZE);
	INVARIANT(call_holds(c) && c->next[0] == '\0' && (parent != NULL || c->links.len == 0));
	return 0;
}

int
call_aside(const struct call *c, enum event_type type, const char *id, const char *parent,
    struct span payload, struct error *err)
{
	struct event e = { .type = type, .event_id = id, .parent_event_id = parent,
		.path = c->path, .iteration = c->iteration, .payload = payload };

	return transcript_append(c->transcript, &e, err);
}

static void
add_seconds(long long ms, struct buffer *out)
{
	buffer_format(out, " in %lld", ms / 1000);
	if (ms % 1000 >= 100)
		buffer_format(out, ".%lld", ms % 1000 / 100);
	buffer_text(out, " s");
}

void
call_retry_text(long long next, long long tries, long long delay_ms, struct buffer *out)
{
	buffer_format(out, ", try %lld of %lld", next, tries);
	add_seconds(delay_ms, out);
}

/* Appends text from a transcript, with control characters escaped. */
static void
add_visible(struct span text, struct buffer *out)
{
	struct buffer plain = BUFFER_INIT;

	span_decode(text, &plain);
	text_visible(out, buffer_string(&plain), plain.len, 0);
	buffer_free(&plain);
}

void
call_wait_text(struct span wait, long long delay_ms, struct buffer *out)
{
	buffer_text(out, "waiting for ");
	add_visible(span_member(wait, KEY_PROVIDER), out);
	buffer_text(out, ": ");
	add_visible(span_member(wait, KEY_REASON), out);
	if (delay_ms > 0) {
		buffer_text(out, ", next try");
		add_seconds(delay_ms, out);
	}
}

void
call_add_link(struct call *c, const char *id)
{
	event_add_link(&c->links, NULL, id);
}

void
call_follow(struct call *c, const char *const *ids, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (i == 0)
			memcpy(c->last, ids[i], ID_SIZE);
		else
			call_add_link(c, ids[i]);
	}
}

void
call_follow_recorded(struct call *c, const char *recorded, const char *own)
{
	memcpy(c->last, recorded, ID_SIZE);
	buffer_clear(&c->links);
	call_add_link(c, own);
}

void
call_name_next(struct call *c, const char *id)
{
	memcpy(c->next, id, ID_SIZE);
}

/* The length of a name at the beginning of text; 0 if there is none. */
static size_t
name_length(const char *text)
{
	size_t len = strcspn(text, ".:/");
	char name[NAME_SIZE];

	if (len >= sizeof name)
		return 0;
	memcpy(name, text, len);
	name[len] = '\0';
	return name_valid(name) ? len : 0;
}

/* Skips ":" and a number; NULL if text does not begin that way. */
static const char *
pass_number(const char *text)
{
	size_t digits = *text == ':' ? strspn(text + 1, "0123456789") : 0;

	return digits > 0 ? text + 1 + digits : NULL;
}

bool
call_id_valid(const char *text)
{
	for (;; text++) {
		size_t len = name_length(text);
		const char *at = len == 0 ? NULL : pass_number(text + len);

		text = at == NULL ? NULL : pass_number(at);
		if (text == NULL || *text != '/')
			return text != NULL && *text == '\0';
	}
}

bool
call_path_valid(const char *text)
{
	for (;; text++) {
		size_t len = name_length(text);

		text += len;
		if (len == 0 || *text != '.')
			return len > 0 && *text == '\0';
	}
}

/* The length of the path before "[ITEM]"; 0 if it has no item. */
static size_t
split_item(const char *name, long long *item)
{
	size_t len = strcspn(name, "["), digits = name[len] == '[' ? strspn(name + len + 1, "0123456789") : 0;

	if (digits == 0 || digits > 18 || strcmp(name + len + 1 + digits, "]") != 0)
		return 0;
	*item = strtoll(name + len + 1, NULL, 10);
	return len;
}

bool
call_name_valid(const char *name)
{
	long long item;
	size_t len = split_item(name, &item);
	char *path = memory_copy(name, len);
	bool valid = len > 0 ? call_path_valid(path) : call_path_valid(name) || call_id_valid(name);

	free(path);
	return valid;
}

bool
call_is_named(const char *name, const char *call, const char *path, int64_t item)
{
	long long number;
	size_t len = split_item(name, &number);

	if (len > 0)
		return number == item && strlen(path) == len && memcmp(path, name, len) == 0;
	return strcmp(strchr(name, ':') != NULL ? call : path, name) == 0;
}

void
call_write_error(struct writer *w, const char *key, const struct error *error)
{
	char text[sizeof error->place + sizeof error->message + 4];

	writer_key(w, key);
	writer_object(w);
	writer_member_string(w, KEY_CODE, error_name(error->code));
	writer_member_string(w, KEY_MESSAGE, error_text(error, text, sizeof text));
	writer_object_end(w);
}

static void
write_block(struct writer *w, const char *command)
{
	writer_object(w);
	writer_member_string(w, KEY_TYPE, "command");
	writer_member_string(w, KEY_FIDELITY, "router");
	writer_member_string(w, KEY_COMMAND, command);
	writer_object_end(w);
}

void
call_write_command(struct writer *w, char *const *argv)
{
	struct buffer text = BUFFER_INIT;

	for (; argv != NULL && *argv != NULL; argv++)
		buffer_format(&text, "%s%s", text.len > 0 ? " " : "", *argv);
	writer_key(w, KEY_BLOCKS);
	writer_array(w);
	write_block(w, buffer_string(&text));
	writer_array_end(w);
	buffer_free(&text);
}

void
call_write_branches(struct writer *w, char *const *commands)
{
	writer_key(w, KEY_BLOCKS);
	writer_array(w);
	for (; commands != NULL && *commands != NULL; commands++)
		write_block(w, *commands);
	writer_array_end(w);
}

static int
call_read_variable(const char *variable, bool (*valid)(const char *), const char **value,
    struct error *err)
{
	*value = getenv(variable);
	if (*value == NULL)
		*value = "";
	if (**value == '\0' || valid(*value))
		return 0;
	return error_set(err, ERROR_SYSTEM, variable,
	    "'%s' is not what AWF sets: do not set it yourself", *value);
}

bool
call_is_member(const char *id)
{
	const char *own = strrchr(id, '/'), *around = own;

	INVARIANT(call_id_valid(id));
	if (own == NULL)
		return false;
	while (around > id && around[-1] != '/')
		around--;
	own++;
	return strncmp(around, own, strcspn(own, ":") + 1) == 0;
}

char *
call_id_name(const char *id)
{
	const char *slash = strrchr(id, '/'), *last = slash != NULL ? slash + 1 : id;

	return memory_copy(last, strcspn(last, ":"));
}

int
call_around(const char **call, const char **path, struct error *err)
{
	return call_read_variable("AWF_CALL", call_id_valid, call, err) != 0 ? -1 :
	    call_read_variable("AWF_PATH", call_path_valid, path, err);
}

int64_t
call_try_around(void)
{
	const char *text = getenv(CALL_TRY);
	long long number = text != NULL ? strtoll(text, NULL, 10) : 0;

	return number > 0 ? number : 0;
}

const char *
call_tool_around(void)
{
	const char *id = getenv(CALL_TOOL);

	return id != NULL && id_valid(id, strlen(id)) ? id : NULL;
}

int
call_sync(struct call *c, struct error *err)
{
	return transcript_sync(c->transcript, err);
}
