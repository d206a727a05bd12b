/*
 * For --dry-run: of an agent the first request as it would be sent, of all else what would be
 * run.
 */
#include "agent/prompt.h"
#include "agent/turn.h"
#include "json/writer.h"
#include "step/step_call.h"

static int
describe_request(struct step *s, const struct item *item, struct buffer *out, struct error *err)
{
	struct step_call call = { .step = s, .item = item };
	struct span data = span_of(item->data.json.data, item->data.json.len);
	struct buffer prompt = BUFFER_INIT;
	struct turns t = { .member = s->team->members[0], .environment = &s->environment,
		.keys = s->keys, .sandbox = &s->sandbox, .attachments = &call.attachments,
		.shown = s->shown, .step = s->path != NULL ? s->path : s->name };
	int result = prompt_render(s->prompt, data, span_of(s->inputs.data, s->inputs.len),
	    s->prompt_place, &prompt, err);

	step_read_attachments(&call);
	if (result == 0 && call.end.error.code != ERROR_NONE) {
		*err = call.end.error;
		result = -1;
	}
	t.prompt = span_of(buffer_string(&prompt), prompt.len);
	if (result == 0)
		result = turns_request(&t, out, err);
	if (result == 0)
		buffer_byte(out, '\n');
	buffer_free(&prompt);
	attachments_free(&call.attachments);
	buffer_free(&call.attached);
	return result;
}

static void
describe_work(const struct step *s, struct writer *w)
{
	if (s->operation != NULL)
		writer_member_string(w, "tool", s->operation->name);
	if (s->approve)
		writer_member_bool(w, "approve", true);
	writer_member_string(w, "terminal", s->terminal);
	if (s->command == NULL)
		return;
	writer_key(w, s->group == GROUP_PARALLEL ? "branches" : "command");
	writer_array(w);
	for (char *const *word = s->command; *word != NULL; word++)
		writer_string(w, *word);
	writer_array_end(w);
}

int
step_describe(struct step *s, const struct item *item, struct buffer *out, struct error *err)
{
	struct span data = span_of(item->data.json.data, item->data.json.len);
	struct writer w;

	if (s->team != NULL)
		return describe_request(s, item, out, err);
	writer_begin(&w, out);
	writer_object(&w);
	describe_work(s, &w);
	writer_member_span(&w, "input", data);
	writer_object_end(&w);
	buffer_byte(out, '\n');
	return 0;
}
