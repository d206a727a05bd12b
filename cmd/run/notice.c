/*
 * What the command gets on stdin is written when the run's end is recorded and the run still
 * open, so that a failure to record it is in there too; it is sent later, by cmd/run/notify.h.
 */
#include "run/notice.h"

#include <string.h>

#include "base/clock.h"
#include "json/writer.h"
#include "run/cost.h"
#include "run/notify.h"
#include "transcript/event_keys.h"

bool
notice_wanted(const struct settings *s)
{
	return s->on_complete != NULL || s->on_failure != NULL;
}

static void
write_or_null(struct writer *w, const char *key, const char *text)
{
	writer_key(w, key);
	writer_string(w, text);
}

void
notice_write(struct buffer *out, const struct run *run, const struct conclusion *e,
    const struct outcome *outcome, int64_t cost)
{
	char started[CLOCK_TEXT_SIZE];
	struct writer w;

	writer_begin(&w, out);
	writer_object(&w);
	writer_member_string(&w, KEY_RUN_ID, run->id);
	writer_member_string(&w, KEY_NAME, run->name);
	writer_member_integer(&w, KEY_ATTEMPT, run->attempt);
	writer_member_string(&w, KEY_STATUS, e->status);
	writer_member_integer(&w, KEY_EXIT_CODE, e->exit_code);
	run_write_error(&w, &e->error);
	write_or_null(&w, "step", *e->step != '\0' ? e->step : NULL);
	writer_member_string(&w, "started", clock_text(run->started_wall, started));
	writer_member_integer(&w, KEY_DURATION_MS, clock_monotonic() - run->started_monotonic);
	writer_key(&w, KEY_USAGE);
	writer_raw(&w, outcome->usage.data, outcome->usage.len);
	cost_write(&w, cost);
	write_or_null(&w, "transcript", run->keep_transcript ? run->transcript.path : NULL);
	writer_object_end(&w);
	buffer_byte(out, '\n');
}

/* NULL: nobody wants to know, or the run goes on when somebody has decided. */
static const char *
find_command(const struct settings *s, const char *status, const char **option)
{
	const bool success = strcmp(status, "success") == 0;

	if (strcmp(status, "waiting") == 0)
		return NULL;
	*option = success ? "--on-complete" : "--on-failure";
	return success ? s->on_complete : s->on_failure;
}

int
notice_send(const struct settings *s, const struct conclusion *e,
    const struct buffer *summary, int out, char *const *environment, struct error *err)
{
	const char *option, *command = find_command(s, e->status, &option);
	struct error why;

	if (command == NULL ||
	    notify(command, span_of(summary->data, summary->len), out, environment, &why) == 0)
		return 0;
	return error_set(err, why.code, option, "%s", why.message);
}
