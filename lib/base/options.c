/*
 * Each option is searched for in the program's table, then in that of the options that all programs
 * have. Parsing pauses after each letter of a group of short options, so that each is stored, or
 * returned to the caller, before the next. The given options are a set, one bit for each id below
 * 64; the rules are checked with that set at the end.
 */
#include "base/options.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/invariant.h"
#include "base/list.h"
#include "base/memory.h"
#include "base/text.h"

/* Options of all programs, besides their own tables. */
static const struct option_spec common[] = {
	{OPTION_HELP, 'h', "help", "[=all]", "print this help"},
	{OPTION_VERSION, 0, "version", NULL, "print the version"},
	{OPTION_END, 0, NULL, NULL, NULL},
};

/* Whether each entry of a table is a distinct option, a heading, or OPTION_PSEUDO(). */
static bool
table_holds(const struct option_spec *table)
{
	for (const struct option_spec *s = table; s->id != OPTION_END; s++) {
		const bool named = s->name != NULL || s->letter != 0;

		if (s->id == OPTION_SECTION ? named || s->help == NULL :
		    s->id < 0 || named != (s->help != NULL) || (!named && s->argument == NULL))
			return false;
		for (const struct option_spec *before = table; before < s; before++)
			if ((s->letter != 0 && s->letter == before->letter) ||
			    (s->name && before->name && strcmp(s->name, before->name) == 0))
				return false;
	}
	return true;
}

void
options_begin(struct options *o, const struct option_spec *table, int argc, char **argv)
{
	INVARIANT(table_holds(table));
	*o = (struct options){.table = table, .argc = argc, .argv = argv, .next = 1};
}

/* Finds an option by its long name of len bytes, or by its letter; NULL: there is none. */
static const struct option_spec *
find_option(const struct option_spec *table, const char *name, size_t len, char letter)
{
	const struct option_spec *const tables[] = {table, common};

	for (size_t t = 0; t < 2; t++)
		for (const struct option_spec *s = tables[t]; s->id != OPTION_END; s++)
			if (name ? s->name && strncmp(s->name, name, len) == 0 && s->name[len] == '\0' :
			    letter != '\0' && s->letter == letter)
				return s;
	return NULL;
}

/* name: the long name; NULL: it was a letter, for which no suggestion is made. */
static int
options_set_unknown_error(const struct options *o, const char *place, const char *name,
    struct error *err)
{
	const struct option_spec *const tables[] = {o->table, common};
	const char **names = memory_zero(1, sizeof *names), *near = NULL;
	size_t count = 0;

	for (size_t t = 0; t < 2; t++)
		for (const struct option_spec *s = tables[t]; s->id != OPTION_END; s++)
			if (s->name) {
				names = memory_array(names, count + 2, sizeof *names);
				names[count++] = s->name;
			}
	names[count] = NULL;
	if (name)
		near = text_suggest(name, names);
	free(names);
	if (near)
		return error_set(err, ERROR_USAGE, place, "unknown option (did you mean --%s?)",
		    near);
	return error_set(err, ERROR_USAGE, place, "unknown option (%s)",
	    o->hint != NULL ? o->hint : "see --help");
}

/* Whether the argument is optional; it then must follow an =, so only long options can have one. */
static bool
argument_optional(const struct option_spec *s)
{
	return strncmp(s->argument, "[=", 2) == 0;
}

/* The name of an option for a message: "--lines" or "-n". */
static const char *
long_text(const struct option_spec *s, char text[OPTION_TEXT])
{
	snprintf(text, OPTION_TEXT, "--%s", s->name);
	return text;
}

static const char *
letter_text(char letter, char text[OPTION_TEXT])
{
	snprintf(text, OPTION_TEXT, "-%c", letter);
	return text;
}

static int
store_number(void *member, size_t size, long long number)
{
	const int narrow = (int)number;

	/* The member may have any integer type; only its size matters. */
	if (size == sizeof narrow)
		memcpy(member, &narrow, sizeof narrow);
	else
		memcpy(member, &number, sizeof number);
	return 0;
}

/* name: the option as the user wrote it. */
static int
store_option(struct options *o, const struct option_spec *s, const char *name, struct error *err)
{
	const struct option_into *to = &s->into;
	void *member = o->into != NULL ? (char *)o->into + to->offset : NULL;
	const char *value = o->value;
	long long number = 0;
	int64_t wide = 0;
	int failed = 0;

	INVARIANT(to->kind == OPTION_KIND_CALL || to->kind == OPTION_KIND_SAID ||
	    (o->into != NULL && o->into_size == to->whole && to->offset + to->size <= to->whole));
	if (to->check != NULL && value != NULL && to->check(value, err) != 0) {
		if (*err->place == '\0')
			snprintf(err->place, sizeof err->place, "%s", name);
		return -1;
	}
	if (value == NULL && to->kind > OPTION_KIND_TEXT) /* an optional argument was left out */
		return 0;
	switch (to->kind) {
	case OPTION_KIND_FLAG:
		*(bool *)member = true;
		return 0;
	case OPTION_KIND_VALUE:
		return store_number(member, to->size, to->min);
	case OPTION_KIND_TEXT:
		if (to->words != NULL && value != NULL && options_choice(name, value, to->words, err) != 0)
			return -1;
		*(const char **)member = value;
		return 0;
	case OPTION_KIND_LIST:
		list_add(member, value);
		return 0;
	case OPTION_KIND_NUMBER:
		failed = options_number(name, value, to->min, to->max, &number, err);
		break;
	case OPTION_KIND_DURATION:
		failed = options_duration(name, value, &number, err);
		break;
	case OPTION_KIND_SIZE:
		failed = options_size(name, value, &wide, err);
		number = wide;
		break;
	case OPTION_KIND_TIME:
		failed = options_time(name, value, &wide, err);
		number = wide;
		break;
	case OPTION_KIND_WORD:
		number = options_word(name, value, to->words, err);
		failed = number == -1 ? -1 : 0;
		number += to->min;
		break;
	case OPTION_KIND_OWN:
	case OPTION_KIND_SAID:
	case OPTION_KIND_CALL:
		return 0;
	}
	return failed != 0 ? -1 : store_number(member, to->size, number);
}

/* Handles an option: returns its id if the program handles it itself, or if all programs have it; 0
 * if its argument was stored. */
static int
accept_option(struct options *o, const struct option_spec *s, bool by_name, struct error *err)
{
	char name[OPTION_TEXT];

	if (s->id > 0 && s->id < OPTION_SAID_IDS)
		o->said |= OPTION_SAID(s->id);
	if (s->id > 0 && s->id < OPTION_RULED_IDS) {
		o->said_long[s->id] = by_name;
		o->order[s->id] = o->count < UCHAR_MAX ? ++o->count : o->count;
	}
	if (s->into.kind == OPTION_KIND_OWN)
		return s->id;
	return store_option(o, s, by_name ? long_text(s, name) : letter_text(s->letter, name), err);
}

static int
options_read_argument(struct options *o, const struct option_spec *s, const char *place,
    struct error *err)
{
	if (o->next >= o->argc)
		return error_set(err, ERROR_USAGE, place, "needs an argument, %s", s->argument);
	o->value = o->argv[o->next++];
	return 0;
}

static bool
has_sections(const struct option_spec *table)
{
	while (table->id != OPTION_END && table->id != OPTION_SECTION)
		table++;
	return table->id == OPTION_SECTION;
}

/* name: that of an unknown option. */
static int
unknown_long(const struct options *o, const char *word, size_t len, struct error *err)
{
	char *place = memory_copy(word, 2 + len);

	options_set_unknown_error(o, place, place + 2, err);
	free(place);
	return -1;
}

/* Handles "--name" or "--name=value". Returns as accept_option(). */
static int
next_long(struct options *o, const char *word, struct error *err)
{
	size_t len = strcspn(word + 2, "=");
	const char *value = word[2 + len] == '=' ? word + 2 + len + 1 : NULL;
	const struct option_spec *s = find_option(o->table, word + 2, len, '\0');
	char place[OPTION_TEXT];

	if (s == NULL)
		return unknown_long(o, word, len, err);
	if (value != NULL && s->argument == NULL)
		return error_set(err, ERROR_USAGE, long_text(s, place), "takes no argument");
	if (value != NULL && s->id == OPTION_HELP) {
		if (strcmp(value, "all") != 0)
			return error_set(err, ERROR_USAGE, "--help", "takes no argument but all: --help=all");
		return has_sections(o->table) ? OPTION_HELP_ALL : OPTION_HELP;
	}
	o->value = value;
	if (value == NULL && s->argument != NULL && !argument_optional(s) &&
	    options_read_argument(o, s, long_text(s, place), err) == -1)
		return -1;
	return accept_option(o, s, true, err);
}

/* Handles the next letter of a group such as "-vn5". Returns as accept_option(). */
static int
next_short(struct options *o, struct error *err)
{
	const struct option_spec *s = find_option(o->table, NULL, 0, *o->cluster);
	char place[OPTION_TEXT];

	letter_text(*o->cluster, place);
	if (s == NULL)
		return options_set_unknown_error(o, place, NULL, err);
	o->cluster++;
	if (*o->cluster == '\0')
		o->cluster = NULL;
	if (s->argument != NULL && !argument_optional(s)) {
		if (o->cluster == NULL && options_read_argument(o, s, place, err) == -1)
			return -1;
		if (o->cluster != NULL)
			o->value = o->cluster;
		o->cluster = NULL;
	}
	return accept_option(o, s, false, err);
}

int
options_next(struct options *o, struct error *err)
{
	const char *word;
	int id;

	for (;;) {
		INVARIANT(o->next >= 1 && (o->cluster == NULL || *o->cluster != '\0'));
		o->value = NULL;
		if (o->cluster == NULL) {
			if (o->next >= o->argc)
				return OPTION_END;
			word = o->argv[o->next];
			if (o->only_words || word[0] != '-' || word[1] == '\0') {
				if (o->stop_at_word)
					return OPTION_END;
				o->value = o->argv[o->next++];
				return OPTION_WORD;
			}
			o->next++;
			if (word[1] == '-' && word[2] == '\0') {
				o->saw_dashes = o->only_words = true;
				if (o->stop_at_dashes)
					return OPTION_END;
				continue;
			}
			if (word[1] != '-')
				o->cluster = word + 1;
		}
		id = o->cluster != NULL ? next_short(o, err) : next_long(o, word, err);
		if (id != 0)
			return id;
	}
}

#define HELP_COLUMNS 80
#define HELP_LEFT 26  /* width of the left column; the text of a longer option begins in the next
                         line */

/* Formats the left column of an option, "  -n, --lines N", and returns its width. all: print the
 * argument of --help, because the table has sections. */
static int
help_left(char *text, size_t size, const struct option_spec *s, bool all)
{
	char letter[] = {'-', s->letter, '\0'};
	const char *argument = s->id == OPTION_HELP && !all ? NULL : s->argument;

	return snprintf(text, size, "  %s%s%s%s%s%s", s->letter ? letter : "  ",
	    s->name ? (s->letter ? ", " : "  ") : "", s->name ? "--" : "", s->name ? s->name : "",
	    argument && !argument_optional(s) ? " " : "", argument ? argument : "");
}

/* Prints text in the right column, which begins at `left`. The left column of its first line was
 * printed already. */
static void
help_text(FILE *out, const char *text, int left)
{
	size_t room = (size_t)(HELP_COLUMNS - left), len, columns;

	for (;; text += len + 1, fprintf(out, "%*s", left, "")) {
		len = columns = 0;
		for (size_t at = 0; columns <= room; at++) {
			if (text[at] == ' ' || text[at] == '\0')
				len = at;
			if (text[at] == '\0')
				break;
			columns += ((unsigned char)text[at] & 0xc0) != 0x80;
		}
		if (len == 0)
			len = strlen(text);
		fprintf(out, "%.*s\n", (int)len, text);
		if (text[len] == '\0')
			return;
	}
}

void
options_help(FILE *out, const char *usage, const struct option_spec *table, int id)
{
	const struct option_spec *const tables[] = {table, common};
	bool sections = has_sections(table), text = false;
	char left[128];
	int width = 0;

	for (const char *line = usage; *line;) {
		size_t len = strcspn(line, "\n");

		text = text || len == 0;
		fprintf(out, "%s%.*s\n", line == usage ? "usage: " : text ? "" : "       ", (int)len, line);
		line += len + (line[len] == '\n');
	}
	fputc('\n', out);
	/* Use the same width for all options. */
	for (size_t t = 0; t < 2; t++)
		for (const struct option_spec *s = tables[t]; s->id != OPTION_END; s++) {
			int len = s->help == NULL || s->id == OPTION_SECTION ? 0 :
			    help_left(left, sizeof left, s, sections);

			if (len > width && len <= HELP_LEFT)
				width = len;
		}
	for (size_t t = 0; t < 2; t++)
		for (const struct option_spec *s = tables[t]; s->id != OPTION_END; s++) {
			int len;

			if (s->help == NULL) /* a row that is no option */
				continue;
			if (s->id == OPTION_SECTION && id != OPTION_HELP_ALL)
				break;
			if (s->id == OPTION_SECTION) {
				fprintf(out, "\n%s:\n", s->help);
				continue;
			}
			if (sections && id == OPTION_HELP_ALL && s == common)
				fputc('\n', out);
			len = help_left(left, sizeof left, s, sections);
			if (len > width)
				fprintf(out, "%s\n%*s  ", left, width, "");
			else
				fprintf(out, "%-*s  ", width, left);
			help_text(out, s->id == OPTION_HELP && sections ?
			    "print this help, or that of all options" : s->help, width + 2);
		}
}

int
options_number(const char *name, const char *text, long long min, long long max,
    long long *value, struct error *err)
{
	char *end;

	errno = 0;
	*value = strtoll(text, &end, 10);
	if (end == text || *end != '\0' || isspace((unsigned char)*text))
		return error_set(err, ERROR_USAGE, name, "'%s' is not a whole number", text);
	if (errno == ERANGE || *value < min || *value > max)
		return error_set(err, ERROR_USAGE, name, "%s is not between %lld and %lld", text,
		    min, max);
	return 0;
}

int
options_word(const char *name, const char *text, const char *const *words, struct error *err)
{
	int index = text_index(text, words);
	const char *near;
	char *list;

	if (index != -1)
		return index;
	near = text_suggest(text, words);
	list = text_list(words);
	if (near != NULL)
		error_set(err, ERROR_USAGE, name, "no such word '%s' (did you mean '%s'?)", text, near);
	else
		error_set(err, ERROR_USAGE, name, "'%s' is none of %s", text, list);
	free(list);
	return -1;
}

int
options_choice(const char *name, const char *text, const char *const *words, struct error *err)
{
	return options_word(name, text, words, err) == -1 ? -1 : 0;
}

int
options_size(const char *name, const char *text, int64_t *bytes, struct error *err)
{
	static const char units[] = "KMGT";
	size_t digits = strspn(text, "0123456789");
	const char *unit = text[digits] != '\0' ? strchr(units, text[digits]) : NULL;
	int shift = unit != NULL ? 10 * (int)(unit - units + 1) : 0;

	errno = 0;
	*bytes = strtoll(text, NULL, 10);
	if (digits == 0 || (text[digits] != '\0' && (unit == NULL || text[digits + 1] != '\0')) ||
	    errno != 0 || *bytes > INT64_MAX >> shift)
		return error_set(err, ERROR_USAGE, name, "'%s' is not a size (as in 500, 64K, 20M, 2G)",
		    text);
	*bytes <<= shift;
	return 0;
}

int
options_duration(const char *name, const char *text, long long *ms, struct error *err)
{
	int64_t value;

	if (duration_parse(text, &value) < 0)
		return error_set(err, ERROR_USAGE, name,
		    "'%s' is not a duration (as in 30, 500ms, 20m, 2h)", text);
	*ms = value;
	return 0;
}

int
options_time(const char *name, const char *text, int64_t *wall, struct error *err)
{
	if (clock_parse(text, clock_wall(), wall) == 0)
		return 0;
	return error_set(err, ERROR_USAGE, name,
	    "'%s' is no age and no time (as in 12h, 30d, 2026-10-01)", text);
}

const char *
option_text(const struct options *o, int id, char text[OPTION_TEXT])
{
	const struct option_spec *s = o->table;
	bool by_name = id < OPTION_RULED_IDS && o->said_long[id];

	while (s->id != OPTION_END && s->id != id)
		s++;
	INVARIANT(s->id == id && id != OPTION_END);
	if (s->name == NULL && s->letter == '\0')
		snprintf(text, OPTION_TEXT, "%s", s->argument);
	else if (s->letter != '\0' && !by_name)
		letter_text(s->letter, text);
	else
		long_text(s, text);
	return text;
}

/* Appends the options of a set, in the order of the table: "--name", "-a or -m", "-a, -m or -t". */
static void
add_options(const struct options *o, uint64_t set, struct buffer *out)
{
	char text[OPTION_TEXT];

	for (const struct option_spec *s = o->table; s->id != OPTION_END; s++) {
		if (s->id < 0 || s->id >= OPTION_SAID_IDS || (set & OPTION_SAID(s->id)) == 0)
			continue;
		set &= ~OPTION_SAID(s->id);
		buffer_text(out, option_text(o, s->id, text));
		buffer_text(out, set == 0 ? "" : (set & (set - 1)) == 0 ? " or " : ", ");
	}
}

/* The option of a set that was given last (or first); 0: none was. */
static int
said_of(const struct options *o, uint64_t set, bool last)
{
	int found = 0;

	for (int id = 1; id < OPTION_SAID_IDS; id++)
		if ((o->said & set & OPTION_SAID(id)) != 0 &&
		    (found == 0 || (last ? o->order[id] > o->order[found] : o->order[id] < o->order[found])))
			found = id;
	return found;
}

static int
refuse_rule(const struct options *o, const struct option_rule *rule, int id, int other, struct error *err)
{
	const char *text = rule->text != NULL ? rule->text : other != 0 ? "not with %s" : "only with %s";
	size_t len = strlen(text), before = len;
	struct buffer message = BUFFER_INIT;
	char place[OPTION_TEXT];
	const char *at;

	if ((at = strstr(text, "%s")) != NULL)
		before = (size_t)(at - text);
	buffer_append(&message, text, before);
	if (at != NULL) {
		add_options(o, other != 0 ? OPTION_SAID(other) : rule->unless, &message);
		buffer_text(&message, at + 2);
	}
	error_set(err, ERROR_USAGE, option_text(o, id, place), "%s", buffer_string(&message));
	buffer_free(&message);
	return -1;
}

int
options_check(const struct options *o, const struct option_rule *rules, size_t count, struct error *err)
{
	for (const struct option_rule *rule = rules; rule < rules + count; rule++) {
		const bool one = rule->options == rule->with; /* only one of these options may be
		                                                 given */
		const bool alone = rule->option != 0;
		int id, other;

		INVARIANT((rule->options != 0) != alone && (rule->with | rule->unless) != 0);
		if ((alone ? o->order[rule->option] == 0 : (o->said & rule->options) == 0) ||
		    (o->said & rule->unless) != 0 ||
		    (rule->with != 0 && (o->said & rule->with) == 0))
			continue;
		id = alone ? rule->option : said_of(o, rule->options, one);
		other = said_of(o, alone ? rule->with : rule->with & ~OPTION_SAID(id), false);
		if (rule->with == 0 || other != 0)
			return refuse_rule(o, rule, id, other, err);
	}
	return 0;
}
