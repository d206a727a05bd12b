/* The name of a call's step is what comes after the last slash of its id, up to a colon. */
#include "model/tool_approval.h"

#include <string.h>

#include "base/invariant.h"
#include "json/writer.h"

#define TOOL "tool"
#define INPUT "input"
#define RULE "rule"
#define ALWAYS "always"
#define MEMBERS 4

bool
tool_approval_read(const char *call, struct span data, struct tool_approval *a)
{
	const struct span always = span_member(data, ALWAYS);
	const char *name = strrchr(call, '/');
	struct buffer tool = BUFFER_INIT;
	size_t members = 0;
	bool is;

	for (struct span_walk member = span_walk(data); span_next(&member);)
		members++;
	*a = (struct tool_approval){ .tool = span_member(data, TOOL), .input = span_member(data, INPUT),
		.rule = span_member(data, RULE), .always = span_true(always) };
	if (name == NULL || span_type(data) != 'o' || members != MEMBERS || span_type(a->tool) != 's' ||
	    span_type(a->rule) != 's' || span_type(a->input) != 'o' ||
	    (span_type(always) != 't' && span_type(always) != 'f'))
		return false;
	span_decode(a->tool, &tool);
	is = strlen(buffer_string(&tool)) == tool.len && tool.len == strcspn(name + 1, ":") &&
	    strncmp(name + 1, buffer_string(&tool), tool.len) == 0;
	buffer_free(&tool);
	return is;
}

/* Whether the data allows all calls of the tool, and has this input byte for byte. */
static bool
tool_approval_is_always(const char *call, struct span data, struct span input)
{
	struct tool_approval a;

	return tool_approval_read(call, data, &a) && a.always && a.input.len == input.len &&
	    memcmp(a.input.at, input.at, input.len) == 0;
}

int
tool_approval_allow_always(const char *call, struct span data, struct buffer *out, struct error *err)
{
	struct tool_approval a;
	struct writer w;

	if (!tool_approval_read(call, data, &a))
		return error_set(err, ERROR_USAGE, call,
		    "is not the approval of a tool call: only such can be given for the whole run");
	writer_begin(&w, out);
	writer_object(&w);
	writer_member_span(&w, TOOL, a.tool);
	writer_member_span(&w, INPUT, a.input);
	writer_member_span(&w, RULE, a.rule);
	writer_member_bool(&w, ALWAYS, true);
	writer_object_end(&w);
	INVARIANT(tool_approval_is_always(call, span_of(buffer_string(out), out->len), a.input));
	return 0;
}

static void
tool_approval_show_text(struct span text, struct buffer *out)
{
	struct buffer plain = BUFFER_INIT;
	bool several;

	span_decode(text, &plain);
	several = memchr(buffer_string(&plain), '\n', plain.len) != NULL;
	buffer_text(out, several ? "\n    " : " ");
	for (size_t i = 0; i < plain.len; i++) {
		buffer_byte(out, plain.data[i]);
		if (plain.data[i] == '\n')
			buffer_text(out, "    ");
	}
	buffer_byte(out, '\n');
	buffer_free(&plain);
}

void
tool_approval_show(const struct tool_approval *a, struct buffer *out)
{
	buffer_text(out, "tool:");
	tool_approval_show_text(a->tool, out);
	buffer_text(out, "rule:");
	tool_approval_show_text(a->rule, out);
	for (struct span_walk member = span_walk(a->input); span_next(&member);) {
		buffer_text(out, "  ");
		/* A key as JSON, so that none looks like two. */
		if (memchr(member.key.at, '\\', member.key.len) == NULL && member.key.len > 2)
			buffer_append(out, member.key.at + 1, member.key.len - 2);
		else
			buffer_append(out, member.key.at, member.key.len);
		buffer_byte(out, ':');
		if (span_type(member.value) == 's') {
			tool_approval_show_text(member.value, out);
			continue;
		}
		buffer_byte(out, ' ');
		buffer_append(out, member.value.at, member.value.len);
		buffer_byte(out, '\n');
	}
}

int
tool_approval_check_edit(const char *call, struct span data, struct span edited, struct error *err)
{
	struct tool_approval was, is;

	if (!tool_approval_read(call, data, &was) || (tool_approval_read(call, edited, &is) &&
	    span_same(was.tool, is.tool) && span_same(was.rule, is.rule)))
		return 0;
	return error_set(err, ERROR_INVALID_INPUT, call, "is the approval of a tool call: an edit has the members tool, "
	    "input, rule and always, and changes only input and always");
}
