/*
 * A line says of itself who made it, and its token is compared with that of this claim: no
 * transcript is read, and nothing that the line says counts unless the token fits.
 */
#include "step/gate.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "run/token.h"
#include "transcript/call.h"
#include "transcript/event_keys.h"

#define OPTION "--require"

int
gate_require(struct gate *g, const char *text, struct error *err)
{
	if (!call_path_valid(text) && !call_id_valid(text))
		return error_set(err, ERROR_USAGE, OPTION,
		    "'%s' is neither a step's path (check, review.draft) nor a call (check:0:2)", text);
	g->required = memory_array(g->required, g->count + 1, sizeof *g->required);
	g->required[g->count++] = text;
	return 0;
}

/* Who made a line, as it says itself: the token tells whether that is so. */
struct maker {
	char *call, *path, *event_id;
	char sha256[DIGEST_SIZE];    /* of the data that it has now */
};

/* false: it does not say it. */
static bool
maker_read(struct maker *m, const struct item *item)
{
	m->call = item_metadata(item, "call");
	m->path = item_metadata(item, "path");
	m->event_id = item_metadata(item, "event_id");
	if (item->foreign || m->call == NULL || m->path == NULL || m->event_id == NULL ||
	    !call_id_valid(m->call) || !call_path_valid(m->path))
		return false;
	digest_sha256(item->data.json.data, item->data.json.len, m->sha256);
	return true;
}

static void
maker_free(struct maker *m)
{
	free(m->call);
	free(m->path);
	free(m->event_id);
}

static struct token_claim
claim_of(const struct gate *g, const struct maker *m, const struct item *item)
{
	struct span metadata = span_of(item->metadata.data, item->metadata.len);

	return (struct token_claim){ g->run_id, g->attempt, m->call, m->path, m->event_id, m->sha256,
		item->data.no_newline, item->data.base64, span_member(metadata, KEY_ATTACHMENTS) };
}

static bool
vouched(const struct gate *g, const struct maker *m, const struct item *item)
{
	const struct token_claim claim = claim_of(g, m, item);
	struct span metadata = span_of(item->metadata.data, item->metadata.len);

	return token_check(g->key, &claim, span_member(metadata, KEY_TOKEN));
}

bool
gate_vouched(const struct gate *g, const struct item *item)
{
	struct maker maker;
	bool made = maker_read(&maker, item) && vouched(g, &maker, item);

	maker_free(&maker);
	return made;
}

bool
gate_vouch(const struct gate *g, const struct item *item, char token[DIGEST_SIZE])
{
	struct maker maker;
	struct token_claim claim;
	bool known = maker_read(&maker, item);

	if (known) {
		claim = claim_of(g, &maker, item);
		token_issue(g->key, &claim, token);
	}
	maker_free(&maker);
	return known;
}

static int
find_required(const struct gate *g, const struct maker *m)
{
	for (size_t i = 0; i < g->count; i++)
		if (strcmp(m->call, g->required[i]) == 0 || strcmp(m->path, g->required[i]) == 0)
			return (int)i;
	return -1;
}

static int
check_maker(const struct gate *g, const struct maker *m, const struct item *item,
    struct error *why)
{
	int which = find_required(g, m);

	if (which == -1)
		return error_set(why, ERROR_BLOCKED, OPTION, "the input was made by %s", m->call);
	if (!vouched(g, m, item))
		return error_set(why, ERROR_BLOCKED, OPTION,
		    "no token of %s for this data: it was changed since, or did not come from there in "
		    "this attempt of the run", m->call);
	return which;
}

int
gate_pass(const struct gate *g, const struct item *item, struct error *why)
{
	struct maker maker;
	int which;

	if (item->metadata.len == 0)
		return error_set(why, ERROR_BLOCKED, OPTION,
		    "the input is no state line: no step has made it");
	if (item->foreign)
		return error_set(why, ERROR_BLOCKED, OPTION, "the input is of another run");
	which = maker_read(&maker, item) ? check_maker(g, &maker, item, why) :
	    error_set(why, ERROR_BLOCKED, OPTION, "the input's metadata names no call");
	maker_free(&maker);
	return which;
}

void
gate_free(struct gate *g)
{
	free(g->required);
}
