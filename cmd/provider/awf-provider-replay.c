/*
 * Answers from a recording instead of a model: a transcript, or a file of
 * answers. No network.
 */
#include <stdlib.h>
#include <string.h>

#include "provider.h"
#include "recording.h"

static const char usage[] =
"awf-provider-replay < requests\n"
"\n"
"Answers the requests of awf-step from a recording, see awf-provider(7): the\n"
"file that AWF_REPLAY names, or else the model of the request. It is a\n"
"transcript, or has an answer on each line.";

/* Text comes as one delta per block. */
static void
send_deltas(struct provider *p, struct span blocks)
{
	static const char *const kinds[] = { "text", "thinking" };
	struct buffer text = BUFFER_INIT;
	size_t i;

	for (struct span_walk block = span_walk(blocks); span_next(&block);) {
		for (i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
			if (!span_is(span_member(block.value, "type"), kinds[i]))
				continue;
			buffer_clear(&text);
			span_decode(span_member(block.value, kinds[i]), &text);
			provider_delta(p, kinds[i], buffer_string(&text), text.len);
		}
	}
	buffer_free(&text);
}

static void
answer(void *context, struct provider *p, const struct provider_request *request)
{
	struct recording *r = context;
	struct provider_failure failure = { .error = ERROR_INIT };
	const struct recorded_answer *found = NULL;
	char *model = span_text(request->model);
	const char *path = getenv("AWF_REPLAY");

	if (path == NULL || path[0] == '\0')
		path = model;
	if (r->path == NULL || strcmp(r->path, path) != 0) {
		recording_free(r);
		if (recording_load(r, path, &failure.error) != 0)
			recording_free(r);
	}
	if (r->path != NULL)
		found = recording_find(r, request, &failure.error);
	free(model);
	if (found == NULL) {
		provider_error(p, &failure);
		return;
	}
	send_deltas(p, span_member(found->body, "blocks"));
	provider_recorded(p, found->body);
}

/* Without $AWF_REPLAY the model's name says which recording it is. */
static int
check(void *context, struct writer *w, struct error *err)
{
	const char *path = getenv("AWF_REPLAY");

	(void)w;
	return path == NULL || path[0] == '\0' ? 0 : recording_load(context, path, err);
}

int
main(int argc, char **argv)
{
	static struct recording recording;
	static const struct provider_api api = {
		.program = "awf-provider-replay",
		.usage = usage,
		.check = check,
		.answer = answer,
		.context = &recording
	};
	int status = provider_main(&api, argc, argv);

	recording_free(&recording);
	return status;
}
