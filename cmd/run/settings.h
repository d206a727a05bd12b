/*
 * The command line of awf-run: its options, read and checked.
 */
#ifndef AWF_RUN_SETTINGS_H
#define AWF_RUN_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/options.h"
#include "history/history.h"
#include "limits/ceiling.h"
#include "view/screen.h"

#define DEFAULT_SHELL "/bin/sh"

struct settings {
	const char *pipeline, *shell, *name, *id_file;
	const char *id;        /* id of the new run; NULL: awf-run makes one */
	const char *mask;      /* NULL: none */
	const char *seal_file; /* NULL: the user's default key */
	const char *workspace; /* absolute; NULL: the current directory */
	const char *resume;    /* run to be resumed; NULL: a new run */
	const char *fork, *at; /* run to be forked, and the path from which; NULL */
	const char *max_cost;             /* dollars; NULL: no limit */
	const char *wait;      /* how long calls wait with their processes; NULL: as usual */
	const char *allow_tools;          /* names with commas; NULL */
	enum tools_policy tools_policy;
	char **redo, **skip, **new_steps; /* paths; NULL-terminated; may be NULL */
	bool redo_changed;     /* do not reuse results of programs that have changed */
	bool go_on;            /* --continue */
	bool dry_run;          /* the workflow is executed, but no model is asked and nothing
	                          recorded */
	const char *overlap;   /* one of overlap_policies */
	const char *keep;      /* age of earlier runs to remove at the end; NULL */
	const char *on_complete, *on_failure; /* commands for the shell; NULL */
	bool by_itself;        /* --auto-resume */
	bool no_input, no_transcript, print_id, seal, snapshot, detach, tried;
	enum screen_mode view; /* live view on a terminal */
	long long timeout_ms;
	char **inputs;       /* KEY=VALUE; NULL-terminated; may be NULL */
	char **recorded;     /* of --env; the same form */
	char **ignored;      /* of --ignore-env and the workflow's own lines; likewise */
	char *const *words;
	char *pinned_id_file;  /* id_file as an absolute path */
};

extern const char run_usage[];
extern const struct option_spec run_options[];

/* Returns OPTION_END to go on, one of OPTION_ASKS(), or -1 with *err. */
int settings_parse(struct settings *s, int argc, char **argv, struct error *err);
/* The user's answers to questions about recorded calls; their lists belong to the settings. */
struct history_answers settings_answers(const struct settings *s);
void settings_free(struct settings *s);

#endif
