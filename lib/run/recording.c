/*
 * What all parts of a recording ask: which call an event is of, which stands for a chain of
 * them, which are looked up, what the user names, and what calls are known by.
 */
#include "run/recording.h"

#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/memory.h"
#include "transcript/event_keys.h"

#define CLOSING 2 /* "} after the digest of a line */

void
reading_reference(struct span value, char id[ID_SIZE])
{
	if (span_type(value) == 'o')
		value = span_member(value, KEY_EVENT_ID);
	if (!span_copy(value, id, ID_SIZE))
		id[0] = '\0';
}

size_t
reading_find(const struct recording *rec, struct span reference)
{
	char id[ID_SIZE];
	const size_t *found;

	reading_reference(reference, id);
	if (id[0] == '\0')
		return NO_CALL;
	found = map_get(&rec->by_event, id, ID_SIZE - 1);
	return found != NULL ? *found : NO_CALL;
}

size_t
recording_latest(const struct recording *rec, size_t call)
{
	while (rec->calls[call].claimed_by != NO_CALL)
		call = rec->calls[call].claimed_by;
	return call;
}

/* For a replay what the last attempt did, for everything else what was done at last. */
bool
recording_counts(const struct recording *rec, size_t call)
{
	const struct recorded_call *c = &rec->calls[call];

	if (rec->spec->mode == RECALL_REPLAY)
		return c->attempt == rec->attempt;
	/* What waits in another run is decided about there. */
	if (c->state == RECALL_WAITING && c->begin.source < rec->spec->other_count)
		return false;
	return c->claimed_by == NO_CALL && !c->idle && c->left_by == 0;
}

bool
recorded_call_went_on(const struct recorded_call *c, const struct recorded_call *earlier)
{
	return memcmp(c->guard, earlier->guard, sizeof c->guard) == 0 &&
	    c->begin.source == earlier->begin.source;
}

size_t
history_source_count(const struct history_spec *spec)
{
	return spec->other_count + (spec->own.path != NULL ? 1 : 0);
}

const struct history_source *
history_source(const struct history_spec *spec, size_t index)
{
	return index < spec->other_count ? &spec->others[index] : &spec->own;
}

/* ---- what the user names ---- */

bool
path_names(const char *path, const char *call, const char *call_path)
{
	return strcmp(path, strchr(path, ':') != NULL ? call : call_path) == 0;
}

/* What stands behind a prefix; NULL if the text has another beginning. */
static const char *
behind(const char *text, const char *prefix, char separator)
{
	size_t len = strlen(prefix);

	return strncmp(text, prefix, len) == 0 && text[len] == separator ? text + len + 1 : NULL;
}

const char *
path_inside(const char *path, const char *call, const char *call_path)
{
	return strchr(path, ':') != NULL ? behind(path, call, '/') : behind(path, call_path, '.');
}

static bool
any_names(char *const *paths, const struct recorded_call *c)
{
	for (; paths != NULL && *paths != NULL; paths++)
		if (path_names(*paths, c->id, c->path))
			return true;
	return false;
}

enum recall_decision
recording_decision(const struct recording *rec, size_t call)
{
	const struct recorded_call *c = &rec->calls[call];

	if (any_names(rec->spec->redo, c))
		return RECALL_REDO;
	return any_names(rec->spec->skip, c) ? RECALL_SKIP : RECALL_UNDECIDED;
}

static int
check_path(const struct recording *rec, const char *option, const char *path,
    struct error *err)
{
	for (size_t i = 0; i < rec->call_count; i++) {
		const struct recorded_call *c = &rec->calls[i];
		bool child = c->child != NULL;

		if (child && path_inside(path, c->id, c->path) != NULL)
			return strcmp(option, "--at") != 0 ? 0 : error_set(err, ERROR_USAGE, option,
			    "'%s' is in a child run: name the call of that, %s", path, c->id);
		if (!path_names(path, c->id, c->path))
			continue;
		return !child || rec->spec->mode == RECALL_REPLAY || strcmp(option, "--at") == 0 ? 0 :
		    error_set(err, ERROR_USAGE, option, "'%s' is a child run: name a call in it", path);
	}
	return error_set(err, ERROR_USAGE, option, "no recorded call is, or is of, '%s'", path);
}

int
recording_check_paths(const struct recording *rec, struct error *err)
{
	const struct history_spec *spec = rec->spec;

	for (char *const *path = spec->redo; path != NULL && *path != NULL; path++)
		if (check_path(rec, "--redo", *path, err) != 0)
			return -1;
	for (char *const *path = spec->skip; path != NULL && *path != NULL; path++)
		if (check_path(rec, "--skip", *path, err) != 0)
			return -1;
	for (size_t i = 0; i < spec->other_count; i++)
		if (spec->others[i].left_out != NULL &&
		    check_path(rec, "--at", spec->others[i].left_out, err) != 0)
			return -1;
	for (size_t i = 0; i < rec->call_count; i++)
		if (any_names(spec->redo, &rec->calls[i]) && any_names(spec->skip, &rec->calls[i]))
			return error_set(err, ERROR_USAGE, "--skip", "%s is named by --redo too",
			    rec->calls[i].id);
	return 0;
}

/* ---- what calls are known by ---- */

static void
sha256_bytes(struct buffer *text, unsigned char out[DIGEST_BYTES])
{
	crypto_hash_sha256(out, (const unsigned char *)buffer_string(text), text->len);
	buffer_free(text);
}

void
index_key(const char *root, const char *name, int64_t item, unsigned char key[DIGEST_BYTES])
{
	struct buffer text = BUFFER_INIT;

	buffer_format(&text, "%s\n%s\n%lld", root, name, (long long)item);
	sha256_bytes(&text, key);
}

uint64_t
index_definition(const char *definition_sha256)
{
	uint64_t part;

	memcpy(&part, definition_sha256, sizeof part);
	return strlen(definition_sha256) < sizeof part ? 0 : part;
}

void
index_guard(const char *input_sha256, const char *definition_sha256,
    unsigned char guard[DIGEST_BYTES])
{
	struct buffer text = BUFFER_INIT;

	buffer_format(&text, "%s\n%s", input_sha256, definition_sha256);
	sha256_bytes(&text, guard);
}

int
history_tail(const char *line, size_t len, char tail[DIGEST_SIZE])
{
	if (len < DIGEST_SIZE - 1 + CLOSING)
		return -1;
	memcpy(tail, line + len - CLOSING - (DIGEST_SIZE - 1), DIGEST_SIZE - 1);
	tail[DIGEST_SIZE - 1] = '\0';
	return 0;
}
