/*
 * Any JSON object as an event of another program: what is made of it is an event that a line may
 * have, that says of itself that another program made it, and that begins and ends nothing.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ingest/foreign_event.h"
#include "json/writer.h"
#include "transcript/event.h"
#include "transcript/form.h"

#define RUN_ID "0b7a1c52-93d4-4e8f-a6b0-5c1d2e3f4a5b"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The line that it becomes, but for blobs. */
static void
check_line(const struct foreign_event *f)
{
	struct buffer line = BUFFER_INIT;
	struct form_fault fault;
	struct event_view view;
	struct form form;
	size_t bad;

	buffer_text(&line, "{\"seq\":1,\"timestamp\":\"2026-11-21T08:15:30.123456Z\",\"event_id\":\"");
	buffer_format(&line, "%s\",\"run_id\":\"" RUN_ID "\",\"parent_event_id\":", f->id);
	buffer_format(&line, f->parent[0] != '\0' ? "\"%s\"" : "null", f->parent);
	buffer_text(&line, ",\"type\":");
	json_quote(&line, f->type_name, strlen(f->type_name));
	if (f->type != EVENT_TYPES) {
		line.len = (size_t)(strrchr(line.data, ':') + 1 - line.data);
		buffer_format(&line, "\"%s\"", event_type_name(f->type));
	}
	buffer_format(&line, ",\"path\":\"%s\",\"iteration\":%lld,\"payload\":", f->path,
	    (long long)f->iteration);
	buffer_append(&line, f->payload.data, f->payload.len);
	buffer_text(&line, ",\"prev\":\"0000000000000000000000000000000000000000000000000000000000000000\"}");
	assert(scan_within(line.data, line.len, SCAN_LINE_DEPTH, &bad) == NULL);
	assert(event_line_whole(line.data, line.len, NULL));
	assert(form_check(line.data, line.len, &form, &fault) == 0);
	assert(form.foreign && form.type == EVENT_TYPES);
	assert(event_view(line.data, line.len, &view) == 0);
	assert(view.type == EVENT_TYPES && view.told >= EVENT_MESSAGE_USER);
	buffer_free(&line);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct foreign_scope scope = { .run_id = RUN_ID };
	struct buffer event = BUFFER_INIT;
	struct foreign_event f, again;
	struct error err;
	struct span object;
	size_t bad;

	if (scan_check((const char *)data, size, &bad) != NULL)
		return 0;
	scan_minify(span_trim(span_of((const char *)data, size)), &event);
	object = span_of(buffer_string(&event), event.len);
	if (span_type(object) == 'o' && foreign_event_read(&f, object, &scope, &err) == 0) {
		check_line(&f);
		assert(foreign_event_read(&again, object, &scope, &err) == 0);
		assert(!f.identified || strcmp(f.id, again.id) == 0);
		foreign_event_free(&again);
		foreign_event_free(&f);
	}
	buffer_free(&event);
	return 0;
}
