/*
 * A call that waits, and its process with it (awf-run --wait). The wait is recorded as one without a
 * process is (step_wait.c), but as step.waiting in place of the call's end, so decisions are made in
 * the same way, and a call whose process is killed waits on. The process reads the transcript as it
 * grows; the decision that it finds there becomes the call's end.
 *
 * All calls of a run that wait share one time: it begins with the first wait, and again with each
 * decision, since then somebody is there. A file of the run's directory keeps when that was.
 */
#include "step_call/step_call.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/options.h"
#include "base/patience.h"
#include "io/file.h"
#include "model/watch.h"
#include "proc/message.h"
#include "transcript/event_keys.h"
#include "view/terminal_question.h"

#define TOLD_MOST 3 /* messages of a process about its calls that wait */
#define ATTENDED_FILE "attended" /* in the directory of the run: its time of change is kept */

/* ---- how long ---- */

/* How long the calls of a run wait with their processes, in ms. */
static int64_t
attended_ms(void)
{
	const char *text = getenv(ATTENDED_WAIT);
	struct error ignored;
	long long ms = 0;

	return text != NULL && options_duration(ATTENDED_WAIT, text, &ms, &ignored) == 0 ? ms : 0;
}

/* The time at which the calls of the run stop to wait, in µs since 1970. again: the time begins
 * anew. */
static int64_t
attended_until(const struct step_call *call, bool again)
{
	char *path = path_join(call->step->place.run->directory, ATTENDED_FILE);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int64_t since = clock_wall();
	struct stat status;

	if (fd == -1 && again)
		utimensat(AT_FDCWD, path, NULL, 0);
	else if (fd == -1 && stat(path, &status) == 0)
		since = (int64_t)status.st_mtim.tv_sec * 1000000 + status.st_mtim.tv_nsec / 1000;
	file_close(&fd);
	free(path);
	return since + attended_ms() * 1000;
}

/* The deadline in payload.approval of the wait; 0: none. */
static int64_t
attend_deadline(const struct step_call *call)
{
	const struct buffer *approval = &call->end.approval;
	char text[CLOCK_TEXT_SIZE];
	int64_t deadline;

	return span_copy(span_member(span_of(buffer_string(approval), approval->len), KEY_DEADLINE), text,
	    sizeof text) && clock_parse(text, 0, &deadline) == 0 ? deadline : 0;
}

/* Whether so little of the time is left for which the call sleeps that the process does. */
static bool
sleeps_here(const struct step_call *call)
{
	const int64_t left = (attend_deadline(call) - clock_wall()) / 1000, ms = attended_ms();

	return left <= (ms > SLEEP_HERE_MS ? ms : SLEEP_HERE_MS);
}

bool
step_may_attend(const struct step *s)
{
	return !step_replays(s) && (s->options.sleep.asked || (attended_ms() > 0 &&
	    (s->options.pending.asked || (s->options.approve && !terminal_question_possible()))));
}

bool
step_attends(const struct step_call *call)
{
	const struct step_place *place = &call->step->place;

	if (call->end.error.code != ERROR_WAITING || call->end.approval.len == 0 || call->attended ||
	    place->unattended || step_replays(call->step))
		return false;
	return call->step->options.sleep.asked ? sleeps_here(call) : attended_ms() > 0;
}

/* ---- its record ---- */

void
step_write_wait(const struct step_call *call, struct writer *w)
{
	writer_object(w);
	writer_member_string(w, KEY_NAME, call->step->options.name);
	writer_member_string(w, KEY_KIND, call->step->definition.kind);
	writer_member_string(w, KEY_CALL, call->id);
	writer_member_buffer(w, KEY_APPROVAL, &call->end.approval);
	writer_object_end(w);
}

/* ---- waiting ---- */

/* Waits until the transcript has grown, until a time (µs since 1970), or a signal. -1: a signal, or
 * nobody reads the output any more. */
static int
attend_pause(const struct step_call *call, struct watch *watch, int64_t until)
{
	const int64_t left = (until - clock_wall()) / 1000 + 1;
	struct pollfd fds[2] = { { .fd = -1 }, { .fd = watch->fd, .events = POLLIN } };
	struct error why;
	int woken = interrupts_wait(&call->step->place.interrupts, fds, 2,
	    clock_monotonic() + (left < SLEEP_PIECE_MS ? left : SLEEP_PIECE_MS), &why);

	if (fds[1].revents != 0)
		watch_drain(watch);
	return woken;
}

/* Tells who reads the messages that a person is to decide; of many calls, about the first ones. */
static void
attend_tell(const struct step_call *call)
{
	static int told;

	if (call->step->options.approve && told++ < TOLD_MOST)
		message_print("awf-step", "%s: " WAITING_FOR_DECISION ": awf-ctl approve %s %.8s%s", call->step->options.name,
		    call->id, call->step->place.run->id, told == TOLD_MOST ? " (further calls wait without a message)" : "");
}

int
step_attend(struct step_call *call, const struct event *began, struct error *err)
{
	const char *path = call->step->place.run->transcript.path;
	int64_t until = attended_until(call, false);
	struct event_place place = { 0, 0 };
	struct watch watch;
	int found;

	call->attended = true;
	call->wait = (struct attended_wait){ .from = call->record_from, .deadline = attend_deadline(call) };
	memcpy(call->wait.event, began->id, ID_SIZE);
	if (call->step->place.waits != NULL)
		call->step->place.waits();
	attend_tell(call);
	watch_open(&watch);
	found = watch_add(&watch, path, err);
	while (found == 0) {
		/* What is recorded after this look came later than this time, and heartbeats are
		 * refused after the deadline. */
		const int64_t now = clock_wall();
		int64_t deadline;

		found = decision_find(path, &call->wait, &place, err);
		if (found != 0)
			break;
		deadline = call->wait.deadline;
		if (deadline != 0 && now > deadline) {
			step_end_wait(call, deadline);
			break;
		}
		/* Another call may have been decided about since. */
		if (!call->step->options.sleep.asked && now >= until && now >= (until = attended_until(call, false)))
			break;
		if (attend_pause(call, &watch, deadline != 0 && (deadline < until ||
		    call->step->options.sleep.asked) ? deadline : until) == -1)
			break;
	}
	watch_close(&watch);
	if (found != 1)
		return found;
	attended_until(call, true);
	return step_take_early(call, place, err);
}
