/*
 * Command lines. Each row of a program's table defines one option: its name, its help, its
 * argument, and the member of the program's struct in which the argument is stored. The parser
 * stores it, and returns to the program only the options whose rows name no member. A second table
 * has the rules for options that exclude or need each other; it is checked when the whole command
 * line was read.
 *
 * --help prints the table; --help and --version need no row. A long table begins with the options
 * that most people need, which --help shows on one screen; the others follow in sections, and
 * --help=all shows them, too. GNU long options (--name value, --name=value, unambiguous prefixes
 * are refused), and short ones (-n 5, -n5, grouped flags); "--" ends options.
 *
 * 	struct tail { bool follow; int64_t lines; };
 * 	static const struct option_spec table[] = {
 * 		{ OPT_FOLLOW, 'f', "follow", NULL, "go on as it "
 *     "grows", OPTION_INTO_FLAG(struct tail, follow) },
 * 		{ OPT_LINES, 'n', "lines", "N", "only the last "
 *     "N", OPTION_INTO_NUMBER(struct tail, lines, 0, INT32_MAX) },
 * 		{ OPTION_END, 0, NULL, NULL, NULL }
 * 	};
 * 	static const struct option_rule rules[] = {
 * 		{ OPTION_SAID(OPT_FOLLOW), OPTION_SAID(OPT_LINES), 0, NULL },	-f: not with -n
 * 	};
 */
#ifndef AWF_BASE_OPTIONS_H
#define AWF_BASE_OPTIONS_H

#include <limits.h>
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
	OPTION_HELP_ALL = -5, /* --help=all, if the table has sections */
	OPTION_SECTION = -6   /* in a table: a heading (help) for the options after it */
};

/* Whether the option asks for help or the version instead of work. */
#define OPTION_ASKS(id) ((id) == OPTION_HELP || (id) == OPTION_HELP_ALL || (id) == OPTION_VERSION)

/* What happens with an option. The kinds after OPTION_KIND_TEXT need an argument. */
enum option_kind {
	OPTION_KIND_OWN,      /* options_next() returns its id */
	OPTION_KIND_SAID,     /* nothing is stored: the program looks at options.said */
	OPTION_KIND_FLAG,
	OPTION_KIND_VALUE,    /* min is stored */
	OPTION_KIND_TEXT,
	OPTION_KIND_NUMBER,
	OPTION_KIND_SIZE,
	OPTION_KIND_DURATION,
	OPTION_KIND_TIME,
	OPTION_KIND_WORD,     /* min and the index of the word are stored */
	OPTION_KIND_LIST,
	OPTION_KIND_CALL
};

/* Where the argument of an option is stored. If an optional argument is left out, a text member is
 * set to NULL, and a member of any other type is unchanged. Use the macros below: they do not
 * compile if the member has another type, or one that cannot hold every possible value. */
struct option_into {
	enum option_kind kind;
	unsigned offset, size;   /* of the member in its struct */
	unsigned whole;          /* size of that struct */
	long long min, max;
	const char *const *words;
	/* Called first: may refuse the argument with -1 and *err, whose place becomes the option if
	 * it is empty. NULL: every argument is accepted. */
	int (*check)(const char *value, struct error *err);
};

/* owner: the type of the struct that is passed to options_bind(); member: may be a member of a
 * member, such as step.raw. */
#define OPTION_OWN { .kind = OPTION_KIND_OWN }
#define OPTION_ONLY_SAID { .kind = OPTION_KIND_SAID }
/* For a bool: stores true */
#define OPTION_INTO_FLAG(owner, member) \
	OPTION_INTO(OPTION_KIND_FLAG, owner, member, OPTION_HAS_TYPE(owner, member, bool), 0, NULL, NULL)
/* For an enum or integer of any type: stores this value */
#define OPTION_INTO_VALUE(owner, member, value) \
	OPTION_INTO(OPTION_KIND_VALUE, owner, member, (value) + OPTION_FITS(owner, member, value, value), 0, NULL, NULL)
/* For a const char *: stores the argument; NULL if it is optional and left out */
#define OPTION_INTO_TEXT(owner, member) OPTION_INTO_TEXT_CHECKED(owner, member, NULL)
#define OPTION_INTO_TEXT_CHECKED(owner, member, check) \
	OPTION_INTO(OPTION_KIND_TEXT, owner, member, OPTION_HAS_TYPE(owner, member, const char *), 0, NULL, check)
/* For an integer of any type: stores a number from min to max */
#define OPTION_INTO_NUMBER(owner, member, min, max) \
	OPTION_INTO(OPTION_KIND_NUMBER, owner, member, (min) + OPTION_FITS(owner, member, min, max), max, NULL, NULL)
/* For an int64_t or long long: stores bytes (options_size()), ms (options_duration()), or µs since
 * 1970 (options_time()) */
#define OPTION_INTO_SIZE(owner, member) \
	OPTION_INTO(OPTION_KIND_SIZE, owner, member, OPTION_FITS(owner, member, 0, INT64_MAX), 0, NULL, NULL)
#define OPTION_INTO_DURATION(owner, member) \
	OPTION_INTO(OPTION_KIND_DURATION, owner, member, OPTION_FITS(owner, member, 0, INT64_MAX), 0, NULL, NULL)
#define OPTION_INTO_TIME(owner, member) \
	OPTION_INTO(OPTION_KIND_TIME, owner, member, OPTION_FITS(owner, member, INT64_MIN, INT64_MAX), 0, NULL, NULL)
/* For an enum or integer of any type: stores first for the first of words, which end with NULL,
 * first + 1 for the second, and so on */
#define OPTION_INTO_WORD(owner, member, words, first) \
	OPTION_INTO(OPTION_KIND_WORD, owner, member, (first) + OPTION_FITS(owner, member, first, INT_MAX), 0, words, NULL)
/* For a const char *: stores the argument, which must be one of words */
#define OPTION_INTO_CHOICE(owner, member, words) \
	OPTION_INTO(OPTION_KIND_TEXT, owner, member, OPTION_HAS_TYPE(owner, member, const char *), 0, words, NULL)
/* For a char **, a list (base/list.h): adds a copy of the argument; the option may be repeated */
#define OPTION_INTO_LIST(owner, member) OPTION_INTO_LIST_CHECKED(owner, member, NULL)
#define OPTION_INTO_LIST_CHECKED(owner, member, check) \
	OPTION_INTO(OPTION_KIND_LIST, owner, member, OPTION_HAS_TYPE(owner, member, char **), 0, NULL, check)
/* Stores nothing: calls int function(const char *value, struct error *err) with the argument */
#define OPTION_CALL(function) { .kind = OPTION_KIND_CALL, .check = (function) }

#define OPTION_INTO(kind, owner, member, min, max, words, check) \
	{ kind, (unsigned)offsetof(owner, member), (unsigned)sizeof ((owner *)0)->member, \
	    (unsigned)sizeof(owner), min, max, words, check }
/* Evaluate to 0, or do not compile if the type is wrong. */
#define OPTION_HAS_TYPE(owner, member, type) _Generic(((owner *)0)->member, type: 0)
#define OPTION_FITS(owner, member, least, greatest) \
	(0 * (long long)sizeof(char[(least) >= _Generic(((owner *)0)->member, int: INT_MIN, long: LONG_MIN, \
	    long long: LLONG_MIN, unsigned: 0, unsigned long: 0, unsigned long long: 0) && \
	    (greatest) <= _Generic(((owner *)0)->member, int: INT_MAX, long: LONG_MAX, \
	    long long: LLONG_MAX, unsigned: (long long)UINT_MAX, unsigned long: LONG_MAX, \
	    unsigned long long: LLONG_MAX) ? 1 : -1]))

struct option_spec {
	int id;               /* greater than 0 */
	char letter;          /* short form, 0 if none */
	const char *name;     /* long form, NULL if none */
	const char *argument; /* name of the argument in the help; NULL if the option has none;
	                         "[=NAME]": optional, after = (only for long options) */
	const char *help;     /* one line */
	struct option_into into; /* if left out: OPTION_OWN */
};
/* A row for something that is no option but that rules refer to, such as an operand: the program
 * itself adds its id to options.said, and messages use this text for it. */
#define OPTION_PSEUDO(id, text) { id, 0, NULL, text, NULL, OPTION_OWN }

/* A set with one id, which must be below 64. A rule about an option with an id from 64 to 127 can
 * only be about that one. */
#define OPTION_SAID(id) (UINT64_C(1) << (id))
#define OPTION_SAID_IDS 64
#define OPTION_RULED_IDS 128

struct options {
	const struct option_spec *table; /* ends with an entry of id 0 */
	int argc;
	char **argv;
	int next;              /* index of the next word; after OPTION_END the rest */
	const char *value;     /* argument of the option, or the operand */
	const char *cluster;   /* rest of a group of short options */
	bool only_words;       /* all further words are operands */
	bool saw_dashes;       /* "--" was given: the rest is argv[next…] */
	bool stop_at_word;     /* set by the caller: the first operand ends options */
	bool stop_at_dashes;   /* set by the caller: "--" ends all, OPTION_END */
	const char *hint;      /* set by the caller: text after "unknown option" when no option is
	                          similar; NULL: "see --help" */
	void *into;            /* set by options_bind() */
	size_t into_size;
	/* Which options were given: a set of ids below 64. For ids below 128: whether by the long
	 * name, and in which order (0: not given). */
	uint64_t said;
	bool said_long[OPTION_RULED_IDS];
	unsigned char order[OPTION_RULED_IDS], count;
};

void options_begin(struct options *o, const struct option_spec *table, int argc, char **argv);
/* Sets the struct in which options are stored, whose type the table's rows name. */
#define options_bind(options, owner) \
	((void)((options)->into = (owner), (options)->into_size = sizeof *(owner)))
/* Stores options until one must be handled by the program. Returns its id, OPTION_WORD,
 * OPTION_HELP, OPTION_VERSION, OPTION_END, or -1 with ERROR_USAGE ("--foo: unknown option (did you
 * mean --food?)"). */
int options_next(struct options *o, struct error *err);
/* usage: one or more lines such as "awf-tail [options] [RUN|FILE]", then optionally an empty line
 * and text. Prints it and the table, within 80 columns; with the sections if id is
 * OPTION_HELP_ALL. */
void options_help(FILE *out, const char *usage, const struct option_spec *table, int id);
/* Parses a whole number in [min, max]. -1 with ERROR_USAGE; name, such as "--lines", becomes the
 * error's place. */
int options_number(const char *name, const char *text, long long min, long long max,
    long long *value, struct error *err);
/* Finds text in words, which end with NULL: returns its index, or -1 with ERROR_USAGE. */
int options_word(const char *name, const char *text, const char *const *words,
    struct error *err);
/* 0 if text is one of words, else -1 with ERROR_USAGE. */
int options_choice(const char *name, const char *text, const char *const *words,
    struct error *err);
/* Parses a size in bytes: "500", "64K", "20M", "2G", "1T", in powers of 1024. */
int options_size(const char *name, const char *text, int64_t *bytes, struct error *err);
/* Parses a duration to ms (duration_parse()). */
int options_duration(const char *name, const char *text, long long *ms, struct error *err);

/* Parses an age (30d) or a time (clock_parse()) to a time in µs since 1970. */
int options_time(const char *name, const char *text, int64_t *wall, struct error *err);

/* A rule: none of `options` may be given together with any of `with`, unless any of `unless` is
 * given, too. If `with` is empty, `options` may be given only together with any of `unless`. If
 * `options` and `with` are the same, only one of them may be given. */
struct option_rule {
	uint64_t options, with, unless;
	/* The message. %s is replaced by the given option of `with`; if the rule has no `with`, by
	 * all of `unless`, as in "only with %s: nothing is tried again". NULL: "not with %s", or
	 * "only with %s". */
	const char *text;
	int option;           /* used instead of `options`: one option, with an id below 128 */
};
/* Returns -1 with ERROR_USAGE for the first rule that is violated. */
int options_check(const struct options *o, const struct option_rule *rules, size_t count,
    struct error *err);
/* The name of an option for messages: as the user gave it; if it was not given, its letter, or its
 * long name if it has no letter. */
#define OPTION_TEXT 32
const char *option_text(const struct options *o, int id, char text[OPTION_TEXT]);

#endif
