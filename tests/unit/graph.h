/* What the tests of graphs share: transcripts of events in a few words. */
#ifndef AWF_TESTS_GRAPH_H
#define AWF_TESTS_GRAPH_H

#include "record.h"

/* The UUID whose last digits are those of a number. */
static inline const char *
graph_uuid(unsigned number)
{
	static char texts[8][40];
	static int next;
	char *text = texts[next++ % 8];

	snprintf(text, sizeof texts[0], "00000000-0000-4000-8000-%012u", number);
	return text;
}

/* Appends the line of an event; parent 0: none; links: JSON, NULL: absent. */
static inline void
graph_event(struct buffer *out, long seq, unsigned id, unsigned parent, const char *links,
    const char *type, const char *payload)
{
	struct buffer members = BUFFER_INIT;

	buffer_format(&members, "\"timestamp\":\"2026-11-21T08:00:00.000000Z\",\"event_id\":\"%s\","
	    "\"run_id\":\"" RUN_ID "\",\"parent_event_id\":", graph_uuid(id));
	if (parent > 0)
		buffer_format(&members, "\"%s\"", graph_uuid(parent));
	else
		buffer_text(&members, "null");
	if (links)
		buffer_format(&members, ",\"links\":%s", links);
	buffer_format(&members, ",\"type\":\"%s\",\"path\":\"\",\"iteration\":0,\"payload\":%s", type,
	    payload);
	record_line(out, seq, members.data);
	buffer_free(&members);
}

/* Writes a transcript and returns its path. */
static inline const char *
graph_put(const char *name, const struct buffer *lines)
{
	const char *path = record_path(name);

	record_put(path, buffer_string(lines), lines->len);
	return path;
}

#endif
