/*
 * A format program: what it does the same way for each format. It reads the lines of a log, and says
 * what they say, in the words of awf-import(1), "Formats".
 *
 *   - An answer is held back until something of another comes: its last line has its usage, and results
 *     of its tools may stand between its lines.
 *   - What the program that wrote the log wrote for itself is left out, and counted by its kind.
 */
#ifndef AWF_IMPORT_FORMAT_H
#define AWF_IMPORT_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/map.h"
#include "json/scan.h"
#include "json/writer.h"

/* An answer whose lines come. */
struct held_answer {
	char *id;              /* NULL: none */
	struct buffer blocks;  /* the inside of a JSON array */
	struct buffer usage, model, stop_reason, time; /* JSON; empty: not told */
	struct buffer results; /* lines that are said after it */
};

struct format_log {
	char *session;         /* the file's name without .jsonl */
	char *directory;       /* its path without .jsonl: of what belongs to it */
	char *provider;        /* of its models; NULL: not known yet */
	bool begun;            /* the session was said */
	int64_t line;          /* number of the line */
	struct held_answer held;
	struct buffer model;   /* JSON: the model from here on; empty: each answer names its own */
	struct left_out { char *kind; int64_t count; } *left_out;
	size_t left_out_count;
	struct map kinds;      /* kind → index in left_out */
	struct buffer out;
};

/* What a program wrote for itself in the name of the user or the model. */
#define FORMAT_OWN_WORDS span_of("\"messages of the program\"", 25)

/* Counts something that is left out; kind: a JSON string. */
void format_leave_out(struct format_log *log, struct span kind);
/* Says the answer that is held back, if there is one, and the results after it. */
void format_say_answer(struct format_log *log);
/* Where a line about a result goes: after the answer that is held back. */
struct buffer *format_results(struct format_log *log);
/* Says a prompt; blocks: the inside of a JSON array. */
void format_say_prompt(struct format_log *log, struct span id, struct span time, const struct buffer *blocks);
/* Replaces a JSON value by another, unless that is absent or null. */
void format_keep(struct buffer *kept, struct span value);

struct format_program {
	const char *program;
	/* Takes a line, a JSON object. */
	void (*take)(struct format_log *log, struct span line);
	/* Whether a log may be one JSON text of several lines, which is then taken as one. */
	bool document;
	/* Called at the end, if it is not NULL: says what is said then. whole: nothing more will come. */
	void (*finish)(struct format_log *log, bool whole);
	/* What a log is that is a zip archive, and what to do; NULL: it is read like any. */
	const char *archive;
};
void format_log_free(struct format_log *log);
int format_main(const struct format_program *format, int argc, char **argv);

#endif
