/*
 * The options of a step: its command line as parsed (settings.h), in the terms of the options.
 * Options of a single kind of work are in a struct of their own, which only that kind reads.
 */
#ifndef AWF_STEP_CALL_STEP_OPTIONS_H
#define AWF_STEP_CALL_STEP_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "isolate/sandbox.h"
#include "limits/ceiling.h"
#include "limits/retry.h"
#include "step_call/gate.h"
#include "transcript/effects.h"

/* Shell text whose exit status is the answer: 0 yes, 1 no. It reads a state line. */
struct condition {
	const char *word;            /* how it is asked for and recorded: "when" */
	const char *text;            /* NULL: it is not asked */
};

/* -O: how results are separated in a command's stdout. */
enum output_form { OUTPUT_TEXT, OUTPUT_LINES, OUTPUT_NUL, OUTPUT_JSON };
extern const char *const output_forms[]; /* their names; ends with NULL */
/* What becomes of results. */
struct output_options {
	enum output_form form;
	const char *into;            /* --into KEY; NULL */
	bool raw;                    /* -r */
};
/* --try, --allow-failure. */
enum failure_mode { FAILURE_TRAVELS, FAILURE_TRY, FAILURE_ALLOWED };

/* -- command */
struct command_options {
	char *const *argv;           /* of a parallel group, shell text of each branch; NULL: none */
	bool feed_state;             /* -e: it reads the state line */
};

/* --via: a launcher runs the command elsewhere. */
struct elsewhere_options {
	const char *launcher;        /* shell text; NULL: it runs here */
	char **variables;            /* NAME, or NAME=VALUE, that it has there; ends with NULL; NULL */
	char **send, **fetch;        /* patterns of files; end with NULL; NULL: none */
	int64_t launch_ms;           /* --launch-timeout; 0: no limit */
};

/* --models: what is done with requests of a command to models. */
enum models_mode { MODELS_NONE, MODELS_RECORD, MODELS_REPLAY, MODELS_LIVE };
struct models_options {
	enum models_mode mode;
	char **endpoints;            /* FAMILY=NAME: whom its requests go to; ends with NULL; NULL */
	char **ignored;              /* --models-ignore: JSON pointers; ends with NULL; NULL */
};

/* How a command is run for an item; all but the first are groups. */
enum step_group { GROUP_NONE, GROUP_EACH, GROUP_LOOP, GROUP_PARALLEL };
enum step_strategy { STRATEGY_ALL, STRATEGY_ANY, STRATEGY_BEST_EFFORT };
extern const char *const step_strategies[]; /* their names; ends with NULL */
struct group_options {
	enum step_group kind;
	struct condition proceed;    /* --while; of a loop */
	struct condition until;      /* --until; of a loop and its iterations */
	int64_t max_rounds;          /* --max */
	enum step_strategy strategy; /* of a parallel group */
	size_t jobs;                 /* its branches at a time; 0: the default */
};

/* --ask */
struct question_options {
	const char *text;            /* a template, or @FILE; NULL: nothing is asked */
	struct condition accept;     /* --accept: whether an answer is taken */
	int64_t max_answers;         /* that are refused before the call fails; 0: no limit */
	int64_t grace_ms;            /* time to ask while no client is connected */
};

/* -a, -m: how the agents work; NULL, -1: as their files say. */
struct agent_options {
	const char *file;            /* NULL: an agent of nothing but a model */
	const char *model;           /* of the first agent */
	const char *model_place;     /* where the model is named; NULL: -m */
	const char *prompt;          /* a template, or @FILE; NULL: the data */
	char **attach;               /* files, for each item; ends with NULL; NULL: none */
	char **allow_tools;          /* ends with NULL */
	enum tools_policy tools_policy;
	int64_t max_turns, max_tokens_total;
	int64_t max_children;        /* runs that its tools may start; 0: no limit */
	const char *session;         /* the conversation that it goes on with; NULL */
	bool verbose;                /* print its text to stderr as it arrives */
};

/* --pending: the command may end as STATUS_WAITING, and its result comes later. */
struct pending_options {
	bool asked;
	int64_t timeout_ms;          /* how long it waits; 0: no limit */
};

/* --sleep, --sleep-until */
struct sleep_options {
	bool asked;
	int64_t ms;                  /* how long */
	const char *until;           /* or until when, as it was given; NULL */
	int64_t due;                 /* that time, in µs since 1970 */
};

/* The kinds of work (work.h), in the order in which it is looked whether the options ask for them: the last
 * is what is left. */
#define WORKS(row) \
	row(terminal) \
	row(tool) \
	row(approve) \
	row(sleep) \
	row(ask) \
	row(loop) \
	row(parallel) \
	row(each) \
	row(models) \
	row(elsewhere) \
	row(command) \
	row(agent)

struct step_options {
	const char *name;
	const char *kind;            /* --kind, as recorded; NULL: that of the work */

	/* The work: one of these, and what they share. */
	const char *terminal;        /* --terminal: "success" or "failure" */
	const char *tool;            /* -t */
	bool approve;                /* --approve */
	struct sleep_options sleep;
	struct question_options question;
	struct command_options command;
	struct elsewhere_options elsewhere;
	struct models_options models;
	struct group_options group;
	struct agent_options agent;
	const char *output_schema;   /* a file: of the result of an agent, or of an answer; NULL */
	int64_t max_cost;            /* of a call's requests to models, nano-dollars;
	                                -1: no limit */

	/* How. */
	struct output_options output;
	struct condition when;       /* --when; for an iteration the loop's --while */
	struct gate gate;            /* --require */
	bool rescue;
	enum failure_mode failure;
	int64_t timeout_ms;          /* of a try; of the whole call for an agent */
	struct retry retry;
	enum effects effects;        /* as its definition has them, if the options say nothing */
	bool idempotent;
	struct pending_options pending;
	bool cleanup;                /* it works while its run is being ended */
	bool fail_fast;              /* --fail-fast: a failed call is the last that begins */
	struct sandbox sandbox;      /* of the command, or of all tools */
};

#endif
