/* Each message is one write, so nobody reads half of it. If the reader has gone, stdin is
 * closed too. */
#include "say.h"

#include <unistd.h>

#include "io/terminal.h"
#include "json/writer.h"
#include "transcript/event_keys.h"

static void
fetch_report_begin(struct writer *w, struct buffer *line, const char *type)
{
	writer_begin(w, line);
	writer_object(w);
	writer_member_string(w, KEY_TYPE, type);
}

static void
fetch_report_end(struct writer *w)
{
	writer_object_end(w);
	buffer_byte(w->out, '\n');
	(void)!terminal_write_json(STDOUT_FILENO, w->out->data, w->out->len);
	buffer_free(w->out);
}

void
fetch_report_copy(const char *directory, const char *base)
{
	struct buffer line = BUFFER_INIT;
	struct writer w;

	fetch_report_begin(&w, &line, "copy");
	writer_member_string(&w, "directory", directory);
	writer_member_string(&w, "server", base);
	fetch_report_end(&w);
}

void
fetch_report_ready(const char *run_id, int64_t skipped)
{
	struct buffer line = BUFFER_INIT;
	struct writer w;

	fetch_report_begin(&w, &line, "ready");
	writer_member_string(&w, KEY_RUN_ID, run_id);
	if (skipped > 0)
		writer_member_integer(&w, "skipped", skipped);
	fetch_report_end(&w);
}

void
fetch_report_replaced(const char *run_id, int64_t bytes, int64_t seq)
{
	struct buffer line = BUFFER_INIT;
	struct writer w;

	fetch_report_begin(&w, &line, "replaced");
	writer_member_string(&w, KEY_RUN_ID, run_id);
	writer_member_integer(&w, KEY_BYTES, bytes);
	writer_member_integer(&w, KEY_SEQ, seq);
	fetch_report_end(&w);
}

static void
fetch_report_as(const char *type, const struct error *err)
{
	struct buffer line = BUFFER_INIT;
	struct writer w;

	fetch_report_begin(&w, &line, type);
	writer_member_string(&w, "place", err->place);
	writer_members_error(&w, err);
	fetch_report_end(&w);
}

void
fetch_report_warning(const struct error *warning)
{
	fetch_report_as("warning", warning);
}

void
fetch_report_error(const struct error *err)
{
	fetch_report_as("error", err);
}
