/*
 * A format program: what it does the same way for each format. It reads the lines of a log, and says
 * what they say, in the words of awf-import(1), "Formats".
 *
 *   - An answer is held back until something of another comes: its last line has its usage, and results
 *     of its tools may stand between its lines.
 *   - A log may be inside another one, such as a session in a database: its path is FILE/NAME.
 *   - What the program that wrote the log wrote for itself is left out, and counted by its kind.
 */
#ifndef AWF_IMPORT_FORMAT_H
#define AWF_IMPORT_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/error.h"
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
	const char *path;      /* as it was said */
	char *file, *inside;   /* the file, and what of it is meant, "": all of it */
	bool whole;            /* nothing more will come */
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

/* Whether a text begins with one of these; they end with NULL. */
bool format_begins_with(struct span text, const char *const *begins);

/* Counts something that is left out; kind: a JSON string. */
void format_leave_out(struct format_log *log, struct span kind);
/* The answer whose lines come is this one: another that is held back is said. */
void format_hold(struct format_log *log, struct span id);
/* Appends a text as a block of this type, "text" or "thinking", in the member of the same name. */
void format_write_text(struct buffer *blocks, const char *type, struct span text);
void format_write_image(struct buffer *blocks, struct span media_type, struct span data);
/* Without an id, or a name, it is no call. */
void format_write_tool_use(struct buffer *blocks, struct span id, struct span name, struct span input);
/* Appends the line about the result of a call. */
void format_write_result(struct buffer *out, struct span call, struct span time, struct span output, bool is_error);
/* Appends the line about a sub-agent that a call has started. */
void format_write_child(struct buffer *out, const char *path, struct span call, const char *as, bool over);
/* The number in an object; 0 if it is none, or negative. */
long long format_count(struct span object, const char *name);
/* Usage as awf-transcript(5) has it: replaces what is in out. Counts of 0 are left out but for the first two;
 * input and output are all there is, the others how much of it. */
struct format_usage { long long input, output, cache_read, cache_write, reasoning; };
void format_write_usage(const struct format_usage *usage, struct span cost_usd, struct buffer *out);
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
	/* Reads the log, by format_read_lines() if it has lines; NULL: by that. */
	int (*read)(struct format_log *log, struct error *err);
	/* Without read: whether a log may be one JSON text of several lines, which is then taken as one. */
	bool document;
	/* Called at the end, if it is not NULL: says what is said then. */
	void (*finish)(struct format_log *log);
	/* Reads a log that is a zip archive; NULL: it is read like any. */
	int (*read_archive)(struct format_log *log, struct error *err);
};
/* Calls take with each line of the file that is a JSON object. */
int format_read_lines(struct format_log *log, void (*take)(struct format_log *log, struct span line),
    struct error *err);
void format_log_free(struct format_log *log);
int format_main(const struct format_program *format, int argc, char **argv);

#endif
