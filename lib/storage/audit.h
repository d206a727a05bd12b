/*
 * The audit trail: two lines per attempt of a run, one for each run that was skipped (--overlap)
 * or removed (awf-ctl prune), in one file for all runs, audit.jsonl in the storage ($AWF_AUDIT_LOG
 * moves it, "off" disables it). A line has 4 KiB at most and is written by one write() under a
 * lock. Secrets in inputs are masked by the name of their key (secret, api_key, password, token;
 * any case and separators). An error never makes a run fail: it is returned as a text for a
 * warning.
 */
#ifndef AWF_STORAGE_AUDIT_H
#define AWF_STORAGE_AUDIT_H

#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
#include "json/scan.h"
#include "storage/storage.h"

#define AUDIT_LINE_LIMIT 4096 /* with its LF */

struct audit_start {
	const char *run_id;
	int attempt;
	const char *name;      /* name of the workflow */
	int64_t wall;          /* µs */
	struct span inputs;    /* JSON object of --input values */
};
struct audit_end {
	const char *run_id;
	int attempt;
	const char *name;
	int64_t wall;
	const char *status;
	int exit_code;
	int64_t duration_ms;
	const char *error;     /* NULL: none */
};
struct audit_skip {
	const char *run_id;    /* NULL: it got none */
	const char *name;      /* NULL: the run is masked */
	const char *policy;    /* policy of --overlap */
	const char *by;        /* the run because of which it was skipped; "" if not known */
};
struct audit_prune {
	const char *run_id, *name, *status;  /* as recorded in the transcript */
};

/* -1 with *err, which is printed as a warning; the run goes on. */
int audit_started(const struct storage *s, const struct audit_start *a, struct error *err);
int audit_completed(const struct storage *s, const struct audit_end *a, struct error *err);
int audit_pruned(const struct storage *s, const struct audit_prune *a, struct error *err);
int audit_skipped(const struct storage *s, const struct audit_skip *a, struct error *err);

/* Appends inputs with secrets masked, in at most limit bytes: long values are shortened, if
 * necessary several times, then members are left out. Returns whether anything was shortened. */
int audit_inputs(struct span inputs, size_t limit, struct buffer *out);

#endif
