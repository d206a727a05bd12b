/*
 * Cheap conditions are checked first: seq and type at the beginning of the line, then whether the
 * line is JSON, the regular expression, and the members. The patterns are matched with the event
 * types once, not for each line.
 */
#include "transcript/filter.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/invariant.h"
#include "base/memory.h"
#include "base/text.h"
#include "transcript/event_keys.h"

void
globs_add(struct globs *g, const char *list)
{
	const char *part;
	size_t len;

	INVARIANT(list != NULL);
	while ((part = text_part(&list, ',', &len)) != NULL) {
		g->patterns = memory_array(g->patterns, g->count + 1, sizeof *g->patterns);
		g->patterns[g->count++] = memory_copy(part, len);
	}
}

bool
globs_match(const struct globs *g, const char *text)
{
	for (size_t i = 0; i < g->count; i++)
		if (fnmatch(g->patterns[i], text, 0) == 0)
			return true;
	return g->count == 0;
}

void
globs_free(struct globs *g)
{
	for (size_t i = 0; i < g->count; i++)
		free(g->patterns[i]);
	free(g->patterns);
	*g = (struct globs){ NULL, 0 };
}

void
filter_begin(struct filter *f)
{
	memset(f, 0, sizeof *f);
	for (int type = 0; type < EVENT_TYPES; type++)
		f->known[type] = true;
}

void
filter_types(struct filter *f, const char *list)
{
	globs_add(&f->types, list);
	for (int type = 0; type < EVENT_TYPES; type++)
		f->known[type] = globs_match(&f->types, event_type_name((enum event_type)type));
}

int
filter_grep(struct filter *f, const char *pattern, struct error *err)
{
	char why[256];
	int failed;

	if (f->grep)
		return error_set(err, ERROR_USAGE, "--grep", "stands there twice: join them, as in "
		    "'ONE|OTHER'");
	failed = regcomp(&f->pattern, pattern, REG_EXTENDED | REG_NOSUB);

	if (failed != 0) {
		regerror(failed, &f->pattern, why, sizeof why);
		return error_set(err, ERROR_USAGE, "--grep", "%s: %s", pattern, why);
	}
	f->grep = true;
	return 0;
}

bool
filter_open(const struct filter *f)
{
	return f->after == 0 && f->since[0] == '\0' && f->types.count == 0 &&
	    f->paths.count == 0 && !f->errors && !f->grep;
}

bool
member_set(struct span value)
{
	return strchr("0f", span_type(value)) == NULL;
}

bool
event_failed(const struct event_view *event)
{
	switch (event->type) {
	case EVENT_RUN_COMPLETED:
	case EVENT_STEP_COMPLETED:
	case EVENT_CALL_WORKFLOW_COMPLETED:
	case EVENT_TOOL_RESULT:
		break;
	default:
		return false;
	}
	return member_set(span_member(event->payload, KEY_ERROR)) &&
	    !member_set(span_member(event->payload, KEY_SKIPPED));
}

static bool
type_wanted(const struct filter *f, const struct event_head *head)
{
	struct span name = head->type_name;
	char text[128];

	if (head->type != EVENT_TYPES)
		return f->known[head->type];
	if (f->types.count == 0)
		return true;
	if (name.len >= sizeof text)
		return false;
	memcpy(text, name.at, name.len);
	text[name.len] = '\0';
	return globs_match(&f->types, text);
}

enum verdict
filter_event(struct filter *f, const struct event_head *head, const char *line, size_t len)
{
	char timestamp[CLOCK_TEXT_SIZE];
	struct event_view event;
	size_t bad;

	if (head->seq == 0)
		return VERDICT_DAMAGED;
	if (head->seq <= f->after || !type_wanted(f, head))
		return VERDICT_NO;
	if (scan_object(line, len, head->len, SCAN_LINE_DEPTH, &bad) != NULL)
		return VERDICT_DAMAGED;
	f->unchained = !event_line_chained(line, len);
	if (f->grep) {
		buffer_clear(&f->scratch);
		buffer_append(&f->scratch, line, len);
		if (regexec(&f->pattern, f->scratch.data, 0, NULL, 0) != 0)
			return VERDICT_NO;
	}
	if (f->since[0] == '\0' && f->paths.count == 0 && !f->errors)
		return VERDICT_YES;

	if (event_view(line, len, &event) != 0)
		return VERDICT_DAMAGED;
	/* Timestamps have one form, so comparing their texts compares the times. */
	if (f->since[0] != '\0' && span_copy(event.timestamp, timestamp, sizeof timestamp) &&
	    strcmp(timestamp, f->since) < 0)
		return VERDICT_NO;
	if (f->paths.count > 0) {
		buffer_clear(&f->scratch);
		span_decode(event.path, &f->scratch);
		if (!globs_match(&f->paths, buffer_string(&f->scratch)))
			return VERDICT_NO;
	}
	return f->errors && !event_failed(&event) ? VERDICT_NO : VERDICT_YES;
}

int
filter_seek_last(struct filter *f, struct reader *r, int64_t count, int64_t floor,
    struct error *err)
{
	int64_t found = 0, first;
	struct event_head head;
	const char *line;
	size_t len;
	int got = 1;

	if (reader_seek_last(r, 0, err) != 0)
		return -1;
	first = r->position;
	while (found < count && r->position > floor &&
	    (got = reader_previous(r, &line, &len, err)) == 1) {
		event_peek(line, len, &head);
		if (filter_event(f, &head, line, len) != VERDICT_YES)
			continue;
		found++;
		first = r->position;
	}
	INVARIANT(found <= count && first >= r->position);
	/* If every line passes, damaged lines before the first of them count, too. */
	reader_seek(r, found < count && filter_open(f) ? floor : first);
	return got == -1 ? -1 : 0;
}

void
filter_free(struct filter *f)
{
	globs_free(&f->types);
	globs_free(&f->paths);
	if (f->grep)
		regfree(&f->pattern);
	buffer_free(&f->scratch);
}
