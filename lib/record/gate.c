#include "record/gate.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "record/call.h"
#include "record/token.h"

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

static bool
is_required(const char *call, const char *required)
{
	return strcmp(call, required) == 0 || call_of_path(call, required);
}

static int
find_required(const struct gate *g, const char *call)
{
	for (size_t i = 0; i < g->count; i++)
		if (is_required(call, g->required[i]))
			return (int)i;
	return -1;
}

/* Who made a line, as it says itself. */
struct maker {
	char *call, *path, *event_id;
	char sha256[DIGEST_SIZE];    /* of the data that it has now */
};

/* Whether it names a call and the event of it; metadata.path must be the call's, as
 * others go by it. */
static bool
maker_read(struct maker *m, const struct item *item)
{
	m->call = item_metadata(item, "call");
	m->path = item_metadata(item, "path");
	m->event_id = item_metadata(item, "event_id");
	if (item->foreign || m->call == NULL || m->path == NULL || m->event_id == NULL ||
	    !call_of_path(m->call, m->path))
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
claim_of(const struct gate *g, const struct maker *m, const struct data *data)
{
	return (struct token_claim){ g->run_id, g->attempt, m->call, m->event_id, m->sha256,
		data->no_newline, data->base64 };
}

bool
gate_vouched(const struct gate *g, const struct item *item)
{
	struct span metadata = span_of(item->metadata.data, item->metadata.len);
	struct maker maker;
	struct token_claim claim;
	bool made = maker_read(&maker, item);

	if (made) {
		claim = claim_of(g, &maker, &item->data);
		made = token_check(g->key, &claim, span_member(metadata, "token"));
	}
	maker_free(&maker);
	return made;
}

bool
gate_vouch(const struct gate *g, const struct item *item, char token[DIGEST_SIZE])
{
	struct maker maker;
	struct token_claim claim;
	bool made = maker_read(&maker, item);

	if (made) {
		claim = claim_of(g, &maker, &item->data);
		token_issue(g->key, &claim, token);
	}
	maker_free(&maker);
	return made;
}

static int
check_call(const struct gate *g, const struct item *item, const char *call, struct error *why)
{
	int which = find_required(g, call);

	if (which == -1)
		return error_set(why, ERROR_BLOCKED, OPTION, "the input was made by %s", call);
	if (!gate_vouched(g, item))
		return error_set(why, ERROR_BLOCKED, OPTION,
		    "no token of %s for this data: it was changed since, or did not come from there in "
		    "this attempt of the run", call);
	return which;
}

int
gate_pass(const struct gate *g, const struct item *item, struct error *why)
{
	char *call;
	int which;

	if (item->metadata.len == 0)
		return error_set(why, ERROR_BLOCKED, OPTION,
		    "the input is no state line: no step has made it");
	if (item->foreign)
		return error_set(why, ERROR_BLOCKED, OPTION, "the input is of another run");
	call = item_metadata(item, "call");
	which = call != NULL ? check_call(g, item, call, why) :
	    error_set(why, ERROR_BLOCKED, OPTION, "the input's metadata names no call");
	free(call);
	return which;
}

void
gate_free(struct gate *g)
{
	free(g->required);
}
