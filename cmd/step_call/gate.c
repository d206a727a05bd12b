/*
 * A line names its maker, and its token is compared with the token for that claim: no transcript is
 * read, and nothing in the line counts unless the token matches.
 */
#include "step_call/gate.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "storage/token.h"
#include "transcript/call.h"

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

/* The maker of a line, as the line says; only a valid token proves it. */
struct maker {
	char *call, *path, *event_id;
	char sha256[DIGEST_SIZE];    /* of its present data */
	struct token_claim claim;    /* of these */
	struct span token;
};

/* false: the line does not name it. */
static bool
maker_read(struct maker *m, const struct gate *g, const struct item *item)
{
	struct span metadata = span_of(item->metadata.data, item->metadata.len);

	m->call = item_metadata(item, "call");
	m->path = item_metadata(item, "path");
	m->event_id = item_metadata(item, "event_id");
	if (item->foreign || m->call == NULL || m->path == NULL || m->event_id == NULL ||
	    !call_id_valid(m->call) || !call_path_valid(m->path))
		return false;
	digest_sha256(item->data.json.data, item->data.json.len, m->sha256);
	m->claim = (struct token_claim){ g->run_id, g->attempt, m->call, m->path, m->event_id,
		m->sha256, item->data.no_newline, item->data.base64,
		span_member(metadata, "attachments") };
	m->token = span_member(metadata, "token");
	return true;
}

static void
maker_free(struct maker *m)
{
	free(m->call);
	free(m->path);
	free(m->event_id);
}

bool
gate_vouched(const struct gate *g, const struct item *item)
{
	struct maker maker;
	bool vouched = maker_read(&maker, g, item) && token_check(g->key, &maker.claim, maker.token);

	maker_free(&maker);
	return vouched;
}

bool
gate_vouch(const struct gate *g, const struct item *item, char token[DIGEST_SIZE])
{
	struct maker maker;
	bool known = maker_read(&maker, g, item);

	if (known)
		token_issue(g->key, &maker.claim, token);
	maker_free(&maker);
	return known;
}

int
gate_pass(const struct gate *g, const struct item *item, struct error *why)
{
	struct maker m;
	int which = -1;

	if (item->metadata.len == 0)
		return error_set(why, ERROR_BLOCKED, OPTION,
		    "the input is no state line: no step has made it");
	if (item->foreign)
		return error_set(why, ERROR_BLOCKED, OPTION, "the input is of another run: have one awf-run around the steps");
	if (!maker_read(&m, g, item)) {
		error_set(why, ERROR_BLOCKED, OPTION, "the input's metadata names no call");
		maker_free(&m);
		return -1;
	}
	for (size_t i = 0; i < g->count && which == -1; i++)
		if (strcmp(m.call, g->required[i]) == 0 || strcmp(m.path, g->required[i]) == 0)
			which = (int)i;
	if (which == -1)
		error_set(why, ERROR_BLOCKED, OPTION, "the input was made by %s", m.call);
	else if (!token_check(g->key, &m.claim, m.token))
		which = error_set(why, ERROR_BLOCKED, OPTION,
		    "no token of %s for this data: it was changed since, or did not come from there in "
		    "this attempt of the run", m.call);
	maker_free(&m);
	return which;
}

void
gate_free(struct gate *g)
{
	free(g->required);
}
