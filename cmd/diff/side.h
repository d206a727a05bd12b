/*
 * A side of a comparison: the calls of a run's last attempt as a tree, each with what it was given,
 * what it did and what came of it.
 *
 *   - A call whose result was taken over from an earlier attempt, or from the run of which this one
 *     is a fork, has the figures, the tools and the calls inside of where it was made.
 *   - The calls of a child run are inside the call that started it.
 *   - Values are kept as keys, equal for equal values; they are read again when they are shown.
 */
#ifndef AWF_DIFF_SIDE_H
#define AWF_DIFF_SIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/id.h"
#include "diff/value.h"
#include "model/cost.h"
#include "model/model.h"
#include "storage/storage.h"

/* A file of which a definition is made. */
struct diff_file { const char *path, *sha256; };

/* A call of a tool by a model, or an offer of one. */
struct diff_tool {
	const char *name;
	struct uuid input;          /* key of its arguments */
	struct uuid answer;         /* of its result, or why there is none; all zeros: none came */
	struct event_place place, answered;
	struct uuid id;             /* key of the id by which its result names it */
};

/* Figures of a call, without those of the calls inside it. */
struct diff_figures {
	int64_t turns, retries;     /* answers of models, and failed tries */
	int64_t input_tokens, output_tokens;
	int64_t cost;               /* nano-dollars; COST_UNKNOWN */
	int64_t ms;                 /* -1: not known */
};

/* A transcript that calls were read from. */
struct diff_source {
	char *path, *blobs;
	char run_id[ID_SIZE];
	int64_t damaged;                  /* lines that are no events */
	const struct diff_filter *filter; /* that its values pass; NULL: none */
	struct diff_source *next;
};

struct diff_pair;
struct diff_filter;

struct diff_call {
	const char *name, *kind, *path, *id; /* of the root: the run's name, "", "", its id */
	int64_t occurrence, item;       /* of the id NAME:OCCURRENCE:ITEM */
	enum call_state state;
	enum error_code code;
	bool taken_over;
	bool filtered;                  /* keys.input is not a digest, but of a value that passed the filter */

	struct diff_keys {
		struct uuid input, definition, result;
		struct uuid prompt, settings; /* of the first message to a model; settings: with the tools
		                                 that it may call */
	} keys;                         /* all zeros: no such value */
	const char *provider, *model;   /* "": none */
	struct diff_files { const struct diff_file *list; size_t count; } files; /* of its definition */
	struct diff_files changed;      /* files that a command has changed */
	struct diff_tool *tools;
	size_t tool_count;
	struct diff_figures own;

	/* Where its values are. */
	const struct diff_source *source;
	struct diff_places { struct event_place begin, end, asked, said; } places; /* asked: its first message
	                                                   to a model; said: the last one of it */

	struct diff_call *around, *first, *last, *beside;
	size_t inside_count;
	struct diff_call **before;      /* calls whose results were its input */
	size_t before_count;

	/* Set by diff_match(). */
	struct diff_pair *pair;
	struct uuid upstream;           /* key of the pair that its input came from */
};

struct diff_side {
	struct diff_call root;
	char run_id[ID_SIZE];
	char forked_from[ID_SIZE];      /* "": none */
	char status[16];
	bool masked, alone, by_values, by_digests;
	bool lacks_blobs;               /* a blob of it could not be read */
	size_t taken_over;              /* calls outside of others that were taken over */
	struct diff_figures all;        /* sums over all calls but those taken over; ms: of the
	                                   attempt */

	struct diff_filter *filter;     /* that values pass; NULL: none */
	struct arena memory;
	struct diff_source *sources;
	struct cost cost;
};

/* How runs are read. */
struct diff_reading_rules {
	bool by_values;                 /* digests are not compared: the other run is masked */
	bool by_digests;                /* what is in blobs counts by its digest: some are not there */
	bool alone;                     /* without child runs, and without that which one was forked from */
	struct diff_filter *filter;     /* that values will pass; NULL: none */
};
/* Reads the run that an argument names, as for awf-tail. diff_side_free() is called either way. */
int diff_side_read(struct diff_side *s, const struct storage *storage, const char *argument,
    const struct diff_reading_rules *rules, struct error *err);
/* Once the filter has run: values count as what it made of them. */
void diff_side_filter(struct diff_side *s);
void diff_side_free(struct diff_side *s);

/* Appends a value of a call: the member of the payload at one of its places, a string decoded, other
 * JSON as it is, what is in a blob whole. Appends nothing if it is absent or cannot be read. */
void diff_call_value(const struct diff_call *c, struct event_place place, const char *member,
    struct buffer *out);
/* The same for what the call gave: of state lines their data. */
void diff_call_result(const struct diff_call *c, struct buffer *out);
/* The same for what a tool answered, or why it did not. */
void diff_call_answer(const struct diff_call *c, const struct diff_tool *tool, struct buffer *out);

/* Whether it is a round or a branch of a group, which has the name and path of the group. */
bool diff_call_is_part(const struct diff_call *c);
/* The file of this path among some, or else of this name in another directory; NULL: it is not there. */
const struct diff_file *diff_files_find(const struct diff_files *files, const char *path);
/* Adds the figures of a call and, unless they were taken over, of all calls inside it. */
void diff_figures_add(struct diff_figures *sum, const struct diff_call *c);

#endif
