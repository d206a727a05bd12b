/*
 * What the command is told is there, whole, before it starts, so nobody has to feed it.
 * A guardian ends what it leaves behind, as in a run.
 */
#include "run/notify.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/polling.h"
#include "proc/descendants.h"
#include "proc/guardian.h"
#include "run/supervise.h"

/* Until the command has ended, or *err says what ends it. The signal that does, or
 * SIGTERM. */
static int
wait_for(struct guardian *g, struct error *err)
{
	int64_t deadline = clock_monotonic() + NOTIFY_LIMIT_MS, left;
	char limit[32];
	int number;

	while (g->state == GUARDIAN_RUNNING && (left = deadline - clock_monotonic()) > 0) {
		number = signals_wait(g->report, (int)left);
		if (poll_now(g->report, POLLIN) != 0) {
			guardian_read(g);
		} else if (number != 0) {
			error_set(err, ERROR_CANCELLED, NULL, "cancelled by signal %d (%s)", number,
			    strsignal(number));
			return number;
		}
	}
	if (g->state == GUARDIAN_RUNNING)
		error_set(err, ERROR_TIMEOUT, NULL, "not done after %s",
		    duration_text(NOTIFY_LIMIT_MS, limit, sizeof limit));
	else if (g->state == GUARDIAN_LOST)
		error_set(err, ERROR_SYSTEM, NULL, "its guardian was killed");
	return SIGTERM;
}

int
notify(const char *command, struct span text, int out, char *const *environment,
    struct error *err)
{
	char *argv[4];
	const struct process_spec spec = { .argv = argv, .environment = environment,
		.in = PROCESS_INPUT, .input = text.at, .input_len = text.len,
		.out = out, .err = PROCESS_INHERIT };
	struct guardian g;
	char status[64];
	int number, unused;

	*err = (struct error)ERROR_INIT;
	process_shell(argv, command);
	signals_drop(); /* they meant the run */
	if (guardian_start(&g, &spec, &unused, err) != 0)
		return -1;
	number = wait_for(&g, err);
	if (g.state != GUARDIAN_ALONE)
		descendants_end(getpid(), number, NULL);
	guardian_close(&g);
	if (err->code != ERROR_NONE)
		return -1;
	if (process_exit_code(g.wait_status) == 0)
		return 0;
	return error_set(err, ERROR_EXIT_STATUS, NULL, "%s",
	    process_status_text(g.wait_status, status, sizeof status));
}
