/* A call that a resume makes again has no result if it takes over that of the same child run. */
#include "eval/outputs.h"

#include <stdlib.h>
#include <string.h>

#include "base/id.h"
#include "base/list.h"
#include "base/memory.h"
#include "eval/verdict.h"
#include "transcript/blob.h"
#include "transcript/event.h"
#include "transcript/event_keys.h"
#include "transcript/reader.h"

/* Whether the result is bytes that are no text. */
static bool
outputs_binary(const struct event_view *event)
{
	for (struct span_walk ref = span_walk(event->refs); event->refs.at != NULL && span_next(&ref);)
		if (span_is(span_member(ref.value, KEY_ENCODING), "raw"))
			return true;
	return false;
}

static void
outputs_put(struct eval_outputs *o, const char *run, struct span result)
{
	struct buffer text = BUFFER_INIT, value = BUFFER_INIT;
	const size_t *at = map_get(&o->by_run, run, strlen(run));

	span_plain(result, &text);
	eval_value_of(&text, &value);
	buffer_free(&text);
	if (at != NULL) {
		free(o->values[*at]);
		o->values[*at] = buffer_take(&value);
	} else {
		map_put(&o->by_run, run, strlen(run), list_count(o->values));
		list_take(&o->values, buffer_take(&value));
	}
}

int
eval_outputs_read(struct eval_outputs *o, const struct storage *storage, const char *run_id, struct error *err)
{
	char *path = storage_transcript(storage, run_id), *blobs = storage_blobs(storage, run_id);
	struct buffer whole = BUFFER_INIT;
	struct reader reader;
	const char *line;
	size_t len;
	int got, failed;

	*o = (struct eval_outputs){ .by_run = MAP_INIT };
	failed = reader_open(&reader, path, err);
	while (failed == 0 && (got = reader_next(&reader, &line, &len, err)) != 0) {
		struct event_view event;
		char run[ID_SIZE];
		bool binary;

		if (got == -1) {
			failed = -1;
		} else if (event_view(line, len, &event) == 0 && event.type == EVENT_CALL_WORKFLOW_COMPLETED &&
		    event_copy_id(event.child_run_id, run)) {
			binary = outputs_binary(&event);
			buffer_clear(&whole);
			failed = blob_inline(blobs, line, len, &whole, err);
			if (failed == 0 && !binary && event_view(whole.data, whole.len, &event) == 0 &&
			    span_type(span_member(event.payload, KEY_RESULT)) == 's')
				outputs_put(o, run, span_member(event.payload, KEY_RESULT));
		}
	}
	reader_close(&reader);
	buffer_free(&whole);
	free(blobs);
	free(path);
	return failed;
}

const char *
eval_outputs_of(const struct eval_outputs *o, const char *run)
{
	const size_t *at = map_get(&o->by_run, run, strlen(run));

	return at != NULL ? o->values[*at] : NULL;
}

void
eval_outputs_free(struct eval_outputs *o)
{
	map_free(&o->by_run);
	list_free(o->values);
}
