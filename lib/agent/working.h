/*
 * One call of a step while it is made: what lib/agent/step.c and the files beside
 * it share. step_record.c appends its events, step_work.c does the work,
 * step_lines.c makes what goes to stdout.
 */
#ifndef AWF_AGENT_WORKING_H
#define AWF_AGENT_WORKING_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/step.h"
#include "json/writer.h"
#include "record/call.h"

struct working {
	struct step *step;
	const struct item *item;
	const struct error *refused; /* why the gate does not take it; NULL */
	int64_t index;
	char *id;                  /* NAME:OCCURRENCE:ITEM chain */
	struct call call;
	char started[ID_SIZE];     /* event id of step.started */
	int64_t begun;             /* monotonic ms */
	struct buffer links;       /* inside of a JSON array */
	char parent[ID_SIZE];
	bool input_is_result;      /* input is the result of parent */
	bool conditional, condition;
	/* What came of it. */
	struct data *results;
	size_t result_count;
	struct error error;
	const char *skipped;       /* why the work was not done; NULL */
	int exit_code;             /* of a command; -1 */
	struct buffer retries;     /* inside of a JSON array */
	struct buffer errors;      /* tail of stderr */
	int64_t errors_bytes;
	int64_t tool_calls;
	/* step.completed */
	struct event completed;
};

/* step_record.c: parent and links from the causes of the input; then the two events
 * around the work. Both are durable as step.h promises. */
void working_find_causes(struct working *work, const struct buffer *causes);
int working_append_started(struct working *work, struct error *err);
int working_append_completed(struct working *work, struct error *err);

/* {"code": …, "message": …} as a member. */
void working_write_error(struct writer *w, const char *key, const struct error *error);

/* step_work.c: does the work, fills results or error. -1: the machine failed. */
int working_run(struct working *work, struct error *err);
/* Asks --when; sets condition, or error if the condition itself failed. */
int working_ask_condition(struct working *work, struct error *err);

/* step_lines.c: lines for stdout, after step.completed was appended. */
void working_put_results(const struct working *work, struct buffer *out);
void working_put_failure(const struct working *work, struct buffer *out);
/* The item goes on: as it came if this run's state line it was, else as a line of
 * this call's. */
void working_pass_item(const struct working *work, struct buffer *out);
/* The state line that conditions and -e read; an item without one gets a line that
 * names this call's step.started. */
void working_state_line(const struct working *work, struct buffer *out);

#endif
