/*
 * Command lines. The options of a program and their help stand in one table;
 * the parser and --help read it (--help and --version need no entry). A long table
 * begins with what most people need, which --help shows on one screen; the rest stands
 * behind it in sections, and --help=all shows it too. GNU long
 * options (--name value, --name=value, unambiguous prefixes are refused), short
 * ones (-n 5, -n5, grouped flags), "--" ends options.
 */
#ifndef AWF_BASE_OPTIONS_H
#define AWF_BASE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

enum {
	OPTION_END = 0,
	OPTION_WORD = -2,    /* an operand: options.value */
	OPTION_HELP = -3,
	OPTION_VERSION = -4,
	OPTION_HELP_ALL = -5, /* --help=all, of a table with sections */
	OPTION_SECTION = -6   /* in a table: no option, but the heading (help) of those behind it */
};

/* Whether it is asked for instead of work. */
#define OPTION_ASKS(id) ((id) == OPTION_HELP || (id) == OPTION_HELP_ALL || (id) == OPTION_VERSION)

struct option_spec {
	int id;               /* > 0; what options_next() returns */
	char letter;          /* short form, 0 if none */
	const char *name;     /* long form, NULL if none */
	const char *argument; /* its name in the help, NULL if it takes none; "[=NAME]": it
	                         may have one, after = (long options alone) */
	const char *help;     /* one line */
};

struct options {
	const struct option_spec *table; /* ends with an entry of id 0 */
	int argc;
	char **argv;
	int next;              /* index of the next word; after OPTION_END the rest */
	const char *value;     /* argument of the option, or the operand */
	const char *cluster;   /* rest of a group of short options */
	bool only_words;       /* after "--" */
	bool saw_dashes;       /* "--" was given: the rest is argv[next…] */
	bool stop_at_word;     /* set by the caller: the first operand ends options */
	bool stop_at_dashes;   /* set by the caller: "--" ends all, OPTION_END */
	const char *hint;      /* set by the caller: what may be meant by an option that there is
	                          not, and that resembles none; NULL: "see --help" */
};

void options_begin(struct options *o, const struct option_spec *table, int argc, char **argv);
/* The next id, OPTION_WORD, OPTION_HELP, OPTION_VERSION, OPTION_END, or -1 with
 * ERROR_USAGE ("--foo: unknown option (did you mean --food?)"). */
int options_next(struct options *o, struct error *err);
/* usage (one or more lines as "awf-tail [options] [RUN|FILE]", and what stands behind an empty
 * one is text), then the table, within 80 columns; its sections too if id is OPTION_HELP_ALL. */
void options_help(FILE *out, const char *usage, const struct option_spec *table, int id);
/* A whole number in [min, max]; -1 with ERROR_USAGE and name, as the user knows
 * it ("--lines"), for place. */
int options_number(const char *name, const char *text, long long min, long long max,
    long long *value, struct error *err);
/* Which of words, which end with NULL: its index, or -1 with ERROR_USAGE. */
int options_word(const char *name, const char *text, const char *const *words,
    struct error *err);
/* 0 if it is one of them. */
int options_choice(const char *name, const char *text, const char *const *words,
    struct error *err);
/* A size in bytes: "500", "64K", "20M", "2G", "1T", of 1024 each. */
int options_size(const char *name, const char *text, int64_t *bytes, struct error *err);
/* A duration in ms (duration_parse). */
int options_duration(const char *name, const char *text, long long *ms, struct error *err);

/* The time that an age (30d) or time (clock_parse) stands for, µs since 1970. */
int options_time(const char *name, const char *text, int64_t *wall, struct error *err);

/* What goes together. A program with fewer than 64 ids has a set of those that were said,
 * in which it may enter what is none of its options, such as a command (id 0), and a table
 * of what may not be said: the option, together with any of `with` (0: at all), unless
 * with any of `unless`. */
#define OPTION_SAID(id) (UINT64_C(1) << (id))
struct option_rule {
	int option;
	uint64_t with, unless;
	const char *what;     /* for the user */
};
/* ERROR_USAGE with the first rule that is broken. */
int options_check(const struct option_spec *table, const struct option_rule *rules,
    size_t count, uint64_t said, struct error *err);
/* An option as people write it; "--" for an id without one. */
#define OPTION_TEXT 32
const char *option_text(const struct option_spec *table, int id, char text[OPTION_TEXT]);

#endif
