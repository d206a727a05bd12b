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

/* The minimum after division: as long as a busy machine may take to answer at all. */
#define PATIENCE_LEAST_MS 250

static inline int
patience_of(int ms)
{
	int divided = ms / patience_divisor;

	if (divided >= PATIENCE_LEAST_MS)
		return divided;
	return ms < PATIENCE_LEAST_MS ? ms : PATIENCE_LEAST_MS;
}

/* ---- ending ---- */

/* A run inside another is so much earlier with SIGKILL, so that it has recorded its end by
 * then, and so much more for each further run around that. */
#define HURRY_FIRST_MS (2 * patience_of(500))
#define HURRY_MORE_MS (HURRY_FIRST_MS / 5)
/* From SIGTERM to SIGKILL, and from there to giving up: 5 s. */
#define GRACE_MS (patience_of(4000) + HURRY_FIRST_MS)
/* After another first signal than SIGTERM, until that. */
#define TERMINATE_MS patience_of(1000)
/* For a background process of a workflow that has ended to enter itself as a step. */
#define STEP_GRACE_MS patience_of(200)
/* To end by themselves when they are no longer needed: a mask filter, a provider, an MCP server, an
 * agent CLI after its answer; the program that copies a run. */
#define REDACTOR_END_MS patience_of(1000)
#define PROVIDER_END_MS patience_of(1000)
#define MCP_END_MS patience_of(2000)
#define CLI_END_MS patience_of(10000)
/* A CLI's --version may take its runtime a while. */
#define CLI_VERSION_MS 30000
#define FETCHER_END_MS patience_of(10000)
/* What reads a database has nothing to write down, but may wait for it. */
#define MIRROR_FILTER_END_MS patience_of(2000)
/* A filter of awf-ship writes down what it has taken, in a database that others use. */
#define SHIP_END_MS patience_of(60000)
/* For it to report that it has connected. */
#define SHIP_HELLO_MS patience_of(120000)
/* For a guardian's helper to end what it has started: a peer has MCP_END_MS and then the grace. */
#define HELPER_END_MS (MCP_END_MS + 3 * GRACE_MS)
/* For what others are ending just now: on resume, and before an overlapping run begins. */
#define SURVIVORS_MS patience_of(3000)
/* For a run that somebody has cancelled, which may have runs in it, to end. */
#define CANCEL_MS patience_of(600000)
/* For the reader of a pipe to read what was written, before it is assumed to have gone. */
#define READER_MS patience_of(1000)
/* For the reader of a pipe to read more, when the writer was told to stop. */
#define STOPPED_MS patience_of(1000)

/* ---- answers and locks ---- */

/* For a filter to mask an event, and so much more for each MiB of it. Whole in tests, too:
 * nothing is written after it, and a busy machine may take a second to start a filter. */
#define REDACTOR_ANSWER_MS 10000
#define REDACTOR_ANSWER_MIB_MS 1000
#define TRANSCRIPT_LOCK_MS patience_of(30000)
/* The same if others wait meanwhile, and the sender will try again. */
#define UPLOAD_LOCK_MS patience_of(2000)
#define QUEUE_LOCK_MS patience_of(30000)
#define AUDIT_LOCK_MS patience_of(2000)
#define LIMIT_LOCK_MS patience_of(30000)

/* For a worker that lives to say so: it may just be starting, or have dozens of requests, on a
 * busy machine. */
#define WORKER_HELLO_MS (2000 + patience_of(3000))
/* For a worker to wait for its next client. */
#define WORKER_IDLE_MS patience_of(60000)

/* Interval of signs of life on both ends of a launcher. Without any: time until the other end is
 * considered lost, and until the command there, which is then told to end, is killed. */
#define FAR_PING_MS patience_of(2000)
#define FAR_SILENT_MS (INT64_C(8) * patience_of(1000))
#define FAR_LOST_MS patience_of(1000)
/* After that nothing of it runs there, whatever has become of the connection. */
#define FAR_GONE_MS (FAR_SILENT_MS + FAR_LOST_MS)
/* For a signal sent to all processes of a job to reach the far end after it has ended
 * the command. */
#define FAR_SIGNAL_MS patience_of(100)
/* For a launcher to end after the far end has; and for the far end to get its request. */
#define FAR_LEAVE_MS patience_of(5000)
#define FAR_REQUEST_MS patience_of(60000)

/* ---- trying again, looking again ---- */

/* Before the first retry, unless --delay is given. */
#define RETRY_DELAY_MS patience_of(1000)
/* Whether a run that is waited for still lives, though nothing tells of its end. */
#define OVERLAP_LOOK_MS patience_of(1000)
#define FOLLOW_LOOK_MS patience_of(500)
/* Before a server that is gone is asked again, at first; and at last. */
#define SERVER_RETRY_MS patience_of(1000)
#define SERVER_RETRY_MOST_MS patience_of(30000)
/* Between checks of all runs that are shipped, without a notification; and before a refused run is
 * tried again. */
#define SHIP_LOOK_MS patience_of(5000)
#define SHIP_REFUSED_MS patience_of(60000)
/* Between checks whether a database has tables; and of all its runs, without a notification. */
#define FETCH_LOOK_MS patience_of(1000)
#define FETCH_LIST_MS patience_of(60000)
/* For a database to accept what clients have sent, and for the local copy to have it. The second is
 * not divided in tests: a busy machine may take a second to start a filter. */
#define OUTBOX_MS (10000 + patience_of(20000))
#define OUTBOX_COPY_MS 5000
/* For data that is being sent to a database when a server ends. */
#define OUTBOX_STOP_MS patience_of(2000)
/* Between checks whether another process still copies to the same directory. */
#define FETCH_LOCK_LOOK_MS patience_of(500)
/* Whether a child run that is named has begun. */
#define CHILD_LOOK_MS patience_of(500)
/* Whether a call that was killed has left its place to one that waits. */
#define LIMIT_LOOK_MS patience_of(500)
/* For the next in line to take what has become free, before those after it do. */
#define LIMIT_PASS_MS patience_of(2000)
/* The period for per-minute in awf-limits(5). */
#define LIMIT_MINUTE_MS patience_of(60000)
/* Before an API that is down is tried, at first; and at last. */
#define DOWN_PAUSE_MS patience_of(5000)
#define DOWN_PAUSE_MOST_MS patience_of(60000)
/* Whether a job that another has, or writes, can be taken. */
#define JOB_LOOK_MS patience_of(1000)
/* Before jobs are taken again, once the machine has failed. */
#define JOB_PAUSE_MS patience_of(10000)
/* At a worker that has ended, though its signal came just before the poll. */
#define WORKERS_LOOK_MS patience_of(500)

/* ---- before a word about it ---- */

/* Until a message that items wait for the rest of the input. */
#define AHEAD_TOLD_MS patience_of(10000)
/* That a command has ended and what it started holds its output open. */
#define OUTPUT_HELD_TOLD_MS patience_of(2000)
/* That a call waits for others of its provider. */
#define LIMIT_TOLD_MS patience_of(1000)
/* For the first bytes of a child run's input, by which a recorded child is chosen. */
#define INPUT_BEGIN_MS patience_of(1000)

/* ---- limits where users give none ---- */

/* Before a client of awf-mcp is told that the run continues: clients give up after a minute. In
 * tests long enough for a busy machine to reach the next question. */
#define GATE_WAIT_MS (3000 + patience_of(42000))
/* --ask-grace. */
#define ASK_GRACE_MS patience_of(10000)

#define NOTIFY_LIMIT_MS 60000
#define BEFORE_TURN_LIMIT_MS 60000
#define MCP_STARTUP_LIMIT_MS 60000
#define BASH_LIMIT_MS 120000
#define CONNECT_LIMIT_MS 10000
/* For a program to answer --check or --schema. */
#define CHECK_LIMIT_MS 10000
/* For a server to send the list of its models. */
#define MODELS_LIST_LIMIT_MS patience_of(60000)
/* For a worker that was started to say that it listens. */
#define WORKER_START_MS 5000
/* For an HTTP client to send the head of a request, its body, and the next request; and to accept a
 * byte of the response. */
#define CLIENT_HEAD_MS patience_of(10000)
#define CLIENT_BODY_MS patience_of(30000)
#define CLIENT_UPLOAD_MS patience_of(600000)
#define CLIENT_IDLE_MS patience_of(60000)
#define CLIENT_STALL_MS patience_of(60000)
/* For a client that was refused while sending to read why. */
#define CLIENT_LEAVE_MS patience_of(5000)
/* For a cancelled run to end before the client is told that it was cancelled. */
#define CANCEL_ANSWER_MS patience_of(20000)
/* For a workflow that a hook has started to begin, before that is answered; and for other deliveries
 * of the hook that are under way: in tests twenty of them, on a busy machine. */
#define HOOK_START_MS patience_of(20000)
#define HOOK_LOCK_MS (8000 + patience_of(32000))
/* Between signs that a stream lives. */
#define STREAM_HEARTBEAT_MS patience_of(15000)
/* Between checks whether clients of streams are still allowed to read them. */
#define STREAM_CHECK_MS patience_of(2000)
/* Without any, until a stream is taken for lost. */
#define STREAM_SILENT_MS patience_of(45000)
/* Without a byte of an answer. */
#define STALL_LIMIT_MS 300000
/* With comments and pings of its stream alone: where models think, or wait for a place, servers send
 * these for half an hour. */
#define KEPT_ALIVE_LIMIT_MS 3600000

#endif
