/*
 * All of AWF's own time limits and delays, in milliseconds: for processes that were told to end,
 * for locks, before retries. They are defined here so that the tests, which wait for most of them,
 * need not wait as long: the test build divides them by twenty (patience_of()).
 *
 * Times given by users (--timeout 5s) are never divided, nor are the default limits for them, nor
 * polling intervals, which are short already.
 */
#ifndef AWF_BASE_PATIENCE_H
#define AWF_BASE_PATIENCE_H

#include <stdint.h>

/* 1; in programs built for tests, which link tests/patience.c instead, 20. */
extern const int patience_divisor;

/* Times are not divided below this: a busy machine may need as long to react at all. */
#define PATIENCE_LEAST_MS 250

static inline int
patience_of(int ms)
{
	int divided = ms / patience_divisor;

	if (divided >= PATIENCE_LEAST_MS)
		return divided;
	return ms < PATIENCE_LEAST_MS ? ms : PATIENCE_LEAST_MS;
}

/* The process of awf-step --sleep sleeps for at most so long, unless awf-run --wait says longer. */
#define SLEEP_HERE_MS patience_of(60000)
/* A longer sleep looks at the clock after so long, which may have been set, or stood still while the
 * machine was suspended. */
#define SLEEP_PIECE_MS 1000

/* ---- ending processes ---- */

/* If a run is inside of another, SIGKILL is sent by this much earlier, so that it can record its
 * end before the outer run ends it; and by HURRY_MORE_MS earlier for each further level. */
#define HURRY_FIRST_MS (2 * patience_of(500))
#define HURRY_MORE_MS (HURRY_FIRST_MS / 5)
/* From SIGTERM to SIGKILL, and from SIGKILL to giving up: 5 s. */
#define GRACE_MS (patience_of(4000) + HURRY_FIRST_MS)
/* If the first signal was another one than SIGTERM: from there to SIGTERM. */
#define TERMINATE_MS patience_of(1000)
/* How long the end of a workflow waits for a background process that is about to record that it is
 * a step. */
#define STEP_GRACE_MS patience_of(200)
/* How long a process may take to end by itself when it is no longer needed: a mask filter, a
 * provider, an MCP server, an agent CLI after its answer, the program that copies a run. */
#define REDACTOR_END_MS patience_of(1000)
#define PROVIDER_END_MS patience_of(1000)
#define MCP_END_MS patience_of(2000)
#define CLI_END_MS patience_of(10000)
/* --version of an agent CLI, whose runtime may start slowly. */
#define CLI_VERSION_MS 30000
#define FETCHER_END_MS patience_of(10000)
/* A program that reads from a database stores nothing, but may be waiting for the database. */
#define MIRROR_FILTER_END_MS patience_of(2000)
/* A filter of awf-ship may still have to store data in a database that others use, too. */
#define SHIP_END_MS patience_of(60000)
/* Time until the filter of awf-ship must report that it has connected. */
#define SHIP_HELLO_MS patience_of(120000)
/* Time for a guardian's helper to end what it has started: MCP_END_MS for a peer, then GRACE_MS. */
#define HELPER_END_MS (MCP_END_MS + 3 * GRACE_MS)
/* How long to wait for processes that somebody else is ending: on resume, and before a run that had
 * to wait for another one (--overlap). */
#define SURVIVORS_MS patience_of(3000)
/* How long awf-ctl cancel waits for the end of a run, which may contain other runs. */
#define CANCEL_MS patience_of(600000)
/* How long a pipe may stay full until its reader is assumed to be gone. */
#define READER_MS patience_of(1000)
/* The same after the writer was told to stop. */
#define STOPPED_MS patience_of(1000)

/* ---- answers and locks ---- */

/* How long a mask filter may take for an event; for each MiB of the event that much more. Not
 * divided in tests: after an error nothing more can be recorded, and a busy machine may need a
 * second to start a filter. */
#define REDACTOR_ANSWER_MS 10000
#define REDACTOR_ANSWER_MIB_MS 1000
#define TRANSCRIPT_LOCK_MS patience_of(30000)
/* For uploads: others wait meanwhile, and the client tries again anyway. */
#define UPLOAD_LOCK_MS patience_of(2000)
#define QUEUE_LOCK_MS patience_of(30000)
#define AUDIT_LOCK_MS patience_of(2000)
#define LIMIT_LOCK_MS patience_of(30000)

/* How long to wait for a worker's greeting: it may be starting, on a busy machine. */
#define WORKER_HELLO_MS (2000 + patience_of(38000))
/* How long a worker waits for its next client before it ends. */
#define WORKER_IDLE_MS patience_of(60000)

/* Both ends of a launcher send a sign of life in this interval. If none comes for FAR_SILENT_MS,
 * the other end counts as lost; the command at the far end is then told to end, and killed after
 * FAR_LOST_MS. */
#define FAR_PING_MS patience_of(2000)
#define FAR_SILENT_MS (INT64_C(8) * patience_of(1000))
#define FAR_LOST_MS patience_of(1000)
/* After this time nothing of the command runs there any more, whatever happened to the
 * connection. */
#define FAR_GONE_MS (FAR_SILENT_MS + FAR_LOST_MS)
/* How long the far end waits, after its command has ended by a signal, whether it gets the signal
 * too: it may have been sent to all processes of a job. */
#define FAR_SIGNAL_MS patience_of(100)
/* How long a launcher may take to end after the far end; and how long the far end waits for its
 * request. */
#define FAR_LEAVE_MS patience_of(5000)
#define FAR_REQUEST_MS patience_of(60000)

/* ---- trying again, looking again ---- */

/* Before the first retry, unless --delay is given. */
#define RETRY_DELAY_MS patience_of(1000)
/* The least time over which retries are spread whose calls a server has told to wait the same time. */
#define RETRY_SPREAD_MS patience_of(1000)
/* How often to check whether a run is still alive, if the system does not report its end. */
#define OVERLAP_LOOK_MS patience_of(1000)
#define FOLLOW_LOOK_MS patience_of(500)
/* Delay before a server that does not answer is asked again: the first, and the longest. */
#define SERVER_RETRY_MS patience_of(1000)
#define SERVER_RETRY_MOST_MS patience_of(30000)
/* Interval of checks of all runs that are shipped, if changes are not reported; and delay before a
 * run that was refused is sent again. */
#define SHIP_LOOK_MS patience_of(5000)
#define SHIP_REFUSED_MS patience_of(60000)
/* Interval of checks whether a database has its tables; and of reading its list of runs, if changes
 * are not reported. */
#define FETCH_LOOK_MS patience_of(1000)
#define FETCH_LIST_MS patience_of(60000)
/* How long to wait until a database has stored an upload, and until the local copy has it, too. The
 * second is not divided in tests: a busy machine may need a second to start a filter. */
#define OUTBOX_MS (10000 + patience_of(20000))
#define OUTBOX_COPY_MS 5000
/* How long a server that ends waits for data on its way to a database. */
#define OUTBOX_STOP_MS patience_of(2000)
/* Interval of checks whether another process still copies into the same directory. */
#define FETCH_LOCK_LOOK_MS patience_of(500)
/* Interval of checks whether a child run has begun. */
#define CHILD_LOOK_MS patience_of(500)
/* Interval of checks whether a call that holds a place (awf-limits(5)) was killed. */
#define LIMIT_LOOK_MS patience_of(500)
/* How long a free place is reserved for the first in the queue. */
#define LIMIT_PASS_MS patience_of(2000)
/* The period for per-minute in awf-limits(5). */
#define LIMIT_MINUTE_MS patience_of(60000)
/* Delay before an API that is down is tried again: the first, and the longest. */
#define DOWN_PAUSE_MS patience_of(5000)
#define DOWN_PAUSE_MOST_MS patience_of(60000)
/* Interval of checks whether a job can be taken that another process has, or is writing. */
#define JOB_LOOK_MS patience_of(1000)
/* Interval in which the resumer looks at runs that are alive or have died, and asks for its lock. */
#define RESUME_LOOK_MS ((int64_t)patience_of(10000))
/* Delay before a run is resumed again that could not be resumed; eight times as long after each
 * further failure. */
#define RESUME_PAUSE_MS ((int64_t)patience_of(15000))
/* Delay before jobs are taken again after an error of the machine. */
#define JOB_PAUSE_MS patience_of(10000)
/* Interval of checks whether a worker has ended, in case its signal came just before the wait. */
#define WORKERS_LOOK_MS patience_of(500)

/* ---- delays before messages ---- */

/* Before the message that items wait for the rest of the input. */
#define AHEAD_TOLD_MS patience_of(10000)
/* Before the message that a command has ended, but a process that it has started keeps its output
 * open. */
#define OUTPUT_HELD_TOLD_MS patience_of(2000)
/* Before the message that a call waits for other calls of its provider. */
#define LIMIT_TOLD_MS patience_of(1000)
/* How long to wait for the first bytes of a child run's input, by which a recorded child is
 * found. */
#define INPUT_BEGIN_MS patience_of(1000)

/* ---- limits for which users set none ---- */

/* After this time awf-mcp tells its client that the run goes on: clients give up after a minute. In
 * tests it is long enough for a busy machine to reach the next question. */
#define GATE_WAIT_MS (3000 + patience_of(42000))
/* Default of --ask-grace. */
#define ASK_GRACE_MS patience_of(10000)

#define NOTIFY_LIMIT_MS 60000
#define BEFORE_TURN_LIMIT_MS 60000
#define MCP_STARTUP_LIMIT_MS 60000
#define BASH_LIMIT_MS 120000
#define CONNECT_LIMIT_MS 10000
/* How long a program may take to answer --check or --schema. */
#define CHECK_LIMIT_MS 10000
/* How long a server may take to send the list of its models. */
#define MODELS_LIST_LIMIT_MS patience_of(60000)
/* How long a worker may take from its start until it listens. */
#define WORKER_START_MS 5000
/* How long an HTTP client may take to send the head of a request, its body, and the next request;
 * and to accept a byte of the response. */
#define CLIENT_HEAD_MS patience_of(10000)
#define CLIENT_BODY_MS patience_of(30000)
#define CLIENT_UPLOAD_MS patience_of(600000)
#define CLIENT_IDLE_MS patience_of(60000)
#define CLIENT_STALL_MS patience_of(60000)
/* How long a client that was refused while sending may take to read the reason. */
#define CLIENT_LEAVE_MS patience_of(5000)
/* How long to wait for the end of a cancelled run before the client is answered. */
#define CANCEL_ANSWER_MS patience_of(20000)
/* How long a hook's request waits until its workflow has begun; and for other deliveries of the
 * same hook: in tests there are twenty of them, on a busy machine. */
#define HOOK_START_MS patience_of(20000)
#define HOOK_LOCK_MS (8000 + patience_of(32000))
/* How long an event that came before its cause waits for it, while nothing else comes. */
#define CAUSE_AWAITED_MS patience_of(2000)
/* Interval of signs of life in a stream. */
#define STREAM_HEARTBEAT_MS patience_of(15000)
/* Between checks whether clients of streams are still allowed to read them. */
#define STREAM_CHECK_MS patience_of(2000)
/* A stream without a sign of life for this long counts as lost. */
#define STREAM_SILENT_MS patience_of(45000)
/* Longest time without a byte of an answer. */
#define STALL_LIMIT_MS 300000
/* Longest time with nothing but comments and pings in a stream: while a model thinks, or a request
 * is queued, servers may send only these for half an hour. */
#define KEPT_ALIVE_LIMIT_MS 3600000

/* ---- searching in what was said (awf-serve) ---- */

/* After that, a request begins to read no further run; and what is left of the run is left out. */
#define SEARCH_MS patience_of(2000)
#define SEARCH_RUN_MS (SEARCH_MS + patience_of(8000))

#endif
