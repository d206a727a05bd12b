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

/* Whether the call has made this line's data; metadata.path must be the call's, as
 * others go by it. */
static bool
made_by(const struct gate *g, const struct item *item, const char *call)
{
	struct span metadata = span_of(item->metadata.data, item->metadata.len);
	char sha256[DIGEST_SIZE];
	char *path = item_metadata(item, "path"), *event_id = item_metadata(item, "event_id");
	struct token_claim claim = { g->run_id, g->attempt, call, event_id, sha256,
		item->data.no_newline, item->data.base64 };
	bool made = false;

	if (path != NULL && event_id != NULL && call_of_path(call, path)) {
		digest_sha256(item->data.json.data, item->data.json.len, sha256);
		made = token_check(g->key, &claim, span_member(metadata, "token"));
	}
	free(path);
	free(event_id);
	return made;
}

static int
check_call(const struct gate *g, const struct item *item, const char *call, struct error *why)
{
	int which = find_required(g, call);

	if (which == -1)
		return error_set(why, ERROR_BLOCKED, OPTION, "the input was made by %s", call);
	if (!made_by(g, item, call))
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
